package search

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/chinvex/chinvex/project"
)

const (
	defaultLines   = 500
	defaultTokens  = 6000
	defaultFiles   = 20
	previewLines   = 6
	seedResults    = 30
	coupledPerSeed = 3
	coupledSeeds   = 5 // seeds whose coupled files are looked at
	bundleCommits  = 10
)

// Context returns a bundle for a task: what matches it, the files that change together
// with the best matches, files of commits whose subject matches, and the tests of the
// sources among them, under a budget. Whole items, best first; what is left out is
// counted.
func (e *Engine) Context(ctx context.Context, q ContextQuery) (*Bundle, error) {
	switch q.Unit {
	case "":
		q.Unit = "lines"
	case "lines", "tokens":
	default:
		return nil, fmt.Errorf("the unit %q does not exist; use lines or tokens", q.Unit)
	}
	switch q.Content {
	case "":
		q.Content = "full"
	case "full", "preview", "none":
	default:
		return nil, fmt.Errorf("the content %q does not exist; use full, preview or none", q.Content)
	}
	if q.Budget <= 0 {
		q.Budget = defaultLines
		if q.Unit == "tokens" {
			q.Budget = defaultTokens
		}
	}
	if q.Files <= 0 {
		q.Files = defaultFiles
	}
	found, err := e.Search(ctx, Query{Text: q.Text, Limit: seedResults, PerFile: 3})
	if err != nil {
		return nil, err
	}
	b := &Bundle{Query: q.Text, Items: []BundleItem{}, Budget: q.Budget, Unit: q.Unit, Trace: found.Trace}
	clock := newClock(&b.Trace)

	top := 0.0
	var items []BundleItem
	best := map[project.Path]float64{}
	var seeds []project.Path
	for _, r := range found.Results {
		top = max(top, r.Score)
		if _, ok := best[r.Path]; !ok {
			best[r.Path] = r.Score
			seeds = append(seeds, r.Path)
		}
		items = append(items, BundleItem{Result: r, Role: "match", Reason: "matches the query"})
	}
	extras := map[project.Path]*BundleItem{}
	offer := func(p project.Path, score float64, role, reason string) {
		if _, matched := best[p]; matched || score <= 0 {
			return
		}
		if x := extras[p]; x == nil || score > x.Score {
			extras[p] = &BundleItem{Result: Result{Path: p, Score: score}, Role: role, Reason: reason}
		}
	}
	for _, p := range seeds[:min(len(seeds), coupledSeeds)] {
		coupled, total, err := e.reader.Coupling(p, coupledPerSeed*4)
		if err != nil {
			return nil, err
		}
		n := 0
		for _, c := range coupled {
			score := e.couplingScore(c, coupled[0].Count)
			if score < coupledLeast || c.Count < 2 || n == coupledPerSeed {
				continue
			}
			n++
			offer(c.Path, 0.5*score*best[p], "coupled", fmt.Sprintf("changed together with %s in %d of %d commits", p.Rel, c.Count, total))
		}
		b.Trace.Candidates["coupling"] += n
		if _, err := e.testPairs(p, func(t project.Path, score float64, reason string) *RelatedFile {
			role := "test"
			if strings.HasPrefix(reason, "what") {
				role = "source"
			}
			offer(t, 0.5*score*best[p], role, fmt.Sprintf("%s: %s", p.Rel, reason))
			b.Trace.Candidates["tests"]++
			return &RelatedFile{}
		}); err != nil {
			return nil, err
		}
	}
	commits, err := e.matchingCommits(analyse(q.Text), bundleCommits)
	if err != nil {
		return nil, err
	}
	for _, c := range commits {
		if len(c.Paths) > subjectFiles {
			continue
		}
		for _, p := range c.Paths {
			offer(p, 0.4*c.score*top, "commit", fmt.Sprintf("changed in %.8s %q", c.Hash, cut(c.Subject, 80)))
		}
	}
	clock.step("neighbours")
	for _, x := range extras {
		if f, ok := e.reader.Files.Find(x.Path); ok && f.Chunks > 0 {
			chunk := e.reader.Chunks.At(f.FirstChunk)
			x.Start, x.End, x.Language = int(chunk.Start), int(chunk.End), f.Language
			if x.Text, err = e.lines(f.ID, x.Start, x.End); err != nil {
				return nil, err
			}
			x.Hash = hashText(x.Text)
			items = append(items, *x)
		}
	}
	sort.SliceStable(items, func(i, j int) bool {
		if items[i].Score != items[j].Score {
			return items[i].Score > items[j].Score
		}
		if items[i].Path != items[j].Path {
			return items[i].Path.Less(items[j].Path)
		}
		return items[i].Start < items[j].Start
	})
	b.pack(items, q)
	clock.step("pack")
	return b, nil
}

// pack takes whole items, best first, while they fit; a smaller one further down may
// still fit where a large one did not.
func (b *Bundle) pack(items []BundleItem, q ContextQuery) {
	files := map[project.Path]bool{}
	for _, item := range items {
		switch q.Content {
		case "none":
			item.Text = ""
		case "preview":
			item.Text = firstLines(item.Text, previewLines)
		}
		cost := cost(item, q.Unit)
		if b.Used+cost > b.Budget || !files[item.Path] && len(files) == q.Files {
			b.Cut++
			continue
		}
		files[item.Path] = true
		b.Used += cost
		b.Items = append(b.Items, item)
	}
}

// cost counts an item's heading as well: one line, or its bytes.
func cost(item BundleItem, unit string) int {
	if unit == "lines" {
		n := 1
		if item.Text != "" {
			n += strings.Count(item.Text, "\n") + 1
		}
		return n
	}
	return (len(item.Path.Rel) + len(item.Reason) + len(item.Text) + 16 + 3) / 4
}

func firstLines(s string, n int) string {
	for i := range len(s) {
		if s[i] == '\n' {
			if n--; n == 0 {
				return s[:i]
			}
		}
	}
	return s
}
