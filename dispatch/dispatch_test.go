package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chinvex/chinvex/claude"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
	"github.com/chinvex/chinvex/search/index"
	"github.com/chinvex/chinvex/search/ingest"
)

// indexed makes a folder of files, a context that claims it and its index.
func indexed(t testing.TB, files map[string]string) (root string, env Env, spawned *[]string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root = filepath.Join(dir, "shop")
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	home := project.Home{Dir: filepath.Join(dir, "home")}
	c, err := home.Create("shop")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Claim(root); err != nil {
		t.Fatal(err)
	}
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	resolved, err := project.Resolve(c, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ingest.Ingest(context.Background(), ingest.Options{Context: c, Settings: &resolved.Settings}); err != nil {
		t.Fatal(err)
	}
	spawned = new([]string)
	return root, Env{Home: home, Spawn: func(args []string) error {
		*spawned = append(*spawned, strings.Join(args, " "))
		return nil
	}}, spawned
}

var shop = map[string]string{
	"shop/price.py":       "def parse_price(text):\n    amount, currency = text.split()\n    return amount, currency\n",
	"shop/cart.py":        "from shop.price import parse_price\n\n\ndef add_item(name, price):\n    return name, parse_price(price)\n",
	"tests/test_price.py": "from shop.price import parse_price\n\n\ndef test_parse_price():\n    assert parse_price('1 EUR')\n",
}

func event(t testing.TB, root, name, tool string, fields map[string]any) string {
	t.Helper()
	all := map[string]any{"session_id": "s", "prompt_id": "p1", "cwd": root, "hook_event_name": name, "tool_name": tool}
	for k, v := range fields {
		all[k] = v
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func lastRecord(t testing.TB, env Env) (r record) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(env.Home.Dir, "contexts/shop/logs", logName))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRun(t *testing.T) {
	root, env, spawned := indexed(t, shop)
	edit := event(t, root, "PostToolUse", "Edit", map[string]any{
		"tool_input":    map[string]any{"file_path": root + "/shop/price.py", "old_string": "split()", "new_string": "split(None)"},
		"tool_response": map[string]any{"structuredPatch": []claude.Hunk{{OldStart: 2, OldLines: 1, NewStart: 2, NewLines: 1, Lines: []string{"-    amount, currency = text.split()", "+    amount, currency = text.split(None)"}}}},
	})
	var out bytes.Buffer
	if code := Run(context.Background(), strings.NewReader(edit), &out, env); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"shop/cart.py:5 in add_item", "tests/test_price.py", `"hookEventName":"PostToolUse"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the answer lacks %s: %s", want, out.String())
		}
	}
	want := "refresh --context shop --home " + env.Home.Dir
	if diff := cmp.Diff([]string{want}, *spawned); diff != "" {
		t.Errorf("spawned (-want +got):\n%s", diff)
	}
	r := lastRecord(t, env)
	if r.Outcome != "told" || r.Facts == 0 || r.Tokens == 0 || r.Micros == 0 || r.Error != "" || len(r.Operations) != 2 {
		t.Errorf("logged %+v", r)
	}

	// The next hook that asks gives the refresh a moment, until it is done.
	read := event(t, root, "PostToolUse", "Read", map[string]any{"session_id": "other", "tool_input": map[string]any{"file_path": root + "/shop/price.py"}})
	dir := filepath.Join(env.Home.Dir, "contexts/shop/index")
	requests, err := index.Requests(dir)
	if err != nil || !cmp.Equal(index.Requested(requests), []project.Path{{Repo: filepath.Base(root), Rel: "shop/price.py"}}) {
		t.Errorf("queued %v, %v", index.Requested(requests), err)
	}
	for _, wait := range []bool{true, false} {
		start := time.Now()
		Run(context.Background(), strings.NewReader(read), io.Discard, env)
		if took := time.Since(start); wait && took < pendingWait {
			t.Errorf("a hook beside a refresh took %v, which is no wait", took)
		}
		os.RemoveAll(filepath.Join(dir, "queue"))
	}
	if index.Waiting(dir, time.Hour) {
		t.Error("nothing is queued, yet something waits")
	}
}

// stuck is an input that never ends.
type stuck struct{ done chan struct{} }

func (s stuck) Read([]byte) (int, error) { <-s.done; return 0, io.EOF }

func TestDeadline(t *testing.T) {
	root, env, _ := indexed(t, shop)
	in := stuck{make(chan struct{})}
	defer close(in.done)
	start := time.Now()
	var out bytes.Buffer
	Run(context.Background(), in, &out, env)
	if took := time.Since(start); took > 2*DefaultDeadline || out.Len() > 0 {
		t.Errorf("it took %v and said %s", took, out.String())
	}
	// What is ready when time is up is taken; the rest is dropped and counted.
	w := &work{env: env, start: time.Now()}
	e, err := claude.ReadEvent(strings.NewReader(event(t, root, "PostToolUse", "Read", nil)))
	if err != nil {
		t.Fatal(err)
	}
	w.env.Now = time.Now
	w.event, w.settings = e, project.DispatchSettings{ToolLines: 10, SessionTokens: 1000, FactExpiry: 30}
	if w.claim, err = env.Home.Claiming(root); err != nil {
		t.Fatal(err)
	}
	w.plan.Operations = []Operation{{Kind: Search, Text: "a"}, {Kind: Search, Text: "b"}}
	w.answered = 1
	w.parts = [][]Group{{{Kind: Search, Heading: "Ready:", Facts: []Fact{{Key: "k", Text: "a fact", Passes: true}}}}, nil}
	w.finish(&out, true)
	if r := lastRecord(t, env); !strings.Contains(out.String(), "a fact") || r.Outcome != "deadline" || r.Dropped != 1 {
		t.Errorf("it said %q and logged %+v", out.String(), r)
	}
	w.update(func() { t.Error("a late operation changed what was finished") })
}

func TestPanic(t *testing.T) {
	root, env, _ := indexed(t, shop)
	env.Spawn = func([]string) error { panic("spawn") }
	in := event(t, root, "PostToolUse", "Write", map[string]any{"tool_input": map[string]any{"file_path": root + "/shop/new.py", "content": ""}})
	if code := Run(context.Background(), strings.NewReader(in), io.Discard, env); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if r := lastRecord(t, env); r.Outcome != "panic" || !strings.Contains(r.Error, "spawn at dispatch/") {
		t.Errorf("logged %+v", r)
	}
	if code := Run(context.Background(), panicking{}, io.Discard, env); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("read") }

// TestPlan is the table of events by example: what each asks for.
func TestPlan(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"src/a.py", "docs/x.md", "new.py"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"src/a.py", "docs/x.md"} {
		if err := os.Chtimes(filepath.Join(root, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	bash := func(command, stdout string) string {
		return event(t, root, "PostToolUse", "Bash", map[string]any{"tool_input": map[string]any{"command": command}, "tool_response": map[string]any{"stdout": stdout}})
	}
	for _, test := range []struct {
		in   string
		want string // operations; then files shown, learned, changed
	}{
		{bash("grep -rn 'parse_url' src", "src/a.py:1:x"), "search parse_url under src; shown src/a.py"},
		{bash("grep -rn parse_url src", "src/a.py:3:parse_url\nBinary file x matches"), "search parse_url under src; shown src/a.py"},
		{bash(`rg -t py 'open_(session|socket)'`, ""), "search open_session lang Python; search open_socket lang Python"},
		{bash("git grep -n session_cookie -- 'src/*'", ""), "search session_cookie glob **/* under src"},
		{bash("grep -rn cookie --include='*.py' --include='*.pyi' .", ""), "search cookie glob {**/*.py,**/*.pyi}"},
		{bash("cd src && grep -n cookie a.py", "12:cookie"), "search cookie under src/a.py; shown src/a.py"},
		{bash("find . -name '*session*.py'", "./src/session.py"), "find session glob **/*.py; shown src/session.py"},
		{bash("cat src/a.py", "x"), "uses src/a.py; learned src/a.py:0-0"},
		{bash("sed -n '3,9p' src/a.py", "x"), "uses src/a.py:3-9; learned src/a.py:3-9"},
		{bash("echo x > new.py", ""), "changed new.py"},
		{bash("rm src/gone.py", ""), "changed src/gone.py"},
		{bash("pytest -q src/a.py", ""), ""},
		{bash("grep -rn cookie /etc", ""), ""},
		{bash("git status", ""), ""},
		{event(t, root, "PostToolUse", "Read", map[string]any{"tool_input": map[string]any{"file_path": root + "/src/a.py", "offset": 5, "limit": 3}}), "uses src/a.py:5-7; learned src/a.py:5-7"},
		{event(t, root, "PostToolUse", "Grep", map[string]any{"tool_input": map[string]any{"pattern": "a|parse_(url|uri)", "type": "go", "glob": "*.go, *.mod"}}), "search parse_url glob {**/*.go,**/*.mod} lang Go; search parse_uri glob {**/*.go,**/*.mod} lang Go"},
		{event(t, root, "PostToolUse", "Grep", map[string]any{"tool_input": map[string]any{"pattern": "cookie", "output_mode": "count"}, "tool_response": map[string]any{"content": "src/a.py:4"}}), "search cookie; shown src/a.py"},
		{event(t, root, "PostToolUse", "Glob", map[string]any{"tool_input": map[string]any{"pattern": "**/*.py"}}), ""},
		{event(t, root, "PostToolUse", "Glob", map[string]any{"tool_input": map[string]any{"pattern": "**/user_session*.{ts,tsx}", "path": root + "/src"}}), "find user session glob {**/*.ts,**/*.tsx} under src"},
		{event(t, root, "PostToolUse", "Write", map[string]any{"tool_input": map[string]any{"file_path": root + "/src/b.py", "content": "x"}}), "changed src/b.py; related src/b.py; changed src/b.py"},
		{event(t, root, "PostToolUse", "Edit", map[string]any{"tool_input": map[string]any{"file_path": root + "/src/b.py"}, "tool_response": map[string]any{"bashEditDiff": map[string]any{"changedFiles": []string{root + "/src/b.py", root + "/src/c.py", "/etc/passwd"}}}}), "changed src/b.py; related src/b.py; changed src/b.py; changed src/c.py"},
		{event(t, root, "PostToolUse", "mcp__chinvex__search", map[string]any{"tool_response": []map[string]any{{"type": "text", "text": "src/a.py:3-9  x\n  text: 4\nnone"}}}), "learned src/a.py:3-9"},
		{event(t, root, "PostToolUseFailure", "Read", map[string]any{"tool_input": map[string]any{"file_path": root + "/src/gone.py"}}), "nearest src/gone.py"},
		{event(t, root, "PostToolUseFailure", "Bash", map[string]any{"tool_input": map[string]any{"command": "go test"}, "error": "Exit code 1\nsrc/a.py:7: bad\nno/such.py:8: bad"}), "places src/a.py:7"},
		{event(t, root, "SessionStart", "", map[string]any{"source": "compact"}), "forget"},
		{event(t, root, "SessionStart", "", map[string]any{"source": "startup"}), ""},
		{event(t, root, "UserPromptSubmit", "", map[string]any{"prompt": "why does parse_url fail?"}), "context why does parse_url fail?"},
		{event(t, root, "UserPromptSubmit", "", map[string]any{"prompt": "/help"}), ""},
	} {
		e, err := claude.ReadEvent(strings.NewReader(test.in))
		if err != nil {
			t.Fatal(err)
		}
		r := ruleFor(e)
		if r == nil {
			t.Errorf("no rule for %s", test.in)
			continue
		}
		var p Plan
		r.plan(&site{event: e, repo: project.Repository{Name: "r", Root: root}, now: time.Now()}, &p)
		if got := describe(&p); got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.in, got, test.want)
		}
	}
	for _, in := range []string{
		event(t, root, "Stop", "", nil), event(t, root, "PreToolUse", "Bash", nil), event(t, root, "PostToolUse", "WebFetch", nil),
		event(t, root, "PostToolUse", "mcp__other__search", nil),
	} {
		if e, err := claude.ReadEvent(strings.NewReader(in)); err != nil || ruleFor(e) != nil {
			t.Errorf("a rule for %s (%v)", in, err)
		}
	}
}

func describe(p *Plan) string {
	var parts []string
	for _, o := range p.Operations {
		s := string(o.Kind)
		switch {
		case o.Text != "":
			s += " " + o.Text
		case !o.Path.IsZero():
			s += " " + o.Path.Rel
		}
		if o.Lines.Start > 0 {
			s += fmt.Sprintf(":%d-%d", o.Lines.Start, o.Lines.End)
		}
		for _, x := range o.Places {
			s += fmt.Sprintf(" %s:%d", x.Path.Rel, x.Start)
		}
		if o.Glob != "" {
			s += " glob " + o.Glob
		}
		if o.Language != "" {
			s += " lang " + o.Language
		}
		for _, u := range o.Under {
			s += " under " + u.Rel
		}
		parts = append(parts, s)
	}
	var shown []string
	for f := range p.Shown {
		if strings.HasPrefix(f.Rel, "src/") && filepath.Ext(f.Rel) == ".py" && strings.Count(f.Rel, "/") == 1 { // others stand for no file
			shown = append(shown, "shown "+f.Rel)
		}
	}
	parts = append(parts, shown...)
	for _, l := range p.Learned {
		parts = append(parts, fmt.Sprintf("learned %s:%d-%d", l.Path.Rel, l.Start, l.End))
	}
	for _, c := range p.Changed {
		parts = append(parts, "changed "+c.Rel)
	}
	if p.Forget {
		parts = append(parts, "forget")
	}
	return strings.Join(parts, "; ")
}

func TestStartDir(t *testing.T) {
	for _, test := range []struct{ command, cwd, want string }{
		{"grep x", "/repo", "/repo"},
		{"cd src && grep x", "/repo/src", "/repo"},
		{"cd src/a && cd b && ls", "/repo/src/a/b", "/repo"},
		{"(cd src && grep x)", "/repo", "/repo"},
		{"cd /repo/src; ls", "/repo/src", "/repo/src"},
		{"cd .. && ls", "/repo", "/repo/_"},
		{"cd $X && ls", "/repo/src", "/repo/src"},
		{"cd 'unfinished", "/repo", "/repo"},
	} {
		e := claudeEvent(t, map[string]any{"hook_event_name": "PostToolUse", "tool_name": "Bash", "cwd": test.cwd, "tool_input": map[string]any{"command": test.command}})
		if got := startDir(e); got != test.want {
			t.Errorf("%s in %s: %s, not %s", test.command, test.cwd, got, test.want)
		}
	}
}

func claudeEvent(t *testing.T, fields map[string]any) *claude.Event {
	t.Helper()
	data, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	e, err := claude.ReadEvent(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestTouchedBy(t *testing.T) {
	original := "class A:\n    def one(self):\n        return 1\n\n    def two(self):\n        return 2\n\nx = 1\n"
	symbols := []search.Definition{
		{Name: "A", Kind: "class", Start: 1, Line: 1, End: 6},
		{Name: "one", Scope: "A", Kind: "method", Start: 2, Line: 2, End: 3},
		{Name: "two", Scope: "A", Kind: "method", Start: 5, Line: 5, End: 6},
	}
	for _, test := range []struct {
		name string
		hunk claude.Hunk
		want string
	}{
		{"a body", claude.Hunk{OldStart: 3, OldLines: 1, Lines: []string{"-        return 1", "+        return 3"}}, "one"},
		{"a name", claude.Hunk{OldStart: 2, OldLines: 1, Lines: []string{"-    def one(self):", "+    def three(self):"}}, "one removed"},
		{"a signature", claude.Hunk{OldStart: 2, OldLines: 1, Lines: []string{"-    def one(self):", "+    def one(self, x):"}}, "one"},
		{"lines put into a body", claude.Hunk{OldStart: 5, OldLines: 2, Lines: []string{"     def two(self):", "+        pass", "         return 2"}}, "two"},
		{"lines put between methods", claude.Hunk{OldStart: 3, OldLines: 3, Lines: []string{"         return 1", "+", "+    x = 1", " ", "     def two(self):"}}, "A"},
		{"lines after everything", claude.Hunk{OldStart: 8, OldLines: 1, Lines: []string{" x = 1", "+y = 2"}}, ""},
		{"two methods", claude.Hunk{OldStart: 3, OldLines: 3, Lines: []string{"-        return 1", "-", "-    def two(self):", "+        return 2"}}, "A one two removed"},
	} {
		e := claudeEvent(t, map[string]any{"hook_event_name": "PostToolUse", "tool_name": "Edit", "tool_input": map[string]any{"file_path": "/a.py"},
			"tool_response": map[string]any{"originalFile": original, "structuredPatch": []claude.Hunk{test.hunk}}})
		edit, _ := e.Edit()
		var got []string
		for _, s := range touchedBy(symbols, &edit) {
			got = append(got, s.Name)
			if s.removed {
				got = append(got, "removed")
			}
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%s: touched %q, not %q", test.name, s, test.want)
		}
	}
	// An index that does not know an earlier edit has other lines: nothing is claimed.
	e := claudeEvent(t, map[string]any{"hook_event_name": "PostToolUse", "tool_name": "Edit", "tool_input": map[string]any{"file_path": "/a.py"},
		"tool_response": map[string]any{"originalFile": "# new\n" + original, "structuredPatch": []claude.Hunk{{OldStart: 3, OldLines: 1, Lines: []string{"-x", "+y"}}}}})
	edit, _ := e.Edit()
	if got := touchedBy(symbols, &edit); len(got) > 0 {
		t.Errorf("touched %v in a file with other lines", got)
	}
}

func TestAfter(t *testing.T) {
	hunks := []claude.Hunk{{OldStart: 10, OldLines: 3, NewLines: 5}, {OldStart: 20, OldLines: 4, NewLines: 1}}
	for old, want := range map[int]int{5: 5, 13: 15, 19: 21, 30: 29} {
		if got := after(hunks, old); got != want {
			t.Errorf("line %d is %d, not %d", old, got, want)
		}
	}
}

func TestGate(t *testing.T) {
	a := &asker{thresholds: map[string]float64{"go": 0.8}}
	for _, test := range []struct {
		kind  Kind
		query string
		r     search.Result
		want  bool
	}{
		{Search, "parse_url", search.Result{Symbol: "parse_url"}, true},
		{Search, "Url.parse", search.Result{Symbol: "parse"}, true},
		{Search, "parseUrl", search.Result{Coverage: 1, Text: "def parse_url():"}, true},
		{Search, "parseUrl", search.Result{Coverage: 1, Text: "parse(x)\nurl = 1"}, false}, // not on one line
		{Prompt, "parse the url", search.Result{Coverage: 1, Text: "parse(x)\nurl = 1"}, true},
		{Prompt, "parse the url", search.Result{Coverage: .4, Text: "parse(x)\nurl = 1"}, false},
		{Search, "fn parse_url", search.Result{Coverage: 1, Text: "fn url()"}, false}, // a keyword proves nothing
		{Search, "parsing urls", search.Result{Coverage: 1, Text: "parse_url(x)"}, true},
		{Find, "user session", search.Result{Coverage: 1, Path: project.Path{Rel: "src/user_session.go"}}, true},
		{Find, "user session", search.Result{Coverage: 1, Path: project.Path{Rel: "src/a.go"}, Text: "user session"}, false},
		{Search, "nothing alike", search.Result{Language: "Go", Cosine: .85}, true},
		{Search, "nothing alike", search.Result{Language: "Rust", Cosine: .85}, false},
		{Search, "fn", search.Result{Coverage: 1, Text: "fn x()"}, false},
	} {
		if got := a.passes(test.kind, test.r, newWordSet(test.query)); got != test.want {
			t.Errorf("%s %q, %+v: %v", test.kind, test.query, test.r, got)
		}
	}
}

func newTestSession(t *testing.T, dir string, fields map[string]any) *session {
	t.Helper()
	all := map[string]any{"hook_event_name": "PostToolUse", "tool_name": "Read", "session_id": "s", "prompt_id": "p1"}
	for k, v := range fields {
		all[k] = v
	}
	s, err := openSession(dir, claudeEvent(t, all))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLedger(t *testing.T) {
	dir := t.TempDir()
	file := project.Path{Repo: "r", Rel: "a.go"}
	tell := func(fields map[string]any, keys ...string) {
		t.Helper()
		s := newTestSession(t, dir, fields)
		g := Group{Kind: Related, Path: file}
		for _, k := range keys {
			g.Facts = append(g.Facts, Fact{Key: k})
		}
		plan := &Plan{Learned: []Place{{file, 3, 9}}, Forget: fields["source"] == "compact"}
		if err := s.append(plan, []Group{g}, 10); err != nil {
			t.Fatal(err)
		}
	}
	tell(nil, "k1", "k2")
	tell(map[string]any{"agent_id": "sub"}, "k3")
	s := newTestSession(t, dir, nil)
	if s.prompt != 1 || s.shown["k1"] != 1 || s.tokens != 20 || s.related[fileKey(file)] != 1 {
		t.Errorf("remembered %+v", s)
	}
	if _, told := s.shown["k3"]; told {
		t.Error("what a subagent was told counts for its parent")
	}
	if !s.knows(&Fact{Path: file, Start: 9, End: 20}, 30) || s.knows(&Fact{Path: file, Start: 10, End: 20}, 30) {
		t.Error("what was learned is remembered wrongly")
	}
	s.file.Close()
	// Prompts are counted by their ids, however many events they have.
	for i := 2; i <= 40; i++ {
		tell(map[string]any{"prompt_id": fmt.Sprint("p", i)})
		tell(map[string]any{"prompt_id": fmt.Sprint("p", i)})
	}
	s = newTestSession(t, dir, map[string]any{"prompt_id": "p41"})
	s.file.Close()
	if s.prompt != 41 {
		t.Errorf("prompt %d, not 41", s.prompt)
	}
	p := &pass{plan: &Plan{}, session: s, settings: project.DispatchSettings{FactExpiry: 30, RelatedEvery: 5}, seen: map[string]bool{}}
	if !p.dedup(&Group{Kind: Changed}, &Fact{Key: "k1"}) {
		t.Error("a fact of 40 prompts ago has not expired")
	}
	tell(map[string]any{"source": "compact", "hook_event_name": "SessionStart"})
	s = newTestSession(t, dir, nil)
	s.file.Close()
	if len(s.shown) > 0 || s.tokens != 10 {
		t.Errorf("after compaction it remembers %+v", s)
	}

	if err := os.Chtimes(filepath.Join(dir, sessionHash("s")+".jsonl"), time.Time{}, time.Now().Add(-8*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	prune(dir, time.Now())
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v was not pruned", left)
	}
}

func TestFilters(t *testing.T) {
	file := func(rel string) project.Path { return project.Path{Repo: "r", Rel: rel} }
	s := &session{event: &claude.Event{}, prompt: 10, shown: map[string]int{"told": 3}, related: map[string]int{fileKey(file("e.go")): 8}}
	p := &pass{
		plan: &Plan{Shown: map[project.Path]bool{file("shown.go"): true}}, session: s, lines: 6,
		settings: project.DispatchSettings{FactExpiry: 30, RelatedEvery: 5, SessionTokens: 1000},
	}
	groups := []Group{
		{Kind: Search, Heading: "Found:", Limit: 2, Facts: []Fact{
			{Key: "1", Path: file("shown.go"), Passes: true, Text: "shown.go"},
			{Key: "2", Path: file("weak.go"), Text: "weak.go"},
			{Key: "told", Path: file("told.go"), Passes: true, Text: "told.go"},
			{Key: "3", Path: file("a.go"), Passes: true, Text: "a.go"},
			{Key: "3", Path: file("a.go"), Passes: true, Text: "a.go"},
			{Key: "4", Path: file("b.go"), Passes: true, Text: "b.go\n  1: x"},
			{Key: "5", Path: file("c.go"), Passes: true, Text: "c.go"},
		}},
		{Kind: Related, Path: file("e.go"), Facts: []Fact{{Key: "6", Passes: true, Text: "f.go"}}},
		{Kind: Related, Path: file("g.go"), Heading: "Long:", Call: "chinvex related g.go", Facts: []Fact{{Key: "7", Passes: true, Text: "h.go"}}},
	}
	removed := p.filter(groups)
	want := map[string]int{"subtract": 1, "gate": 1, "dedup": 2, "frequency": 1, "budget": 2}
	if diff := cmp.Diff(want, removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("Found:\n  a.go\n  b.go\n    1: x", render(groups)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}

	// What the budget cuts is said; a spent session is silent.
	cutting := func(spent int) string {
		groups := []Group{{Kind: Changed, Heading: "Used:", Call: "chinvex refs x", More: 3, Facts: []Fact{{Key: "1", Passes: true, Text: "a"}, {Key: "2", Passes: true, Text: "b"}}}}
		s := &session{event: &claude.Event{}, tokens: spent}
		(&pass{plan: &Plan{}, session: s, lines: 3, settings: project.DispatchSettings{SessionTokens: 1000}}).filter(groups)
		return render(groups)
	}
	if got := cutting(0); got != "Used:\n  a\n  4 more: chinvex refs x" {
		t.Errorf("cut to %q", got)
	}
	if got := cutting(995); got != "" {
		t.Errorf("a spent session was told %q", got)
	}
}

func TestLogRotates(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, logName), make([]byte, logLimit+1), 0o600); err != nil {
		t.Fatal(err)
	}
	(&record{Outcome: "told", Error: strings.Repeat("x", 10_000)}).write(dir)
	info, err := os.Stat(filepath.Join(dir, logName))
	if err != nil || info.Size() > 1000 {
		t.Errorf("the log was not begun anew: %v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "dispatch.1.jsonl")); err != nil {
		t.Error(err)
	}
}

func TestAwait(t *testing.T) {
	_, env, _ := indexed(t, shop)
	c, err := env.Home.Context("shop")
	if err != nil {
		t.Fatal(err)
	}
	wait := func() time.Duration {
		start := time.Now()
		await(c)
		return time.Since(start)
	}
	if took := wait(); took > pendingWait/2 {
		t.Errorf("it waited %v for nothing", took)
	}
	request, err := index.Enqueue(c.IndexDir(), []project.Path{{Repo: "shop", Rel: "shop/price.py"}})
	if err != nil {
		t.Fatal(err)
	}
	if took := wait(); took < pendingWait {
		t.Errorf("it waited %v only", took)
	}
	old := time.Now().Add(-pendingAge - time.Second)
	if err := os.Chtimes(request, old, old); err != nil {
		t.Fatal(err)
	}
	if took := wait(); took > pendingWait/2 {
		t.Errorf("it waited %v for a refresh of long ago", took)
	}
}

// FuzzRun sends any event through the whole of it: no panic, exit code 0, nothing or one
// JSON object.
func FuzzRun(f *testing.F) {
	root, env, _ := indexed(f, shop)
	payloads, err := filepath.Glob("../claude/testdata/payloads/*.json")
	if err != nil || len(payloads) == 0 {
		f.Fatal("no payloads", err)
	}
	for _, name := range payloads {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.ReplaceAll(data, []byte("/repo"), []byte("@")))
	}
	for _, command := range []string{"grep -rn parsePrice .", "cd shop && rg -n 'parse.*price|add_item'", "find . -name '*price*'", "sed -n 1,3p shop/price.py", "cat > shop/new.py <<X\nX"} {
		f.Add([]byte(event(f, "@", "PostToolUse", "Bash", map[string]any{"tool_input": map[string]any{"command": command}, "tool_response": map[string]any{"stdout": "shop/price.py:1:x"}})))
	}
	f.Add([]byte(event(f, "@", "PostToolUse", "Edit", map[string]any{
		"tool_input":    map[string]any{"file_path": "@/shop/price.py", "old_string": "a", "new_string": "b"},
		"tool_response": map[string]any{"structuredPatch": []claude.Hunk{{OldStart: 1, Lines: []string{"-def parse_price(text):", "+x"}}}},
	})))
	f.Add([]byte(event(f, "@", "UserPromptSubmit", "", map[string]any{"prompt": "what does parse_price do?"})))
	f.Add([]byte(event(f, "@", "PostToolUseFailure", "Bash", map[string]any{"tool_input": map[string]any{"command": "x"}, "error": "Exit code 1\nshop/cart.py:5: no"})))
	sessions := filepath.Join(env.Home.Dir, "contexts/shop/sessions")
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.ReplaceAll(data, []byte("@"), []byte(root))
		var out bytes.Buffer
		if code := Run(context.Background(), bytes.NewReader(data), &out, env); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if out.Len() > 0 {
			var answer map[string]struct{ HookEventName, AdditionalContext string }
			if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
				t.Errorf("%v: %s", err, out.Bytes())
			}
		}
		names, _ := filepath.Glob(filepath.Join(sessions, "*"))
		for _, n := range names { // each event meets an empty ledger
			if err := os.Remove(n); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
		}
		if log, err := os.ReadFile(filepath.Join(env.Home.Dir, "contexts/shop/logs", logName)); err == nil {
			if bytes.Contains(log, []byte(`"outcome":"panic"`)) {
				t.Errorf("a panic: %s", log)
			}
			_ = os.Remove(filepath.Join(env.Home.Dir, "contexts/shop/logs", logName))
		}
	})
}
