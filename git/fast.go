package git

import (
	"os"
	"path/filepath"
	"strings"
)

// OpenFast is Open and Head for the top folder of a work tree, from git's files
// alone, in about 25 microseconds. ok is false where that is not enough (no
// commits, the reftable format, anything damaged, not a top folder): ask Open
// and Head then. Unlike git, it does not mind who owns the repository; whatever
// is run on it later does.
func OpenFast(root string) (repo *Repo, head Head, ok bool) {
	hash, ok := HeadFast(root)
	if !ok {
		return nil, Head{}, false
	}
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, Head{}, false
	}
	// HeadFast found its way through the same files, so these are sound.
	gitDir := filepath.Join(root, ".git")
	if text, err := os.ReadFile(gitDir); err == nil {
		gitDir = pointed(root, strings.TrimPrefix(string(text), "gitdir: "))
	}
	commonDir := gitDir
	if text, err := os.ReadFile(filepath.Join(gitDir, "commondir")); err == nil {
		commonDir = pointed(gitDir, string(text))
	}
	text, err := os.ReadFile(filepath.Join(gitDir, "HEAD"))
	if err != nil {
		return nil, Head{}, false
	}
	head = Head{Hash: hash}
	if ref, symbolic := strings.CutPrefix(strings.TrimSpace(string(text)), "ref:"); symbolic {
		head.Branch = strings.TrimPrefix(strings.TrimSpace(ref), "refs/heads/")
	}
	return &Repo{Root: root, GitDir: gitDir, CommonDir: commonDir}, head, true
}

// pointed resolves what one of git's files says about where another folder is.
func pointed(from, path string) string {
	path = filepath.FromSlash(strings.TrimRight(path, "\r\n"))
	if !filepath.IsAbs(path) {
		path = filepath.Join(from, path)
	}
	return filepath.Clean(path)
}
