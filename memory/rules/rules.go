// Package rules is the writer of the project's memory that needs no model: it
// reads commit messages, change logs, manifests and the checkboxes of plans, and
// says what is plainly in them. What it cannot know it leaves out, keeps as it
// is, or calls unknown; a sentence that it writes of a commit is the commit's own.
package rules

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/chinvex/chinvex/memory"
)

// Propose makes a proposal from the inputs alone, by rules. It leaves out what it
// cannot know. The same inputs give the same proposal.
func Propose(in *memory.Inputs) *memory.Proposal {
	m := readManifests(in)
	return &memory.Proposal{
		State:       state(in, m),
		Constraints: constraints(in.Memory.Constraints, m),
		Decisions:   decisions(in),
		Recent:      []string{}, // made from the entries' titles
	}
}

// The most that a proposal holds of each.
const (
	maxActive     = 3
	maxBlockers   = 3
	maxActions    = 5
	maxOutOfScope = 3
	maxDecisions  = 8
	maxFixes      = 3 // of the decisions
	maxUntold     = 3 // of them, features for which no reason is told
)

// state keeps what STATE.md says but for what the plans and the manifests know
// better.
func state(in *memory.Inputs, m *manifests) memory.StateProposal {
	doc := memory.Parse(memory.State, []byte(in.Memory.State))
	plans := readPlans(in)
	s := memory.StateProposal{
		Objective:  memory.Unknown,
		Active:     plans.active(items(doc, "Active Work")),
		Blockers:   blockers(in, plans, doc),
		Next:       plans.next(actions(doc)),
		Quick:      m.quick(quickReference(doc)),
		OutOfScope: first(items(doc, "Out of Scope"), maxOutOfScope),
	}
	if said := items(doc, "Current Objective"); len(said) > 0 {
		s.Objective = said[0]
	}
	if len(s.Active) == 0 {
		s.Active = []string{memory.Unknown}
	}
	return s
}

// items returns what a section says: its bullets, or its paragraphs where it has
// none, each on one line, without those that say nothing.
func items(doc *memory.Document, section string) []string {
	said := []string{}
	s := doc.Section(section)
	if s == nil {
		return said
	}
	for _, t := range []memory.BlockType{memory.Item, memory.Paragraph} {
		for _, b := range s.Blocks {
			if text := oneLine(b.Text()); b.Type == t && !saysNothing(text) {
				said = append(said, stateLine(text))
			}
		}
		if len(said) > 0 {
			break
		}
	}
	return said
}

// saysNothing tells whether a text is what stands where nobody knows, or what a
// template has for a person to replace.
func saysNothing(text string) bool {
	switch strings.ToLower(strings.Trim(text, " .*_`()[]")) {
	case "", "none", "none yet", "none known", "n/a", "tbd", "todo", "-", "—", "unknown", "nothing", "nothing yet", "unknown (needs human", "needs human":
		return true
	}
	lower := strings.ToLower(text)
	_, value, _ := strings.Cut(text, ":")
	value = strings.Trim(value, " `")
	return strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") ||
		strings.HasPrefix(value, "<") && strings.HasSuffix(value, ">") ||
		strings.HasPrefix(lower, "no ") && strings.HasSuffix(lower, " yet") ||
		strings.Contains(text, "YYYY-MM-DD")
}

// stateLine makes a text short enough for STATE.md.
func stateLine(text string) string {
	return strings.TrimRight(shorten(text, memory.MaxLine), " :")
}

// actions returns the open boxes of Next Actions.
func actions(doc *memory.Document) []string {
	open := []string{}
	for _, item := range items(doc, "Next Actions") {
		box, text, ok := checkbox(item)
		if !ok {
			box, text = ' ', item
		}
		if box == ' ' && !saysNothing(text) {
			open = append(open, text)
		}
	}
	return open
}

// quickReference reads the labelled bullets of the Quick Reference.
func quickReference(doc *memory.Document) memory.Quick {
	var q memory.Quick
	for _, item := range items(doc, "Quick Reference") {
		label, text, ok := strings.Cut(item, ":")
		text = strings.TrimSpace(strings.TrimLeft(text, "* "))
		if !ok || saysNothing(text) || saysNothing(item) {
			continue
		}
		if inner, ok := strings.CutPrefix(text, "`"); ok {
			if inner, ok := strings.CutSuffix(inner, "`"); ok && !strings.Contains(inner, "`") {
				text = inner
			}
		}
		switch strings.ToLower(strings.Trim(label, "* ")) {
		case "run":
			q.Run = text
		case "test":
			q.Test = text
		case "entry", "entry point":
			q.Entry = text
		}
	}
	return q
}

// blockers are what the plans call blocked and what STATE.md says already. Where there
// is neither a plan nor a STATE.md, nobody knows.
func blockers(in *memory.Inputs, p plans, doc *memory.Document) []string {
	var all []string
	for _, b := range p.blocked {
		all = appendNew(all, b)
	}
	for _, b := range items(doc, "Blockers") {
		// What came from a plan that was read again is in blocked, or over.
		if !p.mentions(b) {
			all = appendNew(all, b)
		}
	}
	unknown := len(p.all) == 0 && doc.Section("Blockers") == nil
	unfinished := len(in.Commits) > 0 && unfinishedForm().MatchString(in.Commits[0].Subject)
	if len(all) == 0 && (unknown || unfinished) {
		all = append(all, memory.NeedsTriage)
	}
	if all == nil {
		return []string{}
	}
	return first(all, maxBlockers)
}

// appendNew appends a text that is not there yet.
func appendNew(list []string, text string) []string {
	if slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, text) }) {
		return list
	}
	return append(list, text)
}

func first(list []string, n int) []string { return list[:min(len(list), n)] }

// oneLine is a text with all space as single blanks and without what nobody sees;
// it cannot start a comment, which could be taken for the coverage anchor.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsSpace(r) && unicode.In(r, unicode.Cc, unicode.Cf) && r != '\u200d' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "<!--", "<! --")
}

// quoted is a path as code, cut where it is too long to be read.
func quoted(path string) string {
	return "`" + shorten(strings.ReplaceAll(oneLine(path), "`", "'"), 150) + "`"
}

// shorten cuts a text between two words so that it has at most n runes.
func shorten(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	s = string(runes[:n-2])
	if i := strings.LastIndexByte(s, ' '); i > len(s)/2 {
		s = s[:i]
	}
	s = strings.TrimRight(s, " ,;:-")
	if strings.Count(s, "`")%2 == 1 {
		s += "`"
	}
	return s + "…"
}

// newestFirst orders by time, then by place in the inputs.
func newestFirst(a, b candidate) int {
	return cmp.Or(b.commit.Time.Compare(a.commit.Time), cmp.Compare(a.place, b.place))
}
