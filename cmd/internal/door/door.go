// Package door is what the command line and the MCP server have in common: which
// context is meant, its engine, paths as people write them, and the JSON and the plain
// text of answers. The engine knows none of it.
package door

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
	"github.com/chinvex/chinvex/search/embed"
	"github.com/chinvex/chinvex/search/embed/remote"
	"github.com/chinvex/chinvex/search/index"
)

// Place is where a question is asked.
type Place struct {
	Home    string // value of --home, "" for the default
	Context string // name or alias, "" for the context that claims Dir
	Dir     string // absolute
	// FromRoot makes Path try a repository's root before Dir: a model gives back the
	// paths that it was shown.
	FromRoot bool
}

// Door is the way to one context's index.
type Door struct {
	Home    project.Home
	Context *project.Context
	// Repos are the context's repositories. That of a linked work tree which Dir lies
	// in has the linked tree's root.
	Repos    []project.Repository
	Here     string // the repository that Dir lies in, "" when none does
	Also     []string
	Settings *project.Resolved
	// Faulty holds what Resolve refused; the values in force stand without it.
	Faulty error

	place Place
}

// Find finds the context that is meant. It makes nothing. Errors wrap
// project.ErrNoContext when there is none.
func Find(p Place) (*Door, error) {
	home, err := project.OpenHome(p.Home)
	if err != nil {
		return nil, err
	}
	d := &Door{Home: home, place: p}
	claim, claimErr := home.Claiming(p.Dir)
	if p.Context == "" {
		if claimErr != nil {
			return nil, claimErr
		}
		d.Context, d.Also = claim.Context, claim.Also
	} else if d.Context, err = home.Context(p.Context); err != nil {
		return nil, err
	}
	d.Repos = append(d.Repos, d.Context.Includes.Repos...)
	if claimErr == nil && claim.Context.Name == d.Context.Name {
		d.Here = claim.Repository.Name
		for i := range d.Repos {
			if d.Repos[i].Name == d.Here {
				d.Repos[i] = claim.Repository
			}
		}
	} else {
		for _, r := range d.Repos { // another context claims Dir too
			if _, in := r.PathOf(filepath.Join(p.Dir, "x")); in && d.Here == "" {
				d.Here = r.Name
			}
		}
	}
	d.Settings, d.Faulty = project.Resolve(d.Context, d.Repos, nil)
	return d, nil
}

// Open opens the newest generation of the index.
func (d *Door) Open() (*search.Engine, error) {
	e, err := search.Open(d.Context.IndexDir(), &d.Settings.Settings, search.Options{Remote: d.remote})
	if err != nil {
		return nil, fmt.Errorf("context %s: %w", d.Context.Name, err)
	}
	return e, nil
}

func (d *Door) remote() (embed.Embedder, error) {
	return remote.FromSettings(d.Settings.Embedding)
}

// Unusable tells whether an error says that there is no context or no index that
// could answer.
func Unusable(err error) bool {
	for _, is := range []error{project.ErrNoContext, project.ErrNewer, index.ErrNoIndex, index.ErrOlder, index.ErrNewer, index.ErrDamaged, index.ErrMismatch} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// Path finds the file that a person or a model means: an absolute name under a
// repository, REPOSITORY:PATH, a name relative to Dir, or one relative to the root of
// the repository here or else of any other. A name that exists nowhere is taken
// relative to the repository here, the only one, or the first.
func (d *Door) Path(arg string) (project.Path, error) {
	if arg == "" || strings.IndexByte(arg, 0) >= 0 {
		return project.Path{}, fmt.Errorf("%q is not a file name; give a path like src/app.py", arg)
	}
	if filepath.IsAbs(arg) {
		return d.pathOf(arg, arg)
	}
	if name, rel, ok := strings.Cut(arg, ":"); ok {
		if r, known := d.repo(name); known {
			if p, ok := project.NewPath(r.Name, rel); ok {
				return p, nil
			}
		}
	}
	fromDir := filepath.Join(d.place.Dir, arg)
	_, err := os.Lstat(fromDir)
	exists := err == nil && d.Here != ""
	if exists && !d.place.FromRoot {
		return d.pathOf(fromDir, arg)
	}
	order := d.Repos
	if r, ok := d.repo(d.Here); ok {
		order = append([]project.Repository{r}, order...)
	}
	for _, r := range order {
		if p, ok := project.NewPath(r.Name, arg); ok {
			if _, err := os.Lstat(r.Abs(p)); err == nil {
				return p, nil
			}
		}
	}
	if exists {
		return d.pathOf(fromDir, arg)
	}
	if len(order) > 0 {
		if p, ok := project.NewPath(order[0].Name, arg); ok {
			return p, nil
		}
	}
	return project.Path{}, fmt.Errorf("%s lies outside the repositories of context %s; name a file inside one", Line(arg), d.Context.Name)
}

func (d *Door) pathOf(abs, arg string) (project.Path, error) {
	var best project.Path
	longest := -1
	for _, r := range d.Repos {
		if p, ok := r.PathOf(abs); ok && len(r.Root) > longest {
			best, longest = p, len(r.Root)
		}
	}
	if longest < 0 {
		return best, fmt.Errorf("%s lies outside the repositories of context %s; name a file inside one", Line(arg), d.Context.Name)
	}
	return best, nil
}

func (d *Door) repo(name string) (project.Repository, bool) {
	for _, r := range d.Repos {
		if r.Name == name {
			return r, true
		}
	}
	return project.Repository{}, false
}

// Name spells a path for a reader: relative to its repository's root, with the
// repository before it unless that is the only one or the one that Dir lies in. Path
// reads it back.
func (d *Door) Name(p project.Path) string {
	if len(d.Repos) == 1 || p.Repo == d.Here {
		return Line(p.Rel)
	}
	return Line(p.Repo + ":" + p.Rel)
}
