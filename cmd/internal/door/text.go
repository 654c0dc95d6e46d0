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

// Signature writes a signature on one line.
func Signature(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer("( ", "(", ", )", ")", " )", ")").Replace(s)
}

// SnippetLine is one line of an excerpt.
type SnippetLine struct {
	Number int
	Text   string
}

// Excerpt shows a result in at most n lines: the signature of what it defines, on one
// line, then the lines that hold most of the query's words, the first such place.
func Excerpt(r search.Result, query string, n int) []SnippetLine {
	lines := strings.Split(r.Text, "\n")
	var out []SnippetLine
	from := 0
	if at := signatureLine(lines, r); at >= 0 {
		out = append(out, SnippetLine{r.Start + at, indent(lines[at]) + Signature(r.Signature)})
		from, n = signatureEnd(lines, at), n-1
	}
	words := strings.FieldsFunc(strings.ToLower(query), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' })
	score := make([]int, len(lines))
	for i := from; i < len(lines); i++ {
		l := strings.ToLower(lines[i])
		for _, w := range words {
			if len(w) > 2 && strings.Contains(l, w) {
				score[i]++
			}
		}
	}
	best, at := -1, from
	for i := from; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) == "" {
			continue
		}
		sum := 0
		for _, s := range score[i:min(i+n, len(lines))] {
			sum += s
		}
		if sum > best {
			best, at = sum, i
		}
	}
	for i := at; i < min(at+n, len(lines)); i++ {
		if strings.TrimSpace(lines[i]) != "" {
			out = append(out, SnippetLine{r.Start + i, lines[i]})
		}
	}
	return out
}

// signatureLine is the index of the line that holds a result's name and begins as its
// signature does, as no line of a comment before it will; -1 when there is none.
func signatureLine(lines []string, r search.Result) int {
	start, _, _ := strings.Cut(strings.TrimSpace(r.Signature), " ")
	for i, l := range lines {
		if r.Symbol != "" && start != "" && strings.Contains(l, r.Symbol) && strings.HasPrefix(strings.TrimSpace(l), start) {
			return i
		}
	}
	return -1
}

// signatureEnd is the index of the line after the one that closes the brackets which
// the line at opens.
func signatureEnd(lines []string, at int) int {
	depth := 0
	for i := at; i < len(lines) && i < at+40; i++ {
		depth += strings.Count(lines[i], "(") + strings.Count(lines[i], "[") - strings.Count(lines[i], ")") - strings.Count(lines[i], "]")
		if depth <= 0 {
			return i + 1
		}
	}
	return at + 1
}

func indent(line string) string {
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}
