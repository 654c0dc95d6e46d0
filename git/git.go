// Package git reads a repository's files and history by running the git
// program: it is right about ignore rules, linked work trees, sparse and
// shallow checkouts where re-implementations are not, and 150 times faster on
// history than the one in pure Go.
//
// Every command is read-only and runs with the user's surroundings taken
// away: no hooks, pager, external diff, text conversion, file-system monitor,
// prompt, trace file or network, and none of the GIT_* variables that a
// calling git leaves behind. The one program of the user's that git may still
// start is the clean filter of a changed file (Git LFS, say), in Modified:
// without it git cannot tell whether the file differs.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Why a folder cannot be opened; match with errors.Is.
var (
	ErrNotRepository = errors.New("not a git repository; run git init there or name a folder inside a work tree")
	ErrBare          = errors.New("no git work tree here (a bare repository, or the inside of .git); name a checkout of it")
	ErrNoGit         = errors.New("the git program was not found; install git and put it on PATH")
	ErrUnsafe        = errors.New("git refuses a repository that another user owns; run git config --global --add safe.directory with its path if you trust it")
)

// Repo is a work tree and the repository behind it.
type Repo struct {
	Root      string // top folder of the work tree, absolute, symbolic links resolved
	GitDir    string // this work tree's git directory, absolute
	CommonDir string // the git directory that linked work trees share; GitDir in an ordinary clone
}

// Head says what is checked out.
type Head struct {
	Hash   string // commit, in hexadecimal; "" when Unborn
	Branch string // without refs/heads/; "" when detached
	Unborn bool   // no commit yet
}

// Open finds the work tree that holds dir. Its error is or wraps
// ErrNotRepository, ErrBare, ErrNoGit, ErrUnsafe or ctx's error.
func Open(ctx context.Context, dir string) (*Repo, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	asked := []string{"--show-toplevel", "--absolute-git-dir", "--git-common-dir"}
	revParse := func(options ...string) (string, error) {
		return output(ctx, dir, append([]string{"rev-parse", "--path-format=absolute"}, options...)...)
	}
	out, err := revParse(asked...)
	if err != nil {
		return nil, err
	}
	paths := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(paths) != len(asked) { // a path holds a newline: ask for one at a time
		paths = paths[:0]
		for _, option := range asked {
			if out, err = revParse(option); err != nil {
				return nil, err
			}
			paths = append(paths, strings.TrimSuffix(out, "\n"))
		}
	}
	root, err := filepath.EvalSymlinks(filepath.FromSlash(paths[0]))
	if err != nil {
		return nil, fmt.Errorf("resolve the work tree of %s: %w", dir, err)
	}
	return &Repo{Root: root, GitDir: filepath.FromSlash(paths[1]), CommonDir: filepath.FromSlash(paths[2])}, nil
}

// Head reads the commit and the branch that are checked out.
func (r *Repo) Head(ctx context.Context) (Head, error) {
	var head Head
	ref, err := output(ctx, r.Root, "symbolic-ref", "-q", "HEAD")
	if err != nil && exitCode(err) != 1 { // 1: detached
		return Head{}, err
	}
	head.Branch = strings.TrimPrefix(strings.TrimSuffix(ref, "\n"), "refs/heads/")
	hash, err := output(ctx, r.Root, "rev-parse", "--verify", "-q", "HEAD^{commit}")
	if err != nil && (exitCode(err) != 1 || head.Branch == "") { // 1: the branch has no commit
		return Head{}, err
	}
	head.Hash = strings.TrimSuffix(hash, "\n")
	head.Unborn = head.Hash == ""
	return head, nil
}

// HeadFast reads the checked-out commit of the work tree at root from git's
// files alone, in about 20 microseconds, for a process that has no time to
// start git. ok is false where that is not enough (no commits, the reftable
// format, anything damaged): ask Head then.
func HeadFast(root string) (hash string, ok bool) {
	gitDir := filepath.Join(root, ".git")
	if text, err := os.ReadFile(gitDir); err == nil { // a file in linked work trees and submodules
		path, found := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
		if !found {
			return "", false
		}
		if gitDir = filepath.FromSlash(path); !filepath.IsAbs(gitDir) {
			gitDir = filepath.Join(root, gitDir)
		}
	}
	commonDir := gitDir
	if text, err := os.ReadFile(filepath.Join(gitDir, "commondir")); err == nil {
		if commonDir = filepath.FromSlash(strings.TrimRight(string(text), "\r\n")); !filepath.IsAbs(commonDir) {
			commonDir = filepath.Join(gitDir, commonDir)
		}
	}
	text, err := os.ReadFile(filepath.Join(gitDir, "HEAD"))
	if err != nil {
		return "", false
	}
	const maxSymbolicRefs = 5 // git's own limit
	for range maxSymbolicRefs {
		line := strings.TrimSpace(string(text))
		ref, symbolic := strings.CutPrefix(line, "ref:")
		if !symbolic {
			return line, isHash(line)
		}
		ref = strings.TrimSpace(ref)
		if !strings.HasPrefix(ref, "refs/") || !filepath.IsLocal(ref) {
			return "", false
		}
		if text, err = os.ReadFile(filepath.Join(commonDir, filepath.FromSlash(ref))); err != nil {
			return packedRef(commonDir, ref)
		}
	}
	return "", false
}

