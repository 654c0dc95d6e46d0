// Package e2e drives the real Claude Code client against a scripted model: no cloud, no
// account, and where the system allows it no network but loopback. Model answers as a
// Script says and keeps every request, Session runs the client once, and a Request tells
// what the model would have read in it.
package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Script is what the model says.
type Script struct {
	Turns     []Turn // of the main conversation, also when a second process resumes it
	Subagents []Subagent
	Side      func(*Request) string // answers what brings no tools; nil: "ok"
}

// Subagent is a conversation whose first message holds Marker, which belongs into the
// prompt of the Agent call that starts it.
type Subagent struct {
	Marker string
	Turns  []Turn
}

// Turn is one message of the model. Without calls it ends the model's turn.
type Turn struct {
	Text   string
	Calls  []Call
	Used   int           // tokens that the client believes to be in use; 0 for few. Near the model's limit it compacts
	Delay  time.Duration // before the answer
	Status int           // HTTP status of an API error that is answered first; the retry gets the turn
	// From computes the turn from the request and replaces all other fields. It may wait.
	From func(*Request) Turn
}

// Call is one use of a tool.
type Call struct {
	Tool  string
	Input map[string]any
}

// Kind says what a request is for.
type Kind string

const (
	Main    Kind = "main"
	Sub     Kind = "subagent"
	Compact Kind = "compact" // the summary that replaces a long conversation
	Side    Kind = "side"    // a title and the like: it brings no tools
	Count   Kind = "count"   // of tokens
	Other   Kind = "other"
)

// Summary is what the model answers to a compaction.
const Summary = "The conversation so far, in one line."

// compactPrompt is how the client asks for a summary, in every version so far.
const compactPrompt = "Your task is to create a detailed summary"

// Model is an http.Handler that stands in for the Messages API. One Model may serve
// several processes, one after another or side by side.
type Model struct {
	mu       sync.Mutex
	script   Script
	talks    map[string]*talk // by marker, "" for the main conversation
	calls    int              // made so far: the end of each call's id
	requests []*Request
}

// talk is how far a conversation is.
type talk struct {
	turns []Turn
	next  int
	asked []byte // the latest request: the same bytes again are a retry
	turn  int    // that it got
	said  reply
}

// reply is one answer.
type reply struct {
	blocks []map[string]any
	used   int
	delay  time.Duration
	status int // of an error in place of the blocks
}

// NewModel returns a model that follows the script.
func NewModel(s Script) *Model {
	m := &Model{script: s, talks: map[string]*talk{"": {turns: s.Turns}}}
	for _, sub := range s.Subagents {
		m.talks[sub.Marker] = &talk{turns: sub.Turns}
	}
	return m
}

// Requests returns what came in so far, in order of arrival.
func (m *Model) Requests() []*Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Asked returns the request that a turn of a conversation answered, the latest one where
// it was repeated, and nil when nobody asked for that turn. marker is "" for the main
// conversation.
func (m *Model) Asked(marker string, turn int) *Request {
	for _, r := range slices.Backward(m.Requests()) {
		if (r.Kind == Main || r.Kind == Sub) && r.Marker == marker && r.Turn == turn {
			return r
		}
	}
	return nil
}

func (m *Model) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	body, err := io.ReadAll(hr.Body)
	if err != nil {
		return // the client went away
	}
	r := &Request{Method: hr.Method, Path: hr.URL.Path, Arrived: time.Now(), Turn: -1, Body: body}
	_ = json.Unmarshal(body, &r.parsed) // what does not parse is of kind Other
	m.sort(r)
	m.mu.Lock()
	m.requests = append(m.requests, r)
	r.N = len(m.requests)
	m.mu.Unlock()

	var a reply
	switch r.Kind {
	case Main, Sub:
		a = m.advance(r)
	case Compact:
		a.blocks = textBlock("<analysis>short</analysis>\n<summary>" + Summary + "</summary>")
	case Side:
		text := "ok"
		if m.script.Side != nil {
			text = m.script.Side(r)
		}
		a.blocks = textBlock(text)
	case Count:
		writeJSON(w, http.StatusOK, map[string]any{"input_tokens": len(body) / 4})
		return
	default:
		writeJSON(w, http.StatusOK, map[string]any{"data": []any{}, "has_more": false})
		return
	}
	time.Sleep(a.delay)
	m.mu.Lock()
	r.Answered = time.Now()
	m.mu.Unlock()
	a.write(w, r)
}

