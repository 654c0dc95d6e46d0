package maintainer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chinvex/chinvex/git"
	"github.com/chinvex/chinvex/memory"
)

// tree is every file of a folder with its mode.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		data, _ := os.ReadFile(path)
		all[path] = info.Mode().String() + "\n" + string(data)
		return nil
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return all
}

func wrong(in *memory.Inputs) *memory.Proposal {
	p := proposal(in)
	p.Decisions[0].Evidence = []string{strings.Repeat("0", 40)}
	p.State.Active = nil
	return p
}

type unusable struct{}

func (unusable) Error() string { return "no JSON" }
func (unusable) Problem() memory.Problem {
	return memory.Problem{Severity: memory.Error, File: "answer", Where: "as a whole", What: "is no JSON"}
}

func TestRounds(t *testing.T) {
	r := newRepository(t)
	r.commits(3, "work")
	in := r.plan(r.options())
	before := r.status()

	w := &scribe{answers: []*memory.Proposal{wrong(&in), wrong(&in)}}
	result, err := Run(context.Background(), r.options(), w)
	if !errors.Is(err, ErrRefused) || len(w.got) != 2 || len(result.Refused) != 2 || r.status() != before {
		t.Errorf("%v, %d rounds, %+v\n%s", err, len(w.got), result, r.status())
	}
	if w.before[0] != nil || w.reasons[0] != nil || w.before[1] != w.answers[0] || !slices.Equal(w.reasons[1], result.Refused) {
		t.Errorf("asked with %v and %v", w.before, w.reasons)
	}
	if diff := cmp.Diff(w.got[0], w.got[1]); diff != "" {
		t.Errorf("the inputs differ: %s", diff)
	}

	w = &scribe{err: fmt.Errorf("ask: %w", errors.New("no connection"))}
	if _, err := Run(context.Background(), r.options(), w); err == nil || len(w.got) != 1 || r.status() != before {
		t.Errorf("a writer that fails: %v after %d rounds", err, len(w.got))
	}

	w = &scribe{err: fmt.Errorf("ask: %w", unusable{})}
	if _, err := Run(context.Background(), r.options(), w); err != nil || len(w.got) != 2 || w.before[1] != nil || len(w.reasons[1]) != 1 || w.reasons[1][0].File != "answer" {
		t.Errorf("an answer that is none: %v after %d rounds, %v", err, len(w.got), w.reasons)
	}

	r.commit("more")
	in = r.plan(r.options())
	w = &scribe{answers: []*memory.Proposal{wrong(&in)}} // repaired
	if _, err := Run(context.Background(), r.options(), w); err != nil || len(w.got) != 2 {
		t.Errorf("a repaired proposal: %v after %d rounds", err, len(w.got))
	}
}

func TestApplyCoversWhatWasPlanned(t *testing.T) {
	r := newRepository(t)
	r.commits(2, "work")
	in := r.plan(r.options())
	late := r.commit("came later")
	if result, err := Apply(context.Background(), r.options(), wrong(&in)); !errors.Is(err, ErrRefused) || len(result.Refused) != 2 {
		t.Errorf("a wrong proposal: %v", err)
	}
	result, err := Apply(context.Background(), r.options(), proposal(&in))
	if err != nil || result.To != in.To || r.anchor() != in.To {
		t.Fatalf("%v, %+v", err, result)
	}
	if _, err := Apply(context.Background(), r.options(), proposal(&in)); err == nil || !strings.Contains(err.Error(), "plan again") {
		t.Errorf("a plan that was used up, and a commit that it did not show: %v", err)
	}
	in = r.plan(r.options())
	if _, err := Apply(context.Background(), r.options(), proposal(&in)); err != nil {
		t.Error(err)
	}
	if r.anchor() != late {
		t.Errorf("the anchor is %s", r.anchor())
	}
	if _, err := Apply(context.Background(), r.options(), proposal(&in)); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing to do: %v", err)
	}

	few := r.commits(3, "few at a time")
	o := r.options()
	o.Limits.Commits = 2
	in = r.plan(o)
	if result, err := Apply(context.Background(), r.options(), proposal(&in)); err != nil || result.To != few[1] || result.Remaining != 1 {
		t.Errorf("a plan of two commits: %v, %+v", err, result)
	}
	r.run(r.options())

	r.commit("planned")
	in = r.plan(r.options())
	late = few[2]
	old := r.read(memory.State.Path())
	r.write(memory.State.Path(), strings.ReplaceAll(old, late, in.To)) // as if another tool had run
	r.commit("unplanned")
	if _, err := Apply(context.Background(), r.options(), proposal(&in)); err == nil || r.anchor() != in.To {
		t.Errorf("a plan that is over: %v", err)
	}
	r.write(memory.State.Path(), old)
	r.git("reset", "-q", "--soft", "HEAD~2")
	if _, err := Apply(context.Background(), r.options(), proposal(&in)); err == nil || !strings.Contains(err.Error(), "plan again") {
		t.Errorf("a plan for commits that are gone: %v", err)
	}
}

