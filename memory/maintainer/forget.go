package maintainer

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/chinvex/chinvex/git"
)

// Kept returns the folder in the git directory of the work tree at root that holds what
// this package stores besides the memory files; "" when there is none.
func Kept(ctx context.Context, root string) string {
	repo, err := git.Open(ctx, root)
	if err != nil {
		return ""
	}
	dir := filepath.Join(repo.GitDir, folder)
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

// Forget deletes that folder, but for files of somebody else's. An update that was
// interrupted is not finished then: its commits are read again.
func Forget(ctx context.Context, root string) error {
	dir := Kept(ctx, root)
	if dir == "" {
		return nil
	}
	for _, pattern := range []string{"memory*.json", "memory*.lock"} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, f := range files {
			if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	_ = os.Remove(dir) // unless something is in it
	return nil
}
