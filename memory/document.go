// Package memory reads a project's memory: what its people and agents need to
// know when they start, kept as three Markdown files in docs/memory/ of the
// repository.
//
//   - STATE.md is what is true now, written anew by each run of the maintainer:
//     Current Objective, Active Work, Blockers, Next Actions, Quick Reference,
//     Out of Scope (for now). It ends with a footer: a rule, the lines "Last
//     memory update: YYYY-MM-DD" and "Commits covered through: HASH", where a
//     person should look at the file "Manual review: REASONS", and as the last
//     line the coverage anchor, which says up to which commit history has been
//     read:
//
//     <!-- chinvex:last-commit:HASH -->
//
//   - CONSTRAINTS.md is what binds later work, one fact a bullet, only ever added
//     to or edited in place: Infrastructure, Rules, Key Facts, Hazards,
//     Superseded, and where needed APIs, Performance, Security, Dependencies.
//
//   - DECISIONS.md is how things came to be: on top a roll-up, "Recent (last 30
//     days)", then a section a month, "## YYYY-MM", of entries "### YYYY-MM-DD —
//     Title" with labelled bullets (Why, Impact, Evidence; for a bug fix
//     Symptom, Root cause, Fix, Prevention, Evidence).
//
// A section that is not known reads Unknown (needs human) or Needs triage.
//
// Parse cuts a file into pieces that give its bytes back unchanged, whatever is
// in it; a Brief is what a session is told of it. A writer gives a Proposal:
// Check holds it against the contracts of the three files, Apply makes the files
// of it.
package memory

import (
	"regexp"
	"strings"
	"time"
)

// Dir is the folder of the memory files, relative to the repository.
const Dir = "docs/memory"

// CommitSubject is the subject of the commits that update the memory files alone.
const CommitSubject = "docs: update memory files"

var commitForm = regexp.MustCompile(`^` + regexp.QuoteMeta(CommitSubject) + `(?: \([#!]\d+\))?$`)

// IsCommitSubject tells whether a commit's subject is CommitSubject, as it is or with the
// number that hosts put behind it when they merge a pull request.
func IsCommitSubject(subject string) bool { return commitForm.MatchString(subject) }

// Kind says which of the three files a document is.
type Kind uint8

// The three files.
const (
	State Kind = iota
	Constraints
	Decisions
)

// Path returns the file of a kind, relative to the repository.
func (k Kind) Path() string {
	return Dir + "/" + [...]string{"STATE.md", "CONSTRAINTS.md", "DECISIONS.md"}[k]
}

// Document is a memory file in pieces.
type Document struct {
	Kind     Kind
	Sections []Section // never empty: the first holds what stands before any heading
}

// Section is a heading of level 1 or 2 with what stands below it.
type Section struct {
	Heading string  // as written, with its line end; "" in a document's first section
	Name    string  // the heading's text
	Level   int     // 1 or 2; 0 in a document's first section
	Blocks  []Block // up to the first entry
	Entries []Entry // in DECISIONS.md only
}

// Entry is a heading of level 3 in DECISIONS.md with what stands below it.
type Entry struct {
	Heading string    // as written, with its line end
	Date    time.Time // midnight UTC of the day in the heading; zero when there is none
	Title   string    // the rest of the heading, or all of it when there is no date
	Blocks  []Block
}

// Block is a piece between two headings.
type Block struct {
	Type BlockType
	Raw  string // as written, with its line ends
}

// BlockType says what a block is.
type BlockType uint8

// The types of blocks. Lines that fit no other type are a Paragraph.
const (
	Blank      BlockType = iota // empty lines, or a byte order mark
	Item                        // a bullet of the outermost list with all that is nested in it
	Paragraph                   // prose, a table, a quotation
	Code                        // a fenced block
	Comment                     // nothing but an HTML comment
	Rule                        // a thematic break
	Subheading                  // a heading below those of sections and entries
	Footer                      // STATE.md's lines on date and commit
)

const byteOrderMark = "\uFEFF"

// Parse cuts a file into pieces. It takes any bytes and never fails: Bytes of the
// result are data again. The Markdown is CommonMark's as far as the outermost
// level goes, with two liberties: a bullet's continuation need be indented by no
// more than two columns beyond its marker, and only a paragraph of one line
// becomes a heading by being underlined.
func Parse(kind Kind, data []byte) *Document {
	p := parser{kind: kind, rest: string(data), doc: &Document{Kind: kind, Sections: make([]Section, 1)}}
	if strings.HasPrefix(p.rest, byteOrderMark) {
		p.take(Blank, len(byteOrderMark))
	}
	for p.rest != "" {
		p.block()
	}
	return p.doc
}

