package main

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

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
	st := a.style
	row := func(label, format string, args ...any) {
		fmt.Fprintf(a.out, "%s %s\n", st.dim(fmt.Sprintf("%-10s", label)), fmt.Sprintf(format, args...))
	}
	name := st.bold(s.Context)
	if len(s.Also) > 0 {
		name += fmt.Sprintf(" (%s claim this directory too; --context chooses)", strings.Join(s.Also, ", "))
	}
	row("context", "%s", name)
	row("index", "generation %d, %s, %s", s.Generation, bytesize(diskSize(s.Index)), door.Line(s.Index))
	row("files", "%s, %s of text, %s, %s", plural(s.Stats.LiveFiles, "file"), bytesize(s.Stats.TextBytes), plural(s.Stats.LiveChunks, "chunk"), plural(s.Stats.LiveSymbols, "symbol"))
	if len(s.Stats.Languages) > 0 {
		row("languages", "%s", st.cut(tally(s.Stats.Languages), 11))
	}
	if left := tally(s.Stats.LeftOut); left != "" {
		row("left out", "%s", left)
	}
	if s.Stats.Problems > 0 {
		row("syntax", "given up in %s, indexed as text", plural(s.Stats.Problems, "file"))
	}
	if s.Stats.Secrets > 0 {
		row("secrets", "%s replaced by a marker", count(s.Stats.Secrets))
	}
	row("vectors", "%s %s, %d dimensions", s.Embedding.Provider, s.Embedding.Name, s.Embedding.Dimensions)
	for _, r := range s.Repos {
		at := r.Note
		if r.Head != "" {
			at = fmt.Sprintf("%.9s", r.Head)
			if r.Branch != "" {
				at += " on " + door.Line(r.Branch)
			} else {
				at += ", detached"
			}
		}
		if r.Shallow {
			at += ", shallow"
		}
		if at != "" {
			at += ", "
		}
		row(door.Line(r.Name), "%s%s", at, ago(time.Unix(r.IndexedAt, 0)))
		fresh := st.good("up to date")
		if r.Stale != "" {
			fresh = st.bad(r.Stale)
		}
		row("", "%s", fresh)
		row("", "%s", st.dim(door.Line(r.Root)))
	}
	for _, w := range s.Warnings {
		row("warning", "%s", st.bad(door.Clean(w)))
	}
}

// diskSize sums the files below dir in bytes.
func diskSize(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}
