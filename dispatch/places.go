package dispatch

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
)

// After a failure: what stands at the places that an error names, and paths near one that
// does not exist.

// places tells which definitions a failing tool's output points into.
func (a *asker) places(ctx context.Context, o Operation) ([]Group, int, error) {
	g := Group{Kind: Places, Heading: "The output points to:"}
	var files []project.Path
	for _, p := range o.Places {
		symbols, err := a.engine.Symbols(p.Path)
		if errors.Is(err, search.ErrNoFile) {
			continue
		}
		if err != nil {
			return nil, len(o.Places), err
		}
		if !slices.Contains(files, p.Path) {
			files = append(files, p.Path)
		}
		best := -1
		for i, s := range symbols {
			if s.Kind != "section" && s.Start <= p.Start && p.Start <= s.End && (best < 0 || s.End-s.Start <= symbols[best].End-symbols[best].Start) {
				best = i
			}
		}
		if best < 0 {
			continue
		}
		s := symbols[best]
		text := fmt.Sprintf("%s:%d in %s (lines %d-%d)", a.name(p.Path), p.Start, qualified(s.Scope, s.Name), s.Start, s.End)
		if s.Signature != "" {
			text += ": " + cut(s.Signature, headBytes)
		}
		if lines := strings.Split(string(a.read(p.Path)), "\n"); p.Start <= len(lines) {
			text += fmt.Sprintf("\n  %d: %s", p.Start, cut(lines[p.Start-1], lineBytes))
		}
		g.Facts = append(g.Facts, Fact{Key: key("place", p.Path.Rel, s.Scope, s.Name, s.Signature), Path: p.Path, Start: s.Start, End: s.End, Text: text, Passes: true})
	}
	groups := []Group{g}
	if len(files) > 0 {
		related, n, err := a.related(ctx, Operation{Path: files[0]})
		if err != nil {
			return groups, n, err
		}
		r := related[0]
		r.Heading = "Files that belong with " + a.name(files[0]) + ":"
		r.More += max(0, len(r.Facts)-placeRelated)
		r.Facts = r.Facts[:min(len(r.Facts), placeRelated)]
		groups = append(groups, r)
	}
	return groups, len(o.Places), nil
}

// nearest finds the indexed paths most like one that does not exist: of the same name
// first, then of the same name but its extension, those in like folders first.
func (a *asker) nearest(o Operation) ([]Group, int) {
	table := a.engine.Reader().Files
	base := strings.ToLower(path.Base(o.Text))
	stem := strings.TrimSuffix(base, path.Ext(base))
	type near struct {
		path  project.Path
		score int
	}
	var found []near
	for i := range table.Len() {
		p := table.At(i).Path
		other := strings.ToLower(path.Base(p.Rel))
		score := 0
		switch {
		case p.Repo != a.repo.Name:
			continue
		case other == base:
			score = 200
		case strings.TrimSuffix(other, path.Ext(other)) == stem:
			score = 100
		default:
			continue
		}
		found = append(found, near{p, score + min(commonFolders(p.Rel, o.Text), 99)})
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].score > found[j].score })
	g := Group{Kind: Nearest, Heading: o.Text + " does not exist; nearest paths:", More: max(0, len(found)-nearestPaths)}
	for _, n := range found[:min(len(found), nearestPaths)] {
		g.Facts = append(g.Facts, Fact{Key: key("nearest", o.Text, n.path.Rel), Path: n.path, Text: n.path.Rel, Passes: true})
	}
	return []Group{g}, len(found)
}

func commonFolders(a, b string) int {
	n := 0
	for _, part := range strings.Split(path.Dir(a), "/") {
		if slices.Contains(strings.Split(path.Dir(b), "/"), part) {
			n++
		}
	}
	return n
}
