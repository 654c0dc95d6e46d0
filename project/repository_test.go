package project

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestPathOf(t *testing.T) {
	base := tempDir(t)
	root := mkdir(t, base, "repo")
	write(t, "", root, "src", "a.go")
	outside := write(t, "", base, "secret", "key")
	symlink(t, filepath.Dir(outside), root, "out")
	symlink(t, outside, root, "outfile")
	symlink(t, "src", root, "in")
	symlink(t, filepath.Join(base, "not-there", "x"), root, "dangling-out")
	symlink(t, "src/new.go", root, "dangling-in")
	symlink(t, "loop", root, "loop")
	mkdir(t, root, ".git")
	alias := symlink(t, root, base, "alias")
	mkdir(t, base, "repo-2")
	for _, tc := range []struct{ abs, want string }{
		{root + "/src/a.go", "src/a.go"},
		{root + "/src/new/b.go", "src/new/b.go"},
		{root + "//src/./x/../a.go", "src/a.go"},
		{root + "/src/a.go/", "src/a.go"},
		{alias + "/src/a.go", "src/a.go"},
		{alias + "/src/none.go", "src/none.go"},
		{root + "/in/a.go", "src/a.go"},
		{root + "/in/none.go", "src/none.go"},
		{root + "/dangling-in", "src/new.go"},
		{root + "/..data", "..data"},
		{root + "/.gitignore", ".gitignore"},
		{root + "/naïve \n\xff.go", "naïve \n\xff.go"},
		{root, ""}, {root + "/", ""}, {base, ""}, {"/", ""}, {"", ""},
		{base + "/repo-2/a.go", ""},
		{root + "/../repo-2/a.go", ""},
		{root + "/out/key", ""}, {root + "/out/new", ""}, {root + "/out", ""}, {root + "/outfile", ""},
		{root + "/dangling-out", ""}, {root + "/dangling-out/y", ""},
		{root + "/loop", ""}, {root + "/loop/x", ""},
		{root + "/.git", ""}, {root + "/.git/config", ""}, {root + "/.GIT/config", ""}, {root + "/src/.git/HEAD", ""},
		{"src/a.go", ""}, {"./src/a.go", ""},
		{root + "/src/a\x00.go", ""},
		{outside, ""},
	} {
		for _, repo := range []Repository{{Name: "r", Root: root}, {Name: "r", Root: alias}} {
			p, ok := repo.PathOf(tc.abs)
			if ok != (tc.want != "") || p.Rel != tc.want {
				t.Errorf("root %s: PathOf(%q) = %q, %v; want %q", repo.Root, tc.abs, p.Rel, ok, tc.want)
			}
		}
	}
	repo := Repository{Name: "r", Root: root}
	if got := repo.Abs(Path{"r", "src/a.go"}); got != filepath.Join(root, "src", "a.go") {
		t.Errorf("Abs = %s", got)
	}
	// A repository that was deleted after ingest still knows its paths.
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	if p, ok := repo.PathOf(root + "/src/a.go"); !ok || p.Rel != "src/a.go" {
		t.Errorf("deleted repository: %v, %v", p, ok)
	}
}

func TestNewPath(t *testing.T) {
	for rel, want := range map[string]string{
		"a": "a", "a/b": "a/b", "./a//b/": "a/b", "a/../b": "b", "..a": "..a",
		"": "", ".": "", "..": "", "../a": "", "a/../../b": "", "/a": "", "a\x00": "",
	} {
		p, ok := NewPath("r", rel)
		if ok != (want != "") || p.Rel != want || p.IsZero() == ok {
			t.Errorf("NewPath(%q) = %+v, %v; want %q", rel, p, ok, want)
		}
	}
	if !(Path{"a", "z"}).Less(Path{"b", "a"}) || !(Path{"a", "a"}).Less(Path{"a", "b"}) || (Path{"a", "a"}).Less(Path{"a", "a"}) {
		t.Error("Less is not by repository, then path")
	}
}

