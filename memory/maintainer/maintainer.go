// Package maintainer keeps a project's memory files up to date with its history:
// it gathers what happened since the last time, lets a writer propose, holds the
// proposal against the contracts, and writes the three files or none.
//
// # What is covered
//
// The coverage anchor of STATE.md names the newest commit that has been read; it
// and its ancestors are covered. A run reads at most Limits.Commits of the others,
// the oldest first and each before its children. Where it ends inside a branch that
// a later merge brings in, no single commit stands for all that has been read; then
// a comment before the anchor names the tips of the other branches, full hashes with
// commas between:
//
//	<!-- chinvex:also-covered:HASH,HASH -->
//
// So each commit is read once whatever the shape of history, and the comment is
// gone when the anchor has reached the last commit. Whoever does not know of it
// reads too much, never too little.
//
// # What is stored
//
// In the work tree the three files alone. In the git directory, where no git status
// shows them, chinvex/memory.lock, held while an update is made or files are
// committed, and chinvex/memory.json (with a dash and eight digits of a hash behind
// "memory" for a folder that is not the work tree's root):
//
//   - "pending": the files that are being written, in their order, with the path
//     from the top of the work tree, the SHA-256 of the bytes before ("" for no
//     file), the new bytes in base64, and the mode. It is on disk before the first
//     file changes and gone after the last. The next run finds what a crash left and
//     writes the rest; STATE.md with the anchor comes last, so where that cannot be,
//     because a person has edited a file since, the range is read again.
//   - "state": the SHA-256 of STATE.md as written last. A file that is neither this
//     nor committed was edited by hand.
//   - "planned": the anchor and the head that Plan saw last, and its limits, so that
//     Apply covers what the plan showed and no commit that came since.
package maintainer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chinvex/chinvex/git"
	"github.com/chinvex/chinvex/memory"
	"github.com/chinvex/chinvex/project"
)

var (
	// ErrNothing says that no commit is to be read: nothing was changed.
	ErrNothing = errors.New("nothing to do: the memory files cover every commit")
	// ErrRefused says that a proposal breaks the contracts: nothing was written.
	ErrRefused = errors.New("the proposal breaks the contracts of the memory files; nothing was written")
	// ErrLocked says that another process is at work.
	ErrLocked = errors.New("another update of the memory files is under way here; run this again when it has ended")
)

// Options say which memory is to be updated.
type Options struct {
	Repo   project.Repository // its Root is a git work tree or a folder in one, whose history alone counts then
	Now    time.Time          // its day, in its zone, is the one in the files
	Limits Limits
	// Exclude tells of a path, relative to the repository, whether the user leaves that
	// file out: then writers get neither its text nor its name. nil: of none.
	Exclude func(rel string) bool
	Wait    time.Duration // how long to wait for another process; 0 means 5 seconds
}

// Limits bound the inputs. 0 means the default.
type Limits struct {
	Commits   int `json:"commits"`    // read in one run; default 50
	Files     int `json:"files"`      // whose differences are shown; default 20
	TextBytes int `json:"text_bytes"` // of specifications and plans; default 100 KiB
	Excerpt   int `json:"excerpt"`    // bytes of one difference, half of those of a manifest; default 8 KiB
}

func (l Limits) withDefaults() Limits {
	for _, d := range []struct {
		value    *int
		standard int
	}{{&l.Commits, 50}, {&l.Files, 20}, {&l.TextBytes, 100 << 10}, {&l.Excerpt, 8 << 10}} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	return l
}

// Work is what is to be done.
type Work struct {
	Inputs memory.Inputs `json:"inputs"` // exactly what a writer gets

	anchor     string   // as it stands in STATE.md; "" without one
	head       string   // commit up to which there is history to read
	also       []string // tips that are covered besides Inputs.To
	handEdited bool     // STATE.md, and not committed
}

