package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chinvex/chinvex/git"
	"github.com/chinvex/chinvex/project"
)

const (
	// maxCommits bounds what is read of the history since a commit: 7 ms on a
	// large repository, where 200 take 20.
	maxCommits = 50
	// shownCommits of them are told by subject; without any earlier commit to
	// start from, newestCommits.
	shownCommits  = 10
	newestCommits = 5
	// shownFiles are named as those that changed most.
	shownFiles = 5
)

// history is what git says of a repository.
type history struct {
	head    git.Head
	subject string // of head; "" where the commits tell it

	behind string // how the memory stands to head: "up to date", "3 commits behind"; "" unknown

	title   string // what the commits are
	command string // the git command that lists them all
	commits []git.Commit
	more    bool     // there are older ones
	files   []string // those that changed most, most changed first

	problem string // why there is no history, or not all of it; one line
}

// commitLog is what one run of git log gave: at most maxCommits, those of the
// maintainer left out.
type commitLog struct {
	commits []git.Commit
	more    bool // there are older ones
	err     error
}

func (l commitLog) count() string {
	switch {
	case l.more:
		return fmt.Sprintf("over %d commits", maxCommits)
	case len(l.commits) == 1:
		return "1 commit"
	}
	return fmt.Sprintf("%d commits", len(l.commits))
}

// readHistory asks git, in at most two processes side by side where history has
// not been rewritten. anchor is the commit that the memory covers, or "".
func readHistory(ctx context.Context, r Request, anchor string) history {
	root, _, ok := project.WorkTreeRoot(r.Root)
	if !ok {
		return history{problem: "This is no git work tree."}
	}
	repo, head, ok := git.OpenFast(root)
	if !ok {
		var err error
		if repo, err = git.Open(ctx, root); err == nil {
			head, err = repo.Head(ctx)
		}
		if err != nil {
			return history{problem: explain(ctx, err)}
		}
	}
	h := history{head: head}
	if head.Unborn {
		return h
	}
	dir := "" // a repository of a context can be a folder of a work tree
	if real, err := filepath.EvalSymlinks(r.Root); err == nil && real != repo.Root {
		dir = real
	}
	log := func(opts git.LogOptions) func() commitLog {
		opts.Dir = dir
		done := make(chan commitLog, 1)
		go func() { done <- readLog(ctx, repo, opts) }()
		return func() commitLog {
			select {
			case l := <-done:
				return l
			case <-ctx.Done(): // git may be slow to end
				return commitLog{err: ctx.Err()}
			}
		}
	}
	since := func(hash string) func() commitLog {
		if strings.HasPrefix(head.Hash, hash) {
			return func() commitLog { return commitLog{} }
		}
		return log(git.LogOptions{Revision: hash + ".." + head.Hash, Depth: maxCommits + 1})
	}

	var sinceAnchor, sinceLast func() commitLog
	if anchor != "" {
		sinceAnchor = since(anchor)
	}
	last := r.Last
	if !isCommit(last.Head) {
		last.Head = ""
	}
	if last.Head != "" && last.Head != anchor {
		sinceLast = since(last.Head)
	}

	var covered commitLog
	if sinceAnchor != nil {
		switch covered = sinceAnchor(); {
		case isMissing(covered.err):
			h.behind = "at a commit that this clone does not have (" + short(anchor) + ")"
		case covered.err == nil && len(covered.commits) == 0:
			h.behind = "up to date"
		case covered.err == nil:
			h.behind = covered.count() + " behind"
		}
	}

	var l commitLog
	when := ""
	if !last.Ended.IsZero() {
		when = " (" + last.Ended.In(r.Now.Location()).Format("2006-01-02 15:04") + ")"
	}
	switch {
	case last.Head != "":
		if l = covered; sinceLast != nil {
			l = sinceLast()
		}
		h.title, h.command = "since the last session"+when, "git log "+short(last.Head)+"..HEAD"
		if !isMissing(l.err) || last.Ended.IsZero() {
			break
		}
		when = strings.TrimSuffix(when, ")") + "; its commit " + short(last.Head) + " is gone)"
		fallthrough
	case !last.Ended.IsZero():
		date := last.Ended.UTC().Format(time.RFC3339)
		l = log(git.LogOptions{Revision: head.Hash, Depth: maxCommits + 1, Since: date})()
		h.title, h.command = "since the last session"+when, "git log --since="+date
	case anchor != "" && !isMissing(covered.err):
		l = covered
		h.title, h.command = "since the memory files were updated", "git log "+short(anchor)+"..HEAD"
	default:
		l = log(git.LogOptions{Revision: head.Hash, Depth: newestCommits})()
		h.title, h.command = "Newest commits", "git log"
	}
	if l.err != nil {
		h.title, h.problem = "", explain(ctx, l.err)
		return h
	}
	h.commits, h.more, h.files = l.commits, l.more, changedMost(l.commits, repo.Root, dir)
	switch {
	case h.command == "git log":
	case len(h.commits) > 0:
		h.title = l.count() + " " + h.title
	case h.behind != "" && l.err == nil && last == (project.Session{}): // which the age of the memory says
		h.title = ""
	default:
		h.title = "no commits " + h.title
	}
	if len(h.commits) == 0 { // then no line tells what was done last
		newest := log(git.LogOptions{Revision: head.Hash, Depth: 1, Merges: true, MaxFiles: 1})()
		if len(newest.commits) > 0 {
			h.subject = newest.commits[0].Subject
		}
	}
	return h
}

