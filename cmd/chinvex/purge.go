package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/project"
)

func (a *app) purgeCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "purge [flags] NAME",
		Short:       "Delete a context with everything stored for it",
		Long:        "Delete the context NAME with everything stored for it: index, logs, sessions. The\nrepositories themselves are not touched.",
		Example:     "  chinvex purge shop",
		Args:        cobra.ExactArgs(1),
		Annotations: map[string]string{globals: "home json quiet"},
		RunE: func(_ *cobra.Command, args []string) error {
			home, err := project.OpenHome(a.home)
			if err != nil {
				return err
			}
			freed, err := home.Remove(args[0])
			switch {
			case err != nil:
				return err
			case a.json:
				return a.printJSON(struct {
					Context    string `json:"context"`
					FreedBytes int64  `json:"freed_bytes"`
				}{args[0], freed})
			case !a.quiet:
				fmt.Fprintf(a.out, "%s is deleted, %s freed\n", a.style.bold(args[0]), door.Bytes(freed))
			}
			return nil
		},
	}
}
