package maintainer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chinvex/chinvex/memory"
)

func TestBootstrapReadsTheNewestCommitsOnce(t *testing.T) {
	r := newRepository(t)
	all := r.commits(60, "work")
	result, read := r.run(r.options())
	if diff := cmp.Diff(all[10:], read); diff != "" {
		t.Error(diff)
	}
	if result.From != "" || result.To != r.head() || result.Remaining != 0 || len(result.Review) != 0 || r.anchor() != r.head() {
		t.Errorf("%+v, anchor %s", result, r.anchor())
	}
	if want := []string{"docs/memory/CONSTRAINTS.md", "docs/memory/DECISIONS.md", "docs/memory/STATE.md"}; !slices.Equal(result.Changed, want) {
		t.Errorf("changed %v", result.Changed)
	}
	if n := strings.Count(result.Diff, "--- /dev/null\n+++ b/docs/memory/"); n != 3 {
		t.Errorf("the diff has %d new files:\n%s", n, result.Diff)
	}
	r.nothing(r.options()) // a review run is not repeated
	r.commitMemory(r.options())
	r.nothing(r.options()) // a fixed point
	if s := r.status(); s != "" {
		t.Errorf("left: %s", s)
	}
}

func TestOverTheLimitInSeveralRuns(t *testing.T) {
	r := newRepository(t)
	r.commit("first")
	r.run(r.options())
	r.commitMemory(r.options())
	all := r.commits(120, "work")
	var read []string
	for i, want := range []struct{ commits, remaining int }{{50, 70}, {50, 20}, {20, 0}} {
		w := &scribe{}
		result, err := Run(context.Background(), r.options(), w)
		if err != nil {
			t.Fatal(err)
		}
		if result.Commits != want.commits || result.Remaining != want.remaining {
			t.Errorf("run %d: %d commits, %d remain", i, result.Commits, result.Remaining)
		}
		review := strings.Join(result.Review, " ")
		if over := want.remaining > 0; over != strings.Contains(review, fmt.Sprint(want.remaining, " commits are left")) ||
			over != strings.Contains(r.read(memory.State.Path()), "Manual review:") || over != (len(w.got[0].Files) == 0) {
			t.Errorf("run %d: review %q, %d files", i, review, len(w.got[0].Files))
		}
		if strings.Contains(r.read(memory.State.Path()), "also-covered") {
			t.Error("in a line of commits the anchor stands for all before it")
		}
		read = append(read, hashesOf(w.got[0])...)
		if i%2 == 0 {
			r.commitMemory(r.options())
		}
	}
	if diff := cmp.Diff(all, read); diff != "" {
		t.Error(diff)
	}
	if r.anchor() != all[len(all)-1] {
		t.Errorf("the anchor is %s", r.anchor())
	}
	r.nothing(r.options())
}

func TestAnotherBranchIsNotCovered(t *testing.T) {
	r := newRepository(t)
	r.commits(2, "base")
	r.git("checkout", "-q", "-b", "side")
	side := r.commits(2, "side")
	r.run(r.options()) // up to the tip of side
	own := r.commitMemory(r.options())
	r.git("checkout", "-q", "main")
	main := r.commits(2, "main")
	merge := r.merge("side")
	_, read := r.run(r.options())
	if diff := cmp.Diff([]string{main[0], main[1], merge}, read); diff != "" {
		t.Errorf("side was %v and %s: %s", side, own, diff)
	}
	if r.anchor() != merge {
		t.Errorf("the anchor is %s", r.anchor())
	}
}

