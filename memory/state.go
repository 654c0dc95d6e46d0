package memory

import (
	"fmt"
	"slices"
	"strings"
)

// maxStateLines is the longest that STATE.md may be. With a line an item, what
// drawState makes has 41 at most.
const maxStateLines = 45

// The most items of STATE.md's sections.
const (
	maxActive     = 3
	maxBlockers   = 3
	maxActions    = 5
	maxOutOfScope = 3
)

const stateNote = "<!-- Written anew by each `chinvex update-memory`: edits by hand may be lost. What must stay belongs in CONSTRAINTS.md. -->\n"

// none stands in a section that has nothing to say.
const none = "None"

// drawState makes STATE.md, whatever it was, so that a wrong state does not live
// on. A file of this name that is not ours is not overwritten.
func (d *draft) drawState(old *Document, p StateProposal) *Document {
	if !isEmpty(old) && known(old) != nil && old.Coverage().Anchor == "" {
		d.refuse(State, "the file", "is something else, it has no section of ours: move it away")
	}
	var out strings.Builder
	out.WriteString(stateNote + "\n# State\n")
	section := func(title string, lines ...string) {
		out.WriteString("\n## " + title + "\n" + strings.Join(lines, "\n") + "\n")
	}
	objective := d.line(State, "state.objective", p.Objective, MaxLine)
	if objective != "" && Parse(State, []byte(objective)).Sections[0].Blocks[0].Type != Paragraph { // a line of the footer
		d.refuse(State, "state.objective", "reads as something else than prose, %q: say it in plain words", objective)
	}
	section("Current Objective", objective)

	active := d.list("state.active", p.Active, maxActive)
	if len(active) == 0 {
		d.refuse(State, "state.active", "is empty: name what is being worked on, or say %q", Unknown)
	}
	section("Active Work", active...)

	blockers := slices.DeleteFunc(slices.Clone(p.Blockers), isNone)
	if blockers = d.list("state.blockers", blockers, maxBlockers); len(blockers) == 0 {
		blockers = []string{none}
	}
	section("Blockers", blockers...)

	var next []string
	if len(p.Next) > maxActions {
		d.refuse(State, "state.next", "has %d actions: name the %d that come first", len(p.Next), maxActions)
	}
	for i, action := range p.Next {
		box, text := "- [ ] ", action.Text
		if action.Done {
			box = "- [x] "
		}
		for _, typed := range []string{"[ ]", "[x]", "[X]"} {
			text = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(text), "- "), typed)
		}
		next = appendNew(next, box+d.line(State, fmt.Sprintf("state.next[%d].text", i), text, MaxLine))
	}
	if len(next) == 0 {
		next = []string{Unknown}
	}
	section("Next Actions", next...)

	var quick []string
	for _, q := range []struct{ label, where, text string }{
		{"Run", "state.quick.run", p.Quick.Run},
		{"Test", "state.quick.test", p.Quick.Test},
		{"Entry point", "state.quick.entry", p.Quick.Entry},
	} {
		if text := asCode(q.text); text != "" && text != Unknown && !isNone(text) {
			quick = append(quick, "- "+d.line(State, q.where, q.label+": "+text, len(q.label)+2+MaxLine))
		}
	}
	if len(quick) == 0 {
		quick = []string{Unknown}
	}
	section("Quick Reference", quick...)

	later := slices.DeleteFunc(slices.Clone(p.OutOfScope), isNone)
	if later = d.list("state.out_of_scope", later, maxOutOfScope); len(later) == 0 {
		later = []string{none}
	}
	section("Out of Scope (for now)", later...)

	to := strings.ToLower(d.env.To)
	fmt.Fprintf(&out, "\n---\n%s %s\n%s %s\n", footerDate, d.env.day().Format("2006-01-02"), footerHash, to[:min(7, len(to))])
	if len(d.env.Review) > 0 {
		fmt.Fprintf(&out, "%s %s\n", footerReview, clean(strings.Join(d.env.Review, "; ")))
	}
	fmt.Fprintf(&out, "\n<!-- chinvex:last-commit:%s -->\n", to)

	text := out.String()
	if old != nil {
		text = strings.ReplaceAll(text, "\n", lineEnd(string(old.Bytes())))
	}
	made := Parse(State, []byte(text))
	if len(d.problems) == 0 && (strings.Count(text, "\n") > maxStateLines || made.Coverage().Anchor != to || len(made.Sections) != 2+len(stateSections)) {
		d.refuse(State, "state", "cannot be written: say it in plain words")
	}
	return made
}

// list returns bullets of a section, duplicates merged.
func (d *draft) list(where string, texts []string, most int) []string {
	if len(texts) > most {
		d.refuse(State, where, "has %d items: name the %d that matter most", len(texts), most)
	}
	var items []string
	for i, text := range texts {
		items = appendNew(items, "- "+d.line(State, fmt.Sprintf("%s[%d]", where, i), text, MaxLine))
	}
	return items
}

// appendNew appends a text that nothing in the list says already.
func appendNew(list []string, text string) []string {
	if slices.ContainsFunc(list, func(s string) bool { return key(s) == key(text) }) {
		return list
	}
	return append(list, text)
}

// asCode puts a command or path in backquotes, unless it is prose that has some.
func asCode(text string) string {
	text = oneLine(text)
	if text == "" || text == Unknown || strings.Contains(text, "`") {
		return text
	}
	return "`" + text + "`"
}
