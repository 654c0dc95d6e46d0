package parse

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxQueries      = 3       // queries that one pattern becomes
	maxAlternatives = 12      // kept while a pattern is read, before the weak ones go
	maxPattern      = 4 << 10 // bytes of a pattern that are read
	maxGroups       = 50      // groups inside groups
)

// isNameRune tells whether r can stand in an identifier.
func isNameRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// Words turns a search pattern into the texts to search for instead: what it must
// match literally, as words separated by one blank. The pattern may be a basic,
// extended, Perl or Rust regular expression, or plain text (fixed, one pattern a
// line). Classes, anchors and optional parts go, alternation gives several
// queries, at most 3. A pattern without a word of 3 letters gives none.
func Words(pattern string, fixed bool) []string {
	if len(pattern) > maxPattern {
		pattern = pattern[:maxPattern]
	}
	pattern = strings.ToValidUTF8(pattern, "\x00")
	var alternatives []string
	if fixed {
		alternatives = strings.Split(pattern, "\n")
	} else {
		s := regexScanner{text: pattern}
		for {
			alternatives = append(alternatives, s.alternation(0)...)
			if s.text == "" {
				break
			}
			// A group's end without its beginning.
			alternatives[len(alternatives)-1] += gap
		}
	}
	var queries []string
	for _, a := range alternatives {
		query := literalWords(a)
		if query != "" && !slices.Contains(queries, query) {
			if queries = append(queries, query); len(queries) == maxQueries {
				break
			}
		}
	}
	return queries
}

// literalWords keeps the words of text that are worth searching for, "" when none
// has 3 letters.
func literalWords(text string) string {
	var kept []string
	strong := false
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !isNameRune(r) }) {
		letters := 0
		for _, r := range word {
			if unicode.IsLetter(r) {
				letters++
			}
		}
		// A word of a script without spaces says in two what others say in three.
		strong = strong || letters >= 3 || letters >= 2 && len(word) >= 3*letters
		if utf8.RuneCountInString(word) >= 2 && strings.Trim(word, "_") != "" {
			kept = append(kept, word)
		}
	}
	if !strong {
		return ""
	}
	return strings.Join(kept, " ")
}

// gap stands for anything that is not literal.
const gap = "\x00"

// regexScanner reads a regular expression of any flavour, tolerantly: both \( and
// ( open a group, both \| and | separate alternatives, whatever cannot be read is
// a gap.
type regexScanner struct{ text string }

// alternation reads up to the end or an unmatched closing bracket and returns
// what can be matched, one string an alternative.
func (s *regexScanner) alternation(depth int) []string {
	var done []string
	current := []string{""}
	for s.text != "" {
		atom, kind := s.atom(depth)
		switch kind {
		case closing:
			return cap12(append(done, current...))
		case bar:
			done = cap12(append(done, current...))
			current = []string{""}
			continue
		}
		if s.optional() {
			if !slices.Contains(atom, gap) {
				continue // zero of them
			}
			atom = anything
		}
		var next []string
		for _, head := range current {
			for _, tail := range atom {
				next = append(next, head+tail)
			}
		}
		current = cap12(next)
	}
	return cap12(append(done, current...))
}

func cap12(list []string) []string { return list[:min(len(list), maxAlternatives)] }

type atomKind int

const (
	plain atomKind = iota
	closing
	bar
)

var anything = []string{gap}

// atom reads one character, class, escape or group. At least one byte is read.
func (s *regexScanner) atom(depth int) ([]string, atomKind) {
	r, size := utf8.DecodeRuneInString(s.text)
	s.text = s.text[size:]
	switch r {
	case '\\':
		return s.escape(depth)
	case '(':
		return s.group(depth), plain
	case ')':
		return anything, closing
	case '|':
		return nil, bar
	case '[':
		return s.class(), plain
	case '.', '^', '$', '*', '+', '?':
		return anything, plain
	}
	return []string{string(r)}, plain
}

