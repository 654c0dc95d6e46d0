package main

import (
	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/cmd/mcp/tools"
)

func (a *app) mcpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "mcp [flags]",
		Short: "Serve agents over the Model Context Protocol",
		Long: `Serve agents over the Model Context Protocol, on standard input and output. The context
is the one that claims $CLAUDE_PROJECT_DIR, else the current directory; an index that
appears later is found.`,
		Example:     "  claude mcp add chinvex -- chinvex mcp",
		Args:        cobra.NoArgs,
		Annotations: map[string]string{globals: "context home"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return tools.Serve(cmd.Context(), door.Place{Home: a.home, Context: a.context}, a.in, a.out, a.err)
		},
	}
}
