package project

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Repository is a folder that a context indexes, usually a work tree's root or a
// folder inside one. Its paths are relative to Root.
type Repository struct {
	Name   string // unique inside its context
	Root   string // absolute, symbolic links resolved
	Linked bool   // Root is a linked work tree of the repository that was claimed
}

// PathOf makes the Path of an absolute file name, such as one from a tool event.
// The file need not exist. Symbolic links are resolved on both sides, so a root
// reached through one is no obstacle and a link inside the repository gives the
// path of its target. ok is false for a relative name, one with a NUL byte, the
// root itself, anything in a .git, and whatever lies outside the root or leaves it
// through a link.
func (r Repository) PathOf(abs string) (p Path, ok bool) {
	if !filepath.IsAbs(abs) || strings.IndexByte(abs, 0) >= 0 {
		return Path{}, false
	}
	root, rootOK := resolve(r.Root)
	real, realOK := resolve(abs)
	if !rootOK || !realOK {
		return Path{}, false
	}
	rel, in := below(root, real)
	if !in {
		return Path{}, false
	}
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		if strings.EqualFold(part, ".git") {
			return Path{}, false
		}
	}
	return NewPath(r.Name, rel)
}

// Abs returns the absolute file name of p, which must be a path of r.
func (r Repository) Abs(p Path) string {
	return filepath.Join(r.Root, filepath.FromSlash(p.Rel))
}

// below returns name relative to root when it is root ("." then) or inside it.
// Both are absolute and clean.
func below(root, name string) (rel string, ok bool) {
	rel, err := filepath.Rel(root, name)
	return rel, err == nil && filepath.IsLocal(rel)
}

// resolve follows the symbolic links of an absolute name, of which any tail may
// not exist. It also follows a dangling link, where a write would create its
// target. ok is false for a name that is not absolute and for a loop of links.
func resolve(name string) (real string, ok bool) {
	if !filepath.IsAbs(name) {
		return "", false
	}
	return resolveLinks(filepath.Clean(name), 40) // as many links as Linux follows
}

func resolveLinks(name string, links int) (string, bool) {
	// Nearly every name exists, and this is the short way.
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real, true
	}
	parent := filepath.Dir(name)
	if parent == name {
		return name, true
	}
	parent, ok := resolveLinks(parent, links)
	if !ok {
		return "", false
	}
	name = filepath.Join(parent, filepath.Base(name))
	info, err := os.Lstat(name)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return name, true
	}
	if links == 0 {
		return "", false
	}
	target, err := os.Readlink(name)
	if err != nil {
		return "", false
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(parent, target)
	}
	return resolveLinks(filepath.Clean(target), links-1)
}

// WorkTreeRoot finds the git work tree that contains dir by walking up to a .git,
// reading files only. root and mainRoot have symbolic links resolved; mainRoot is
// the main checkout of a linked work tree, else root (also for a submodule, and
// for a linked work tree of a bare repository, which has no main checkout).
func WorkTreeRoot(dir string) (root, mainRoot string, ok bool) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", "", false
	}
	dir, ok = resolve(abs)
	if !ok {
		return "", "", false
	}
	for {
		if main, ok := gitAt(dir); ok {
			return dir, main, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", "", false
		}
		dir = parent
	}
}

// gitAt tells whether root is a work tree's root, and which is its main checkout.
func gitAt(root string) (main string, ok bool) {
	dotgit := filepath.Join(root, ".git")
	info, err := os.Stat(dotgit)
	if err != nil {
		return "", false
	}
	if info.IsDir() {
		// Like git, take a .git without HEAD for a stray folder and look further up.
		_, err := os.Lstat(filepath.Join(dotgit, "HEAD"))
		return root, err == nil
	}
	const limit = 64 << 10 // far more than the one path in these files
	text, err := ReadRegular(dotgit, limit)
	gitdir, found := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if err != nil || !found || gitdir == "" {
		return "", false
	}
	if !filepath.IsAbs(gitdir) {
		gitdir = filepath.Join(root, gitdir)
	}
	text, err = ReadRegular(filepath.Join(gitdir, "commondir"), limit)
	if err != nil { // a submodule, or a git directory that was moved aside
		return root, true
	}
	common := strings.TrimRight(string(text), "\r\n")
	if !filepath.IsAbs(common) {
		common = filepath.Join(gitdir, common)
	}
	common, ok = resolve(common)
	if !ok || filepath.Base(common) != ".git" {
		return root, true
	}
	return filepath.Dir(common), true
}