// Bytes returns the file.
func (d *Document) Bytes() []byte {
	var out []byte
	add := func(heading string, blocks []Block) {
		out = append(out, heading...)
		for _, b := range blocks {
			out = append(out, b.Raw...)
		}
	}
	for _, s := range d.Sections {
		add(s.Heading, s.Blocks)
		for _, e := range s.Entries {
			add(e.Heading, e.Blocks)
		}
	}
	return out
}

// walk visits the pieces in their order, at being a piece's place in Bytes: a
// heading of s or, where b is nil, of e, or the block b.
func (d *Document) walk(visit func(at int, s *Section, e *Entry, b *Block)) {
	at := 0
	add := func(s *Section, e *Entry, heading string, blocks []Block) {
		visit(at, s, e, nil)
		at += len(heading)
		for i := range blocks {
			visit(at, s, e, &blocks[i])
			at += len(blocks[i].Raw)
		}
	}
	for i := range d.Sections {
		s := &d.Sections[i]
		add(s, nil, s.Heading, s.Blocks)
		for k := range s.Entries {
			add(s, &s.Entries[k], s.Entries[k].Heading, s.Entries[k].Blocks)
		}
	}
}

// extent returns where a section of the document starts and ends in Bytes.
func (d *Document) extent(section *Section) (start, end int) {
	start = -1
	d.walk(func(at int, s *Section, e *Entry, b *Block) {
		if s != section {
			return
		}
		if start < 0 {
			start = at
		}
		switch {
		case b != nil:
			end = at + len(b.Raw)
		case e != nil:
			end = at + len(e.Heading)
		default:
			end = at + len(s.Heading)
		}
	})
	return start, end
}

// Section returns the first section of a name (see Is), or nil.
func (d *Document) Section(name string) *Section {
	for i := range d.Sections {
		if d.Sections[i].Is(name) {
			return &d.Sections[i]
		}
	}
	return nil
}

// Is tells whether the section has a name, case, a final colon and words in
// parentheses at the end apart: "Out of Scope" is "Out of Scope (for now)".
func (s *Section) Is(name string) bool {
	return s.Level > 0 && plainName(s.Name) == plainName(name)
}

func plainName(name string) string {
	name = strings.TrimRight(strings.TrimSpace(name), ":")
	if i := strings.LastIndex(name, "("); i > 0 && strings.HasSuffix(name, ")") {
		name = name[:i]
	}
	return strings.ToLower(strings.TrimSpace(name))
}

// Coverage is what STATE.md says about itself.
type Coverage struct {
	Anchor  string    // the commit of the coverage anchor in hexadecimal, 7 to 64 digits; "" without one
	Updated time.Time // midnight UTC of the day in the footer; zero when there is none
	Through string    // the commit in the footer's text, as written, for people
	Review  string    // why a person should look at the file; "" for no reason
}

var anchorForm = regexp.MustCompile(`<!--\s*chinvex:last-commit:([0-9a-fA-F]{7,64})\s*-->`)

// Coverage reads the footer and the anchor. The last of each counts; one in a
// code block or in a bullet is no anchor.
func (d *Document) Coverage() Coverage {
	var c Coverage
	for _, s := range d.Sections {
		for _, b := range s.Blocks {
			switch b.Type {
			case Comment:
				if m := anchorForm.FindAllStringSubmatch(b.Raw, -1); m != nil {
					c.Anchor = strings.ToLower(m[len(m)-1][1])
				}
			case Footer:
				for line := range strings.Lines(b.Raw) {
					if value, ok := footerValue(line, footerDate); ok {
						c.Updated, _ = cutDate(value)
					} else if value, ok := footerValue(line, footerHash); ok {
						c.Through = value
					} else if value, ok := footerValue(line, footerReview); ok {
						c.Review = value
					}
				}
			}
		}
	}
	return c
}

// The labels of STATE.md's footer.
const (
	footerDate   = "Last memory update:"
	footerHash   = "Commits covered through:"
	footerReview = "Manual review:"
)

