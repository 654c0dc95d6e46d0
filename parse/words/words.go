// Package words turns text into the terms that the lexical index, the built-in
// embedding and queries share. One analysis for all of them: a term that one side
// makes and the other does not can never match.
//
// A text is a run of identifiers. An identifier gives its parts in lower case
// (camel case, snake case, digits: "parseHTTP2_request" → parse, http, 2, request),
// the whole of it without separators when it has several parts (parsehttp2request),
// and the stem of each part where it differs from the part (parsing → pars).
package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// MaxIdentifier is the longest identifier, in bytes, that is analysed; longer runs
// (base64, hashes, minified code) give no terms.
const MaxIdentifier = 80

// Analyzer makes terms and remembers those of the identifiers it has seen. It is
// not safe for concurrent use; make one per goroutine.
type Analyzer struct {
	seen map[string][]string
}

// cacheLimit bounds the memory of an Analyzer: about 20 MB at 100 bytes an entry.
const cacheLimit = 200_000

// NewAnalyzer returns an empty Analyzer.
func NewAnalyzer() *Analyzer { return &Analyzer{seen: make(map[string][]string, 1024)} }

// Terms calls emit for every term of text, in order, repeats included. Invalid
// UTF-8 separates identifiers.
func (a *Analyzer) Terms(text []byte, emit func(term string)) {
	Identifiers(text, func(id []byte, _ int) {
		for _, t := range a.identifier(id) {
			emit(t)
		}
	})
}

// IdentifierTerms returns the terms of one identifier. The slice is shared.
func (a *Analyzer) IdentifierTerms(id string) []string { return a.identifier([]byte(id)) }

func (a *Analyzer) identifier(id []byte) []string {
	if terms, ok := a.seen[string(id)]; ok {
		return terms
	}
	terms := identifierTerms(string(id))
	if len(a.seen) >= cacheLimit {
		clear(a.seen)
	}
	a.seen[string(id)] = terms
	return terms
}

func identifierTerms(id string) []string {
	if len(id) > MaxIdentifier {
		return nil
	}
	parts := Parts(id)
	terms := make([]string, 0, 2*len(parts)+1)
	for _, p := range parts {
		if len(p) == 1 && p[0] < utf8.RuneSelf && len(parts) > 1 {
			continue // a lone letter or digit inside an identifier says nothing by itself
		}
		terms = append(terms, p)
		if s := Stem(p); s != p {
			terms = append(terms, s)
		}
	}
	if len(parts) > 1 {
		terms = append(terms, strings.Join(parts, ""))
	}
	return terms
}

// Identifiers calls emit for every run of letters, digits and underscores in text
// that holds a letter, with its byte offset. The slice is part of text.
func Identifiers(text []byte, emit func(id []byte, offset int)) {
	start, letter := -1, false
	for i := 0; i < len(text); {
		c := text[i]
		size := 1
		var isLetter, isWord bool
		switch {
		case c < utf8.RuneSelf:
			isLetter = 'a' <= c|0x20 && c|0x20 <= 'z'
			isWord = isLetter || '0' <= c && c <= '9' || c == '_'
		default:
			var r rune
			r, size = utf8.DecodeRune(text[i:])
			isLetter = r != utf8.RuneError && unicode.IsLetter(r)
			isWord = isLetter || r != utf8.RuneError && unicode.IsDigit(r)
		}
		switch {
		case isWord && start < 0:
			start, letter = i, isLetter
		case isWord:
			letter = letter || isLetter
		case start >= 0:
			if letter {
				emit(text[start:i], start)
			}
			start = -1
		}
		i += size
	}
	if start >= 0 && letter {
		emit(text[start:], start)
	}
}

// Parts splits an identifier at underscores, case changes and between letters and
// digits, in lower case: "HTTPServer2" → http, server, 2. "" gives nil.
func Parts(id string) []string {
	var parts []string
	start := 0
	flush := func(end int) {
		if end > start {
			parts = append(parts, strings.ToLower(id[start:end]))
		}
		start = end
	}
	type class byte
	const (
		none class = iota
		lower
		upper
		digit
	)
	prev, prevAt := none, 0
	for i, r := range id {
		c := none
		switch {
		case unicode.IsDigit(r):
			c = digit
		case unicode.IsUpper(r):
			c = upper
		case unicode.IsLetter(r):
			c = lower
		}
		switch {
		case c == none:
			flush(i)
			start = i + utf8.RuneLen(r)
			if r == utf8.RuneError {
				start = i + 1
			}
		case prev == none || c == prev:
		case prev == upper && c == lower:
			flush(prevAt) // the last capital begins the next word: HTTP|Server
		default:
			flush(i)
		}
		prev, prevAt = c, i
	}
	flush(len(id))
	return parts
}

// Stem returns the English stem of a lower-case word (Porter2, Snowball). Words
// with other letters than a to z, and those under four letters, stay as they are.
func Stem(word string) string {
	if len(word) < 4 {
		return word
	}
	for i := 0; i < len(word); i++ {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	if len(env.Current()) < 3 {
		return word
	}
	return env.Current()
}

// IsStopWord tells whether a lower-case word of a question carries no content. It
// is meant for queries; documents keep every word.
func IsStopWord(word string) bool { return strings.Contains(stopWords, " "+word+" ") }

// stopWords: English function words and the verbs with which people ask for code.
const stopWords = " a about above after again all also am an and any are as at be because been before being below between both but by can could did do does doing done during each for from further had has have having he her here hers him his how i if in into is it its itself just may me might more most must my no nor not now of off on once one only or other our ours out over own same shall she should so some such than that the their theirs them then there these they this those through to too under until up us very via was we were what when where whether which while who whom whose why will with within without would you your yours please code implemented implement implementation implements works work find show explain used uses happens happen "
