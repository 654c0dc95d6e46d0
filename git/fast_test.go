package git

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOpenFast holds OpenFast against git's own answers.
func TestOpenFast(t *testing.T) {
	ctx := context.Background()
	r := newRepository(t)
	if _, _, ok := OpenFast(r.dir); ok {
		t.Error("a repository without commits was opened")
	}
	r.write("src/a", "1")
	first := r.commit("one")
	linked := filepath.Join(t.TempDir(), "linked")
	r.git("worktree", "add", "-q", "-b", "feature/x", linked)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(r.dir, link); err != nil {
		t.Fatal(err)
	}
	compare := func(root string) {
		t.Helper()
		repo, head, ok := OpenFast(root)
		if !ok {
			t.Fatalf("%s was not opened", root)
		}
		wantRepo, err := Open(ctx, root)
		if err != nil {
			t.Fatal(err)
		}
		wantHead, err := wantRepo.Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantRepo, repo) + cmp.Diff(wantHead, head); diff != "" {
			t.Errorf("%s:\n%s", root, diff)
		}
	}
	for _, root := range []string{r.dir, linked, link} {
		compare(root)
	}
	r.git("pack-refs", "--all")
	r.git("checkout", "-q", "--detach", first)
	compare(r.dir)
	compare(linked)
	for _, root := range []string{t.TempDir(), filepath.Join(r.dir, "src"), "/dev/null"} {
		if _, _, ok := OpenFast(root); ok {
			t.Errorf("%s was opened", root)
		}
	}
}
