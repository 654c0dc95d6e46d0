// Package project knows what is worked on and how: the contexts (named sets of
// repositories with one index each), the identity of a file inside them, and the
// settings with the source of each value.
//
// # State directory
//
// Everything that chinvex stores lies below one directory, the home:
//
//	contexts/<name>/           0700, one folder a context; its name is the context's name
//	    context.json           0600, what the context holds, see Context
//	    calibration.json       what calibration chose; only "best_config" is read here
//	    index/ logs/ sessions/ installed/
//	                           owned by the packages that write them
//
// Folders in contexts/ whose names begin with a dot are a creation or a removal
// that is under way or was interrupted; no reader looks at them.
package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// ErrNoContext is wrapped by errors about a context that does not exist and
	// about a directory that no context claims.
	ErrNoContext = errors.New("no such context")
	// ErrNewer is wrapped by errors about a file that a newer chinvex wrote.
	ErrNewer = errors.New("written by a newer chinvex")
)

// maxName is the longest name of a context or repository, in bytes: far below the
// 255 of file systems, so that prefixes and suffixes fit.
const maxName = 100

// Home is the state directory. It may not exist: then it holds no contexts.
type Home struct{ Dir string } // absolute

// OpenHome finds the state directory: flag (the value of --home) if it is not
// empty, else $CHINVEX_HOME, else ~/.chinvex. It makes nothing.
func OpenHome(flag string) (Home, error) {
	dir := flag
	if dir == "" {
		dir = os.Getenv("CHINVEX_HOME")
	}
	if dir == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return Home{}, fmt.Errorf("cannot find the state directory (%w): set CHINVEX_HOME or give --home DIR", err)
		}
		dir = filepath.Join(user, ".chinvex")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Home{}, fmt.Errorf("cannot find the state directory %q (%w): give --home an absolute path", dir, err)
	}
	return Home{Dir: abs}, nil
}

func (h Home) contextsDir() string { return filepath.Join(h.Dir, "contexts") }

// Contexts returns the readable contexts by name, and an error for each one that
// cannot be read. A home that does not exist has none, which is no error.
func (h Home) Contexts() ([]*Context, []error) {
	entries, err := os.ReadDir(h.contextsDir()) // sorted by name
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []error{fmt.Errorf("cannot list the contexts (%w): check the state directory or give --home DIR", err)}
	}
	var contexts []*Context
	var broken []error
	for _, e := range entries {
		if !e.IsDir() || checkName(e.Name()) != nil {
			continue
		}
		c, err := readContext(filepath.Join(h.contextsDir(), e.Name()))
		if err != nil {
			broken = append(broken, err)
			continue
		}
		contexts = append(contexts, c)
	}
	return contexts, broken
}

// Names lists the contexts by name, readable or not.
func (h Home) Names() []string {
	entries, _ := os.ReadDir(h.contextsDir())
	var names []string
	for _, e := range entries {
		if e.IsDir() && checkName(e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	return names
}

// RemoveDir removes the state directory with what interrupted creations and removals
// left in it. It fails while a context is there, and leaves the directory where somebody
// else's files are in it.
func (h Home) RemoveDir() error {
	if names := h.Names(); len(names) > 0 {
		return fmt.Errorf("cannot remove %s: the context %q is in it; delete it with `chinvex purge`", h.Dir, names[0])
	}
	entries, _ := os.ReadDir(h.contextsDir())
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".new-") || strings.HasPrefix(e.Name(), ".removed-") {
			if err := os.RemoveAll(filepath.Join(h.contextsDir(), e.Name())); err != nil {
				return fmt.Errorf("cannot remove the state directory: %w", err)
			}
		}
	}
	_ = os.Remove(h.contextsDir())
	_ = os.Remove(h.Dir)
	return nil
}

// Context returns the context of this name, or else the first one by name that
// has it as an alias. The error wraps ErrNoContext when there is neither.
func (h Home) Context(name string) (*Context, error) {
	if checkName(name) == nil {
		c, err := readContext(filepath.Join(h.contextsDir(), name))
		if !errors.Is(err, fs.ErrNotExist) {
			return c, err
		}
	}
	contexts, broken := h.Contexts()
	for _, c := range contexts {
		if slices.Contains(c.Aliases, name) {
			return c, nil
		}
	}
	return nil, noContext(fmt.Sprintf("context %q does not exist", name), contexts, broken)
}

