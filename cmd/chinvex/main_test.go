package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	// Hooks call chinvex-hook by name, and `chinvex hook` is the same.
	hook := func() {
		os.Args = append([]string{"chinvex", "hook"}, os.Args[1:]...)
		main()
	}
	testscript.Main(m, map[string]func(){"chinvex": main, "chinvex-hook": hook})
}

// TestScripts runs testdata/*.txt: one script a command, and one for each kind of bad
// input. They read as documentation.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, gitSurroundings...)
			e.Setenv("CHINVEX_HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("HOME", filepath.Join(e.WorkDir, "user"))
			e.Setenv("CLAUDE_CONFIG_DIR", "")
			e.Setenv("CLAUDE_PROJECT_DIR", "")
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("no condition %s", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"commit":      commit,
			"modelserver": modelServer,
			"status":      status,
			"badname": func(ts *testscript.TestScript, _ bool, args []string) {
				// A name that a script cannot spell: a line break and a byte that is not UTF-8.
				ts.Check(os.WriteFile(ts.MkAbs(args[0])+"/new\nline.go", []byte("package p\n\nfunc LineBreakName() {}\n"), 0o600))
				ts.Check(os.WriteFile(ts.MkAbs(args[0])+"/caf\xe9.go", []byte("package p\n\nfunc LatinName() {}\n"), 0o600))
			},
			"sparsefile": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), nil, 0o600))
				ts.Check(os.Truncate(ts.MkAbs(args[0]), 1<<30))
			},
		},
	})
}

// gitSurroundings make git the same everywhere.
var gitSurroundings = []string{
	"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.org",
	"GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.org", "GIT_CONFIG_COUNT=2",
	"GIT_CONFIG_KEY_0=init.defaultBranch", "GIT_CONFIG_VALUE_0=main", "GIT_CONFIG_KEY_1=protocol.file.allow", "GIT_CONFIG_VALUE_1=always",
}

// commit DIR MESSAGE commits everything in DIR, which becomes a repository if it is
// none, a day after the commit before it, the first on 2026-01-01.
func commit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: commit DIR MESSAGE")
	}
	dir := ts.MkAbs(args[0])
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		ts.Check(ts.Exec("git", "-C", dir, "init", "-q"))
	}
	n := 0
	if ts.Exec("git", "-C", dir, "rev-list", "--count", "HEAD") == nil {
		_, _ = fmt.Sscan(ts.ReadFile("stdout"), &n)
	}
	date := time.Date(2026, 1, 1+n, 12, 0, 0, 0, time.UTC).Format(time.RFC3339)
	ts.Setenv("GIT_AUTHOR_DATE", date)
	ts.Setenv("GIT_COMMITTER_DATE", date)
	ts.Check(ts.Exec("git", "-C", dir, "add", "-A"))
	ts.Check(ts.Exec("git", "-C", dir, "commit", "-q", "-m", args[1]))
}

// status CODE COMMAND... runs a command and demands its exit code.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND [ARG]...")
	}
	code := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = fmt.Sprint(exit.ExitCode())
	}
	if code != args[0] {
		ts.Fatalf("%v: exit code %s, want %s\nstdout: %s\nstderr: %s", args[1:], code, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}
