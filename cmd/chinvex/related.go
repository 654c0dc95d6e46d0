package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/search"
)

func (a *app) relatedCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:         "related [flags] FILE",
		Short:       "List the files that belong to a file, with the reasons",
		Long:        "List the files that belong to a file, with the reasons: they change together, one tests\nor imports the other, they use the same symbols. FILE may be new.",
		Example:     "  chinvex related src/session.py",
		Args:        cobra.ExactArgs(1),
		Annotations: map[string]string{globals: "context home json quiet verbose"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := inRange("--limit", limit, 1, 1000); err != nil {
				return err
			}
			return a.related(cmd.Context(), args[0], limit)
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 10, "at most `K` files")
	return cmd
}

func (a *app) related(ctx context.Context, file string, limit int) error {
	return a.ask(ctx, func(d *door.Door, e *search.Engine) error {
		p, err := d.Path(file)
		if err != nil {
			return usage(err.Error())
		}
		res, err := e.Related(ctx, search.RelatedQuery{Path: p, Limit: limit})
		if err != nil {
			return err
		}
		a.trace(res.Trace, false)
		if a.json {
			if err := a.printJSON(door.NewRelated(res)); err != nil {
				return err
			}
		} else {
			for _, f := range res.Files {
				place := d.Name(f.Path)
				if f.Start > 0 {
					place += fmt.Sprintf(":%d", f.Start)
				}
				fmt.Fprint(a.out, a.style.path(place))
				if f.Symbol != "" {
					fmt.Fprint(a.out, "  ", a.style.bold(door.Clean(f.Symbol)))
				}
				fmt.Fprintf(a.out, "\n        %s\n", a.style.cut(strings.Join(f.Reasons, "; "), 8))
			}
		}
		if len(res.Files) == 0 {
			return negative("no file is related to " + d.Name(p))
		}
		return nil
	})
}