func TestWorkTreeRoot(t *testing.T) {
	base := tempDir(t)
	main := gitRepository(t, filepath.Join(base, "main"))
	library := gitRepository(t, filepath.Join(base, "library"))
	linked := filepath.Join(base, "linked")
	git(t, main, "worktree", "add", "-q", linked)
	git(t, main, "submodule", "add", "-q", library, "vendor/library")
	submodule := filepath.Join(main, "vendor", "library")
	subLinked := filepath.Join(base, "sub-linked")
	git(t, submodule, "worktree", "add", "-q", subLinked)
	bare := filepath.Join(base, "bare.git")
	git(t, base, "clone", "-q", "--bare", main, bare)
	ofBare := filepath.Join(base, "of-bare")
	git(t, bare, "worktree", "add", "-q", ofBare)
	mkdir(t, main, "sub", ".git") // stray, without HEAD
	alias := symlink(t, linked, base, "alias")
	garbage := mkdir(t, base, "garbage")
	write(t, "gitdir:nonsense", garbage, ".git")
	pipe := mkdir(t, base, "pipe")
	if err := syscall.Mkfifo(filepath.Join(pipe, ".git"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ dir, root, main string }{
		{main, main, main},
		{main + "/sub", main, main},
		{main + "/sub/file.txt", main, main},
		{main + "/gone/deep", main, main},
		{linked, linked, main},
		{linked + "/sub", linked, main},
		{alias + "/sub", linked, main},
		{submodule, submodule, submodule},
		{subLinked, subLinked, subLinked},
		{ofBare, ofBare, ofBare},
		{base, "", ""},
		{garbage, "", ""},
		{pipe, "", ""}, // must not wait for a writer
	} {
		root, mainRoot, ok := WorkTreeRoot(tc.dir)
		if ok != (tc.root != "") || root != tc.root || mainRoot != tc.main {
			t.Errorf("WorkTreeRoot(%s) = %q, %q, %v; want %q, %q", tc.dir, root, mainRoot, ok, tc.root, tc.main)
		}
	}
}

func FuzzNewPath(f *testing.F) {
	for _, s := range []string{"a/b", "../x", "a/../..", "/", "\x00", ".", `a\b`, "a//b", "..."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, rel string) {
		p, ok := NewPath("r", rel)
		if !ok {
			if p != (Path{}) {
				t.Fatalf("refused, yet %+v", p)
			}
			return
		}
		if !filepath.IsLocal(p.Rel) || p.Rel == "." || strings.Contains(p.Rel, "\x00") {
			t.Fatalf("NewPath(%q) = %q", rel, p.Rel)
		}
		if again, ok := NewPath("r", p.Rel); !ok || again != p {
			t.Fatalf("not stable: %q, then %q", p.Rel, again.Rel)
		}
	})
}

func FuzzPathOf(f *testing.F) {
	base, err := os.MkdirTemp("", "pathof")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { os.RemoveAll(base) })
	base, _ = filepath.EvalSymlinks(base)
	root := mkdir(f, base, "repo", "src")
	root = filepath.Dir(root)
	mkdir(f, base, "other")
	symlink(f, "../other", root, "out")
	symlink(f, "../other/none", root, "dangling")
	symlink(f, "src", root, "in")
	symlink(f, "loop", root, "loop")
	for _, s := range []string{"src/a.go", "in/a.go", "out/x", "dangling", "loop", "../other/x", ".git/config", "\x00", "in/../out/y", "//", "in/../../repo/src/z"} {
		f.Add(s)
	}
	repo := Repository{Name: "r", Root: root}
	f.Fuzz(func(t *testing.T, tail string) {
		repo.PathOf(tail)
		p, ok := repo.PathOf(root + "/" + tail)
		if !ok {
			return
		}
		if q, ok := NewPath("r", p.Rel); !ok || q != p {
			t.Fatalf("PathOf gave %q, which NewPath does not", p.Rel)
		}
		if real, ok := resolve(repo.Abs(p)); !ok || real != repo.Abs(p) {
			t.Fatalf("PathOf(%q) = %q, which leads to %q", tail, p.Rel, real)
		}
		if again, ok := repo.PathOf(repo.Abs(p)); !ok || again != p {
			t.Fatalf("not stable: %q, then %q", p.Rel, again.Rel)
		}
	})
}
