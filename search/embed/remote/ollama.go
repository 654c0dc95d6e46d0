package remote

import (
	"encoding/json"
	"strings"
)

// ollama speaks POST /api/embed.
type ollama struct{}

func (ollama) endpoint(base string) string { return strings.TrimSuffix(base, "/api") + "/api/embed" }

func (ollama) request(model string, dims int, texts []string) any {
	return struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Truncate   bool     `json:"truncate"` // texts longer than the model takes are cut, not refused
		Dimensions int      `json:"dimensions,omitempty"`
	}{model, texts, true, dims}
}

func (ollama) vectors(body []byte, _ int) ([][]float32, error) {
	var answer struct {
		Embeddings [][]float32 `json:"embeddings"`
	}
	err := json.Unmarshal(body, &answer)
	return answer.Embeddings, err
}