// Writer proposes what the files should say. After a proposal was refused it is
// asked once more with that proposal and the reasons; before is nil when the first
// answer was no proposal at all, which an error with a method
//
//	Problem() memory.Problem
//
// says. Any other error ends the run.
type Writer interface {
	Propose(ctx context.Context, in *memory.Inputs, before *memory.Proposal, problems []memory.Problem) (*memory.Proposal, error)
}

// Result is what was done.
type Result struct {
	From      string           `json:"from"`                // full hash; "" when nothing was covered
	To        string           `json:"to"`                  // full hash that the anchor names now
	Commits   int              `json:"commits"`             // that were read
	Remaining int              `json:"remaining"`           // commits left for the next run
	Changed   []string         `json:"changed"`             // files written, relative to the repository
	Diff      string           `json:"diff"`                // unified, from the last commit to the files; for STATE.md with edits by hand, from those
	Committed string           `json:"committed,omitempty"` // full hash, where the caller has called Commit
	Review    []string         `json:"manual_review"`       // why a person should look at the result
	Refused   []memory.Problem `json:"refused,omitempty"`   // why nothing was written
}

// Plan gathers what a writer needs. The error wraps ErrNothing when there is nothing
// to do. It changes no file, but for finishing an update that was interrupted.
func Plan(ctx context.Context, o Options) (*Work, error) {
	r, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	work, err := r.plan(ctx, r.head)
	if err != nil {
		return nil, err
	}
	r.journal.Planned = &planned{Anchor: work.anchor, Head: work.head, Limits: r.Limits}
	return work, r.save()
}

// Run updates the files with what the writer proposes. With an error that wraps
// ErrRefused the result tells the reasons.
func Run(ctx context.Context, o Options, w Writer) (*Result, error) {
	r, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	work, err := r.plan(ctx, r.head)
	if err != nil {
		return nil, err
	}
	var before *memory.Proposal
	var problems []memory.Problem
	for round := 1; ; round++ {
		in := work.Inputs // a writer's own
		proposal, err := w.Propose(ctx, &in, before, problems)
		if err != nil {
			var unusable interface{ Problem() memory.Problem }
			if round > 1 || !errors.As(err, &unusable) {
				return nil, err
			}
			before, problems = nil, []memory.Problem{unusable.Problem()}
			continue
		}
		result, err := r.write(ctx, work, proposal)
		if round > 1 || !errors.Is(err, ErrRefused) {
			return result, err
		}
		before, problems = proposal, result.Refused
	}
}

// Apply updates the files with a proposal that somebody has made of a plan. It covers
// what the last Plan showed, under the limits of that; without one, what Plan would
// show now.
func Apply(ctx context.Context, o Options, p *memory.Proposal) (*Result, error) {
	r, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	files, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	head, over := r.head, false
	if plan := r.journal.Planned; plan != nil {
		if over = plan.Anchor != anchorOf(files); !over {
			head, r.Limits = plan.Head, plan.Limits.withDefaults()
		}
		if !r.covers(ctx, r.head, head) {
			return nil, errors.New("the commits that were planned for are not in this branch; plan again, and propose from that")
		}
	}
	work, err := r.plan(ctx, head)
	switch {
	case err != nil:
		return nil, err
	case over:
		return nil, errors.New("the memory files were updated since the plan was made; plan again, and propose from that")
	}
	return r.write(ctx, work, p)
}

