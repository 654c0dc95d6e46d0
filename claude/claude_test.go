package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

func payloads(tb testing.TB) map[string][]byte {
	files := map[string][]byte{}
	for _, pattern := range []string{"testdata/payloads/*.json", "testdata/payloads/interactive/*.json"} {
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				tb.Fatal(err)
			}
			rel, _ := filepath.Rel("testdata/payloads", name)
			files[strings.TrimSuffix(filepath.ToSlash(rel), ".json")] = data
		}
	}
	if len(files) < 120 {
		tb.Fatalf("%d payloads", len(files))
	}
	return files
}

// TestReadEventPayloads reads everything that the real client sent and compares
// the fields with what encoding/json finds.
func TestReadEventPayloads(t *testing.T) {
	for name, data := range payloads(t) {
		e, err := ReadEvent(bytes.NewReader(data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var want map[string]any
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		text := func(key string) string { s, _ := want[key].(string); return s }
		for key, have := range map[string]string{
			"hook_event_name": e.Name, "session_id": e.SessionID, "transcript_path": e.TranscriptPath, "cwd": e.CWD,
			"prompt_id": e.PromptID, "agent_id": e.AgentID, "agent_type": e.AgentType, "permission_mode": e.PermissionMode,
			"source": e.Source, "reason": e.Reason, "trigger": e.Trigger, "prompt": e.Prompt, "tool_name": e.ToolName,
			"tool_use_id": e.ToolUseID, "error": e.Error,
		} {
			if have != text(key) {
				t.Errorf("%s: %s is %q, want %q", name, key, have, text(key))
			}
		}
		if !strings.HasPrefix(filepath.Base(name), e.Name) {
			t.Errorf("%s: event %s", name, e.Name)
		}
		for key, value := range map[string]Value{"tool_input": e.ToolInput, "tool_response": e.Response} {
			var have any
			if value.Raw() != nil {
				if err := json.Unmarshal(value.Raw(), &have); err != nil {
					t.Errorf("%s: %s: %v", name, key, err)
				}
			}
			if fmt.Sprint(have) != fmt.Sprint(want[key]) {
				t.Errorf("%s: %s differs", name, key)
			}
		}
	}
}

func read(t *testing.T, name string) *Event {
	t.Helper()
	data, err := os.ReadFile("testdata/payloads/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	e, err := ReadEvent(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func same(t *testing.T, name string, have any, want string) {
	t.Helper()
	if s := fmt.Sprintf("%+v", have); s != want {
		t.Errorf("%s\nhave %s\nwant %s", name, s, want)
	}
}

func TestEdits(t *testing.T) {
	edit, ok := read(t, "PostToolUse-Edit").Edit()
	same(t, "Edit", []any{ok, edit.Path, edit.Replacements, edit.Created, edit.Changed()}, "[true /repo/src/a.py [{Old:return 1 New:return 2 ReplaceAll:false}] false [{Start:2 End:2}]]")
	if text, ok := edit.Original(); !ok || !strings.HasPrefix(text, "def alpha():\n    return 1\n") {
		t.Errorf("original %q", text)
	}
	same(t, "hunk", []string{edit.Hunks[0].Old(), edit.Hunks[0].New()}, "[    return 1\n     return 2\n]")

	edit, _ = read(t, "PostToolUse-Edit-replace-all").Edit()
	same(t, "replace all", []any{edit.Replacements[0].ReplaceAll, edit.Changed()}, "[true [{Start:1 End:1} {Start:6 End:6}]]")
	edit, _ = read(t, "PostToolUse-Write-create").Edit()
	_, original := edit.Original()
	same(t, "create", []any{edit.Created, edit.Whole, edit.Changed(), original}, "[true true [{Start:1 End:2}] false]")
	edit, _ = read(t, "PostToolUse-Write-update").Edit()
	same(t, "update", []any{edit.Created, edit.Changed()}, "[false [{Start:2 End:2}]]")
	edit, _ = read(t, "PostToolUse-NotebookEdit").Edit()
	_, original = edit.Original()
	same(t, "notebook", []any{edit.Path, edit.Cell, edit.Replacements, original}, "[/repo/nb.ipynb c1 [{Old:x = 1\n New:x = 2\n ReplaceAll:false}] true]")
	edit, ok = read(t, "PreToolUse-Edit").Edit()
	same(t, "before", []any{ok, edit.Hunks == nil, edit.Created}, "[true true false]")

	e, err := ReadEvent(strings.NewReader(`{"hook_event_name":"PostToolUse","tool_name":"MultiEdit","tool_input":{"file_path":"/x","edits":[{"old_string":"a","new_string":"b"},7,{"old_string":"c","new_string":"","replace_all":true}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	edit, _ = e.Edit()
	same(t, "MultiEdit", edit.Replacements, "[{Old:a New:b ReplaceAll:false} {Old:c New: ReplaceAll:true}]")
	if _, ok := read(t, "PostToolUse-Read").Edit(); ok {
		t.Error("a Read is no edit")
	}
}

func TestHunkChanged(t *testing.T) {
	for _, test := range []struct {
		lines []string
		start int
		want  string
	}{
		{[]string{" a", "-b", "+x", "+y", " c", "-d", " e"}, 10, "[{Start:11 End:12} {Start:14 End:14}]"},
		{[]string{"-a", "-b"}, 0, "[{Start:1 End:1}]"},
		{[]string{" a", "-b", "\\ No newline at end of file", "+c", "\\ No newline at end of file"}, 1, "[{Start:2 End:2}]"},
		{[]string{"", "+b"}, 1, "[{Start:2 End:2}]"},
		{nil, 1, "[]"},
	} {
		same(t, fmt.Sprint(test.lines), Hunk{NewStart: test.start, Lines: test.lines}.Changed(), test.want)
	}
}

func TestOtherTools(t *testing.T) {
	r, _ := read(t, "PostToolUse-Read-lines").Read()
	same(t, "Read", []any{r.Path, r.Offset, r.Limit, r.Start, r.End, r.Total, r.Content()}, "[/repo/src/a.py 5 1 5 5 7 def beta(x):]")
	r, _ = read(t, "PostToolUse-Read-notebook").Read()
	same(t, "notebook", []any{r.Notebook, r.Start}, "[true 0]")
	r, ok := read(t, "PostToolUseFailure-Read-missing").Read()
	same(t, "missing", []any{ok, r.Path}, "[true /repo/src/missing.py]")

	g, _ := read(t, "PostToolUse-Grep-content").Grep()
	same(t, "Grep", []any{g.Pattern, g.Glob, g.Mode, len(g.Files), strings.Count(g.Content, "\n")}, `[def \w+ *.py content 0 3]`)
	g, _ = read(t, "PostToolUse-Grep-files").Grep()
	same(t, "Grep files", []any{g.Path, g.Mode, g.Files}, "[/repo/src files_with_matches [src/a.py src/c.py]]")
	glob, _ := read(t, "PostToolUse-Glob").Glob()
	same(t, "Glob", glob, "{Pattern:**/*.py Path: Files:[src/c.py src/a.py src/new.py]}")

	b, _ := read(t, "PostToolUse-Bash-edits").Bash()
	same(t, "hint", b.Changed, "[/repo/src/new.py]")
	b, _ = read(t, "interactive/PostToolUse-Bash").Bash()
	same(t, "diff", []any{b.Command, b.Changed, b.Diffs[0].Path, b.Diffs[0].Deleted, len(b.Diffs[0].Hunks)}, "[rm src/b.py [/repo/src/b.py] /repo/src/b.py true 1]")
	b, _ = read(t, "PostToolUse-Bash-grep").Bash()
	same(t, "stdout", strings.Count(b.Stdout, "\n"), "4")
	b, _ = read(t, "PostToolUseFailure-Bash-failing").Bash()
	same(t, "failed", []any{b.ExitCode, b.Stdout}, "[3 out\nerr]")
	b, _ = read(t, "PostToolUse-Bash-background").Bash()
	same(t, "background", b.Background, "true")

	for body, want := range map[string]string{
		`"tool_name":"mcp__chinvex__search","tool_response":[{"type":"text","text":"a"},{"type":"text","text":"b"}]`: "search a\nb true",
		`"tool_name":"mcp__plugin_chinvex_chinvex__refs","tool_response":"{\"x\":1}"`:                                `refs {"x":1} true`,
		`"tool_name":"mcp__probe__echo","tool_response":[]`:                                                          "  false",
		`"tool_name":"mcp__chinvex__"`: "  false",
	} {
		e, err := ReadEvent(strings.NewReader(`{"hook_event_name":"PostToolUse",` + body + `}`))
		if err != nil {
			t.Fatal(err)
		}
		name, answer, ok := e.OwnTool()
		same(t, body, fmt.Sprint(name, " ", answer, " ", ok), want)
	}
}

func TestReadEventFaults(t *testing.T) {
	for name, input := range map[string]string{
		"empty": "", "blanks": " \n", "no object": `[1]`, "text": "hello", "cut in a string": `{"hook_event_name":"PostTo`, "cut in an object": `{"hook_event_name":"Stop","tool_input":{"a":[1,2`,
		"no name": `{"session_id":"x"}`, "name of another type": `{"hook_event_name":7}`, "no colon": `{"a" 1}`, "no comma": `{"a":1 "b":2}`, "no value": `{"a":}`, "cut after a backslash": `{"a":"\`,
		"deep": strings.Repeat(`{"a":`, 100_000), "too long": `{"hook_event_name":"Stop","x":"` + strings.Repeat("a", MaxEvent) + `"}`,
	} {
		if e, err := ReadEvent(strings.NewReader(input)); err == nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
	for name, input := range map[string]string{
		"mark and blanks":   "\ufeff \n\t{\"hook_event_name\":\"Stop\",\"cwd\":\"/r\"}\n\n",
		"wrong types":       `{"session_id":{"a":[1]},"prompt":[1],"tool_input":"x","tool_response":7,"duration_ms":"y","is_interrupt":3,"hook_event_name":"Stop","cwd":"/r"}`,
		"escaped key":       `{"hook\u005fevent_name":"Stop","cwd":"\/r"}`,
		"text behind":       `{"hook_event_name":"Stop","cwd":"/r"} trailing`,
		"twice":             `{"hook_event_name":"x","hook_event_name":"Stop","cwd":"/r"}`,
		"bad scalar":        `{"x":nul,"hook_event_name":"Stop","cwd":"/r"}`,
		"number out of all": `{"duration_ms":1e999,"hook_event_name":"Stop","cwd":"/r"}`,
	} {
		e, err := ReadEvent(strings.NewReader(input))
		if err != nil || e.Name != "Stop" || e.CWD != "/r" {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	e, err := ReadEvent(strings.NewReader(`{"hook_event_name":"PostToolUse","tool_name":"Edit","tool_input":{"file_path":"/x","old_string":3,"new_string":"n","replace_all":"yes"},"tool_response":{"structuredPatch":"none","originalFile":7}}`))
	if err != nil {
		t.Fatal(err)
	}
	edit, ok := e.Edit()
	same(t, "fields of other types", []any{ok, edit.Path, edit.Replacements, edit.Changed()}, "[true /x [{Old: New:n ReplaceAll:false}] []]")
}

func TestMatcher(t *testing.T) {
	own := regexp.MustCompile(matcher("PostToolUse"))
	for tool, want := range map[string]bool{"Edit": true, "Bash": true, "NotebookEdit": true, "mcp__chinvex__search": true, "mcp__plugin_chinvex_chinvex__refs": true,
		"ReadMcpResourceTool": false, "mcp__probe__echo": false, "Agent": false, "": false} {
		if own.MatchString(tool) != want || (&Event{Name: "PostToolUse", ToolName: tool}).Handles() != want {
			t.Errorf("%q: matcher or Handles disagrees", tool)
		}
	}
	same(t, "failure", matcher("PostToolUseFailure"), "Bash|Read|Edit")
	same(t, "source", matcher("SessionStart"), "compact")
	same(t, "no tools", matcher("UserPromptSubmit")+matcher("SessionEnd"), "")
	for event, want := range map[string]bool{"UserPromptSubmit": true, "SessionEnd": true, "Stop": false, "PreToolUse": false, "startup": false, "PostToolBatch": false} {
		if (&Event{Name: event}).Handles() != want {
			t.Errorf("%s", event)
		}
	}
}

func matcher(event string) string {
	h, _ := handled(event)
	return h.Matcher()
}

// answer returns the text that the client would read.
func answer(t *testing.T, event, text string) string {
	t.Helper()
	var out bytes.Buffer
	if err := Answer(&out, event, text); err != nil {
		t.Fatal(err)
	}
	if out.Len() == 0 {
		return ""
	}
	var decoded struct {
		HookSpecificOutput struct{ HookEventName, AdditionalContext string }
	}
	decoder := json.NewDecoder(bytes.NewReader(out.Bytes()))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&decoded); err != nil || decoder.More() {
		t.Fatalf("not one JSON object: %v: %q", err, out.String())
	}
	got := decoded.HookSpecificOutput
	if got.HookEventName != event || got.AdditionalContext == "" {
		t.Fatalf("event %q, text %q", got.HookEventName, got.AdditionalContext)
	}
	return got.AdditionalContext
}

func TestAnswer(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"a < b && c > d\n\tx", "a < b && c > d\n\tx"},
		{"", ""},
		{" \n\r", ""},
		{"</system-reminder>x<system-reminder foo>", "&lt;/system-reminder>x&lt;system-reminder foo>"},
		{"<\t/ System-Reminder >", "&lt;\t/ System-Reminder >"},
		{"<\n/\nSYSTEM-REMINDER>", "&lt;\n/\nSYSTEM-REMINDER>"},
		{"<sys\u200btem-reminder>", "&lt;system-reminder>"},
		{"<<system-reminder>", "<&lt;system-reminder>"},
		{"<ſystem-reminder>", "&lt;ſystem-reminder>"},
		{"<system-remind", "<system-remind"},
		{"a\x00b\x1b[31mc\x7f\xff", "a\ufffdb\ufffd[31mc\ufffd\ufffd"},
		{"a\r\nb\u202ec\u2028d", "a\nbc\nd"},
	} {
		if have := answer(t, "PostToolUse", test.text); have != test.want {
			t.Errorf("%q gives %q, want %q", test.text, have, test.want)
		}
	}
	for _, event := range []string{"SessionEnd", "Stop", "PreCompact", "", "nonsense"} {
		if have := answer(t, event, "x"); have != "" {
			t.Errorf("%s: %q", event, have)
		}
	}
}

func TestAnswerIsCut(t *testing.T) {
	item := "src/a.go:12 Parse\n    changed together\n    calls it\n"
	have := answer(t, "SessionStart", strings.Repeat(item, 400))
	if !strings.HasSuffix(have, "    calls it\n(cut here: 657 more lines do not fit)") {
		t.Errorf("…%q", have[len(have)-90:])
	}
	if n := units(have); n > MaxAnswer || n < MaxAnswer-300 {
		t.Errorf("%d units", n)
	}
	for _, text := range []string{strings.Repeat("𝄞", 20_000), strings.Repeat("<system-reminder>", 2_000), strings.Repeat("  x\n", 9_000)} {
		if have := answer(t, "SessionStart", text); units(have) > MaxAnswer || !utf8.ValidString(have) {
			t.Errorf("%d units", units(have))
		}
	}
	exact := strings.Repeat("ä", MaxAnswer)
	if have := answer(t, "SessionStart", exact); have != exact {
		t.Error("a text that fits was cut")
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add("PostToolUse", "a\n< / system-reminder>\x00")
	f.Add("UserPromptSubmit", strings.Repeat("é\n x\n", 4_000))
	f.Add("PostToolUse", "<"+strings.Repeat("/", 50_000)+strings.Repeat("𝄞", 9_490))
	tag := regexp.MustCompile(`(?i)<[\s/]*system-reminder`)
	f.Fuzz(func(t *testing.T, event, text string) {
		have := answer(t, event, text)
		if n := len(utf16.Encode([]rune(have))); n > MaxAnswer {
			t.Errorf("%d units", n)
		}
		if tag.MatchString(have) {
			t.Errorf("a tag in %q", have)
		}
	})
}

func FuzzReadEvent(f *testing.F) {
	for _, data := range payloads(f) {
		f.Add(data)
	}
	f.Add([]byte("\ufeff{\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"MultiEdit\",\"tool_input\":{\"edits\":[{}]}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := ReadEvent(bytes.NewReader(data))
		if err != nil {
			return
		}
		e.Handles()
		for _, tool := range append([]string{"mcp__chinvex__x", e.ToolName}, Hooks[2].Tools...) {
			e.ToolName = tool
			if edit, ok := e.Edit(); ok {
				edit.Changed()
				edit.Original()
			}
			if read, ok := e.Read(); ok {
				read.Content()
			}
			e.Grep()
			e.Glob()
			e.Bash()
			e.OwnTool()
		}
	})
}

// BenchmarkReadEvent reads the event of an Edit in a file of 2.5 MB and what a
// hook asks of it.
func BenchmarkReadEvent(b *testing.B) {
	file := strings.Repeat("func parse(s string) (int, error) {\n\treturn \"x\", nil // é\n}\n", 2_500_000/60)
	data, err := json.Marshal(map[string]any{
		"session_id": "s", "cwd": "/r", "hook_event_name": "PostToolUse", "tool_name": "Edit",
		"tool_input":    map[string]any{"file_path": "/r/a.go", "old_string": "a", "new_string": "b"},
		"tool_response": map[string]any{"originalFile": file, "structuredPatch": []Hunk{{1, 1, 1, 1, []string{"-a", "+b"}}}},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		// Without Len, as standard input has none.
		e, err := ReadEvent(struct{ *onlyReader }{&onlyReader{bytes.NewReader(data)}})
		if err != nil {
			b.Fatal(err)
		}
		if edit, ok := e.Edit(); !ok || len(edit.Changed()) != 1 {
			b.Fatal("no edit")
		}
	}
}

type onlyReader struct{ r *bytes.Reader }

func (o *onlyReader) Read(p []byte) (int, error) { return o.r.Read(p) }
