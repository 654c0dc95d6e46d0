package search

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search/embed"
	"github.com/chinvex/chinvex/search/index"
)

// Engine answers questions about one generation of one context's index. It is not safe
// for concurrent use; opening one takes about a millisecond.
type Engine struct {
	settings *project.Settings
	reader   *index.Reader
	remote   func() (embed.Embedder, error)

	embedder embed.Embedder
	embedErr error
	opened   bool

	files   []*index.FileRow // by row, filled in when asked for
	texts   map[uint32][]textBlock
	symbols map[uint32][]index.Symbol
	imports map[project.Path][]index.Import // that mean a file
}

// Options for Open.
type Options struct {
	// Remote makes the client of a remote embedding provider. nil means that none is
	// asked: in a hook a request would take longer than the answer is worth. Queries are
	// lexical then, and say so.
	Remote func() (embed.Embedder, error)
}

// ErrNoFile says that a path is not in the index.
var ErrNoFile = errors.New("the file is not in the index")

// Open opens the newest generation of the index in dir (a context's IndexDir). Errors
// wrap index.ErrNoIndex, ErrOlder, ErrNewer, ErrDamaged or ErrMismatch.
func Open(dir string, settings *project.Settings, o Options) (*Engine, error) {
	r, err := index.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := index.CheckModel(r.Manifest, settings.Embedding); err != nil {
		r.Close()
		return nil, err
	}
	return &Engine{settings: settings, reader: r, remote: o.Remote, files: make([]*index.FileRow, r.Files.Len()), texts: map[uint32][]textBlock{}, symbols: map[uint32][]index.Symbol{}, imports: map[project.Path][]index.Import{}}, nil
}

// Close releases the index.
func (e *Engine) Close() {
	if c, ok := e.embedder.(interface{ Close() error }); ok {
		_ = c.Close()
	}
	e.reader.Close()
}

// Manifest describes the generation that is read.
func (e *Engine) Manifest() *index.Manifest { return e.reader.Manifest }

// Reader gives access to the rows, for status, benchmarks and doctor.
func (e *Engine) Reader() *index.Reader { return e.reader }

func (e *Engine) file(row int) *index.FileRow {
	if e.files[row] == nil {
		f := e.reader.Files.At(row)
		e.files[row] = &f
	}
	return e.files[row]
}

// model opens the embedder that the index was made with.
func (e *Engine) model() (embed.Embedder, error) {
	if !e.opened {
		e.opened = true
		switch {
		case e.reader.Manifest.Embedding.Provider == embed.ProviderBuiltin:
			e.embedder, e.embedErr = embed.OpenBuiltin(filepath.Join(e.reader.BuildDir(), index.ModelName), index.NewTokenize)
		case e.remote != nil:
			e.embedder, e.embedErr = e.remote()
		default:
			e.embedErr = fmt.Errorf("the embedding provider %s is not asked here", e.reader.Manifest.Embedding.Provider)
		}
	}
	return e.embedder, e.embedErr
}

