package search

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chinvex/chinvex/parse/words"
)

// maxQueryBytes and maxGroups bound the work of one query; the rest of a longer text
// is not looked at.
const (
	maxQueryBytes = 4 << 10
	maxGroups     = 32
)

// analysis is what a query's text asks for.
type analysis struct {
	text   string
	groups []group
	// symbol is the name when the whole query is one, "" otherwise; scope is what stands
	// before the last separator ("Parser" in Parser.parse).
	symbol, scope string
	// identifiers are names inside a sentence: parse_url, HttpClient, `run`, close().
	identifiers []string
	// asks says which demoted classes the query itself names.
	asksTests, asksDocs, asksExamples, asksConfig bool
}

// group is one word of the query with the terms that stand for it.
type group struct {
	word  string
	terms []string
	idf   float64 // the largest of its terms', filled in by the lexical leg
}

func analyse(text string) *analysis {
	if len(text) > maxQueryBytes {
		text = text[:maxQueryBytes]
		for !utf8.ValidString(text) && len(text) > maxQueryBytes-utf8.UTFMax {
			text = text[:len(text)-1]
		}
	}
	q := &analysis{text: text}
	trimmed := strings.TrimSpace(text)
	q.symbol, q.scope = asSymbol(trimmed)
	a := words.NewAnalyzer()
	add := func(keepStopWords bool) {
		seen := map[string]bool{}
		words.Identifiers([]byte(text), func(id []byte, _ int) {
			word := string(id)
			lower := strings.ToLower(word)
			if len(q.groups) >= maxGroups || seen[lower] || !keepStopWords && words.IsStopWord(lower) {
				return
			}
			seen[lower] = true
			if terms := a.IdentifierTerms(word); len(terms) > 0 {
				q.groups = append(q.groups, group{word: lower, terms: terms})
			}
		})
	}
	if add(false); len(q.groups) == 0 {
		add(true) // nothing but stop words: then they are what is meant
	}
	if q.symbol == "" {
		q.identifiers = identifiers(text)
	}
	for _, g := range q.groups {
		switch g.word {
		case "test", "tests", "testing", "tested", "spec", "specs", "fixture", "fixtures", "unittest":
			q.asksTests = true
		case "doc", "docs", "documentation", "readme", "changelog", "tutorial", "guide":
			q.asksDocs = true
		case "example", "examples", "sample", "samples", "demo", "benchmark", "benchmarks", "bench":
			q.asksExamples = true
		case "config", "configuration", "settings", "yaml", "toml", "json", "manifest", "workflow", "ci":
			q.asksConfig = true
		}
	}
	return q
}

// asSymbol tells whether a query is one name, possibly with its scope: Foo, foo_bar,
// Foo.bar, foo::Bar, $foo, Foo#bar, foo().
func asSymbol(s string) (name, scope string) {
	s = strings.Trim(strings.TrimSuffix(s, "()"), "`'\"")
	if s == "" || len(s) > 200 || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) }) {
		return "", ""
	}
	at := strings.LastIndexAny(s, ".:#/\\")
	if at < 0 {
		if at = strings.LastIndex(s, "->"); at >= 0 {
			at++
		}
	}
	name = strings.Trim(s[at+1:], "$@&*!?")
	if at > 0 {
		scope = strings.TrimRight(s[:at], ".:#-/\\")
		if i := strings.LastIndexAny(scope, ".:#/\\"); i >= 0 {
			scope = scope[i+1:]
		}
	}
	if !isIdentifier(name) {
		return "", ""
	}
	return name, scope
}

func isIdentifier(s string) bool {
	if s == "" {
		return false
	}
	letter := false
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' {
			return false
		}
		letter = letter || unicode.IsLetter(r)
	}
	return letter
}

// identifiers returns the words of a sentence that look like names of the program.
func identifiers(text string) []string {
	var out []string
	seen := map[string]bool{}
	fields := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;!?\"", r) })
	for i, f := range fields {
		name, scope := asSymbol(strings.Trim(f, "`'()[]{}.:"))
		marked := strings.HasPrefix(f, "`") || strings.HasSuffix(f, "()") || isIdentifier(scope) && len(scope) > 1
		if name == "" || len(name) < 3 || seen[name] {
			continue
		}
		if marked || looksLikeName(name) || i > 0 && startsUpper(name) {
			seen[name] = true
			out = append(out, name)
		}
		if len(out) == 8 {
			break
		}
	}
	return out
}

// looksLikeName tells a name from a word: an underscore or a capital after the first
// letter.
func looksLikeName(s string) bool {
	lower := false
	for i, r := range s {
		if r == '_' && i > 0 && i < len(s)-1 || lower && unicode.IsUpper(r) {
			return true
		}
		lower = lower || unicode.IsLower(r)
	}
	return false
}

func startsUpper(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r)
}

// idf is BM25's inverse document frequency, never negative (Robertson and Zaragoza
// 2009, equation 3.3, with Lucene's 1+).
func idf(n, df float64) float64 { return math.Log(1 + (n-df+0.5)/(df+0.5)) }
