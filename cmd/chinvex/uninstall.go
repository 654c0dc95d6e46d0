package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/installation"
	"github.com/chinvex/chinvex/memory/maintainer"
	"github.com/chinvex/chinvex/project"
)

func (a *app) uninstallCommand() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "uninstall [flags]",
		Short: "Take out every trace: hooks, MCP registrations, indexes, the state directory",
		Long: `Take out every trace: the hooks and the MCP server from the settings of every repository
of every context, what ` + "`chinvex update-memory`" + ` keeps in their git directories, then the
contexts with their indexes, sessions and logs, and the state directory. What is yours
stays: docs/memory, .chinvex/config.toml and .chinvexignore. The programs stay too; it
says where they lie.`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{globals: "home json quiet"},
		RunE:        func(cmd *cobra.Command, _ []string) error { return a.uninstall(cmd.Context(), dry) },
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "change nothing; say what would be taken out")
	return cmd
}

// uninstallJSON is what uninstall --json prints.
type uninstallJSON struct {
	Files      []installation.Result `json:"files"`
	Contexts   []string              `json:"contexts"` // that were deleted
	Folders    []string              `json:"folders"`  // in git directories, the same
	FreedBytes int64                 `json:"freed_bytes"`
	Left       []string              `json:"left"` // what is for the user to delete
}

func (a *app) uninstall(ctx context.Context, dry bool) error {
	home, err := project.OpenHome(a.home)
	if err != nil {
		return err
	}
	did := uninstallJSON{Files: []installation.Result{}, Contexts: []string{}, Folders: []string{}, Left: []string{}}
	var kept []string
	for _, name := range home.Names() {
		c, err := home.Context(name)
		if err == nil {
			o := a.installOptions(home, c)
			o.All, o.DryRun = true, dry
			files := installation.Uninstall(ctx, o)
			did.Files = append(did.Files, files...)
			// The bytes from before are in the context: it goes when nothing needs them.
			if slices.ContainsFunc(files, func(r installation.Result) bool { return r.Action == installation.Skipped }) {
				kept = append(kept, name)
				continue
			}
			for _, r := range c.Includes.Repos {
				dir := maintainer.Kept(ctx, r.Root)
				if dir == "" || slices.Contains(did.Folders, dir) {
					continue
				}
				did.Folders = append(did.Folders, dir)
				if dry {
					continue
				}
				if err := maintainer.Forget(ctx, r.Root); err != nil {
					return err
				}
			}
		}
		if !dry {
			freed, err := home.Remove(name)
			if err != nil {
				return err
			}
			did.FreedBytes += freed
		}
		did.Contexts = append(did.Contexts, name)
	}
	if !dry && len(kept) == 0 {
		if err := home.RemoveDir(); err != nil {
			return err
		}
	}
	did.Left = left(home, dry)
	if err := a.printUninstall(did, dry); err != nil {
		return err
	}
	return refused(did.Files)
}

// left lists what a person deletes by hand.
func left(home project.Home, dry bool) []string {
	list := []string{}
	if _, err := os.Stat(home.Dir); err == nil && !dry && len(home.Names()) == 0 {
		list = append(list, fmt.Sprintf("%s, where files lie that are not chinvex's", home.Dir))
	}
	if installation.PluginEnabled() {
		list = append(list, "the plugin: `claude plugin uninstall chinvex`")
	}
	dirs := []string{}
	if self, err := os.Executable(); err == nil {
		dirs = append(dirs, filepath.Dir(self))
	}
	if found, err := exec.LookPath("chinvex"); err == nil {
		dirs = append(dirs, filepath.Dir(found))
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		for _, name := range []string{"chinvex", "chinvex-hook", "chinvex-mcp"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
				list = append(list, filepath.Join(dir, name))
			}
		}
	}
	return list
}

func (a *app) printUninstall(did uninstallJSON, dry bool) error {
	if a.json {
		return a.printJSON(did)
	}
	if dry && !a.quiet {
		fmt.Fprintln(a.out, a.style.dim("nothing is changed; this would be:"))
	}
	if err := a.printFiles(did.Files, ""); err != nil || a.quiet {
		return err
	}
	for _, name := range did.Contexts {
		fmt.Fprintf(a.out, "%s  context %s\n", a.style.bold("deleted  "), name)
	}
	for _, dir := range did.Folders {
		fmt.Fprintf(a.out, "%s  %s\n", a.style.bold("deleted  "), door.Line(dir))
	}
	if did.FreedBytes > 0 {
		fmt.Fprintf(a.out, "%s freed\n", door.Bytes(did.FreedBytes))
	}
	if len(did.Contexts)+len(did.Files) == 0 {
		fmt.Fprintln(a.out, "there is nothing of chinvex but:")
	}
	for _, what := range did.Left {
		fmt.Fprintf(a.out, "%s  %s\n", a.style.dim("yours now"), door.Line(what))
	}
	return nil
}