// readLog leaves out the commits of the maintainer, who did no work on the
// project, unless a single one was asked for.
func readLog(ctx context.Context, repo *git.Repo, opts git.LogOptions) commitLog {
	var l commitLog
	n := 0
	l.err = repo.Log(ctx, opts, func(c git.Commit) error {
		if n++; n > maxCommits {
			l.more = true
		} else if opts.Depth == 1 || !isUpdate(c) {
			l.commits = append(l.commits, c)
		}
		return nil
	})
	return l
}

// isUpdate tells whether a commit is the maintainer's own.
func isUpdate(c git.Commit) bool {
	if !IsCommitSubject(c.Subject) {
		return false
	}
	for _, f := range c.Files {
		if !strings.HasPrefix(f.Path, Dir+"/") && !strings.Contains(f.Path, "/"+Dir+"/") {
			return false
		}
	}
	return true
}

// changedMost returns the files, relative to dir, that the most of the commits
// changed and that still exist: all when they are few, else those of at least
// two commits.
func changedMost(commits []git.Commit, root, dir string) []string {
	prefix := ""
	if rel, err := filepath.Rel(root, dir); err == nil && dir != "" {
		prefix = filepath.ToSlash(rel) + "/"
	}
	count := map[string]int{}
	gone := map[string]bool{}
	for _, c := range commits { // newest first
		for _, f := range c.Files {
			path, inside := strings.CutPrefix(f.Path, prefix)
			if _, seen := count[path]; !seen {
				gone[path] = f.Status == 'D'
			}
			if count[path]++; !inside {
				gone[path] = true
			}
		}
	}
	type changed struct {
		path    string
		commits int
	}
	var files []changed
	for path, n := range count {
		if !gone[path] {
			files = append(files, changed{path, n})
		}
	}
	if len(files) > shownFiles {
		files = slices.DeleteFunc(files, func(f changed) bool { return f.commits < 2 })
	}
	slices.SortFunc(files, func(a, b changed) int {
		return cmp.Or(cmp.Compare(b.commits, a.commits), cmp.Compare(a.path, b.path))
	})
	var lines []string
	for _, f := range files[:min(len(files), shownFiles)] {
		if f.commits > 1 {
			f.path += fmt.Sprintf(" (%d)", f.commits)
		}
		lines = append(lines, f.path)
	}
	return lines
}

// isMissing tells whether git log failed over the commits it was given, and not
// over the repository or the time.
func isMissing(err error) bool {
	if err == nil {
		return false
	}
	for _, other := range []error{context.DeadlineExceeded, context.Canceled, git.ErrNoGit, git.ErrUnsafe, git.ErrNotRepository, git.ErrBare} {
		if errors.Is(err, other) {
			return false
		}
	}
	return true
}

// explain makes one line of why there is no history.
func explain(ctx context.Context, err error) string {
	switch {
	case ctx.Err() != nil:
		return "git took too long; commits are left out"
	case errors.Is(err, git.ErrNoGit):
		return "the git program was not found; commits are left out"
	}
	return "commits are left out: " + err.Error()
}

// isCommit tells whether s can be a commit's full name.
func isCommit(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

func short(hash string) string { return hash[:min(len(hash), 10)] }
