package dispatch

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"sort"
	"strings"

	"github.com/chinvex/chinvex/parse"
	"github.com/chinvex/chinvex/parse/words"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
)

// After a search and after a prompt: what the index knows on the same words, behind the
// gate that keeps chance out.

func (a *asker) search(ctx context.Context, o Operation) ([]Group, int, error) {
	query := search.Query{Text: o.Text, Limit: 4 * searchResults, PerFile: searchPerFile, Under: o.Under, PathGlob: o.Glob, Language: o.Language}
	limit := searchResults
	if o.Kind == Find {
		query.PerFile, limit = 1, findResults
	}
	found, err := a.engine.Search(ctx, query)
	if err != nil {
		return nil, 0, err
	}
	g := Group{Kind: o.Kind, Limit: limit, Heading: fmt.Sprintf("On %q, not in the output of %s:", o.Text, o.Tool), Call: "chinvex search " + quote(o.Text)}
	words := newWordSet(o.Text)
	for _, r := range found.Results {
		g.Facts = append(g.Facts, a.result(o.Kind, r, words, 1))
	}
	return []Group{g}, len(found.Results), nil
}

// result is the fact of a search result: where it is, what it defines and the lines that
// match best.
func (a *asker) result(kind Kind, r search.Result, q *wordSet, preview int) Fact {
	text := fmt.Sprintf("%s:%d-%d", a.name(r.Path), r.Start, r.End)
	head := r.Signature
	if head == "" {
		head = qualified(r.Scope, r.Symbol)
	}
	if head != "" {
		text += " " + cut(head, headBytes)
	}
	passes := a.passes(kind, r, q)
	if passes && kind != Find { // the lines of what is not shown are not looked for
		for _, l := range q.matching(r.Text, preview) {
			line := strings.TrimSpace(l.text)
			if head == "" || !strings.HasPrefix(squeeze(head), squeeze(line)) && !strings.HasPrefix(squeeze(line), squeeze(head)) {
				text += fmt.Sprintf("\n  %d: %s", r.Start+l.at, cut(line, lineBytes))
			}
		}
	}
	f := Fact{Key: r.Hash, Path: r.Path, Start: r.Start, End: r.End, Text: text, Passes: passes}
	if r.Symbol != "" { // the pieces of a long definition are one fact
		f.Key = key("definition", r.Path.Repo, r.Path.Rel, r.Scope, r.Symbol, r.Signature)
	}
	return f
}

// squeeze takes out white space.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// A result must hold as much of the query's words, weighted by rarity, as it lacks; and
// two of three of their parts, so that of three words one may be another. A prompt says
// more than any place answers: half of it. (Measured on ruff: prompts about it cover .4 to
// .8, prompts about nothing in it .14.)
const (
	leastCoverage   = 0.5
	leastHeld       = 0.66
	leastHeldPrompt = 0.5
)

// passes is the gate. A result is relevant when it defines what the query names, when its
// cosine reaches the threshold that the user set for its language, or when it holds most
// of the query's words, rare ones counting for more. What is asked of the words depends
// on who asks: a pattern of grep stands on one line, so most of its words must; a pattern
// of find is about a name, so the path or the definition's name must hold them; those of
// a prompt may stand anywhere. Scores are no measure: the best of nothing has a high one.
func (a *asker) passes(kind Kind, r search.Result, q *wordSet) bool {
	if name := strings.TrimSuffix(strings.TrimSpace(q.query), "()"); r.Symbol != "" && (name == r.Symbol || strings.HasSuffix(name, "."+r.Symbol) || strings.HasSuffix(name, "::"+r.Symbol)) {
		return true
	}
	cosine, set := a.thresholds[strings.ToLower(r.Language)]
	if !set {
		cosine, set = a.thresholds["default"]
	}
	if set && r.Cosine >= cosine {
		return true
	}
	if r.Coverage < leastCoverage || len(q.parts) == 0 {
		return false
	}
	held, least := uint64(0), leastHeld
	switch kind {
	case Find:
		held = q.in(r.Path.Rel) | q.in(r.Symbol)
	case Search:
		for line := range strings.SplitSeq(r.Text, "\n") {
			if h := q.in(line); bits.OnesCount64(h) > bits.OnesCount64(held) {
				held = h
			}
		}
	default:
		held, least = q.in(r.Path.Rel+"\n"+r.Text), leastHeldPrompt
	}
	return float64(bits.OnesCount64(held)) >= least*float64(len(q.parts))
}