// Search returns the chunks that answer a query best. A query without a word gives no
// results and no error. The semantic leg failing makes the answer lexical and says why,
// except in Semantic mode, where it is an error.
func (e *Engine) Search(ctx context.Context, query Query) (*Results, error) {
	if query.Limit <= 0 {
		query.Limit = 10
	}
	query.Limit = min(query.Limit, 1000)
	if query.Mode == "" {
		query.Mode = Hybrid
	}
	if query.Mode != Hybrid && query.Mode != Lexical && query.Mode != Semantic {
		return nil, fmt.Errorf("the mode %q does not exist; use hybrid, semantic or lexical", query.Mode)
	}
	res := &Results{Query: query.Text, Results: []Result{}, Trace: e.trace(query.Mode)}
	t := &res.Trace
	clock := newClock(t)
	q := analyse(query.Text)
	allowed, err := e.allowed(&query)
	if err != nil {
		return nil, err
	}

	leg, err := e.lexical(q, allowed)
	if err != nil {
		return nil, err
	}
	t.Candidates["lexical"] = leg.found
	clock.step("lexical")
	var ids []uint32
	if query.Mode != Semantic {
		ids = e.best(leg, candidates)
	}

	var vector []float32
	if query.Mode != Lexical && len(q.groups) > 0 {
		if vector, err = e.embed(ctx, query.Text); err != nil {
			if query.Mode == Semantic || ctx.Err() != nil {
				return nil, err
			}
			t.ModeUsed, t.FallbackReason = Lexical, err.Error()
		}
		if vector == nil && err == nil {
			t.FallbackReason = "no word of the query is in the embedding's vocabulary"
			if query.Mode == Hybrid {
				t.ModeUsed = Lexical
			}
		}
		if vector != nil {
			near, err := e.nearest(vector, allowed, semanticNearest)
			if err != nil {
				return nil, err
			}
			t.Candidates["semantic"] = len(near)
			ids = append(ids, near...)
		}
		clock.step("semantic")
	}
	names, err := e.queriedNames(q, allowed)
	if err != nil {
		return nil, err
	}
	t.Candidates["symbol"] = len(names.chunks)
	subjects := map[int]float64{}
	if query.Mode != Semantic {
		if subjects, err = e.subjects(q); err != nil {
			return nil, err
		}
		t.Candidates["commits"] = len(subjects)
	}
	for id := range names.chunks {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	clock.step("symbols")

	cs := make([]candidate, len(ids))
	var cosines []float32
	if vector != nil {
		if cosines, err = e.reader.Vectors.Dots(vector, ids); err != nil {
			return nil, err
		}
	}
	for i, id := range ids {
		row, _ := e.reader.Files.Row(e.reader.Chunks.File(id))
		cs[i] = candidate{chunk: id, row: row, lexical: float64(leg.chunk[id]), file: float64(leg.file[row])}
		if cosines != nil {
			cs[i].cosine = float64(cosines[i])
		}
	}
	e.fuse(cs, q, t.ModeUsed)
	e.boost(cs, q, leg, names, subjects)
	saturate(cs, e.before)
	clock.step("rank")

	perFile := map[int]int{}
	for i := range cs {
		c := &cs[i]
		if len(res.Results) == query.Limit {
			break
		}
		if c.score <= 0 || query.PerFile > 0 && perFile[c.row] >= query.PerFile {
			continue
		}
		perFile[c.row]++
		r, err := e.result(c, q, leg)
		if err != nil {
			return nil, err
		}
		if query.Explain {
			r.Terms = c.terms
		}
		res.Results = append(res.Results, r)
	}
	if err := e.addSymbols(res.Results); err != nil {
		return nil, err
	}
	clock.step("texts")
	return res, nil
}

// before is the order of results: score, then path, then line.
func (e *Engine) before(a, b *candidate) bool {
	if a.score != b.score {
		return a.score > b.score
	}
	if a.row != b.row {
		return a.row < b.row // rows are in order of path
	}
	return a.chunk < b.chunk
}

func (e *Engine) trace(mode Mode) Trace {
	return Trace{ModeRequested: mode, ModeUsed: mode, Candidates: map[string]int{}, Generation: e.reader.Manifest.Generation}
}

type clock struct {
	t    *Trace
	last time.Time
}

func newClock(t *Trace) *clock { return &clock{t, time.Now()} }

func (c *clock) step(name string) {
	now := time.Now()
	c.t.Timings = append(c.t.Timings, Timing{name, now.Sub(c.last)})
	c.last = now
}

// embed returns the query's vector, nil when none of its words is known.
func (e *Engine) embed(ctx context.Context, text string) ([]float32, error) {
	model, err := e.model()
	if err != nil {
		return nil, err
	}
	if len(text) > maxQueryBytes {
		text = strings.ToValidUTF8(text[:maxQueryBytes], "")
	}
	vs, err := model.Embed(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	for _, x := range vs[0] {
		if x != 0 {
			return vs[0], nil
		}
	}
	return nil, nil
}

func (e *Engine) nearest(query []float32, allowed []bool, k int) ([]uint32, error) {
	live := e.reader.Live()
	if allowed != nil {
		live = make([]uint64, len(live))
		for row, ok := range allowed {
			if first, n := e.reader.Files.ChunkRange(row); ok {
				for c := first; c < first+n; c++ {
					live[c/64] |= 1 << (c % 64)
				}
			}
		}
	}
	hits, err := e.reader.Vectors.Scan(query, live, k, 0)
	if err != nil {
		return nil, err
	}
	var ids []uint32
	for _, h := range hits {
		if h.Cosine > 0 {
			ids = append(ids, h.Slot)
		}
	}
	return ids, nil
}

// allowed returns which rows pass the query's filters, nil when all do.
func (e *Engine) allowed(q *Query) ([]bool, error) {
	if q.Language == "" && q.PathGlob == "" && len(q.Under) == 0 && len(q.Exclude) == 0 {
		return nil, nil
	}
	if q.PathGlob != "" && !doublestar.ValidatePattern(q.PathGlob) {
		return nil, fmt.Errorf("the path pattern %q is malformed; write it like src/**/*.go", q.PathGlob)
	}
	table := e.reader.Files
	allowed := make([]bool, table.Len())
	mark := func(paths []project.Path, v bool) {
		for _, p := range paths {
			from, to := table.Below(p)
			for row := from; row < to; row++ {
				allowed[row] = v
			}
			if f, ok := table.Find(p); ok {
				row, _ := table.Row(f.ID)
				allowed[row] = v
			}
		}
	}
	if len(q.Under) == 0 {
		for i := range allowed {
			allowed[i] = true
		}
	}
	mark(q.Under, true)
	mark(q.Exclude, false)
	for row := range allowed {
		if !allowed[row] {
			continue
		}
		f := e.file(row)
		if q.Language != "" && !strings.EqualFold(f.Language, q.Language) {
			allowed[row] = false
		}
		if q.PathGlob != "" && allowed[row] {
			ok, _ := doublestar.Match(q.PathGlob, f.Path.Rel)
			if !ok && !strings.Contains(q.PathGlob, "/") { // *.go means any folder
				ok, _ = doublestar.Match("**/"+q.PathGlob, f.Path.Rel)
			}
			allowed[row] = ok
		}
	}
	return allowed, nil
}

// queriedNames are the chunks that define what the query names, and the files called
// after it.
type queriedNames struct {
	chunks map[uint32]namedBoost
	stems  map[int]float64
}

type namedBoost struct {
	name  string
	value float64 // in multiples of the largest base score
}

// maxDefinitions bounds the definitions of one name that are looked at: a name with
// more tells nothing.
const maxDefinitions = 400

func (e *Engine) queriedNames(q *analysis, allowed []bool) (*queriedNames, error) {
	out := &queriedNames{chunks: map[uint32]namedBoost{}, stems: map[int]float64{}}
	look := func(name string, sentence bool) error {
		symbols, err := e.reader.SymbolsNamed(name, true, maxDefinitions)
		if err != nil {
			return err
		}
		bodies := false
		for _, s := range symbols {
			bodies = bodies || !s.Forward
		}
		for _, s := range symbols {
			row, live := e.reader.Files.Row(s.File)
			if !live || allowed != nil && !allowed[row] || s.Forward && bodies || s.Kind == "section" {
				continue
			}
			if sentence && s.Name != name {
				continue
			}
			v := definesBoost
			if sentence {
				v = sentenceDefines
			}
			if s.Name != name {
				v *= definesFolded
			}
			if index.Fold(index.Stem(e.file(row).Path.Rel)) == index.Fold(name) {
				v *= definesOwnFile
			}
			if q.scope != "" && strings.HasSuffix(strings.ToLower("."+s.Scope), strings.ToLower("."+q.scope)) {
				v *= definesScope
			}
			chunk, ok := e.chunkAt(row, s.NameLine)
			if !ok {
				continue
			}
			if old := out.chunks[chunk]; v > old.value {
				out.chunks[chunk] = namedBoost{"defines " + name, v}
			}
		}
		return nil
	}
	if q.symbol == "" {
		for _, name := range q.identifiers {
			if err := look(name, true); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	if err := look(q.symbol, false); err != nil {
		return nil, err
	}
	files, err := e.filesWithTerm("", index.NameTerm(q.symbol))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if row, _ := e.reader.Files.Row(f.ID); allowed == nil || allowed[row] {
			out.stems[row] = stemIsSymbol
		}
	}
	return out, nil
}

// chunkAt returns the chunk of a file that holds a line.
func (e *Engine) chunkAt(row, line int) (uint32, bool) {
	f := e.file(row)
	n := sort.Search(int(f.Chunks), func(i int) bool { return int(e.reader.Chunks.At(f.FirstChunk+uint32(i)).End) >= line })
	if n == int(f.Chunks) {
		return 0, false
	}
	return f.FirstChunk + uint32(n), true
}

// subjects gives rows of files a share, 0 to 1, of how well the subjects of commits
// that touched them match the query: the best commit of each file counts.
func (e *Engine) subjects(q *analysis) (map[int]float64, error) {
	out := map[int]float64{}
	commits, err := e.matchingCommits(q, subjectCommits)
	if err != nil || len(commits) == 0 {
		return out, err
	}
	for _, c := range commits {
		if len(c.Paths) > subjectFiles {
			continue // it touched too much to say anything of one file
		}
		for _, p := range c.Paths {
			if f, ok := e.reader.Files.Find(p); ok {
				row, _ := e.reader.Files.Row(f.ID)
				out[row] = max(out[row], c.score)
			}
		}
	}
	return out, nil
}

const (
	subjectCommits = 20 // commits that are looked at
	subjectFiles   = 12
	subjectLeast   = 0.4 // share of the query's idf that a subject must hold
)

type scoredCommit struct {
	index.Commit
	score float64 // share of the query's idf that the subject holds, 0 to 1
}

// matchingCommits returns the commits whose subject holds most of the query.
func (e *Engine) matchingCommits(q *analysis, limit int) ([]scoredCommit, error) {
	total := float64(e.reader.Manifest.Commits)
	masks := map[uint32]uint32{}
	weights := make([]float64, len(q.groups))
	sum := 0.0
	for g, group := range q.groups {
		df := map[uint32]bool{}
		for _, term := range group.terms {
			if err := e.reader.CommitPostings(term, func(commit uint32, _ uint64) {
				masks[commit] |= 1 << g
				df[commit] = true
			}); err != nil {
				return nil, err
			}
		}
		weights[g] = idf(total, float64(len(df)))
		sum += weights[g]
	}
	type hit struct {
		id    uint32
		score float64
	}
	var hits []hit
	for id, mask := range masks {
		s := 0.0
		for g := range q.groups {
			if mask&(1<<g) != 0 {
				s += weights[g]
			}
		}
		if s /= sum; s >= subjectLeast {
			hits = append(hits, hit{id, s})
		}
	}
	sort.Slice(hits, func(i, j int) bool {
		if hits[i].score != hits[j].score {
			return hits[i].score > hits[j].score
		}
		return hits[i].id > hits[j].id // newer first
	})
	hits = hits[:min(len(hits), limit)]
	out := make([]scoredCommit, 0, len(hits))
	for _, h := range hits {
		cs, err := e.reader.CommitsByID([]uint32{h.id})
		if err != nil {
			return nil, err
		}
		for _, c := range cs {
			out = append(out, scoredCommit{c, h.score})
		}
	}
	return out, nil
}

// result fills in what is printed of a candidate.
func (e *Engine) result(c *candidate, q *analysis, leg *lexicalLeg) (Result, error) {
	f := e.file(c.row)
	chunk := e.reader.Chunks.At(c.chunk)
	text, err := e.lines(f.ID, int(chunk.Start), int(chunk.End))
	if err != nil {
		return Result{}, err
	}
	covered, all := 0.0, 0.0
	for g := range q.groups {
		all += q.groups[g].idf
		if (leg.chunkMask[c.chunk]|leg.stemMask[c.row]|leg.dirMask[c.row])&(1<<g) != 0 {
			covered += q.groups[g].idf
		}
	}
	if all > 0 {
		covered /= all
	}
	return Result{
		Path: f.Path, Start: int(chunk.Start), End: int(chunk.End), Language: f.Language, Kind: index.Kinds[chunk.Kind%uint32(len(index.Kinds))],
		Score: c.score, Cosine: c.cosine, Coverage: covered, Text: text, Hash: hashText(text), symbol: chunk.Symbol,
	}, nil
}

// hashText is the key under which a session remembers a fact.
func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// addSymbols fills in names and signatures.
func (e *Engine) addSymbols(results []Result) error {
	var ids []uint32
	for _, r := range results {
		if r.symbol != 0 {
			ids = append(ids, r.symbol)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	symbols, err := e.reader.SymbolsByID(ids)
	if err != nil {
		return err
	}
	for i := range results {
		if s, ok := symbols[results[i].symbol]; ok {
			results[i].Symbol, results[i].Scope, results[i].Signature = s.Name, s.Scope, s.Signature
		}
	}
	return nil
}

// textBlock is a part of a file's text, kept for the next line that is asked for.
type textBlock struct {
	text        []byte
	first, last int // lines; last is -1 in the last block of a file
}

// block returns the part of a file's text that holds a line.
func (e *Engine) block(file uint32, line int) (textBlock, error) {
	for _, b := range e.texts[file] {
		if b.first <= line && line <= b.last {
			return b, nil
		}
	}
	text, first, err := e.reader.BlockAt(file, line)
	if err != nil {
		return textBlock{}, err
	}
	b := textBlock{text: text, first: first, last: first + bytes.Count(text, []byte{'\n'}) - 1}
	if n := len(text); n > 0 && text[n-1] != '\n' {
		b.last++
	}
	e.texts[file] = append(e.texts[file], b)
	return b, nil
}

// lines returns lines start to end of a file as indexed, without the last line break.
func (e *Engine) lines(file uint32, start, end int) (string, error) {
	var out []byte
	for line := max(start, 1); line <= end; {
		b, err := e.block(file, line)
		if err != nil {
			return "", err
		}
		if len(b.text) == 0 || line > b.last {
			break // behind the text
		}
		from := offsetOf(b.text, line-b.first)
		to := from + offsetOf(b.text[from:], min(end, b.last)-line+1)
		out = append(out, b.text[from:to]...)
		line = b.last + 1
	}
	return strings.TrimRight(string(out), "\r\n"), nil
}

// offsetOf returns where line n (0-based) of a text begins, its length when it has fewer.
func offsetOf(text []byte, n int) int {
	at := 0
	for ; n > 0; n-- {
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	return at
}
