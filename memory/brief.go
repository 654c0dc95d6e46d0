package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/chinvex/chinvex/project"
)

// DefaultBudget is what a brief may take, in tokens: a hundredth of a small
// model's window, and room for a full STATE.md, thirty constraints and ten
// decisions.
const DefaultBudget = 1500

// bytesPerToken turns a budget into bytes.
const bytesPerToken = 4

// Request says what a brief is about.
type Request struct {
	Name    string          // of the repository
	Root    string          // of the repository, absolute
	Context string          // named in the brief where it is not Name; "" for none
	Budget  int             // in tokens of four bytes; 0 or less means DefaultBudget
	Now     time.Time       // its zone is that of the times in the brief
	Last    project.Session // the session before this one; zero when unknown
	Notes   []string        // what is wrong with or stale in the index and its calibration, one line each
}

// Brief is what a session is told when it starts, cut to the budget.
type Brief struct {
	Repository string         `json:"repository"`
	Context    string         `json:"context,omitempty"`
	Branch     string         `json:"branch,omitempty"` // "" when detached, or outside git
	Head       string         `json:"head,omitempty"`   // full hash
	Updated    string         `json:"memory_updated,omitempty"`
	Covered    string         `json:"memory_covers,omitempty"` // hash of the coverage anchor
	Summary    string         `json:"summary"`                 // the first line: what this is and how old
	Sections   []BriefSection `json:"sections"`
	Notes      []string       `json:"notes"`    // what is wrong or stale
	More       string         `json:"more"`     // what else is in the memory files
	LeftOut    []LeftOut      `json:"left_out"` // what the budget had no room for

	budget int // bytes
}

// BriefSection is a heading with at least one item.
type BriefSection struct {
	Title  string   `json:"title"`
	Source string   `json:"source"` // a file, relative to the repository, or a git command
	Items  []string `json:"items"`
}

// LeftOut counts the items of a section that the budget had no room for.
type LeftOut struct {
	Title  string `json:"title"`
	Source string `json:"source"` // where they are
	Items  int    `json:"items"`
	All    bool   `json:"all"` // the section is left out whole
}

// noMemory is told where there is none of the three files.
const noMemory = "No project memory yet; `chinvex update-memory` starts it."

// New makes the brief of a repository. What cannot be read becomes a line in its
// Notes; what git has not said when ctx ends is left out. It writes nothing.
func New(ctx context.Context, r Request) *Brief {
	b := &Brief{Repository: plain(r.Name), Context: plain(r.Context), Sections: []BriefSection{}, Notes: []string{}, LeftOut: []LeftOut{}}
	if b.budget = r.Budget; b.budget <= 0 {
		b.budget = DefaultBudget
	}
	b.budget *= bytesPerToken
	if root, err := filepath.Abs(r.Root); err == nil {
		r.Root = root
	}

	var docs [Decisions + 1]*Document
	for _, kind := range []Kind{State, Constraints, Decisions} {
		doc, err := Read(r.Root, kind)
		if err == nil {
			err = known(doc)
		}
		if err == nil {
			docs[kind] = doc
		} else if !errors.Is(err, fs.ErrNotExist) {
			b.note(err.Error())
		}
	}
	absent := len(b.Notes) == 0 && docs == [Decisions + 1]*Document{}
	var coverage Coverage
	if docs[State] != nil {
		coverage = docs[State].Coverage()
	}
	h := readHistory(ctx, r, coverage.Anchor)

	if docs[State] != nil {
		b.addSections(docs[State], nil)
	}
	if docs[Constraints] != nil {
		b.addSections(docs[Constraints], constraintsShown)
	}
	if docs[Decisions] != nil {
		b.addDecisions(docs[Decisions], r.Now)
	}
	if absent {
		b.note(noMemory)
	} else if len(b.Sections) == 0 && len(b.Notes) == 0 {
		b.note("The files in " + Dir + " are still empty.")
	}
	b.addHistory(h)
	if coverage.Review != "" {
		b.note(footerReview + " " + coverage.Review)
	}
	for _, note := range r.Notes {
		b.note(note)
	}
	b.More = more(docs, r.Now)
	b.summarise(h, coverage, r.Now)
	b.fit()
	return b
}

// The sections that make a file the one that its name says.
var (
	stateSections    = []string{"Current Objective", "Active Work", "Blockers", "Next Actions", "Quick Reference", "Out of Scope"}
	constraintsShown = []string{"Infrastructure", "Rules", "Hazards"}
)

const rollup = "Recent"

