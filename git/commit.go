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
	"syscall"
	"time"
)

// Why nothing was committed; match with errors.Is.
var (
	ErrNoIdentity = errors.New("git does not know who commits; run git config user.name and git config user.email")
	ErrBusy       = errors.New("finish or abort it first")
	ErrUnchanged  = errors.New("nothing to commit: the files are as in the last commit")
)

// Busy names what is under way in the work tree and stands in the way of a commit,
// "a merge" say; "" for nothing.
func (r *Repo) Busy() string {
	for _, state := range []struct{ file, name string }{
		{"MERGE_HEAD", "a merge"}, {"rebase-merge", "a rebase"}, {"rebase-apply", "a rebase or git am"},
		{"CHERRY_PICK_HEAD", "a cherry-pick"}, {"REVERT_HEAD", "a revert"}, {"sequencer", "a cherry-pick or revert"},
	} {
		if _, err := os.Lstat(filepath.Join(r.GitDir, state.file)); err == nil {
			return state.name
		}
	}
	return ""
}

// Changed tells which of the files differ from the last commit, untracked ones
// included, ignored ones not. paths are relative to Root, as in Files.
func (r *Repo) Changed(ctx context.Context, paths []string) ([]string, error) {
	args := []string{"status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=all", "--"}
	var changed []string
	err := stream(ctx, r.Root, append(args, paths...), func(out io.Reader) error {
		return eachField(out, func(field string) error {
			if len(field) < 4 || field[2] != ' ' { // "XY PATH"
				return fmt.Errorf("git status printed %.80q, which is no status", field)
			}
			changed = append(changed, field[3:])
			return nil
		})
	})
	return changed, err
}

// CommitOnly commits the given files as they are on the disk, tracked or not, and
// nothing else: what is staged stays staged. paths are relative to Root. It returns
// the commit's full hash.
//
// It is the user's commit: the user's name, hooks and signature apply. Nothing can
// ask a question, so a key that needs a passphrase fails unless an agent holds it.
// A hook can change what is committed; Commits tells.
//
// The error is or wraps ErrNoIdentity, ErrBusy, ErrUnchanged, or tells what git or a
// hook said; then the index is as it was.
func (r *Repo) CommitOnly(ctx context.Context, message string, paths []string) (hash string, err error) {
	if state := r.Busy(); state != "" {
		return "", fmt.Errorf("%s is under way in %s: %w", state, r.Root, ErrBusy)
	}
	changed, err := r.Changed(ctx, paths)
	if err != nil {
		return "", err
	}
	if len(changed) == 0 {
		return "", ErrUnchanged
	}
	known, err := output(ctx, r.Root, append([]string{"ls-files", "-z", "--cached", "--"}, changed...)...)
	if err != nil {
		return "", err
	}
	var added []string // git commit takes no file that the index does not know
	for _, path := range changed {
		if !strings.Contains("\x00"+known, "\x00"+path+"\x00") {
			added = append(added, path)
		}
	}
	if len(added) > 0 {
		err = r.write(ctx, append([]string{"add", "--intent-to-add", "--"}, added...)...)
	}
	if err == nil {
		// The other options are against configuration: a name that git guesses, a comment
		// sign that the message begins with.
		err = r.write(ctx, append([]string{"-c", "user.useConfigOnly=true", "commit", "--quiet", "--no-edit", "--cleanup=whitespace",
			"-m", message, "--only", "--"}, changed...)...)
	}
	if err != nil {
		if len(added) > 0 { // also when ctx has ended
			undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			if undoErr := r.write(undo, append([]string{"rm", "-q", "--cached", "--ignore-unmatch", "--"}, added...)...); undoErr != nil {
				err = fmt.Errorf("%w; and %s stayed in the index (%v)", err, strings.Join(added, ", "), undoErr)
			}
		}
		return "", err
	}
	made, err := r.Head(ctx)
	return made.Hash, err
}

// write runs a git command that changes the repository: with hooks and all of the
// user's configuration, but without a terminal.
func (r *Repo) write(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=false"}, args...)...)
	cmd.Dir, cmd.WaitDelay = r.Root, 2*time.Second
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case name == "DISPLAY", name == "WAYLAND_DISPLAY", name == "GPG_TTY", name == "SSH_ASKPASS": // ways to ask
		case strings.HasPrefix(name, "GIT_AUTHOR_"), strings.HasPrefix(name, "GIT_COMMITTER_"),
			strings.HasPrefix(name, "GIT_CONFIG_") && name != "GIT_CONFIG_PARAMETERS", name == "GIT_EXEC_PATH",
			name == "GIT_CEILING_DIRECTORIES", strings.HasPrefix(name, "GIT_DISCOVERY_"), !strings.HasPrefix(name, "GIT_"):
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=false", "SSH_ASKPASS_REQUIRE=never", "LC_ALL=C")
	// Without the terminal no program that git starts can ask there, and all of them
	// end with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	said, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return ErrNoGit
	}
	command := args[0]
	for i := 0; command == "-c"; i += 2 {
		command = args[i+2]
	}
	text := string(said)
	switch {
	case strings.Contains(text, "tell me who you are"), strings.Contains(text, "empty ident name"), strings.Contains(text, "user.useConfigOnly"):
		return ErrNoIdentity
	case strings.Contains(text, "index.lock"):
		return fmt.Errorf("another git command is at work in %s: %w", r.Root, ErrBusy)
	case strings.Contains(text, "failed to sign"), strings.Contains(text, "gpg failed"):
		return fmt.Errorf("git %s in %s failed: the commit could not be signed without asking for a passphrase; unlock the key, or commit the files yourself", command, r.Root)
	}
	return fmt.Errorf("git %s in %s failed, or one of its hooks did: %s (%w)", command, r.Root, lastLines(said), err)
}

// lastLines is the end of what a program said, on one line: what stands before is
// usually progress.
func lastLines(said []byte) string {
	const most = 500
	said = bytes.TrimSpace(said)
	said = said[max(0, len(said)-most):]
	return strings.ToValidUTF8(strings.Join(strings.Fields(string(said)), " "), "\uFFFD")
}
