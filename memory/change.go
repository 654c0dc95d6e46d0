package memory

import (
	"strings"
)

// CheckChange holds the contracts between two versions of the files: no file,
// bullet, entry or anchor is lost, no bullet changes but by an edit in place with
// its date or by moving to Superseded with a reason, no entry changes at all. What
// is new is not its business; all problems are of severity Error.
func CheckChange(old, new Files) []Problem {
	c := &change{}
	for _, f := range []struct {
		old, new *Document
		check    func(old, new *Document)
	}{
		{old.State, new.State, c.state}, {old.Constraints, new.Constraints, c.constraints}, {old.Decisions, new.Decisions, c.decisions},
	} {
		switch {
		case f.old == nil:
		case f.new == nil:
			c.report(f.old.Kind, "the file", "is gone: restore it")
		default:
			f.check(f.old, f.new)
		}
	}
	return c.problems
}

type change struct{ problems []Problem }

func (c *change) report(kind Kind, where, what string) {
	c.problems = append(c.problems, Problem{Error, kind.Path(), where, what})
}

func (c *change) state(old, new *Document) {
	if old.Coverage().Anchor != "" && new.Coverage().Anchor == "" {
		c.report(State, "the coverage anchor", "is gone, and history would be read anew: restore the last line")
	}
}

// sameBytes is a bullet but for how its lines end, the empty ones behind it, and
// how far it is indented as a whole.
func sameBytes(raw string) string {
	_, width := marker(raw)
	return strings.TrimRight(outdent(raw, raw[:width]), "\n")
}

func (c *change) constraints(old, new *Document) {
	was, is := bulletsOf(old), bulletsOf(new)
	place := make([]int, len(was)) // of each old bullet in is; -1 for none
	taken := make([]bool, len(is))
	for i := range place {
		place[i] = -1
	}
	match := func(section func(*Section) string) { // bullets that are as they were
		at := map[string][]int{}
		for k, n := range is {
			if !taken[k] {
				name := section(n.section) + "\n" + sameBytes(n.raw)
				at[name] = append(at[name], k)
			}
		}
		for i, o := range was {
			name := section(o.section) + "\n" + sameBytes(o.raw)
			if place[i] < 0 && len(at[name]) > 0 {
				place[i], taken[at[name][0]] = at[name][0], true
				at[name] = at[name][1:]
			}
		}
	}
	match(func(s *Section) string { return plainName(s.Name) })
	match(func(s *Section) string { // moved to another section, but history stays history
		if s.Is(supersededName) {
			return supersededName
		}
		return ""
	})
	for i, o := range was {
		for k := 0; k < len(is) && place[i] < 0; k++ {
			if n := is[k]; !taken[k] && n.section.Is(supersededName) && !o.section.Is(supersededName) && isSuperseded(o, n) {
				place[i], taken[k] = k, true
			}
		}
	}
	inSection := func(o, n *bullet) bool { return plainName(o.section.Name) == plainName(n.section.Name) }
	for i, o := range was {
		if place[i] >= 0 || o.section.Is(supersededName) {
			continue
		}
		// Edited in place: between the neighbours that it had.
		from, to := 0, len(is)
		for k := i - 1; k >= 0 && from == 0; k-- {
			if place[k] >= 0 && was[k].section == o.section && inSection(is[place[k]], o) {
				from = place[k] + 1
			}
		}
		for k := i + 1; k < len(was) && to == len(is); k++ {
			if place[k] >= 0 && was[k].section == o.section && inSection(is[place[k]], o) {
				to = place[k]
			}
		}
		for at := from; at < to; at++ {
			if n := is[at]; !taken[at] && inSection(o, n) && updatedMark.MatchString(n.text) && sameNested(o, n) {
				place[i], taken[at] = at, true
				break
			}
		}
	}
	for i, o := range was {
		if place[i] < 0 {
			c.report(Constraints, o.section.Name+", the bullet \""+shorten(o.text)+"\"",
				"is lost, or changed without a trace: restore it, and edit it in place with (updated YYYY-MM-DD) or move it to Superseded as (Superseded YYYY-MM-DD) … — reason")
		}
	}
}

// isSuperseded tells whether n is o as it stands in Superseded.
func isSuperseded(o, n *bullet) bool {
	mark := supersededMark.FindString(n.text)
	reason, ok := strings.CutPrefix(n.text[len(mark):], o.text)
	reason, dashed := strings.CutPrefix(strings.TrimSpace(reason), "—")
	return mark != "" && ok && dashed && strings.TrimSpace(reason) != "" && sameNested(o, n)
}

// sameNested tells whether the same is nested in two bullets.
func sameNested(o, n *bullet) bool {
	return strings.TrimRight(o.nestedLines(), "\n") == strings.TrimRight(n.nestedLines(), "\n")
}

func (c *change) decisions(old, new *Document) {
	have := map[string]int{}   // pieces, counted
	titled := map[string]int{} // entries by their headings
	each := func(d *Document, entry func(e *Entry, raw string), bullet func(s *Section, b Block, raw string)) {
		for i := range d.Sections {
			s := &d.Sections[i]
			for _, b := range s.Blocks {
				if b.Type == Item && !s.Is(rollup) {
					bullet(s, b, "bullet "+sameBytes(b.Raw))
				}
			}
			for k := range s.Entries {
				e := &s.Entries[k]
				raw := "entry " + toLF(e.Heading)
				for _, b := range e.Blocks {
					raw += toLF(b.Raw)
				}
				entry(e, strings.TrimRight(raw, "\n"))
			}
		}
	}
	each(new, func(e *Entry, raw string) { have[raw]++; titled[toLF(e.Heading)]++ }, func(_ *Section, _ Block, raw string) { have[raw]++ })
	each(old, func(e *Entry, raw string) {
		if have[raw]--; have[raw] < 0 {
			what := "is lost: restore it, entries stay for ever"
			if titled[toLF(e.Heading)] > 0 {
				what = "was changed: restore it, and say what is new in an entry of its own"
			}
			c.report(Decisions, "the entry \""+shorten(oneLine(strings.TrimLeft(e.Heading, "# ")))+"\"", what)
		}
	}, func(s *Section, b Block, raw string) {
		if have[raw]--; have[raw] < 0 {
			c.report(Decisions, s.Name+", the bullet \""+shorten(oneLine(b.Text()))+"\"", "is lost or changed: restore it")
		}
	})
}
