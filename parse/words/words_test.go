package words

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParts(t *testing.T) {
	for id, want := range map[string][]string{
		"":                 nil,
		"parse":            {"parse"},
		"parseHTTPRequest": {"parse", "http", "request"},
		"HTTPServer2":      {"http", "server", "2"},
		"snake_case__x":    {"snake", "case", "x"},
		"__init__":         {"init"},
		"utf8Decode":       {"utf", "8", "decode"},
		"ÄpfelBaum":        {"äpfel", "baum"},
		"SCREAMING_CASE":   {"screaming", "case"},
		"bad\xffbyte":      {"bad", "byte"},
		"X":                {"x"},
	} {
		if diff := cmp.Diff(want, Parts(id)); diff != "" {
			t.Errorf("Parts(%q): %s", id, diff)
		}
	}
}

func TestTerms(t *testing.T) {
	var got []string
	NewAnalyzer().Terms([]byte("func parsingRules(x int) // 42 don't"), func(s string) { got = append(got, s) })
	want := []string{"func", "parsing", "pars", "rules", "rule", "parsingrules", "x", "int", "don", "t"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What a document's identifier gives and what a question's words give must meet.
func TestQueryMeetsDocument(t *testing.T) {
	for _, c := range [][2]string{
		{"parsing rules", "parseRule"}, {"foo_bar", "FooBar"}, {"foobar", "foo_bar"}, {"filters", "filter"},
		{"configuration", "configure"},
	} {
		a := NewAnalyzer()
		doc := map[string]bool{}
		a.Terms([]byte(c[1]), func(s string) { doc[s] = true })
		met := false
		a.Terms([]byte(c[0]), func(s string) { met = met || doc[s] })
		if !met {
			t.Errorf("query %q and document %q share no term", c[0], c[1])
		}
	}
}

func FuzzTerms(f *testing.F) {
	for _, s := range []string{"fooBar", "a\xff_b", "日本語テキスト", "x\x00y", strings.Repeat("a", 200)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a := NewAnalyzer()
		count := func() (n int) {
			a.Terms([]byte(s), func(term string) {
				n++
				if term == "" || !utf8.ValidString(term) {
					t.Fatalf("term %q of %q", term, s)
				}
			})
			return n
		}
		if first, second := count(), count(); first != second {
			t.Fatalf("%d terms, then %d from the cache", first, second)
		}
	})
}

func BenchmarkTerms(b *testing.B) {
	text := []byte(strings.Repeat("func (p *Parser) parseExpression(ctx context.Context, minimumPrecedence int) (ast.Node, error) {\n", 1000))
	a := NewAnalyzer()
	b.SetBytes(int64(len(text)))
	n := 0
	for b.Loop() {
		a.Terms(text, func(string) { n++ })
	}
}
