package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
	"github.com/chinvex/chinvex/search/ingest"
)

func (a *app) doctorCommand() *cobra.Command {
	var repair bool
	cmd := &cobra.Command{
		Use:   "doctor [flags]",
		Short: "Check every part end to end and say what is wrong",
		Long: `Check every part end to end: each leg of the search is asked for something that the index
is known to hold, the hook gets an event. A part that gives nothing where it should is a
fault; the exit code is 1 then.`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{globals: "context home json quiet"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.doctor(cmd.Context(), repair)
		},
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "set permissions right, remove what interrupted runs left behind, and bring the index up to date or build it anew, as needed")
	return cmd
}

// States of a finding.
const (
	fine  = "ok"
	fault = "fault"
	aside = "note" // worth knowing, nothing wrong
)

// finding is what one check gave.
type finding struct {
	Check string `json:"check"`
	State string `json:"state"`
	Text  string `json:"text"`
	mend  mend
}

// mend is what repairs a fault.
type mend int

const (
	none mend = iota
	chmod
	sweep
	update
	rebuild
)

func (a *app) doctor(ctx context.Context, repair bool) error {
	d, err := a.find()
	if err != nil {
		return err
	}
	findings := a.examine(ctx, d)
	if repair && faults(findings) > 0 {
		if err := a.repair(ctx, d, findings); err != nil {
			return err
		}
		findings = a.examine(ctx, d)
	}
	if a.json {
		if err := a.printJSON(struct {
			Context  string    `json:"context"`
			Faults   int       `json:"faults"`
			Findings []finding `json:"findings"`
		}{d.Context.Name, faults(findings), findings}); err != nil {
			return err
		}
	} else {
		for _, f := range findings {
			mark := map[string]string{fine: a.style.good("ok   "), fault: a.style.bad("FAULT"), aside: a.style.dim("note ")}[f.State]
			if !a.quiet || f.State == fault {
				fmt.Fprintf(a.out, "%s  %-11s %s\n", mark, f.Check, f.Text)
			}
		}
	}
	if n := faults(findings); n > 0 {
		hint := "; `chinvex doctor --repair` mends what can be mended"
		if repair {
			hint = " that cannot be mended from here"
		}
		return negative(door.Plural(n, "fault") + hint)
	}
	return nil
}

func faults(findings []finding) (n int) {
	for _, f := range findings {
		if f.State == fault {
			n++
		}
	}
	return n
}

// examination collects findings.
type examination struct{ found []finding }

func (x *examination) add(check, state string, m mend, format string, args ...any) {
	x.found = append(x.found, finding{check, state, door.Clean(fmt.Sprintf(format, args...)), m})
}

func (a *app) examine(ctx context.Context, d *door.Door) []finding {
	x := &examination{}
	if out, err := exec.CommandContext(ctx, "git", "--version").Output(); err != nil {
		x.add("git", fault, none, "the git program does not run (%v); install git and put it on PATH", err)
	} else {
		x.add("git", fine, none, "%s", strings.TrimSpace(string(out)))
	}
	x.permissions(d)
	x.leftovers(d)
	if d.Faulty != nil {
		x.add("settings", fault, none, "%s", oneLine(d.Faulty))
	}
	for _, r := range d.Repos {
		if info, err := os.Stat(r.Root); err != nil || !info.IsDir() {
			x.add("repository", fault, none, "%s is gone from %s; put it back, or `chinvex purge %s`", r.Name, door.Line(r.Root), d.Context.Name)
		}
	}
	x.hooks(hooksState(ctx, a.installOptions(d.Home, d.Context)))
	e, err := d.Open()
	if err != nil {
		x.add("index", fault, rebuild, "%s", oneLine(err))
		return x.found
	}
	defer e.Close()
	m := e.Manifest()
	x.add("index", fine, none, "generation %d, %s, %s", m.Generation, door.Plural(m.Stats.LiveFiles, "file"), door.Plural(m.Stats.LiveChunks, "chunk"))
	if s, err := newStatus(ctx, d); err != nil {
		x.add("freshness", fault, update, "%s", oneLine(err))
	} else {
		for _, r := range s.Repos {
			if r.Stale != "" {
				x.add("freshness", fault, update, "%s: %s", r.Name, r.Stale)
			} else {
				x.add("freshness", fine, none, "%s is up to date", r.Name)
			}
		}
	}
	x.legs(ctx, d, e)
	return x.found
}

