package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search/index"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "version",
		Short:       "Print the version",
		Args:        cobra.NoArgs,
		Annotations: map[string]string{globals: "json"},
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				Version     string `json:"version"`
				Commit      string `json:"commit"` // "" when it was not built in a work tree
				IndexFormat int    `json:"index_format"`
				Go          string `json:"go"`
				Platform    string `json:"platform"`
			}{Version: project.Version, IndexFormat: index.Format, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						v.Commit = s.Value
					}
				}
			}
			if a.json {
				return a.printJSON(v)
			}
			commit := ""
			if v.Commit != "" {
				commit = fmt.Sprintf(" (%.9s)", v.Commit)
			}
			fmt.Fprintf(a.out, "chinvex %s%s, index format %d, %s %s\n", v.Version, commit, v.IndexFormat, v.Go, v.Platform)
			return nil
		},
	}
}
