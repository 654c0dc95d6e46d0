package search

import (
	"context"
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search/index"
)

// How likely a use of a name means a certain definition, by what connects the two
// places; and the fact that is printed for it. A name that is defined once is almost
// always that one.
const (
	likelySameFile    = 0.95
	likelyImports     = 0.9
	likelyUnique      = 0.85
	likelySamePackage = 0.7
	likelySameName    = 0.3
)

// Refs returns who uses a symbol: its definitions, and its uses with the most likely
// first. A name that nobody defines still has uses. An unknown name gives an empty
// answer, no error.
func (e *Engine) Refs(ctx context.Context, q RefsQuery) (*References, error) {
	if q.Limit <= 0 {
		q.Limit = 20
	}
	name, scope := asSymbol(strings.TrimSpace(q.Name))
	if name == "" {
		name = strings.TrimSpace(q.Name)
	}
	out := &References{Name: name, Definitions: []Definition{}, References: []Reference{}, Trace: e.trace("")}
	clock := newClock(&out.Trace)
	definitions, others, err := e.definitions(name, scope, q.File)
	if err != nil {
		return nil, err
	}
	sites, files, err := e.reader.Sites(name)
	if err != nil {
		return nil, err
	}
	for i := range definitions {
		definitions[i].Uses = len(sites)
	}
	out.Definitions = definitions
	out.Trace.Candidates["definitions"], out.Trace.Candidates["references"] = len(definitions), len(sites)
	clock.step("look up")
	out.Files = files

	kept := sites[:0]
	for _, s := range sites {
		if !e.isExcluded(s, q.Exclude) {
			kept = append(kept, s)
		}
	}
	out.Total = len(kept)
	judge, err := e.judge(definitions, others)
	if err != nil {
		return nil, err
	}
	refs := make([]scoredSite, len(kept))
	for i, s := range kept {
		row, _ := e.reader.Files.Row(s.File)
		likelihood, why := judge(row)
		refs[i] = scoredSite{s, row, likelihood, why}
	}
	sort.SliceStable(refs, func(i, j int) bool {
		a, b := refs[i], refs[j]
		if a.likelihood != b.likelihood {
			return a.likelihood > b.likelihood
		}
		if x, y := kindOrder(a.Kind), kindOrder(b.Kind); x != y {
			return x < y
		}
		if x, y := e.file(a.row).Class&index.Test != 0, e.file(b.row).Class&index.Test != 0; x != y {
			return y // tests after the code that they test
		}
		if a.row != b.row {
			return a.row < b.row
		}
		return a.Line < b.Line
	})
	for _, r := range spread(refs, q.Limit) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		ref, err := e.reference(r)
		if err != nil {
			return nil, err
		}
		out.References = append(out.References, ref)
	}
	clock.step("texts")
	return out, nil
}

type scoredSite struct {
	index.Site
	row        int
	likelihood float64
	why        string
}

// spread takes the first limit uses, at most three of a file while other files wait:
// who asks for uses wants to know the places, not one place ten times.
func spread(refs []scoredSite, limit int) []scoredSite {
	const perFile = 3
	var first, later []scoredSite
	n := map[int]int{}
	for _, r := range refs {
		if n[r.row]++; n[r.row] <= perFile {
			first = append(first, r)
		} else {
			later = append(later, r)
		}
	}
	return append(first, later...)[:min(len(refs), limit)]
}

func kindOrder(kind string) int {
	switch kind {
	case "call":
		return 0
	case "inherit":
		return 1
	case "type":
		return 2
	case "use":
		return 3
	}
	return 4 // imports say the least
}

func (e *Engine) isExcluded(s index.Site, ranges []LineRange) bool {
	for _, x := range ranges {
		row, _ := e.reader.Files.Row(s.File)
		if e.file(row).Path == x.Path && s.Line >= x.Start && (x.End == 0 || s.Line <= x.End) {
			return true
		}
	}
	return false
}

// definitions returns where a name is defined: in the file and scope meant, if it is
// there, else everywhere; definitions before declarations. others are the files that
// define the name and are not among those returned.
func (e *Engine) definitions(name, scope string, file project.Path) (out []Definition, others map[project.Path]bool, err error) {
	symbols, err := e.reader.SymbolsNamed(name, false, maxDefinitions)
	if err != nil {
		return nil, nil, err
	}
	out, others = []Definition{}, map[project.Path]bool{}
	var forward, elsewhere, otherScope []Definition
	for _, s := range symbols {
		row, _ := e.reader.Files.Row(s.File)
		d := e.definition(s, row)
		switch {
		case s.Kind == "section":
		case !file.IsZero() && d.Path != file:
			elsewhere = append(elsewhere, d)
		case scope != "" && !strings.HasSuffix("."+s.Scope, "."+scope):
			otherScope = append(otherScope, d)
		case s.Forward:
			forward = append(forward, d)
		default:
			out = append(out, d)
		}
	}
	for _, more := range [][]Definition{forward, otherScope, elsewhere} {
		if len(out) == 0 {
			out = append(out, more...)
		}
	}
	returned := map[project.Path]bool{}
	for _, d := range out {
		returned[d.Path] = true
	}
	for _, d := range append(otherScope, elsewhere...) {
		if !returned[d.Path] {
			others[d.Path] = true
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].Path != out[j].Path {
			return out[i].Path.Less(out[j].Path)
		}
		return out[i].Line < out[j].Line
	})
	return out, others, nil
}

