package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search/index"
)

func (a *app) contextsCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "contexts [flags]",
		Short:       "List the contexts",
		Args:        cobra.NoArgs,
		Annotations: map[string]string{globals: "home json quiet"},
		RunE:        func(*cobra.Command, []string) error { return a.contexts() },
	}
}

type contextJSON struct {
	Name       string     `json:"name"`
	Aliases    []string   `json:"aliases"`
	Dir        string     `json:"dir"`
	Repos      []repoJSON `json:"repos"`
	IngestedAt string     `json:"ingested_at"` // RFC 3339, "" before the first
	Files      int        `json:"files"`
	Chunks     int        `json:"chunks"`
}

type repoJSON struct {
	Name string `json:"name"`
	Root string `json:"root"`
}

func (a *app) contexts() error {
	home, err := project.OpenHome(a.home)
	if err != nil {
		return err
	}
	contexts, broken := home.Contexts()
	list := []contextJSON{}
	for _, c := range contexts {
		w := contextJSON{Name: c.Name, Aliases: append([]string{}, c.Aliases...), Dir: c.Dir, Repos: []repoJSON{}}
		for _, r := range c.Includes.Repos {
			w.Repos = append(w.Repos, repoJSON{r.Name, r.Root})
		}
		if !c.Ingested.IsZero() {
			w.IngestedAt = c.Ingested.UTC().Format(time.RFC3339)
		}
		if m, err := index.ReadManifest(c.IndexDir()); err == nil {
			w.Files, w.Chunks = m.Stats.LiveFiles, m.Stats.LiveChunks
		}
		list = append(list, w)
	}
	if a.json {
		if err := a.printJSON(list); err != nil {
			return err
		}
	} else {
		a.printContexts(contexts, list)
	}
	if len(broken) > 0 {
		var all []string
		for _, err := range broken {
			all = append(all, oneLine(err))
		}
		return negative(strings.Join(all, "; "))
	}
	if len(list) == 0 {
		return negative("there is no context yet; `chinvex ingest` makes one")
	}
	return nil
}

func (a *app) printContexts(contexts []*project.Context, list []contextJSON) {
	for i, w := range list {
		if a.quiet {
			fmt.Fprintln(a.out, w.Name)
			continue
		}
		name := a.style.bold(w.Name)
		if len(w.Aliases) > 0 {
			name += " (" + strings.Join(w.Aliases, ", ") + ")"
		}
		state := "not ingested yet"
		if c := contexts[i]; !c.Ingested.IsZero() {
			state = fmt.Sprintf("%s, %s, ingested %s", door.Plural(w.Files, "file"), door.Plural(w.Chunks, "chunk"), door.Ago(c.Ingested))
		}
		fmt.Fprintf(a.out, "%s  %s\n", name, state)
		for _, r := range w.Repos {
			fmt.Fprintf(a.out, "    %s\n", a.style.dim(door.Line(r.Root)))
		}
	}
}