// TestEachCommitIsReadOnce makes histories with merges, criss-cross ones too, that
// grow and get the maintainer's own commits between runs.
func TestEachCommitIsReadOnce(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			r := newRepository(t)
			first := r.commit("first")
			o := r.options()
			o.Limits.Commits = 1 + rng.IntN(9)
			_, read := r.run(o)
			for round := range 3 {
				r.commitMemory(o)
				r.grow(rng, 30)
				for runs := 0; ; runs++ {
					result, some := r.run(o)
					read = append(read, some...)
					if len(some) > o.Limits.Commits || runs > 100 {
						t.Fatalf("%d commits in run %d", len(some), runs)
					}
					also := strings.Contains(r.read(memory.State.Path()), "also-covered")
					if result.Remaining == 0 {
						if also {
							t.Error("other tips are covered at the end")
						}
						break
					}
					if rng.IntN(3) == 0 {
						r.commitMemory(o) // on top of what is yet to be read
					}
				}
				if subject := r.git("log", "-1", "--format=%s", r.anchor()); subject == memory.CommitSubject {
					t.Error("the anchor is the maintainer's own commit")
				}
				r.nothing(o)
				var want []string
				for _, hash := range strings.Fields(r.git("log", "--format=%H %s")) {
					if len(hash) == 40 {
						want = append(want, hash)
					}
				}
				own := strings.Fields(r.git("log", "--format=%H", "--grep=^"+memory.CommitSubject+"$"))
				// A merge of these may be left out; where its branch was covered before it is read.
				for line := range strings.Lines(r.git("log", "--reverse", "--topo-order", "--merges", "--format=%H %P")) {
					if h := strings.Fields(line); slices.Contains(own, h[2]) && !slices.Contains(read, h[0]) {
						own = append(own, h[0])
					}
				}
				want = slices.DeleteFunc(want, func(hash string) bool { return slices.Contains(own, hash) })
				slices.Sort(want)
				got := slices.Sorted(slices.Values(read))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("round %d, first %s: %s", round, first, diff)
				}
			}
		})
	}
}

// grow adds commits on top of HEAD with branches that start anywhere among the last
// ones and are merged again, in both directions.
func (r *repository) grow(rng *rand.Rand, n int) {
	r.Helper()
	tree := r.git("rev-parse", "HEAD^{tree}")
	tips := []string{r.head()}
	all := slices.Clone(tips)
	if old, err := r.try("", "rev-parse", "-q", "--verify", "HEAD~3"); err == nil {
		tips, all = append(tips, old), append(all, old)
	}
	commit := func(parents ...string) string {
		args := []string{"commit-tree", "-m", fmt.Sprintf("commit %d", r.clock), tree}
		for _, p := range parents {
			args = append(args, "-p", p)
		}
		r.clock += 60 - rng.IntN(70) // clocks go back
		hash := r.git(args...)
		all = append(all, hash)
		return hash
	}
	for range n {
		i := rng.IntN(len(tips))
		switch k := rng.IntN(len(tips)); {
		case rng.IntN(4) == 0 && k != i: // merged, the branch goes on
			tips[i] = commit(tips[i], tips[k])
		case rng.IntN(5) == 0 && len(tips) < 6:
			tips = append(tips, commit(all[rng.IntN(len(all))]))
		default:
			tips[i] = commit(tips[i])
		}
	}
	last := tips[0]
	for _, tip := range tips[1:] {
		last = commit(last, tip)
	}
	r.git("update-ref", "HEAD", last)
	r.git("read-tree", "HEAD")
}

func TestOwnCommitTouchesNothingElse(t *testing.T) {
	r := newRepository(t)
	r.commit("first")
	r.run(r.options())
	r.commitMemory(r.options())
	r.write("src/x.txt", "x")
	mixed := r.commitFiles(memory.CommitSubject, "src/x.txt") // only its subject
	_, read := r.run(r.options())
	if !slices.Equal(read, []string{mixed}) {
		t.Errorf("read %v, want %s", read, mixed)
	}
}