// permissions checks that nobody else reads what is stored: it holds source code.
func (x *examination) permissions(d *door.Door) {
	open := 0
	for _, dir := range storedDirs(d) {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o077 != 0 {
			open++
		}
	}
	if open > 0 {
		x.add("permissions", fault, chmod, "%s below %s can be read by others", door.Plural(open, "folder"), door.Line(d.Home.Dir))
	} else {
		x.add("permissions", fine, none, "0700")
	}
}

// storedDirs are the context's folders.
func storedDirs(d *door.Door) []string {
	return []string{filepath.Dir(d.Context.Dir), d.Context.Dir, d.Context.IndexDir(), d.Context.LogsDir(), d.Context.SessionsDir(), d.Context.InstalledDir()}
}

// hooks checks what the client runs by itself.
func (x *examination) hooks(s hooksStatus) {
	if s.Chosen == "none" {
		x.add("hooks", aside, none, "taken out of the settings; `chinvex hooks install` puts them back")
		return
	}
	for _, text := range slices.Concat(s.Absent, s.Notes) {
		x.add("hooks", aside, none, "%s", text)
	}
	for _, text := range s.Wrong {
		x.add("hooks", fault, none, "%s", text)
	}
	if n := len(s.Files); n > 0 && len(s.Absent)+len(s.Wrong) == 0 {
		x.add("hooks", fine, none, "in %s", door.Plural(n, "file"))
	}
}

// leftoverAge is how old a leftover must be before nobody can be at work on it.
const leftoverAge = time.Hour

