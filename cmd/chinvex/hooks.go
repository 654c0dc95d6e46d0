package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/installation"
	"github.com/chinvex/chinvex/project"
)

func (a *app) hooksCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hooks COMMAND",
		Short: "Install, remove or check the hooks in Claude Code's settings",
		Long: `Install, remove or check the hooks in Claude Code's settings: the entries in
.claude/settings.json of each repository of the context that print the brief at the start
of a session and answer tool events. ` + "`chinvex ingest`" + ` installs them too.`,
		Annotations: map[string]string{globals: "context home json quiet"},
		Args:        cobra.ArbitraryArgs,
		RunE:        ofItsOwn,
	}
	cmd.AddCommand(a.hooksInstallCommand(), a.hooksUninstallCommand(), a.hooksStatusCommand())
	return cmd
}

func (a *app) hooksInstallCommand() *cobra.Command {
	var local, mcp, startup bool
	cmd := &cobra.Command{
		Use:   "install [flags]",
		Short: "Add the hooks to the settings of the context's repositories",
		Long: `Add the hooks to the settings of the context's repositories. Everything else in those files
stays as it is, byte for byte, and their bytes from before are kept beside the index. What
is chosen here holds for later runs of ` + "`chinvex ingest`" + ` too.`,
		Example: `  chinvex hooks install
  chinvex hooks install --local --mcp`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{globals: "context home json quiet"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			choice := project.Hooks{StartupOnly: startup, MCP: mcp}
			if local {
				choice.Place = project.HooksLocal
			}
			return a.hooksInstall(cmd.Context(), choice)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&local, "local", false, "write settings.local.json, which is not committed and counts in sub-directories and linked work trees too")
	f.BoolVar(&mcp, "mcp", false, "register the MCP server in .mcp.json too")
	f.BoolVar(&startup, "startup-hook-only", false, "only print the brief when a session starts")
	return cmd
}

func (a *app) hooksUninstallCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "uninstall",
		Short: "Take the hooks out again",
		Long: `Take the hooks and the MCP server out of the settings of the context's repositories, and
have ` + "`chinvex ingest`" + ` leave them out from now on. A file that nobody has touched since gets
its bytes from before.`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{globals: "context home json quiet"},
		RunE:        func(cmd *cobra.Command, _ []string) error { return a.hooksUninstall(cmd.Context()) },
	}
}

func (a *app) hooksStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "status",
		Short:       "Show which settings hold the hooks, and what keeps them from working",
		Long:        "Show which settings hold the hooks, and what keeps them from working. The exit code is 1\nunless they are installed everywhere and nothing is wrong.",
		Args:        cobra.NoArgs,
		Annotations: map[string]string{globals: "context home json quiet"},
		RunE:        func(cmd *cobra.Command, _ []string) error { return a.hooksStatus(cmd.Context()) },
	}
}

// installOptions are those of a context as it is chosen now.
func (a *app) installOptions(home project.Home, c *project.Context) installation.Options {
	o := installation.Options{State: home, Context: c, Choice: c.Hooks}
	if a.home != "" { // a hook has no flags of this run's but what its command says
		o.Home = home.Dir
	}
	return o
}

func (a *app) hooksInstall(ctx context.Context, choice project.Hooks) error {
	d, err := a.find()
	if err != nil {
		return err
	}
	c := d.Context
	c.Hooks = choice
	if err := c.Save(); err != nil {
		return err
	}
	results := installation.Install(ctx, a.installOptions(d.Home, c))
	if err := a.printFiles(results, "nothing to install into"); err != nil {
		return err
	}
	if !a.quiet {
		for _, missing := range missingPrograms() {
			a.note("%s", missing)
		}
	}
	return refused(results)
}

func (a *app) hooksUninstall(ctx context.Context) error {
	home, err := project.OpenHome(a.home)
	if err != nil {
		return err
	}
	d, err := a.find()
	if errors.Is(err, project.ErrNoContext) && a.context == "" {
		// The context is gone; what it left here can still be taken out.
		root, _, ok := project.WorkTreeRoot(a.dir)
		if !ok {
			return err
		}
		results := installation.Uninstall(ctx, installation.Options{State: home, Repos: []project.Repository{{Name: project.NameFor(root), Root: root}}})
		if err := a.printFiles(results, "there is nothing of chinvex here"); err != nil {
			return err
		}
		return refused(results)
	}
	if err != nil {
		return err
	}
	d.Context.Hooks = project.Hooks{Place: project.HooksNone}
	if err := d.Context.Save(); err != nil {
		return err
	}
	results := installation.Uninstall(ctx, a.installOptions(home, d.Context))
	if err := a.printFiles(results, "there was nothing of chinvex"); err != nil {
		return err
	}
	return refused(results)
}