// Commit commits the memory files as they are, alone: what is staged stays staged.
// It returns the commit's full hash. The error wraps git.ErrUnchanged when they are
// committed already; the hash comes with an error when a hook has changed the commit.
//
// It is a commit in the user's name, so the user's hooks run: a project's rules for
// commits hold for these as well.
func Commit(ctx context.Context, o Options) (hash string, err error) {
	r, err := open(ctx, o)
	if err != nil {
		return "", err
	}
	defer r.close()
	files, err := r.read(ctx)
	if err != nil {
		return "", err
	}
	var paths []string
	for kind, doc := range []*memory.Document{memory.State: files.State, memory.Constraints: files.Constraints, memory.Decisions: files.Decisions} {
		if doc == nil {
			continue
		}
		path := r.paths[kind]
		if ignored, err := r.repo.Ignores(ctx, path); err != nil {
			return "", err
		} else if ignored {
			return "", fmt.Errorf("%s is ignored by git; take it out of the ignore rules, or update the memory without committing it", path)
		}
		paths = append(paths, path)
	}
	if len(paths) == 0 {
		return "", fmt.Errorf("%s has no memory files; update the memory first", r.root)
	}
	if hash, err = r.repo.CommitOnly(ctx, memory.CommitSubject, paths); err != nil {
		return "", err
	}
	made, err := r.repo.Commits(ctx, []string{hash})
	if err != nil {
		return hash, err
	}
	if made[0].Subject != memory.CommitSubject {
		return hash, fmt.Errorf("a hook changed the subject of commit %s to %q, so the next update reads it as work on the project", short(hash), made[0].Subject)
	}
	for _, f := range made[0].Files {
		if !slices.Contains(paths, f.Path) {
			return hash, fmt.Errorf("a hook put %s into commit %s, which is of the memory files; look at it with git show", f.Path, short(hash))
		}
	}
	return hash, nil
}

// run is one update under the lock.
type run struct {
	Options
	repo    *git.Repo
	root    string    // o.Repo.Root, links resolved
	prefix  string    // of root's paths from the top of the work tree: "" or "folder/"
	paths   [3]string // of the files from the top of the work tree, links resolved, by kind
	head    string
	review  []string
	journal journal
	unlock  func()
}

// open finds the repository, locks it, and finishes what a crash has left.
func open(ctx context.Context, o Options) (*run, error) {
	repo, err := git.Open(ctx, o.Repo.Root)
	if err != nil {
		return nil, err
	}
	head, err := repo.Head(ctx)
	switch {
	case err != nil:
		return nil, err
	case head.Unborn:
		return nil, fmt.Errorf("%s has no commits yet; commit something first", o.Repo.Root)
	}
	o.Limits = o.Limits.withDefaults()
	if o.Exclude == nil {
		o.Exclude = func(string) bool { return false }
	}
	r := &run{Options: o, repo: repo, head: head.Hash}
	if r.root, err = filepath.EvalSymlinks(o.Repo.Root); err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(repo.Root, r.root)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("%s is outside of its work tree %s; name the folder itself", o.Repo.Root, repo.Root)
	}
	if rel != "." {
		r.prefix = filepath.ToSlash(rel) + "/"
	}
	for kind := range r.paths {
		name := memory.Kind(kind).Path()
		path, inside := project.Repository{Root: r.root}.PathOf(filepath.Join(r.root, filepath.FromSlash(name)))
		if !inside {
			return nil, fmt.Errorf("%s is reached through a link that leaves the repository; put a folder in its place", name)
		}
		if r.paths[kind] = r.prefix + path.Rel; slices.Contains(r.paths[:kind], r.paths[kind]) {
			return nil, fmt.Errorf("%s is a link to another memory file; put a file in its place", name)
		}
	}
	if err := r.lock(ctx); err != nil {
		return nil, err
	}
	if err := r.recover(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *run) close() { r.unlock() }

// abs is the file name of a path from the top of the work tree.
func (r *run) abs(path string) string { return filepath.Join(r.repo.Root, filepath.FromSlash(path)) }

// read reads the files, which must be all there that were committed: to write one
// anew would lose what it said.
func (r *run) read(ctx context.Context) (memory.Files, error) {
	files, problems := memory.ReadFiles(r.root)
	if len(problems) > 0 {
		return files, fmt.Errorf("%w; repair it, nothing is written until then", errors.Join(problems...))
	}
	for kind, doc := range []*memory.Document{memory.State: files.State, memory.Constraints: files.Constraints, memory.Decisions: files.Decisions} {
		if doc != nil {
			continue
		}
		if committed, err := r.committed(ctx, memory.Kind(kind)); err != nil {
			return files, err
		} else if committed != nil {
			return files, fmt.Errorf("%s is committed but not in the work tree; bring it back with git checkout HEAD -- %[1]s, or commit that it is gone", r.paths[kind])
		}
	}
	return files, nil
}

