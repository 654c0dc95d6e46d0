package door

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chinvex/chinvex/git"
	"github.com/chinvex/chinvex/memory"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search/index"
)

// Brief makes the brief of one repository of the context: the one named (by its name, or
// as a path), else that which Dir lies in, else the first. budget is in tokens of four
// bytes. The error wraps index.ErrNoIndex when there is neither an index nor any memory,
// and says which repositories there are when name is none of them.
func (d *Door) Brief(ctx context.Context, name string, budget int) (*memory.Brief, error) {
	r, err := d.Repository(name)
	if err != nil {
		return nil, err
	}
	request := memory.Request{
		Name: r.Name, Root: r.Root, Context: d.Context.Name, Budget: budget, Now: time.Now(),
		Last: d.Context.LastSession(r.Root),
	}
	m, err := index.ReadManifest(d.Context.IndexDir())
	switch {
	case errors.Is(err, index.ErrNoIndex) && !exists(filepath.Join(r.Root, memory.Dir)):
		return nil, fmt.Errorf("context %s: %w", d.Context.Name, err)
	case err != nil:
		request.Notes = append(request.Notes, "Index: "+oneSentence(err))
	default:
		if stale := Behind(m, r); stale != "" {
			request.Notes = append(request.Notes, "Index: "+stale)
		}
	}
	return memory.New(ctx, request), nil
}

// SameCommit tells whether the last session in the repository ended at the commit that is
// checked out now.
func (d *Door) SameCommit(name string) bool {
	r, err := d.Repository(name)
	if err != nil {
		return false
	}
	root, _, ok := project.WorkTreeRoot(r.Root)
	if !ok {
		return false
	}
	head, ok := git.HeadFast(root)
	return ok && d.Context.LastSession(r.Root).Head == head
}

// Behind says when the index was made at another commit than the one checked out, which
// costs some microseconds.
func Behind(m *index.Manifest, r project.Repository) string {
	for _, known := range m.Repos {
		if known.Name != r.Name {
			continue
		}
		if root, _, ok := project.WorkTreeRoot(r.Root); ok && known.Head != "" {
			if head, ok := git.HeadFast(root); ok && head != known.Head {
				return fmt.Sprintf("%s is at commit %.9s, the index at %.9s; `chinvex ingest` brings it up to date", r.Name, head, known.Head)
			}
		}
		return ""
	}
	return fmt.Sprintf("%s is not indexed yet; `chinvex ingest` does it", r.Name)
}

// Repository finds the repository that a person means by its name or its folder; for ""
// that which Dir lies in, else the first.
func (d *Door) Repository(name string) (project.Repository, error) {
	if len(d.Repos) == 0 {
		return project.Repository{}, fmt.Errorf("%w: context %s holds no repository; `chinvex ingest --repo DIR` adds one", project.ErrNoContext, d.Context.Name)
	}
	if name == "" {
		if r, ok := d.repo(d.Here); ok {
			return r, nil
		}
		return d.Repos[0], nil
	}
	folder := name
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(d.place.Dir, folder)
	}
	folder, _ = filepath.EvalSymlinks(folder)
	var names []string
	for _, r := range d.Repos {
		if r.Name == name || r.Root == folder {
			return r, nil
		}
		names = append(names, r.Name)
	}
	return project.Repository{}, fmt.Errorf("context %s has no repository %s; name one of %s", d.Context.Name, Line(name), strings.Join(names, ", "))
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