func (s *regexScanner) escape(depth int) ([]string, atomKind) {
	r, size := utf8.DecodeRuneInString(s.text)
	s.text = s.text[size:]
	switch r {
	case '(':
		// A literal bracket in most flavours, a group in basic ones. It is read as a
		// group where that matters: when it is closed the same way and holds an
		// alternative.
		if end := strings.Index(s.text, `\)`); end >= 0 && strings.Contains(s.text[:end], "|") {
			return s.group(depth), plain
		}
		return anything, plain
	case ')':
		if depth > 0 {
			return anything, closing
		}
		return anything, plain
	case '|':
		return nil, bar
	case 'Q':
		literal, rest, _ := strings.Cut(s.text, `\E`)
		s.text = rest
		return []string{literal}, plain
	case 'x', 'u', 'p', 'P', 'k', 'g', 'N', 'o': // \x41 \x{41} \p{L} \pL \k<name>
		if s.text != "" {
			open := strings.IndexByte("{<'", s.text[0])
			if open >= 0 {
				if end := strings.IndexByte(s.text[1:], "}>'"[open]); end >= 0 {
					s.text = s.text[end+2:]
				}
				return anything, plain
			}
		}
		for n := map[rune]int{'x': 2, 'u': 4, 'p': 1, 'P': 1}[r]; n > 0 && s.text != "" && (r == 'p' || r == 'P' || isDigit(s.text[0], 16)); n-- {
			s.text = s.text[1:]
		}
		return anything, plain
	}
	if isNameRune(r) && r != '_' || r == '<' || r == '>' { // \b \w \d \n \1 \<
		return anything, plain
	}
	if r == utf8.RuneError {
		return anything, plain
	}
	return []string{string(r)}, plain
}

// group reads the inside of a group, whose opening bracket is read, and its end.
func (s *regexScanner) group(depth int) []string {
	negative := false
	if rest, ok := strings.CutPrefix(s.text, "?"); ok {
		switch {
		case strings.HasPrefix(rest, "#"):
			_, s.text, _ = strings.Cut(rest, ")")
			return anything
		case strings.HasPrefix(rest, "!"), strings.HasPrefix(rest, "<!"):
			negative = true
			s.text = strings.TrimLeft(rest, "<!")
		case strings.HasPrefix(rest, "="), strings.HasPrefix(rest, "<="):
			s.text = strings.TrimLeft(rest, "<=")
		case strings.HasPrefix(rest, "<"), strings.HasPrefix(rest, "P<"), strings.HasPrefix(rest, "'"):
			if end := strings.IndexAny(strings.TrimLeft(rest, "P<'"), ">'"); end >= 0 {
				s.text = strings.TrimLeft(rest, "P<'")[end+1:]
			}
		default: // (?: (?i) (?i:
			flags := len(rest) - len(strings.TrimLeft(rest, "imsxUun-"))
			switch rest = rest[flags:]; {
			case strings.HasPrefix(rest, ")"):
				s.text = rest[1:]
				return []string{""}
			case strings.HasPrefix(rest, ":"), strings.HasPrefix(rest, ">"):
				s.text = rest[1:]
			}
		}
	}
	if depth >= maxGroups {
		return anything
	}
	inside := s.alternation(depth + 1)
	if negative {
		return []string{""}
	}
	return inside
}

// class reads [...], whose opening bracket is read. A class of one letter in both
// cases is that letter.
func (s *regexScanner) class() []string {
	text := s.text
	i := 0
	if i < len(text) && text[i] == '^' {
		i++
	}
	if i < len(text) && text[i] == ']' { // a literal one
		i++
	}
	for i < len(text) && text[i] != ']' {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			i++
		case strings.HasPrefix(text[i:], "[:"):
			if end := strings.Index(text[i:], ":]"); end >= 0 {
				i += end + 1
			}
		}
		i++
	}
	if i >= len(text) { // not closed: a literal bracket
		return anything
	}
	members := []rune(text[:i])
	s.text = text[i+1:]
	if len(members) == 2 && unicode.IsLetter(members[0]) && unicode.ToLower(members[0]) == unicode.ToLower(members[1]) {
		return []string{string(unicode.ToLower(members[1]))}
	}
	if len(members) == 1 && isNameRune(members[0]) {
		return []string{string(members)}
	}
	return anything
}

