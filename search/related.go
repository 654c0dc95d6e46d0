package search

import (
	"context"
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/chinvex/chinvex/parse/words"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search/index"
)

// Weights of the reasons for which a file belongs to another. Coupling is
// .7·count/max + .3/(1 + days/30) and so at most 1.
const (
	coupledWeight   = 1.0
	coupledLeast    = 0.1
	testPairWeight  = 0.6
	importerWeight  = 0.35
	importedWeight  = 0.2
	userWeight      = 0.3
	neighbourWeight = 0.05
	relatedLegLimit = 30 // files a leg may add
)

// Related returns the files that belong to a file, best first, each with the facts that
// say why. The file need not be in the index: its name, its folder and its history still
// answer.
func (e *Engine) Related(ctx context.Context, q RelatedQuery) (*RelatedFiles, error) {
	if q.Limit <= 0 {
		q.Limit = 10
	}
	out := &RelatedFiles{Path: q.Path, Files: []RelatedFile{}, Trace: e.trace("")}
	clock := newClock(&out.Trace)
	found := map[project.Path]*RelatedFile{}
	var order []*RelatedFile
	add := func(p project.Path, score float64, reason string) *RelatedFile {
		f := found[p]
		if f == nil {
			f = &RelatedFile{Path: p}
			found[p] = f
			order = append(order, f)
		}
		f.Score += score
		f.Reasons = append(f.Reasons, reason)
		return f
	}
	legs := []struct {
		name string
		run  func(add func(project.Path, float64, string) *RelatedFile) (int, error)
	}{
		{"coupling", func(add func(project.Path, float64, string) *RelatedFile) (int, error) {
			return e.coupledFiles(q.Path, add)
		}},
		{"tests", func(add func(project.Path, float64, string) *RelatedFile) (int, error) {
			return e.testPairs(q.Path, add)
		}},
		{"imports", func(add func(project.Path, float64, string) *RelatedFile) (int, error) {
			return e.importers(q.Path, add)
		}},
		{"users", func(add func(project.Path, float64, string) *RelatedFile) (int, error) { return e.users(q.Path, add) }},
	}
	for _, leg := range legs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := leg.run(add)
		if err != nil {
			return nil, err
		}
		out.Trace.Candidates[leg.name] = n
		clock.step(leg.name)
	}
	if len(order) < 3 {
		out.Trace.Candidates["neighbours"] = e.neighbours(q.Path, add)
	}
	sort.SliceStable(order, func(i, j int) bool {
		if order[i].Score != order[j].Score {
			return order[i].Score > order[j].Score
		}
		return order[i].Path.Less(order[j].Path)
	})
	for _, f := range order[:min(len(order), q.Limit)] {
		out.Files = append(out.Files, *f)
	}
	return out, nil
}

func (e *Engine) coupledFiles(p project.Path, add func(project.Path, float64, string) *RelatedFile) (int, error) {
	coupled, total, err := e.reader.Coupling(p, relatedLegLimit)
	if err != nil || len(coupled) == 0 {
		return 0, err
	}
	most := 0
	for _, c := range coupled {
		most = max(most, c.Count)
	}
	n := 0
	for _, c := range coupled {
		score := e.couplingScore(c, most)
		if score < coupledLeast || c.Count < 2 && total > 3 {
			continue // once among many is chance
		}
		n++
		// A file that changes in every commit (a lock file, a change log) is coupled to all.
		share := float64(c.Count) / float64(max(c.Commits, c.Count))
		add(c.Path, coupledWeight*score*(0.5+0.5*min(1, 2*share)), fmt.Sprintf("changed together in %d of %d commits", c.Count, total))
	}
	return n, nil
}

func (e *Engine) couplingScore(c index.Coupled, most int) float64 {
	days := float64(max(0, e.reader.Files.Newest()-c.Last)) / 86400
	return 0.7*float64(c.Count)/float64(most) + 0.3/(1+days/30)
}

// testPairs finds the tests of a source file and the source of a test by their names.
func (e *Engine) testPairs(p project.Path, add func(project.Path, float64, string) *RelatedFile) (int, error) {
	name, isTest := index.TestedName(p.Rel)
	if len(name) < 2 {
		return 0, nil
	}
	files, err := e.filesWithTerm(p.Repo, index.TestedTerm(name))
	if err != nil {
		return 0, err
	}
	n := 0
	for _, f := range files {
		if _, otherIsTest := index.TestedName(f.Path.Rel); f.Path == p || otherIsTest == isTest || n >= relatedLegLimit {
			continue
		}
		near := 0.5 + 0.5*float64(commonDirs(p.Rel, f.Path.Rel))/float64(1+strings.Count(p.Rel, "/"))
		reason := "its test, by name"
		if isTest {
			reason = "what it tests, by name"
		}
		add(f.Path, testPairWeight*near, reason)
		n++
	}
	return n, nil
}

// filesWithTerm returns the files of a repository ("" for all) with one of the terms of
// file names, in order of path.
func (e *Engine) filesWithTerm(repo, term string) ([]*index.FileRow, error) {
	var out []*index.FileRow
	err := e.reader.Postings(term, func(chunk uint32, _ uint64) {
		if row, live := e.reader.Files.Row(e.reader.Chunks.File(chunk)); live {
			if f := e.file(row); repo == "" || f.Path.Repo == repo {
				out = append(out, f)
			}
		}
	})
	sort.Slice(out, func(i, j int) bool { return out[i].Path.Less(out[j].Path) })
	return out, err
}

func commonDirs(a, b string) int {
	n := 0
	x, y := strings.Split(path.Dir(a), "/"), strings.Split(path.Dir(b), "/")
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return n
}

