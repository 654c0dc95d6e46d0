package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/cmd/internal/door"
)

func (a *app) statusCommand() *cobra.Command {
	var settings bool
	cmd := &cobra.Command{
		Use:         "status [flags]",
		Short:       "Show what is indexed, how fresh it is, and what was left out",
		Args:        cobra.NoArgs,
		Annotations: map[string]string{globals: "context home json"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.status(cmd.Context(), settings)
		},
	}
	cmd.Flags().BoolVar(&settings, "settings", false, "show every setting with where its value comes from")
	return cmd
}

func (a *app) status(ctx context.Context, settings bool) error {
	d, err := a.find()
	if err != nil {
		return err
	}
	s, err := door.NewStatus(ctx, d)
	if err != nil {
		return err
	}
	if settings {
		s.Settings = door.NewSettings(d)
	}
	if a.json {
		return a.printJSON(s)
	}
	if settings {
		a.printSettings(s.Settings)
		return nil
	}
	a.printStatus(s)
	return nil
}

func (a *app) printSettings(settings []door.Setting) {
	width, value := 0, 0
	for _, s := range settings {
		width, value = max(width, len(s.Key)), max(value, len(s.Value))
	}
	value = min(value, 24)
	for _, s := range settings {
		line := fmt.Sprintf("%-*s  %-*s  ", width, s.Key, value, door.Clean(s.Value))
		fmt.Fprintln(a.out, line+a.style.dim(door.Clean(s.Source)))
	}
}

func (a *app) printStatus(s *door.Status) {
	width := 0
	rows := s.Rows()
	for _, r := range rows {
		width = max(width, len(r.Label))
	}
	for _, r := range rows {
		text := r.Text
		if r.Bad {
			text = a.style.bad(text)
		}
		fmt.Fprintf(a.out, "%s  %s\n", a.style.dim(fmt.Sprintf("%-*s", width, r.Label)), text)
	}
}
