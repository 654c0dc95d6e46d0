package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
)

// flagTrials says for each command how to call it and how with each flag that its help
// shows: the answer must differ. The key "base" is the call without.
var flagTrials = map[string]map[string]string{
	"ingest": {"base": "ingest", "repo": "ingest --repo sub", "embed": "ingest --embed ollama:m", "embed-url": "ingest --rebuild --embed ollama:m --embed-url http://127.0.0.1:9",
		"no-claude-hook": "ingest --context fresh --no-claude-hook", "startup-hook-only": "ingest --startup-hook-only",
		"embed-key-file": "ingest --rebuild --embed openai:m --embed-url http://127.0.0.1:9 --embed-key-file none.key",
		"embed-key-env":  "ingest --rebuild --embed openai:m --embed-url http://127.0.0.1:9 --embed-key-env NOT_SET_HERE", "rebuild": "ingest --rebuild",
		"context": "ingest --context fresh", "home": "ingest --home HOME", "json": "ingest --json", "quiet": "ingest --quiet", "verbose": "ingest --verbose"},
	"search": {"base": "search alpha beta", "batch": "search --batch", "explain": "search --explain alpha beta", "lang": "search --lang python alpha beta",
		"limit": "search --limit 1 alpha beta", "mode": "search --mode lexical alpha beta --verbose", "path": "search --path sub/** alpha beta",
		"context": "search --context other alpha beta", "home": "search --home HOME alpha beta", "json": "search --json alpha beta", "quiet": "search --quiet zyzzyva", "verbose": "search --verbose alpha beta"},
	"context": {"base": "context alpha beta", "budget": "context --budget 3 alpha beta", "unit": "context --unit tokens alpha beta", "content": "context --content none alpha beta",
		"context": "context --context other alpha beta", "home": "context --home HOME alpha beta", "json": "context --json alpha beta", "quiet": "context --quiet alpha beta", "verbose": "context --verbose alpha beta"},
	"related": {"base": "related a.go", "limit": "related --limit 1 a.go", "context": "related --context other a.go", "home": "related --home HOME a.go",
		"json": "related --json a.go", "quiet": "related --quiet nothing/like/it.xyz", "verbose": "related --verbose a.go"},
	"refs": {"base": "refs AlphaBeta", "file": "refs --file sub/b.go AlphaBeta", "limit": "refs --limit 1 AlphaBeta", "context": "refs --context other AlphaBeta",
		"home": "refs --home HOME AlphaBeta", "json": "refs --json AlphaBeta", "quiet": "refs --quiet Zyzzyva", "verbose": "refs --verbose AlphaBeta"},
	"symbols":  {"base": "symbols a.go", "context": "symbols --context other a.go", "home": "symbols --home HOME a.go", "json": "symbols --json a.go", "quiet": "symbols --quiet notes.md"},
	"status":   {"base": "status", "settings": "status --settings", "context": "status --context other", "home": "status --home HOME", "json": "status --json"},
	"doctor":   {"base": "doctor", "repair": "doctor --repair", "context": "doctor --context other", "home": "doctor --home HOME", "json": "doctor --json", "quiet": "doctor --quiet"},
	"contexts": {"base": "contexts", "home": "contexts --home HOME", "json": "contexts --json", "quiet": "contexts --quiet"},
	"purge":    {"base": "purge other", "home": "purge --home HOME other", "json": "purge --json other", "quiet": "purge --quiet other"},
	"try":      {"base": "try", "quiet": "try --quiet"},
	"hook":     {"base": "hook", "home": "hook --home HOME", "client": "hook --client gemini"},
	"mcp":      {"base": "mcp", "context": "mcp --context other", "home": "mcp --home HOME"},
	"brief":    {"base": "brief", "repo": "brief --repo none", "budget": "brief --budget 100", "client": "brief --client gemini", "context": "brief --context none", "home": "brief --home HOME", "json": "brief --json"},
	"hooks install": {"base": "hooks install", "local": "hooks install --local", "mcp": "hooks install --mcp", "startup-hook-only": "hooks install --startup-hook-only",
		"context": "hooks install --context none", "home": "hooks install --home HOME", "json": "hooks install --json", "quiet": "hooks install --quiet"},
	"hooks uninstall": {"base": "hooks uninstall", "context": "hooks uninstall --context other", "home": "hooks uninstall --home HOME", "json": "hooks uninstall --json", "quiet": "hooks uninstall --quiet"},
	"hooks status":    {"base": "hooks status", "context": "hooks status --context none", "home": "hooks status --home HOME", "json": "hooks status --json", "quiet": "hooks status --quiet"},
	"uninstall":       {"base": "uninstall", "dry-run": "uninstall --dry-run", "home": "uninstall --home HOME", "json": "uninstall --json", "quiet": "uninstall --quiet"},
	"update-memory": {"base": "update-memory", "repo": "update-memory --repo none", "commit": "update-memory --commit", "llm": "update-memory --llm none",
		"llm-url":     "update-memory --plan --llm ollama:m --llm-url http://127.0.0.1:9",
		"llm-key-env": "update-memory --llm openai:m --llm-url http://127.0.0.1:9 --llm-key-env NOT_SET_HERE", "plan": "update-memory --plan",
		"apply": "update-memory --apply none.json", "context": "update-memory --context other", "home": "update-memory --home HOME", "json": "update-memory --json", "quiet": "update-memory --quiet"},
	"memory lint": {"base": "memory lint", "json": "memory lint --json", "quiet": "memory lint --quiet"},
	"refresh":     {"base": "refresh a.go", "context": "refresh --context none a.go", "home": "refresh --home HOME a.go"},
	"version":     {"base": "version", "json": "version --json"},
}

