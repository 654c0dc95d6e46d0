package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/git"
	"github.com/chinvex/chinvex/memory"
	"github.com/chinvex/chinvex/project"
)

func (a *app) memoryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:         "memory COMMAND",
		Short:       "Check the project's memory files",
		Long:        "Check the project's memory files, docs/memory/STATE.md, CONSTRAINTS.md and DECISIONS.md.\n`chinvex update-memory` writes them, `chinvex brief` reads them.",
		Annotations: map[string]string{globals: "json quiet"},
		Args:        cobra.ArbitraryArgs,
		RunE:        ofItsOwn,
	}
	cmd.AddCommand(a.memoryLintCommand())
	return cmd
}

func (a *app) memoryLintCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "lint [flags] [DIR]",
		Short: "Hold the memory files against their contracts",
		Long: `Hold STATE.md, CONSTRAINTS.md and DECISIONS.md in docs/memory of the repository in DIR
(default: the one here) against their contracts: sections, sizes, evidence that exists. It
needs no context and no index, so that a CI job can run it; in a shallow clone evidence is
not looked up. The exit code is 1 when a contract is broken; a warning does not count.`,
		Example: `  chinvex memory lint
  chinvex memory lint --json ~/src/shop`,
		Args:        cobra.MaximumNArgs(1),
		Annotations: map[string]string{globals: "json quiet"},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := a.dir
			if len(args) > 0 {
				var err error
				if dir, err = folder(a.dir, args[0]); err != nil {
					return err
				}
			}
			return a.memoryLint(cmd.Context(), dir)
		},
	}
}

// lintJSON is what is wrong with a repository's memory files.
type lintJSON struct {
	Root     string           `json:"root"`
	Errors   int              `json:"errors"`
	Problems []memory.Problem `json:"problems"`
}

func (a *app) memoryLint(ctx context.Context, dir string) error {
	w := lintJSON{Root: dir, Problems: []memory.Problem{}}
	if _, err := os.Stat(filepath.Join(dir, memory.Dir)); err != nil {
		if tree, _, ok := project.WorkTreeRoot(dir); ok {
			w.Root = tree
		}
	}
	env := memory.Environment{Today: time.Now()}
	repo, err := git.Open(ctx, w.Root)
	unknown := "" // why commits are not looked up
	switch {
	case err != nil:
		unknown = oneLine(err)
	case repo.IsShallow():
		unknown = "the clone is shallow; `git fetch --unshallow` brings the rest"
	default:
		env.Exists = func(hash string) bool { return repo.HasCommit(ctx, hash) }
	}
	files, broken := memory.ReadFiles(w.Root)
	unread := map[string]bool{}
	for _, err := range broken { // "PATH is not a regular file"
		path, what, _ := strings.Cut(oneLine(err), " ")
		unread[path] = true
		w.Problems = append(w.Problems, memory.Problem{Severity: memory.Error, File: path, Where: "the file", What: what + ": repair it, nothing is written until then"})
	}
	for _, p := range memory.Lint(files, env) {
		if !unread[p.File] { // which would say that there is none
			w.Problems = append(w.Problems, p)
		}
	}
	if err := ctx.Err(); err != nil {
		return err // evidence that was not looked up counts as missing
	}
	if unknown != "" && files != (memory.Files{}) && !a.json && !a.quiet {
		a.note("commits are not looked up: %s", unknown)
	}
	for _, p := range w.Problems {
		if p.Severity == memory.Error {
			w.Errors++
		}
	}
	if a.json {
		if err := a.printJSON(w); err != nil {
			return err
		}
	} else {
		a.printProblems(w.Problems)
		switch {
		case a.quiet || len(w.Problems) > 0:
		case files == (memory.Files{}):
			fmt.Fprintf(a.out, "%s has no memory files\n", door.Line(w.Root))
		default:
			fmt.Fprintln(a.out, "the memory files keep their contracts")
		}
	}
	if w.Errors > 0 {
		return negative(door.Plural(w.Errors, "error"))
	}
	return nil
}

// printProblems prints what is wrong, a line each; with --quiet what breaks a contract
// only.
func (a *app) printProblems(problems []memory.Problem) {
	for _, p := range problems {
		switch {
		case p.Severity == memory.Error:
			fmt.Fprintf(a.out, "%s  %s\n", a.style.bad("error  "), door.Clean(p.String()))
		case !a.quiet:
			fmt.Fprintf(a.out, "%s  %s\n", a.style.dim("warning"), door.Clean(p.String()))
		}
	}
}
