package memory

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The most that a line holds, in characters.
const (
	MaxLine  = 200  // an item of STATE.md, a bullet of the roll-up
	MaxFact  = 400  // a bullet of CONSTRAINTS.md
	MaxTitle = 120  // the title of an entry
	MaxText  = 1000 // one of an entry's labelled texts
)

// Environment is what Check cannot know by itself.
type Environment struct {
	Today  time.Time                  // its day, in its zone, is the one in the files
	To     string                     // full hash that the anchor will name
	Exists func(evidence string) bool // tells whether the repository has this commit, of 7 digits at least; nil: not looked up
	Review []string                   // why a person should look at the result: STATE.md's flag "manual review"
}

// day is midnight UTC of Today.
func (env Environment) day() time.Time {
	return time.Date(env.Today.Year(), env.Today.Month(), env.Today.Day(), 0, 0, 0, 0, time.UTC)
}

// Severity says what a Problem is to a check that runs unattended.
type Severity string

// An Error breaks a contract, a Warning does not.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Problem is one way in which a proposal or a file breaks its contract.
type Problem struct {
	Severity Severity `json:"severity"`
	File     string   `json:"file"`  // relative to the repository
	Where    string   `json:"where"` // a field of the proposal, a line, or a section with a bullet or title
	What     string   `json:"what"`  // what is wrong and what to do
}

func (p Problem) String() string { return p.File + ": " + p.Where + " " + p.What }

// Check returns every way in which a proposal breaks the contracts, all of
// severity Error; none means that Apply takes it.
func Check(old Files, p *Proposal, env Environment) []Problem {
	_, problems := draw(old, p, env)
	return problems
}

// Apply returns the documents that a proposal makes of the old ones, which stay as
// they are. The error is that of a proposal that Check refuses; it names every
// reason.
func Apply(old Files, p *Proposal, env Environment) (Files, error) {
	made, problems := draw(old, p, env)
	if len(problems) > 0 {
		errs := make([]error, len(problems))
		for i, problem := range problems {
			errs[i] = errors.New(problem.String())
		}
		return Files{}, errors.Join(errs...)
	}
	return made, nil
}

// draft is a proposal on its way into the files.
type draft struct {
	env      Environment
	problems []Problem
}

// draw makes the files and tells what is wrong with them or the proposal.
func draw(old Files, p *Proposal, env Environment) (Files, []Problem) {
	if p == nil {
		p = &Proposal{}
	}
	d := &draft{env: env}
	if env.Today.IsZero() || !isCommit(strings.ToLower(env.To)) {
		d.refuse(State, "environment", "names no day or no full hash: give the date and the commit that the files will cover")
	}
	made := Files{
		State:       d.drawState(old.State, p.State),
		Constraints: d.drawConstraints(old.Constraints, p.Constraints),
		Decisions:   d.drawDecisions(old.Decisions, p.Decisions, p.Recent),
	}
	if len(d.problems) == 0 {
		d.problems = CheckChange(old, made)
	}
	return made, d.problems
}

func (d *draft) refuse(kind Kind, where, what string, args ...any) {
	d.problems = append(d.problems, Problem{Error, kind.Path(), where, fmt.Sprintf(what, args...)})
}

// line returns a text as it is written into a bullet, or "" with the reasons
// why it cannot be.
func (d *draft) line(kind Kind, where, text string, longest int) string {
	line := clean(text)
	switch n := utf8.RuneCountInString(line); {
	case line == "" || kind != State && isNone(line):
		d.refuse(kind, where, "says nothing: fill it in, with %q where the inputs do not say", Unknown)
	case n > longest:
		d.refuse(kind, where, "has %d characters: say it in %d", n, longest)
	case isTemplate(line) || strings.HasSuffix(line, ":"):
		d.refuse(kind, where, "is a placeholder, %q: fill it in, or leave it out", line)
	default:
		return line
	}
	return ""
}

// clean makes one line of a text that anybody wrote, in which nothing is hidden
// and nothing begins a block of Markdown. What is clean stays as it is.
func clean(text string) string {
	text = oneLine(text)
	for _, bullet := range []string{"- ", "* ", "+ "} {
		if after, ok := strings.CutPrefix(text, bullet); ok {
			text = after
			break
		}
	}
	return escapeStart(escapeComments(text))
}

