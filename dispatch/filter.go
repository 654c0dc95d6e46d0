package dispatch

import (
	"fmt"
	"strings"

	"github.com/chinvex/chinvex/project"
)

// filters run in this order over all facts; each counts what it removes.
var filters = [...]struct {
	name string
	keep func(*pass, *Group, *Fact) bool
}{
	{"subtract", (*pass).subtract},
	{"gate", (*pass).gate},
	{"dedup", (*pass).dedup},
	{"frequency", (*pass).frequency},
	{"budget", (*pass).budget},
}

// pass is one event's way through the filters.
type pass struct {
	plan     *Plan
	session  *session
	settings project.DispatchSettings
	lines    int // that may still be shown
	bytes    int // the same
	tokens   int // the same, of the session
	seen     map[string]bool
	shown    map[*Group]int
}

// answerBytes keeps an answer below the size at which the client would show a path
// instead; a note and the headings have room beside it.
const answerBytes = 8_500

// filter removes facts from groups and returns how many each filter removed.
func (p *pass) filter(groups []Group) map[string]int {
	p.seen, p.shown = map[string]bool{}, map[*Group]int{}
	p.bytes, p.tokens = answerBytes, p.settings.SessionTokens-p.session.tokens
	removed := map[string]int{}
	for _, f := range filters {
		for i := range groups {
			g := &groups[i]
			kept := g.Facts[:0]
			for _, fact := range g.Facts {
				if f.keep(p, g, &fact) {
					kept = append(kept, fact)
				} else {
					removed[f.name]++
				}
			}
			g.Facts = kept
		}
	}
	return removed
}

// subtract removes what the tool itself has just shown, and code that the agent has
// read.
func (p *pass) subtract(g *Group, f *Fact) bool {
	switch g.Kind {
	case Search, Find:
		// Who searches for what does not stand there has not read it well enough.
		return !p.plan.Shown[f.Path] && (len(p.plan.Shown) == 0 || !p.session.knows(f, p.settings.FactExpiry))
	case Prompt:
		return !p.session.knows(f, p.settings.FactExpiry)
	}
	return true
}

func (p *pass) gate(_ *Group, f *Fact) bool { return f.Passes }

// dedup removes what this session was told. Files that belong together are left to
// frequency: they are worth a reminder, but not each time.
func (p *pass) dedup(g *Group, f *Fact) bool {
	if p.seen[f.Key] {
		return false
	}
	p.seen[f.Key] = true
	at, told := p.session.shown[f.Key]
	return g.Kind == Related || !told || p.session.prompt-at >= p.settings.FactExpiry
}

func (p *pass) frequency(g *Group, _ *Fact) bool {
	if g.Kind != Related {
		return true
	}
	at, told := p.session.related[fileKey(g.Path)]
	return !told || p.session.prompt-at >= p.settings.RelatedEvery
}

// budget keeps the best facts that fit. A group's first fact pays for its heading and
// its last line.
func (p *pass) budget(g *Group, f *Fact) bool {
	if g.Limit > 0 && p.shown[g] == g.Limit {
		return false // a search always has more; nobody needs to be told
	}
	lines, bytes := 1+strings.Count(f.Text, "\n"), len(f.Text)+3
	if p.shown[g] == 0 {
		lines, bytes = lines+2, bytes+len(g.Heading)+len(g.Call)+20
	}
	if lines > p.lines || bytes > p.bytes || tokens(bytes) > p.tokens {
		g.More++
		return false
	}
	p.lines, p.bytes, p.tokens = p.lines-lines, p.bytes-bytes, p.tokens-tokens(bytes)
	p.shown[g]++
	return true
}

// tokens estimates how many tokens so many bytes cost.
func tokens(bytes int) int { return (bytes + 3) / 4 }

// render prints what is left, nothing when nothing is.
func render(groups []Group) string {
	var b strings.Builder
	for _, g := range groups {
		if len(g.Facts) == 0 {
			continue
		}
		b.WriteString(g.Heading + "\n")
		for _, f := range g.Facts {
			b.WriteString("  " + strings.ReplaceAll(f.Text, "\n", "\n  ") + "\n")
		}
		if g.More > 0 && g.Call != "" {
			fmt.Fprintf(&b, "  %d more: %s\n", g.More, g.Call)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
