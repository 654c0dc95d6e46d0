package memory

import "strings"

// parser takes a file apart from its start.
type parser struct {
	kind Kind
	rest string // what is not yet in doc
	doc  *Document
}

// take moves the first n bytes of rest into a block of the current section or
// entry.
func (p *parser) take(t BlockType, n int) {
	section := &p.doc.Sections[len(p.doc.Sections)-1]
	blocks := &section.Blocks
	if n := len(section.Entries); n > 0 {
		blocks = &section.Entries[n-1].Blocks
	}
	*blocks = append(*blocks, Block{Type: t, Raw: p.rest[:n]})
	p.rest = p.rest[n:]
}

// takeHeading moves the first n bytes of rest, a heading, to where its level
// belongs.
func (p *parser) takeHeading(level int, text string, n int) {
	text = strings.TrimSpace(withoutComments(text))
	section := &p.doc.Sections[len(p.doc.Sections)-1]
	switch {
	case level <= 2:
		p.doc.Sections = append(p.doc.Sections, Section{Heading: p.rest[:n], Name: text, Level: level})
	case level == 3 && p.kind == Decisions:
		entry := Entry{Heading: p.rest[:n]}
		entry.Date, entry.Title = cutDate(text)
		section.Entries = append(section.Entries, entry)
	default:
		p.take(Subheading, n)
		return
	}
	p.rest = p.rest[n:]
}

// block takes the next heading or block.
func (p *parser) block() {
	n, line := firstLine(p.rest)
	start := p.starts(line)
	switch start {
	case startBlank:
		for n < len(p.rest) {
			more, line := firstLine(p.rest[n:])
			if p.starts(line) != startBlank {
				break
			}
			n += more
		}
		p.take(Blank, n)
	case startHeading:
		level, text, _ := heading(line)
		p.takeHeading(level, text, n)
	case startFence:
		p.take(Code, p.fenced(n, line))
	case startComment:
		n = p.comment(n)
		if strings.TrimSpace(withoutComments(p.rest[:n])) == "" {
			p.take(Comment, n)
		} else {
			p.take(Paragraph, n)
		}
	case startRule:
		p.take(Rule, n)
	case startItem:
		p.take(Item, p.item(n, line))
	case startFooter:
		for n < len(p.rest) {
			more, line := firstLine(p.rest[n:])
			if p.starts(line) != startFooter {
				break
			}
			n += more
		}
		p.take(Footer, n)
	default:
		p.paragraph(n, line)
	}
}

// paragraph takes the paragraph whose first line has n bytes, as a heading where
// it is one line and underlined.
func (p *parser) paragraph(n int, line string) {
	more, next := firstLine(p.rest[n:])
	column, _ := indentation(line)
	if level := underline(next); level > 0 && column < 4 && !(level == 2 && p.footerFollows(p.rest[n+more:])) {
		p.takeHeading(level, line, n+more)
		return
	}
	for n < len(p.rest) {
		more, line := firstLine(p.rest[n:])
		if p.starts(line) != startNothing {
			break
		}
		n += more
	}
	p.take(Paragraph, n)
}

// footerFollows tells whether s goes on with STATE.md's footer: a line of dashes
// before it is its rule, even right under a paragraph.
func (p *parser) footerFollows(s string) bool {
	s = strings.TrimLeft(s, "\r\n\t ")
	_, line := firstLine(s)
	return p.starts(line) == startFooter || p.kind == State && anchorForm.MatchString(line)
}

// fenced returns the length of the fenced block whose first line has n bytes. A
// fence that is never closed runs to the end.
func (p *parser) fenced(n int, opening string) int {
	opening = strings.TrimLeft(opening, " ")
	width := len(opening) - len(strings.TrimLeft(opening, opening[:1]))
	for n < len(p.rest) {
		more, line := firstLine(p.rest[n:])
		n += more
		indent, text := indentation(line)
		text = strings.TrimRight(text, " \t")
		if indent < 4 && len(text) >= width && strings.Trim(text, opening[:1]) == "" {
			break
		}
	}
	return n
}

// comment returns the length of the lines up to the one in which the comment
// ends, n being that of the first. One that never ends runs to the end.
func (p *parser) comment(n int) int {
	open := strings.Index(p.rest, "<!--") + len("<!--")
	end := strings.Index(p.rest[open:], "-->")
	if end < 0 {
		return len(p.rest)
	}
	if end += open; end < n {
		return n
	}
	more, _ := firstLine(p.rest[end:])
	return end + more
}