// quietBase are calls whose --quiet is judged against another call than the base.
var quietBase = map[string]string{
	"search": "search zyzzyva", "related": "related nothing/like/it.xyz", "refs": "refs Zyzzyva", "symbols": "symbols notes.md",
}

// changing are the commands that cannot share a state directory with other calls.
var changing = map[string]bool{"ingest": true, "purge": true, "doctor": true, "refresh": true, "hook": true,
	"hooks install": true, "hooks uninstall": true, "uninstall": true, "update-memory": true}

// TestFlags proves that each flag that help shows changes the answer.
func TestFlags(t *testing.T) {
	for _, v := range append(gitSurroundings, "CLAUDE_PROJECT_DIR=", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z") {
		key, value, _ := strings.Cut(v, "=")
		t.Setenv(key, value)
	}
	shared := newPlayground(t)
	root := (&app{style: &style{width: 80}}).root()
	for _, cmd := range leaves(root) {
		path := strings.TrimPrefix(cmd.CommandPath(), "chinvex ")
		trials, ok := flagTrials[path]
		if !ok {
			t.Errorf("%s has no trial", path)
			continue
		}
		call := func(line string) string {
			p := shared
			if changing[path] {
				p = newPlayground(t)
			}
			return p.call(t, line)
		}
		known := map[string]string{} // answers of base calls
		for _, name := range shownFlags(cmd) {
			with, ok := trials[name]
			if !ok {
				t.Errorf("%s --%s has no trial", path, name)
				continue
			}
			base := trials["base"]
			if b, ok := quietBase[path]; ok && name == "quiet" {
				base = b
			}
			if name == "mode" {
				base += " --verbose"
			}
			if _, ok := known[base]; !ok {
				known[base] = call(base)
				if again := call(base); again != known[base] {
					t.Errorf("%q does not answer the same twice, so its trials prove nothing:\n%s\n%s", base, known[base], again)
				}
			}
			if after := call(with); after == known[base] {
				t.Errorf("%q and %q answer alike:\n%s", base, with, after)
			}
		}
	}
}

// leaves are the commands that do something.
func leaves(cmd *cobra.Command) (list []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		switch {
		case sub.Name() == "help" || sub.Name() == "completion":
		case sub.HasSubCommands():
			list = append(list, leaves(sub)...)
		default:
			list = append(list, sub)
		}
	}
	return list
}

func shownFlags(cmd *cobra.Command) (names []string) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" && cmd.InheritedFlags().Lookup(f.Name) == nil {
			names = append(names, f.Name)
		}
	})
	return append(names, strings.Fields(cmd.Annotations[globals])...)
}

