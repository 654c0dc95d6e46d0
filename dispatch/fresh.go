package dispatch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/chinvex/chinvex/git"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search/index"
)

// An index is brought up to date by the main program, in a process of its own that is
// never waited for: parsing needs more than a hook can link. A hook queues the files that
// changed; while the queue holds something, the next hook gives the refresh a moment.
const (
	pendingAge  = 3 * time.Second       // after this a refresh has failed
	pendingWait = 60 * time.Millisecond // for a refresh to publish
	pendingPoll = 3 * time.Millisecond
	ingestName  = "ingest"         // in sessions/: when an ingest was last started
	ingestEvery = 30 * time.Second // at most
)

// await gives a refresh that is under way a moment to publish.
func await(c *project.Context) {
	for end := time.Now().Add(pendingWait); index.Waiting(c.IndexDir(), pendingAge) && time.Now().Before(end); {
		time.Sleep(pendingPoll)
	}
}

// refresh queues the files that a tool changed and starts what reads them.
func refresh(env *Env, c *project.Context, files []project.Path) error {
	if _, err := index.ReadManifest(c.IndexDir()); err != nil {
		return err
	}
	request, err := index.Enqueue(c.IndexDir(), files)
	if err != nil {
		return err
	}
	if err = env.Spawn([]string{"refresh", "--context", c.Name, "--home", env.Home.Dir}); err != nil {
		_ = os.Remove(request) // nobody would come for it, and hooks would wait
	}
	return err
}

// follow starts an ingest when another commit is checked out than the index was made
// of, unless one was started a moment ago.
func follow(env *Env, c *project.Context, repo project.Repository) (started bool, err error) {
	m, err := index.ReadManifest(c.IndexDir())
	if err != nil {
		return false, err
	}
	root, _, ok := project.WorkTreeRoot(repo.Root)
	if !ok {
		return false, nil
	}
	head, ok := git.HeadFast(root)
	if !ok {
		return false, nil
	}
	for _, r := range m.Repos {
		if r.Name != repo.Name || r.Head == head {
			continue
		}
		marker := filepath.Join(c.SessionsDir(), ingestName)
		if info, err := os.Stat(marker); err == nil && env.Now().Sub(info.ModTime()) < ingestEvery {
			return false, nil
		}
		if err := os.WriteFile(marker, nil, 0o600); err != nil {
			return false, err
		}
		now := env.Now()
		_ = os.Chtimes(marker, now, now)
		return true, env.Spawn([]string{"ingest", "--context", c.Name, "--home", env.Home.Dir, "--quiet", "--no-claude-hook"})
	}
	return false, nil
}

// Spawn starts the main program, found beside this one or on PATH, in a session of its
// own, without waiting for it.
func Spawn(args []string) error {
	program, err := mainProgram()
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	process, err := os.StartProcess(program, append([]string{program}, args...), &os.ProcAttr{
		Dir: "/", Env: os.Environ(), Files: []*os.File{null, null, null}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return fmt.Errorf("cannot start %s: %w", program, err)
	}
	return process.Release()
}

func mainProgram() (string, error) {
	const name = "chinvex"
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return beside, nil
		}
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return "", errors.New("the chinvex program was not found beside the hook nor on PATH; the index is not refreshed: install both in one folder")
	}
	return filepath.Abs(found)
}
