package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/claude"
	"github.com/chinvex/chinvex/client"
	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/installation"
	"github.com/chinvex/chinvex/memory"
)

const (
	briefDeadline = 1500 * time.Millisecond // a session waits for it
	leastBrief    = 100                     // tokens of four bytes
	mostBrief     = claude.MaxAnswer / 4    // what a client takes from a hook
)

func (a *app) briefCommand() *cobra.Command {
	var repo, agent string
	var budget int
	var plugin bool
	cmd := &cobra.Command{
		Use:   "brief [flags]",
		Short: "Print what a session should know at its start",
		Long: `Print what a session should know at its start: the project's memory (docs/memory/STATE.md,
CONSTRAINTS.md, DECISIONS.md), what was committed since the last session, and what is wrong
with the index, if anything is. It changes nothing. A session must not start with an error:
where there is nothing to print, a line on standard error says why, and the exit code is 0.`,
		Example: `  chinvex brief
  chinvex brief --context shop --repo shop-admin --budget 800`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{globals: "context home json"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := inRange("--budget", budget, leastBrief, mostBrief); err != nil {
				return err
			}
			as, err := client.ByName(agent)
			if err != nil {
				return usage(err.Error())
			}
			if plugin && installation.HasStartupHook(a.startDir()) {
				return nil
			}
			b, err := a.newBrief(cmd.Context(), repo, budget)
			switch {
			case err != nil:
				fmt.Fprintf(a.err, "chinvex: no brief: %s\n", oneLine(err))
				return nil
			case b == nil:
				return nil
			case a.json:
				return a.printJSON(b)
			}
			return as.Start(a.out, b.Text())
		},
	}
	f := cmd.Flags()
	f.StringVar(&repo, "repo", "", "the `REPOSITORY` of the context that it is about (default: the one here, else the first)")
	f.IntVar(&budget, "budget", memory.DefaultBudget, "most `TOKENS` of four bytes")
	f.StringVar(&agent, "client", "claude", "print it as `AGENT` takes it from a hook: "+strings.Join(client.Names(), ", "))
	f.BoolVar(&plugin, "plugin", false, "print nothing where a settings file has a start-up hook as well")
	_ = f.MarkHidden("plugin")
	return cmd
}

// startDir is where the client was started, else the current directory.
func (a *app) startDir() string {
	if dir := os.Getenv("CLAUDE_PROJECT_DIR"); dir != "" {
		return dir
	}
	return a.dir
}

// newBrief makes the brief; nil when a session that is resumed has it already.
func (a *app) newBrief(ctx context.Context, repo string, budget int) (*memory.Brief, error) {
	ctx, cancel := context.WithTimeout(ctx, briefDeadline)
	defer cancel()
	d, err := door.Find(door.Place{Home: a.home, Context: a.context, Dir: a.startDir()})
	if err != nil {
		return nil, err
	}
	if a.resumed() && d.SameCommit(repo) {
		return nil, nil
	}
	return d.Brief(ctx, repo, budget)
}

// resumed tells whether a client runs this as the start-up hook of a session that goes
// on: what earlier hooks said is still before its model.
func (a *app) resumed() bool {
	if os.Getenv("CLAUDE_PROJECT_DIR") == "" {
		return false
	}
	if f, ok := a.in.(*os.File); ok {
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice != 0 {
			return false
		}
	}
	source := make(chan string, 1)
	go func() {
		e, err := claude.ReadEvent(a.in)
		if err != nil {
			e = &claude.Event{}
		}
		source <- e.Source
	}()
	select {
	case s := <-source:
		return s == "resume"
	case <-time.After(100 * time.Millisecond): // somebody else's pipe, which stays open
		return false
	}
}
