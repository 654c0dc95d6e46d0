package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/installation"
	"github.com/chinvex/chinvex/memory/maintainer"
	"github.com/chinvex/chinvex/project"
)

func (a *app) purgeCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "purge [flags] NAME",
		Short:       "Delete a context with everything stored for it",
		Long:        "Delete the context NAME with everything stored for it: index, logs, sessions. Its hooks are\ntaken out of the settings of its repositories, and what `chinvex update-memory` keeps in\ntheir git directories is deleted; nothing else in them is touched.",
		Example:     "  chinvex purge shop",
		Args:        cobra.ExactArgs(1),
		Annotations: map[string]string{globals: "home json quiet"},
		RunE: func(cmd *cobra.Command, args []string) error {
			home, err := project.OpenHome(a.home)
			if err != nil {
				return err
			}
			var files []installation.Result
			if c, err := home.Context(args[0]); err == nil && c.Name == args[0] {
				files = installation.Uninstall(cmd.Context(), a.installOptions(home, c))
				for _, r := range c.Includes.Repos {
					if err := maintainer.Forget(cmd.Context(), r.Root); err != nil {
						return err
					}
				}
			}
			freed, err := home.Remove(args[0])
			switch {
			case err != nil:
				return err
			case a.json:
				return a.printJSON(struct {
					Context    string                `json:"context"`
					FreedBytes int64                 `json:"freed_bytes"`
					Files      []installation.Result `json:"files,omitempty"`
				}{args[0], freed, files})
			case !a.quiet:
				if err := a.printFiles(files, ""); err != nil {
					return err
				}
				fmt.Fprintf(a.out, "%s is deleted, %s freed\n", a.style.bold(args[0]), door.Bytes(freed))
			}
			return nil
		},
	}
}
