// Package ingest builds, refreshes and publishes the index that package index
// describes. There is one writer at a time; readers never wait for it.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sort"
	"sync"
	"time"

	"github.com/chinvex/chinvex/parse/words"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search/embed"
	"github.com/chinvex/chinvex/search/embed/remote"
	"github.com/chinvex/chinvex/search/index"
	"github.com/chinvex/chinvex/search/vector"
)

// Options say what to ingest.
type Options struct {
	Context  *project.Context
	Settings *project.Settings
	Rebuild  bool                              // throw the index away and build a new one
	Progress func(stage string, done, all int) // may be nil; called from one goroutine; all is 0 when unknown
	Wait     time.Duration                     // for another writer to end; 0 means ten minutes
}

// Report says what an ingest did.
type Report struct {
	Generation int64          `json:"generation"`
	Published  bool           `json:"published"` // false: nothing had changed
	Rebuilt    bool           `json:"rebuilt"`
	Queued     bool           `json:"queued,omitempty"` // another process writes and does it
	Added      int            `json:"added"`            // files
	Changed    int            `json:"changed"`          // files
	Removed    int            `json:"removed"`          // files
	Commits    int            `json:"commits"`          // newly read
	LeftOut    map[string]int `json:"left_out"`
	Notes      []string       `json:"notes,omitempty"` // sentences for a person
	Stages     []Stage        `json:"stages"`
	Stats      index.Stats    `json:"stats"`
}

// Stage is how long one part of the work took.
type Stage struct {
	Name string        `json:"name"`
	Took time.Duration `json:"took_ns"`
}

// run is one ingest or refresh.
type run struct {
	Options
	ctx    context.Context
	w      *writer
	report Report
	last   time.Time
	now    time.Time
}

func (r *run) progress(stage string, done, all int) {
	if r.Progress != nil {
		r.Progress(stage, done, all)
	}
}

func (r *run) stage(name string) {
	t := time.Now()
	r.report.Stages = append(r.report.Stages, Stage{name, t.Sub(r.last)})
	r.last = t
}

func (r *run) note(format string, args ...any) {
	r.report.Notes = append(r.report.Notes, fmt.Sprintf(format, args...))
}

// Ingest brings the index of a context up to date with its repositories. With an
// index at hand only what changed is read; without one, with an older format's or
// with Rebuild, everything is. Nothing changed means nothing is written.
func Ingest(ctx context.Context, o Options) (*Report, error) {
	if o.Wait == 0 {
		o.Wait = 10 * time.Minute
	}
	r := &run{Options: o, ctx: ctx, last: time.Now(), now: time.Now()}
	dir := o.Context.IndexDir()
	l, err := lock(ctx, dir, o.Wait)
	if err != nil {
		return nil, err
	}
	unlock := sync.OnceFunc(func() { _ = l.Unlock() })
	defer unlock()

	// A whole ingest allocates much that dies at once: collecting half as often costs
	// some hundred megabytes at most and saves a fifth of the time.
	defer debug.SetGCPercent(debug.SetGCPercent(200))

	m, generation, err := r.previous(dir)
	if err != nil {
		return nil, err
	}
	if m != nil && r.outgrown(m) {
		m = nil
	}
	if err := r.ingestOrRebuild(dir, m, generation); err != nil {
		return nil, err
	}
	unlock()
	// What was edited meanwhile was left to us.
	if _, err := drain(ctx, o); err != nil {
		return nil, err
	}
	return &r.report, nil
}

// previous decides from what is there whether to go on from it (m) or to build anew.
func (r *run) previous(dir string) (m *index.Manifest, generation int64, err error) {
	m, err = index.ReadManifest(dir)
	generation = 1
	if m != nil {
		generation = m.Generation + 1
	}
	switch {
	case err == nil && !r.Rebuild:
		return m, generation, index.CheckModel(m, r.Settings.Embedding)
	case err == nil, errors.Is(err, index.ErrNoIndex):
		return nil, generation, nil
	case errors.Is(err, index.ErrNewer) && !r.Rebuild:
		return nil, 0, err
	case errors.Is(err, index.ErrOlder):
		r.note("The index was written by an older chinvex and is built anew.")
	case errors.Is(err, index.ErrDamaged):
		r.note("The index was damaged (%v) and is built anew.", err)
	case !r.Rebuild:
		return nil, 0, err
	}
	// The generation must not repeat: readers compare it.
	return nil, r.now.UnixMilli(), nil
}