func TestLostAnchor(t *testing.T) {
	for _, tc := range []struct {
		name   string
		lose   func(r *repository, all []string) (want []string)
		review string
	}{
		{"rebased", func(r *repository, all []string) []string {
			r.git("reset", "-q", "--hard", all[3])
			return append(r.commits(2, "again"), r.commits(1, "new")...)
		}, "not in the history of this branch; history was read from "},
		{"reset to an older commit", func(r *repository, all []string) []string {
			r.git("checkout", "-q", "--detach", all[3])
			return nil
		}, ""},
		{"collected, older commits", func(r *repository, all []string) []string {
			state := strings.ReplaceAll(r.read(memory.State.Path()), all[5], strings.Repeat("ab", 20))
			r.clock += 3 * 24 * 3600
			r.write(memory.State.Path(), strings.Replace(state, "Last memory update: 2023-11-14", "Last memory update: 2023-11-16", 1))
			return r.commits(2, "new")
		}, "is gone (a rebase, a squash or a shallow clone); history was read from "},
		{"collected, all newer", func(r *repository, all []string) []string {
			r.write(memory.State.Path(), strings.ReplaceAll(r.read(memory.State.Path()), all[5], strings.Repeat("ab", 20)))
			return append(all, r.commits(2, "new")...)
		}, "is gone (a rebase, a squash or a shallow clone); the newest 50 commits were read"},
		{"orphan", func(r *repository, all []string) []string {
			state := r.read(memory.State.Path())
			r.git("checkout", "-q", "--orphan", "fresh")
			r.git("reset", "-q", "--hard")
			r.write(memory.State.Path(), state)
			return []string{r.commit("fresh start")}
		}, "is not in the history of this branch; the newest 50 commits were read"},
		{"nonsense", func(r *repository, all []string) []string {
			r.write(memory.State.Path(), strings.ReplaceAll(r.read(memory.State.Path()), all[5], "0000000"))
			return append(all, r.commit("new"))
		}, "is gone"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRepository(t)
			all := r.commits(6, "work")
			r.run(r.options())
			want := tc.lose(r, all)
			if want == nil {
				r.nothing(r.options())
				return
			}
			result, read := r.run(r.options())
			if diff := cmp.Diff(want, read); diff != "" {
				t.Error(diff)
			}
			if review := strings.Join(result.Review, "\n"); !strings.Contains(review, tc.review) || !strings.Contains(r.read(memory.State.Path()), "Manual review: ") {
				t.Errorf("review %q", review)
			}
			if r.anchor() != r.head() {
				t.Errorf("the anchor is %s", r.anchor())
			}
			r.nothing(r.options())
		})
	}
}

func TestShallowClone(t *testing.T) {
	r := newRepository(t)
	r.commits(5, "work")
	r.run(r.options())
	r.commitMemory(r.options())
	r.commits(5, "more")
	clone := &repository{T: t, dir: filepath.Join(t.TempDir(), "clone"), clock: r.clock}
	r.git("clone", "-q", "--depth", "3", "file://"+r.dir, clone.dir)
	clone.git("config", "user.name", "Ada")
	clone.git("config", "user.email", "ada@example.org")
	result, read := clone.run(clone.options())
	if len(read) != 3 || len(result.Review) == 0 || !strings.Contains(result.Review[0], "shallow clone") || clone.anchor() != clone.head() {
		t.Errorf("%d commits, %+v", len(read), result)
	}
	clone.commitMemory(clone.options())
	clone.nothing(clone.options())
	clone.commit("new")
	if result, read := clone.run(clone.options()); len(read) != 1 || len(result.Review) != 0 {
		t.Errorf("%d commits, %+v", len(read), result)
	}
}

