package maintainer

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chinvex/chinvex/memory"
	"github.com/chinvex/chinvex/project"
)

// repository is a work tree made by git itself, with fixed dates and names.
type repository struct {
	*testing.T
	dir   string
	clock int // seconds after the first commit
}

const firstCommit = 1_700_000_000 // 2023-11-14

func newRepository(t *testing.T) *repository {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	r := &repository{T: t, dir: dir}
	r.git("init", "-q", "-b", "main", ".")
	r.git("config", "user.name", "Ada")
	r.git("config", "user.email", "ada@example.org")
	return r
}

func (r *repository) git(args ...string) string {
	r.Helper()
	out, err := r.try("", args...)
	if err != nil {
		r.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

func (r *repository) try(stdin string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(stdin)
	date := time.Unix(firstCommit+int64(r.clock), 0).UTC().Format(time.RFC3339)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
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

func (r *repository) read(path string) string {
	r.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, path))
	if err != nil {
		r.Fatal(err)
	}
	return string(text)
}

// commit records a file with the message in it, and nothing else.
func (r *repository) commit(message string) string {
	r.Helper()
	path := fmt.Sprintf("src/%d.txt", r.clock%7)
	r.write(path, message+"\n")
	return r.commitFiles(message, path)
}

func (r *repository) commitFiles(message string, paths ...string) string {
	r.Helper()
	r.git(append([]string{"add", "--"}, paths...)...)
	if out, err := r.try(message, append([]string{"commit", "-q", "--cleanup=verbatim", "--allow-empty", "--allow-empty-message", "-F", "-", "--only", "--"}, paths...)...); err != nil {
		r.Fatalf("commit: %v\n%s", err, out)
	}
	r.clock += 60
	return r.head()
}

func (r *repository) commits(n int, name string) []string {
	r.Helper()
	var hashes []string
	for i := range n {
		hashes = append(hashes, r.commit(fmt.Sprintf("%s %d", name, i)))
	}
	return hashes
}

func (r *repository) merge(branch string) string {
	r.Helper()
	r.git("merge", "-q", "--no-ff", "-X", "ours", "-m", "Merge "+branch, branch)
	r.clock += 60
	return r.head()
}

func (r *repository) head() string { return r.git("rev-parse", "HEAD") }

func (r *repository) options() Options {
	return Options{Repo: project.Repository{Name: "test", Root: r.dir}, Now: time.Unix(firstCommit+int64(r.clock), 0).UTC()}
}

func (r *repository) status() string { return r.git("status", "--porcelain", "--untracked-files=all") }

// anchor is the hash in the last line of STATE.md.
func (r *repository) anchor() string {
	r.Helper()
	text := strings.TrimSpace(r.read(memory.State.Path()))
	text = text[strings.LastIndex(text, "\n")+1:]
	return strings.TrimSuffix(strings.TrimPrefix(text, anchorStart), " -->")
}

// run updates the memory, and returns the commits that the writer got, oldest first.
func (r *repository) run(o Options) (*Result, []string) {
	r.Helper()
	w := &scribe{}
	result, err := Run(context.Background(), o, w)
	if err != nil {
		r.Fatalf("%v, %+v", err, result)
	}
	hashes := hashesOf(w.got[0])
	if result.Commits != len(hashes) || result.Remaining != w.got[0].Remaining {
		r.Errorf("result %+v for %d commits", result, len(hashes))
	}
	files, problems := memory.ReadFiles(o.Repo.Root)
	for _, p := range memory.Lint(files, memory.Environment{Today: o.Now}) {
		if p.Severity == memory.Error {
			r.Errorf("after a run: %v", p)
		}
	}
	if len(problems) > 0 {
		r.Errorf("after a run: %v", problems)
	}
	return result, hashes
}

func (r *repository) nothing(o Options) {
	r.Helper()
	before := r.status()
	if result, err := Run(context.Background(), o, &scribe{}); err == nil || err != ErrNothing {
		r.Errorf("a run with nothing to do: %+v, %v", result, err)
	}
	if after := r.status(); after != before {
		r.Errorf("a run with nothing to do changed something:\n%s\nwas\n%s", after, before)
	}
}

func (r *repository) commitMemory(o Options) string {
	r.Helper()
	hash, err := Commit(context.Background(), o)
	if err != nil {
		r.Fatal(err)
	}
	if hash != r.head() {
		r.Errorf("committed %s, HEAD is %s", hash, r.head())
	}
	return hash
}

func hashesOf(in memory.Inputs) []string {
	var hashes []string
	for _, c := range in.Commits {
		hashes = append(hashes, c.Hash)
	}
	slices.Reverse(hashes)
	return hashes
}

// scribe is a writer that does as it is told, and says the newest commit's subject
// otherwise.
type scribe struct {
	answers []*memory.Proposal
	err     error
	got     []memory.Inputs
	before  []*memory.Proposal
	reasons [][]memory.Problem
	during  func()
}

func (s *scribe) Propose(_ context.Context, in *memory.Inputs, before *memory.Proposal, problems []memory.Problem) (*memory.Proposal, error) {
	s.got, s.before, s.reasons = append(s.got, *in), append(s.before, before), append(s.reasons, problems)
	if s.during != nil {
		s.during()
	}
	if s.err != nil {
		err := s.err
		s.err = nil
		return nil, err
	}
	if len(s.answers) >= len(s.got) {
		return s.answers[len(s.got)-1], nil
	}
	return proposal(in), nil
}

// proposal adds a constraint and a decision for the newest commit.
func proposal(in *memory.Inputs) *memory.Proposal {
	newest := in.Commits[0]
	name := short(newest.Hash)
	return &memory.Proposal{
		State: memory.StateProposal{Objective: memory.Unknown, Active: []string{"Work on " + name}},
		Constraints: memory.ConstraintsProposal{Add: []memory.Added{
			{Section: "Rules", Text: "What " + name + " says holds"},
		}},
		Decisions: []memory.Decision{{
			Date: newest.Time.Format(time.DateOnly), Title: "Decided in " + name, Kind: "decision",
			Why: "It was time", Impact: "It is so", Evidence: []string{newest.Hash},
		}},
	}
}
