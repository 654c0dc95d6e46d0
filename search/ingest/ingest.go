// Package ingest builds, refreshes and publishes the index that package index
// describes. There is one writer at a time; readers never wait for it.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/chinvex/chinvex/parse/words"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search/embed"
	"github.com/chinvex/chinvex/search/index"
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

// Pending counts, by repository, the files that an Ingest would look at: new ones, gone
// ones, and those whose size or time differs from what is indexed. It reads no file, takes
// no lock and changes nothing. The error wraps that of index.ReadManifest when there is no
// index to compare with.
func Pending(ctx context.Context, o Options) (map[string]int, error) {
	r := &run{Options: o, ctx: ctx}
	dir := o.Context.IndexDir()
	m, err := index.ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	plan, _, err := r.compare(dir, m)
	if err != nil {
		return nil, err
	}
	for _, f := range plan.read {
		plan.gone[f.path.Repo]++
	}
	return plan.gone, nil
}

// compare lists the files of every repository and finds what has to be done.
func (r *run) compare(dir string, m *index.Manifest) (*plan, map[string]*selection, error) {
	selections := map[string]*selection{}
	var missing []string
	for _, repo := range r.Context.Includes.Repos {
		sel, err := choose(r.ctx, repo, r.Settings)
		if err != nil {
			if r.ctx.Err() != nil || len(r.Context.Includes.Repos) == 1 {
				return nil, nil, err
			}
			missing = append(missing, repo.Name)
			r.note("%v", err)
			continue
		}
		selections[repo.Name] = sel
	}
	r.stage("list files")
	plan, err := r.plan(dir, m, selections, missing)
	r.stage("compare")
	return plan, selections, err
}

func (r *run) ingest(dir string, m *index.Manifest, generation int64) error {
	// Everything that only reads comes first, so that an ingest with nothing to do
	// never opens a writer.
	plan, selections, err := r.compare(dir, m)
	if err != nil {
		return err
	}
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