// wordSet is a query's words by their parts and stems, which make the engine's
// identifiers comparable: it counts one as held when any of its parts is, which finds
// candidates but proves little.
type wordSet struct {
	query string
	parts map[string]int // bit by stem
}

func newWordSet(query string) *wordSet {
	q := &wordSet{query, map[string]int{}}
	words.Identifiers([]byte(query), func(id []byte, _ int) {
		for _, p := range words.Parts(string(id)) {
			if len(p) < 2 || words.IsStopWord(p) || slices.Contains(keywords, p) || len(q.parts) == 64 {
				continue
			}
			if stem := words.Stem(p); !has(q.parts, stem) {
				q.parts[stem] = len(q.parts)
			}
		}
	})
	return q
}

func has(m map[string]int, k string) bool {
	_, ok := m[k]
	return ok
}

// keywords say what sort of thing is looked for, and every file holds them.
var keywords = []string{
	"async", "class", "const", "def", "enum", "export", "fn", "from", "func", "function", "impl", "import", "interface",
	"let", "mod", "module", "mut", "new", "package", "private", "pub", "public", "return", "self", "static", "struct",
	"this", "trait", "type", "use", "var", "void",
}

// in tells which of the words text holds.
func (q *wordSet) in(text string) (held uint64) {
	words.Identifiers([]byte(text), func(id []byte, _ int) {
		for _, p := range words.Parts(string(id)) {
			if bit, ok := q.parts[words.Stem(p)]; ok {
				held |= 1 << bit
			}
		}
	})
	return held
}

type codeLine struct {
	at   int // lines below the first
	text string
	held int
}

// matching returns the n lines of text that hold most of the query's words, in order.
func (q *wordSet) matching(text string, n int) []codeLine {
	var lines []codeLine
	for i, line := range strings.Split(text, "\n") {
		if held := bits.OnesCount64(q.in(line)); held > 0 {
			lines = append(lines, codeLine{i, line, held})
		}
	}
	sort.SliceStable(lines, func(i, j int) bool { return lines[i].held > lines[j].held })
	lines = lines[:min(len(lines), n)]
	sort.Slice(lines, func(i, j int) bool { return lines[i].at < lines[j].at })
	return lines
}

func (a *asker) prompt(ctx context.Context, o Operation) ([]Group, int, error) {
	bundle, err := a.engine.Context(ctx, search.ContextQuery{Text: o.Text, Budget: max(a.lines, 1), Content: "preview", Files: 2 * promptItems})
	if err != nil {
		return nil, 0, err
	}
	_, names := parse.Mentions(o.Text)
	g := Group{Kind: Prompt, Limit: promptItems, Heading: "Code here that the prompt may be about:", Call: "chinvex context " + quote(firstLine(o.Text))}
	words, matched := newWordSet(o.Text), map[project.Path]bool{}
	for _, item := range bundle.Items {
		if item.Role != "match" {
			continue
		}
		f := a.result(Prompt, item.Result, words, previewLines)
		f.Passes = f.Passes || slices.Contains(names, item.Symbol)
		if f.Passes {
			matched[item.Path] = true
		}
		g.Facts = append(g.Facts, f)
	}
	for _, item := range bundle.Items { // what belongs to a match, when there is one
		if item.Role != "match" && len(matched) > 0 {
			g.Facts = append(g.Facts, Fact{
				Key: key("bundle", item.Path.Repo, item.Path.Rel, item.Reason), Path: item.Path, Text: a.name(item.Path) + ": " + item.Reason,
				Passes: item.Role == "coupled" || item.Role == "test",
			})
		}
	}
	return []Group{g}, len(bundle.Items), nil
}
