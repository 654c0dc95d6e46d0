package dispatch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/chinvex/chinvex/claude"
	"github.com/chinvex/chinvex/parse"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
	"github.com/chinvex/chinvex/search/index"
)

// After an edit: who uses what it touched, and the files that belong with the file.

func (a *asker) related(ctx context.Context, o Operation) ([]Group, int, error) {
	found, err := a.engine.Related(ctx, search.RelatedQuery{Path: o.Path, Limit: 3 * relatedFiles})
	if err != nil {
		return nil, 0, err
	}
	g := Group{Kind: Related, Path: o.Path, Heading: a.name(o.Path) + " was edited; files that belong with it:", Call: "chinvex related " + quote(o.Path.Rel)}
	g.More = max(0, len(found.Files)-relatedFiles)
	for _, f := range found.Files[:min(len(found.Files), relatedFiles)] {
		place := a.name(f.Path)
		if f.Start > 0 {
			place += ":" + strconv.Itoa(f.Start)
		}
		if f.Symbol != "" {
			place += " " + f.Symbol
		}
		reasons := f.Reasons[:min(len(f.Reasons), 2)]
		g.Facts = append(g.Facts, Fact{
			Key: key("related", o.Path.Rel, f.Path.Repo, f.Path.Rel), Path: f.Path,
			Passes: !slices.Equal(reasons, []string{search.SameFolder}), // a listing tells as much
			Text:   place + ": " + strings.Join(reasons, "; "),
		})
	}
	return []Group{g}, len(found.Files), nil
}

// touched is a symbol of the index that an edit changed.
type touched struct {
	search.Definition
	removed bool // its name is no longer there
	files   int  // that use it
}

func (a *asker) changed(ctx context.Context, o Operation) ([]Group, int, error) {
	symbols, err := a.engine.Symbols(o.Path)
	if errors.Is(err, search.ErrNoFile) {
		return nil, 0, nil // a new file: nobody uses it yet
	}
	if err != nil {
		return nil, 0, err
	}
	hit := append(touchedBy(symbols, o.Edit), goneFrom(symbols, o.Path, o.Edit.Hunks)...)
	for i := range hit {
		if hit[i].files, err = a.engine.Uses(hit[i].Name); err != nil {
			return nil, 0, err
		}
	}
	sort.SliceStable(hit, func(i, j int) bool {
		if hit[i].removed != hit[j].removed {
			return hit[i].removed
		}
		return hit[i].files > hit[j].files
	})
	var groups []Group
	for _, s := range hit {
		if len(groups) == changedSymbols {
			break
		}
		if s.files == 0 || s.files > commonName {
			continue
		}
		if s.Line == 0 { // not in the index: a definition elsewhere takes the uses
			if elsewhere, err := a.definedElsewhere(s.Name, o.Path); err != nil || elsewhere {
				continue
			}
		}
		query := search.RefsQuery{Name: s.Name, File: o.Path, Limit: changedUses, Exclude: []search.LineRange{{Path: o.Path, Start: s.Start, End: s.End}}}
		if s.removed { // the file's own uses are read from the disk: the edit may have changed them
			query.Exclude[0] = search.LineRange{Path: o.Path}
		}
		found, err := a.refs(ctx, query, s.removed)
		if err != nil {
			return groups, len(hit), err
		}
		g := Group{Kind: Changed, Path: o.Path, Call: "chinvex refs " + quote(s.Name), More: found.Total - len(found.References)}
		g.Heading = qualified(s.Scope, s.Name) + " in " + a.name(o.Path) + " was edited; it is used at:"
		if s.removed {
			g.Heading = qualified(s.Scope, s.Name) + " is no longer defined in " + a.name(o.Path) + "; the name is still used at:"
			g.Facts = a.left(o.Path, s.Name)
		}
		for _, r := range found.References {
			line := r.Line
			if r.Path == o.Path {
				line = after(o.Edit.Hunks, line)
			}
			text := fmt.Sprintf("%s:%d", a.name(r.Path), line)
			if r.In != "" {
				text += " in " + r.In
			}
			g.Facts = append(g.Facts, Fact{
				Key: key("refs", s.Name, strconv.FormatBool(s.removed), r.Path.Repo, r.Path.Rel, r.In, r.Text), Path: r.Path, Start: r.Line, End: r.Line, Passes: true,
				Text: text + ": " + cut(r.Text, lineBytes),
			})
		}
		if len(g.Facts) > 0 {
			groups = append(groups, g)
		}
	}
	return groups, len(hit), nil
}

// left finds the lines of an edited file that still hold a name.
func (a *asker) left(file project.Path, name string) []Fact {
	const most = 3
	var facts []Fact
	for i, line := range strings.Split(string(a.read(file)), "\n") {
		if len(facts) < most && holdsWord(line, name) {
			text := cut(line, lineBytes)
			facts = append(facts, Fact{
				Key: key("left", file.Rel, name, text), Path: file, Start: i + 1, End: i + 1, Passes: true,
				Text: fmt.Sprintf("%s:%d: %s", a.name(file), i+1, text),
			})
		}
	}
	return facts
}

// read returns a file's text as it is on disk, nothing when it is large or gone.
func (a *asker) read(file project.Path) []byte {
	const most = 4 << 20
	name := a.repo.Abs(file)
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return nil
	}
	text, _ := os.ReadFile(name)
	return text
}

