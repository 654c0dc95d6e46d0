package e2e

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestModel talks to the model as the client does, and needs no client.
func TestModel(t *testing.T) {
	m := NewModel(Script{
		Turns: []Turn{
			{Text: "I look.", Calls: []Call{{"Read", map[string]any{"file_path": "/a"}}, {"Bash", nil}}, Status: 529},
			{From: func(r *Request) Turn { return Turn{Text: "You have read " + last(r.Results())} }},
		},
		Subagents: []Subagent{{"marker-1", []Turn{{Text: "sub"}}}},
	})
	server := httptest.NewServer(m)
	defer server.Close()
	ask := func(path, body string) (status int, answer string) {
		t.Helper()
		r, err := http.Post(server.URL+path, "application/json", strings.NewReader(body))
		must(t, err)
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		must(t, err)
		return r.StatusCode, string(text)
	}
	const (
		tools  = `"tools":[{"name":"Read","description":"Reads."}],`
		first  = `{"stream":true,` + tools + `"messages":[{"role":"user","content":"go"}]}`
		second = `{` + tools + `"messages":[{"role":"user","content":"go"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_e2e_0001","content":"alpha"}]}]}`
	)
	if status, _ := ask("/v1/messages", first); status != 529 {
		t.Errorf("the scripted error: status %d", status)
	}
	_, retry := ask("/v1/messages", first)
	for _, want := range []string{
		`"text":"I look."`, `"id":"toolu_e2e_0001","input":{},"name":"Read"`, `"partial_json":"{\"file_path\":\"/a\"}"`, `"id":"toolu_e2e_0002"`,
		`"stop_reason":"tool_use"`, "event: message_stop\n",
	} {
		if !strings.Contains(retry, want) {
			t.Errorf("no %s in\n%s", want, retry)
		}
	}
	if _, again := ask("/v1/messages", first); !strings.Contains(again, "toolu_e2e_0002") || strings.Contains(again, "toolu_e2e_0003") {
		t.Errorf("a retry got another turn: %s", again)
	}
	for _, test := range []struct {
		name, path, body, want string
		kind                   Kind
		turn                   int
	}{
		{"a computed turn", "/v1/messages", second, `"text":"You have read alpha"`, Main, 1},
		{"the end of the script", "/v1/messages", second + " ", "The script is over.", Main, 2},
		{"a subagent", "/v1/messages", strings.Replace(first, "go", "please marker-1", 1), "sub", Sub, 0},
		{"a title", "/v1/messages", `{"messages":[{"role":"user","content":"go"}]}`, "ok", Side, -1},
		{"compaction", "/v1/messages", strings.Replace(first, "go", compactPrompt+" of it", 1), Summary, Compact, -1},
		{"count", "/v1/messages/count_tokens", `{"messages":[]}`, `"input_tokens":3`, Count, -1},
		{"something else", "/v1/models", `{`, "has_more", Other, -1},
	} {
		status, answer := ask(test.path, test.body)
		r := last(m.Requests())
		if status != http.StatusOK || !strings.Contains(answer, test.want) || r.Kind != test.kind || r.Turn != test.turn || !bytes.Equal(r.Body, []byte(test.body)) {
			t.Errorf("%s: status %d, %s turn %d: %s", test.name, status, r.Kind, r.Turn, answer)
		}
	}
	if r := m.Asked("", 0); r == nil || r.N != 3 {
		t.Errorf("turn 0 was asked for in %v", r)
	}
}

// TestHooks reads both forms in which clients carry the texts of hooks.
func TestHooks(t *testing.T) {
	const (
		newer = `{"messages":[{"role":"user","content":"go"},{"role":"system","content":"SessionStart:startup hook success: brief\n\nits rules\n\nUserPromptSubmit hook additional context: Code:\n  a.go:1\n    1: x\n  2 more: see"},
			{"role":"user","content":[{"type":"tool_result","content":"PostToolUse:Read hook additional context: a file that says so"}]}]}`
		older = `{"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>\nSessionStart:startup hook success: brief\n\nits rules\n</system-reminder>"}, {"type":"text","text":"go"},
			{"type":"tool_result","content":[{"type":"text","text":"done\n<system-reminder>\nUserPromptSubmit hook additional context: Code:\n  a.go:1\n    1: x\n  2 more: see\n</system-reminder>"}]}]}]}`
	)
	want := []Hook{{"SessionStart", "startup", "brief\n\nits rules"}, {"UserPromptSubmit", "", "Code:\n  a.go:1\n    1: x\n  2 more: see"}}
	for _, body := range []string{newer, older} {
		m := NewModel(Script{})
		m.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(body)))
		r := m.Requests()[0]
		if got := r.Hooks(); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if facts := factsOf(r); !slices.Equal(facts, []string{"Code: a.go:1"}) {
			t.Errorf("facts %q", facts)
		}
		if n := len(r.NewHooks(r)); n != 0 {
			t.Errorf("%d texts are new against themselves", n)
		}
	}
}
