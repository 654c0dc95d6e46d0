package ingest

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/project/exclusion"
	"github.com/chinvex/chinvex/search/index"
)

// What an ingest or a refresh has to do: the files on disk against those in the index.

// plan is what an ingest has to do.
type plan struct {
	read    []planned
	remove  []uint32
	history []historyPlan
	repos   []index.Repo
	leftOut map[string]int
	gone    map[string]int // files to remove, by repository
	state   bool           // the repositories' recorded state changed
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
	p := &plan{leftOut: map[string]int{}, gone: map[string]int{}}
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
	for path, k := range known {
		p.remove = append(p.remove, k.id)
		p.gone[path.Repo]++
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
		excluded, err := exclusion.Rules(repo.Root, &r.Settings.Index)
		if err != nil {
			return err
		}
		var k knownFile
		err = db.QueryRow("SELECT id, size, mtime, hash FROM files WHERE repo = ?1 AND path = ?2 AND born <= ?3 AND (died IS NULL OR died > ?3)", path.Repo, path.Rel, m.Generation).
			Scan(&k.id, &k.size, &k.mtime, &k.hash)
		known := err == nil
		c, reason := examine(repo, path.Rel, r.Settings, excluded)
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
