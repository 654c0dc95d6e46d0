package project

import (
	"path"
	"path/filepath"
	"strings"
)

// Path is the one identity of a file everywhere between the edges of the
// program: the name of its repository and the slash-separated path relative to
// that repository's root. Absolute paths exist at the edges only (hook input,
// command line, MCP arguments); NewPath and Repository.PathOf make Paths, nothing
// else does.
type Path struct {
	Repo string // repository name, unique inside one context
	Rel  string // slash-separated, cleaned, never absolute, never "../…"
}

// NewPath makes a Path from a repository name and a path relative to its root,
// with either separator. ok is false for an absolute path, for one that leaves
// the root, for an empty one and for one that holds a NUL byte.
func NewPath(repo, rel string) (p Path, ok bool) {
	if rel == "" || strings.IndexByte(rel, 0) >= 0 || filepath.IsAbs(rel) {
		return Path{}, false
	}
	rel = path.Clean(filepath.ToSlash(rel))
	if rel == "." || rel == ".." || strings.HasPrefix(rel, "../") || strings.HasPrefix(rel, "/") {
		return Path{}, false
	}
	return Path{Repo: repo, Rel: rel}, true
}

// Less orders paths by repository, then by path: the tie-break of every ranking.
func (p Path) Less(q Path) bool {
	if p.Repo != q.Repo {
		return p.Repo < q.Repo
	}
	return p.Rel < q.Rel
}

// IsZero tells whether p names nothing.
func (p Path) IsZero() bool { return p.Rel == "" }

// Version is the program's, as manifests, the MCP server and `chinvex version` name it.
const Version = "0.1.0"
