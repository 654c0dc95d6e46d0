package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/client"
	"github.com/chinvex/chinvex/dispatch"
	"github.com/chinvex/chinvex/project"
)

func (a *app) hookCommand() *cobra.Command {
	var agent string
	cmd := &cobra.Command{
		Use:   "hook [EVENT]",
		Short: "Answer one tool event of a coding agent (chinvex-hook starts faster)",
		Long: `Read one tool event of a coding agent from standard input and print what it should know,
or nothing. The event's name is in its JSON; an argument is ignored. It never fails: a
fault is a line in the context's logs. The program chinvex-hook does the same and starts
faster.`,
		Args:        cobra.ArbitraryArgs,
		Annotations: map[string]string{globals: "home"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := project.OpenHome(a.home)
			if err != nil {
				return nil // the agent cannot help it
			}
			from, err := client.ByName(agent)
			if err != nil {
				return nil
			}
			dispatch.Run(cmd.Context(), a.in, a.out, dispatch.Env{Home: home, Client: from, ProjectDir: os.Getenv("CLAUDE_PROJECT_DIR")})
			return nil
		},
	}
	cmd.Flags().StringVar(&agent, "client", "claude", "the `AGENT` whose event it is: "+strings.Join(client.Names(), ", "))
	return cmd
}