// leftoversIn lists what interrupted creations and removals of contexts left behind.
func leftoversIn(d *door.Door) (paths []string) {
	dir := filepath.Dir(d.Context.Dir)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		ours := strings.HasPrefix(e.Name(), ".new-") || strings.HasPrefix(e.Name(), ".removed-")
		if err == nil && ours && time.Since(info.ModTime()) > leftoverAge {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

func (x *examination) leftovers(d *door.Door) {
	if n := len(leftoversIn(d)); n > 0 {
		x.add("leftovers", fault, sweep, "%s of interrupted runs below %s", door.Plural(n, "folder"), door.Line(filepath.Dir(d.Context.Dir)))
	}
}

// legs asks each leg for what it is known to hold.
func (x *examination) legs(ctx context.Context, d *door.Door, e *search.Engine) {
	s, ok, err := pickSample(e, d.Repos)
	if err != nil {
		x.add("symbols", fault, rebuild, "%s", oneLine(err))
		return
	}
	if !ok {
		x.add("search", aside, none, "no source file defines anything, so there is nothing to try")
	} else {
		name := door.Symbol(s.Scope, s.Name)
		x.finds(ctx, e, s, "lexical", search.Query{Text: s.Name, Mode: search.Lexical, Limit: 20}, name)
		lines := strings.Split(s.Text, "\n")
		body := strings.Join(lines[min(s.Start-1, len(lines)):min(s.End, s.Start+30, len(lines))], "\n")
		x.finds(ctx, e, s, "semantic", search.Query{Text: body, Mode: search.Semantic, Limit: 20}, "the text of "+name)
		refs, err := e.Refs(ctx, search.RefsQuery{Name: s.Name})
		switch {
		case err != nil:
			x.add("refs", fault, rebuild, "%s", oneLine(err))
		case s.Uses > 0 && refs.Total == 0:
			x.add("refs", fault, rebuild, "%s is used in %s, yet no use is found", name, door.Plural(s.Uses, "file"))
		case refs.Total == 0:
			x.add("refs", aside, none, "no name that is defined once is used, so there is nothing to try")
		default:
			x.add("refs", fine, none, "%s has %s in %s", name, door.Plural(refs.Total, "use"), door.Plural(refs.Files, "file"))
		}
		bundle, err := e.Context(ctx, search.ContextQuery{Text: s.Name})
		switch {
		case err != nil:
			x.add("context", fault, rebuild, "%s", oneLine(err))
		case len(bundle.Items) == 0:
			x.add("context", fault, rebuild, "nothing is collected for %s", name)
		default:
			x.add("context", fine, none, "%s for %s", door.Plural(len(bundle.Items), "piece"), name)
		}
	}
	x.coupling(ctx, e)
	if ok {
		x.hook(ctx, d, s)
	}
}

func (x *examination) finds(ctx context.Context, e *search.Engine, s sample, leg string, q search.Query, what string) {
	res, err := e.Search(ctx, q)
	if err != nil {
		x.add(leg, fault, rebuild, "%s", oneLine(err))
		return
	}
	for rank, r := range res.Results {
		if r.Path == s.Path && r.Start <= s.End && r.End >= s.Start {
			x.add(leg, fine, none, "finds %s at rank %d", what, rank+1)
			return
		}
	}
	x.add(leg, fault, rebuild, "does not find %s, which %s:%d defines", what, door.Line(s.Path.Rel), s.Line)
}

// coupling asks related for a pair that the history holds.
func (x *examination) coupling(ctx context.Context, e *search.Engine) {
	r := e.Reader()
	if e.Manifest().Commits == 0 {
		x.add("related", aside, none, "there is no history, so there is nothing to try")
		return
	}
	for row := 0; row < min(r.Files.Len(), sampleFiles); row++ {
		f := r.Files.At(row)
		coupled, _, err := r.Coupling(f.Path, 1)
		if err != nil {
			x.add("related", fault, rebuild, "%s", oneLine(err))
			return
		}
		if len(coupled) == 0 || coupled[0].Count < 2 {
			continue
		}
		res, err := e.Related(ctx, search.RelatedQuery{Path: f.Path, Limit: 100})
		if err != nil {
			x.add("related", fault, rebuild, "%s", oneLine(err))
			return
		}
		for _, found := range res.Files {
			if found.Path == coupled[0].Path {
				x.add("related", fine, none, "finds %s for %s", door.Line(found.Path.Rel), door.Line(f.Path.Rel))
				return
			}
		}
		x.add("related", fault, rebuild, "%s changed with %s %d times, yet is not found", door.Line(coupled[0].Path.Rel), door.Line(f.Path.Rel), coupled[0].Count)
		return
	}
	x.add("related", aside, none, "no two files changed together twice, so there is nothing to try")
}

// hookTime bounds the hook's answer.
const hookTime = 10 * time.Second

// hook sends an edit of the sample to the program that an agent would run.
func (x *examination) hook(ctx context.Context, d *door.Door, s sample) {
	if _, err := os.Stat(s.Repo.Root); err != nil {
		return // an event about a file that is gone would take it out of the index
	}
	program, args := "", []string(nil)
	own, err := os.Executable()
	if err == nil {
		beside := filepath.Join(filepath.Dir(own), "chinvex-hook")
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			program = beside
		}
	}
	if program == "" {
		program, _ = exec.LookPath("chinvex-hook")
	}
	if program == "" {
		if own == "" {
			x.add("hook", fault, none, "neither chinvex-hook nor this program can be found")
			return
		}
		program, args = own, []string{"hook"}
	}
	ctx, stop := context.WithTimeout(ctx, hookTime)
	defer stop()
	var out, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "CHINVEX_HOME="+d.Home.Dir, "CLAUDE_PROJECT_DIR="+s.Repo.Root)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(editEvent(fmt.Sprintf("doctor-%d", time.Now().UnixNano()), s).bytes()), &out, &stderr
	start := time.Now()
	err = cmd.Run()
	took := time.Since(start)
	text, bad := told(out.Bytes())
	switch {
	case err != nil:
		x.add("hook", fault, none, "%s fails (%v): %s", door.Line(program), err, door.Clean(strings.TrimSpace(stderr.String())))
	case bad != nil:
		x.add("hook", fault, none, "%v", bad)
	case text == "" && s.Uses > 0 && len(d.Also) == 0 && d.Settings.Dispatch.Enabled:
		x.add("hook", fault, none, "%s says nothing to an edit of %s, which is used in %s; see %s", door.Line(program), s.Name, door.Plural(s.Uses, "file"), door.Line(d.Context.LogsDir()))
	default:
		x.add("hook", fine, none, "%s answers in %s", door.Line(strings.Join(append([]string{filepath.Base(program)}, args...), " ")), door.Duration(took))
	}
}

// repair mends what the findings call for.
func (a *app) repair(ctx context.Context, d *door.Door, findings []finding) error {
	needed := map[mend]bool{}
	for _, f := range findings {
		if f.State == fault {
			needed[f.mend] = true
		}
	}
	if needed[chmod] {
		for _, dir := range storedDirs(d) {
			if err := os.Chmod(dir, 0o700); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("the permissions of %s cannot be set: %w", dir, err)
			}
		}
	}
	if needed[sweep] {
		for _, path := range leftoversIn(d) {
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("%s cannot be removed: %w", path, err)
			}
		}
	}
	if !needed[update] && !needed[rebuild] {
		return nil
	}
	settings, err := project.Resolve(d.Context, nil, nil)
	if err != nil {
		return err
	}
	p := a.newProgress()
	defer p.end()
	_, err = ingest.Ingest(ctx, ingest.Options{Context: d.Context, Settings: &settings.Settings, Rebuild: needed[rebuild], Progress: p.step})
	return err
}
