package ingest

import (
	"fmt"
	"strings"

	"github.com/chinvex/chinvex/git"
	"github.com/chinvex/chinvex/parse/words"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search/index"
)

// historyPlan says which commits of a repository to read.
type historyPlan struct {
	repo  project.Repository
	git   *git.Repo
	head  string
	since string // newest commit that is counted already, "" for none
}

// repoState describes a repository as it is now, and what of its history is not
// counted yet.
func (r *run) repoState(m *index.Manifest, repo project.Repository, sel *selection) (index.Repo, *historyPlan) {
	state := index.Repo{Name: repo.Name, Root: repo.Root, Note: sel.note, IndexedAt: r.now.Unix()}
	if sel.repo == nil {
		return state, nil
	}
	state.Head, state.Branch = sel.head.Hash, sel.head.Branch
	state.Shallow = sel.repo.IsShallow()
	if sel.head.Unborn {
		return state, nil
	}
	state.History = sel.head.Hash
	old := findRepo(m, repo.Name)
	if old != nil && old.History == sel.head.Hash {
		return state, nil
	}
	h := &historyPlan{repo: repo, git: sel.repo, head: sel.head.Hash}
	if old != nil {
		h.since = old.History
	}
	return state, h
}

// readHistory stores the commits that are new since h.since, or the whole history up
// to the depth, and the words of their subjects.
func (r *run) readHistory(h historyPlan) (int, error) {
	w := r.w
	prefix, err := folderOf(h.git.Root, h.repo.Root)
	if err != nil {
		return 0, err
	}
	depth := r.Settings.Search.CouplingDepth
	var commits []git.Commit
	collect := func(c git.Commit) error {
		commits = append(commits, c)
		if len(commits)%500 == 0 {
			r.progress("history", len(commits), 0)
		}
		return nil
	}
	opts := git.LogOptions{Revision: h.head, Depth: depth, Dir: h.repo.Root}
	if h.since != "" {
		opts.Revision = h.since + ".." + h.head
		if err := h.git.Log(r.ctx, opts, collect); err != nil {
			if r.ctx.Err() != nil {
				return 0, err
			}
			// The commit is gone (a rebase and a garbage collection, a new clone).
			commits, h.since = nil, ""
			opts.Revision = h.head
		}
	}
	if h.since == "" {
		if err := h.git.Log(r.ctx, opts, collect); err != nil {
			if r.ctx.Err() != nil {
				return 0, err
			}
			r.note("The history of %s cannot be read (%v), so nothing is known of what changes together.", h.repo.Name, err)
			return 0, nil
		}
		if err := w.forgetHistory(h.repo.Name); err != nil {
			return 0, err
		}
	}
	if err := w.addHistory(h.repo.Name, prefix, commits, depth); err != nil {
		return 0, fmt.Errorf("cannot store the history of %s: %w", h.repo.Name, err)
	}
	return len(commits), nil
}

func (w *writer) forgetHistory(repo string) error {
	for _, q := range []string{
		"DELETE FROM commit_files WHERE commit_id IN (SELECT id FROM commits WHERE repo = ?)",
		"DELETE FROM commits WHERE repo = ?",
		"DELETE FROM paths WHERE repo = ?",
	} {
		if _, err := w.tx.Exec(q, repo); err != nil {
			return fmt.Errorf("cannot delete the old history of %s: %w", repo, err)
		}
	}
	return nil
}

// addHistory stores commits, given newest first, oldest first: ids grow with time.
func (w *writer) addHistory(repo, prefix string, commits []git.Commit, depth int) error {
	w.changed = true
	a := words.NewAnalyzer()
	subjects := index.NewSegmentWriter(index.CommitSegment)
	paths := map[string]int64{}
	live := map[string]bool{}
	for _, f := range w.files {
		if f.Path.Repo == repo {
			live[f.Path.Rel] = true
		}
	}
	insertFile, err := w.tx.Prepare("INSERT OR IGNORE INTO commit_files VALUES(?,?)")
	if err != nil {
		return err
	}
	defer insertFile.Close()
	insertCommit, err := w.tx.Prepare("INSERT INTO commits VALUES(?,?,?,?,?)")
	if err != nil {
		return err
	}
	defer insertCommit.Close()
	for i := len(commits) - 1; i >= 0; i-- {
		c := commits[i]
		if len(c.Files) == 0 {
			continue
		}
		id := w.next.Commits
		w.next.Commits++
		if _, err := insertCommit.Exec(id, repo, c.Hash, c.Time, c.Subject); err != nil {
			return err
		}
		terms := map[string]uint64{}
		a.Terms([]byte(c.Subject), func(t string) { terms[t]++ })
		subjects.Add(id, terms)
		for _, f := range c.Files {
			rel, ok := strings.CutPrefix(f.Path, prefix)
			if !ok {
				continue
			}
			if f.OldPath != "" {
				if err := w.rename(repo, strings.TrimPrefix(f.OldPath, prefix), rel, paths); err != nil {
					return err
				}
			}
			// A name that was moved away and taken again: what was done under it belongs to
			// the file that has it now.
			if then, ok := strings.CutPrefix(f.Then, prefix); ok && live[then] {
				rel = then
			}
			pid, ok := paths[rel]
			if !ok {
				if pid, err = w.pathID(repo, rel); err != nil {
					return err
				}
				paths[rel] = pid
			}
			if _, err := insertFile.Exec(pid, id); err != nil {
				return err
			}
		}
	}
	name := w.segmentName()
	seg, err := subjects.Write(w.build, name, true)
	if err != nil {
		return err
	}
	if seg.Docs > 0 {
		w.next.Segments = append(w.next.Segments, seg)
	}
	if err := w.trimHistory(repo, depth); err != nil {
		return err
	}
	if err := w.mergeCommits(); err != nil {
		return err
	}
	if _, err := w.tx.Exec(`UPDATE paths SET (commits, last) = (SELECT count(*), coalesce(max(c.time), 0) FROM commit_files cf JOIN commits c ON c.id = cf.commit_id WHERE cf.path = paths.id) WHERE repo = ?`, repo); err != nil {
		return err
	}
	return w.stampFiles(repo)
}

