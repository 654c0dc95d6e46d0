package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
)

func (a *app) refsCommand() *cobra.Command {
	var file string
	var limit int
	cmd := &cobra.Command{
		Use:         "refs [flags] SYMBOL",
		Short:       "Show where a symbol is defined and who uses it",
		Long:        "Show where a symbol is defined and who uses it, likely uses first. References are found\nby name; --file says which definition is meant when several share it.",
		Example:     "  chinvex refs url_for\n  chinvex refs --file src/flask/app.py Flask.url_for",
		Args:        cobra.ExactArgs(1),
		Annotations: map[string]string{globals: "context home json quiet verbose"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(args[0]) == "" {
				return usage("the symbol is empty; name one, such as parse or Parser.parse")
			}
			if err := inRange("--limit", limit, 1, 10000); err != nil {
				return err
			}
			return a.refs(cmd.Context(), args[0], file, limit)
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "the definition in `FILE` is meant")
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "at most `K` uses")
	return cmd
}

func (a *app) refs(ctx context.Context, symbol, file string, limit int) error {
	return a.ask(ctx, func(d *door.Door, e *search.Engine) error {
		var p project.Path
		if file != "" {
			var err error
			if p, err = d.Path(file); err != nil {
				return usage(err.Error())
			}
		}
		res, err := e.Refs(ctx, search.RefsQuery{Name: symbol, File: p, Limit: limit})
		if err != nil {
			return err
		}
		a.trace(res.Trace, false)
		if a.json {
			if err := a.printJSON(door.NewReferences(res)); err != nil {
				return err
			}
		} else {
			a.printRefs(d, res)
		}
		if len(res.Definitions) == 0 && len(res.References) == 0 {
			return negative(fmt.Sprintf("nothing here defines or uses %s", door.Line(symbol)))
		}
		return nil
	})
}

func (a *app) printRefs(d *door.Door, res *search.References) {
	s := a.style
	for _, def := range res.Definitions {
		fmt.Fprintf(a.out, "%s  %s\n", s.path(fmt.Sprintf("%s:%d-%d", d.Name(def.Path), def.Start, def.End)), s.bold(door.Clean(door.Symbol(def.Scope, def.Name))))
		fmt.Fprintf(a.out, "        %s\n", s.cut(def.Kind+"  "+door.Signature(def.Signature), 8))
	}
	if len(res.References) > 0 && len(res.Definitions) > 0 {
		fmt.Fprintln(a.out)
	}
	for _, r := range res.References {
		fmt.Fprint(a.out, s.path(fmt.Sprintf("%s:%d", d.Name(r.Path), r.Line)))
		if r.In != "" {
			fmt.Fprint(a.out, "  in ", s.bold(door.Clean(r.In)))
		}
		fmt.Fprintf(a.out, "  %s\n        %s\n", s.dim("("+r.Why+")"), s.cut(r.Text, 8))
	}
	if more := res.Total - len(res.References); more > 0 && !a.quiet {
		fmt.Fprintf(a.out, "\n%s\n", s.dim(fmt.Sprintf("%s of %s in %s; --limit shows more", door.Count(len(res.References)), door.Plural(res.Total, "use"), door.Plural(res.Files, "file"))))
	}
}
