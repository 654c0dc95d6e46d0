package rules

import (
	"fmt"
	"path"
	"strings"

	"github.com/chinvex/chinvex/memory"
)

// plan is a specification or plan that has checkboxes.
type plan struct {
	path, title string
	boxes       []box
}

type box struct {
	text          string
	done, blocked bool
}

// plans are what the texts of the inputs say, in their order.
type plans struct {
	all     []plan
	blocked []string
}

var (
	boxForm     = expression(`^(?:[-*+]|\d{1,3}[.)])\s+\[([ xX])\]\s+(\S.*)$`)
	bareBox     = expression(`^\[([ xX])\]\s+(\S.*)$`)
	blockedForm = expression(`(?i)(?:\bblocked (?:by|on|until|because)\b|\bis blocked\b|^blocke(?:d|r)\b\s*[:—–-]|[(\[]blocked\b)`)
	notBlocked  = expression(`(?i)\b(?:not|un|never|no longer|until) ?blocked\b`)
)

// checkbox reads "- [ ] text" or, without its bullet, "[ ] text"; state is ' ' or
// 'x'.
func checkbox(line string) (state byte, text string, ok bool) {
	m := boxForm().FindStringSubmatch(line)
	if m == nil {
		m = bareBox().FindStringSubmatch(line)
	}
	if m == nil {
		return 0, "", false
	}
	if state = m[1][0]; state == 'X' {
		state = 'x'
	}
	return state, m[2], true
}

// isBlocked tells whether an action waits for something: it is a blocker then and no
// next action.
func isBlocked(said string) bool {
	return blockedForm().MatchString(said) && !saysNothing(said) && !notBlocked().MatchString(said)
}

func readPlans(in *memory.Inputs) plans {
	const longest = 160 // runes of an action
	var out plans
	for _, t := range in.Texts {
		p := plan{path: t.Path}
		fence, comment := "", false
		for line := range strings.Lines(t.Text) {
			text := strings.TrimSpace(line)
			if fence != "" {
				if strings.HasPrefix(text, fence) {
					fence = ""
				}
				continue
			}
			if comment = comment || strings.HasPrefix(text, "<!--"); comment {
				comment = !strings.Contains(text, "-->")
				continue
			}
			if strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~") {
				fence = text[:3]
				continue
			}
			if h := atxHeading().FindStringSubmatch(text); h != nil && p.title == "" {
				p.title = shorten(plainText(h[1]), 80)
				continue
			}
			state, said, isBox := checkbox(text)
			said = strings.TrimRight(shorten(plainText(said), longest), " :")
			if isBox && !saysNothing(said) {
				p.boxes = append(p.boxes, box{text: said, done: state == 'x', blocked: isBlocked(said)})
			}
			if isBox && state == ' ' || strings.HasPrefix(strings.ToLower(strings.TrimLeft(text, "-*+ ")), "block") {
				if !isBox {
					said = shorten(plainText(strings.TrimLeft(text, "-*+ ")), longest)
				}
				if isBlocked(said) {
					out.blocked = appendNew(out.blocked, stateLine(fmt.Sprintf("%s (%s)", said, quoted(t.Path))))
				}
			}
		}
		if p.title == "" {
			p.title = oneLine(strings.TrimSuffix(path.Base(t.Path), path.Ext(t.Path)))
			if p.title == "" {
				p.title = "Plan"
			}
		}
		out.all = append(out.all, p)
	}
	return out
}

// mentions tells whether a line of STATE.md names one of the texts as its source.
func (p plans) mentions(line string) bool {
	for _, one := range p.all {
		if strings.Contains(line, "("+quoted(one.path)+")") {
			return true
		}
	}
	return false
}

// active is the work that plans show begun or open, then what STATE.md says.
func (p plans) active(current []string) []string {
	var out []string
	for _, begun := range []bool{true, false} {
		for _, one := range p.all {
			done := 0
			for _, b := range one.boxes {
				if b.done {
					done++
				}
			}
			if done < len(one.boxes) && (done > 0) == begun {
				out = append(out, stateLine(fmt.Sprintf("%s: %d of %d done (%s)", one.title, done, len(one.boxes), quoted(one.path))))
			}
		}
	}
	for _, line := range current {
		if !p.mentions(line) {
			out = appendNew(out, line)
		}
	}
	return first(out, maxActive)
}

// next is what STATE.md says is to be done, with the box checked where the plan
// says that it is, and before it what is open in the plans.
func (p plans) next(current []string) []memory.Action {
	open, done := []memory.Action{}, []memory.Action{}
	states := map[string]bool{}
	for _, begun := range []bool{true, false} {
		for _, one := range p.all {
			some := false
			for _, b := range one.boxes {
				some = some || b.done
			}
			if some != begun {
				continue
			}
			for _, b := range one.boxes {
				if _, seen := states[b.text]; !seen && !b.done && !b.blocked {
					open = append(open, memory.Action{Text: b.text})
				}
				states[b.text] = b.done
			}
		}
	}
	for _, text := range current {
		switch isDone, planned := states[text]; {
		case !planned:
			states[text] = false
			open = append(open, memory.Action{Text: text})
		case isDone:
			done = append(done, memory.Action{Text: text, Done: true})
		}
	}
	all := append(open, done...)
	return all[:min(len(all), maxActions)]
}