// outgrown tells that an index is better built anew: its tables are mostly dead rows,
// or the built-in embedding was fitted on much less than there is now.
func (r *run) outgrown(m *index.Manifest) bool {
	live := uint32(m.Stats.LiveChunks)
	if m.Chunks > 20_000 && m.Chunks > 3*live {
		r.note("Most of the index described files that have changed since, so it is built anew.")
		return true
	}
	if m.Embedding.Provider == embed.ProviderBuiltin && live > 3*max(m.Fitted, 50) {
		r.note("The repository has grown so much that the index is built anew, with an embedding fitted to it.")
		return true
	}
	return false
}

// ingestOrRebuild goes on from m, or builds anew where that cannot be gone on from.
func (r *run) ingestOrRebuild(dir string, m *index.Manifest, generation int64) error {
	err := r.ingest(dir, m, generation)
	if m == nil || !errors.Is(err, errCutShort) && !errors.Is(err, index.ErrDamaged) {
		return err
	}
	r.report = Report{}
	r.note("The index could not be gone on from (%v) and is built anew.", err)
	return r.ingest(dir, nil, generation)
}

func (r *run) ingest(dir string, m *index.Manifest, generation int64) error {
	// Everything that only reads comes first, so that an ingest with nothing to do
	// never opens a writer.
	selections := map[string]*selection{}
	var missing []string
	for _, repo := range r.Context.Includes.Repos {
		sel, err := choose(r.ctx, repo, r.Settings)
		if err != nil {
			if r.ctx.Err() != nil || len(r.Context.Includes.Repos) == 1 {
				return err
			}
			missing = append(missing, repo.Name)
			r.note("%v", err)
			continue
		}
		selections[repo.Name] = sel
	}
	r.stage("list files")

	plan, err := r.plan(dir, m, selections, missing)
	if err != nil {
		return err
	}
	r.stage("compare")
	if m != nil && !plan.work() {
		r.report.Generation, r.report.LeftOut, r.report.Stats = m.Generation, m.Stats.LeftOut, m.Stats
		return nil
	}
	for i, repo := range plan.repos {
		if sel := selections[repo.Name]; sel != nil && sel.repo != nil {
			if changed, err := sel.repo.Modified(r.ctx); err == nil {
				plan.repos[i].Dirty = len(changed)
			}
		}
	}
	if r.w, err = openWriter(dir, m, generation, false); err != nil {
		return err
	}
	defer r.w.abort()
	if err := r.apply(plan); err != nil {
		return err
	}
	r.w.next.Stats.LeftOut = plan.leftOut
	r.w.next.Repos = plan.repos
	return r.finish(plan.history)
}

// plan is what an ingest has to do.
type plan struct {
	read    []planned
	remove  []uint32
	history []historyPlan
	repos   []index.Repo
	leftOut map[string]int
	state   bool // the repositories' recorded state changed
}

type planned struct {
	candidate
	old    uint32 // version in the index, 0 for a new file
	before []byte // its hash
}

func (p *plan) work() bool {
	return len(p.read)+len(p.remove) > 0 || len(p.history) > 0 || p.state
}

func (r *run) plan(dir string, m *index.Manifest, selections map[string]*selection, missing []string) (*plan, error) {
	p := &plan{leftOut: map[string]int{}}
	known := map[project.Path]knownFile{}
	if m != nil {
		var err error
		if known, err = knownFiles(dir, m); err != nil {
			return nil, err
		}
	}
	for _, name := range missing {
		for path := range known {
			if path.Repo == name {
				delete(known, path) // neither removed nor read
			}
		}
	}
	for _, repo := range r.Context.Includes.Repos {
		sel, ok := selections[repo.Name]
		if !ok {
			if old := findRepo(m, repo.Name); old != nil {
				p.repos = append(p.repos, *old)
			}
			continue
		}
		for reason, n := range sel.leftOut {
			p.leftOut[reason] += n
		}
		for _, c := range sel.files {
			k, ok := known[c.path]
			delete(known, c.path)
			if ok && k.size == c.size && k.mtime == c.mtime {
				if k.skipped != "" {
					p.leftOut[k.skipped]++
				}
				continue
			}
			p.read = append(p.read, planned{c, k.id, k.hash})
		}
		state, history := r.repoState(m, repo, sel)
		p.repos = append(p.repos, state)
		if history != nil {
			p.history = append(p.history, *history)
		}
		if old := findRepo(m, repo.Name); old == nil || !sameState(*old, state) {
			p.state = true
		}
	}
	for _, k := range known {
		p.remove = append(p.remove, k.id)
	}
	sort.Slice(p.remove, func(i, j int) bool { return p.remove[i] < p.remove[j] })
	if m != nil && len(m.Repos) != len(p.repos) {
		p.state = true
	}
	return p, nil
}

