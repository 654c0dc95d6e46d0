package git

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFiles(t *testing.T) {
	ctx := context.Background()
	r := newRepository(t)
	odd := []string{"a b.txt", "two\nlines.txt", "caf\xe9.txt", "tab\there", "? question", "-dash", ":(top)x", "star*.go", "sub/ü.txt", "quote\".c"}
	for _, path := range odd {
		r.write(path, path)
	}
	r.write(".gitignore", "*.log\n/out/\n")
	r.write("kept.log", "tracked although ignored")
	r.git("add", "-f", "kept.log")
	if err := os.Symlink("a b.txt", filepath.Join(r.dir, "link")); err != nil {
		t.Fatal(err)
	}
	r.commit("one")
	r.write("noise.log", "")
	r.write("out/x", "")
	r.write("new file", "")
	r.write("sub/new", "")
	if err := os.Symlink("nowhere", filepath.Join(r.dir, "newlink")); err != nil {
		t.Fatal(err)
	}
	nested := &repository{T: t, dir: filepath.Join(r.dir, "nested")}
	r.write("nested/x", "")
	nested.git("init", "-q", ".")

	repo := r.open()
	list := func(dir string) (paths []string, byPath map[string]File) {
		t.Helper()
		files, err := repo.Files(ctx, dir)
		if err != nil {
			t.Fatal(err)
		}
		byPath = map[string]File{}
		for _, f := range files {
			paths = append(paths, f.Path)
			byPath[f.Path] = f
		}
		return paths, byPath
	}
	paths, byPath := list("")
	want := []string{"-dash", ".gitignore", ":(top)x", "? question", "a b.txt", "caf\xe9.txt", "kept.log", "link", "new file", "newlink",
		"quote\".c", "star*.go", "sub/new", "sub/ü.txt", "tab\there", "two\nlines.txt"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Error(diff)
	}
	if f := byPath["link"]; !f.Tracked || !f.Symlink {
		t.Errorf("%+v", f)
	}
	if f := byPath["newlink"]; f.Tracked || !f.Symlink || f.Hash != "" {
		t.Errorf("%+v", f)
	}
	if f := byPath["a b.txt"]; f.Hash != r.git("rev-parse", "HEAD:a b.txt") {
		t.Errorf("%+v", f)
	}
	if paths, _ := list(filepath.Join(r.dir, "sub")); cmp.Diff([]string{"sub/new", "sub/ü.txt"}, paths) != "" {
		t.Errorf("sub: %q", paths)
	}
	if paths, _ := list(filepath.Join(r.dir, "out")); len(paths) != 0 {
		t.Errorf("ignored folder: %q", paths)
	}
	if _, err := repo.Files(ctx, t.TempDir()); err == nil || !strings.Contains(err.Error(), "outside") {
		t.Errorf("a folder outside: %v", err)
	}
	modified, err := repo.Modified(ctx)
	if err != nil || cmp.Diff([]string{"new file", "newlink", "sub/new"}, modified) != "" {
		t.Errorf("Modified = %q, %v", modified, err)
	}
}

func TestFilesConflict(t *testing.T) {
	r := newRepository(t)
	r.write("a", "base\n")
	r.write("b", "same\n")
	r.commit("base")
	r.git("checkout", "-q", "-b", "other")
	r.write("a", "theirs\n")
	r.commit("theirs")
	r.git("checkout", "-q", "main")
	r.write("a", "ours\n")
	r.commit("ours")
	if out, err := r.try("merge", "-q", "other"); err == nil {
		t.Fatalf("no conflict: %s", out)
	}
	files, err := r.open().Files(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 || files[0].Path != "a" || files[0].Hash != "" || !files[0].Tracked || files[1].Hash == "" {
		t.Errorf("got %+v", files)
	}
	if paths, err := r.open().Modified(context.Background()); err != nil || len(paths) != 1 || paths[0] != "a" {
		t.Errorf("Modified = %q, %v", paths, err)
	}
}

func TestFilesSubmodule(t *testing.T) {
	library := newRepository(t)
	library.write("lib.c", "int x;\n")
	hash := library.commit("lib")
	r := newRepository(t)
	r.git("submodule", "--quiet", "add", library.dir, "deps/lib")
	r.commit("add a submodule")
	repo := r.open()
	files, err := repo.Files(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	want := File{Path: "deps/lib", Hash: hash, Tracked: true, Submodule: true}
	if len(files) != 2 || files[1] != want {
		t.Errorf("got %+v, want %+v", files, want)
	}
	inside, err := Open(context.Background(), filepath.Join(r.dir, "deps/lib"))
	if err != nil || inside.Root != filepath.Join(r.dir, "deps/lib") {
		t.Fatalf("inside: %+v, %v", inside, err)
	}
	if got, ok := HeadFast(inside.Root); !ok || got != hash {
		t.Errorf("HeadFast inside = %q, %v", got, ok)
	}
	r.write("deps/lib/scratch", "")
	if paths, err := repo.Modified(context.Background()); err != nil || len(paths) != 0 {
		t.Errorf("dirt inside a submodule is its own: %q, %v", paths, err)
	}
}

func TestFilesSparse(t *testing.T) {
	r := newRepository(t)
	r.write("in/a", "a")
	r.write("out/b", "b")
	r.commit("one")
	for _, index := range []string{"--no-sparse-index", "--sparse-index"} {
		r.git("sparse-checkout", "set", "--cone", index, "in")
		files, err := r.open().Files(context.Background(), "")
		if err != nil || len(files) != 2 || files[0].SkipWorktree || !files[1].SkipWorktree || files[1].Path != "out/b" {
			t.Errorf("%s: %+v, %v", index, files, err)
		}
	}
	if paths, err := r.open().Modified(context.Background()); err != nil || len(paths) != 0 {
		t.Errorf("Modified = %q, %v", paths, err)
	}
}

func TestModified(t *testing.T) {
	ctx := context.Background()
	r := newRepository(t)
	r.write("new", "")
	if paths, err := r.open().Modified(ctx); err != nil || cmp.Diff([]string{"new"}, paths) != "" {
		t.Errorf("no commits: %q, %v", paths, err)
	}
	for _, path := range []string{"same", "edited", "staged", "removed", "moved from"} {
		r.write(path, strings.Repeat(path, 20))
	}
	first := r.commit("one")
	r.write("edited", "!")
	r.write("staged", "!")
	r.git("add", "staged")
	r.git("rm", "-q", "removed")
	r.git("mv", "moved from", "moved to")
	want := []string{"edited", "moved from", "moved to", "removed", "staged"}
	if paths, err := r.open().Modified(ctx); err != nil || cmp.Diff(want, paths) != "" {
		t.Errorf("got %q, %v", paths, err)
	}
	second := r.commit("two")
	files, err := r.open().Churn(ctx, first, second)
	if paths := slices.Sorted(maps.Keys(files)); err != nil || cmp.Diff(want, paths) != "" {
		t.Errorf("Churn = %q, %v", paths, err)
	}
	for _, revision := range []string{"--output=x", "no-such-branch", "a\x00b"} {
		if _, err := r.open().Churn(ctx, revision, second); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("Churn(%q): %v", revision, err)
		}
	}
}
