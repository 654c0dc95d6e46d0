package ingest

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search/index"
)

// Reading a few files again, after an edit.

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