// sort says what a request is for.
func (m *Model) sort(r *Request) {
	switch {
	case strings.HasSuffix(r.Path, "/count_tokens"):
		r.Kind = Count
	case r.Method != http.MethodPost || r.Path != "/v1/messages":
		r.Kind = Other
	case len(r.parsed.Tools) == 0:
		r.Kind = Side
	case r.asksForSummary():
		r.Kind = Compact
	default:
		r.Kind = Main
		first := r.firstPrompt()
		for _, s := range m.script.Subagents {
			if strings.Contains(first, s.Marker) {
				r.Kind, r.Marker = Sub, s.Marker
			}
		}
	}
}

// advance returns the next turn of the request's conversation, the same one for the same
// bytes.
func (m *Model) advance(r *Request) reply {
	m.mu.Lock()
	t := m.talks[r.Marker]
	if bytes.Equal(t.asked, r.Body) {
		defer m.mu.Unlock()
		t.said.status = 0
		r.Turn = t.turn
		return t.said
	}
	turn := Turn{Text: "The script is over."}
	r.Turn = t.next
	if t.next < len(t.turns) {
		turn = t.turns[t.next]
	}
	t.asked, t.turn = r.Body, t.next
	t.next++
	m.mu.Unlock()

	if turn.From != nil {
		turn = turn.From(r)
	}
	a := reply{used: turn.Used, delay: turn.Delay, status: turn.Status}
	if turn.Text != "" || len(turn.Calls) == 0 {
		a.blocks = textBlock(turn.Text)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range turn.Calls {
		m.calls++
		input := c.Input
		if input == nil {
			input = map[string]any{}
		}
		a.blocks = append(a.blocks, map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_e2e_%04d", m.calls), "name": c.Tool, "input": input})
	}
	t.said = a
	return a
}

func textBlock(s string) []map[string]any {
	return []map[string]any{{"type": "text", "text": s}}
}

// write answers in the form that the request asks for.
func (a reply) write(w http.ResponseWriter, r *Request) {
	if a.status != 0 {
		writeJSON(w, a.status, map[string]any{"type": "error", "error": map[string]any{"type": "api_error", "message": "scripted"}})
		return
	}
	stop := "end_turn"
	if a.blocks[len(a.blocks)-1]["type"] == "tool_use" {
		stop = "tool_use"
	}
	usage := map[string]any{"input_tokens": max(a.used, 100), "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 20}
	message := map[string]any{
		"id": fmt.Sprintf("msg_e2e_%04d", r.N), "type": "message", "role": "assistant", "model": r.parsed.Model,
		"content": a.blocks, "stop_reason": stop, "stop_sequence": nil, "usage": usage,
	}
	if !r.parsed.Stream {
		writeJSON(w, http.StatusOK, message)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind string, data map[string]any) {
		data["type"] = kind
		text, _ := json.Marshal(data) // of maps, strings and numbers
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, text)
	}
	message["content"], message["stop_reason"] = []any{}, nil
	send("message_start", map[string]any{"message": message})
	for i, b := range a.blocks {
		start, delta := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": b["text"]}
		if b["type"] == "tool_use" {
			input, _ := json.Marshal(b["input"]) // of a script's values
			start = map[string]any{"type": "tool_use", "id": b["id"], "name": b["name"], "input": map[string]any{}}
			delta = map[string]any{"type": "input_json_delta", "partial_json": string(input)}
		}
		send("content_block_start", map[string]any{"index": i, "content_block": start})
		send("content_block_delta", map[string]any{"index": i, "delta": delta})
		send("content_block_stop", map[string]any{"index": i})
	}
	send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	send("message_stop", map[string]any{})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that went away asks again
}
