package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search/ingest"
)

// refreshCommand is what the hook starts after an edit, detached, without files: it reads
// those that are queued. It answers nobody, and its exit code is for tests.
func (a *app) refreshCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "refresh [flags] [FILE...]",
		Short:       "Read a few files again, as the hook does after an edit",
		Hidden:      true,
		Annotations: map[string]string{globals: "context home"},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.refresh(cmd.Context(), args)
		},
	}
}

func (a *app) refresh(ctx context.Context, files []string) error {
	if len(files) == 0 {
		d, err := door.Find(door.Place{Home: a.home, Context: a.context, Dir: a.dir})
		if err != nil {
			return err
		}
		_, err = ingest.Refresh(ctx, ingest.Options{Context: d.Context, Settings: &d.Settings.Settings}, nil)
		return err
	}
	var order []string
	byContext := map[string][]project.Path{}
	doors := map[string]*door.Door{}
	var failed []error
	for _, file := range files {
		if !filepath.IsAbs(file) {
			file = filepath.Join(a.dir, file)
		}
		d, err := door.Find(door.Place{Home: a.home, Context: a.context, Dir: filepath.Dir(file)})
		if err != nil {
			failed = append(failed, err)
			continue
		}
		p, err := d.Path(file)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		name := d.Context.Name
		if doors[name] == nil {
			doors[name] = d
			order = append(order, name)
		}
		byContext[name] = append(byContext[name], p)
	}
	for _, name := range order {
		d := doors[name]
		_, err := ingest.Refresh(ctx, ingest.Options{Context: d.Context, Settings: &d.Settings.Settings}, byContext[name])
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
