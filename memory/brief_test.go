package memory

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/chinvex/chinvex/project"
)

var update = flag.Bool("update", false, "rewrite the expected briefs")

// repository is a work tree made by git itself, with fixed dates and names.
type repository struct {
	testing.TB
	dir    string
	clock  time.Time // of the next commit
	hashes []string  // of the commits, in their order
}

func newRepository(t testing.TB) *repository {
	t.Helper()
	for name, value := range map[string]string{"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": t.TempDir()} {
		if tt, ok := t.(*testing.T); ok {
			tt.Setenv(name, value)
		} else {
			t.(*testing.B).Setenv(name, value)
		}
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &repository{TB: t, dir: dir, clock: time.Date(2026, 2, 1, 9, 0, 0, 0, time.UTC)}
}

func (r *repository) git(args ...string) string {
	r.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	date := r.clock.Format(time.RFC3339)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_AUTHOR_DATE="+date,
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org", "GIT_COMMITTER_DATE="+date)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func (r *repository) write(path, text string) {
	r.Helper()
	full := filepath.Join(r.dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		r.Fatal(err)
	}
}

// commit records the whole work tree.
func (r *repository) commit(message string) {
	r.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", message)
	r.clock = r.clock.Add(time.Hour)
	r.hashes = append(r.hashes, r.git("rev-parse", "HEAD"))
}

// play runs a script, a command a line:
//
//	init                     make the repository
//	commit SUBJECT -> FILE…  change the files and commit
//	memory                   write the archive's files, HASHn being the n-th commit's
//	link NAME TARGET         make a symbolic link
//	git ARGUMENT…            anything else
//	last COMMIT TIME         when and where the last session ended; COMMIT is HASHn, gone or -
//	now TIME, budget TOKENS, context NAME, root FOLDER, note TEXT
func (r *repository) play(archive *txtar.Archive) Request {
	r.Helper()
	request := Request{Name: "shop", Root: r.dir, Context: "shop", Now: time.Date(2026, 2, 6, 12, 0, 0, 0, time.FixedZone("", 3600))}
	when := func(s string) time.Time {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			r.Fatal(err)
		}
		return at
	}
	hash := strings.NewReplacer()
	for line := range strings.Lines(string(archive.Comment)) {
		command, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch command {
		case "", "#":
		case "init":
			r.git("init", "-q", "-b", "main", ".")
		case "commit":
			subject, files, _ := strings.Cut(rest, " ->")
			for _, file := range strings.Fields(files) {
				r.write(file, strconv.Itoa(len(r.hashes)))
			}
			r.commit(subject)
			var pairs []string
			for i := len(r.hashes) - 1; i >= 0; i-- { // HASH12 before HASH1
				pairs = append(pairs, fmt.Sprintf("HASH%d", i+1), r.hashes[i])
			}
			hash = strings.NewReplacer(append(pairs, "GONE", strings.Repeat("7", 40))...)
		case "memory":
			for _, f := range archive.Files {
				if f.Name != "want" {
					r.write(f.Name, hash.Replace(string(f.Data)))
				}
			}
		case "link":
			name, target, _ := strings.Cut(rest, " ")
			if err := os.MkdirAll(filepath.Dir(filepath.Join(r.dir, name)), 0o755); err != nil {
				r.Fatal(err)
			}
			if err := os.Symlink(target, filepath.Join(r.dir, name)); err != nil {
				r.Fatal(err)
			}
		case "git":
			r.git(strings.Fields(hash.Replace(rest))...)
		case "last":
			commit, at, _ := strings.Cut(hash.Replace(rest), " ")
			if request.Last.Head = commit; commit == "-" {
				request.Last.Head = ""
			}
			if at != "" {
				request.Last.Ended = when(at)
			}
		case "now":
			request.Now = when(rest)
		case "budget":
			request.Budget, _ = strconv.Atoi(rest)
		case "context":
			request.Context = rest
		case "root":
			request.Root = filepath.Join(r.dir, rest)
		case "note":
			request.Notes = append(request.Notes, rest)
		default:
			r.Fatalf("unknown command %q", line)
		}
	}
	return request
}