func sameState(a, b index.Repo) bool {
	a.IndexedAt, b.IndexedAt = 0, 0
	a.Dirty, b.Dirty = 0, 0 // files that changed are work by themselves
	a.History, b.History = "", ""
	return a == b
}

func findRepo(m *index.Manifest, name string) *index.Repo {
	if m == nil {
		return nil
	}
	for i := range m.Repos {
		if m.Repos[i].Name == name {
			return &m.Repos[i]
		}
	}
	return nil
}

type knownFile struct {
	id          uint32
	size, mtime int64
	hash        []byte
	skipped     string // reason, for a file that was read and left out
}

// knownFiles reads what the index has of every file, live ones and those that were
// read and left out, so that neither is read again.
func knownFiles(dir string, m *index.Manifest) (map[project.Path]knownFile, error) {
	db, err := index.OpenRows(filepath.Join(dir, m.Build, index.RowsName), true)
	if err != nil {
		return nil, fmt.Errorf("%w: %v; run `chinvex ingest --rebuild`", index.ErrDamaged, err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT id, repo, path, size, mtime, hash, problem, lines FROM files WHERE born <= ?1 AND (died IS NULL OR died > ?1)", m.Generation)
	if err != nil {
		return nil, fmt.Errorf("%w: %v; run `chinvex ingest --rebuild`", index.ErrDamaged, err)
	}
	defer rows.Close()
	known := make(map[project.Path]knownFile, m.Stats.LiveFiles)
	for rows.Next() {
		var k knownFile
		var p project.Path
		var problem string
		var lines int
		if err := rows.Scan(&k.id, &p.Repo, &p.Rel, &k.size, &k.mtime, &k.hash, &problem, &lines); err != nil {
			return nil, err
		}
		if lines < 0 {
			k.skipped = problem
		}
		known[p] = k
	}
	return known, rows.Err()
}

// apply reads, parses and stores what the plan says. Files are parsed side by side
// and stored in order of path, so that ids do not depend on the number of cores.
func (r *run) apply(p *plan) error {
	w := r.w
	for _, id := range p.remove {
		if err := r.retire(id); err != nil {
			return err
		}
		r.report.Removed++
	}
	if err := w.prune(r.now); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	workers := max(1, min(runtime.GOMAXPROCS(0), len(p.read)))
	type job struct {
		planned
		result chan *parsed
	}
	jobs := make(chan job)
	ordered := make(chan job, 64) // bounds what is parsed but not stored
	go func() {
		defer close(jobs)
		defer close(ordered)
		for _, f := range p.read {
			j := job{f, make(chan *parsed, 1)}
			select {
			case ordered <- j:
			case <-ctx.Done():
				return
			}
			select {
			case jobs <- j:
			case <-ctx.Done():
				return
			}
		}
	}()
	for range workers {
		go func() {
			a := words.NewAnalyzer()
			for j := range jobs {
				j.result <- parseFile(ctx, j.candidate, j.before, r.Settings.Index.MaxFileBytes, a)
			}
		}()
	}
	done := 0
	for j := range ordered {
		var f *parsed
		select {
		case f = <-j.result:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := r.store(f, j.old, p); err != nil {
			return err
		}
		done++
		r.progress("index", done, len(p.read))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.stage("parse and store")
	return nil
}

func (r *run) store(f *parsed, old uint32, p *plan) error {
	w := r.w
	if f.unchanged {
		_, err := w.tx.Exec("UPDATE files SET size = ?, mtime = ? WHERE id = ?", f.size, f.mtime, old)
		w.changed = true // only remembers the time, yet saves the next ingest the reading
		if _, live := w.files[old]; !live {
			p.leftOut[skippedReason(w, old)]++
		}
		return err
	}
	if old != 0 {
		if err := r.retire(old); err != nil {
			return err
		}
	}
	if f.reason == Missing {
		if old != 0 {
			r.report.Removed++
		}
		return nil
	}
	if f.reason != "" {
		p.leftOut[f.reason]++
		if f.reason == Binary || f.reason == Minified {
			return w.addSkipped(f)
		}
		return nil
	}
	if old != 0 {
		r.report.Changed++
	} else {
		r.report.Added++
	}
	return w.add(f)
}

// retire ends a version's life, whether it was indexed or only remembered as left out.
func (r *run) retire(id uint32) error {
	if _, live := r.w.files[id]; live {
		return r.w.remove(id, r.now)
	}
	r.w.changed = true
	_, err := r.w.tx.Exec("DELETE FROM files WHERE id = ? AND lines < 0", id)
	return err
}

func skippedReason(w *writer, id uint32) (reason string) {
	_ = w.tx.QueryRow("SELECT problem FROM files WHERE id = ?", id).Scan(&reason)
	return reason
}

// addSkipped remembers a file that was read and left out: a row with lines -1.
func (w *writer) addSkipped(p *parsed) error {
	id := w.next.Files
	w.next.Files++
	w.changed = true
	_, err := w.tx.Exec("INSERT INTO files VALUES(?,?,?,?,?,?,'',0,-1,'',0,0,0,0,0,0,?,?,NULL,NULL)", id, p.path.Repo, p.path.Rel, p.hash[:], p.size, p.mtime, p.reason, w.next.Generation)
	return err
}

// finish reads the history, merges segments, embeds the new chunks and publishes.
func (r *run) finish(history []historyPlan) error {
	w := r.w
	for _, h := range history {
		n, err := r.readHistory(h)
		if err != nil {
			return err
		}
		r.report.Commits += n
	}
	if len(history) > 0 {
		r.stage("history")
	}
	if err := w.mergeSegments(); err != nil {
		return err
	}
	r.stage("postings")
	if err := r.embed(); err != nil {
		return err
	}
	r.stage("embed")
	r.report.Rebuilt = w.fresh
	if w.fresh {
		if _, err := w.tx.Exec("ANALYZE"); err != nil {
			return fmt.Errorf("cannot analyse rows.db: %w", err)
		}
		w.next.Fitted = uint32(w.next.Stats.LiveChunks)
	}
	if err := w.publish(); err != nil {
		return err
	}
	r.stage("publish")
	r.report.Published, r.report.Generation = true, w.next.Generation
	r.report.LeftOut, r.report.Stats = w.next.Stats.LeftOut, w.next.Stats
	return nil
}

// Refresh reads a few files again, such as one that an agent has just edited, and
// publishes. It does not look for other changes. Paths of no repository of the context
// and of files that should not be indexed are passed over. Without an index it is
// ErrNoIndex.
//
// While another process writes the index, the paths are left to it (the report says
// Queued): edits come faster than refreshes at times, and processes must not pile up.
func Refresh(ctx context.Context, o Options, paths []project.Path) (*Report, error) {
	dir := o.Context.IndexDir()
	// Before making files where no index is, or none that could take them in.
	m, err := index.ReadManifest(dir)
	if err == nil {
		err = index.CheckModel(m, o.Settings.Embedding)
	}
	if err != nil {
		return nil, err
	}
	if _, err := index.Enqueue(dir, paths); err != nil {
		return nil, err
	}
	return drain(ctx, o)
}

// drain refreshes what is queued until nothing is.
func drain(ctx context.Context, o Options) (*Report, error) {
	dir := o.Context.IndexDir()
	total := &Report{Queued: true}
	for {
		waiting, err := index.Requests(dir)
		if err != nil || len(waiting) == 0 {
			return total, err
		}
		l, err := lock(ctx, dir, 0)
		if errors.Is(err, ErrLocked) {
			return total, nil // its holder looks at the queue after it has let go
		}
		if err != nil {
			return nil, err
		}
		report, err := refreshQueue(ctx, o)
		_ = l.Unlock()
		if err != nil {
			return nil, err
		}
		total.Queued = false
		total.Generation, total.Stats, total.LeftOut = report.Generation, report.Stats, report.LeftOut
		total.Published = total.Published || report.Published
		total.Added, total.Changed, total.Removed = total.Added+report.Added, total.Changed+report.Changed, total.Removed+report.Removed
		total.Stages = append(total.Stages, report.Stages...)
	}
}

// refreshQueue does one refresh of all that is queued, under the lock.
func refreshQueue(ctx context.Context, o Options) (*Report, error) {
	r := &run{Options: o, ctx: ctx, last: time.Now(), now: time.Now()}
	dir := o.Context.IndexDir()
	waiting, err := index.Requests(dir)
	if err != nil {
		return nil, err
	}
	paths := index.Requested(waiting)
	done := func() {
		for _, file := range waiting {
			_ = os.Remove(file)
		}
	}
	m, err := index.ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	if err := index.CheckModel(m, o.Settings.Embedding); err != nil {
		return nil, err
	}
	p := &plan{repos: m.Repos, leftOut: map[string]int{}}
	for reason, n := range m.Stats.LeftOut {
		p.leftOut[reason] = n
	}
	if err := r.planPaths(dir, m, p, paths); err != nil {
		return nil, err
	}
	if !p.work() {
		done()
		r.report.Generation, r.report.Stats = m.Generation, m.Stats
		return &r.report, nil
	}
	if r.w, err = openWriter(dir, m, m.Generation+1, true); errors.Is(err, errCutShort) {
		if err = r.ingest(dir, nil, m.Generation+1); err == nil {
			done()
		}
		return &r.report, err
	}
	if err != nil {
		return nil, err
	}
	defer r.w.abort()
	if err := r.apply(p); err != nil {
		return nil, err
	}
	r.w.next.Stats.LeftOut = p.leftOut
	if err := r.finish(nil); err != nil {
		return nil, err
	}
	done()
	return &r.report, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (r *run) planPaths(dir string, m *index.Manifest, p *plan, paths []project.Path) error {
	db, err := index.OpenRows(filepath.Join(dir, m.Build, index.RowsName), true)
	if err != nil {
		return fmt.Errorf("%w: %v; run `chinvex ingest --rebuild`", index.ErrDamaged, err)
	}
	defer db.Close()
	for _, path := range paths {
		repo, ok := r.Context.Repository(path.Repo)
		if !ok || !isDir(repo.Root) {
			continue // the whole repository is gone, which is no edit
		}
		ignored, err := ignoreRules(repo.Root)
		if err != nil {
			return err
		}
		var k knownFile
		err = db.QueryRow("SELECT id, size, mtime, hash FROM files WHERE repo = ?1 AND path = ?2 AND born <= ?3 AND (died IS NULL OR died > ?3)", path.Repo, path.Rel, m.Generation).
			Scan(&k.id, &k.size, &k.mtime, &k.hash)
		known := err == nil
		c, reason := examine(repo, path.Rel, r.Settings, ignored)
		switch {
		case reason == "" && known && k.size == c.size && k.mtime == c.mtime:
		case reason == "" && !known && r.gitIgnores(repo, path):
		case reason == "":
			p.read = append(p.read, planned{c, k.id, k.hash})
		case known:
			p.remove = append(p.remove, k.id)
		}
	}
	return nil
}

// embed makes the vectors of the chunks that this generation added.
func (r *run) embed() error {
	w := r.w
	model, err := r.model()
	if err != nil {
		return err
	}
	if c, ok := model.(interface{ Close() error }); ok {
		defer c.Close()
	}
	if w.next.Embedding = model.Model(); w.next.Embedding.Dimensions == 0 {
		// A remote model tells its dimensions with the first answer.
		if _, err := model.Embed(r.ctx, []string{"dimensions"}); err != nil {
			return err
		}
		w.next.Embedding = model.Model()
	}
	var first uint32
	if !w.fresh {
		first = w.previous.Chunks
	}
	dims := w.next.Embedding.Dimensions
	if !w.fresh && dims != w.previous.Embedding.Dimensions {
		return fmt.Errorf("%w: the model %s now gives %d dimensions, the index has %d; run `chinvex ingest --rebuild`", index.ErrMismatch, w.next.Embedding.Name, dims, w.previous.Embedding.Dimensions)
	}
	if w.vectors, err = w.table(index.VectorsName, int64(first)*int64(vector.RowBytes(dims))); err != nil {
		return err
	}
	if w.sketches, err = w.table(index.SketchesName, int64(first)*int64(vector.SketchBytes(dims))); err != nil {
		return err
	}
	const batch = 512
	texts := make([]string, 0, batch)
	all, done := int(w.next.Chunks-first), 0
	flush := func() error {
		vectors, err := model.Embed(r.ctx, texts)
		if err != nil {
			return err
		}
		done += len(texts)
		r.progress("embed", done, all)
		texts = texts[:0]
		return w.appendVectors(vectors)
	}
	var failed error
	for text := range r.chunkTexts(first, &failed) {
		if texts = append(texts, text); len(texts) == batch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if failed != nil {
		return failed
	}
	if len(texts) > 0 {
		return flush()
	}
	return nil
}

// model opens or makes the embedder: the built-in one is fitted for a new build and
// kept for the build's life.
func (r *run) model() (embed.Embedder, error) {
	w := r.w
	file := filepath.Join(w.build, index.ModelName)
	if r.Settings.Embedding.Provider != embed.ProviderBuiltin {
		return remote.FromSettings(r.Settings.Embedding)
	}
	if !w.fresh {
		return embed.OpenBuiltin(file, index.NewTokenize)
	}
	var failed error
	r.progress("fit", 0, 0)
	model, err := embed.Fit(r.ctx, r.chunkTexts(0, &failed), index.NewTokenize)
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	r.stage("fit")
	if err := model.WriteFile(file); err != nil {
		return nil, err
	}
	return model, syncFile(file)
}