func noContext(what string, contexts []*Context, broken []error) error {
	if len(contexts) == 0 && len(broken) == 0 {
		return fmt.Errorf("%w: %s, there is none yet; `chinvex ingest` makes one", ErrNoContext, what)
	}
	var names []string
	for _, c := range contexts {
		names = append(names, c.Name)
	}
	exist := "none can be read"
	if len(names) > 0 {
		exist = "there is " + strings.Join(names, ", ")
	}
	err := fmt.Errorf("%w: %s, %s; `chinvex ingest` makes a new one", ErrNoContext, what, exist)
	return errors.Join(append([]error{err}, broken...)...)
}

// Create makes an empty context with its folders, all 0700. It fails with an error
// that wraps fs.ErrExist when a context has this name or alias already.
func (h Home) Create(name string) (*Context, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	switch other, err := h.Context(name); {
	case err == nil:
		return nil, fmt.Errorf("cannot create context %q: %w as %s", name, fs.ErrExist, other.Dir)
	case !errors.Is(err, ErrNoContext):
		return nil, err
	}
	if err := os.MkdirAll(h.contextsDir(), 0o700); err != nil {
		return nil, fmt.Errorf("cannot create context %q (%w): check the state directory or give --home DIR", name, err)
	}
	// Made aside and renamed whole: no reader meets a folder without context.json.
	aside, err := os.MkdirTemp(h.contextsDir(), ".new-")
	if err != nil {
		return nil, fmt.Errorf("cannot create context %q (%w): check the state directory or give --home DIR", name, err)
	}
	defer os.RemoveAll(aside) // nothing is there any more after the rename
	c := &Context{Name: name, Dir: aside}
	for _, dir := range []string{c.IndexDir(), c.LogsDir(), c.SessionsDir()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, fmt.Errorf("cannot create context %q: %w", name, err)
		}
	}
	if err := c.Save(); err != nil {
		return nil, err
	}
	c.Dir = filepath.Join(h.contextsDir(), name)
	if err := os.Rename(aside, c.Dir); err != nil {
		return nil, fmt.Errorf("cannot create context %q: %w", name, err)
	}
	return c, nil
}

// Remove deletes the folder of the context of this name (not alias), readable or
// not, and returns the bytes that its files held. After a failure another Remove
// goes on.
func (h Home) Remove(name string) (freed int64, err error) {
	if checkName(name) != nil {
		_, err := h.Context(name)
		if err == nil {
			err = fmt.Errorf("%w: %q is an alias, give the context's name", ErrNoContext, name)
		}
		return 0, err
	}
	dir := filepath.Join(h.contextsDir(), name)
	gone := filepath.Join(h.contextsDir(), ".removed-"+name)
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		return 0, fmt.Errorf("cannot remove context %q: %s is not a folder; delete it by hand", name, dir)
	}
	present := err == nil
	if !present {
		if !errors.Is(err, fs.ErrNotExist) {
			return 0, fmt.Errorf("cannot remove context %q: %w", name, err)
		}
		if _, err := os.Lstat(gone); err != nil {
			contexts, broken := h.Contexts()
			return 0, noContext(fmt.Sprintf("context %q does not exist", name), contexts, broken)
		}
	}
	freed = size(gone) + size(dir)
	// Renamed first, so that an interrupted removal leaves no half context in use.
	err = os.RemoveAll(gone)
	if err == nil && present {
		if err = os.Rename(dir, gone); err == nil {
			err = os.RemoveAll(gone)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("cannot remove context %q (%w): run the command again", name, err)
	}
	return freed, nil
}

// size sums the files below dir, hard links to one file once: the generations of
// an index share most of their files.
func size(dir string) int64 {
	var sum int64
	seen := map[int64][]fs.FileInfo{} // by size
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		for _, other := range seen[info.Size()] {
			if os.SameFile(info, other) {
				return nil
			}
		}
		seen[info.Size()] = append(seen[info.Size()], info)
		sum += info.Size()
		return nil
	})
	return sum
}