// refs asks for uses of a file's symbol and keeps the likely ones. That a name has no
// definition makes all its uses likely when the edit removed it.
func (a *asker) refs(ctx context.Context, q search.RefsQuery, removed bool) (*search.References, error) {
	limit := q.Limit
	q.Limit *= 2 // some are left out below
	found, err := a.engine.Refs(ctx, q)
	if err != nil {
		return nil, err
	}
	n := len(found.References)
	found.References = slices.DeleteFunc(found.References, func(r search.Reference) bool {
		if len(found.Definitions) == 0 {
			return !removed
		}
		return r.Likelihood < leastLikely
	})
	if len(found.References) < n { // the best come first, so the rest is no likelier
		found.Total = len(found.References)
	}
	// Where a file uses a name, its import says nothing more.
	used := map[project.Path]bool{}
	for _, r := range found.References {
		used[r.Path] = used[r.Path] || r.Kind != "import"
	}
	n = len(found.References)
	found.References = slices.DeleteFunc(found.References, func(r search.Reference) bool { return r.Kind == "import" && used[r.Path] })
	found.Total -= n - len(found.References)
	found.References = found.References[:min(len(found.References), limit)]
	return found, nil
}

func (a *asker) definedElsewhere(name string, file project.Path) (bool, error) {
	const most = 50
	reader := a.engine.Reader()
	symbols, err := reader.SymbolsNamed(name, false, most)
	return slices.ContainsFunc(symbols, func(s index.Symbol) bool {
		row, live := reader.Files.Row(s.File)
		return live && s.Kind != "section" && reader.Files.At(row).Path != file
	}), err
}

// touchedBy returns the innermost symbols whose lines an edit changed.
func touchedBy(symbols []search.Definition, edit *claude.Edit) []touched {
	before, known := edit.Original()
	spans, insertions := oldLines(edit.Hunks)
	var gone []string
	for _, h := range edit.Hunks {
		gone = append(gone, parse.ChangedIdentifiers(h.Old(), h.New())...)
	}
	if edit.Hunks == nil && known { // a notebook, or a client that sends no patch
		for _, r := range edit.Replacements {
			for _, l := range parse.LocateEdit(before, r.Old, "", r.ReplaceAll) {
				spans = append(spans, claude.Lines{Start: l.Start, End: l.Start + strings.Count(r.Old, "\n")})
			}
			gone = append(gone, parse.ChangedIdentifiers(r.Old, r.New)...)
		}
	}
	var lines []string
	if known {
		lines = strings.Split(before, "\n")
	}
	holds := func(s search.Definition, line int, inside bool) bool {
		return s.Start <= line && line <= s.End && (!inside || s.Start < line)
	}
	inner := map[int]bool{}
	mark := func(line int, inside bool) {
		best := -1
		for i, s := range symbols {
			if s.Kind == "section" || !holds(s, line, inside) {
				continue
			}
			if best < 0 || s.End-s.Start <= symbols[best].End-symbols[best].Start {
				best = i
			}
		}
		if best >= 0 {
			inner[best] = true
		}
	}
	for _, l := range spans {
		for line := l.Start; line <= l.End && line-l.Start < 10_000; line++ {
			mark(line, false)
		}
	}
	for _, line := range insertions {
		mark(line, true)
	}
	var hit []touched
	for i, s := range symbols {
		// An index that has not seen an earlier edit has other lines than the file had:
		// then the name is not where it should be, and nothing can be said.
		if !inner[i] || lines != nil && (s.Line > len(lines) || !holdsWord(lines[s.Line-1], s.Name)) {
			continue
		}
		renamed := slices.Contains(gone, s.Name) && slices.ContainsFunc(spans, func(l claude.Lines) bool { return l.Start <= s.Line && s.Line <= l.End })
		hit = append(hit, touched{Definition: s, removed: renamed})
	}
	return hit
}

// goneFrom returns the definitions that hunks removed and that the index does not know
// any more: a refresh that an earlier edit started may read the file after this one.
func goneFrom(symbols []search.Definition, file project.Path, hunks []claude.Hunk) []touched {
	var gone []touched
	for _, h := range hunks {
		old := strings.Fields(h.Old())
		for _, name := range parse.ChangedIdentifiers(h.Old(), h.New()) {
			defined := false
			for i := 1; i < len(old) && !defined; i++ {
				defined = slices.Contains(keywords, old[i-1]) && strings.HasPrefix(old[i], name) && holdsWord(old[i], name)
			}
			if defined && !slices.ContainsFunc(symbols, func(s search.Definition) bool { return s.Name == name }) {
				gone = append(gone, touched{Definition: search.Definition{Path: file, Name: name}, removed: true})
			}
		}
	}
	return gone
}

// oldLines returns the lines that hunks removed or replaced, as numbered before the
// edit, and the lines before which they only inserted.
func oldLines(hunks []claude.Hunk) (removed []claude.Lines, insertions []int) {
	for _, h := range hunks {
		line := max(h.OldStart, 1)
		for i := 0; i < len(h.Lines); {
			start := line
			added := false
			for ; i < len(h.Lines) && h.Lines[i] != "" && (h.Lines[i][0] == '-' || h.Lines[i][0] == '+'); i++ {
				if h.Lines[i][0] == '-' {
					line++
				} else {
					added = true
				}
			}
			switch {
			case line > start:
				removed = append(removed, claude.Lines{Start: start, End: line - 1})
			case added:
				insertions = append(insertions, line)
			}
			if i < len(h.Lines) {
				if h.Lines[i] == "" || h.Lines[i][0] != '\\' {
					line++
				}
				i++
			}
		}
	}
	return removed, insertions
}

// after turns a line's number before an edit into the one after it.
func after(hunks []claude.Hunk, line int) int {
	shift := 0
	for _, h := range hunks {
		if h.OldStart+h.OldLines <= line {
			shift += h.NewLines - h.OldLines
		}
	}
	return line + shift
}