// known tells of a file whose headings are none of ours: it is something else,
// or damaged.
func known(d *Document) error {
	names := map[Kind][]string{State: stateSections, Constraints: constraintSections, Decisions: {rollup}}[d.Kind]
	for _, name := range names {
		if d.Section(name) != nil {
			return nil
		}
	}
	for _, s := range d.Sections {
		for _, e := range s.Entries {
			if !e.Date.IsZero() {
				return nil
			}
		}
	}
	if len(strings.TrimSpace(string(d.Bytes()))) == 0 {
		return fmt.Errorf("%s is empty", d.Kind.Path())
	}
	return fmt.Errorf("%s is left out: it has no heading %q", d.Kind.Path(), "## "+names[0])
}

// note adds one line.
func (b *Brief) note(line string) {
	if line = oneLine(line); line != "" {
		b.Notes = append(b.Notes, line)
	}
}

// addSections adds a file's sections of the names, nil meaning all.
func (b *Brief) addSections(d *Document, names []string) {
	for i := range d.Sections {
		s := &d.Sections[i]
		if s.Level == 0 || names != nil && !slices.ContainsFunc(names, s.Is) {
			continue
		}
		items := textItems(s.Blocks)
		if d.Kind != State { // there, "None" is an answer
			items = slices.DeleteFunc(items, isNone)
		}
		b.add(s.Name, d.Kind.Path(), items)
	}
}

// add adds items to a section of this title, if that is the last one, or a new one.
func (b *Brief) add(title, source string, items []string) {
	title = strings.TrimRight(oneLine(title), ":")
	if n := len(b.Sections); n > 0 && b.Sections[n-1].Title == title && b.Sections[n-1].Source == source {
		b.Sections[n-1].Items = append(b.Sections[n-1].Items, items...)
	} else if len(items) > 0 {
		b.Sections = append(b.Sections, BriefSection{Title: title, Source: source, Items: items})
	}
}

// textItems returns the blocks that say something, without empty lines. What
// stands below a sub-heading is told with it.
func textItems(blocks []Block) []string {
	var items []string
	under := ""
	for _, block := range blocks {
		text := plain(block.Text())
		for strings.Contains(text, "\n\n") {
			text = strings.ReplaceAll(text, "\n\n", "\n")
		}
		if block.Type == Paragraph && !laidOut(text) {
			text = oneLine(text)
		}
		switch {
		case block.Type == Subheading:
			under = oneLine(text) + ": "
		case block.Type == Item && strings.HasSuffix(text, ":") && !strings.Contains(text, "\n"): // a label without its value
		case text != "" && !isTemplate(text):
			items = append(items, under+text)
		}
	}
	return items
}

// laidOut tells whether the lines of a paragraph mean something as lines: a
// table, a quotation, indented code.
func laidOut(text string) bool {
	for line := range strings.Lines(text) {
		if strings.ContainsAny(line[:1], "|> \t") {
			return true
		}
	}
	return false
}

// isTemplate tells whether a text is what a template has for a person to
// replace: all of it in brackets, a date that is letters, or a label whose value
// is in angle brackets.
func isTemplate(text string) bool {
	if task := strings.TrimPrefix(strings.TrimPrefix(text, "[ ]"), "[x]"); task != text {
		text = strings.TrimSpace(task)
	}
	_, value, labelled := strings.Cut(text, ":")
	value = strings.Trim(value, " `")
	switch {
	case text == "":
		return true
	case labelled && strings.HasPrefix(value, "<") && strings.HasSuffix(value, ">") && !strings.Contains(value, "://"):
		return true
	case strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") && !strings.Contains(text, "]["):
		return true
	}
	return strings.Contains(text, "YYYY-MM-DD") && strings.Contains(text, "[")
}

// isNone tells whether a text says that there is nothing.
func isNone(text string) bool {
	text = strings.ToLower(strings.Trim(text, "()[]_*. "))
	switch text {
	case "none", "none yet", "none known", "nothing", "nothing yet", "n/a", "tbd", "-", "—":
		return true
	}
	return strings.HasPrefix(text, "no ") && strings.HasSuffix(text, " yet") || strings.HasPrefix(text, "nothing in the last ")
}

// recentDays is how long an entry of DECISIONS.md is told in full.
const recentDays = 7

// isRecent tells whether an entry is of the last days, or of one to come.
func isRecent(e Entry, now time.Time) bool {
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	return !e.Date.IsZero() && !e.Date.Before(today.AddDate(0, 0, -recentDays))
}