func TestHandEditsAreKept(t *testing.T) {
	r := newRepository(t)
	r.commits(2, "work")
	r.run(r.options())
	r.commitMemory(r.options())
	constraints := r.read(memory.Constraints.Path())
	r.write(memory.Constraints.Path(), strings.Replace(constraints, "## Rules\n", "## Rules\n- By hand\n", 1)+"\n## Mine\n\nprose\n")
	r.write(memory.State.Path(), strings.Replace(r.read(memory.State.Path()), memory.Unknown, "My objective", 1))
	if err := os.Chmod(filepath.Join(r.dir, memory.Constraints.Path()), 0o600); err != nil {
		t.Fatal(err)
	}
	r.commit("more")
	result, _ := r.run(r.options())
	got := r.read(memory.Constraints.Path())
	if !strings.Contains(got, "\n- By hand\n") || !strings.HasSuffix(got, "\n## Mine\n\nprose\n") {
		t.Errorf("lost:\n%s", got)
	}
	for _, want := range []string{"\n+- By hand\n", "\n+## Mine\n", "\n-My objective\n", "\n-- Work on", "\n+- Work on"} {
		if !strings.Contains(result.Diff, want) {
			t.Errorf("the diff lacks %q:\n%s", want, result.Diff)
		}
	}
	if len(result.Review) != 1 || !strings.Contains(result.Review[0], "edits by hand") || !strings.Contains(r.read(memory.State.Path()), "edits by hand") {
		t.Errorf("review %q", result.Review)
	}
	if info, err := os.Stat(filepath.Join(r.dir, memory.Constraints.Path())); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	// Not committed, but nobody has edited it.
	r.commit("even more")
	if result, _ := r.run(r.options()); len(result.Review) != 0 || !strings.Contains(result.Diff, "\n+- By hand\n") || strings.Contains(result.Diff, "My objective") {
		t.Errorf("review %q\n%s", result.Review, result.Diff)
	}
	r.commitMemory(r.options())
	if s := r.status(); s != "" {
		t.Errorf("left: %s", s)
	}
}

func TestEditsWhileTheWriterThinks(t *testing.T) {
	r := newRepository(t)
	r.commits(2, "work")
	r.run(r.options())
	r.commit("more")
	w := &scribe{during: func() {
		r.write(memory.Constraints.Path(), r.read(memory.Constraints.Path())+"\n- Typed meanwhile\n")
		r.commit("came meanwhile")
	}}
	result, err := Run(context.Background(), r.options(), w)
	if err != nil || result.To == r.head() || !strings.Contains(r.read(memory.Constraints.Path()), "- Typed meanwhile\n") {
		t.Errorf("%v, %+v\n%s", err, result, r.read(memory.Constraints.Path()))
	}
	w = &scribe{during: func() { r.git("checkout", "-q", "--detach", "HEAD~2") }}
	before := tree(t, filepath.Join(r.dir, "docs"))
	if _, err := Run(context.Background(), r.options(), w); err == nil || !strings.Contains(err.Error(), "another commit was checked out") {
		t.Errorf("another branch: %v", err)
	}
	if diff := cmp.Diff(before, tree(t, filepath.Join(r.dir, "docs"))); diff != "" {
		t.Error(diff)
	}
}

