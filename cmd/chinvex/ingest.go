package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/installation"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search/index"
	"github.com/chinvex/chinvex/search/ingest"
)

func (a *app) ingestCommand() *cobra.Command {
	var repos []string
	var embedding embedFlags
	var rebuild, noHooks, startupOnly, ignored bool
	cmd := &cobra.Command{
		Use:   "ingest [flags]",
		Short: "Index the repository here, or bring its index up to date",
		Long: `Index the repository here, or bring its index up to date.

Only what changed since the last time is read. Without --context the context that
claims the current directory is meant, or a new one with the repository's name.

In each git work tree it adds hooks to .claude/settings.json, which have Claude Code ask
chinvex; see ` + "`chinvex hooks`" + `. Nothing else is written into a repository.`,
		Example: `  chinvex ingest
  chinvex ingest --context shop --repo ~/src/shop --repo ~/src/shop-admin`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{globals: "context home json quiet verbose"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ingest(cmd.Context(), ingestFlags{repos, embedding, rebuild, noHooks, startupOnly})
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&repos, "repo", nil, "add the folder `DIR` to the context; may be given again. One inside a work tree is indexed alone")
	f.StringVar(&embedding.provider, "embed", "", "make vectors with `PROVIDER`: builtin, openai:MODEL (any compatible server) or ollama:MODEL; kept for later runs")
	f.StringVar(&embedding.url, "embed-url", "", "the embedding server's `URL`; kept for later runs")
	f.StringVar(&embedding.keyEnv, "embed-key-env", "", "the environment `VARIABLE` that holds its key; kept, the key is not")
	f.StringVar(&embedding.keyFile, "embed-key-file", "", "the `FILE` that holds it, instead of a variable; kept, the key is not")
	f.BoolVar(&rebuild, "rebuild", false, "build a new index from nothing")
	f.BoolVar(&noHooks, "no-claude-hook", false, "leave the settings of Claude Code alone this time")
	f.BoolVar(&startupOnly, "startup-hook-only", false, "install no hook but the one that prints the brief when a session starts")
	// Scripts written for the whole design call it; there is nothing yet for it to turn off,
	// so help does not show it.
	f.BoolVar(&ignored, "skip-calibrate", false, "no effect yet: ingest does not calibrate")
	_ = f.MarkHidden("skip-calibrate")
	return cmd
}

type ingestFlags struct {
	repos                         []string
	embedding                     embedFlags
	rebuild, noHooks, startupOnly bool
}

// embedFlags choose the embedding provider: the user's choice, which a repository's
// config.toml cannot make where it would send code away.
type embedFlags struct{ provider, url, keyEnv, keyFile string }

func (e embedFlags) given() bool { return e != embedFlags{} }

func (e embedFlags) settings() map[string]string {
	flags := map[string]string{}
	if e.provider != "" {
		provider, model, named := strings.Cut(e.provider, ":")
		flags["embedding.provider"] = provider
		if named {
			flags["embedding.model"] = model
		}
	}
	if e.url != "" {
		flags["embedding.url"] = e.url
	}
	if e.keyEnv != "" {
		flags["embedding.key_env"] = e.keyEnv
	}
	if e.keyFile != "" {
		flags["embedding.key_file"] = e.keyFile
	}
	return flags
}

func (a *app) ingest(ctx context.Context, flags ingestFlags) error {
	start := time.Now()
	if name := flags.embedding.keyFile; name != "" && !filepath.IsAbs(name) {
		flags.embedding.keyFile = filepath.Join(a.dir, name)
	}
	home, err := project.OpenHome(a.home)
	if err != nil {
		return err
	}
	c, created, err := a.claim(home, flags.repos)
	if err != nil {
		return err
	}
	// A context that never got an index would only be in the way.
	abandon := func(err error) error {
		if created {
			if _, noIndex := index.ReadManifest(c.IndexDir()); errors.Is(noIndex, index.ErrNoIndex) {
				installation.Uninstall(context.WithoutCancel(ctx), a.installOptions(home, c))
				_, removed := home.Remove(c.Name)
				return errors.Join(err, removed)
			}
		}
		return err
	}
	settings, err := project.Resolve(c, nil, flags.embedding.settings())
	if err != nil {
		return abandon(err)
	}
	if !a.quiet {
		for _, w := range settings.Warnings {
			a.note("%s", w)
		}
	}
	// Before the files are listed: a settings file that appeared afterwards would make the
	// new index out of date at once.
	var files []installation.Result
	if !flags.noHooks {
		o := a.installOptions(home, c)
		o.Choice.StartupOnly = o.Choice.StartupOnly || flags.startupOnly
		files = installation.Install(ctx, o)
	}
	p := a.newProgress()
	report, err := ingest.Ingest(ctx, ingest.Options{Context: c, Settings: &settings.Settings, Rebuild: flags.rebuild, Progress: p.step})
	p.end()
	if err != nil {
		return abandon(err)
	}
	// What another process saved meanwhile stays.
	if now, err := home.Context(c.Name); err == nil {
		for _, r := range c.Includes.Repos {
			if _, _, err := now.Claim(r.Root); err != nil {
				now.Includes.Repos = append(now.Includes.Repos, r) // the folder is gone; the claim stands
			}
		}
		c = now
	}
	c.Ingested = time.Now()
	if flags.embedding.given() {
		s := settings.Embedding
		c.Embedding = project.Embedding{Provider: s.Provider, Model: s.Model, URL: s.URL, KeyEnv: s.KeyEnv, KeyFile: s.KeyFile, Dimensions: s.Dimensions}
	}
	if err := c.Save(); err != nil {
		return err
	}
	return a.printIngest(c, report, files, time.Since(start))
}

// claim finds or makes the context and adds the repositories to it.
func (a *app) claim(home project.Home, dirs []string) (c *project.Context, created bool, err error) {
	for i, dir := range dirs {
		if dirs[i], err = folder(a.dir, dir); err != nil {
			return nil, false, err
		}
	}
	name := a.context
	if name != "" {
		c, err = home.Context(name)
	} else {
		c, err = a.claiming(home, dirs)
	}
	switch {
	case err == nil:
		if len(dirs) == 0 && len(c.Includes.Repos) > 0 {
			return c, false, nil
		}
	case !errors.Is(err, project.ErrNoContext):
		return nil, false, err
	}
	if len(dirs) == 0 {
		root, err := a.here()
		if err != nil {
			return nil, false, err
		}
		dirs = []string{root}
	}
	if c == nil {
		if name == "" {
			name = freeName(home, project.NameFor(dirs[0]))
		}
		if c, err = home.Create(name); err != nil {
			return nil, false, usage(err.Error())
		}
		created = true
	}
	changed := false
	for _, dir := range dirs {
		_, added, err := c.Claim(dir)
		if err != nil {
			if created {
				_, _ = home.Remove(name)
			}
			return nil, false, err
		}
		changed = changed || added
	}
	if changed {
		err = c.Save()
	}
	return c, created, err
}

// claiming is the context that owns the first of dirs, else the current directory.
func (a *app) claiming(home project.Home, dirs []string) (*project.Context, error) {
	dir := a.dir
	if len(dirs) > 0 {
		dir = dirs[0]
	}
	claim, err := home.Claiming(dir)
	if err != nil {
		return nil, err
	}
	nested := claim.Repository.Root != dir // --repo DIR inside a claimed repository is indexed alone
	if len(dirs) == 0 {
		// A submodule or a clone inside a claimed repository is none of its files.
		root, _, ok := project.WorkTreeRoot(dir)
		nested = ok && len(root) > len(claim.Repository.Root)
	}
	if nested {
		return nil, project.ErrNoContext
	}
	return claim.Context, nil
}

// here is what an ingest without --repo is about: the work tree, or the folder when
// there is none.
func (a *app) here() (string, error) {
	if root, _, ok := project.WorkTreeRoot(a.dir); ok {
		return root, nil
	}
	user, _ := os.UserHomeDir()
	if real, err := filepath.EvalSymlinks(user); err == nil {
		user = real
	}
	if a.dir == user || filepath.Dir(a.dir) == a.dir {
		return "", usage(fmt.Sprintf("%s is no git repository and would be indexed whole; change into a project, or name this folder with --repo", a.dir))
	}
	return filepath.EvalSymlinks(a.dir)
}

func folder(base, dir string) (string, error) {
	if dir == "" {
		return "", usage("--repo needs a folder's name")
	}
	abs := dir
	if !filepath.IsAbs(dir) {
		abs = filepath.Join(base, dir)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(real); err == nil && !info.IsDir() {
			return "", usage(fmt.Sprintf("%s is not a folder; name the folder that holds it", dir))
		}
	}
	if err != nil {
		return "", usage(fmt.Sprintf("%s cannot be opened (%v); name an existing folder", dir, err))
	}
	return real, nil
}

// freeName avoids the name of a context that holds something else.
func freeName(home project.Home, base string) string {
	name := base
	for n := 2; ; n++ {
		if _, err := home.Context(name); errors.Is(err, project.ErrNoContext) {
			return name
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
}

// ingestJSON is what ingest --json prints.
type ingestJSON struct {
	Context string `json:"context"`
	*ingest.Report
	Hooks  []installation.Result `json:"hooks,omitempty"` // what became of settings files
	TookMS int64                 `json:"took_ms"`
}

func (a *app) printIngest(c *project.Context, r *ingest.Report, files []installation.Result, took time.Duration) error {
	if a.json {
		return a.printJSON(ingestJSON{c.Name, r, files, took.Milliseconds()})
	}
	if a.quiet {
		return nil
	}
	for _, n := range r.Notes {
		a.note("%s", n)
	}
	s := r.Stats
	var changes []string
	for _, x := range []struct {
		n    int
		what string
	}{{r.Added, "new"}, {r.Changed, "changed"}, {r.Removed, "removed"}} {
		if x.n > 0 {
			changes = append(changes, door.Count(x.n)+" "+x.what)
		}
	}
	what := "nothing had changed"
	switch {
	case len(changes) > 0:
		what = strings.Join(changes, ", ")
	case r.Published:
		what = "no file had changed"
	}
	if r.Rebuilt {
		what = "built anew"
	}
	fmt.Fprintf(a.out, "%s  %s, %s, %s\n", a.style.bold(c.Name), door.Plural(s.LiveFiles, "file"), door.Plural(s.LiveChunks, "chunk"), door.Plural(s.LiveSymbols, "symbol"))
	fmt.Fprintf(a.out, "%s in %s", what, door.Duration(took))
	if r.Commits > 0 {
		fmt.Fprintf(a.out, ", history of %s", door.Plural(r.Commits, "commit"))
	}
	fmt.Fprintln(a.out)
	if left := door.Tally(r.LeftOut, 20); left != "" {
		fmt.Fprintf(a.out, "left out: %s\n", left)
	}
	if s.Secrets > 0 {
		fmt.Fprintf(a.out, "%s replaced by a marker\n", door.Plural(s.Secrets, "secret"))
	}
	a.printHooks(files)
	if a.verbose {
		for _, st := range r.Stages {
			a.note("%-16s %s", st.Name, door.Duration(st.Took))
		}
	}
	if r.Rebuilt {
		fmt.Fprintln(a.out, a.style.dim("next: chinvex search QUERY, chinvex status"))
	}
	return nil
}

// printHooks says what an ingest did to settings files: nothing when nothing changed.
func (a *app) printHooks(files []installation.Result) {
	var changed []installation.Result
	first := false
	for _, f := range files {
		if f.Action != installation.Unchanged {
			changed = append(changed, f)
			first = first || f.Action == installation.Installed
		}
	}
	_ = a.printFiles(changed, "")
	if !first {
		return
	}
	for _, missing := range missingPrograms() {
		a.note("%s", missing)
	}
	fmt.Fprintln(a.out, a.style.dim("Claude Code asks chinvex from now on; `chinvex hooks uninstall` takes that back"))
}
