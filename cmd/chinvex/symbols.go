package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/search"
)

func (a *app) symbolsCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "symbols [flags] FILE",
		Short:       "List what a file defines",
		Example:     "  chinvex symbols src/session.py",
		Args:        cobra.ExactArgs(1),
		Annotations: map[string]string{globals: "context home json quiet"},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.symbols(cmd.Context(), args[0])
		},
	}
}

func (a *app) symbols(ctx context.Context, file string) error {
	return a.ask(ctx, func(d *door.Door, e *search.Engine) error {
		p, err := d.Path(file)
		if err != nil {
			return usage(err.Error())
		}
		symbols, err := e.Symbols(p)
		if err != nil {
			return err
		}
		if a.json {
			if err := a.printJSON(door.NewSymbols(p, symbols)); err != nil {
				return err
			}
		}
		if len(symbols) == 0 {
			return negative(d.Name(p) + " defines no symbol")
		}
		if a.json {
			return nil
		}
		kind := 0
		for _, x := range symbols {
			kind = max(kind, len(x.Kind))
		}
		for _, x := range symbols {
			front := fmt.Sprintf("%6d  %-*s  ", x.Line, kind, x.Kind)
			name := door.Clean(door.Symbol(x.Scope, x.Name))
			line := a.style.dim(front) + a.style.bold(name)
			if sig := door.Signature(x.Signature); sig != "" && len(front)+len(name)+12 < a.style.width {
				line += "  " + a.style.cut(sig, len(front)+len(name)+2)
			}
			fmt.Fprintln(a.out, line)
		}
		return nil
	})
}
