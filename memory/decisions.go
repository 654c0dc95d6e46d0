package memory

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const decisionsTemplate = "<!-- Append only: `chinvex update-memory` adds entries and changes none that is there; it rewrites Recent. -->\n\n# Decisions\n"

// The roll-up on top of DECISIONS.md.
const (
	rollupTitle   = rollup + " (last 30 days)"
	rollupDays    = 30
	minRollup     = 5 // unless there are fewer entries
	maxRollup     = 10
	nothingRecent = "Nothing in the last 30 days."
)

const maxEvidence = 10

// The kinds of entries and their labels, in the order in which they are written.
const (
	kindDecision = "decision"
	kindFix      = "fix"
)

var entryLabels = map[string][]string{
	kindDecision: {"Why", "Impact", "Evidence"},
	kindFix:      {"Symptom", "Root cause", "Fix", "Prevention", "Evidence"},
}

var (
	hashForm = regexp.MustCompile(`^[0-9a-f]{7,64}$`)
	linkForm = regexp.MustCompile(`^https?://[^\s<>` + "`" + `]+/(?:pull|pulls|merge_requests|pull-requests|pullrequest)/[0-9]+(?:[/?#][^\s<>` + "`" + `]*)?$`)
)

// newEntry is an entry to be written.
type newEntry struct {
	date   time.Time
	title  string
	labels []Label
}

// drawDecisions adds entries to their months, newest first, and rewrites the
// roll-up; every other byte stays.
func (d *draft) drawDecisions(old *Document, proposed []Decision, recent []string) *Document {
	if isEmpty(old) {
		old = Parse(Decisions, []byte(decisionsTemplate))
	}
	before := len(d.problems)
	var entries []newEntry
	for i, p := range proposed {
		where := fmt.Sprintf("decisions[%d]", i)
		e, ok := d.entry(where, p)
		if !ok {
			continue
		}
		said, same := sameTitle(old, entries, e)
		switch {
		case said && !same:
			d.refuse(Decisions, where+".title", "is that of another entry of %s: entries never change, so leave this one out or name what is new in it", p.Date)
		case !said:
			entries = append(entries, e)
		}
	}
	slices.SortStableFunc(entries, func(a, b newEntry) int { return b.date.Compare(a.date) })
	longer := addEntries(old, entries)
	bullets := d.rollup(longer, recent)
	if len(d.problems) > before {
		return old
	}
	made, gone := rewriteRollup(longer, bullets)
	for _, e := range entries {
		if said, same := sameTitle(made, nil, e); !said || !same {
			d.refuse(Decisions, "the file", "cannot take the entry %q: a comment or a block of code before it never ends; end it", e.title)
		}
	}
	if s := made.Section(rollup); s == nil {
		d.refuse(Decisions, "the file", "cannot take the section %q: a comment or a block of code before it never ends; end it", rollupTitle)
	}
	d.holdRest(old, longer, nil)
	d.holdRest(longer, made, gone)
	return made
}

