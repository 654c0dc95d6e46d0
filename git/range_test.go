package git

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRange(t *testing.T) {
	ctx := context.Background()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			r := newRepository(t)
			r.git("init", "-q", "--object-format="+format, "-b", "main", "again")
			r.dir += "/again"
			r.write("a.txt", "one\n")
			r.write("caf\xe9 \t.txt", "odd\n")
			first := r.commit("first")
			r.git("checkout", "-q", "-b", "side")
			r.write("side.txt", "side\n")
			side := r.commit("side")
			r.git("checkout", "-q", "main")
			r.write("a.txt", "one\ntwo\n")
			r.write("bin", "\x00\x01")
			second := r.commit("second\n\nbody\n---\nmore")
			r.git("merge", "-q", "--no-ff", "-m", "merged", "side")
			merge := r.git("rev-parse", "HEAD")
			repo := r.open()

			nodes, err := repo.Graph(ctx, GraphOptions{From: merge, Not: []string{first}})
			if err != nil || len(nodes) != 3 || nodes[0].Hash != merge || nodes[0].Subject != "merged" || !slices.Equal(nodes[0].Parents, []string{second, side}) {
				t.Errorf("Graph = %+v, %v", nodes, err)
			}
			if nodes, err = repo.Graph(ctx, GraphOptions{From: merge, Depth: 1, ByDate: true}); err != nil || len(nodes) != 1 {
				t.Errorf("one commit: %+v, %v", nodes, err)
			}
			commits, err := repo.Commits(ctx, []string{second, first, merge})
			if err != nil || len(commits) != 3 || commits[0].Subject != "second" || commits[0].Body != "body\n---\nmore" || len(commits[0].Files) != 2 || len(commits[2].Files) != 0 {
				t.Errorf("Commits = %+v, %v", commits, err)
			}
			if commits, err = repo.Commits(ctx, nil); err != nil || len(commits) != 0 {
				t.Errorf("no hashes: %+v, %v", commits, err)
			}
			for _, c := range []struct {
				a, b string
				want []string
			}{{merge, side, []string{side}}, {second, side, []string{first}}, {first, merge, []string{first}}} {
				if got, err := repo.MergeBases(ctx, c.a, c.b); err != nil || !slices.Equal(got, c.want) {
					t.Errorf("MergeBases(%s, %s) = %v, %v", c.a, c.b, got, err)
				}
			}
			files, err := repo.Churn(ctx, "", second)
			if err != nil || files["a.txt"].Lines != 2 || !files["bin"].Binary || files["caf\xe9 \t.txt"].Lines != 1 || len(files) != 3 {
				t.Errorf("Churn = %v, %v", files, err)
			}
			if text, more, err := repo.Diff(ctx, first, second, "a.txt", 1000); err != nil || more || string(text) != "@@ -1 +1,2 @@\n one\n+two\n" {
				t.Errorf("Diff = %q, %v, %v", text, more, err)
			}
			if text, more, err := repo.Diff(ctx, "", second, "a.txt", 5); err != nil || !more || string(text) != "@@ -0" {
				t.Errorf("cut: %q, %v, %v", text, more, err)
			}
			if text, _, err := repo.Diff(ctx, "", second, "bin", 1000); err != nil || text != nil {
				t.Errorf("binary: %q, %v", text, err)
			}
			if text, more, err := repo.Blob(ctx, second, "a.txt", 4); err != nil || !more || string(text) != "one\n" {
				t.Errorf("Blob = %q, %v, %v", text, more, err)
			}
			if _, _, err := repo.Blob(ctx, second, "gone.txt", 4); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("no such file: %v", err)
			}
			if names, err := repo.List(ctx, second, ""); err != nil || !slices.Equal(names, []string{"a.txt", "bin", "caf\xe9 \t.txt"}) {
				t.Errorf("List = %q, %v", names, err)
			}

			if hash, err := repo.Resolve(ctx, side[:8]); err != nil || hash != side {
				t.Errorf("Resolve = %s, %v", hash, err)
			}
			r.git("branch", first[:10], second) // a branch with the name of a commit
			for hash, want := range map[string]bool{side[:7]: true, side: true, first[:9]: true, strings.Repeat("0", 40): false, "main": false, "": false, "--all": false, side + "0": false} {
				if repo.HasCommit(ctx, hash) != want {
					t.Errorf("HasCommit(%q) is %v", hash, !want)
				}
			}
			if got, err := repo.NewestBefore(ctx, "main", time.Unix(firstCommit, 0)); err != nil || got != first {
				t.Errorf("NewestBefore = %s, %v", got, err)
			}
			if got, err := repo.NewestBefore(ctx, "main", time.Unix(firstCommit-1, 0)); err != nil || got != "" {
				t.Errorf("before all: %s, %v", got, err)
			}
		})
	}
}

// TestBadRevisions has what a hand-edited file may name in place of a commit.
func TestBadRevisions(t *testing.T) {
	ctx := context.Background()
	r := newRepository(t)
	r.write("a", "a")
	good := r.commit("one")
	repo := r.open()
	for _, bad := range []string{"", "--output=/dev/null", "a\x00b", "a\nb", "none", "HEAD:a", strings.Repeat("f", 40), strings.Repeat("x", 1<<16)} {
		if _, err := repo.Resolve(ctx, bad); err == nil || strings.Contains(err.Error(), "\n") || len(err.Error()) > 1<<18 {
			t.Errorf("Resolve(%.30q): %v", bad, err)
		}
		if got, err := repo.MergeBases(ctx, good, bad); err == nil && len(got) > 0 {
			t.Errorf("MergeBases(%.30q) = %v", bad, got)
		}
		if got, err := repo.Graph(ctx, GraphOptions{From: bad}); err == nil && len(got) > 0 {
			t.Errorf("Graph(%.30q) = %v", bad, got)
		}
		if bad == strings.Repeat("f", 40) {
			continue // has the form of a commit
		}
		if _, err := repo.Commits(ctx, []string{bad}); err == nil {
			t.Errorf("Commits(%.30q) is no error", bad)
		}
		if bad != "" {
			if _, err := repo.Churn(ctx, bad, good); err == nil {
				t.Errorf("Churn(%.30q) is no error", bad)
			}
		}
	}
	if _, err := repo.Resolve(ctx, strings.Repeat("0", 40)); !errors.Is(err, ErrUnknown) {
		t.Errorf("an unknown commit: %v", err)
	}
}