// playground is a repository that two contexts claim, the whole of it and a folder.
type playground struct{ dir, repo, home string }

const playedFile = "package a\n\n// AlphaBeta is used.\nfunc AlphaBeta() int {\n\treturn 1\n}\n"

func newPlayground(t *testing.T) playground {
	t.Helper()
	made, err := os.MkdirTemp("", "chinvex-flags-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // doctor's hook leaves a refresh running, which may still write
		for range 500 {
			if os.RemoveAll(made) == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Errorf("%s cannot be removed", made)
	})
	dir, err := filepath.EvalSymlinks(made)
	if err != nil {
		t.Fatal(err)
	}
	p := playground{dir, filepath.Join(dir, "repo"), filepath.Join(dir, "home")}
	for name, text := range map[string]string{
		"a.go":       playedFile,
		"sub/b.go":   "package b\n\nfunc AlphaBeta() int {\n\treturn 2\n}\n\nfunc Use() int { return AlphaBeta() + AlphaBeta() }\n",
		"sub/c.go":   "package b\n\nfunc Other() int {\n\treturn AlphaBeta()\n}\n",
		"d.py":       "def alpha_beta():\n    return 3\n",
		"notes.md":   "alpha and beta\n",
		"a_test.go":  "package a\n\nimport \"testing\"\n\nfunc TestAlphaBeta(t *testing.T) { AlphaBeta() }\n",
		"z/alpha.go": "package z\n\n// alpha beta gamma\nvar Gamma = 1\n",
	} {
		p.write(t, name, text)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "alpha"}} {
		if out, err := exec.Command("git", append([]string{"-C", p.repo}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	for _, line := range []string{"ingest -q --context other --repo sub", "ingest -q --context repo --repo ."} {
		if out, code := p.run(t, line, ""); code != 0 {
			t.Fatalf("%s: %s", line, out)
		}
	}
	return p
}

func (p playground) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(p.repo, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a command line in the repository and returns all that it printed. It starts
// the program that TestMain put on PATH: doctor and the hook start that program again,
// and must not find the test binary in its place.
func (p playground) run(t *testing.T, line, in string) (string, int) {
	t.Helper()
	cmd := exec.Command("chinvex", strings.Fields(line)...)
	cmd.Dir = p.repo
	cmd.Env = append(os.Environ(), "CHINVEX_HOME="+p.home, "PWD="+p.repo)
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// varying is what differs from call to call: times, sizes on disk.
var varying = regexp.MustCompile(`\d+(\.\d+)? (ms|s)\b|"(took_ms|took_ns|freed_bytes|disk_bytes|indexed_at)": \d+|/tmp/[^ "]*|[0-9.]+ [kM]?B\b|"ingested_at": "[^"]*"`)

// call returns the exit code and what was printed, or done, without what varies.
func (p playground) call(t *testing.T, line string) string {
	t.Helper()
	command := strings.Fields(line)[0]
	in := `{"id":1,"query":"alpha"}`
	switch command {
	case "doctor":
		if err := os.Chmod(filepath.Join(p.home, "contexts", "repo", "logs"), 0o755); err != nil {
			t.Fatal(err)
		}
	case "brief":
		p.write(t, "docs/memory/CONSTRAINTS.md", "# Constraints\n\n## Rules\n"+strings.Repeat("- a rule that takes a line of its own to say\n", 30))
	case "refresh":
		p.write(t, "a.go", "package a\n\nfunc Fresh() {}\n")
	case "hook":
		in = string(editEvent("s", sample{Repo: project.Repository{Name: "repo", Root: p.repo}, Text: playedFile,
			Definition: search.Definition{Path: project.Path{Repo: "repo", Rel: "a.go"}, Line: 4}}).bytes())
	case "mcp":
		in = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"status"}}` + "\n"
	}
	out, code := p.run(t, strings.ReplaceAll(line, "HOME", filepath.Join(p.dir, "elsewhere")), in)
	if command == "refresh" {
		out, _ = p.run(t, "refs Fresh", "")
	}
	return varying.ReplaceAllString(strings.ReplaceAll(out, p.dir, "DIR"), "X") + fmt.Sprintf("\nexit %d", code)
}
