package search

import (
	"path"
	"strings"

	"github.com/chinvex/chinvex/search/index"
)

// importTarget is a file as imports may mean it. It goes by names alone, the way all
// languages lay files out: components of the import are the last components of the
// file's path or of its folder.
type importTarget struct {
	module    string // the path without extension
	folder    string // see index.FolderOf
	isPackage bool   // its language imports folders
}

func newImportTarget(rel string) importTarget {
	return importTarget{module: strings.TrimSuffix(strings.TrimSuffix(rel, path.Ext(rel)), ".d"), folder: index.FolderOf(rel), isPackage: path.Ext(rel) == ".go"}
}

// meant tells whether an import, as written in the file from, means the target.
func (t importTarget) meant(imported, from string) bool {
	for _, want := range importPaths(imported, from) {
		if t.among(want) {
			return true
		}
	}
	return false
}

// among tells whether one path of an import means the target.
func (t importTarget) among(want string) bool {
	if want == "" || want == "." {
		return false
	}
	// A package is a folder: Go's import names it with the module's name before it.
	return hasSuffixPath(t.module, want) || t.folder != "" && (hasSuffixPath(t.folder, want) || t.isPackage && hasSuffixPath(want, t.folder))
}

// importPaths returns the slash paths that an import may mean, the most exact first.
func importPaths(imported, from string) []string {
	p := strings.Trim(imported, "\"'<>` ")
	dir := path.Dir(from)
	switch {
	case strings.HasPrefix(p, "./") || strings.HasPrefix(p, "../"): // JavaScript, C, Ruby
		return []string{stripExtension(path.Join(dir, p))}
	case strings.HasPrefix(p, "."): // Python: .a, ..b.c
		up := 0
		for up < len(p) && p[up] == '.' {
			up++
		}
		for range up - 1 {
			dir = path.Dir(dir)
		}
		return []string{path.Join(dir, strings.ReplaceAll(p[up:], ".", "/"))}
	}
	if strings.Contains(p, "::") || strings.Contains(p, "\\") { // Rust, C++, PHP, Perl
		p = strings.ReplaceAll(strings.ReplaceAll(p, "::", "/"), "\\", "/")
		for _, prefix := range []string{"crate/", "self/", "super/"} {
			p = strings.TrimPrefix(p, prefix)
		}
		p = strings.Trim(p, "/*{} ")
		// The last component is often a name inside the file.
		return []string{p, path.Dir(p)}
	}
	if strings.Contains(p, "/") {
		return []string{stripExtension(strings.TrimPrefix(strings.TrimPrefix(p, "@/"), "~/"))}
	}
	if stripped := stripExtension(p); stripped != p {
		return []string{stripped, strings.ReplaceAll(p, ".", "/")}
	}
	if strings.Contains(p, ".") { // Python, Java, Kotlin, Scala, C#, Haskell, Elixir, Lua
		p = strings.Trim(strings.ReplaceAll(p, ".", "/"), "/*_ ")
		return []string{p, path.Dir(p)}
	}
	return []string{p}
}

// stripExtension removes the extension of a file that imports write out.
func stripExtension(p string) string {
	switch ext := path.Ext(p); ext {
	case ".h", ".hh", ".hpp", ".hxx", ".inc", ".c", ".cc", ".cpp", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte",
		".json", ".css", ".scss", ".rb", ".php", ".lua", ".sh", ".bash", ".zig", ".py":
		return strings.TrimSuffix(p, ext)
	}
	return p
}

// hasSuffixPath tells whether suffix is the last components of p, in any case.
func hasSuffixPath(p, suffix string) bool {
	if suffix == "." || suffix == "" || len(p) < len(suffix) {
		return false
	}
	tail := p[len(p)-len(suffix):]
	return strings.EqualFold(tail, suffix) && (len(tail) == len(p) || p[len(p)-len(tail)-1] == '/')
}