// rename gives a path of the stored history the name that it has now.
func (w *writer) rename(repo, from, to string, paths map[string]int64) error {
	if w.fresh || from == to {
		return nil // git.Log has named every path as it is today
	}
	_, err := w.tx.Exec("UPDATE OR IGNORE paths SET path = ?3 WHERE repo = ?1 AND path = ?2", repo, from, to)
	delete(paths, from)
	return err
}

func (w *writer) pathID(repo, rel string) (id int64, err error) {
	if err = w.tx.QueryRow("SELECT id FROM paths WHERE repo = ? AND path = ?", repo, rel).Scan(&id); err == nil {
		return id, nil
	}
	res, err := w.tx.Exec("INSERT INTO paths(repo, path) VALUES(?,?)", repo, rel)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// trimHistory keeps the newest depth commits of a repository.
func (w *writer) trimHistory(repo string, depth int) error {
	var oldest int64
	err := w.tx.QueryRow("SELECT id FROM commits WHERE repo = ? ORDER BY id DESC LIMIT 1 OFFSET ?", repo, max(depth-1, 0)).Scan(&oldest)
	if err != nil {
		return nil // there are fewer
	}
	if _, err := w.tx.Exec("DELETE FROM commit_files WHERE commit_id IN (SELECT id FROM commits WHERE repo = ? AND id < ?)", repo, oldest); err != nil {
		return err
	}
	_, err = w.tx.Exec("DELETE FROM commits WHERE repo = ? AND id < ?", repo, oldest)
	return err
}

// maxCommitSegments bounds the segments of commit subjects; an ingest adds one.
const maxCommitSegments = 4

func (w *writer) mergeCommits() error {
	var keep, merge []index.Segment
	for _, s := range w.next.Segments {
		if s.Kind == index.CommitSegment {
			merge = append(merge, s)
		} else {
			keep = append(keep, s)
		}
	}
	if len(merge) <= maxCommitSegments {
		return nil
	}
	live := map[uint32]bool{}
	rows, err := w.tx.Query("SELECT id FROM commits")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id uint32
		if err := rows.Scan(&id); err != nil {
			return err
		}
		live[id] = true
	}
	if err := rows.Err(); err != nil {
		return err
	}
	seg, err := index.Merge(w.build, w.segmentName(), merge, func(id uint32) bool { return live[id] })
	if err != nil {
		return err
	}
	if seg.Docs > 0 {
		keep = append(keep, seg)
	}
	w.next.Segments = keep
	return nil
}

// stampFiles copies the time of each path's last commit into the file table.
func (w *writer) stampFiles(repo string) error {
	rows, err := w.tx.Query("SELECT path, last FROM paths WHERE repo = ?", repo)
	if err != nil {
		return err
	}
	defer rows.Close()
	last := map[string]int64{}
	for rows.Next() {
		var p string
		var t int64
		if err := rows.Scan(&p, &t); err != nil {
			return err
		}
		last[p] = t
	}
	for id, f := range w.files {
		if t, ok := last[f.Path.Rel]; ok && f.Path.Repo == repo {
			f.LastCommit = t
			w.files[id] = f
		}
	}
	return rows.Err()
}

// gitIgnores tells whether git ignores an untracked path; outside git nothing is.
func (r *run) gitIgnores(repo project.Repository, p project.Path) bool {
	work, err := git.Open(r.ctx, repo.Root)
	if err != nil {
		return false
	}
	ignored, err := work.Ignores(r.ctx, repo.Abs(p))
	return err == nil && ignored
}
