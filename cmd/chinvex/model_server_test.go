package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/chinvex/chinvex/memory"
)

// modelServer PROVIDER ANSWER... starts a language model's server on loopback that
// speaks the protocol of anthropic, openai or ollama, puts its address into MODEL_URL,
// and gives one answer to each request: the text of a file in the work directory, or
//
//	busy      HTTP 500, which may be another time
//	later     HTTP 429 with an hour to wait
//	echo      HTTP 400 with the headers it was sent, the key among them
//	broken    half of an answer
//	cut       an answer that the limit of tokens ends
//	declined  the model's refusal
//	never     nothing
//
// Request N is in the work directory: requests/N.prompt as `update-memory --plan` prints
// it, and in requests/N.rest all the other things that were sent.
func modelServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: modelserver PROVIDER ANSWER...")
	}
	speak, ok := map[string]func(w io.Writer, text, end string){"anthropic": anthropicText, "openai": openAIText, "ollama": ollamaText}[args[0]]
	if !ok {
		ts.Fatalf("no provider %s", args[0])
	}
	answers := args[1:]
	texts := make([]string, len(answers))
	for i, name := range answers {
		if data, err := os.ReadFile(ts.MkAbs(name)); err == nil {
			answers[i], texts[i] = "", string(data)
		}
	}
	dir := filepath.Join(ts.Getenv("WORK"), "requests")
	ts.Check(os.RemoveAll(dir))
	ts.Check(os.Mkdir(dir, 0o700))
	var requests atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(requests.Add(1))
		if err := keepRequest(filepath.Join(dir, fmt.Sprint(n)), r); err != nil || n > len(answers) {
			http.Error(w, fmt.Sprintf("request %d: %v", n, err), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		failure := func(code int, text string) {
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"type": "api_error", "message": text}})
		}
		var out bytes.Buffer
		switch answer := answers[n-1]; answer {
		case "busy":
			failure(http.StatusInternalServerError, "overloaded")
			return
		case "later":
			w.Header().Set("Retry-After", "3600")
			failure(http.StatusTooManyRequests, "no more today")
			return
		case "echo":
			failure(http.StatusBadRequest, fmt.Sprint("cannot read ", r.Header))
			return
		case "never":
			<-r.Context().Done()
			return
		case "broken":
			speak(&out, "{", "")
			out.Truncate(out.Len() / 2)
			w.Header().Set("Content-Length", fmt.Sprint(2*out.Len()))
		case "cut":
			speak(&out, "{", answer)
		case "declined":
			speak(&out, "I would rather not.", answer)
		case "":
			speak(&out, texts[n-1], "")
		default:
			failure(http.StatusBadRequest, "no answer "+answer)
			return
		}
		if args[0] == "anthropic" {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_, _ = w.Write(out.Bytes())
	}))
	ts.Defer(s.Close)
	ts.Setenv("MODEL_URL", s.URL)
}

// keepRequest writes a request's prompt to one file, and what else was sent to another.
func keepRequest(name string, r *http.Request) error {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return err
	}
	var prompt []string // the system's, then the user's
	var keep func(v any) any
	keep = func(v any) any {
		switch v := v.(type) {
		case string:
			if strings.Contains(v, "\n") {
				prompt = append(prompt, v)
				return "PROMPT"
			}
		case []any:
			for i := range v {
				v[i] = keep(v[i])
			}
		case map[string]any:
			var schema any
			if json.Unmarshal(memory.Schema(), &schema) != nil || v["properties"] != nil && fmt.Sprint(v) == fmt.Sprint(schema) {
				return "SCHEMA"
			}
			for _, k := range []string{"system", "messages"} { // in this order
				if v[k] != nil {
					v[k] = keep(v[k])
				}
			}
			for k := range v {
				v[k] = keep(v[k])
			}
		}
		return v
	}
	keep(body)
	var rest bytes.Buffer
	fmt.Fprintf(&rest, "%s %s\n", r.Method, r.URL)
	r.Header.Del("Content-Length")
	_ = r.Header.Write(&rest) // sorted
	text := strings.ReplaceAll(rest.String(), "\r\n", "\n") + "\n"
	data, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(name+".prompt", []byte(strings.Join(prompt, "\n")), 0o600); err != nil {
		return err
	}
	return os.WriteFile(name+".rest", append([]byte(text), append(data, '\n')...), 0o600)
}

func quoted(text string) string {
	data, _ := json.Marshal(text) // a string always can be
	return string(data)
}

// anthropicText is an answer of POST /v1/messages as a stream: thinking, then the text
// in several pieces.
func anthropicText(w io.Writer, text, end string) {
	event := func(name, data string) { fmt.Fprintf(w, "event: %s\ndata: {\"type\":%[1]q,%s}\n\n", name, data) }
	event("message_start", `"message":{"id":"m","type":"message","role":"assistant","model":"claude-sonnet-5-5","content":[],"stop_reason":null,"usage":{"input_tokens":1000,"output_tokens":1}}`)
	event("content_block_start", `"index":0,"content_block":{"type":"thinking","thinking":""}`)
	event("content_block_delta", `"index":0,"delta":{"type":"thinking_delta","thinking":"{hm}"}`)
	event("content_block_stop", `"index":0`)
	event("content_block_start", `"index":1,"content_block":{"type":"text","text":""}`)
	for at := 0; at < len(text); at += 100 {
		event("content_block_delta", `"index":1,"delta":{"type":"text_delta","text":`+quoted(text[at:min(at+100, len(text))])+`}`)
	}
	event("content_block_stop", `"index":1`)
	stop, ok := map[string]string{"cut": "max_tokens", "declined": "refusal"}[end]
	if !ok {
		stop = "end_turn"
	}
	event("message_delta", `"delta":{"stop_reason":"`+stop+`","stop_sequence":null},"usage":{"output_tokens":300}`)
	fmt.Fprint(w, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
}

// openAIText is an answer of POST /v1/chat/completions.
func openAIText(w io.Writer, text, end string) {
	content, refusal, stop := quoted(text), "null", "stop"
	switch end {
	case "cut":
		stop = "length"
	case "declined":
		content, refusal = "null", content
	}
	fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":"qwen3","choices":[{"index":0,"finish_reason":%q,"message":{"role":"assistant","content":%s,"refusal":%s}}],"usage":{"prompt_tokens":1000,"completion_tokens":300,"total_tokens":1300}}`, stop, content, refusal)
}

// ollamaText is an answer of POST /api/chat.
func ollamaText(w io.Writer, text, end string) {
	stop := "stop"
	if end == "cut" {
		stop = "length"
	}
	fmt.Fprintf(w, `{"model":"qwen3","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":%s},"done":true,"done_reason":%q,"prompt_eval_count":1000,"eval_count":300}`, quoted(text), stop)
}
