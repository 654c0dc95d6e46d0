package parse

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPromptQuery(t *testing.T) {
	for _, nothing := range []string{
		"", " \n", "go", "please go", "yes", "Yes, continue.", "ok thanks!", "/review", "/plugin:cmd with words", "continue", "3", "?!", "looks",
		"<task-notification>\n<task-id>x</task-id>\nfix the parser", "<command-name>/x</command-name> parser", "do it again", "y",
	} {
		if query, ok := PromptQuery(nothing); ok {
			t.Errorf("%q gives %q", nothing, query)
		}
	}
	for _, something := range []string{
		"fix the parser", "why does re-index fail?", "ReadEvent", "/src/a.py is broken", "src/a.py", "修复解析器", "the x-ray view crashes", "rename `foo` please", "go to parse_config and fix it",
	} {
		if query, ok := PromptQuery(something); !ok || query != something {
			t.Errorf("%q gives %q, %v", something, query, ok)
		}
	}
	long := "Fix the über-parser. " + strings.Repeat("日本語のテキスト ", 400) + " see src/deep/file.go and ReadEvent"
	query, ok := PromptQuery(long)
	if !ok || len(query) > maxQuery || !utf8.ValidString(query) || !strings.HasSuffix(query, "src/deep/file.go ReadEvent") {
		t.Errorf("%d bytes, %v: …%s", len(query), ok, query[max(0, len(query)-60):])
	}
}

func TestMentions(t *testing.T) {
	for _, test := range []struct{ text, paths, names string }{
		{"look at src/a.py:12 and `README.md`, (docs/x/y)", "src/a.py README.md docs/x/y", ""},
		{"call parse_config() or ReadEvent; std::vector, `run`, f(x), https://example.com/a.py", "", "parse_config ReadEvent std::vector run"},
		{"and/or e.g. yes. Parser.parseAll breaks", "", "Parser.parseAll"},
		{"@src/main.go _private __init__ self.value_of", "src/main.go", "self.value_of"},
		{"", "", ""},
	} {
		paths, names := Mentions(test.text)
		if p, n := strings.Join(paths, " "), strings.Join(names, " "); p != test.paths || n != test.names {
			t.Errorf("%q: paths %q, names %q", test.text, p, n)
		}
	}
}

func FuzzPromptQuery(f *testing.F) {
	f.Add("fix `a.b` in src/x.go:3 \xff(")
	f.Add(strings.Repeat("ü", 3000))
	f.Fuzz(func(t *testing.T, prompt string) {
		query, ok := PromptQuery(prompt)
		if len(query) > maxQuery || !utf8.ValidString(query) || ok != (query != "") {
			t.Errorf("%d bytes, %v", len(query), ok)
		}
		Mentions(prompt)
	})
}