// importers adds the files that import the file, and those that it imports.
func (e *Engine) importers(p project.Path, add func(project.Path, float64, string) *RelatedFile) (int, error) {
	n := 0
	seen := map[project.Path]bool{p: true}
	importing, err := e.importsOf(p)
	if err != nil {
		return 0, err
	}
	for _, i := range importing {
		row, _ := e.reader.Files.Row(i.File)
		f := e.file(row)
		if seen[f.Path] || n >= relatedLegLimit {
			continue
		}
		seen[f.Path] = true
		n++
		found := add(f.Path, importerWeight*e.prior(f), "imports it")
		found.Start = i.Line
	}
	self, ok := e.reader.Files.Find(p)
	if !ok {
		return n, nil
	}
	imports, err := e.reader.ImportsOf(self.ID)
	if err != nil {
		return n, err
	}
	looked := map[string]bool{}
	for _, i := range imports {
		for _, want := range importPaths(i.Path, p.Rel) {
			if looked[want] {
				continue
			}
			looked[want] = true
			for _, term := range []string{index.NameTerm(path.Base(want)), index.FolderTerm(path.Base(want))} {
				files, err := e.filesWithTerm(p.Repo, term)
				if err != nil {
					return n, err
				}
				for _, f := range files {
					if !seen[f.Path] && n < 2*relatedLegLimit && newImportTarget(f.Path.Rel).among(want) {
						seen[f.Path] = true
						n++
						add(f.Path, importedWeight*e.prior(f), "imported by it")
					}
				}
			}
		}
	}
	return n, nil
}

// prior lowers what the ranking lowers, and never to nothing: tests count in full here.
func (e *Engine) prior(f *index.FileRow) float64 {
	if f.Class&(index.Generated|index.Vendored|index.Documentation) != 0 {
		return 0.3
	}
	return 1
}

// users adds the files that use what the file defines for others: the exported names
// that are used in few files say the most.
func (e *Engine) users(p project.Path, add func(project.Path, float64, string) *RelatedFile) (int, error) {
	const maxNames, maxFiles = 10, 25
	self, ok := e.reader.Files.Find(p)
	if !ok {
		return 0, nil
	}
	symbols, err := e.symbolsOf(self.ID)
	if err != nil {
		return 0, err
	}
	type use struct {
		names []string
		line  int
	}
	uses := map[int]*use{}
	seen := map[string]bool{}
	looked := 0
	for _, s := range symbols {
		if !s.Exported || s.Kind == "section" || len(s.Name) < 4 || seen[s.Name] || s.Kind == "method" && s.Scope != "" && len(symbols) > maxNames {
			continue
		}
		if seen[s.Name] = true; looked == maxNames {
			break
		}
		looked++
		// A name that others define too says little about this file.
		same, err := e.reader.SymbolsNamed(s.Name, false, 4)
		if err != nil {
			return 0, err
		}
		if len(same) > 2 {
			continue
		}
		sites, files, err := e.reader.Sites(s.Name)
		if err != nil {
			return 0, err
		}
		if files > maxFiles {
			continue
		}
		for _, site := range sites {
			row, _ := e.reader.Files.Row(site.File)
			if e.file(row).Path == p {
				continue
			}
			u := uses[row]
			if u == nil {
				u = &use{line: site.Line}
				uses[row] = u
			}
			if n := len(u.names); n == 0 || u.names[n-1] != s.Name {
				u.names = append(u.names, s.Name)
			}
		}
	}
	rows := make([]int, 0, len(uses))
	for row := range uses {
		rows = append(rows, row)
	}
	sort.Slice(rows, func(i, j int) bool {
		if a, b := len(uses[rows[i]].names), len(uses[rows[j]].names); a != b {
			return a > b
		}
		return rows[i] < rows[j]
	})
	rows = rows[:min(len(rows), relatedLegLimit)]
	for _, row := range rows {
		u := uses[row]
		f := add(e.file(row).Path, userWeight*e.prior(e.file(row))*min(1, 0.5+0.1*float64(len(u.names))), "uses "+listed(u.names, 3))
		if f.Start == 0 {
			f.Start = u.line
		}
	}
	return len(rows), nil
}

// listed joins the first n names and counts the rest.
func listed(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}

// SameFolder is the reason of a file of which nothing else is known.
const SameFolder = "same folder"

// neighbours adds files of the same folder with a similar name: all that is known of a
// new file without imports.
func (e *Engine) neighbours(p project.Path, add func(project.Path, float64, string) *RelatedFile) int {
	dir := project.Path{Repo: p.Repo, Rel: path.Dir(p.Rel)}
	if dir.Rel == "." {
		dir.Rel = ""
	}
	mine := map[string]bool{}
	base := path.Base(p.Rel)
	for _, w := range words.Parts(strings.TrimSuffix(base, path.Ext(base))) {
		mine[w] = true
	}
	from, to := e.reader.Files.Below(dir)
	n := 0
	for row := from; row < to && n < relatedLegLimit; row++ {
		f := e.file(row)
		if f.Path == p || path.Dir(f.Path.Rel) != path.Dir(p.Rel) {
			continue
		}
		score, reason := neighbourWeight, SameFolder
		name := path.Base(f.Path.Rel)
		for _, w := range words.Parts(strings.TrimSuffix(name, path.Ext(name))) {
			if mine[w] && len(w) > 2 {
				score, reason = 3*neighbourWeight, "same folder, similar name"
			}
		}
		if path.Ext(name) == path.Ext(base) {
			score *= 1.5
		}
		add(f.Path, score, reason)
		n++
	}
	return n
}