func (a *app) hooksStatus(ctx context.Context) error {
	d, err := a.find()
	if err != nil {
		return err
	}
	s := hooksState(ctx, a.installOptions(d.Home, d.Context))
	if a.json {
		if err := a.printJSON(s); err != nil {
			return err
		}
	} else if !a.quiet {
		for _, l := range s.lines(a) {
			fmt.Fprintln(a.out, l)
		}
	}
	if len(s.Absent)+len(s.Wrong) > 0 || s.Chosen == "none" {
		return negative("")
	}
	return nil
}

// hooksStatus is what is known of the installation.
type hooksStatus struct {
	Context string                `json:"context"`
	Chosen  string                `json:"chosen"` // "settings.json", "settings.local.json", "none"
	Files   []installation.Result `json:"files"`  // what an install would do
	Absent  []string              `json:"absent"` // where there are none
	Wrong   []string              `json:"wrong"`  // what keeps hooks from working
	Notes   []string              `json:"notes"`
}

func hooksState(ctx context.Context, o installation.Options) hooksStatus {
	s := hooksStatus{Context: o.Context.Name, Chosen: "settings.json", Files: []installation.Result{}, Absent: []string{}, Wrong: []string{}, Notes: []string{}}
	switch o.Choice.Place {
	case project.HooksNone:
		s.Chosen = "none"
		return s
	case project.HooksLocal:
		s.Chosen = "settings.local.json"
	}
	o.DryRun = true
	s.Files = installation.Install(ctx, o)
	for _, r := range s.Files {
		switch r.Action {
		case installation.Installed:
			s.Absent = append(s.Absent, fmt.Sprintf("%s has no hooks; `chinvex hooks install` adds them", door.Line(r.File)))
		case installation.Updated:
			s.Wrong = append(s.Wrong, fmt.Sprintf("%s has older hooks; `chinvex hooks install` brings them up to date", door.Line(r.File)))
		case installation.NoTree:
			s.Absent = append(s.Absent, fmt.Sprintf("%s has no hooks: %s", door.Line(r.File), r.Reason))
		case installation.Skipped:
			s.Wrong = append(s.Wrong, fmt.Sprintf("%s: %s", door.Line(r.File), r.Reason))
		}
		for _, w := range r.Warnings {
			s.Wrong = append(s.Wrong, fmt.Sprintf("%s: %s", door.Line(r.File), w))
		}
		for _, n := range r.Notes {
			s.Notes = append(s.Notes, fmt.Sprintf("%s: %s", door.Line(r.File), n))
		}
	}
	if len(s.Absent) < len(s.Files) {
		s.Wrong = append(s.Wrong, missingPrograms()...)
	}
	if installation.PluginEnabled() {
		s.Notes = append(s.Notes, "the chinvex plugin is enabled too: events are answered once, but each starts two hooks; keep the hooks or the plugin")
	}
	return s
}

func (s hooksStatus) lines(a *app) []string {
	if s.Chosen == "none" {
		return []string{"taken out of the settings of " + s.Context + "; `chinvex hooks install` puts them back"}
	}
	var lines []string
	for _, r := range s.Files {
		if r.Action == installation.Unchanged {
			lines = append(lines, fmt.Sprintf("%s  %s", a.style.good("installed"), door.Line(r.File)))
		}
	}
	for _, p := range slices.Concat(s.Absent, s.Wrong) {
		lines = append(lines, a.style.bad("look at  ")+"  "+door.Clean(p))
	}
	for _, n := range s.Notes {
		lines = append(lines, a.style.dim("note     ")+"  "+door.Clean(n))
	}
	return lines
}

// missingPrograms says which of the programs that hooks call by name are not to be found.
func missingPrograms() (missing []string) {
	for _, name := range []string{"chinvex", "chinvex-hook"} {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, fmt.Sprintf("%s is not on PATH, so hooks that call it do nothing; put the programs into a folder that is", name))
		}
	}
	return missing
}

// printFiles prints what became of settings files.
func (a *app) printFiles(results []installation.Result, nothing string) error {
	if a.json {
		return a.printJSON(struct {
			Files []installation.Result `json:"files"`
		}{results})
	}
	for _, r := range results {
		if r.Reason != "" {
			a.note("%s is left as it is: %s", r.File, r.Reason)
		} else if !a.quiet {
			fmt.Fprintf(a.out, "%s  %s\n", a.style.bold(fmt.Sprintf("%-9s", r.Action)), door.Line(r.File))
		}
		if !a.quiet {
			for _, n := range slices.Concat(r.Notes, r.Warnings) {
				a.note("%s: %s", filepath.Base(r.File), n)
			}
		}
	}
	if len(results) == 0 && nothing != "" && !a.quiet {
		fmt.Fprintln(a.out, nothing)
	}
	return nil
}

// refused is the answer of a command that could not do all of what it was for.
func refused(results []installation.Result) error {
	n := 0
	for _, r := range results {
		if r.Reason != "" {
			n++
		}
	}
	if n > 0 {
		return negative(door.Plural(n, "file") + " left as it was")
	}
	return nil
}
