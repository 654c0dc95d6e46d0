package remote

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// openAI speaks POST /v1/embeddings, as OpenAI, vLLM, LM Studio, llama.cpp, LocalAI
// and many more do.
type openAI struct{}

// endpoint adds /v1 to a URL without a path; one with a path is taken as it is, since
// gateways have paths of their own.
func (openAI) endpoint(base string) string {
	if strings.Count(base, "/") == 2 { // those of https://
		base += "/v1"
	}
	return base + "/embeddings"
}

func (openAI) request(model string, dims int, texts []string) any {
	return struct {
		Model          string   `json:"model"`
		Input          []string `json:"input"`
		EncodingFormat string   `json:"encoding_format"`
		Dimensions     int      `json:"dimensions,omitempty"`
	}{model, texts, "float", dims}
}

func (openAI) vectors(body []byte, n int) ([][]float32, error) {
	var answer struct {
		Data []struct {
			Index     *int   `json:"index"` // some servers leave it out and keep the order
			Embedding floats `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	if len(answer.Data) != n {
		return nil, fmt.Errorf("%d vectors for %d texts", len(answer.Data), n)
	}
	vectors := make([][]float32, n)
	for i, item := range answer.Data {
		at := i
		if item.Index != nil {
			at = *item.Index
		}
		if at < 0 || at >= n || vectors[at] != nil {
			return nil, fmt.Errorf("index %d is out of range or there twice", at)
		}
		if item.Embedding == nil {
			return nil, fmt.Errorf("vector %d is missing", at)
		}
		vectors[at] = item.Embedding
	}
	return vectors, nil
}

// floats is a list of numbers, or the base64 of little-endian float32s, which some
// servers send whatever was asked for.
type floats []float32

func (f *floats) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '"' {
		return json.Unmarshal(data, (*[]float32)(f))
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	if len(raw)%4 != 0 {
		return fmt.Errorf("a vector of %d bytes", len(raw))
	}
	*f = make(floats, len(raw)/4)
	for i := range *f {
		(*f)[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return nil
}