// escapeStart puts a backslash before what would make a line more than text.
func escapeStart(line string) string {
	if line == "" {
		return ""
	}
	_, _, isHeading := heading(line)
	_, width := marker(line)
	switch {
	case width > 0 && line[0] >= '0' && line[0] <= '9':
		i := strings.IndexAny(line, ".)")
		return line[:i] + `\` + line[i:]
	case width > 0, isHeading, isRule(line), underline(line) > 0, line[0] == '>', line[0] == '|',
		strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"), strings.HasPrefix(line, "<<<<<<<"):
		return `\` + line
	}
	return line
}

// escapeComments makes comments visible, except where backquotes make them code
// and so visible already.
func escapeComments(s string) string {
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
			out.WriteString("&lt;")
			s = s[1:]
			continue
		}
		out.WriteString(s[:n])
		s = s[n:]
	}
	return out.String() + s
}

var (
	updatedMark    = regexp.MustCompile(`(?i)\s*\(updated \d{4}-\d{2}-\d{2}\)`)
	supersededMark = regexp.MustCompile(`(?i)^\(superseded (\d{4}-\d{2}-\d{2})\)\s*`)
)

// key is what two texts have in common that say the same: case, space, the mark of
// an edit and a final stop apart.
func key(text string) string {
	if strings.Contains(text, "(") { // the expression is slow
		text = updatedMark.ReplaceAllString(text, "")
	}
	return strings.TrimRight(strings.ToLower(oneLine(text)), ".")
}

// splice replaces the bytes from start to end of a file by a text.
type splice struct {
	start, end int
	text       string // whole lines, ending in "\n", or ""
	apart      bool   // with empty lines before and after
}

// splicing is a change of a file that touches nothing else.
type splicing []splice

func (edits *splicing) insert(at int, text string, apart bool) {
	*edits = append(*edits, splice{at, at, text, apart})
}

func (edits *splicing) remove(at int, raw string) {
	*edits = append(*edits, splice{at, at + len(raw), "", false})
}

// apply returns the changed file. New lines end as those of the file do; a file
// whose last line has no end keeps it so. The changes must not overlap; those of
// one place come in the order in which they were made.
func (edits splicing) apply(data string) string {
	if len(edits) == 0 {
		return data
	}
	slices.SortStableFunc(edits, func(a, b splice) int { return a.start - b.start })
	end := lineEnd(data)
	var out strings.Builder
	at, last, unended := 0, "", false
	write := func(s string) {
		out.WriteString(s)
		if s != "" {
			last = (last + s)[max(0, len(last)+len(s)-4):]
		}
	}
	for _, e := range edits {
		write(data[at:e.start])
		at = e.end
		if e.text == "" {
			continue
		}
		if begun := strings.TrimPrefix(out.String(), byteOrderMark) != ""; begun {
			if !strings.HasSuffix(last, "\n") {
				write(end)
				unended = true
			}
			if e.apart && !strings.HasSuffix(strings.ReplaceAll(last, "\r", ""), "\n\n") {
				write(end)
			}
		}
		write(strings.ReplaceAll(e.text, "\n", end))
		if rest := data[at:]; e.apart && rest != "" && strings.TrimLeft(rest[:min(2, len(rest))], "\r\n") == rest[:min(2, len(rest))] {
			write(end)
		}
	}
	write(data[at:])
	if made := out.String(); unended && at == len(data) {
		return strings.TrimSuffix(made, end)
	}
	return out.String()
}

// lineEnd returns how most lines of a file end.
func lineEnd(data string) string {
	if windows := strings.Count(data, "\r\n"); windows > strings.Count(data, "\n")-windows {
		return "\r\n"
	}
	return "\n"
}

// placeAtEnd returns where a bullet goes that is added to a section, and how it
// starts: behind the last bullet, like it, or else behind all that stands there.
func placeAtEnd(d *Document, section *Section) (at int, bullet string, apart bool) {
	bullet = "- "
	found := false
	d.walk(func(start int, s *Section, e *Entry, b *Block) {
		switch {
		case s != section || e != nil:
		case b == nil:
			at = start + len(s.Heading)
		case b.Type == Item:
			at, apart, found = start+len(b.Raw), false, true
			bullet = "- "
			if indent, width := marker(b.Raw); width > 0 && strings.IndexByte("-*+", b.Raw[indent]) >= 0 {
				bullet = b.Raw[:indent+1] + " "
			}
		case b.Type != Blank && !found:
			at, apart = start+len(b.Raw), b.Type != Comment
		}
	})
	return at, bullet, apart
}

// splitItem cuts a bullet into the marker with the indentation before it, the
// text up to the first thing that is nested in it, and that.
func splitItem(raw string) (marked, head, rest string) {
	_, width := marker(raw)
	n, _ := firstLine(raw)
	inner := columns(raw[:width])
	p := parser{kind: Constraints}
	for n < len(raw) {
		more, line := firstLine(raw[n:])
		if p.starts(dedent(line, inner)) != startNothing {
			break
		}
		n += more
	}
	return raw[:width], raw[width:n], raw[n:]
}

// textOf is what a reader sees of a bullet's text, on one line.
func textOf(head string) string { return oneLine(withoutComments(head)) }

// isEmpty tells whether there is no file, or nothing in it.
func isEmpty(d *Document) bool {
	return d == nil || strings.TrimSpace(strings.TrimPrefix(string(d.Bytes()), byteOrderMark)) == ""
}