// addDecisions adds the roll-up and the entries of the last days. A bullet of the
// roll-up that names such an entry gives way to it: it would say less.
func (b *Brief) addDecisions(d *Document, now time.Time) {
	var summary []string
	var entries []Entry
	for i := range d.Sections {
		s := &d.Sections[i]
		if s.Is(rollup) {
			summary = append(summary, slices.DeleteFunc(textItems(s.Blocks), isNone)...)
		}
		for _, e := range s.Entries {
			if isRecent(e, now) && e.Title != "" && !isTemplate(e.Title) {
				entries = append(entries, e)
			}
		}
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return b.Date.Compare(a.Date) })
	var full []string
	for _, e := range entries {
		at := slices.IndexFunc(summary, func(bullet string) bool {
			return strings.Contains(strings.ToLower(bullet), strings.ToLower(e.Title))
		})
		if at >= 0 {
			summary[at] = tell(e)
		} else {
			full = append(full, tell(e))
		}
	}
	b.add("Recent decisions", d.Kind.Path(), summary)
	b.add(fmt.Sprintf("Decisions of the last %d days", recentDays), d.Kind.Path(), full)
}

// tell says what was decided and what a reader cannot see in the code: why, and
// where a bug came from and how it stays away.
func tell(e Entry) string {
	text := plain(e.Date.Format(time.DateOnly) + " " + e.Title)
	evidence := ""
	for _, l := range e.Labels() {
		switch value := oneLine(l.Text); strings.ToLower(l.Name) {
		case "why", "root cause", "prevention":
			if value != "" {
				text += ". " + l.Name + ": " + strings.TrimRight(value, ".")
			}
		case "evidence":
			words := strings.Fields(value)
			for i, word := range words {
				if isCommit(word) {
					words[i] = short(word)
				}
			}
			evidence = strings.Join(words, " ")
		}
	}
	if evidence != "" {
		text += " (" + evidence + ")"
	}
	return text
}

// addHistory adds the commits, then the files that changed most in them.
func (b *Brief) addHistory(h history) {
	b.Branch, b.Head = plain(h.head.Branch), h.head.Hash
	if h.problem != "" {
		b.note(h.problem)
	}
	var items []string
	for _, c := range h.commits[:min(len(h.commits), shownCommits)] {
		items = append(items, shorten(c.Hash[:7]+" "+oneLine(c.Subject)))
	}
	switch older := len(h.commits) - shownCommits; {
	case h.more:
		items = append(items, "and more: "+h.command)
	case older > 0:
		items = append(items, fmt.Sprintf("and %d more: %s", older, h.command))
	}
	if len(h.commits) > 1 && len(h.files) > 0 {
		items = append(items, "Changed most: "+oneLine(strings.Join(h.files, ", ")))
	}
	b.add(h.title, h.command, items)
}

