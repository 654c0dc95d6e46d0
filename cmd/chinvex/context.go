package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/search"
)

func (a *app) contextCommand() *cobra.Command {
	var q search.ContextQuery
	cmd := &cobra.Command{
		Use:   "context [flags] QUERY",
		Short: "Collect what is worth reading for a task, under a budget",
		Long: `Collect what is worth reading for a task, under a budget: the places that match, files
that change together with them, files of commits about the same, tests and what they test.`,
		Example:     `  chinvex context --budget 200 add a timeout to the session cookie`,
		Annotations: map[string]string{globals: "context home json quiet verbose"},
		Args:        someQuery,
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Text = strings.Join(args, " ")
			switch {
			case q.Unit != "lines" && q.Unit != "tokens":
				return usage(fmt.Sprintf("the unit %q does not exist; use lines or tokens", q.Unit))
			case q.Content != "full" && q.Content != "preview" && q.Content != "none":
				return usage(fmt.Sprintf("the content %q does not exist; use full, preview or none", q.Content))
			case q.Budget < 0 || q.Budget > 1_000_000:
				return usage(fmt.Sprintf("--budget %d is out of range; use 1 to 1000000", q.Budget))
			}
			return a.bundle(cmd.Context(), q)
		},
	}
	f := cmd.Flags()
	f.IntVarP(&q.Budget, "budget", "b", 0, "at most `N` units (default 500 lines or 6000 tokens)")
	f.StringVar(&q.Unit, "unit", "lines", "what the budget counts: lines or tokens (four bytes)")
	f.StringVar(&q.Content, "content", "full", "show `WHAT` of each piece: full, preview or none")
	return cmd
}

// someQuery refuses an empty query.
func someQuery(_ *cobra.Command, args []string) error {
	if strings.TrimSpace(strings.Join(args, " ")) == "" {
		return errors.New("the query is empty; say what to look for")
	}
	return nil
}

func (a *app) bundle(ctx context.Context, q search.ContextQuery) error {
	return a.ask(ctx, func(d *door.Door, e *search.Engine) error {
		b, err := e.Context(ctx, q)
		if err != nil {
			return err
		}
		a.trace(b.Trace, false)
		if a.json {
			if err := a.printJSON(door.NewBundle(b)); err != nil {
				return err
			}
		} else {
			a.printBundle(d, b)
		}
		if len(b.Items) == 0 {
			return negative("nothing found")
		}
		return nil
	})
}

func (a *app) printBundle(d *door.Door, b *search.Bundle) {
	for i, item := range b.Items {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		a.printPlace(d, item.Result)
		fmt.Fprintf(a.out, "        %s\n", a.style.dim(a.style.cut(item.Role+": "+item.Reason, 8)))
		if item.Text != "" {
			for n, l := range strings.Split(item.Text, "\n") {
				number, text := fmt.Sprintf("%6d  ", item.Start+n), door.Clean(l)
				if a.style.terminal { // whoever reads a pipe wants the whole line
					text = a.style.cut(l, len(number))
				}
				fmt.Fprintln(a.out, strings.TrimRight(a.style.dim(number)+text, " "))
			}
		}
	}
	if a.quiet || len(b.Items) == 0 {
		return
	}
	left := ""
	if b.Cut > 0 {
		left = fmt.Sprintf(", %s left out; --budget allows more", door.Plural(b.Cut, "piece"))
	}
	fmt.Fprintf(a.out, "\n%s\n", a.style.dim(fmt.Sprintf("%s of %s %s%s", door.Count(b.Used), door.Count(b.Budget), b.Unit, left)))
}