// packedRef looks ref up among "HASH REF" lines.
func packedRef(commonDir, ref string) (hash string, ok bool) {
	packed, err := os.ReadFile(filepath.Join(commonDir, "packed-refs"))
	if err != nil {
		return "", false
	}
	before, _, found := bytes.Cut(append([]byte("\n"), packed...), []byte(" "+ref+"\n"))
	if !found {
		return "", false
	}
	hash = string(before[bytes.LastIndexByte(before, '\n')+1:])
	return hash, isHash(hash)
}

// IsShallow says whether history was cut off when the repository was cloned.
func (r *Repo) IsShallow() bool { return len(r.shallow()) > 0 }

// shallow returns the commits whose parents the clone left out.
func (r *Repo) shallow() map[string]bool {
	text, err := os.ReadFile(filepath.Join(r.CommonDir, "shallow"))
	if err != nil {
		return nil
	}
	boundary := map[string]bool{}
	for _, hash := range strings.Fields(string(text)) {
		boundary[hash] = true
	}
	return boundary
}

// isHash accepts object names of SHA-1 and SHA-256 repositories.
func isHash(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// output runs git in dir and returns all that it printed.
func output(ctx context.Context, dir string, args ...string) (string, error) {
	var out bytes.Buffer
	err := stream(ctx, dir, args, func(r io.Reader) error {
		_, err := out.ReadFrom(r)
		return err
	})
	return out.String(), err
}

// settings overrule what a user's or a repository's configuration could do to
// the output, or start.
var settings = []string{
	"--no-pager", "--literal-pathspecs",
	"-c", "core.quotepath=off",
	"-c", "core.fsmonitor=false",
	"-c", "core.hooksPath=" + os.DevNull,
	"-c", "log.showSignature=false",
	"-c", "log.showRoot=true",
	"-c", "log.follow=false",
	"-c", "diff.orderFile=" + os.DevNull,
	"-c", "diff.relative=false",
	"-c", "submodule.recurse=false",
}

// environment returns ours without the variables that redirect git or make it
// run something. What stays of GIT_* is where configuration is read from.
func environment() []string {
	var env []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "GIT_") || strings.HasPrefix(entry, "GIT_CONFIG_") && !strings.HasPrefix(entry, "GIT_CONFIG_PARAMETERS=") ||
			strings.HasPrefix(entry, "GIT_EXEC_PATH=") || strings.HasPrefix(entry, "GIT_CEILING_DIRECTORIES=") || strings.HasPrefix(entry, "GIT_DISCOVERY_") {
			env = append(env, entry)
		}
	}
	return append(env, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
		// No object of a partial clone is fetched: the first is git 2.45's way,
		// the second stops older ones at the transport.
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
		// 0 also overrules trace files that the configuration names.
		"GIT_TRACE2=0", "GIT_TRACE2_EVENT=0", "GIT_TRACE2_PERF=0")
}

// stream runs git in dir and hands its output to read as it comes. When read
// fails, git is ended and read's error returned.
func stream(ctx context.Context, dir string, args []string, read func(io.Reader) error) error {
	runCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(runCtx, "git", append(settings[:len(settings):len(settings)], args...)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, environment(), 2*time.Second
	var complaint firstLine
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("run git in %s: %w", dir, err)
	}
	if err := cmd.Start(); err != nil {
		switch info, statErr := os.Stat(dir); {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, exec.ErrNotFound):
			return ErrNoGit
		case statErr != nil || !info.IsDir():
			return fmt.Errorf("%s is no folder, or is gone: %w", dir, ErrNotRepository)
		}
		return fmt.Errorf("run git in %s: %w", dir, err)
	}
	readErr := read(out)
	if readErr != nil {
		cancel()
	}
	err = cmd.Wait()
	switch message := string(complaint.line); {
	case ctx.Err() != nil:
		return ctx.Err()
	case readErr != nil:
		return readErr
	case err == nil:
		return nil
	case strings.Contains(message, "dubious ownership"), strings.Contains(message, "unsafe repository"):
		return fmt.Errorf("%s: %w", dir, ErrUnsafe)
	case strings.Contains(message, "not a git repository"):
		return fmt.Errorf("%s: %w", dir, ErrNotRepository)
	case strings.Contains(message, "must be run in a work tree"):
		return fmt.Errorf("%s: %w", dir, ErrBare)
	default:
		return fmt.Errorf("git %s in %s failed: %s (%w)", args[0], dir, message, err)
	}
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

// firstLine keeps the first line written to it, up to 500 bytes; git's later
// lines are advice.
type firstLine struct {
	line []byte
	full bool
}

func (f *firstLine) Write(p []byte) (int, error) {
	if !f.full {
		text, _, ended := bytes.Cut(p, []byte("\n"))
		f.line = append(f.line, text...)
		if f.full = ended; len(f.line) > 500 {
			f.line, f.full = f.line[:500], true
		}
	}
	return len(p), nil
}