func (e *Engine) definition(s index.Symbol, row int) Definition {
	return Definition{Path: e.file(row).Path, Start: s.Start, End: s.End, Line: s.NameLine, Name: s.Name, Kind: s.Kind, Scope: s.Scope, Signature: s.Signature, Exported: s.Exported}
}

// maxJudged bounds the definitions whose importers are looked up: a name with more is
// nobody's in particular.
const maxJudged = 8

// judge returns a function that tells how likely a use in a file means one of the
// definitions. others are the files that define the name as well.
func (e *Engine) judge(definitions []Definition, others map[project.Path]bool) (func(row int) (float64, string), error) {
	defining := map[project.Path]bool{}
	dirs := map[string]bool{}
	folder := func(p project.Path) string { return p.Repo + "\x00" + path.Dir(p.Rel) }
	for _, d := range definitions {
		defining[d.Path] = true
		dirs[folder(d.Path)] = true
	}
	importing := map[int]bool{}
	if len(defining) <= maxJudged {
		for p := range defining {
			imports, err := e.importsOf(p)
			if err != nil {
				return nil, err
			}
			for _, i := range imports {
				row, _ := e.reader.Files.Row(i.File)
				importing[row] = true
			}
		}
	}
	return func(row int) (float64, string) {
		f := e.file(row)
		switch {
		case len(definitions) == 0:
			return likelySameName, "defined nowhere here"
		case defining[f.Path]:
			return likelySameFile, "same file"
		case others[f.Path]:
			return likelySameName, "defines the name itself"
		case importing[row]:
			return likelyImports, "imports it"
		case len(defining) == 1 && len(others) == 0:
			return likelyUnique, "the only definition of that name"
		case dirs[folder(f.Path)]:
			return likelySamePackage, "same folder"
		}
		return likelySameName, "same name"
	}, nil
}

// importsOf returns the imports that mean a file, in order of file and line.
func (e *Engine) importsOf(p project.Path) ([]index.Import, error) {
	if known, ok := e.imports[p]; ok {
		return known, nil
	}
	keys := []string{index.ImportKey(p.Rel)}
	if folder := index.FolderOf(p.Rel); folder != "" && index.ImportKey(folder) != keys[0] {
		keys = append(keys, index.ImportKey(folder))
	}
	target := newImportTarget(p.Rel)
	out := []index.Import{}
	for _, key := range keys {
		err := e.reader.ImportsWithKey(key, func(imported string, importers []index.Import) {
			relative := strings.HasPrefix(imported, ".")
			if !relative && !target.meant(imported, "") {
				return
			}
			for _, i := range importers {
				row, _ := e.reader.Files.Row(i.File)
				if f := e.file(row); f.Path.Repo == p.Repo && (!relative || target.meant(imported, f.Path.Rel)) {
					out = append(out, i)
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].File != out[j].File {
			return out[i].File < out[j].File
		}
		return out[i].Line < out[j].Line
	})
	e.imports[p] = out
	return out, nil
}

const maxLine = 200 // bytes of a printed line

func (e *Engine) reference(s scoredSite) (Reference, error) {
	f := e.file(s.row)
	line, err := e.lines(f.ID, s.Line, s.Line)
	if err != nil {
		return Reference{}, err
	}
	in := ""
	if s.Symbol >= 0 {
		symbol, ok, err := e.reader.SymbolAt(f.ID, s.Symbol)
		if err != nil {
			return Reference{}, err
		}
		if ok {
			in = qualified(symbol.Scope, symbol.Name)
		}
	}
	return Reference{Path: f.Path, Line: s.Line, Kind: s.Kind, In: in, Text: cut(strings.TrimSpace(line), maxLine), Likelihood: s.likelihood, Why: s.why}, nil
}

func qualified(scope, name string) string {
	if scope == "" {
		return name
	}
	return scope + "." + name
}

// cut shortens s to n bytes on the border of a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// symbolsOf returns a file's symbols in the order in which they were stored.
func (e *Engine) symbolsOf(file uint32) ([]index.Symbol, error) {
	if s, ok := e.symbols[file]; ok {
		return s, nil
	}
	s, err := e.reader.SymbolsOf(file)
	if err == nil {
		e.symbols[file] = s
	}
	return s, err
}

// Symbols returns what a file defines, in order of line. A path that is not in the index
// is ErrNoFile.
func (e *Engine) Symbols(p project.Path) ([]Definition, error) {
	f, ok := e.reader.Files.Find(p)
	if !ok {
		return nil, fmt.Errorf("%w: %s; run `chinvex ingest` if it is new, `chinvex status` tells what is left out", ErrNoFile, p.Rel)
	}
	row, _ := e.reader.Files.Row(f.ID)
	symbols, err := e.symbolsOf(f.ID)
	if err != nil {
		return nil, err
	}
	out := make([]Definition, len(symbols))
	for i, s := range symbols {
		out[i] = e.definition(s, row)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Line < out[j].Line })
	return out, nil
}

// Uses returns in how many files a name is used, at most about 1,000.
func (e *Engine) Uses(name string) (files int, err error) { return e.reader.UseCount(name) }
