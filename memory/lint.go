package memory

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// maxConstraintLines is where CONSTRAINTS.md is longer than a session reads.
const maxConstraintLines = 100

// Lint holds files, which a person may have edited, against the contracts, in the
// order of the files and their lines. Of env it needs Today; Exists when evidence
// and anchor are to be looked up. No files at all are no problem.
func Lint(f Files, env Environment) []Problem {
	if f == (Files{}) {
		return nil
	}
	var all []Problem
	for kind, doc := range []*Document{State: f.State, Constraints: f.Constraints, Decisions: f.Decisions} {
		l := &lint{kind: Kind(kind), env: env}
		if doc == nil {
			l.report(Warning, "the file", "does not exist: `chinvex update-memory` makes it")
		} else {
			l.data = string(doc.Bytes())
			switch l.kind {
			case State:
				l.state(doc)
			case Constraints:
				l.constraints(doc)
			case Decisions:
				l.decisions(doc)
			}
		}
		all = append(all, l.problems...)
	}
	return all
}

type lint struct {
	kind     Kind
	env      Environment
	data     string
	at, line int // a place and the line breaks before it
	problems []Problem
}

// below names the line of a place; places must come in their order.
func (l *lint) below(at int) string {
	l.line += strings.Count(l.data[l.at:at], "\n")
	l.at = at
	return fmt.Sprintf("line %d", l.line+1)
}

func (l *lint) report(severity Severity, where, what string, args ...any) {
	l.problems = append(l.problems, Problem{severity, l.kind.Path(), where, fmt.Sprintf(what, args...)})
}

// sections reports those that are missing, there twice, or out of order.
func (l *lint) sections(doc *Document, names []string, required func(string) bool) {
	last := -1
	for i := range doc.Sections {
		s := &doc.Sections[i]
		at := slices.IndexFunc(names, s.Is)
		if at < 0 {
			continue
		}
		switch {
		case doc.Section(names[at]) != s:
			l.report(Error, "the section "+s.Name, "is there twice: make one of the two")
		case at < last:
			l.report(Warning, "the section "+s.Name, "stands below %s: it comes before", names[last])
		}
		last = max(last, at)
	}
	for _, name := range names {
		if required(name) && doc.Section(name) == nil {
			l.report(Error, "the file", "has no section %q: add it", "## "+name)
		}
	}
}

// text reports a line that is too long or not filled in.
func (l *lint) text(where, text string, longest int) {
	first, _, _ := strings.Cut(text, "\n")
	if isTemplate(text) {
		l.report(Warning, where, "is still the template's: fill it in, or say %q", Unknown)
	} else if n := utf8.RuneCountInString(first); n > longest {
		l.report(Warning, where, "has %d characters: say it in %d", n, longest)
	}
}

func (l *lint) state(doc *Document) {
	l.sections(doc, stateSections, func(string) bool { return true })
	if n := strings.Count(strings.TrimRight(l.data, "\r\n"), "\n") + 1; n > maxStateLines {
		l.report(Error, "the file", "has %d lines: cut it to %d, it is what is true now and no history", n, maxStateLines)
	}
	items := map[string]int{}
	doc.walk(func(at int, s *Section, _ *Entry, b *Block) {
		if b == nil || b.Type != Item && b.Type != Paragraph || s.Level == 0 {
			return
		}
		name := plainName(s.Name)
		items[name]++
		where := l.below(at)
		l.text(where, b.Text(), MaxLine)
		if text := b.Text(); name == "next actions" && (b.Type == Item || text != Unknown && !isNone(text) && !isTemplate(text)) {
			if !strings.HasPrefix(text, "[ ] ") && !strings.HasPrefix(text, "[x] ") && !strings.HasPrefix(text, "[X] ") {
				l.report(Error, where, "is no checkbox: write \"- [ ] …\" or \"- [x] …\"")
			}
		}
	})
	most := []int{1, maxActive, maxBlockers, maxActions, len(stateSections) * maxStateLines, maxOutOfScope}
	for i, name := range stateSections {
		s := doc.Section(name)
		switch n := items[plainName(name)]; {
		case s == nil:
		case n == 0 && i < 4:
			l.report(Error, "the section "+s.Name, "is empty: say what is so, or %q", []string{Unknown, Unknown, none, none}[i])
		case n > most[i]:
			l.report(Error, "the section "+s.Name, "has %d items: at most %d belong there", n, most[i])
		}
	}
	c := doc.Coverage()
	if anchors := anchorForm.FindAllString(l.data, -1); c.Anchor == "" {
		l.report(Error, "the last line", "is no coverage anchor: restore \"<!-- chinvex:last-commit:<full hash> -->\" from history")
	} else if !strings.HasSuffix(strings.TrimSpace(l.data), anchors[len(anchors)-1]) {
		l.report(Warning, "the coverage anchor", "is not the last line: move it there")
	}
	if c.Anchor != "" && l.env.Exists != nil && !l.env.Exists(c.Anchor) {
		l.report(Warning, "the coverage anchor", "names %s, which is no commit here: `chinvex update-memory` falls back, look at what it says", short(c.Anchor))
	}
	if c.Updated.IsZero() {
		l.report(Warning, "the footer", "has no line \"%s YYYY-MM-DD\": add it", footerDate)
	}
	if c.Review != "" {
		l.report(Warning, "the footer", "asks a person to look: %s", c.Review)
	}
}