// TestBriefs compares the briefs of small repositories with what testdata/briefs
// expects. `go test ./memory -run Briefs -update` rewrites the expectations.
func TestBriefs(t *testing.T) {
	names, err := filepath.Glob("testdata/briefs/*.txtar")
	if err != nil || len(names) < 10 {
		t.Fatalf("examples: %d, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			r := newRepository(t)
			request := r.play(archive)
			before := fingerprint(t, r.dir)
			got := New(context.Background(), request).Text()
			if diff := cmp.Diff(before, fingerprint(t, r.dir)); diff != "" {
				t.Errorf("the repository was written to:\n%s", diff)
			}
			if again := New(context.Background(), request).Text(); again != got {
				t.Errorf("two briefs of one state differ:\n%s", cmp.Diff(got, again))
			}
			want := &archive.Files[len(archive.Files)-1]
			if want.Name != "want" {
				t.Fatal("the last file is not named want")
			}
			if *update {
				want.Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// fingerprint maps each file below dir to its content, mode and time.
func fingerprint(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		line := info.Mode().String() + info.ModTime().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf("%x", sha256.Sum256(data))
		}
		files[path] = line
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestReadRefuses(t *testing.T) {
	const state = "# State\n\n## Current Objective\nopen sesame\n"
	outside := filepath.Join(t.TempDir(), "private")
	if err := os.WriteFile(outside, []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
	file := State.Path()
	for _, tc := range []struct {
		name string
		make func(r *repository)
		want string
	}{
		{"folder", func(r *repository) { r.write(file+"/x", "") }, "docs/memory/STATE.md is not a regular file"},
		{"not UTF-8", func(r *repository) { r.write(file, state+"\xff") }, "docs/memory/STATE.md is not UTF-8"},
		{"large", func(r *repository) { r.write(file, state+strings.Repeat("a", MaxFileSize)) }, "docs/memory/STATE.md is larger than 1 MiB"},
		{"empty", func(r *repository) { r.write(file, "\n") }, "docs/memory/STATE.md is empty"},
		{"something else", func(r *repository) { r.write(file, "# State machine\n\nopen sesame\n") }, `docs/memory/STATE.md is left out: it has no heading "## Current Objective"`},
		{"conflict", func(r *repository) {
			r.write(file, state+"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> theirs\n")
		}, "docs/memory/STATE.md has the marks of an unresolved merge in line 5"},
		{"pipe", func(r *repository) {
			r.write(file, "")
			os.Remove(filepath.Join(r.dir, file))
			if err := syscall.Mkfifo(filepath.Join(r.dir, file), 0o644); err != nil {
				r.Fatal(err)
			}
		}, "docs/memory/STATE.md is not a regular file"},
		{"link out", func(r *repository) { r.play(script("link " + file + " " + outside)) }, "docs/memory/STATE.md is a link that leaves the repository"},
		{"link out by a folder", func(r *repository) {
			r.write("x", "")
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "STATE.md"), []byte(state), 0o644); err != nil {
				t.Fatal(err)
			}
			r.play(script("link docs/memory " + dir))
		}, "docs/memory/STATE.md is a link that leaves the repository"},
		{"link to a device", func(r *repository) { r.play(script("link " + file + " /dev/zero")) }, "docs/memory/STATE.md is a link that leaves the repository"},
		{"link into git's folder", func(r *repository) {
			r.write(".git/x", state)
			r.play(script("link " + file + " ../../.git/x"))
		}, "docs/memory/STATE.md is a link that leaves the repository"},
		{"link to itself", func(r *repository) { r.play(script("link " + file + " STATE.md")) }, "docs/memory/STATE.md is a link that leaves the repository"},
		{"dangling link", func(r *repository) { r.play(script("link " + file + " nothing")) }, "docs/memory/STATE.md is a link to nothing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRepository(t)
			tc.make(r)
			r.write("docs/other", "")
			b := New(context.Background(), Request{Name: "r", Root: r.dir, Now: r.clock})
			if diff := cmp.Diff([]string{tc.want, "This is no git work tree."}, b.Notes); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(b.Text(), "sesame") {
				t.Errorf("the content is shown:\n%s", b.Text())
			}
		})
	}
	t.Run("no permission", func(t *testing.T) {
		r := newRepository(t)
		r.write(file, state)
		if err := os.Chmod(filepath.Join(r.dir, file), 0); err != nil {
			t.Fatal(err)
		}
		if f, err := os.Open(filepath.Join(r.dir, file)); err == nil { // root reads everything
			f.Close()
			return
		}
		if _, err := Read(r.dir, State); err == nil || err.Error() != "docs/memory/STATE.md cannot be read: permission denied" {
			t.Errorf("Read: %v", err)
		}
	})
	t.Run("a link that stays inside is followed", func(t *testing.T) {
		r := newRepository(t)
		r.write("notes/state.md", state)
		r.play(script("link " + file + " ../../notes/state.md"))
		if d, err := Read(r.dir, State); err != nil || string(d.Bytes()) != state {
			t.Errorf("Read: %v", err)
		}
	})
	t.Run("docs is a file", func(t *testing.T) {
		r := newRepository(t)
		r.write("docs", "")
		if b := New(context.Background(), Request{Root: r.dir}); len(b.Notes) == 0 || b.Notes[0] != noMemory {
			t.Errorf("notes: %q", b.Notes)
		}
	})
}

func script(line string) *txtar.Archive { return &txtar.Archive{Comment: []byte(line)} }

// TestDeadline: what git has not said in time is left out, the files are not.
func TestDeadline(t *testing.T) {
	r := newRepository(t)
	r.play(script("init\ncommit one -> a\ncommit two -> a"))
	r.write(State.Path(), "## Current Objective\nShip it\n<!-- chinvex:last-commit:"+r.hashes[0]+" -->\n")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	got := New(ctx, Request{Name: "shop", Root: r.dir, Now: r.clock}).Text()
	want := "chinvex brief: shop, branch main at " + r.hashes[1][:10] + "\n\nCurrent Objective: Ship it\n\ngit took too long; commits are left out\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSlowGit: a git that cannot be ended does not hold a brief up.
func TestSlowGit(t *testing.T) {
	r := newRepository(t)
	r.play(script("init\ncommit one -> a"))
	bin := t.TempDir()
	// The child keeps the output open after git itself is gone.
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\nsleep 3 &\nwait\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	done := make(chan string, 1)
	go func() { done <- New(ctx, Request{Name: "shop", Root: r.dir, Now: r.clock}).Text() }()
	select {
	case text := <-done:
		if !strings.Contains(text, "git took too long") {
			t.Error(text)
		}
	case <-time.After(1500 * time.Millisecond): // git is waited for 2 s
		t.Error("the brief waits for git")
	}
}

// TestManyCommits: of a long history a part is read, and that is said.
func TestManyCommits(t *testing.T) {
	r := newRepository(t)
	r.play(script("init" + strings.Repeat("\ncommit more -> a", maxCommits+2)))
	r.write(State.Path(), "## Blockers\nNone\n<!-- chinvex:last-commit:"+r.hashes[0]+" -->\n")
	b := New(context.Background(), Request{Name: "shop", Root: r.dir, Now: r.clock})
	s := b.Sections[len(b.Sections)-1]
	if s.Title != "over 50 commits since the memory files were updated" || len(s.Items) != shownCommits+2 ||
		s.Items[shownCommits] != "and more: git log "+r.hashes[0][:10]+"..HEAD" || s.Items[shownCommits+1] != "Changed most: a (50)" {
		t.Errorf("%+v", s)
	}
	if !strings.HasSuffix(b.Summary, "; memory over 50 commits behind") {
		t.Error(b.Summary)
	}
}

// TestBudget: whatever the files hold and whatever the budget, the text is within
// it, items are whole and stand in their order, no heading stands alone, and
// what is missing is counted.
func TestBudget(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	words := func(n int) string {
		var out strings.Builder
		for range 1 + random.IntN(n) {
			out.WriteString([]string{"index ", "é ", "— ", "`code` ", "a\n  b ", "[x] ", "reader "}[random.IntN(7)])
		}
		return out.String()
	}
	r := newRepository(t)
	r.play(script("init\ncommit one -> a b\ncommit two -> a\ncommit three -> a"))
	for range 30 {
		var state, constraints, decisions strings.Builder
		for _, name := range stateSections {
			fmt.Fprintf(&state, "## %s\n", name)
			for range random.IntN(6) {
				fmt.Fprintf(&state, "- %s\n", words(60))
			}
		}
		for _, name := range append(constraintsShown, "Key Facts") {
			fmt.Fprintf(&constraints, "## %s\n", name)
			for range random.IntN(30) {
				fmt.Fprintf(&constraints, "- %s\n", words(20))
			}
		}
		decisions.WriteString("## Recent\n- x\n## 2026-02\n")
		for range random.IntN(10) {
			fmt.Fprintf(&decisions, "### 2026-02-0%d — %s\n- **Why:** %s\n", random.IntN(10), strings.ReplaceAll(words(9), "\n", ""), words(300))
		}
		r.write(State.Path(), state.String())
		r.write(Constraints.Path(), constraints.String())
		r.write(Decisions.Path(), decisions.String())
		request := Request{Name: "shop", Root: r.dir, Now: r.clock, Notes: []string{"The index is 3 days old.", words(9)}, Budget: 1 << 20}
		full := New(context.Background(), request)
		if len(full.LeftOut) != 0 {
			t.Fatalf("left out of a large budget: %+v", full.LeftOut)
		}
		for range 12 {
			request.Budget = 1 + random.IntN(2500)
			checkCut(t, full, New(context.Background(), request), request.Budget)
		}
	}
}

func checkCut(t *testing.T, full, cut *Brief, budget int) {
	t.Helper()
	text := cut.Text()
	if len(text) > budget*bytesPerToken {
		t.Fatalf("%d bytes in a budget of %d tokens:\n%s", len(text), budget, text)
	}
	if !utf8.ValidString(text) {
		t.Fatalf("not UTF-8: %q", text)
	}
	kept, left := 0, 0
	at := 0 // in full.Sections
	for _, s := range cut.Sections {
		for at < len(full.Sections) && full.Sections[at].Title != s.Title {
			at++
		}
		if at == len(full.Sections) || len(s.Items) == 0 {
			t.Fatalf("section %q with %d items is empty, new or out of order", s.Title, len(s.Items))
		}
		whole := full.Sections[at].Items
		for _, item := range s.Items {
			for len(whole) > 0 && whole[0] != item {
				if len(whole[0])+len(s.Title) <= budget*bytesPerToken/2 {
					t.Fatalf("%q is missing before %q", whole[0], item)
				}
				whole = whole[1:]
			}
			if len(whole) == 0 {
				t.Fatalf("%q is no whole item of %q", item, s.Title)
			}
			whole = whole[1:]
			kept++
			if !strings.Contains(text, nested(item)) {
				t.Fatalf("%q is not in the text", item)
			}
		}
	}
	for _, l := range cut.LeftOut {
		left += l.Items
	}
	total := 0
	for _, s := range full.Sections {
		total += len(s.Items)
	}
	if kept+left != total && (kept > 0 || left > 0) {
		t.Fatalf("%d kept, %d left out, of %d", kept, left, total)
	}
	if kept > 0 && len(cut.Notes) < len(full.Notes) {
		t.Fatalf("notes were lost before items: %q", cut.Notes)
	}
}

func TestBriefJSON(t *testing.T) {
	r := newRepository(t)
	request := r.play(script("init\ncommit one -> a\ncommit two -> a\nnote The index is 3 days old.\nbudget 90"))
	r.write(State.Path(), "## Current Objective\nShip it\n\n## Active Work\n- x\n- "+strings.Repeat("y", 100)+"\n---\nLast memory update: 2026-02-05\n\n<!-- chinvex:last-commit:"+r.hashes[0]+" -->\n")
	got, err := json.MarshalIndent(New(context.Background(), request), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want := `{
 "repository": "shop",
 "context": "shop",
 "branch": "main",
 "head": "HASH2",
 "memory_updated": "2026-02-05",
 "memory_covers": "HASH1",
 "summary": "chinvex brief: shop, branch main at SHORT; memory of 2026-02-05, 1 day old, 1 commit behind",
 "sections": [
  {
   "title": "Current Objective",
   "source": "docs/memory/STATE.md",
   "items": [
    "Ship it"
   ]
  },
  {
   "title": "Active Work",
   "source": "docs/memory/STATE.md",
   "items": [
    "x"
   ]
  }
 ],
 "notes": [
  "The index is 3 days old."
 ],
 "more": "",
 "left_out": [
  {
   "title": "Active Work",
   "source": "docs/memory/STATE.md",
   "items": 1,
   "all": false
  },
  {
   "title": "1 commit since the memory files were updated",
   "source": "git log BASE..HEAD",
   "items": 1,
   "all": true
  }
 ]
}`
	want = strings.NewReplacer("HASH2", r.hashes[1], "HASH1", r.hashes[0], "SHORT", r.hashes[1][:10], "BASE", r.hashes[0][:10]).Replace(want)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

// TestClockAnomalies: no date makes a brief fail.
func TestClockAnomalies(t *testing.T) {
	r := newRepository(t)
	r.play(script("init\ncommit one -> a"))
	for _, date := range []string{"0000-00-00", "2026-13-45", "9999-12-31", "0001-01-01", "2026-02-05T10:00:00+14:00", "2026-02-05T10:00:00.123456-11:30 — x", "yesterday", "２０２６-02-05"} {
		r.write(State.Path(), "## Blockers\nNone\n\nLast memory update: "+date+"\n")
		r.write(Decisions.Path(), "## Recent\n- x\n## 2026-02\n### "+date+" — Title\n- **Why:** z\n### "+date+"\n")
		for _, now := range []time.Time{{}, r.clock, r.clock.AddDate(5000, 0, 0), time.Unix(-1<<40, 0)} {
			for _, last := range []project.Session{{}, {Ended: now.AddDate(1, 0, 0)}, {Ended: time.Unix(-1<<40, 0)}, {Head: "-n", Ended: now}, {Head: strings.Repeat("0", 40)}} {
				b := New(context.Background(), Request{Root: r.dir, Now: now, Last: last})
				if text := b.Text(); !strings.Contains(text, "Blockers: None") || strings.Contains(text, "Last memory update") {
					t.Fatalf("%s, now %v, last %+v:\n%s", date, now, last, text)
				}
			}
		}
	}
}

// BenchmarkBrief is the brief of a repository with all three files, 2,000 files
// and 600 commits, the last session and the memory being 40 and 30 behind.
func BenchmarkBrief(b *testing.B) {
	r := newRepository(b)
	r.git("init", "-q", "-b", "main", ".")
	var stream strings.Builder
	for i := range 600 {
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter Ada <ada@example.org> %d +0000\ndata 8\nchange x\n", r.clock.Unix()+int64(i))
		for k := range 5 {
			n := i*5 + k
			if i >= 400 {
				n = (i*7 + k*13) % 2000
			}
			fmt.Fprintf(&stream, "M 100644 inline src/%d/%d.go\ndata 4\n%04d\n", n%40, n%2000, i)
		}
	}
	cmd := exec.Command("git", "fast-import", "--quiet")
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(stream.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	r.write(State.Path(), "## Current Objective\nShip it\n\n<!-- chinvex:last-commit:"+r.git("rev-parse", "HEAD~30")+" -->\n")
	r.write(Constraints.Path(), "## Rules\n"+strings.Repeat("- one fact, told in a dozen words or so, of which there are many here\n", 60))
	r.write(Decisions.Path(), "## Recent\n- x\n## 2026-02\n"+strings.Repeat("### 2026-02-05 — Title\n- **Why:** because\n- **Evidence:** 0123456\n\n", 60))
	request := Request{Name: "shop", Root: r.dir, Now: r.clock, Last: project.Session{Ended: r.clock, Head: r.git("rev-parse", "HEAD~40")}}
	for b.Loop() {
		if brief := New(context.Background(), request); len(brief.Sections) == 0 {
			b.Fatal("empty")
		}
	}
}
