package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/boyter/gocodewalker"

	"github.com/chinvex/chinvex/git"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/project/exclusion"
)

// Reasons why a file is left out, as status counts them.
const (
	TooLarge      = "too large"
	Binary        = "binary"
	Minified      = "minified"
	Symlink       = "symbolic link"
	Submodule     = "submodule"
	NotCheckedOut = "not checked out"
	Unreadable    = "unreadable"
	Irregular     = "not a regular file"
	Excluded      = "excluded"
	Missing       = "missing"
)

// candidate is a file that may be indexed.
type candidate struct {
	path  project.Path
	abs   string
	size  int64
	mtime int64 // Unix nanoseconds
}

// selection is what a repository offers for indexing.
type selection struct {
	files   []candidate // by path
	leftOut map[string]int
	repo    *git.Repo // nil outside git
	head    git.Head
	note    string // why there is no history
}

// choose lists the files of a repository: what git tracks or would offer to add, or a
// walk with the ignore rules outside git; less what .chinvexignore and the settings
// take out.
func choose(ctx context.Context, r project.Repository, s *project.Settings) (*selection, error) {
	sel := &selection{leftOut: map[string]int{}}
	names, err := sel.list(ctx, r)
	if err != nil {
		return nil, err
	}
	excluded, err := exclusion.Rules(r.Root, &s.Index)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		c, reason := examine(r, name, s, excluded)
		switch reason {
		case "":
			sel.files = append(sel.files, c)
		case Missing: // deleted, not yet committed: it is simply not there
		default:
			sel.leftOut[reason]++
		}
	}
	sort.Slice(sel.files, func(i, j int) bool { return sel.files[i].path.Less(sel.files[j].path) })
	return sel, nil
}

// examine looks at one file without reading it.
func examine(r project.Repository, name string, s *project.Settings, excluded func(string) bool) (candidate, string) {
	p, ok := project.NewPath(r.Name, name)
	if !ok {
		return candidate{}, Irregular
	}
	if excluded(p.Rel) {
		return candidate{}, Excluded
	}
	abs := r.Abs(p)
	info, err := os.Lstat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return candidate{path: p}, Missing
	case err != nil:
		return candidate{path: p}, Unreadable
	case info.Mode()&fs.ModeSymlink != 0:
		return candidate{path: p}, Symlink
	case info.IsDir():
		return candidate{path: p}, Missing // a file that became a folder
	case !info.Mode().IsRegular():
		return candidate{path: p}, Irregular
	case info.Size() > s.Index.MaxFileBytes:
		return candidate{path: p}, TooLarge
	}
	return candidate{path: p, abs: abs, size: info.Size(), mtime: info.ModTime().UnixNano()}, ""
}

// list returns slash-separated paths relative to the repository's root.
func (sel *selection) list(ctx context.Context, r project.Repository) ([]string, error) {
	if info, err := os.Stat(r.Root); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("the repository %s is not at %s any more; run `chinvex purge` or put it back", r.Name, r.Root)
	}
	repo, err := git.Open(ctx, r.Root)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !errors.Is(err, git.ErrNotRepository) && !errors.Is(err, git.ErrNoGit) && !errors.Is(err, git.ErrUnsafe) && !errors.Is(err, git.ErrBare) {
			return nil, err
		}
		sel.note = err.Error()
		return walk(r.Root)
	}
	sel.repo = repo
	if sel.head, err = repo.Head(ctx); err != nil {
		return nil, err
	}
	if sel.head.Unborn {
		sel.note = "no commits yet"
	}
	files, err := repo.Files(ctx, r.Root)
	if err != nil {
		return nil, err
	}
	prefix, err := folderOf(repo.Root, r.Root)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(files))
	for _, f := range files {
		switch {
		case f.Submodule:
			sel.leftOut[Submodule]++
		case f.SkipWorktree:
			sel.leftOut[NotCheckedOut]++
		case !strings.HasPrefix(f.Path, prefix):
		default:
			names = append(names, f.Path[len(prefix):])
		}
	}
	return names, nil
}

// folderOf returns the prefix ("" or "dir/") of paths below dir in a work tree.
func folderOf(root, dir string) (string, error) {
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return "", fmt.Errorf("%s is not inside the work tree %s: %w", dir, root, err)
	}
	if rel == "." {
		return "", nil
	}
	return filepath.ToSlash(rel) + "/", nil
}

// walk lists a folder outside git, .gitignore and .ignore honoured; links are not
// followed.
func walk(root string) ([]string, error) {
	queue := make(chan *gocodewalker.File, 256)
	w := gocodewalker.NewFileWalker(root, queue)
	w.IncludeHidden = true
	w.ExcludeDirectory = []string{".git", ".hg", ".svn", "node_modules"}
	w.SetErrorHandler(func(error) bool { return true }) // an unreadable folder is passed over
	done := make(chan error, 1)
	go func() { done <- w.Start() }()
	var names []string
	for f := range queue {
		rel, err := filepath.Rel(root, f.Location)
		if err == nil {
			names = append(names, filepath.ToSlash(rel))
		}
	}
	if err := <-done; err != nil {
		return nil, fmt.Errorf("cannot list the files below %s: %w", root, err)
	}
	return names, nil
}
