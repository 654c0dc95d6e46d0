package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/chinvex/chinvex/claude"
)

var update = flag.Bool("update", false, "write the golden files")

// others are the agents that are not Claude Code.
var others = Names()[1:]

func named(t testing.TB, name string) Client {
	t.Helper()
	c, err := ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// repository makes the files that the edits of testdata have left, and returns where
// they stand instead of /repo.
func repository(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.go": "package a\n\n// A is one more than it was.\nfunc A() int { return 2 }\n\nfunc B() int { return A() + 1 }\n",
		"z.go": "package a\n\n// A is one more than it was.\nfunc A() int { return 2 }\n\nfunc B() int { return A() }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// payloads are the events of testdata by file, of one agent.
func payloads(t testing.TB, agent string) (names []string, events map[string][]byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", agent, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata of %s: %d files, %v", agent, len(files), err)
	}
	events = map[string][]byte{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		names, events[name] = append(names, name), data
	}
	return names, events
}

// TestGolden pins what becomes of each event: what Claude Code's accessors find in it,
// and the answer.
func TestGolden(t *testing.T) {
	for _, agent := range others {
		t.Run(agent, func(t *testing.T) {
			dir := repository(t)
			var got strings.Builder
			names, events := payloads(t, agent)
			for _, name := range names {
				fmt.Fprintf(&got, "== %s\n%s\n", name, describe(t, named(t, agent), bytes.ReplaceAll(events[name], []byte("/repo"), []byte(dir))))
			}
			text := strings.ReplaceAll(got.String(), dir, "/repo")
			golden := filepath.Join("testdata", agent, "golden.txt")
			if *update {
				if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func describe(t *testing.T, c Client, event []byte) string {
	t.Helper()
	e, err := c.ReadEvent(bytes.NewReader(event))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s handled=%v session=%s turn=%s cwd=%s", e.Name, e.ToolName, e.Handles(), e.SessionID, e.PromptID, e.CWD)
	for _, text := range []string{e.Source, e.Reason, e.Prompt, e.Error} {
		if text != "" {
			fmt.Fprintf(&out, " %q", text)
		}
	}
	out.WriteByte('\n')
	if edit, ok := e.Edit(); ok {
		fmt.Fprintf(&out, "edit %s whole=%v created=%v changed=%v\n", edit.Path, edit.Whole, edit.Created, edit.Changed())
		for _, r := range edit.Replacements {
			fmt.Fprintf(&out, "  %q → %q all=%v\n", r.Old, r.New, r.ReplaceAll)
		}
		for _, h := range edit.Hunks {
			fmt.Fprintf(&out, "  hunk -%d,%d +%d,%d %q\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines, h.Lines)
		}
		if original, ok := edit.Original(); ok {
			fmt.Fprintf(&out, "  original %q\n", original)
		}
	}
	if read, ok := e.Read(); ok {
		fmt.Fprintf(&out, "read %s asked=%d,%d shown=%d-%d of %d\n", read.Path, read.Offset, read.Limit, read.Start, read.End, read.Total)
	}
	if grep, ok := e.Grep(); ok {
		fmt.Fprintf(&out, "grep %q under=%q glob=%q mode=%s files=%q content=%q\n", grep.Pattern, grep.Path, grep.Glob, grep.Mode, grep.Files, grep.Content)
	}
	if glob, ok := e.Glob(); ok {
		fmt.Fprintf(&out, "glob %q under=%q files=%q\n", glob.Pattern, glob.Path, glob.Files)
	}
	if bash, ok := e.Bash(); ok {
		fmt.Fprintf(&out, "bash %q exit=%d stdout=%q changed=%q\n", bash.Command, bash.ExitCode, bash.Stdout, bash.Changed)
	}
	if name, answer, ok := e.OwnTool(); ok {
		fmt.Fprintf(&out, "own tool %s %q\n", name, answer)
	}
	var answer bytes.Buffer
	if err := c.Answer(&answer, e, "two < three\n  a fact\n"); err != nil {
		t.Fatal(err)
	}
	out.WriteString("answer " + answer.String())
	if answer.Len() == 0 {
		out.WriteString("nothing\n")
	}
	return out.String()
}

// TestAlsoChanged holds the other files of a patch, which an edit does not carry.
func TestAlsoChanged(t *testing.T) {
	_, events := payloads(t, "codex")
	e, err := named(t, "codex").ReadEvent(bytes.NewReader(events["patch-several"]))
	if err != nil {
		t.Fatal(err)
	}
	var response struct {
		BashEditDiff struct{ ChangedFiles []string }
	}
	if err := json.Unmarshal(e.Response.Raw(), &response); err != nil {
		t.Fatal(err)
	}
	want := []string{"/repo/sub/c.go", "/repo/a.go", "/repo/b.txt"}
	if !slices.Equal(response.BashEditDiff.ChangedFiles, want) {
		t.Errorf("changed %q, want %q", response.BashEditDiff.ChangedFiles, want)
	}
}

func TestByName(t *testing.T) {
	for _, name := range append([]string{""}, Names()...) {
		if _, err := ByName(name); err != nil {
			t.Error(err)
		}
	}
	_, err := ByName("emacs")
	if err == nil || !strings.Contains(err.Error(), "claude, codex, cursor, gemini") {
		t.Errorf("the error %q does not list the names", err)
	}
}

// TestClaude holds the default against package claude itself.
func TestClaude(t *testing.T) {
	const event = `{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":{"stdout":"a.go"}}`
	e, err := Client{}.ReadEvent(strings.NewReader(event))
	if err != nil {
		t.Fatal(err)
	}
	if bash, ok := e.Bash(); !ok || bash.Stdout != "a.go" {
		t.Errorf("%+v", bash)
	}
	var got, want, start bytes.Buffer
	if err := errors.Join(Client{}.Answer(&got, e, "a fact"), claude.Answer(&want, e.Name, "a fact"), Client{}.Start(&start, "the brief\n")); err != nil {
		t.Fatal(err)
	}
	if got.String() != want.String() || got.Len() == 0 {
		t.Errorf("got %q, want %q", got.String(), want.String())
	}
	if start.String() != "the brief\n" {
		t.Errorf("start %q", start.String())
	}
}

func TestStart(t *testing.T) {
	want := map[string]string{
		"claude": "the brief",
		"codex":  `{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"the brief"}}`,
		"cursor": `{"additional_context":"the brief"}`,
		"gemini": `{"hookSpecificOutput":{"additionalContext":"the brief","hookEventName":"SessionStart"}}`,
	}
	for _, name := range Names() {
		var got, nothing bytes.Buffer
		if err := errors.Join(named(t, name).Start(&got, "the brief"), named(t, name).Start(&nothing, " \n")); err != nil {
			t.Fatal(err)
		}
		if strings.TrimSuffix(got.String(), "\n") != want[name] || nothing.Len() > 0 {
			t.Errorf("%s: %q and %q", name, got.String(), nothing.String())
		}
	}
}

// TestOddEvents holds that a field of another type costs that field alone, and that what
// is no event is an error.
func TestOddEvents(t *testing.T) {
	names := map[string][2]string{"codex": {"PostToolUse", "Bash"}, "cursor": {"postToolUse", "Shell"}, "gemini": {"AfterTool", "run_shell_command"}}
	for _, agent := range others {
		c := named(t, agent)
		for _, text := range []string{"", "null", "[]", "7", `{"hook_event_name":7}`, `{}`, `{"hook_event_name":"Stop"`} {
			if e, err := c.ReadEvent(strings.NewReader(text)); err == nil {
				t.Errorf("%s: %s gives %+v", agent, text, e)
			}
		}
		long := `{"hook_event_name":"Stop","prompt":"` + strings.Repeat("x", claude.MaxEvent) + `"}`
		if _, err := c.ReadEvent(strings.NewReader(long)); err == nil {
			t.Errorf("%s: an event over MaxEvent is read", agent)
		}
		n := names[agent]
		odd := fmt.Sprintf("\ufeff"+`{"hook_event_name":%q,"tool_name":%q,"cwd":7,"session_id":[],"conversation_id":{},"prompt":1,"workspace_roots":"x","duration":"x","tool_input":{"command":"ls"},"tool_response":7,"tool_output":[],"mcp_context":1} and more`, n[0], n[1])
		e, err := c.ReadEvent(strings.NewReader(odd))
		if err != nil {
			t.Errorf("%s: %v", agent, err)
			continue
		}
		if bash, ok := e.Bash(); !ok || bash.Command != "ls" || e.Name != "PostToolUse" {
			t.Errorf("%s: %+v", agent, e)
		}
	}
}

// TestAnswerIsHarmless holds the promises about text for every agent: tags are escaped,
// it is never longer than the shortest limit of an agent, and it decides nothing.
func TestAnswerIsHarmless(t *testing.T) {
	const limit = 10_000 // Cursor drops more; Codex and Claude Code cut it
	text := "</system-reminder>\x1b[31m\n" + strings.Repeat("a line that goes on and on\n", 1000)
	for _, agent := range Names() {
		var out bytes.Buffer
		if err := named(t, agent).Answer(&out, &claude.Event{Name: "UserPromptSubmit"}, text); err != nil {
			t.Fatal(err)
		}
		var answer map[string]any
		if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
			t.Fatalf("%s: %v", agent, err)
		}
		said, _ := answer["additional_context"].(string)
		if inner, ok := answer["hookSpecificOutput"].(map[string]any); ok {
			said, _ = inner["additionalContext"].(string)
			if len(inner) != 2 {
				t.Errorf("%s: %v", agent, inner)
			}
		}
		if len(answer) != 1 || said == "" || strings.Contains(said, "</system") || strings.Contains(said, "\x1b") || len(utf16.Encode([]rune(said))) > limit {
			t.Errorf("%s: %d members, %.100q", agent, len(answer), said)
		}
		out.Reset()
		for _, event := range []string{"SessionEnd", "Stop", "PreToolUse", "BeforeModel", ""} {
			if err := named(t, agent).Answer(&out, &claude.Event{Name: event}, text); err != nil || out.Len() > 0 {
				t.Errorf("%s: %s is answered: %v", agent, event, err)
			}
		}
	}
}

func TestParsePatch(t *testing.T) {
	const patch = "*** Begin Patch\n*** Update File: a/b.py\r\n*** Move to: c.py\n@@ class C:\n@@     def f():\n one\n-two\n+2\n\n*** three\n@@\n+last\n*** End of File\n*** Add File: new.txt\n+*** End Patch\n+x\n*** Delete File: old.txt\n*** End Patch\n*** Add File: late.txt\n+no\n"
	want := []filePatch{
		{op: 'U', path: "a/b.py", moved: "c.py", changes: []change{
			{under: []string{"class C:", "def f():"}, lines: []string{" one", "-two", "+2", " "}},
			{lines: []string{"+last"}},
		}},
		{op: 'A', path: "new.txt", changes: []change{{lines: []string{"+*** End Patch", "+x"}}}},
		{op: 'D', path: "old.txt"},
	}
	if diff := cmp.Diff(want, parsePatch(patch), cmp.AllowUnexported(filePatch{}, change{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLocated(t *testing.T) {
	const now = "class C:\n    def f():\n        return 1\n\nclass D:\n    def f():\n        return 1\n    x = 2\n"
	one := change{lines: []string{" class C:", "+    def f():", "         return 1"}}
	same := []string{"     def f():", "-        return 0", "+        return 1"}
	for _, test := range []struct {
		name    string
		changes []change
		want    []string // "-start,lines +start,lines"
	}{
		{"unique", []change{one}, []string{"-1,2 +1,3"}},
		{"twice", []change{{lines: same}}, nil},
		{"under a heading", []change{{under: []string{"class D:"}, lines: same}}, []string{"-6,2 +6,2"}},
		{"after the one before", []change{one, {lines: same}}, []string{"-1,2 +1,3", "-5,2 +6,2"}},
		{"after one that is not found", []change{{lines: []string{"+gone", "+gone"}}, {lines: []string{"-x", "+    x = 2"}}}, []string{"-6,1 +8,1"}},
		{"only removed", []change{{lines: []string{"-x"}}}, nil},
	} {
		var got []string
		for _, h := range located(now, test.changes) {
			got = append(got, fmt.Sprintf("-%d,%d +%d,%d", h.OldStart, h.OldLines, h.NewStart, h.NewLines))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestReplaced(t *testing.T) {
	const now = "a\nfoo(bar, 2)\nc\n"
	for _, test := range []struct {
		old, text string
		want      []string
	}{
		{"1", "2", []string{"-foo(bar, 1)", "+foo(bar, 2)"}},
		{"a\nfoo(1)\nc\n", now, []string{" a", "-foo(1)", "+foo(bar, 2)", " c", " "}},
		{"a", "a\nfoo(bar, 2)", []string{" a", "+foo(bar, 2)"}},
		{"x", "nowhere", nil},
		{"x", "a", nil}, // twice
		{"x", "", nil},
	} {
		if c, _ := replaced(now, test.old, test.text); !slices.Equal(c.lines, test.want) {
			t.Errorf("%q → %q: %q, want %q", test.old, test.text, c.lines, test.want)
		}
	}
}

func TestShellOutput(t *testing.T) {
	for _, test := range []struct {
		text, output string
		code         int
	}{
		{"Output: (empty)\nProcess Group PGID: 7", "", 0},
		{"<untrusted_context>\nOutput: one\nError: two\nExit Code: 2\nSignal: 9\nBackground PIDs: 1, 2\nProcess Group PGID: 7\n</untrusted_context>", "one\nError: two", 2},
		{"Output: a: b", "a: b", 0},
		{"Output: Exit Code: 3", "Exit Code: 3", 3},
		{"Command was cancelled by user before it could start.", "", 0},
	} {
		if output, code := shellOutput(test.text); output != test.output || code != test.code {
			t.Errorf("%q: %q, %d", test.text, output, code)
		}
	}
}

func FuzzCodex(f *testing.F)  { fuzz(f, "codex") }
func FuzzCursor(f *testing.F) { fuzz(f, "cursor") }
func FuzzGemini(f *testing.F) { fuzz(f, "gemini") }

// fuzz holds that no input of an agent panics, that what is read can be asked everything,
// and that an answer is nothing or one object on one line.
func fuzz(f *testing.F, agent string) {
	c := named(f, agent)
	_, events := payloads(f, agent)
	dir := repository(f)
	for _, event := range events {
		f.Add(bytes.ReplaceAll(event, []byte("/repo"), []byte(dir)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := c.ReadEvent(bytes.NewReader(data))
		if err != nil {
			return
		}
		e.Handles()
		e.Bash()
		e.Read()
		e.Grep()
		e.Glob()
		e.OwnTool()
		if edit, ok := e.Edit(); ok {
			edit.Changed()
			edit.Original()
		}
		var out bytes.Buffer
		if err := c.Answer(&out, e, e.Prompt+e.Error+"x"); err != nil {
			t.Fatal(err)
		}
		if out.Len() > 0 && (!json.Valid(out.Bytes()) || bytes.Count(out.Bytes(), []byte("\n")) != 1) {
			t.Fatalf("answer %q", out.Bytes())
		}
	})
}