func TestPlacesToRun(t *testing.T) {
	t.Run("no commits", func(t *testing.T) {
		r := newRepository(t)
		_, err := Plan(context.Background(), r.options())
		if err == nil || !strings.Contains(err.Error(), "no commits yet") {
			t.Error(err)
		}
	})
	t.Run("no repository", func(t *testing.T) {
		o := Options{Now: time.Unix(firstCommit, 0)}
		o.Repo.Root = t.TempDir()
		if _, err := Plan(context.Background(), o); err == nil {
			t.Error("no error")
		}
	})
	t.Run("detached", func(t *testing.T) {
		r := newRepository(t)
		all := r.commits(3, "work")
		r.git("checkout", "-q", "--detach", all[1])
		if _, read := r.run(r.options()); !slices.Equal(read, all[:2]) {
			t.Errorf("read %v", read)
		}
		r.commitMemory(r.options())
		r.nothing(r.options())
		if branch := r.git("branch", "--show-current"); branch != "" {
			t.Errorf("on %s", branch)
		}
	})
	t.Run("linked work tree", func(t *testing.T) {
		r := newRepository(t)
		r.commits(2, "work")
		linked := &repository{T: t, dir: filepath.Join(t.TempDir(), "linked"), clock: r.clock}
		r.git("worktree", "add", "-q", linked.dir, "-b", "other")
		linked.run(linked.options())
		linked.commitMemory(linked.options())
		linked.nothing(linked.options())
		if s := r.status() + linked.status(); s != "" {
			t.Errorf("left: %s", s)
		}
	})
	t.Run("folder", func(t *testing.T) {
		r := newRepository(t)
		r.commit("outside")
		r.write("sub dir/a.txt", "a")
		r.write("sub dir/Makefile", "test:\n\ttrue\n")
		inside := r.commitFiles("inside", "sub dir/a.txt", "sub dir/Makefile")
		outside := r.commit("outside again")
		o := r.options()
		o.Repo.Root = filepath.Join(r.dir, "sub dir")
		work, err := Plan(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		in := work.Inputs
		if !slices.Equal(hashesOf(in), []string{inside}) || in.To != outside || !slices.Equal(in.Commits[0].Files, []string{"Makefile", "a.txt"}) ||
			len(in.Manifests) != 1 || in.Manifests[0].Path != "Makefile" || len(in.Files) != 2 || in.Files[0].Path != "Makefile" {
			t.Errorf("%+v", in)
		}
		r.run(o)
		r.commitMemory(o)
		r.nothing(o)
		if got := r.git("show", "--name-only", "--format=", "HEAD"); strings.Count(got, "sub dir/docs/memory/") != 3 {
			t.Errorf("committed %s", got)
		}
		if _, err := os.Stat(filepath.Join(r.dir, "docs")); err == nil {
			t.Error("files at the top")
		}
		for i := range 12 { // a branch in and out of the folder, in batches
			if i == 4 {
				r.git("checkout", "-q", "-b", "side", "HEAD~2")
			}
			if i == 8 {
				r.git("checkout", "-q", "main")
			}
			path := fmt.Sprintf("sub dir/%d.txt", i)
			if i%3 == 0 {
				path = fmt.Sprintf("%d.txt", i)
			}
			r.write(path, "x")
			r.commitFiles("commit "+fmt.Sprint(i), path)
		}
		r.merge("side")
		o.Limits.Commits = 3
		want := 8
		seen := map[string]bool{}
		for range 5 {
			result, read := r.run(o)
			for _, hash := range read {
				if seen[hash] {
					t.Errorf("%s was read twice", hash)
				}
				seen[hash] = true
			}
			if result.Remaining == 0 {
				break
			}
		}
		r.nothing(o)
		if len(seen) < want || len(seen) > want+1 { // the merge touches the folder, or not
			t.Errorf("%d commits read, want %d", len(seen), want)
		}
	})
	t.Run("from an empty root to its first commit", func(t *testing.T) {
		r := newRepository(t)
		r.commit("first")
		if _, err := Plan(context.Background(), r.options()); err != nil {
			t.Error(err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		r := newRepository(t)
		r.commit("first")
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := Plan(ctx, r.options()); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestMergedPullRequest has the memory come in through a pull request, as hosts merge
// them: no work for the next run.
func TestMergedPullRequest(t *testing.T) {
	for name, merge := range map[string]func(r *repository){
		"merge": func(r *repository) {
			r.git("merge", "-q", "--no-ff", "-m", "Merge pull request #12 from ada/memory", "memory")
		},
		"squash": func(r *repository) {
			r.git("merge", "-q", "--squash", "memory")
			r.git("commit", "-q", "-m", memory.CommitSubject+" (#12)")
		},
		"rebase": func(r *repository) { r.git("merge", "-q", "--ff-only", "memory") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			r.commits(2, "work")
			r.git("checkout", "-q", "-b", "memory")
			r.run(r.options())
			r.commitMemory(r.options())
			r.git("checkout", "-q", "main")
			merge(r)
			r.nothing(r.options())

			next := r.commit("more")
			if _, read := r.run(r.options()); !slices.Equal(read, []string{next}) {
				t.Errorf("read %v, want %s", read, next)
			}
			r.commitMemory(r.options())
			r.nothing(r.options())
		})
	}
	r := newRepository(t) // what else such a merge brings is read
	r.commit("work")
	r.git("checkout", "-q", "-b", "memory")
	other := r.commit("other work")
	r.run(r.options())
	r.commitMemory(r.options())
	r.git("checkout", "-q", "main")
	r.commit("main goes on")
	merged := r.merge("memory")
	if _, read := r.run(r.options()); len(read) != 2 || slices.Contains(read, other) || !slices.Contains(read, merged) {
		t.Errorf("read %v", read)
	}
}
