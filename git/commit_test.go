package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// committer is a repository whose owner has a name.
func committer(t *testing.T) *repository {
	t.Helper()
	r := newRepository(t)
	r.git("config", "user.name", "Ada")
	r.git("config", "user.email", "ada@example.org")
	r.write("docs/a.md", "a\n")
	r.write("other.txt", "other\n")
	r.commit("first")
	return r
}

func (r *repository) status() string { return r.git("status", "--porcelain", "--untracked-files=all") }

func (r *repository) hook(name, script string) {
	r.Helper()
	r.write(".git/hooks/"+name, "#!/bin/sh\n"+script+"\n")
	if err := os.Chmod(filepath.Join(r.dir, ".git/hooks", name), 0o755); err != nil {
		r.Fatal(err)
	}
}

func TestCommitOnly(t *testing.T) {
	ctx := context.Background()
	for _, tc := range []struct {
		name    string
		prepare func(r *repository)
		paths   []string
		want    string // of git show: subject and files
		status  string // afterwards
		err     error
		says    string // in the error
	}{
		{name: "what is staged stays staged", prepare: func(r *repository) {
			r.write("docs/a.md", "changed\n")
			r.write("docs/new.md", "new\n")
			r.write("staged.txt", "s\n")
			r.git("add", "staged.txt")
			r.write("other.txt", "dirty\n")
		}, paths: []string{"docs/a.md", "docs/new.md"}, want: "docs: x|docs/a.md docs/new.md", status: " M other.txt\nA  staged.txt"},
		{name: "as it is on the disk, whatever of it is staged", prepare: func(r *repository) {
			r.write("docs/a.md", "half\n")
			r.git("add", "docs/a.md")
			r.write("docs/a.md", "whole\n")
		}, paths: []string{"docs/a.md"}, want: "docs: x|docs/a.md"},
		{name: "names that look like patterns", prepare: func(r *repository) {
			r.write(":(top)b.md", "b\n")
			r.write("docs/*.md", "star\n")
			r.write("docs/c.md", "c\n")
		}, paths: []string{":(top)b.md", "docs/*.md"}, want: "docs: x|:(top)b.md docs/*.md", status: "?? docs/c.md"},
		{name: "a comment sign that the message begins with", prepare: func(r *repository) {
			r.git("config", "core.commentChar", "d")
			r.git("config", "commit.cleanup", "strip")
			r.write("docs/a.md", "changed\n")
		}, paths: []string{"docs/a.md"}, want: "docs: x|docs/a.md"},
		{name: "a template", prepare: func(r *repository) {
			r.write("template", "from the template\n")
			r.git("config", "commit.template", "template")
			r.write("docs/a.md", "changed\n")
		}, paths: []string{"docs/a.md"}, want: "docs: x|docs/a.md", status: "?? template"},
		{name: "detached", prepare: func(r *repository) {
			r.git("checkout", "-q", "--detach")
			r.write("docs/a.md", "changed\n")
		}, paths: []string{"docs/a.md"}, want: "docs: x|docs/a.md"},
		{name: "line ends that git converts", prepare: func(r *repository) {
			r.git("config", "core.autocrlf", "true")
			r.write("docs/a.md", "changed\n")
		}, paths: []string{"docs/a.md"}, want: "docs: x|docs/a.md"},

		{name: "nothing changed", prepare: func(r *repository) { r.write("other.txt", "dirty\n") },
			paths: []string{"docs/a.md"}, status: " M other.txt", err: ErrUnchanged},
		{name: "a merge", prepare: func(r *repository) {
			r.git("checkout", "-q", "-b", "side")
			r.write("other.txt", "theirs\n")
			r.commit("theirs")
			r.git("checkout", "-q", "main")
			r.write("other.txt", "ours\n")
			r.commit("ours")
			_, _ = r.try("merge", "side")
			r.write("docs/a.md", "changed\n")
		}, paths: []string{"docs/a.md"}, status: " M docs/a.md\nUU other.txt", err: ErrBusy, says: "a merge is under way"},
		{name: "another git", prepare: func(r *repository) {
			r.write("docs/new.md", "new\n")
			r.write(".git/index.lock", "")
		}, paths: []string{"docs/new.md"}, status: "?? docs/new.md", err: ErrBusy, says: "another git command"},
		{name: "nobody", prepare: func(r *repository) {
			r.git("config", "--unset", "user.name")
			r.git("config", "--unset", "user.email")
			r.write("docs/new.md", "new\n")
		}, paths: []string{"docs/new.md"}, status: "?? docs/new.md", err: ErrNoIdentity},
		{name: "a hook that refuses", prepare: func(r *repository) {
			r.hook("pre-commit", "echo not today; exit 1")
			r.write("docs/a.md", "changed\n")
			r.write("docs/new.md", "new\n")
		}, paths: []string{"docs/a.md", "docs/new.md"}, status: " M docs/a.md\n?? docs/new.md", says: "not today"},
		{name: "a key that cannot be asked for", prepare: func(r *repository) {
			r.git("config", "commit.gpgSign", "true")
			r.git("config", "gpg.program", "false")
			r.write("docs/a.md", "changed\n")
		}, paths: []string{"docs/a.md"}, status: " M docs/a.md", says: "could not be signed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := committer(t)
			tc.prepare(r)
			before := r.git("rev-parse", "HEAD")
			hash, err := r.open().CommitOnly(ctx, "docs: x", tc.paths)
			os.Remove(filepath.Join(r.dir, ".git/index.lock"))
			if tc.want != "" {
				if err != nil || hash != r.git("rev-parse", "HEAD") || hash == before {
					t.Fatalf("%s, %v", hash, err)
				}
				files := strings.Join(strings.Split(strings.Trim(r.git("show", "-z", "--name-only", "--format=", hash), "\x00"), "\x00"), " ")
				if got := r.git("show", "-s", "--format=%s", hash) + "|" + files; got != tc.want {
					t.Errorf("committed %q, want %q", got, tc.want)
				}
			} else if err == nil || hash != "" || tc.err != nil && !errors.Is(err, tc.err) || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %v, %q", err, tc.err, tc.says)
			}
			if tc.want == "" && r.git("rev-parse", "HEAD") != before {
				t.Error("something was committed")
			}
			if got := r.status(); got != tc.status {
				t.Errorf("status\n%s\nwant\n%s", got, tc.status)
			}
		})
	}
}

