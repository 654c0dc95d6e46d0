// Package embed turns text into vectors. One small interface, one file a provider.
package embed

import "context"

// Embedder turns texts into vectors of one fixed length, normalised to length 1.
type Embedder interface {
	// Model names what made the vectors; the index records it and refuses others.
	Model() Model
	// Embed returns one vector a text, in order: [len(texts)][Dimensions]float32,
	// each of L2 length 1, or all zero for a text that has nothing to embed. Empty
	// texts are never sent to a provider. Errors: one sentence that says what, where
	// and what to do; context errors are wrapped.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// ProviderBuiltin names the default provider, which needs no key and no network.
const ProviderBuiltin = "builtin"

// Model identifies a vector space.
type Model struct {
	Provider   string `json:"provider"` // "builtin", "openai", "ollama"
	Name       string `json:"model"`    // the provider's model name; for builtin the version of the fit
	Dimensions int    `json:"dimensions"`
}
