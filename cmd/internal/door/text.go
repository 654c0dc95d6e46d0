package door

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chinvex/chinvex/search"
)

// Line makes one printable line of a name: unchanged where it is one, else quoted, so
// that no byte of a file name can move a terminal's cursor or start a second line.
func Line(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return s
	}
	return strconv.Quote(s)
}

// Clean makes a line of repository text printable: tabs become four spaces, control
// and format characters and invalid bytes U+FFFD.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\t", "    "))
}

// Symbol names a result's symbol with its scope, "" when it has none.
func Symbol(scope, name string) string {
	if scope == "" || name == "" {
		return name
	}
	return scope + "." + name
}

// Snippet is a run of a result's lines.
type Snippet struct {
	Start int // line number of the first
	Lines []string
}

// Excerpt picks the n lines of a result that hold most of the query's words, the first
// such place, and drops blank lines around them.
func Excerpt(r search.Result, query string, n int) Snippet {
	lines := strings.Split(r.Text, "\n")
	words := strings.FieldsFunc(strings.ToLower(query), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' })
	score := make([]int, len(lines))
	for i, l := range lines {
		l = strings.ToLower(l)
		for _, w := range words {
			if len(w) > 2 && strings.Contains(l, w) {
				score[i]++
			}
		}
	}
	best, at := -1, 0
	for i := range lines {
		if strings.TrimSpace(lines[i]) == "" {
			continue
		}
		sum := 0
		for _, s := range score[i:min(i+n, len(lines))] {
			sum += s
		}
		if i == 0 && r.Symbol != "" {
			sum++ // a definition's first line says most by itself
		}
		if sum > best {
			best, at = sum, i
		}
	}
	end := min(at+n, len(lines))
	for end > at && strings.TrimSpace(lines[end-1]) == "" {
		end--
	}
	return Snippet{Start: r.Start + at, Lines: lines[at:end]}
}