// item returns the length of the bullet whose first line has n bytes, with all
// that is nested in it. Empty lines belong to it only when more of it follows.
func (p *parser) item(n int, line string) int {
	indent, _ := marker(line)
	end := n
	afterBlank := false
	for n < len(p.rest) {
		more, line := firstLine(p.rest[n:])
		start := p.starts(line)
		column, _ := indentation(line)
		switch {
		case start == startBlank:
			afterBlank = true
			n += more
			continue
		case column >= indent+2: // nested
		case start == startNothing && !afterBlank && column < 4: // its paragraph runs on
		default:
			return end
		}
		n += more
		end, afterBlank = n, false
	}
	return end
}

// start says what a line begins.
type start uint8

const (
	startNothing start = iota // a paragraph, or a continuation of what stands before
	startBlank
	startHeading
	startFence
	startComment
	startRule
	startItem
	startFooter
)

// starts looks at a line outside of any block, without its line end.
func (p *parser) starts(line string) start {
	indent, text := indentation(line)
	switch {
	case strings.Trim(text, " \t\r") == "":
		return startBlank
	case indent >= 4: // CommonMark's indented code, which here is prose
		return startNothing
	case strings.HasPrefix(text, "<!--"):
		return startComment
	case text[0] == '#':
		if _, _, ok := heading(line); ok {
			return startHeading
		}
	case strings.HasPrefix(text, "```") && !strings.Contains(strings.TrimLeft(text, "`"), "`"), strings.HasPrefix(text, "~~~"):
		return startFence
	case isRule(text):
		return startRule
	}
	if _, width := marker(line); width > 0 {
		return startItem
	}
	if p.kind == State {
		for _, label := range []string{footerDate, footerHash, footerReview} {
			if _, ok := footerValue(text, label); ok {
				return startFooter
			}
		}
	}
	return startNothing
}

// firstLine returns the length of the first line of s with its end, and the line
// without.
func firstLine(s string) (n int, line string) {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i + 1, strings.TrimSuffix(s[:i], "\r")
	}
	return len(s), s
}

// indentation returns the columns of blank space before a line's text.
func indentation(line string) (column int, text string) {
	text = strings.TrimLeft(line, " \t")
	return columns(line[:len(line)-len(text)]), text
}

// columns counts the columns that s takes, tabs going to the next multiple of 4.
func columns(s string) int {
	n := 0
	for i := range len(s) {
		if n++; s[i] == '\t' {
			n = (n + 3) / 4 * 4
		}
	}
	return n
}

// dedent takes up to n columns of blank space off the start of a line.
func dedent(line string, n int) string {
	for i := range len(line) {
		if line[i] != ' ' && line[i] != '\t' || columns(line[:i+1]) > n {
			return line[i:]
		}
	}
	return ""
}

// heading reads a line "## text", with or without closing marks.
func heading(line string) (level int, text string, ok bool) {
	_, line = indentation(line)
	text = strings.TrimLeft(line, "#")
	level = len(line) - len(text)
	if level < 1 || level > 6 || text != "" && text[0] != ' ' && text[0] != '\t' {
		return 0, "", false
	}
	text = strings.Trim(text, " \t\r")
	if open := strings.TrimRight(text, "#"); open == "" || strings.HasSuffix(open, " ") || strings.HasSuffix(open, "\t") {
		text = strings.TrimRight(open, " \t")
	}
	return level, text, true
}

// underline returns the level of the heading that a line makes of the one above
// it, or 0.
func underline(line string) int {
	indent, text := indentation(line)
	text = strings.TrimRight(text, " \t\r")
	switch {
	case text == "" || indent >= 4:
		return 0
	case strings.Trim(text, "=") == "":
		return 1
	case strings.Trim(text, "-") == "":
		return 2
	}
	return 0
}

// isRule tells whether a line's text is three or more of one of "-*_" and blanks.
func isRule(text string) bool {
	if !strings.ContainsAny(text[:1], "-*_") {
		return false
	}
	return strings.Trim(text, text[:1]+" \t\r") == "" && strings.Count(text, text[:1]) >= 3
}

// marker reads the start of a bullet or numbered line: the columns before the
// marker, and the bytes up to the text. width is 0 when there is no marker.
func marker(line string) (indent, width int) {
	line, _, _ = strings.Cut(line, "\n")
	indent, text := indentation(line)
	if text == "" || indent >= 4 {
		return indent, 0
	}
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	switch {
	case digits == 0 && strings.ContainsAny(text[:1], "-*+"):
	case digits > 0 && digits < 10 && len(text) > digits && (text[digits] == '.' || text[digits] == ')'):
	default:
		return indent, 0
	}
	after := strings.TrimLeft(text[digits+1:], " \t")
	if after == text[digits+1:] && strings.Trim(after, "\r") != "" {
		return indent, 0 // no space: "-x", "*emphasis*", "1.5"
	}
	return indent, len(line) - len(after)
}