// more says what the files hold beside what is shown.
func more(docs [Decisions + 1]*Document, now time.Time) string {
	var parts []string
	if d := docs[Constraints]; d != nil {
		var names []string
		for i := range d.Sections {
			s := &d.Sections[i]
			if n := len(textItems(s.Blocks)); n > 0 && s.Level == 2 && !slices.ContainsFunc(constraintsShown, s.Is) {
				names = append(names, fmt.Sprintf("%s %d", shorten(oneLine(s.Name)), n))
			}
		}
		if len(names) > 0 {
			parts = append(parts, "CONSTRAINTS.md ("+strings.Join(names, ", ")+")")
		}
	}
	if d := docs[Decisions]; d != nil {
		older := 0
		for _, s := range d.Sections {
			for _, e := range s.Entries {
				if !isRecent(e, now) && !isTemplate(e.Title) {
					older++
				}
			}
		}
		if older > 0 {
			parts = append(parts, fmt.Sprintf("DECISIONS.md (%d older)", older))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Also in " + Dir + ": " + strings.Join(parts, ", ")
}

// summarise writes the first line.
func (b *Brief) summarise(h history, c Coverage, now time.Time) {
	line := "chinvex brief: " + b.Repository
	if b.Context != "" && b.Context != b.Repository {
		line += " in context " + b.Context
	}
	switch {
	case h.head.Unborn && b.Branch != "":
		line += ", branch " + b.Branch + ", no commits yet"
	case b.Head != "" && b.Branch != "":
		line += ", branch " + b.Branch + " at " + short(b.Head)
	case b.Head != "":
		line += ", detached at " + short(b.Head)
	}
	if h.subject != "" {
		line += " " + shorten(oneLine(h.subject))
	}
	if len(h.commits) == 0 && strings.HasPrefix(h.title, "no ") {
		line += "; " + h.title
	}
	memory := ""
	if !c.Updated.IsZero() {
		b.Updated = c.Updated.Format(time.DateOnly)
		memory = " of " + b.Updated
		today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
		switch days := int(today.Sub(c.Updated) / (24 * time.Hour)); {
		case days == 1:
			memory += ", 1 day old"
		case days > 1:
			memory += fmt.Sprintf(", %d days old", days)
		}
	}
	b.Covered = c.Anchor
	if h.behind != "" {
		memory += ", " + h.behind
	}
	if memory != "" {
		line += "; memory" + strings.TrimPrefix(memory, ",")
	}
	b.Summary = plain(line)
}

// Text is the brief as plain text, never longer than its budget.
func (b *Brief) Text() string {
	var out strings.Builder
	line := func(s string) {
		if s != "" {
			out.WriteString(s + "\n")
		}
	}
	line(b.Summary)
	source := ""
	for _, s := range b.Sections {
		if s.Source != source {
			out.WriteString("\n")
			source = s.Source
		}
		if len(s.Items) == 1 && !strings.Contains(s.Items[0], "\n") {
			line(s.Title + ": " + s.Items[0])
			continue
		}
		line(s.Title + ":")
		for _, item := range s.Items {
			line("- " + nested(item))
		}
	}
	if len(b.Notes) > 0 || len(b.LeftOut) > 0 || b.More != "" {
		out.WriteString("\n")
	}
	for _, note := range b.Notes {
		line(note)
	}
	line(b.leftOutLine())
	line(b.More)
	return out.String()
}

// leftOutLine says what the budget had no room for: how many items of each file,
// and which commits.
func (b *Brief) leftOutLine() string {
	var parts []string
	count := 0
	for i, l := range b.LeftOut {
		count += l.Items
		if i+1 < len(b.LeftOut) && b.LeftOut[i+1].Source == l.Source {
			continue
		}
		part := fmt.Sprintf("%d of %s", count, l.Source)
		if l.All && !strings.HasPrefix(l.Source, Dir) {
			part = l.Title + " (" + l.Source + ")"
		}
		parts = append(parts, part)
		count = 0
	}
	if parts == nil {
		return ""
	}
	return "Left out for length: " + strings.Join(parts, ", ")
}

// nested indents the lines after the first.
func nested(item string) string { return strings.ReplaceAll(item, "\n", "\n  ") }

// fit leaves items out, from the end, until the text is within the budget. What
// is not an item goes last: where to read more, notes, the line on what was left
// out, and where not even the first line has room, that.
func (b *Brief) fit() {
	all := b.Sections
	type place struct{ section, item int }
	var places []place
	for i, s := range all {
		for k, item := range s.Items {
			// One huge item must not cost all that stand below it.
			if len(s.Title)+len(item) <= b.budget/2 {
				places = append(places, place{i, k})
			}
		}
	}
	keep := func(n int) {
		b.Sections, b.LeftOut = []BriefSection{}, []LeftOut{}
		kept := make([]int, len(all))
		last := -1
		for _, p := range places[:n] {
			if p.section != last {
				b.Sections = append(b.Sections, BriefSection{Title: all[p.section].Title, Source: all[p.section].Source})
				last = p.section
			}
			s := &b.Sections[len(b.Sections)-1]
			s.Items = append(s.Items, all[p.section].Items[p.item])
			kept[p.section]++
		}
		for i, s := range all {
			if missing := len(s.Items) - kept[i]; missing > 0 {
				b.LeftOut = append(b.LeftOut, LeftOut{Title: s.Title, Source: s.Source, Items: missing, All: kept[i] == 0})
			}
		}
	}
	fits := func() bool { return len(b.Text()) <= b.budget }
	keep(sort.Search(len(places), func(n int) bool { keep(n + 1); return !fits() }))
	for !fits() {
		switch {
		case b.More != "":
			b.More = ""
		case len(b.Notes) > 0:
			b.Notes = b.Notes[:len(b.Notes)-1]
		case len(b.LeftOut) > 0:
			b.LeftOut = b.LeftOut[:0]
		default:
			b.Summary = ""
		}
	}
}

// plain takes out what a terminal or a reader of the raw text would not show:
// control characters, but for tabs and line ends, and invisible ones, but for
// those that join emoji.
func plain(s string) string {
	const joiner = '\u200D'
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && r != joiner && unicode.In(r, unicode.Cc, unicode.Cf) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// oneLine is plain with all space as single blanks.
func oneLine(s string) string { return strings.Join(strings.Fields(plain(s)), " ") }

// shorten cuts a name or subject that nobody meant to be read whole.
func shorten(s string) string {
	const longest = 120 // bytes
	if len(s) <= longest {
		return s
	}
	cut := longest
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