// entry returns what an entry will say; not ok with the reasons why it cannot be
// written.
func (d *draft) entry(where string, p Decision) (e newEntry, ok bool) {
	before := len(d.problems)
	date, err := time.Parse(time.DateOnly, strings.TrimSpace(p.Date))
	switch {
	case err != nil:
		d.refuse(Decisions, where+".date", "is %q: give a day that exists as YYYY-MM-DD", oneLine(p.Date))
	case date.After(d.env.day()):
		d.refuse(Decisions, where+".date", "is %s, which is to come: give the day of the commit", p.Date)
	}
	e.date = date
	if e.title = d.line(Decisions, where+".title", strings.TrimLeft(p.Title, " \t—–-:"), MaxTitle); e.title != "" {
		doc := Parse(Decisions, []byte(e.heading()))
		if got := doc.Sections[0].Entries; len(doc.Sections) != 1 || len(got) != 1 || got[0].Title != e.title {
			d.refuse(Decisions, where+".title", "cannot be written as a heading, %q: say it in plain words", e.title)
		}
	}
	labels, known := entryLabels[p.Kind]
	if !known {
		d.refuse(Decisions, where+".kind", "is %q: say decision or fix", oneLine(p.Kind))
		return e, false
	}
	for _, f := range []struct{ label, field, text string }{
		{"Why", "why", p.Why}, {"Impact", "impact", p.Impact}, {"Symptom", "symptom", p.Symptom},
		{"Root cause", "root_cause", p.RootCause}, {"Fix", "fix", p.Fix}, {"Prevention", "prevention", p.Prevention},
	} {
		field := where + "." + f.field
		switch {
		case slices.Contains(labels, f.label):
			e.labels = append(e.labels, Label{f.label, d.line(Decisions, field, f.text, MaxText)})
		case oneLine(f.text) != "":
			d.refuse(Decisions, field, "does not belong to a %s: leave it empty", p.Kind)
		}
	}
	var evidence []string
	for i, text := range p.Evidence {
		if written := d.evidence(fmt.Sprintf("%s.evidence[%d]", where, i), text); written != "" {
			evidence = appendNew(evidence, written)
		}
	}
	switch {
	case len(p.Evidence) == 0:
		d.refuse(Decisions, where+".evidence", "is empty: name the commit, of 7 digits at least, or link the pull request")
	case len(p.Evidence) > maxEvidence:
		d.refuse(Decisions, where+".evidence", "has %d items: name the %d that matter most", len(p.Evidence), maxEvidence)
	}
	e.labels = append(e.labels, Label{"Evidence", strings.Join(evidence, ", ")})
	return e, len(d.problems) == before
}

// evidence returns a commit or link as it is written, or "" with the reason why it
// is none.
func (d *draft) evidence(where, text string) string {
	text = strings.Trim(oneLine(text), "` ")
	switch hash := strings.ToLower(text); {
	case linkForm.MatchString(text):
		return text
	case !hashForm.MatchString(hash):
		d.refuse(Decisions, where, "is %q: name a commit, of 7 digits at least, or link a pull request", shorten(text))
	case d.env.Exists != nil && !d.env.Exists(hash):
		d.refuse(Decisions, where, "is %q, which is no commit of this repository: name one that is", hash)
	default:
		return hash[:min(len(hash), 12)]
	}
	return ""
}

func (e newEntry) heading() string {
	return "### " + e.date.Format(time.DateOnly) + " — " + e.title + "\n"
}

func (e newEntry) text() string {
	text := e.heading() + "\n"
	for _, l := range e.labels {
		text += "- **" + l.Name + ":** " + l.Text + "\n"
	}
	return text
}

// sameTitle tells whether there is an entry of the same day and title, and whether
// it says the same.
func sameTitle(old *Document, entries []newEntry, e newEntry) (said, same bool) {
	equal := func(a, b []Label) bool {
		return slices.EqualFunc(a, b, func(a, b Label) bool { return strings.EqualFold(a.Name, b.Name) && key(a.Text) == key(b.Text) })
	}
	for _, s := range old.Sections {
		for _, o := range s.Entries {
			if o.Date.Equal(e.date) && key(o.Title) == key(e.title) {
				said, same = true, same || equal(o.Labels(), e.labels)
			}
		}
	}
	for _, o := range entries {
		if o.date.Equal(e.date) && key(o.title) == key(e.title) {
			said, same = true, same || equal(o.labels, e.labels)
		}
	}
	return said, same
}