func (l *lint) constraints(doc *Document) {
	l.sections(doc, constraintSections, isRequired)
	if n := strings.Count(l.data, "\n"); n >= maxConstraintLines {
		l.report(Warning, "the file", "has %d lines: merge or shorten bullets, under %d is what a session reads", n, maxConstraintLines)
	}
	said := map[string]string{}
	for _, b := range bulletsOf(doc) {
		where := l.below(b.at)
		l.text(where, b.text, MaxFact)
		if b.section.Is(supersededName) {
			if !isNone(b.text) && !isTemplate(b.text) && (!supersededMark.MatchString(b.text) || !strings.Contains(b.text, "—")) {
				l.report(Error, where, "is not of the form \"(Superseded YYYY-MM-DD) … — reason\": say when and why it was superseded")
			}
			continue
		}
		k := b.keys[1]
		if isNone(b.text) || k == "" {
			continue
		}
		if first, ok := said[k]; ok {
			l.report(Warning, where, "says what %s says: keep one of the two", first)
		} else {
			said[k] = where
		}
	}
}

func (l *lint) decisions(doc *Document) {
	today := l.env.day()
	entries, recent := 0, 0
	titles := map[string]string{}
	var lastMonth string
	var lastDay time.Time
	doc.walk(func(at int, s *Section, e *Entry, b *Block) {
		_, err := time.Parse(monthLayout, plainName(s.Name))
		isMonth := s.Level > 0 && err == nil
		switch {
		case b == nil && e == nil:
			if isMonth && lastMonth != "" && plainName(s.Name) >= lastMonth {
				l.report(Warning, l.below(at), "is the month %s below %s: the newest comes first", plainName(s.Name), lastMonth)
			}
			if isMonth {
				lastMonth = plainName(s.Name)
			}
			lastDay = time.Time{}
		case b != nil && e == nil && s.Is(rollup) && (b.Type == Item || b.Type == Paragraph):
			if b.Type == Item {
				recent++
			}
			l.text(l.below(at), b.Text(), MaxLine)
		case b == nil:
			entries++
			where := l.below(at)
			l.entry(where, e)
			day := e.Date.Format(time.DateOnly)
			k := day + " " + key(e.Title)
			switch first, twice := titles[k]; {
			case isTemplate(e.Title):
				l.report(Warning, where, "is still the template's: remove it or fill it in")
			case e.Date.IsZero():
				l.report(Error, where, "has no day that exists: write \"### YYYY-MM-DD — Title\"")
			case e.Date.After(today):
				l.report(Error, where, "is of %s, which is to come: give the day of the decision", day)
			case !isMonth || day[:len(monthLayout)] != plainName(s.Name):
				l.report(Error, where, "of %s stands in %q: it belongs in \"## %s\"", day, s.Name, day[:len(monthLayout)])
			case twice:
				l.report(Error, where, "has the day and title of %s: name what is new in it", first)
			case !lastDay.IsZero() && e.Date.After(lastDay):
				l.report(Warning, where, "is newer than the one above: the newest comes first")
			}
			titles[k] = where
			lastDay = e.Date
		}
	})
	switch s := doc.Section(rollup); {
	case s == nil:
		l.report(Error, "the file", "has no section %q: add it on top", "## "+rollupTitle)
	case recent > maxRollup:
		l.report(Error, "the section "+s.Name, "has %d bullets: at most %d belong there", recent, maxRollup)
	}
}

// numberForm is how people link a pull request in a repository of its host: it
// cannot be told from an issue, so a proposal has to give the address.
var numberForm = regexp.MustCompile(`^[#!][0-9]+\.?$`)

// entry reports labels and evidence that are missing.
func (l *lint) entry(where string, e *Entry) {
	if isTemplate(e.Title) {
		return
	}
	have := map[string]string{}
	for _, label := range e.Labels() {
		have[strings.ToLower(label.Name)] = label.Text
	}
	want := entryLabels[kindDecision]
	_, symptom := have["symptom"]
	if _, cause := have["root cause"]; symptom || cause {
		want = entryLabels[kindFix]
	}
	var missing []string
	for _, label := range want {
		if strings.TrimSpace(have[strings.ToLower(label)]) == "" {
			missing = append(missing, label)
		}
	}
	if len(missing) > 0 {
		l.report(Error, where, "says nothing of %s: add a bullet \"- **%s:** …\" for each", strings.Join(missing, ", "), missing[0])
	}
	evidence := have["evidence"]
	found := evidence == ""
	for word := range strings.FieldsFuncSeq(evidence, func(r rune) bool { return strings.ContainsRune(" \t\n,;()[]<>`", r) }) {
		hash := strings.ToLower(strings.TrimRight(word, "."))
		switch {
		case linkForm.MatchString(word), numberForm.MatchString(word):
			found = true
		case hashForm.MatchString(hash) && l.env.Exists != nil && !l.env.Exists(hash):
			l.report(Error, where, "gives the evidence %s, which is no commit here: name one that is", hash)
			found = true
		case hashForm.MatchString(hash):
			found = true
		}
	}
	if !found {
		l.report(Error, where, "gives no commit and no link to a pull request as evidence: name one")
	}
}
