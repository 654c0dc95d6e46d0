package client

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// configured is one hook of an example.
type configured struct{ event, matcher, command string }

// exampleHooks reads the hooks of an agent's example. Codex and Gemini nest them as
// Claude Code does, Cursor does not.
func exampleHooks(t *testing.T, file string) []configured {
	t.Helper()
	type command struct {
		Type    string
		Command string
	}
	var settings struct {
		Version int
		Hooks   map[string][]struct {
			command
			Matcher string
			Hooks   []command
		}
	}
	if err := json.Unmarshal(read(t, file), &settings); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var all []configured
	for event, groups := range settings.Hooks {
		for _, g := range groups {
			if g.Command != "" {
				if settings.Version != 1 {
					t.Errorf("%s: Cursor takes no file without \"version\": 1", file)
				}
				all = append(all, configured{event, g.Matcher, g.Command})
			}
			for _, h := range g.Hooks {
				if h.Type != "command" {
					t.Errorf("%s: %s has a hook of type %q", file, event, h.Type)
				}
				all = append(all, configured{event, g.Matcher, h.Command})
			}
		}
	}
	return all
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// selects tells whether the agent calls the hook for an event of testdata.
func (h configured) selects(t *testing.T, in object) bool {
	t.Helper()
	if h.event != in.text("hook_event_name") {
		return false
	}
	subject := in.text("tool_name", "trigger", "source")
	return h.matcher == "" || regexp.MustCompile(h.matcher).MatchString(subject)
}

// alternatives are the names in "^(a|b(c|d))$".
func alternatives(matcher string) []string {
	matcher = strings.TrimSuffix(strings.TrimPrefix(matcher, "^("), ")$")
	names, depth := []string{""}, 0
	for _, r := range matcher {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		if r == '|' && depth == 0 {
			names = append(names, "")
			continue
		}
		names[len(names)-1] += string(r)
	}
	return names
}

// TestExamples holds the examples and the package against each other by way of
// testdata: the agent calls a hook for what the package makes something of and for
// nothing else, and every name in the examples is one that testdata has.
func TestExamples(t *testing.T) {
	files := map[string]string{"codex": "hooks.json", "cursor": "hooks.json", "gemini": "settings.json"}
	// For builds of Cursor that send no postToolUse after an edit; see docs/agents.md.
	optional := []string{"file-edit", "tab-edit"}
	docs := read(t, "../docs/agents.md")
	for agent, file := range files {
		hooks := exampleHooks(t, filepath.Join("../examples", agent, file))
		names, events := payloads(t, agent)
		for _, name := range names {
			var in object
			if err := json.Unmarshal(events[name], &in); err != nil {
				t.Fatal(err)
			}
			e, err := named(t, agent).ReadEvent(bytes.NewReader(events[name]))
			if err != nil {
				t.Fatal(err)
			}
			called := slices.ContainsFunc(hooks, func(h configured) bool { return h.selects(t, in) })
			if want := e.Handles() && !slices.Contains(optional, name); called != want {
				t.Errorf("%s: %s: a hook is called: %v, want %v", agent, name, called, want)
			}
		}
		for _, h := range hooks {
			for _, alternative := range alternatives(h.matcher) {
				one := configured{h.event, "^(" + alternative + ")$", h.command}
				if h.matcher == "" {
					one.matcher = ""
				}
				if !slices.ContainsFunc(names, func(name string) bool {
					var in object
					return json.Unmarshal(events[name], &in) == nil && one.selects(t, in)
				}) {
					t.Errorf("%s: no event of testdata is %s %q", agent, h.event, alternative)
				}
			}
			program := "chinvex-hook"
			if strings.EqualFold(h.event, "SessionStart") && h.matcher == "" {
				program = "chinvex brief"
			}
			if want := program + " --client " + agent + " 2>/dev/null || true"; h.command != want {
				t.Errorf("%s: %s runs %q, want %q", agent, h.event, h.command, want)
			}
			if !bytes.Contains(docs, []byte("`"+h.event)) {
				t.Errorf("docs/agents.md says nothing of %s of %s", h.event, agent)
			}
		}
	}
}

// TestCursorFile holds what makes Cursor refuse a whole file: what looks like a comment,
// and an event that it does not know.
func TestCursorFile(t *testing.T) {
	const file = "../examples/cursor/hooks.json"
	if bytes.Contains(read(t, file), []byte("//")) {
		t.Error("the file holds \"//\", which Cursor takes for a comment even inside a string")
	}
	known := []string{"sessionStart", "sessionEnd", "beforeSubmitPrompt", "preCompact", "postToolUse", "postToolUseFailure"}
	for _, h := range exampleHooks(t, file) {
		if !slices.Contains(known, h.event) {
			t.Errorf("Cursor does not know %s", h.event)
		}
	}
}

func TestExampleServers(t *testing.T) {
	type servers map[string]struct{ Command string }
	var codex struct {
		Servers servers `toml:"mcp_servers"`
	}
	if err := toml.Unmarshal(read(t, "../examples/codex/config.toml"), &codex); err != nil {
		t.Fatal(err)
	}
	all := []servers{codex.Servers}
	for _, file := range []string{"cursor/mcp.json", "gemini/settings.json"} {
		var settings struct{ MCPServers servers }
		if err := json.Unmarshal(read(t, filepath.Join("../examples", file)), &settings); err != nil {
			t.Fatal(err)
		}
		all = append(all, settings.MCPServers)
	}
	for i, s := range all {
		if len(s) != 1 || s["chinvex"].Command != "chinvex-mcp" {
			t.Errorf("example %d has the servers %v", i, s)
		}
	}
}