// rollup returns the bullets of the roll-up: those that a writer gave, or the
// titles of the last days.
func (d *draft) rollup(doc *Document, recent []string) []string {
	var all []Entry
	today := d.env.day()
	for _, s := range doc.Sections {
		for _, e := range s.Entries {
			if e.Title != "" && !isTemplate(e.Title) && !e.Date.After(today) && !e.Date.Before(today.AddDate(0, 0, -rollupDays)) {
				all = append(all, e)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return b.Date.Compare(a.Date) })

	var bullets []string
	for i, text := range recent {
		bullets = appendNew(bullets, d.line(Decisions, fmt.Sprintf("recent[%d]", i), text, MaxLine))
	}
	switch least := min(minRollup, len(all)); {
	case len(recent) == 0 && len(all) == 0:
		return []string{nothingRecent}
	case len(recent) == 0:
		for _, e := range all[:min(len(all), maxRollup)] {
			title := oneLine(e.Title)
			if utf8.RuneCountInString(title) > MaxTitle {
				title = shorten(title)
			}
			bullets = appendNew(bullets, e.Date.Format(time.DateOnly)+" — "+escapeComments(title))
		}
	case len(all) == 0:
		d.refuse(Decisions, "recent", "has bullets, but no entry is of the last %d days: leave it empty", rollupDays)
	case len(recent) > maxRollup:
		d.refuse(Decisions, "recent", "has %d bullets: name the %d that matter most", len(recent), maxRollup)
	case len(bullets) < least:
		d.refuse(Decisions, "recent", "has %d bullets for %d entries of the last %d days: give %d to %d, or none", len(bullets), len(all), rollupDays, least, maxRollup)
	}
	return bullets
}

// rewriteRollup makes the file with another roll-up, and tells which blocks of the
// old one gave way: none when it says the same already.
func rewriteRollup(old *Document, bullets []string) (made *Document, gone map[*Block]bool) {
	var edits splicing
	text := "- " + strings.Join(bullets, "\n- ") + "\n"
	write := func() *Document { return Parse(Decisions, []byte(edits.apply(string(old.Bytes())))) }
	section := old.Section(rollup)
	if section == nil {
		edits.insert(placeRollup(old), "## "+rollupTitle+"\n"+text, true)
		return write(), nil
	}
	var says []string
	from, to := -1, -1
	for i, b := range section.Blocks {
		if b.Type == Item || b.Type == Paragraph {
			says = append(says, b.Text())
			if from < 0 {
				from = i
			}
			to = i
		}
	}
	if slices.Equal(says, bullets) {
		return old, nil
	}
	if from < 0 {
		at, _, apart := placeAtEnd(old, section)
		edits.insert(at, text, apart)
		return write(), nil
	}
	gone = map[*Block]bool{}
	i := 0
	old.walk(func(at int, s *Section, e *Entry, b *Block) {
		if s != section || e != nil || b == nil {
			return
		}
		if b.Type == Item || b.Type == Paragraph || b.Type == Blank && from < i && i < to {
			gone[b] = true
			edits.remove(at, b.Raw)
		}
		if i == from {
			edits.insert(at+len(b.Raw), text, false)
		}
		i++
	})
	return write(), gone
}

// placeRollup returns where the roll-up goes: before the first section that is not
// the title, or at the end.
func placeRollup(old *Document) int {
	for i := range old.Sections {
		if old.Sections[i].Level == 2 {
			start, _ := old.extent(&old.Sections[i])
			return start
		}
	}
	return len(old.Bytes())
}

const monthLayout = "2006-01"

// addEntries makes the file with entries, which come newest first, in their months.
func addEntries(old *Document, entries []newEntry) *Document {
	var edits splicing
	for len(entries) > 0 {
		month := entries[0].date.Format(monthLayout)
		n := 0
		for n < len(entries) && entries[n].date.Format(monthLayout) == month {
			n++
		}
		text := "## " + month + "\n"
		section := old.Section(month)
		for _, e := range entries[:n] {
			text += "\n" + e.text()
			if section != nil {
				edits.insert(placeEntry(old, section, e.date), e.text(), true)
			}
		}
		if section == nil {
			edits.insert(placeMonth(old, month), text, true)
		}
		entries = entries[n:]
	}
	return Parse(Decisions, []byte(edits.apply(string(old.Bytes()))))
}

// placeEntry returns where an entry goes in its month: before the first that is not
// newer, or at the end.
func placeEntry(old *Document, section *Section, date time.Time) int {
	_, place := old.extent(section)
	found := false
	old.walk(func(at int, s *Section, e *Entry, b *Block) {
		if s == section && e != nil && b == nil && !found && !e.Date.IsZero() && !e.Date.After(date) {
			place, found = at, true
		}
	})
	return place
}

// placeMonth returns where the section of a month goes: before the first month that
// is older, or behind the others, or behind the roll-up.
func placeMonth(old *Document, month string) int {
	place := placeRollup(old)
	for i := range old.Sections {
		s := &old.Sections[i]
		if s.Is(rollup) {
			_, place = old.extent(s)
		}
	}
	for i := range old.Sections {
		s := &old.Sections[i]
		name := plainName(s.Name)
		if _, err := time.Parse(monthLayout, name); err != nil || s.Level == 0 {
			continue
		}
		start, end := old.extent(s)
		if name < month {
			return start
		}
		place = end
	}
	return place
}