// optional reads the quantifiers behind an atom and tells whether it may be left
// out.
func (s *regexScanner) optional() bool {
	may := false
	for s.text != "" {
		rest := strings.TrimPrefix(s.text, `\`)
		escaped := len(rest) < len(s.text)
		if rest == "" {
			return may
		}
		switch rest[0] {
		case '?':
			may = true
			s.text = rest[1:]
			continue
		case '+':
			s.text = rest[1:]
			continue
		case '*':
			if escaped {
				return may
			}
			may = true
			s.text = rest[1:]
			continue
		case '{':
			end := strings.IndexByte(rest, '}')
			if end < 0 {
				return may
			}
			count := strings.TrimSuffix(rest[1:end], `\`)
			if count == "" || strings.Trim(count, "0123456789,") != "" {
				return may
			}
			may = may || strings.HasPrefix(count, "0") || strings.HasPrefix(count, ",")
			s.text = rest[end+1:]
			continue
		}
		return may
	}
	return may
}

// GlobWords returns the words of a file glob that say what is looked for: those
// of the base name first, then of its folders, without extension and wildcards;
// none for globs like *.rs.
func GlobWords(glob string) []string {
	dir, base := splitBase(glob)
	base = strings.TrimSuffix(base, extension(base))
	var found []string
	for _, part := range []string{base, dir} {
		for _, word := range strings.FieldsFunc(dropClasses(part), func(r rune) bool { return r == '_' || !isNameRune(r) }) {
			letters := strings.Count(strings.Map(func(r rune) rune {
				if unicode.IsLetter(r) {
					return 'a'
				}
				return -1
			}, word), "a")
			if letters >= 3 && !slices.Contains(found, word) {
				found = append(found, word)
			}
		}
	}
	return found
}

// GlobExt returns the extensions that a file glob asks for, lower case, without
// the dot: one for *.rs, two for *.{ts,tsx}, none when it names none.
func GlobExt(glob string) []string {
	_, base := splitBase(glob)
	ext := strings.Trim(extension(base), ".{}")
	var found []string
	for one := range strings.SplitSeq(ext, ",") {
		one = strings.ToLower(strings.TrimLeft(strings.TrimSpace(one), "*."))
		if one != "" && !strings.ContainsFunc(one, func(r rune) bool { return !isNameRune(r) }) && !slices.Contains(found, one) {
			found = append(found, one)
		}
	}
	return found
}

// splitBase cuts a glob behind its last slash that no brace encloses.
func splitBase(glob string) (dir, base string) {
	depth, cut := 0, 0
	for i := 0; i < len(glob); i++ {
		switch glob[i] {
		case '{':
			depth++
		case '}':
			depth--
		case '/':
			if depth <= 0 {
				cut = i + 1
			}
		}
	}
	return glob[:cut], glob[cut:]
}

// extension is the end of a base name from its last dot that no brace encloses;
// ".*" and the whole of a dot file are none.
func extension(base string) string {
	depth := 0
	for i := len(base) - 1; i > 0; i-- {
		switch base[i] {
		case '}':
			depth++
		case '{':
			depth--
		case '.':
			if depth == 0 {
				return base[i:]
			}
		}
	}
	return ""
}

// dropClasses replaces [...] by a wildcard.
func dropClasses(glob string) string {
	for {
		open := strings.IndexByte(glob, '[')
		if open < 0 {
			return glob
		}
		end := strings.IndexByte(glob[open:], ']')
		if end < 0 {
			return glob
		}
		glob = glob[:open] + "*" + glob[open+end+1:]
	}
}