func TestAnotherAnchorWhileTheWriterThinks(t *testing.T) {
	r := newRepository(t)
	all := r.commits(3, "work")
	r.run(r.options())
	r.commit("more")
	state := strings.ReplaceAll(r.read(memory.State.Path()), all[2], all[1])
	w := &scribe{during: func() { r.write(memory.State.Path(), state) }}
	if _, err := Run(context.Background(), r.options(), w); err == nil || !strings.Contains(err.Error(), "another coverage anchor") || r.read(memory.State.Path()) != state {
		t.Errorf("%v\n%s", err, r.read(memory.State.Path()))
	}
}

func TestNothingIsWrittenWhereItCannotBe(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(r *repository)
		want string
	}{
		{"a link out of the repository", func(r *repository) {
			outside := r.TempDir()
			os.MkdirAll(filepath.Join(r.dir, "docs"), 0o755)
			if err := os.Symlink(outside, filepath.Join(r.dir, "docs/memory")); err != nil {
				r.Fatal(err)
			}
		}, "leaves the repository"},
		{"a file that links out", func(r *repository) {
			os.MkdirAll(filepath.Join(r.dir, "docs/memory"), 0o755)
			if err := os.Symlink(filepath.Join(r.TempDir(), "STATE.md"), filepath.Join(r.dir, "docs/memory/STATE.md")); err != nil {
				r.Fatal(err)
			}
		}, "leaves the repository"},
		{"two files that are one", func(r *repository) {
			r.write("docs/memory/DECISIONS.md", "")
			if err := os.Symlink("DECISIONS.md", filepath.Join(r.dir, "docs/memory/CONSTRAINTS.md")); err != nil {
				r.Fatal(err)
			}
		}, "link to another memory file"},
		{"a read-only file", func(r *repository) {
			r.write("docs/memory/DECISIONS.md", "# Decisions\n\n## Recent\n")
			if err := os.Chmod(filepath.Join(r.dir, "docs/memory/DECISIONS.md"), 0o444); err != nil {
				r.Fatal(err)
			}
		}, "DECISIONS.md is read-only"},
		{"a folder in the way", func(r *repository) { r.write("docs/memory/STATE.md/x", "x") }, "STATE.md is not a regular file"},
		{"a file in the way", func(r *repository) { r.write("docs", "x") }, "cannot make the folder"},
		{"not UTF-8", func(r *repository) { r.write("docs/memory/CONSTRAINTS.md", "\xff") }, "not UTF-8"},
		{"a merge that is not resolved", func(r *repository) { r.write("docs/memory/CONSTRAINTS.md", "<<<<<<< a\n") }, "unresolved merge"},
		{"something else", func(r *repository) { r.write("docs/memory/STATE.md", "# Of the union\n") }, "breaks the contracts"},
		{"a file that is gone", func(r *repository) {
			r.write("docs/memory/DECISIONS.md", "# Decisions\n")
			r.commitFiles("Add", "docs/memory/DECISIONS.md")
			os.Remove(filepath.Join(r.dir, "docs/memory/DECISIONS.md"))
		}, "not in the work tree"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRepository(t)
			r.commit("first")
			tc.make(r)
			before := tree(t, filepath.Join(r.dir, "docs"))
			_, err := Run(context.Background(), r.options(), &scribe{})
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			if diff := cmp.Diff(before, tree(t, filepath.Join(r.dir, "docs"))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLinkInsideTheRepository(t *testing.T) {
	r := newRepository(t)
	r.write("notes/x", "x")
	r.commitFiles("first", "notes/x")
	os.MkdirAll(filepath.Join(r.dir, "docs"), 0o755)
	if err := os.Symlink("../notes", filepath.Join(r.dir, "docs/memory")); err != nil {
		t.Fatal(err)
	}
	r.run(r.options())
	r.commitMemory(r.options())
	if got := r.git("show", "--name-only", "--format=", "HEAD"); got != "notes/CONSTRAINTS.md\nnotes/DECISIONS.md\nnotes/STATE.md" {
		t.Errorf("committed %s", got)
	}
	r.nothing(r.options())
}

// TestCrash leaves what a kill leaves, at each step of the writing.
func TestCrash(t *testing.T) {
	for _, fresh := range []bool{true, false} {
		for step := range 5 { // renames done; 4: an unfinished one too
			t.Run(fmt.Sprint(fresh, step), func(t *testing.T) {
				r := newRepository(t)
				r.commits(2, "work")
				if !fresh {
					r.run(r.options())
					r.commitMemory(r.options())
					r.commit("more")
				}
				// What a whole run makes.
				whole, _ := r.run(r.options())
				want := tree(t, filepath.Join(r.dir, "docs"))
				after := map[string]string{}
				var left []pending
				for _, kind := range []memory.Kind{memory.Constraints, memory.Decisions, memory.State} {
					after[kind.Path()] = r.read(kind.Path())
					var before []byte
					if fresh {
						os.Remove(filepath.Join(r.dir, kind.Path()))
					} else {
						r.git("checkout", "-q", "HEAD", "--", kind.Path())
						before = []byte(r.read(kind.Path()))
					}
					left = append(left, pending{kind.Path(), digestOf(before), []byte(after[kind.Path()]), 0o644})
				}
				for _, p := range left[:min(step, 3)] {
					r.write(p.Path, after[p.Path])
				}
				if step == 4 {
					os.Remove(filepath.Join(r.dir, memory.State.Path()))
					if !fresh {
						r.git("checkout", "-q", "HEAD", "--", memory.State.Path())
					}
					r.write("docs/memory/.STATE.md.123456", "half")
				}
				data, err := json.Marshal(journal{Pending: left})
				if err != nil {
					t.Fatal(err)
				}
				r.write(".git/chinvex/memory.json", string(data))

				if _, err := Run(context.Background(), r.options(), &scribe{}); !errors.Is(err, ErrNothing) || r.anchor() != whole.To {
					t.Errorf("after the crash: %v", err)
				}
				if diff := cmp.Diff(want, tree(t, filepath.Join(r.dir, "docs"))); diff != "" {
					t.Error(diff)
				}
				if strings.Contains(r.read(".git/chinvex/memory.json"), "pending") {
					t.Error("the journal is still there")
				}
			})
		}
	}
}

func TestCrashAndEdit(t *testing.T) {
	r := newRepository(t)
	r.commits(2, "work")
	r.run(r.options())
	r.commitMemory(r.options())
	r.commit("more")
	state := r.read(memory.State.Path())
	data, _ := json.Marshal(journal{Pending: []pending{
		{memory.Constraints.Path(), digest([]byte(r.read(memory.Constraints.Path()))), []byte("# Other\n"), 0o644},
		{memory.State.Path(), digest([]byte(state)), []byte("# Other\n"), 0o644},
	}})
	r.write(".git/chinvex/memory.json", string(data))
	r.write(memory.Constraints.Path(), strings.Replace(r.read(memory.Constraints.Path()), "## Rules\n", "## Rules\n- Typed after the crash\n", 1))
	result, read := r.run(r.options())
	if len(read) != 1 || len(result.Review) == 0 || !strings.Contains(result.Review[0], "interrupted") || !strings.Contains(r.read(memory.Constraints.Path()), "Typed after the crash") {
		t.Errorf("%+v\n%s", result, r.read(memory.Constraints.Path()))
	}
	for _, text := range []string{"no JSON", `{"pending":[{"path":"src/0.txt","before":"","after":"eA=="}]}`} { // not ours
		r.commit("again")
		source := tree(t, filepath.Join(r.dir, "src"))
		r.write(".git/chinvex/memory.json", text)
		r.run(r.options())
		if diff := cmp.Diff(source, tree(t, filepath.Join(r.dir, "src"))); diff != "" {
			t.Error(diff)
		}
	}
}

// TestFailureGivesTheOldBytesBack has the second file fail.
func TestFailureGivesTheOldBytesBack(t *testing.T) {
	r := newRepository(t)
	r.commit("first")
	run, err := open(context.Background(), r.options())
	if err != nil {
		t.Fatal(err)
	}
	defer run.close()
	r.write("a.md", "old")
	r.write("dir/x", "x")
	err = run.putAll([]pending{{"new.md", "", []byte("new"), 0o644}, {"a.md", "", []byte("new"), 0o644}, {"dir", "", []byte("new"), 0o644}})
	if err == nil || r.read("a.md") != "old" {
		t.Errorf("%v, %q", err, r.read("a.md"))
	}
	if _, err := os.Stat(filepath.Join(r.dir, "new.md")); !os.IsNotExist(err) {
		t.Error("new.md is still there")
	}
}

func TestOneAtATime(t *testing.T) {
	r := newRepository(t)
	r.commits(3, "work")
	w := &scribe{}
	w.during = func() {
		o := r.options()
		o.Wait = time.Millisecond
		if _, err := Run(context.Background(), o, &scribe{}); !errors.Is(err, ErrLocked) {
			t.Errorf("a second run: %v", err)
		}
		if _, err := Commit(context.Background(), o); !errors.Is(err, ErrLocked) {
			t.Errorf("a commit during a run: %v", err)
		}
	}
	if _, err := Run(context.Background(), r.options(), w); err != nil {
		t.Fatal(err)
	}
	r.commit("more")
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	o := r.options()
	o.Wait = time.Minute
	for range 4 {
		wg.Go(func() {
			_, err := Run(context.Background(), o, &scribe{})
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	wg.Wait()
	done := 0
	for _, err := range errs {
		if err == nil {
			done++
		} else if !errors.Is(err, ErrNothing) {
			t.Error(err)
		}
	}
	if done != 1 {
		t.Errorf("%d of 4 runs wrote", done)
	}
}

func TestCommit(t *testing.T) {
	r := newRepository(t)
	r.commits(2, "work")
	if _, err := Commit(context.Background(), r.options()); err == nil || !strings.Contains(err.Error(), "no memory files") {
		t.Errorf("nothing there: %v", err)
	}
	r.write("staged.txt", "staged")
	r.git("add", "staged.txt")
	r.write("src/0.txt", "dirty")
	r.write("docs/memory/NOTES.md", "mine")
	r.run(r.options())
	hash := r.commitMemory(r.options())
	if got := r.git("show", "--name-only", "--format=%s|%an", hash); got != memory.CommitSubject+"|Ada\n\ndocs/memory/CONSTRAINTS.md\ndocs/memory/DECISIONS.md\ndocs/memory/STATE.md" {
		t.Errorf("committed %s", got)
	}
	want := " M src/0.txt\nA  staged.txt\n?? docs/memory/NOTES.md"
	if got := r.status(); got != want {
		t.Errorf("status\n%s\nwant\n%s", got, want)
	}
	if _, err := Commit(context.Background(), r.options()); !errors.Is(err, git.ErrUnchanged) || r.head() != hash {
		t.Errorf("committed already: %v", err)
	}

	r.commit("more")
	r.run(r.options())
	r.commit("and more") // the anchor is not HEAD
	anchor := r.anchor()
	hash = r.commitMemory(r.options())
	if r.git("show", hash+":docs/memory/STATE.md") != strings.TrimSpace(r.read(memory.State.Path())) || r.anchor() != anchor {
		t.Error("other bytes were committed")
	}
	if _, read := r.run(r.options()); len(read) != 1 {
		t.Errorf("read %v", read)
	}

	r.write(".git/hooks/pre-commit", "#!/bin/sh\ngit add src/0.txt\n")
	if err := os.Chmod(filepath.Join(r.dir, ".git/hooks/pre-commit"), 0o755); err != nil {
		t.Fatal(err)
	}
	if hash, err := Commit(context.Background(), r.options()); err == nil || !strings.Contains(err.Error(), "hook put src/0.txt into commit") || hash != r.head() {
		t.Errorf("a hook that adds: %s, %v", hash, err)
	}

	r.write(".git/hooks/pre-commit", "#!/bin/sh\n")
	r.commit("even more")
	r.run(r.options())
	r.write(".git/hooks/commit-msg", "#!/bin/sh\necho 'chore: memory' >$1\n")
	if err := os.Chmod(filepath.Join(r.dir, ".git/hooks/commit-msg"), 0o755); err != nil {
		t.Fatal(err)
	}
	if hash, err := Commit(context.Background(), r.options()); err == nil || !strings.Contains(err.Error(), "changed the subject") || hash != r.head() {
		t.Errorf("a hook that changes the subject: %s, %v", hash, err)
	}

	ignored := newRepository(t)
	ignored.write(".gitignore", "docs/\n")
	ignored.commitFiles("first", ".gitignore")
	ignored.run(ignored.options())
	if _, err := Commit(context.Background(), ignored.options()); err == nil || !strings.Contains(err.Error(), "ignored by git") {
		t.Errorf("ignored: %v", err)
	}
}

func TestUnified(t *testing.T) {
	numbers := func(n int) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, "%d\n", i)
		}
		return out.String()
	}
	for i, tc := range [][2]string{
		{"", "a\nb\n"}, {"a\n", ""}, {"a\nb\nc\n", "a\nB\nc\n"}, {numbers(40), strings.Replace(strings.Replace(numbers(40), "\n5\n", "\n5\nnew\n", 1), "\n30\n", "\n", 1)},
		{numbers(20), "first\n" + numbers(20) + "last\n"}, {numbers(20), strings.Replace(strings.Replace(numbers(20), "\n5\n", "\nx\n", 1), "\n12\n", "\ny\n", 1)},
		{numbers(20), strings.Replace(strings.Replace(numbers(20), "\n5\n", "\nx\n", 1), "\n13\n", "\ny\n", 1)}, {numbers(9), numbers(9)},
	} {
		r := newRepository(t)
		r.write("f", tc[0])
		r.commitFiles("first", "f")
		r.write("f", tc[1])
		want := r.git("diff", "--no-color", "-U3", "--src-prefix=a/", "--dst-prefix=b/")
		if at := strings.Index(want, "--- "); at >= 0 {
			want = want[at:] + "\n"
		}
		// Git leaves the 1 out of "1,1", and names a line's context.
		want = strings.NewReplacer("@@ -1 ", "@@ -1,1 ", " +1 @@", " +1,1 @@").Replace(want)
		var clean strings.Builder
		for line := range strings.Lines(want) {
			if strings.HasPrefix(line, "@@") {
				line = line[:strings.LastIndex(line, "@@")+2] + "\n"
			}
			clean.WriteString(line)
		}
		if diff := cmp.Diff(clean.String(), unified("f", []byte(tc[0]), []byte(tc[1]))); diff != "" {
			t.Errorf("case %d: %s", i, diff)
		}
	}
	if got := unified("f", []byte("a\r\nb\r\n"), []byte("a\nb\n")); got != "" {
		t.Errorf("line ends: %s", got)
	}
	if !bytes.HasPrefix([]byte(unified("f", nil, []byte("a\n"))), []byte("--- /dev/null\n")) {
		t.Error("a new file")
	}
}
