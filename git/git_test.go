package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// repository is a work tree made by git itself, with fixed dates and names.
type repository struct {
	*testing.T
	dir   string
	clock int // seconds after the first commit
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	r := &repository{T: t, dir: dir}
	r.git("init", "-q", "-b", "main", ".")
	return r
}

const firstCommit = 1_700_000_000

func (r *repository) git(args ...string) string {
	r.Helper()
	out, err := r.try(args...)
	if err != nil {
		r.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

func (r *repository) try(args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "commit.gpgSign=false", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = r.dir
	date := time.Unix(firstCommit+int64(r.clock), 0).UTC().Format(time.RFC3339)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_AUTHOR_DATE="+date,
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org", "GIT_COMMITTER_DATE="+date)
	out, err := cmd.CombinedOutput()
	return strings.TrimSuffix(string(out), "\n"), err
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

// commit records the whole work tree and returns the commit's hash.
func (r *repository) commit(message string) string {
	r.Helper()
	r.git("add", "-A")
	r.write("../"+filepath.Base(r.dir)+".message", message)
	r.git("commit", "-q", "--allow-empty", "--allow-empty-message", "--cleanup=verbatim", "-F", r.dir+".message")
	r.clock += 60
	return r.git("rev-parse", "HEAD")
}

func (r *repository) open() *Repo {
	r.Helper()
	repo, err := Open(context.Background(), r.dir)
	if err != nil {
		r.Fatal(err)
	}
	return repo
}

func TestOpen(t *testing.T) {
	r := newRepository(t)
	r.write("src/deep/a.go", "package deep\n")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(r.dir, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{r.dir, filepath.Join(r.dir, "src/deep"), link, filepath.Join(link, "src")} {
		repo, err := Open(context.Background(), dir)
		if err != nil {
			t.Fatal(err)
		}
		want := Repo{Root: r.dir, GitDir: filepath.Join(r.dir, ".git"), CommonDir: filepath.Join(r.dir, ".git")}
		if *repo != want {
			t.Errorf("Open(%q) = %+v, want %+v", dir, *repo, want)
		}
	}
}

func TestOpenNewlineInPath(t *testing.T) {
	outer := newRepository(t)
	dir := filepath.Join(outer.dir, "two\nlines")
	r := &repository{T: t, dir: dir}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", ".")
	if repo := r.open(); repo.Root != dir || repo.GitDir != filepath.Join(dir, ".git") || repo.CommonDir != repo.GitDir {
		t.Errorf("got %+v for %q", repo, dir)
	}
}

func TestOpenErrors(t *testing.T) {
	r := newRepository(t)
	bare := t.TempDir()
	r.git("init", "-q", "--bare", bare)
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(bare))
	for _, tc := range []struct {
		dir  string
		want error
	}{
		{t.TempDir(), ErrNotRepository},
		{filepath.Join(t.TempDir(), "absent"), ErrNotRepository},
		{bare, ErrBare},
		{filepath.Join(r.dir, ".git"), ErrBare},
	} {
		if _, err := Open(context.Background(), tc.dir); !errors.Is(err, tc.want) {
			t.Errorf("Open(%q): %v, want %v", tc.dir, err, tc.want)
		} else if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), tc.dir) {
			t.Errorf("%q is not one sentence that names %s", err, tc.dir)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Open(ctx, r.dir); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Open(context.Background(), r.dir); !errors.Is(err, ErrNoGit) {
		t.Errorf("without git: %v", err)
	}
}

// A wrapper makes git believe that the repository is somebody else's, with
// the variable that git's own tests use.
func TestOpenUnsafe(t *testing.T) {
	r := newRepository(t)
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	script := "#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec '" + program + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if _, err := Open(context.Background(), r.dir); !errors.Is(err, ErrUnsafe) {
		t.Errorf("got %v, want ErrUnsafe", err)
	}
}

func TestRepositoryDeleted(t *testing.T) {
	r := newRepository(t)
	r.commit("one")
	repo := r.open()
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := repo.Files(context.Background(), ""); !errors.Is(err, ErrNotRepository) {
		t.Errorf("Files: %v", err)
	}
	if err := repo.Log(context.Background(), LogOptions{}, func(Commit) error { return nil }); !errors.Is(err, ErrNotRepository) {
		t.Errorf("Log: %v", err)
	}
	if hash, ok := HeadFast(r.dir); ok {
		t.Errorf("HeadFast: %q", hash)
	}
}

func TestHead(t *testing.T) {
	ctx := context.Background()
	r := newRepository(t)
	repo := r.open()
	check := func(what, dir string, want Head) {
		t.Helper()
		got, err := (&Repo{Root: dir}).Head(ctx)
		if err != nil || got != want {
			t.Errorf("%s: Head = %+v, %v, want %+v", what, got, err, want)
		}
		hash, ok := HeadFast(dir)
		if ok == want.Unborn || hash != want.Hash {
			t.Errorf("%s: HeadFast = %q, %v, want %q", what, hash, ok, want.Hash)
		}
	}
	check("no commits", repo.Root, Head{Branch: "main", Unborn: true})
	r.write("a", "1")
	first := r.commit("one")
	check("loose ref", repo.Root, Head{Hash: first, Branch: "main"})
	r.git("pack-refs", "--all")
	check("packed ref", repo.Root, Head{Hash: first, Branch: "main"})
	r.git("checkout", "-q", "-b", "topic/x")
	second := r.commit("two")
	check("loose over packed", repo.Root, Head{Hash: second, Branch: "topic/x"})
	r.git("checkout", "-q", "--detach", first)
	check("detached", repo.Root, Head{Hash: first})

	linked := filepath.Join(t.TempDir(), "linked")
	r.git("worktree", "add", "-q", "-b", "side", linked, second)
	check("linked work tree", linked, Head{Hash: second, Branch: "side"})
	r.git("pack-refs", "--all")
	check("linked work tree, packed ref", linked, Head{Hash: second, Branch: "side"})
	tree, err := Open(ctx, linked)
	if err != nil {
		t.Fatal(err)
	}
	if tree.CommonDir != repo.GitDir || tree.GitDir == tree.CommonDir {
		t.Errorf("linked work tree: %+v", tree)
	}

	r.git("checkout", "-q", "--orphan", "fresh")
	check("orphan branch", repo.Root, Head{Branch: "fresh", Unborn: true})
	r.git("symbolic-ref", "refs/heads/alias", "refs/heads/side")
	r.git("symbolic-ref", "HEAD", "refs/heads/alias")
	if hash, ok := HeadFast(r.dir); !ok || hash != second {
		t.Errorf("symbolic branch: HeadFast = %q, %v", hash, ok)
	}
}

func TestHeadFastDamaged(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"empty HEAD":     {".git/HEAD": ""},
		"reftable":       {".git/HEAD": "ref: refs/heads/.invalid\n"},
		"ref outside":    {".git/HEAD": "ref: refs/../../secret\n", "secret": strings.Repeat("a", 40)},
		"loop":           {".git/HEAD": "ref: refs/heads/a\n", ".git/refs/heads/a": "ref: refs/heads/a\n"},
		"half a hash":    {".git/HEAD": "ref: refs/heads/a\n", ".git/refs/heads/a": "abc"},
		"packed damage":  {".git/HEAD": "ref: refs/heads/a\n", ".git/packed-refs": "zz refs/heads/a\n"},
		"gitdir nowhere": {".git": "gitdir: absent\n"},
		"no gitdir":      {".git": "hello"},
	} {
		r := &repository{T: t, dir: t.TempDir()}
		for path, text := range files {
			r.write(path, text)
		}
		if hash, ok := HeadFast(r.dir); ok {
			t.Errorf("%s: HeadFast = %q", name, hash)
		}
	}
}

// Everything that a configuration can name and git would start leaves a mark.
func TestNothingOfTheUserRuns(t *testing.T) {
	ctx := context.Background()
	r := newRepository(t)
	r.write("a.txt", "one\n")
	first := r.commit("one")
	r.write("a.txt", "two\n")
	second := r.commit("two")
	r.write("a.txt", "three\n")

	traces := t.TempDir()
	mark := filepath.Join(t.TempDir(), "mark")
	script := filepath.Join(t.TempDir(), "evil")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$0 $*\" >> '"+mark+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	hooks := t.TempDir()
	for _, hook := range []string{"post-index-change", "pre-auto-gc", "reference-transaction", "fsmonitor-watchman"} {
		if err := os.Symlink(script, filepath.Join(hooks, hook)); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range map[string]string{
		"core.fsmonitor": script, "core.hooksPath": hooks, "core.pager": script, "core.editor": script, "pager.log": script, "pager.status": script,
		"diff.external": script, "diff.evil.textconv": script, "diff.evil.command": script, "gpg.program": script, "log.showSignature": "true",
		"alias.log": "!" + script, "alias.ls-files": "!" + script, "alias.status": "!" + script, "core.askPass": script, "core.sshCommand": script,
		// Not programs, but they change what is printed.
		"color.ui": "always", "log.showRoot": "false", "log.follow": "true", "diff.relative": "true", "status.showUntrackedFiles": "no",
		"status.relativePaths": "true", "diff.renames": "copies", "log.abbrevCommit": "true", "log.decorate": "full", "diff.noprefix": "true",
		"i18n.logOutputEncoding": "latin1", "core.abbrev": "5", "status.branch": "true", "status.short": "false", "log.diffMerges": "on",
	} {
		r.git("config", "--global", key, value)
	}
	r.git("config", "--global", "trace2.eventTarget", traces)
	r.git("config", "--global", "trace2.normalTarget", traces)
	if left, err := os.ReadDir(traces); err != nil || len(left) == 0 {
		t.Errorf("the traces' setting does nothing: %v", err)
	}
	if err := errors.Join(os.RemoveAll(traces), os.Mkdir(traces, 0o755)); err != nil { // git config's own
		t.Fatal(err)
	}
	r.write(".git/info/attributes", "* diff=evil\n")
	for _, name := range []string{"GIT_EXTERNAL_DIFF", "GIT_PAGER", "PAGER", "GIT_EDITOR", "EDITOR", "GIT_ASKPASS", "SSH_ASKPASS"} {
		t.Setenv(name, script)
	}
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE", "GIT_PREFIX"} {
		t.Setenv(name, "/nonexistent")
	}
	r.write("new.txt", "")

	repo := r.open()
	files, err := repo.Files(ctx, "")
	if err != nil || len(files) != 2 {
		t.Errorf("Files = %+v, %v", files, err)
	}
	if paths, err := repo.Modified(ctx); err != nil || strings.Join(paths, " ") != "a.txt new.txt" {
		t.Errorf("Modified = %q, %v", paths, err)
	}
	if files, err := repo.Churn(ctx, first, second); err != nil || len(files) != 1 || files["a.txt"].Lines == 0 {
		t.Errorf("Churn = %v, %v", files, err)
	}
	if head, err := repo.Head(ctx); err != nil || head.Hash != second {
		t.Errorf("Head = %+v, %v", head, err)
	}
	var seen []string
	for _, opts := range []LogOptions{{}, {Merges: true, Body: true}} {
		if err := repo.Log(ctx, opts, func(c Commit) error {
			seen = append(seen, c.Subject+" "+string(c.Files[0].Status))
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(seen, ","); got != "two M,one A,two M,one A" {
		t.Errorf("Log = %q", got)
	}
	if ran, err := os.ReadFile(mark); err == nil {
		t.Errorf("the user's program ran:\n%s", ran)
	}
	if left, err := os.ReadDir(traces); err != nil || len(left) != 0 {
		t.Errorf("trace files were written: %v, %v", left, err)
	}
}

func BenchmarkHeadFast(b *testing.B) {
	dir := b.TempDir()
	for path, text := range map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": strings.Repeat("a", 40) + "\n"} {
		full := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, ok := HeadFast(dir); !ok {
			b.Fatal("no head")
		}
	}
}
