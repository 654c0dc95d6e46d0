package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/search/ingest"
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
	s, err := newStatus(ctx, d)
	if err != nil {
		return err
	}
	if settings {
		s.Settings = door.NewSettings(d)
	}
	hooks := hooksState(ctx, a.installOptions(d.Home, d.Context))
	if a.json {
		return a.printJSON(struct {
			*door.Status
			Hooks hooksStatus `json:"hooks"`
		}{s, hooks})
	}
	if settings {
		a.printSettings(s.Settings)
		return nil
	}
	a.printStatus(append(s.Rows(), hooks.row()))
	return nil
}

// newStatus compares every file with the index, as an ingest does.
func newStatus(ctx context.Context, d *door.Door) (*door.Status, error) {
	pending, unknown := ingest.Pending(ctx, ingest.Options{Context: d.Context, Settings: &d.Settings.Settings})
	s, err := door.NewStatus(d, pending)
	if err == nil && unknown != nil {
		s.Warnings = append(s.Warnings, oneLine(unknown))
	}
	return s, err
}

// row sums up the installation.
func (s hooksStatus) row() door.Row {
	more := "; see `chinvex hooks status`"
	switch {
	case s.Chosen == "none":
		return door.Row{Label: "hooks", Text: "taken out of the settings"}
	case len(s.Wrong) > 0:
		return door.Row{Label: "hooks", Text: door.Plural(len(s.Wrong), "thing") + " to look at" + more, Bad: true}
	case len(s.Absent) > 0:
		return door.Row{Label: "hooks", Text: "not installed" + more}
	}
	return door.Row{Label: "hooks", Text: "installed in " + s.Chosen}
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

func (a *app) printStatus(rows []door.Row) {
	width := 0
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
