package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/chinvex/chinvex/memory"
)

// ollama speaks POST /api/chat.
type ollama struct {
	*server
	model     string
	maxTokens int
}

func newOllama(o *Options) (provider, error) {
	if o.Model == "" {
		return nil, errors.New("ollama needs the name of a model: give ollama:MODEL, one of those that `ollama list` shows")
	}
	s, err := connect("ollama", o, "http://127.0.0.1:11434", "")
	if err != nil {
		return nil, err
	}
	s.base.Path = strings.TrimSuffix(s.base.Path, "/api")
	return &ollama{s, o.Model, o.MaxTokens}, nil
}

// formats: the schema, or any object, for servers from before there were schemas.
func (c *ollama) formats() int { return 2 }

func (c *ollama) ask(ctx context.Context, format int, system, user string) (*answer, error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	type options struct {
		Context     int     `json:"num_ctx"`
		Predict     int     `json:"num_predict,omitempty"`
		Temperature float64 `json:"temperature"`
	}
	// Room for the question and the answer in the model's context, which is small unless
	// asked for: what does not fit would be cut off the question in silence. There are
	// three bytes a token in code, more in prose.
	const answerTokens = 8 << 10
	room := (len(system)+len(user))/3 + max(c.maxTokens, answerTokens)
	request := struct {
		Model    string          `json:"model"`
		Messages []message       `json:"messages"`
		Stream   bool            `json:"stream"`
		Format   json.RawMessage `json:"format"`
		Options  options         `json:"options"`
		Truncate bool            `json:"truncate"` // false: an error when the model's context is too small
		Shift    bool            `json:"shift"`
	}{c.model, []message{{"system", system}, {"user", user}}, false, memory.Schema(), options{room, c.maxTokens, 0}, false, false}
	if format > 0 {
		request.Format = json.RawMessage(`"json"`)
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.String()+"/api/chat", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, ended(err)
	}
	defer resp.Body.Close()
	var got struct {
		Model   string  `json:"model"`
		Message message `json:"message"`
		Reason  string  `json:"done_reason"`
		In      int     `json:"prompt_eval_count"`
		Out     int     `json:"eval_count"`
		Done    *bool   `json:"done"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		return nil, ended(err)
	}
	if got.Done == nil || !*got.Done {
		return nil, &refusal{message: "the server's answer is not usable (it is not a whole message); check the URL"}
	}
	out := &answer{text: got.Message.Content, model: got.Model, in: got.In, out: got.Out}
	if got.Reason == "length" {
		out.end = cut
	}
	return out, nil
}