func footerValue(line, label string) (value string, ok bool) {
	line = strings.TrimSpace(line)
	if len(line) < len(label) || !strings.EqualFold(line[:len(label)], label) {
		return "", false
	}
	return strings.TrimSpace(line[len(label):]), true
}

// cutDate reads the day at the start of s and returns what follows it without
// the time of day and the dash or colon in between. day is zero, and rest all of
// s, where s does not start with a day that exists.
func cutDate(s string) (day time.Time, rest string) {
	if len(s) < len(time.DateOnly) {
		return time.Time{}, s
	}
	day, err := time.Parse(time.DateOnly, s[:len(time.DateOnly)])
	if err != nil {
		return time.Time{}, s
	}
	rest = s[len(time.DateOnly):]
	if len(rest) > 1 && rest[0] == 'T' && rest[1] >= '0' && rest[1] <= '9' {
		_, rest, _ = strings.Cut(rest, " ")
	}
	return day, strings.TrimLeft(rest, " \t—–-:")
}

// Label is a labelled bullet of an entry: "- **Why:** the reason".
type Label struct {
	Name string // without colon and emphasis
	Text string
}

var labelForm = regexp.MustCompile(`^(?:\*\*|__)?([\p{L}][\p{L}\p{N} /-]{0,39}?)(?:(?:\*\*|__):|:(?:\*\*|__)?)(?:\s+|$)`)

// Labels returns an entry's labelled bullets in their order, unknown labels
// included.
func (e *Entry) Labels() []Label {
	var labels []Label
	for _, b := range e.Blocks {
		if b.Type != Item && b.Type != Paragraph {
			continue
		}
		text := b.Text()
		if m := labelForm.FindStringSubmatch(text); m != nil {
			labels = append(labels, Label{Name: m[1], Text: text[len(m[0]):]})
		}
	}
	return labels
}

// Text returns what a reader is meant to see of the block: no bullet, no
// indentation that only places it in a list, no comment. Lines end in "\n", the
// last one in nothing. It is "" for a type that holds no text.
func (b Block) Text() string {
	raw := strings.ReplaceAll(b.Raw, "\r\n", "\n")
	switch b.Type {
	case Item:
		indent, width := marker(raw)
		first, more, _ := strings.Cut(raw, "\n")
		var out strings.Builder
		out.WriteString(first[width:])
		for line := range strings.Lines(more) {
			out.WriteString("\n" + dedent(strings.TrimRight(line, "\n"), min(columns(first[:width]), indent+4)))
		}
		return trimLines(withoutComments(out.String()))
	case Paragraph:
		return trimLines(withoutComments(raw))
	case Code:
		return strings.Trim(raw, "\n")
	case Subheading:
		_, text, _ := heading(strings.TrimRight(raw, "\n"))
		return withoutComments(text)
	default:
		return ""
	}
}

// trimLines takes the space off the end of each line and the empty lines off
// both ends.
func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// withoutComments takes out HTML comments, except where backquotes make them
// code. One that never ends takes the rest with it.
func withoutComments(s string) string {
	text, _ := cutComments(s)
	return text
}

// cutComments parts a text and its HTML comments (see withoutComments).
func cutComments(s string) (text string, comments []string) {
	if !strings.Contains(s, "<!--") {
		return s, nil
	}
	var out strings.Builder
	for s != "" {
		i := strings.IndexAny(s, "`<")
		if i < 0 {
			break
		}
		out.WriteString(s[:i])
		s = s[i:]
		n := 1
		switch {
		case s[0] == '`':
			n = codeSpan(s)
		case strings.HasPrefix(s, "<!--"):
			n = len(s)
			if end := strings.Index(s[len("<!--"):], "-->"); end >= 0 {
				n = len("<!--") + end + len("-->")
			}
			comments = append(comments, s[:n])
			s = s[n:]
			continue
		}
		out.WriteString(s[:n])
		s = s[n:]
	}
	return out.String() + s, comments
}

// codeSpan returns the length of the code that s starts with, backquotes
// included: up to the next run of as many, at most a page away (a limit against
// files made to be slow). It is that of the backquotes alone when there is none.
func codeSpan(s string) int {
	const page = 4096
	run := func(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }
	ticks := run(s)
	for at, end := ticks, min(ticks+page, len(s)); at < end; {
		i := strings.IndexByte(s[at:end], '`')
		if i < 0 {
			break
		}
		at += i
		n := run(s[at:end])
		if at += n; n == ticks {
			return at
		}
	}
	return ticks
}
