package dispatch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chinvex/chinvex/claude"
	"github.com/chinvex/chinvex/parse"
	"github.com/chinvex/chinvex/parse/words"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
	"github.com/chinvex/chinvex/search/index"
)

// What an operation shows at most. An agent reads all of it, so it is little.
const (
	relatedFiles   = 6
	changedSymbols = 3
	changedUses    = 6 // of one symbol
	readSymbols    = 3
	readUses       = 4
	searchResults  = 5
	searchPerFile  = 2
	findResults    = 3
	promptItems    = 5
	previewLines   = 2
	nearestPaths   = 3
	placeRelated   = 3
	lineBytes      = 160 // of one line of code
	headBytes      = 100 // of a signature beside a place
)

// leastLikely is the least likelihood of a use: below it nothing but the name says that
// it means this definition.
const leastLikely = 0.5

// Fact is one thing that the agent may be told.
type Fact struct {
	Key  string // hash of what it says, line numbers left out
	Path project.Path
	// Lines of the code that it shows; Start 0 when it is about the file.
	Start, End int
	Text       string // lines; those after the first are indented
	Passes     bool   // the gate: relevant enough to be told
}

// Group is facts under one heading, from one operation.
type Group struct {
	Kind    Kind
	Path    project.Path // the file that it is about, if it is one
	Heading string
	Facts   []Fact // best first
	Limit   int    // most facts to show, 0 for all: the filters run first, so that what they remove makes room
	More    int    // what is left out beside Facts
	Call    string // the command that shows everything
}

// key hashes what a fact says.
func key(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// asker runs operations.
type asker struct {
	engine     *search.Engine
	repo       project.Repository
	thresholds map[string]float64 // least cosine by language, what the user set
	lines      int                // most lines after a prompt
}

// ask answers one operation. Groups without facts are left out.
func (a *asker) ask(ctx context.Context, o Operation) (groups []Group, candidates int, err error) {
	switch o.Kind {
	case Related:
		groups, candidates, err = a.related(ctx, o)
	case Changed:
		groups, candidates, err = a.changed(ctx, o)
	case Uses:
		groups, candidates, err = a.uses(ctx, o)
	case Search, Find:
		groups, candidates, err = a.search(ctx, o)
	case Prompt:
		groups, candidates, err = a.prompt(ctx, o)
	case Places:
		groups, candidates, err = a.places(ctx, o)
	case Nearest:
		groups, candidates = a.nearest(o)
	}
	return slices.DeleteFunc(groups, func(g Group) bool { return len(g.Facts) == 0 }), candidates, err
}

// name prints a path: relative to the repository, with its name when it is another one.
func (a *asker) name(p project.Path) string {
	name := p.Rel
	if p.Repo != a.repo.Name {
		name = p.Repo + ":" + p.Rel
	}
	if strings.ContainsFunc(name, unicode.IsControl) { // it would begin a line of its own
		return strconv.Quote(name)
	}
	return name
}

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
			Key: key("related", o.Path.Rel, f.Path.Repo, f.Path.Rel), Path: f.Path, Passes: true,
			Text: place + ": " + strings.Join(reasons, "; "),
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

// commonName is the number of files that use a name above which the uses are not looked
// at: a name like "new" or "get" means another thing in each, and judging them all takes
// longer than an answer may.
const commonName = 150

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

// uses tells who uses the key symbols of lines that were read.
func (a *asker) uses(ctx context.Context, o Operation) ([]Group, int, error) {
	symbols, err := a.engine.Symbols(o.Path)
	if errors.Is(err, search.ErrNoFile) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	var keySymbols []touched
	for _, s := range symbols {
		inside := o.Lines.Start == 0 || s.Line >= o.Lines.Start && (o.Lines.End == 0 || s.Line <= o.Lines.End)
		if !inside || !telling(s) || local(s, symbols) {
			continue
		}
		files, err := a.engine.Uses(s.Name)
		if err != nil {
			return nil, 0, err
		}
		if files > 0 && files <= commonName {
			keySymbols = append(keySymbols, touched{Definition: s, files: files})
		}
	}
	sort.SliceStable(keySymbols, func(i, j int) bool {
		if keySymbols[i].Exported != keySymbols[j].Exported {
			return keySymbols[i].Exported
		}
		return keySymbols[i].files > keySymbols[j].files
	})
	candidates := len(keySymbols)
	g := Group{Kind: Uses, Path: o.Path, Heading: "Used elsewhere, of what was read in " + a.name(o.Path) + ":"}
	seen := map[string]bool{}
	for _, s := range keySymbols[:min(candidates, 3*readSymbols)] {
		if len(g.Facts) == readSymbols {
			break
		}
		if seen[s.Name] {
			continue
		}
		seen[s.Name] = true
		found, err := a.refs(ctx, search.RefsQuery{Name: s.Name, File: o.Path, Limit: readUses, Exclude: []search.LineRange{{Path: o.Path}}}, false)
		if err != nil {
			return nil, candidates, err
		}
		if len(found.References) == 0 {
			continue
		}
		what := []string{"uses", s.Name, o.Path.Rel}
		var places []string
		for _, r := range found.References {
			place := fmt.Sprintf("%s:%d", a.name(r.Path), r.Line)
			if r.In != "" {
				place += " in " + r.In
			}
			places = append(places, place)
			what = append(what, r.Path.Rel, r.In)
		}
		text := fmt.Sprintf("%s (line %d): %s", qualified(s.Scope, s.Name), s.Line, strings.Join(places, ", "))
		if more := found.Total - len(places); more > 0 {
			text += fmt.Sprintf(", %d more (chinvex refs %s)", more, quote(s.Name))
		}
		g.Facts = append(g.Facts, Fact{Key: key(what...), Path: o.Path, Start: s.Start, End: s.End, Passes: true, Text: text})
	}
	return []Group{g}, candidates, nil
}

// telling tells whether a name is one that its uses can be found by.
func telling(s search.Definition) bool {
	switch s.Kind {
	case "section", "module", "variable":
		return false
	}
	return utf8.RuneCountInString(s.Name) > 2 && !(strings.HasPrefix(s.Name, "__") && strings.HasSuffix(s.Name, "__"))
}

// local tells whether a symbol is defined inside a function, where nothing else sees it.
func local(s search.Definition, symbols []search.Definition) bool {
	return slices.ContainsFunc(symbols, func(o search.Definition) bool {
		return (o.Kind == "function" || o.Kind == "method") && o.Start <= s.Start && s.End <= o.End && o.End-o.Start > s.End-s.Start
	})
}

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

func qualified(scope, name string) string {
	if scope == "" {
		return name
	}
	return scope + "." + name
}

// holdsWord tells whether name stands in line and not inside a longer name.
func holdsWord(line, name string) bool {
	for from := 0; name != ""; {
		at := strings.Index(line[from:], name)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(line[:at])
		next, _ := utf8.DecodeRuneInString(line[at+len(name):])
		if !isNamePart(before) && !isNamePart(next) {
			return true
		}
		from = at + len(name)
	}
	return false
}

func isNamePart(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80 && r != utf8.RuneError
}

// cut shortens one line to n bytes.
func cut(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return cut(s, lineBytes)
}

// quote makes an argument of a shell command as the agent would type it.
func quote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r == '/' || r == '.' || r == '-' || r == ':' || isNamePart(r))
	}) && s[0] != '-' {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
