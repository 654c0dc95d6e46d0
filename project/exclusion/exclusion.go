// Package exclusion knows which files a user leaves out: by a .chinvexignore in the
// root of a repository, which has the rules of a .gitignore, and by index.exclude and
// index.include of the settings.
package exclusion

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/bmatcuk/doublestar/v4"
	gitignore "github.com/boyter/gocodewalker/go-gitignore"

	"github.com/chinvex/chinvex/project"
)

// File is read in a repository's root.
const File = ".chinvexignore"

// Rules tells of a path, relative to the repository at root and slash-separated,
// whether it is left out. What .chinvexignore names, index.include does not bring back.
func Rules(root string, s *project.IndexSettings) (func(rel string) bool, error) {
	ignored, err := readFile(root)
	if err != nil {
		return nil, err
	}
	matches := func(globs []string, rel string) bool {
		for _, g := range globs {
			if ok, _ := doublestar.Match(g, rel); ok {
				return true
			}
		}
		return false
	}
	return func(rel string) bool {
		return ignored(rel) || !matches(s.Include, rel) && matches(s.Exclude, rel)
	}, nil
}

func readFile(root string) (func(rel string) bool, error) {
	file := filepath.Join(root, File)
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return func(string) bool { return false }, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	defer f.Close()
	rules := gitignore.New(f, root, func(gitignore.Error) bool { return true })
	return func(rel string) bool {
		// A folder's rule holds for all below it.
		for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
			if m := rules.Relative(dir, true); m != nil && m.Ignore() {
				return true
			}
		}
		m := rules.Relative(rel, false)
		return m != nil && m.Ignore()
	}, nil
}