// checkName tells why a context cannot have this name: it is a folder's name, is
// typed in a shell and is printed in sentences.
func checkName(name string) error {
	bad := func(why string) error {
		return fmt.Errorf("%q cannot be a context's name: %s; use up to %d bytes of letters, digits, dots, dashes, underscores and spaces", name, why, maxName)
	}
	switch {
	case name == "":
		return bad("it is empty")
	case len(name) > maxName:
		return bad(fmt.Sprintf("it has %d bytes", len(name)))
	case name[0] == '.':
		return bad("it begins with a dot")
	case strings.TrimSpace(name) != name:
		return bad("it begins or ends with a space")
	}
	for _, r := range name {
		if !nameRune(r) {
			return bad(fmt.Sprintf("it holds %q", r))
		}
	}
	return nil
}

// nameRune allows marks beside letters: Indic and other scripts cannot be spelled
// without them.
func nameRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || strings.ContainsRune("._- ", r)
}

// NameFor makes a valid name of a context or repository from the base name of its
// root: what a name cannot hold becomes a dash.
func NameFor(root string) string {
	name := strings.Map(func(r rune) rune {
		if nameRune(r) {
			return r
		}
		return '-'
	}, filepath.Base(root))
	const room = maxName - 10 // for the number that makes it unique
	for len(name) > room {
		_, n := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-n]
	}
	name = strings.TrimLeft(name, ". ")
	name = strings.TrimRight(name, " ")
	if strings.Trim(name, "-") == "" {
		return "repository"
	}
	return name
}

// Claim is the answer to: whose is this directory?
type Claim struct {
	Context    *Context
	Repository Repository
	Also       []string // names of the other contexts that claim the same root, sorted
}

// Claiming returns the context one of whose repositories contains dir (a directory
// or file, which need not exist); the deepest root wins. A linked work tree belongs
// to the context that claims its main checkout: the repository then has the linked
// tree's root and Linked set. Of several contexts that claim one root the one
// ingested last is taken, and Also names the others. The error wraps ErrNoContext
// when nobody claims dir.
func (h Home) Claiming(dir string) (Claim, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Claim{}, fmt.Errorf("cannot tell which context claims %q: %w", dir, err)
	}
	contexts, broken := h.Contexts()
	real, ok := resolve(abs)
	if !ok {
		return Claim{}, noContext(fmt.Sprintf("no context claims %s", abs), contexts, broken)
	}
	tree, main, inTree := WorkTreeRoot(real)
	var best Claim
	var ties []*Context
	offer := func(c *Context, r Repository) {
		old := best.Repository
		switch {
		case best.Context == nil, len(r.Root) > len(old.Root),
			len(r.Root) == len(old.Root) && old.Linked && !r.Linked: // claimed itself beats claimed through its main checkout
			best, ties = Claim{Context: c, Repository: r}, nil
		case len(r.Root) == len(old.Root) && old.Linked == r.Linked && c != best.Context:
			if c.Ingested.After(best.Context.Ingested) {
				c, best.Context, best.Repository = best.Context, c, r
			}
			ties = append(ties, c)
		}
	}
	for _, c := range contexts {
		for _, r := range c.Includes.Repos {
			root, ok := resolve(r.Root)
			if !ok {
				continue
			}
			if _, in := below(root, real); in {
				offer(c, Repository{Name: r.Name, Root: root})
			}
			if !inTree || tree == main {
				continue
			}
			// A claimed folder inside the main checkout has its twin in the linked tree.
			if sub, in := below(main, root); in {
				twin := filepath.Join(tree, sub)
				if _, in := below(twin, real); in {
					offer(c, Repository{Name: r.Name, Root: twin, Linked: true})
				}
			}
		}
	}
	if best.Context == nil {
		return Claim{}, noContext(fmt.Sprintf("no context claims %s", abs), contexts, broken)
	}
	for _, c := range ties {
		best.Also = append(best.Also, c.Name)
	}
	slices.Sort(best.Also)
	best.Also = slices.Compact(best.Also)
	return best, nil
}