// committed returns a file as it is in the last commit; nil when it is not.
func (r *run) committed(ctx context.Context, kind memory.Kind) ([]byte, error) {
	data, _, err := r.repo.Blob(ctx, r.head, r.paths[kind], memory.MaxFileSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return append([]byte{}, data...), err
}

// covers tells whether a commit is another one or an ancestor of it.
func (r *run) covers(ctx context.Context, commit, ancestor string) bool {
	bases, err := r.repo.MergeBases(ctx, commit, ancestor)
	return err == nil && slices.Contains(bases, ancestor)
}

// write makes the files of a proposal, and writes them unless it is refused. The
// files are read again: a model takes minutes, in which a person may have edited.
func (r *run) write(ctx context.Context, work *Work, p *memory.Proposal) (*Result, error) {
	in := work.Inputs
	result := &Result{From: in.From, To: in.To, Commits: len(in.Commits), Remaining: in.Remaining, Review: in.Review, Changed: []string{}}
	head, err := r.repo.Head(ctx)
	if err != nil {
		return nil, err
	}
	if !r.covers(ctx, head.Hash, in.To) {
		return nil, fmt.Errorf("another commit was checked out meanwhile, and commit %s is not in its history; nothing was written, run this again", short(in.To))
	}
	old, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	if anchor := anchorOf(old); anchor != work.anchor {
		return nil, errors.New("STATE.md was given another coverage anchor meanwhile; nothing was written, run this again")
	}
	env := memory.Environment{Today: r.Now, To: in.To, Review: in.Review, Exists: r.exists(ctx)}
	if result.Refused = memory.Check(old, p, env); len(result.Refused) > 0 {
		return result, ErrRefused
	}
	made, err := memory.Apply(old, p, env)
	if err != nil {
		return nil, err
	}
	made.State = withTips(made.State, work.also)
	if result.Refused = memory.CheckChange(old, made); len(result.Refused) > 0 { // a last look
		return result, ErrRefused
	}

	var changes []pending
	var diff strings.Builder
	for _, f := range []struct{ old, made *memory.Document }{ // the anchor comes last
		{old.Constraints, made.Constraints}, {old.Decisions, made.Decisions}, {old.State, made.State},
	} {
		kind, data := f.made.Kind, f.made.Bytes()
		if len(data) > memory.MaxFileSize {
			return nil, fmt.Errorf("%s would be larger than 1 MiB; nothing was written, move old entries to a file of their own", kind.Path())
		}
		before, err := r.committed(ctx, kind)
		if err != nil {
			return nil, err
		}
		if kind == memory.State && work.handEdited && f.old != nil {
			before = f.old.Bytes()
		}
		diff.WriteString(unified(kind.Path(), before, data))
		if f.old != nil && bytes.Equal(f.old.Bytes(), data) {
			continue
		}
		change := pending{Path: r.paths[kind], After: data}
		if f.old != nil {
			change.Before = digest(f.old.Bytes())
		}
		changes = append(changes, change)
		result.Changed = append(result.Changed, kind.Path())
	}
	result.Diff = diff.String()
	slices.Sort(result.Changed)
	if err := r.store(changes); err != nil {
		return nil, err
	}
	return result, nil
}

// exists returns a function that looks a commit up, once each.
func (r *run) exists(ctx context.Context) func(string) bool {
	known := map[string]bool{}
	return func(evidence string) bool {
		found, looked := known[evidence]
		if !looked {
			found = r.repo.HasCommit(ctx, evidence)
			known[evidence] = found
		}
		return found
	}
}

func short(hash string) string { return hash[:min(len(hash), 10)] }