// TestGuessedNames has a system that knows a name and a host for the user, as most do.
func TestGuessedNames(t *testing.T) {
	r := committer(t)
	r.git("config", "--unset", "user.name")
	r.git("config", "--unset", "user.email")
	t.Setenv("EMAIL", "guessed@example.org") // git takes it for an address, and the name from the system
	r.write("docs/a.md", "changed\n")
	if hash, err := r.open().CommitOnly(context.Background(), "docs: x", []string{"docs/a.md"}); !errors.Is(err, ErrNoIdentity) {
		t.Errorf("%s by %s, %v", hash, r.git("show", "-s", "--format=%an <%ae>"), err)
	}
	t.Setenv("GIT_AUTHOR_NAME", "Ada")
	t.Setenv("GIT_AUTHOR_EMAIL", "ada@example.org")
	t.Setenv("GIT_COMMITTER_NAME", "Ada")
	t.Setenv("GIT_COMMITTER_EMAIL", "ada@example.org")
	if _, err := r.open().CommitOnly(context.Background(), "docs: x", []string{"docs/a.md"}); err != nil {
		t.Errorf("a name in the environment: %v", err)
	}
}

func TestBusy(t *testing.T) {
	r := committer(t)
	for file, want := range map[string]string{"": "", "MERGE_HEAD": "a merge", "rebase-merge/x": "a rebase", "CHERRY_PICK_HEAD": "a cherry-pick", "REVERT_HEAD": "a revert", "rebase-apply/x": "a rebase or git am"} {
		if file != "" {
			r.write(".git/"+file, "x")
		}
		if got := r.open().Busy(); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
		if file != "" {
			os.RemoveAll(filepath.Join(r.dir, ".git", strings.Split(file, "/")[0]))
		}
	}
}
