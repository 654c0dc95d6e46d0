package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
	"github.com/chinvex/chinvex/search/index"
	"github.com/chinvex/chinvex/search/ingest"
)

// A child process of the crash test ingests and is killed.
func TestMain(m *testing.M) {
	if home := os.Getenv("CHINVEX_TEST_INGEST"); home != "" {
		c, err := (project.Home{Dir: home}).Context("x")
		if err == nil {
			_, err = ingest.Ingest(context.Background(), ingest.Options{Context: c, Settings: settings(c), Rebuild: os.Getenv("CHINVEX_TEST_REBUILD") != ""})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func settings(c *project.Context) *project.Settings {
	r, err := project.Resolve(c, nil, nil)
	if err != nil {
		panic(err)
	}
	return &r.Settings
}

// world is a repository made with git itself, and a home with a context for it.
type world struct {
	t    *testing.T
	root string
	c    *project.Context
	tick int
	at   string // date of the next commits, "" for one second after the other
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, root: filepath.Join(t.TempDir(), "repo")}
	if err := os.MkdirAll(w.root, 0o755); err != nil {
		t.Fatal(err)
	}
	w.git("init", "-q", "-b", "main")
	c, err := project.Home{Dir: t.TempDir()}.Create("x")
	if err == nil {
		_, _, err = c.Claim(w.root)
	}
	if err == nil {
		err = c.Save()
	}
	if err != nil {
		t.Fatal(err)
	}
	w.c = c
	return w
}

func (w *world) git(args ...string) {
	w.t.Helper()
	w.tick++
	date := fmt.Sprintf("2026-01-01T00:00:%02dZ", w.tick%60)
	if w.at != "" {
		date = w.at
	}
	cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = w.root
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (w *world) write(name, text string) {
	w.t.Helper()
	abs := filepath.Join(w.root, name)
	if err := os.MkdirAll(filepath.Dir(abs), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(abs, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) commit(message string) {
	w.t.Helper()
	w.git("add", "-A")
	w.git("commit", "-q", "--allow-empty", "-m", message)
}

func (w *world) ingest() *ingest.Report {
	w.t.Helper()
	r, err := ingest.Ingest(context.Background(), ingest.Options{Context: w.c, Settings: settings(w.c)})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) engine() *search.Engine {
	w.t.Helper()
	e, err := search.Open(w.c.IndexDir(), settings(w.c), search.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(e.Close)
	return e
}

// files searches and returns the distinct files, best first.
func (w *world) files(query string) []string {
	w.t.Helper()
	res, err := w.engine().Search(context.Background(), search.Query{Text: query, Mode: search.Lexical})
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	seen := map[string]bool{}
	for _, r := range res.Results {
		if !seen[r.Path.Rel] {
			seen[r.Path.Rel] = true
			out = append(out, r.Path.Rel)
		}
	}
	return out
}

func (w *world) path(rel string) project.Path {
	p, ok := project.NewPath(w.c.Includes.Repos[0].Name, rel)
	if !ok {
		w.t.Fatalf("no path: %q", rel)
	}
	return p
}

type change struct{ Added, Changed, Removed, Commits int }

func changes(r *ingest.Report) change { return change{r.Added, r.Changed, r.Removed, r.Commits} }

func TestIncremental(t *testing.T) {
	w := newWorld(t)
	w.write("parser.go", "package p\n\n// Parse reads a walrus.\nfunc Parse(s string) int { return lex(s) }\n")
	w.write("lexer.go", "package p\n\nfunc lex(s string) int { return len(s) }\n")
	w.write("README.md", "# Title\n\nAll about zebras.\n")
	w.write("logo.bin", "\x00\x01\x02")
	w.commit("first walrus")

	step := func(what string, want change, published bool) {
		t.Helper()
		r := w.ingest()
		if diff := cmp.Diff(want, changes(r)); diff != "" || r.Published != published {
			t.Errorf("%s: published %v, %s", what, r.Published, diff)
		}
	}
	find := func(query string, want ...string) {
		t.Helper()
		if got := w.files(query); !cmp.Equal(got, want) {
			t.Errorf("search %q: %q, want %q", query, got, want)
		}
	}

	step("first", change{Added: 3, Commits: 1}, true)
	find("walrus", "parser.go")
	find("zebras", "README.md")
	step("nothing changed", change{}, false)

	w.write("lexer.go", "package p\n\n// lex hunts a narwhal.\nfunc lex(s string) int { return len(s) + 1 }\n")
	step("edit", change{Changed: 1}, true)
	find("narwhal", "lexer.go")
	step("after the edit", change{}, false)

	// Touched, not changed: read once, then remembered.
	now := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(w.root, "README.md"), now, now); err != nil {
		t.Fatal(err)
	}
	step("touched", change{}, true)
	step("after the touch", change{}, false)

	w.write("new_file.go", "package p\n\nfunc quokka() {}\n")
	step("added", change{Added: 1}, true)
	find("quokka", "new_file.go")

	w.commit("second")
	if r := w.ingest(); r.Commits != 1 || r.Changed+r.Added+r.Removed != 0 {
		t.Errorf("commit of indexed files: %+v", changes(r))
	}

	w.git("mv", "new_file.go", "renamed.go")
	step("renamed", change{Added: 1, Removed: 1}, true)
	find("quokka", "renamed.go")
	w.commit("rename")
	w.ingest()

	if err := os.Remove(filepath.Join(w.root, "README.md")); err != nil {
		t.Fatal(err)
	}
	step("deleted", change{Removed: 1}, true)
	find("zebras")
	w.commit("no readme")
	w.ingest()

	w.git("checkout", "-q", "-b", "other", "HEAD~3")
	r := w.ingest()
	if got := changes(r); got != (change{Added: 1, Changed: 1, Removed: 1}) {
		t.Errorf("a branch switch costs its own files only: %+v", got)
	}
	find("zebras", "README.md")
	if m := w.engine().Manifest(); m.Repos[0].Branch != "other" {
		t.Errorf("branch %q", m.Repos[0].Branch)
	}
}

// What an incremental index answers is what a new one answers.
func TestIncrementalEqualsRebuilt(t *testing.T) {
	w := newWorld(t)
	for i := range 20 {
		w.write(fmt.Sprintf("pkg/f%d.go", i), fmt.Sprintf("package pkg\n\n// Func%d handles the animal%d.\nfunc Func%d(x int) int { return Func%d(x) }\n", i, i, i, (i+1)%20))
	}
	w.commit("start")
	w.ingest()
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 12 {
		i := rng.IntN(20)
		w.write(fmt.Sprintf("pkg/f%d.go", i), fmt.Sprintf("package pkg\n\n// Func%d meets beast%d.\nfunc Func%d(x int) int { return Func%d(x) + %d }\n", i, round, i, (i+3)%20, round))
		if round%3 == 0 {
			w.commit(fmt.Sprintf("round %d", round))
		}
		if _, err := ingest.Refresh(context.Background(), ingest.Options{Context: w.c, Settings: settings(w.c)}, []project.Path{w.path(fmt.Sprintf("pkg/f%d.go", i))}); err != nil {
			t.Fatal(err)
		}
	}
	w.commit("end")
	w.ingest()
	type answer struct {
		Results []string
		Refs    []search.Reference
		Related []search.RelatedFile
	}
	ask := func() (out []answer) {
		e := w.engine()
		ctx := context.Background()
		for _, q := range []string{"beast11", "animal7 handles", "Func3", "beast"} {
			res, err := e.Search(ctx, search.Query{Text: q, Mode: search.Lexical})
			if err != nil {
				t.Fatal(err)
			}
			refs, err := e.Refs(ctx, search.RefsQuery{Name: "Func5"})
			if err != nil {
				t.Fatal(err)
			}
			related, err := e.Related(ctx, search.RelatedQuery{Path: w.path("pkg/f3.go")})
			if err != nil {
				t.Fatal(err)
			}
			a := answer{Refs: refs.References, Related: related.Files}
			for _, r := range res.Results {
				a.Results = append(a.Results, fmt.Sprintf("%s:%d-%d %.6f %s", r.Path.Rel, r.Start, r.End, r.Score, r.Text))
			}
			out = append(out, a)
		}
		return out
	}
	before := ask()
	r, err := ingest.Ingest(context.Background(), ingest.Options{Context: w.c, Settings: settings(w.c), Rebuild: true})
	if err != nil || !r.Rebuilt {
		t.Fatalf("rebuild: %v %+v", err, r)
	}
	if diff := cmp.Diff(before, ask()); diff != "" {
		t.Errorf("incremental and rebuilt index differ:\n%s", diff)
	}
}

func TestRefresh(t *testing.T) {
	w := newWorld(t)
	w.write("a.py", "def alpha():\n    return 1\n")
	w.write(".gitignore", "ignored.py\n")
	w.commit("first")
	o := ingest.Options{Context: w.c, Settings: settings(w.c)}
	if _, err := ingest.Refresh(context.Background(), o, []project.Path{w.path("a.py")}); !errors.Is(err, index.ErrNoIndex) {
		t.Errorf("refresh without an index: %v", err)
	}
	w.ingest()
	w.write("a.py", "def omega():\n    return 2\n")
	w.write("b.py", "def beta():\n    return alpha()\n")
	w.write("ignored.py", "def secret_plan(): pass\n")
	r, err := ingest.Refresh(context.Background(), o, []project.Path{w.path("a.py"), w.path("b.py"), w.path("ignored.py"), w.path("never.py"), {Repo: "other", Rel: "a.py"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := changes(r); got != (change{Added: 1, Changed: 1}) {
		t.Errorf("%+v", got)
	}
	if got := w.files("omega"); !cmp.Equal(got, []string{"a.py"}) {
		t.Errorf("omega: %q", got)
	}
	if got := w.files("alpha"); !cmp.Equal(got, []string{"b.py"}) {
		t.Errorf("alpha: %q", got)
	}
	os.Remove(filepath.Join(w.root, "b.py"))
	if r, err = ingest.Refresh(context.Background(), o, []project.Path{w.path("b.py")}); err != nil || r.Removed != 1 {
		t.Errorf("deleted: %+v, %v", r, err)
	}
}

// Refreshes that come while another writes are done by that one; none waits.
func TestRefreshesDoNotPileUp(t *testing.T) {
	w := newWorld(t)
	for i := range 20 {
		w.write(fmt.Sprintf("f%d.go", i), "package a\n")
	}
	w.commit("first")
	w.ingest()
	var g errgroup.Group
	for i := range 20 {
		w.write(fmt.Sprintf("f%d.go", i), fmt.Sprintf("package a\n\nfunc Late%d() {}\n", i))
		g.Go(func() error {
			_, err := ingest.Refresh(context.Background(), ingest.Options{Context: w.c, Settings: settings(w.c)}, []project.Path{w.path(fmt.Sprintf("f%d.go", i))})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if got := w.files(fmt.Sprintf("Late%d", i)); len(got) == 0 || got[0] != fmt.Sprintf("f%d.go", i) {
			t.Errorf("Late%d is in %q", i, got)
		}
	}
}

// Many edits must not make an index that ever more segments slow down, and rows of dead
// versions go in the end.
func TestManyEditsStayBounded(t *testing.T) {
	w := newWorld(t)
	w.write("a.go", "package a\n")
	w.commit("first")
	w.ingest()
	for i := range 40 {
		w.write("a.go", fmt.Sprintf("package a\n\nfunc F%d() {}\n", i))
		if _, err := ingest.Refresh(context.Background(), ingest.Options{Context: w.c, Settings: settings(w.c)}, []project.Path{w.path("a.go")}); err != nil {
			t.Fatal(err)
		}
	}
	m := w.engine().Manifest()
	if n := len(m.Segments); n > 20 {
		t.Errorf("%d segments after 40 edits", n)
	}
	if got := w.files("F39"); !cmp.Equal(got, []string{"a.go"}) {
		t.Errorf("F39: %q", got)
	}
	if got := w.files("F38"); got != nil {
		t.Errorf("F38 is gone, found in %q", got)
	}
}

func TestSecretsAreNotStored(t *testing.T) {
	w := newWorld(t)
	key := "AKIA" + "Q3EGRIQ7" + "ZXCVBNM2" // assembled, so that no scanner takes this file for a leak
	w.write("settings.py", "AWS_ACCESS_KEY_ID = \""+key+"\"\nname = 'walrus'\n")
	w.commit("first")
	if r := w.ingest(); r.Stats.Secrets != 1 {
		t.Errorf("%d secrets found, want 1", r.Stats.Secrets)
	}
	err := filepath.WalkDir(w.c.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(strings.ToLower(string(data)), strings.ToLower(key)) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := w.engine().Search(context.Background(), search.Query{Text: "walrus"})
	if err != nil || len(res.Results) != 1 || strings.Contains(res.Results[0].Text, key) || !strings.Contains(res.Results[0].Text, "[secret:") {
		t.Errorf("%v %+v", err, res)
	}
}

// moment is when to kill a process that takes about whole; never, while that is not
// known.
func moment(rng *rand.Rand, whole time.Duration) time.Duration {
	if whole == 0 {
		return time.Minute
	}
	return time.Duration(rng.Int64N(int64(whole) * 6 / 5))
}

// kill -9 at any moment of an ingest leaves the last good index in use, and the next
// ingest repairs what was begun.
func TestKilledIngestLeavesTheLastGoodIndex(t *testing.T) {
	w := newWorld(t)
	body := func(i, version int) string {
		return fmt.Sprintf("package pkg\n\n// Func%d is walrus number %d of herd%d.\nfunc Func%d() int { return Func%d() }\n", i, i, version, i, (i+1)%60)
	}
	for i := range 60 {
		w.write(fmt.Sprintf("pkg/f%d.go", i), body(i, 0))
	}
	w.commit("start")
	w.ingest()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Dir(filepath.Dir(w.c.Dir))
	rng := rand.New(rand.NewPCG(7, 7))
	finished := 0
	var whole time.Duration // of an ingest that nobody kills; the first round measures it
	for n := range 50 {
		for i := range 10 {
			w.write(fmt.Sprintf("pkg/f%d.go", (n+i)%60), body((n+i)%60, n+1))
		}
		if n%5 == 0 {
			w.commit(fmt.Sprintf("herd %d", n))
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "CHINVEX_TEST_INGEST="+home)
		if n%4 == 3 {
			cmd.Env = append(cmd.Env, "CHINVEX_TEST_REBUILD=1")
		}
		start := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case <-time.After(moment(rng, whole)):
			_ = cmd.Process.Kill()
			<-done
		case err := <-done:
			if err != nil {
				t.Fatalf("round %d: the ingest failed by itself: %v", n, err)
			}
			finished++
			whole = time.Since(start)
		}
		res, err := w.engine().Search(context.Background(), search.Query{Text: "walrus herd"})
		if err != nil {
			t.Fatalf("round %d: %v", n, err)
		}
		if len(res.Results) != 10 {
			t.Fatalf("round %d: %d results", n, len(res.Results))
		}
	}
	t.Logf("%d of 50 finished before they were killed", finished)
	if finished > 40 {
		t.Error("too few were killed for the test to say anything")
	}
	w.ingest()
	got := w.files("herd50")
	if len(got) != 10 {
		t.Errorf("after the repair herd50 is in %q", got)
	}
	refs, err := w.engine().Refs(context.Background(), search.RefsQuery{Name: "Func7", Limit: 100})
	if err != nil || refs.Total != 1 {
		t.Errorf("Func7 has %d uses, want 1 (%v)", refs.Total, err)
	}
	// Nothing of the dead writers is left lying about.
	entries, err := os.ReadDir(w.c.IndexDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if n := e.Name(); n != "lock" && n != "meta.json" && n != w.engine().Manifest().Build {
			t.Errorf("left over: %s", n)
		}
	}
}

// The one moment that a kill must hit exactly: rows committed, manifest not yet replaced.
func TestCutShortBeforeTheManifest(t *testing.T) {
	for _, refresh := range []bool{false, true} {
		w := newWorld(t)
		w.write("a.go", "package a\n\nfunc Walrus() {}\n")
		w.commit("first")
		w.ingest()
		dir := w.c.IndexDir()
		saved := filepath.Join(t.TempDir(), "index")
		if err := os.CopyFS(saved, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		w.write("a.go", "package a\n\nfunc Zebra() {}\n")
		w.commit("second")
		w.ingest()
		// The index of before, with the rows of after.
		m, err := index.ReadManifest(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, suffix := range []string{"", "-wal", "-shm"} {
			name := filepath.Join(m.Build, index.RowsName+suffix)
			data, err := os.ReadFile(filepath.Join(dir, name))
			if os.IsNotExist(err) {
				_ = os.Remove(filepath.Join(saved, name))
			} else if err == nil {
				err = os.WriteFile(filepath.Join(saved, name), data, 0o600)
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(dir, os.DirFS(saved)); err != nil {
			t.Fatal(err)
		}
		if got := w.files("Walrus"); !cmp.Equal(got, []string{"a.go"}) {
			t.Errorf("before the repair: %q", got)
		}
		if refresh {
			w.write("a.go", "package a\n\nfunc Zebra() {}\n\nfunc Quokka() {}\n")
			if _, err := ingest.Refresh(context.Background(), ingest.Options{Context: w.c, Settings: settings(w.c)}, []project.Path{w.path("a.go")}); err != nil {
				t.Fatal(err)
			}
		} else if r := w.ingest(); !r.Rebuilt || len(r.Notes) != 1 {
			t.Errorf("%+v", r)
		}
		if got := w.files("Zebra"); !cmp.Equal(got, []string{"a.go"}) {
			t.Errorf("after the repair: %q", got)
		}
		if r := w.ingest(); r.Published {
			t.Errorf("the repair left something to do: %+v", r)
		}
	}
}
