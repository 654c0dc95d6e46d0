package ingest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
	"github.com/chinvex/chinvex/search/index"
	"github.com/chinvex/chinvex/search/ingest"
)

// indexed lists the paths of the index.
func (w *world) indexed() (out []string) {
	files := w.engine().Reader().Files
	for i := range files.Len() {
		out = append(out, files.At(i).Path.Rel)
	}
	return out
}

func TestSelection(t *testing.T) {
	w := newWorld(t)
	for name, text := range map[string]string{
		".gitignore": "build/\n*.log\n!keep.log\n", ".chinvexignore": "fixtures/\n*.gen.go\n!kept.gen.go\n",
		"a.go": "package a\n", "build/out.go": "package out\n", "x.log": "log\n", "keep.log": "kept\n", "fixtures/big.go": "package f\n",
		"deep/fixtures/more.go": "package f\n", "b.gen.go": "package b\n", "kept.gen.go": "package b\n", "docs/guide.md": "# Guide\n",
		"data.bin": "\x00\x01", "bundle.min.js": "var a=" + strings.Repeat("1+", 3000) + "1;", "name with space.py": "x = 1\n", "line\nbreak.py": "y = 2\n", "bytes\xff.py": "z = 3\n",
		"dump.json": strings.Repeat("[1,2,3,4,5,6,7,8,9],", 4000),
	} {
		w.write(name, text)
	}
	if err := os.Symlink("a.go", filepath.Join(w.root, "link.go")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".", filepath.Join(w.root, "loop")); err != nil {
		t.Fatal(err)
	}
	big, err := os.Create(filepath.Join(w.root, "huge.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := big.Truncate(1 << 30); err != nil { // sparse
		t.Fatal(err)
	}
	big.Close()
	report := w.ingest()
	want := []string{".chinvexignore", ".gitignore", "a.go", "bytes\xff.py", "docs/guide.md", "keep.log", "kept.gen.go", "line\nbreak.py", "name with space.py"}
	if diff := cmp.Diff(want, w.indexed()); diff != "" {
		t.Errorf("in git (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{ingest.Binary: 1, ingest.Minified: 2, ingest.TooLarge: 1, ingest.Symlink: 2, ingest.Excluded: 3}, report.LeftOut); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if again := w.ingest(); again.Published || !cmp.Equal(again.LeftOut, report.LeftOut) {
		t.Errorf("a second ingest: published %v, left out %v", again.Published, again.LeftOut)
	}

	// The settings' globs come on top, and include beats exclude.
	s := settings(w.c)
	s.Index.Exclude, s.Index.Include = []string{"**/*.py", "docs/**"}, []string{"name*.py"}
	if _, err := ingest.Ingest(context.Background(), ingest.Options{Context: w.c, Settings: s}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".chinvexignore", ".gitignore", "a.go", "keep.log", "kept.gen.go", "name with space.py"}, w.indexed()); diff != "" {
		t.Errorf("with globs (-want +got):\n%s", diff)
	}

	// Outside git the same rules hold, by a walk.
	if err := os.RemoveAll(filepath.Join(w.root, ".git")); err != nil {
		t.Fatal(err)
	}
	w.ingest()
	if diff := cmp.Diff(want, w.indexed()); diff != "" {
		t.Errorf("outside git (-want +got):\n%s", diff)
	}
	if note := w.engine().Manifest().Repos[0].Note; note == "" {
		t.Error("that there is no history is not said")
	}
}

// A folder inside a work tree is a repository of its own: its paths and its history.
func TestFolderOfAWorkTree(t *testing.T) {
	w := newWorld(t)
	w.write("lib/a.go", "package a\n\nfunc Walrus() {}\n")
	w.write("lib/b.go", "package a\n")
	w.write("other/c.go", "package c\n\nfunc Walrus() {}\n")
	w.commit("first")
	w.write("lib/a.go", "package a\n\nfunc Walrus() { panic(1) }\n")
	w.write("lib/b.go", "package a // b\n")
	w.write("other/c.go", "package c\n\nfunc Walrus() { panic(2) }\n")
	w.commit("second")
	c, err := project.Home{Dir: t.TempDir()}.Create("lib")
	if err != nil {
		t.Fatal(err)
	}
	repo, _, err := c.Claim(filepath.Join(w.root, "lib"))
	if err != nil {
		t.Fatal(err)
	}
	w.c = c
	if r := w.ingest(); r.Commits != 2 {
		t.Errorf("%d commits", r.Commits)
	}
	if diff := cmp.Diff([]string{"a.go", "b.go"}, w.indexed()); diff != "" {
		t.Error(diff)
	}
	related, err := w.engine().Related(context.Background(), search.RelatedQuery{Path: project.Path{Repo: repo.Name, Rel: "a.go"}})
	if err != nil || len(related.Files) == 0 || related.Files[0].Reasons[0] != "changed together in 2 of 2 commits" {
		t.Errorf("%+v %v", related, err)
	}
}

// Two repositories in one context do not mix.
func TestTwoRepositories(t *testing.T) {
	w := newWorld(t)
	w.write("a.go", "package a\n\nfunc Walrus() {}\n")
	w.commit("first")
	other := newWorld(t)
	other.write("a.go", "package a\n\nfunc Walrus() { Zebra() }\n")
	other.commit("other")
	if _, _, err := w.c.Claim(other.root); err != nil {
		t.Fatal(err)
	}
	w.ingest()
	files := w.engine().Reader().Files
	if files.Len() != 2 || files.At(0).Path.Repo == files.At(1).Path.Repo {
		t.Errorf("%d files", files.Len())
	}
	// One that is gone keeps its place in the index and is told; the rest goes on.
	if err := os.RemoveAll(other.root); err != nil {
		t.Fatal(err)
	}
	w.write("b.go", "package a\n")
	r := w.ingest()
	if r.Added != 1 || r.Removed != 0 || len(r.Notes) != 1 || w.engine().Reader().Files.Len() != 3 {
		t.Errorf("%+v", r)
	}
}

func TestRenamesAreFollowed(t *testing.T) {
	w := newWorld(t)
	both := func(a, b, text string) {
		w.write(a, "package a\n// "+text+"\n")
		w.write(b, "package a\n// "+text+"\n")
		w.commit(text)
	}
	both("old.go", "peer.go", "one")
	both("old.go", "peer.go", "two")
	w.git("mv", "old.go", "new.go")
	w.commit("rename")
	w.ingest()
	count := func() int {
		e := w.engine()
		coupled, _, err := e.Reader().Coupling(w.path("new.go"), 5)
		if err != nil || len(coupled) == 0 {
			t.Fatalf("%v %v", coupled, err)
		}
		return coupled[0].Count
	}
	if n := count(); n != 2 {
		t.Errorf("new.go changed with peer.go %d times, want 2", n)
	}
	// The same when the rename comes to an index that has the history already.
	w.git("mv", "new.go", "newer.go")
	w.commit("rename again")
	both("newer.go", "peer.go", "three")
	w.ingest()
	coupled, total, err := w.engine().Reader().Coupling(w.path("newer.go"), 5)
	if err != nil || len(coupled) == 0 || coupled[0].Count != 3 || total != 5 {
		t.Errorf("newer.go: %+v of %d, %v", coupled, total, err)
	}
}

func TestDamagedIndexIsSaidAndRepaired(t *testing.T) {
	for name, spoil := range map[string]func(dir, build string) error{
		"meta.json":  func(dir, _ string) error { return os.WriteFile(index.ManifestPath(dir), []byte("{"), 0o600) },
		"chunks.tab": func(_, build string) error { return os.Truncate(filepath.Join(build, index.ChunksName), 3) },
		"vectors":    func(_, build string) error { return os.Truncate(filepath.Join(build, index.VectorsName), 3) },
		"rows.db":    func(_, build string) error { return os.Remove(filepath.Join(build, index.RowsName)) },
		"file table": func(_, build string) error {
			return os.WriteFile(filepath.Join(build, index.FilesName(1)), []byte("junk"), 0o600)
		},
		"a segment": func(_, build string) error {
			return os.WriteFile(filepath.Join(build, "seg-1-1.zap"), []byte("junk"), 0o600)
		},
		"whole build": func(_, build string) error { return os.RemoveAll(build) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write("a.go", "package a\n\nfunc Walrus() {}\n")
			w.commit("first")
			w.ingest()
			dir := w.c.IndexDir()
			m, err := index.ReadManifest(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := spoil(dir, filepath.Join(dir, m.Build)); err != nil {
				t.Fatal(err)
			}
			e, err := search.Open(dir, settings(w.c), search.Options{})
			if err == nil {
				_, err = e.Search(context.Background(), search.Query{Text: "walrus"})
				e.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "chinvex ingest") {
				t.Errorf("the damage is not said, or not what to do: %v", err)
			}
			if _, err := ingest.Ingest(context.Background(), ingest.Options{Context: w.c, Settings: settings(w.c), Rebuild: true}); err != nil {
				t.Fatal(err)
			}
			if got := w.files("walrus"); !cmp.Equal(got, []string{"a.go"}) {
				t.Errorf("after the rebuild: %q", got)
			}
		})
	}
}

// A use in a file that defines the name itself is that one's, whatever the file imports.
func TestUsesOfANamesake(t *testing.T) {
	w := newWorld(t)
	w.write("lib/respond.py", "def respond(x):\n    return x\n")
	w.write("app.py", "from lib.respond import other\n\n\nclass App:\n    def respond(self, x):\n        return x\n\n    def run(self):\n        return self.respond(1)\n")
	w.write("user.py", "from lib.respond import respond\n\n\ndef use():\n    return respond(2)\n")
	w.commit("first")
	w.ingest()
	refs, err := w.engine().Refs(context.Background(), search.RefsQuery{Name: "respond", File: w.path("lib/respond.py")})
	if err != nil {
		t.Fatal(err)
	}
	why := map[string]string{}
	for _, r := range refs.References {
		if r.Kind == "call" {
			why[r.Path.Rel] = r.Why
		}
	}
	if diff := cmp.Diff(map[string]string{"app.py": "defines the name itself", "user.py": "imports it"}, why); diff != "" {
		t.Error(diff)
	}
}
