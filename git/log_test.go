package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func (r *repository) log(opts LogOptions) []Commit {
	r.Helper()
	var commits []Commit
	if err := r.open().Log(context.Background(), opts, func(c Commit) error {
		commits = append(commits, c)
		return nil
	}); err != nil {
		r.Fatal(err)
	}
	return commits
}

// summary writes each commit as "SUBJECT: STATUS PATH[<OLDPATH] …".
func summary(commits []Commit) string {
	var out strings.Builder
	for _, c := range commits {
		out.WriteString(c.Subject + ":")
		for _, f := range c.Files {
			out.WriteString(" " + string(f.Status) + " " + f.Path)
			if f.OldPath != "" {
				out.WriteString("<" + f.OldPath)
			}
		}
		out.WriteString("\n")
	}
	return out.String()
}

func TestLog(t *testing.T) {
	r := newRepository(t)
	if commits := r.log(LogOptions{}); len(commits) != 0 {
		t.Errorf("no commits: %+v", commits)
	}
	r.write("a.txt", "1")
	first := r.commit("first\n\nbody of it\n\nmore\n")
	r.write("a.txt", "2")
	r.write("sub dir/b\nc.txt", "2")
	second := r.commit("second")
	want := []Commit{
		{Hash: second, Parent: first, Time: firstCommit + 60, Author: "Ada", Subject: "second", FileCount: 2,
			Files: []Change{{Path: "a.txt", Status: 'M'}, {Path: "sub dir/b\nc.txt", Status: 'A'}}},
		{Hash: first, Time: firstCommit, Author: "Ada", Subject: "first", Body: "body of it\n\nmore", FileCount: 1,
			Files: []Change{{Path: "a.txt", Status: 'A'}}},
	}
	if diff := cmp.Diff(want, r.log(LogOptions{Body: true})); diff != "" {
		t.Error(diff)
	}
	for _, tc := range []struct {
		name string
		opts LogOptions
		want string
	}{
		{"depth", LogOptions{Depth: 1, MaxFiles: -1}, "second: M a.txt A sub dir/b\nc.txt\n"},
		{"max files", LogOptions{MaxFiles: 1}, "second:\nfirst: A a.txt\n"},
		{"folder", LogOptions{Dir: filepath.Join(r.dir, "sub dir")}, "second: A sub dir/b\nc.txt\n"},
		{"revision", LogOptions{Revision: first}, "first: A a.txt\n"},
		{"range", LogOptions{Revision: first + ".."}, "second: M a.txt A sub dir/b\nc.txt\n"},
		{"since", LogOptions{Since: "2023-11-14T22:13:50Z"}, "second: M a.txt A sub dir/b\nc.txt\n"},
	} {
		if diff := cmp.Diff(tc.want, summary(r.log(tc.opts))); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
	if commits := r.log(LogOptions{MaxFiles: 1}); commits[0].FileCount != 2 || commits[0].Files != nil {
		t.Errorf("a large commit: %+v", commits[0])
	}
	for _, revision := range []string{"--output=x", "absent"} {
		if err := r.open().Log(context.Background(), LogOptions{Revision: revision}, func(Commit) error { return nil }); err == nil {
			t.Errorf("revision %q was taken", revision)
		}
	}
	if _, err := os.Stat(filepath.Join(r.dir, "x")); err == nil {
		t.Error("a revision was taken for an option")
	}
	stop := errors.New("enough")
	calls := 0
	if err := r.open().Log(context.Background(), LogOptions{}, func(Commit) error { calls++; return stop }); !errors.Is(err, stop) || calls != 1 {
		t.Errorf("fn's error: %v after %d calls", err, calls)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := r.open().Log(ctx, LogOptions{}, func(Commit) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestLogOddMessages(t *testing.T) {
	r := newRepository(t)
	messages := []string{
		"---\n\n---\n+++ b/x\n",
		"bell \a and escape \x1b[31m",
		"latin \xe9t\xe9", // git commit itself takes this for Latin-1
		"",
		"\n\n\nleading blank lines",
		":100644 100644 " + strings.Repeat("a", 40) + " " + strings.Repeat("b", 40) + " M",
		strings.Repeat("0", 40),
		"big\n\n" + strings.Repeat("x", 1<<20),
		"separators \x1e\x1f\x01\x02\r\n\r\nwindows",
	}
	for _, message := range messages {
		r.commit(message) // empty commits: nothing but fields between the messages
	}
	commits := r.log(LogOptions{Body: true})
	if len(commits) != len(messages) {
		t.Fatalf("%d commits, want %d", len(commits), len(messages))
	}
	subjects := map[int]string{0: "---", 1: messages[1], 2: "latin été", 3: "", 4: "leading blank lines", 5: messages[5], 6: messages[6], 7: "big"}
	for i, want := range subjects {
		if got := commits[len(commits)-1-i].Subject; got != want {
			t.Errorf("subject %d = %.80q, want %q", i, got, want)
		}
	}
	if got := len(commits[len(commits)-1-7].Body); got != 1<<20 {
		t.Errorf("body of %d bytes", got)
	}
}

// Objects that git commit would not write, but other programs have.
func TestLogOddObjects(t *testing.T) {
	r := newRepository(t)
	r.commit("first")
	tree := r.git("rev-parse", "HEAD^{tree}")
	person := func(name, date string) string { return name + " <a@example.org> " + date + " +0000\n" }
	for _, object := range []string{
		"author " + person("J\xf6rg", "1") + "committer " + person("J\xf6rg", "7") + "\nb\xe4d\n\nbytes \xff\n",
		"author " + person("", "1") + "committer " + person("", "not a date") + "\n\x7f---",
		"author " + person("C", "1") + "committer " + person("C", "9") + "encoding ISO-8859-1\n\ngr\xfc\xdfe\n",
		"author " + person("N", "1") + "committer " + person("N", "10") + "\ncut\x00off\n",
	} {
		r.write("object", "tree "+tree+"\nparent "+r.git("rev-parse", "HEAD")+"\n"+object)
		r.git("update-ref", "HEAD", r.git("hash-object", "-t", "commit", "-w", "--literally", "object"))
	}
	var got []string
	for _, c := range r.log(LogOptions{Body: true}) {
		got = append(got, strings.Join([]string{c.Author, c.Subject, c.Body, strconv.FormatInt(c.Time, 10)}, "|"))
	}
	want := []string{"N|cut||10", "C|grüße||9", "|\x7f---||0", "J�rg|b�d|bytes �|7", "Ada|first||1700000000"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLogRenames(t *testing.T) {
	text := func(s string) string { return strings.Repeat(s+"\n", 30) }
	r := newRepository(t)
	r.write("a.go", text("a"))
	r.write("pkg/x/__init__.py", "")
	r.write("pkg/y/__init__.py", "")
	r.write("same/util.go", text("u"))
	r.commit("1")
	r.git("mv", "a.go", "b.go") // exact
	r.commit("2")
	r.write("b.go", text("b"))
	r.commit("3")
	r.git("mv", "b.go", "lib.go")
	r.write("b.go", text("another b")) // b.go is used again, but modified, not added: no rename can be told
	r.commit("4")
	if err := os.Remove(filepath.Join(r.dir, "lib.go")); err != nil {
		t.Fatal(err)
	}
	r.write("core/lib.go", text("lib, rewritten")) // same base name
	r.commit("5")
	r.git("mv", "pkg", "src") // a folder of equal, empty files
	r.write("a.go", text("a new a"))
	r.commit("6")
	r.write("a.go", text("a newer a"))
	r.commit("7")
	want := `7: M a.go
6: A a.go R src/x/__init__.py<pkg/x/__init__.py R src/y/__init__.py<pkg/y/__init__.py
5: R core/lib.go<lib.go
4: M b.go A core/lib.go
3: M b.go
2: R b.go<a.go
1: A b.go A src/x/__init__.py A src/y/__init__.py A same/util.go
`
	if diff := cmp.Diff(want, summary(r.log(LogOptions{}))); diff != "" {
		t.Error(diff)
	}
}

// A name that was given away and taken again belongs to two files.
func TestLogNameUsedAgain(t *testing.T) {
	r := newRepository(t)
	r.write("a.go", "first a\n")
	r.commit("add a")
	r.git("mv", "a.go", "b.go")
	r.commit("a to b")
	r.git("mv", "b.go", "c.go")
	r.commit("b to c")
	r.write("a.go", "second a\n")
	r.write("b.go", "second b\n")
	r.commit("new a and b")
	r.write("a.go", "second a, edited\n")
	r.commit("edit a")
	want := `edit a: M a.go
new a and b: A a.go A b.go
b to c: R c.go<b.go
a to b: R c.go<a.go
add a: A c.go
`
	if diff := cmp.Diff(want, summary(r.log(LogOptions{}))); diff != "" {
		t.Error(diff)
	}
	// The added b.go ends what is known of older files of that name.
	known := renames{"old.go": "b.go"}
	known.follow([]rawChange{{path: "old.go", status: 'A'}})
	if got := known.today("old.go"); got != "old.go" {
		t.Errorf("before it was added, old.go is followed to %s", got)
	}
}

func TestFindRenamesAmbiguous(t *testing.T) {
	blob := func(c string) string { return strings.Repeat(c, 40) }
	for name, raw := range map[string][]rawChange{
		"base name twice":   {{path: "a/mod.rs", status: 'D', oldBlob: blob("1")}, {path: "b/mod.rs", status: 'A', newBlob: blob("2")}, {path: "c/mod.rs", status: 'A', newBlob: blob("3")}},
		"blob twice":        {{path: "a", status: 'D', oldBlob: blob("1")}, {path: "b", status: 'A', newBlob: blob("1")}, {path: "c", status: 'A', newBlob: blob("1")}},
		"both are empty":    {{path: "a", status: 'D', oldBlob: emptyBlob}, {path: "b", status: 'A', newBlob: emptyBlob}},
		"only a deletion":   {{path: "a", status: 'D', oldBlob: blob("1")}},
		"nothing in common": {{path: "a", status: 'D', oldBlob: blob("1")}, {path: "b", status: 'A', newBlob: blob("2")}},
	} {
		if got := findRenames(raw); len(got) != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestLogMerges(t *testing.T) {
	r := newRepository(t)
	r.write("a", "1")
	r.commit("base")
	r.git("checkout", "-q", "-b", "side")
	r.write("b", "1")
	r.commit("side")
	r.git("checkout", "-q", "main")
	r.write("c", "1")
	r.commit("main")
	r.git("merge", "-q", "--no-ff", "-m", "merge", "side")
	if got, want := summary(r.log(LogOptions{})), "main: A c\nside: A b\nbase: A a\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := summary(r.log(LogOptions{Merges: true})), "merge: A b\nmain: A c\nside: A b\nbase: A a\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLogShallow(t *testing.T) {
	full := newRepository(t)
	for _, n := range []string{"1", "2", "3"} {
		full.write("f"+n, n)
		full.commit(n)
	}
	if full.open().IsShallow() {
		t.Error("a whole repository is called shallow")
	}
	r := &repository{T: t, dir: filepath.Join(t.TempDir(), "clone")}
	full.git("clone", "-q", "--depth", "2", "file://"+full.dir, r.dir)
	if !r.open().IsShallow() {
		t.Error("a clone of depth 2 is not called shallow")
	}
	if got, want := summary(r.log(LogOptions{})), "3: A f3\n2:\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A partial clone has no blobs of old commits: the log must not miss them.
func TestLogPartialClone(t *testing.T) {
	full := newRepository(t)
	full.git("config", "uploadpack.allowFilter", "true")
	full.write("a.go", strings.Repeat("a\n", 50))
	full.commit("1")
	full.git("mv", "a.go", "b.go")
	full.commit("2")
	full.write("b.go", strings.Repeat("b\n", 50))
	full.commit("3")
	r := &repository{T: t, dir: filepath.Join(t.TempDir(), "clone")}
	full.git("clone", "-q", "--filter=blob:none", "file://"+full.dir, r.dir)
	if err := os.RemoveAll(full.dir); err != nil { // nothing to fetch from
		t.Fatal(err)
	}
	if got, want := summary(r.log(LogOptions{})), "3: M b.go\n2: R b.go<a.go\n1: A b.go\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzLog(f *testing.F) {
	hash, other := strings.Repeat("a", 40), strings.Repeat("b", 40)
	raw := "\n:100644 100644 " + hash + " " + other + " M\x00p\x00:000000 100644 " + hash + " " + other + " A\x00q\x00"
	for _, seed := range []string{
		"",
		hash + "\x00" + other + "\x001700000000\x00Ada\x00subject\x00\x00" + raw,
		hash + "\x00\x00\x00\x00\x00\x00" + other + "\x00\x00\x00\x00\x00\x00" + raw,
		hash + "\x00" + other,
		raw,
		"fatal: bad object",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, body bool) {
		known := renames{}
		seen := 0
		err := parseLog(bytes.NewReader(data), body, func(c Commit, raw []rawChange) error {
			seen++
			if !isHash(c.Hash) {
				t.Fatalf("%q is no hash", c.Hash)
			}
			if changes := known.follow(raw); len(changes) > len(raw) || len(changes) < len(raw)/2 {
				t.Fatalf("%d changes of %d", len(changes), len(raw))
			}
			return nil
		})
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("%q is no sentence", err)
		}
		// The framing does not depend on how the input arrives.
		again := 0
		errAgain := parseLog(oneByte{bytes.NewReader(data)}, body, func(Commit, []rawChange) error { again++; return nil })
		if seen != again || (err == nil) != (errAgain == nil) {
			t.Fatalf("%d commits and %v, then %d and %v", seen, err, again, errAgain)
		}
	})
}

// oneByte reads one byte a call.
type oneByte struct{ io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.Reader.Read(p[:min(1, len(p))]) }
