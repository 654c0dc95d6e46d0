package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/dispatch"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
	"github.com/chinvex/chinvex/search/ingest"
)

func (a *app) tryCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "try [DIR]",
		Short: "A first look: what an agent working here would be told",
		Long: `A first look that changes nothing: index DIR (default: the repository here) in a temporary
directory, play some tool events of a coding agent on its real files, and show what the
agent would have been told. The temporary directory is deleted, DIR is only read.`,
		Example:     "  chinvex try ~/src/flask",
		Args:        cobra.MaximumNArgs(1),
		Annotations: map[string]string{globals: "quiet"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := a.here()
			if len(args) > 0 {
				root, err = folder(a.dir, args[0])
			}
			if err != nil {
				return err
			}
			return a.try(cmd.Context(), root)
		},
	}
}

// toldLines is how many lines of an answer are shown.
const toldLines = 12

func (a *app) try(ctx context.Context, root string) (err error) {
	dir, err := os.MkdirTemp("", "chinvex-try-")
	if err != nil {
		return fmt.Errorf("no temporary directory can be made (%w); set TMPDIR to one that can be written", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	home, err := project.OpenHome(dir)
	if err != nil {
		return err
	}
	c, err := home.Create("try")
	if err != nil {
		return err
	}
	if _, _, err := c.Claim(root); err != nil {
		return err
	}
	if err := c.Save(); err != nil {
		return err
	}
	settings, err := project.Resolve(c, nil, nil)
	if err != nil {
		return err
	}
	start := time.Now()
	p := a.newProgress()
	report, err := ingest.Ingest(ctx, ingest.Options{Context: c, Settings: &settings.Settings, Progress: p.step})
	p.end()
	if err != nil {
		return err
	}
	took := time.Since(start)
	e, err := search.Open(c.IndexDir(), &settings.Settings, search.Options{})
	if err != nil {
		return err
	}
	defer e.Close()

	s := report.Stats
	fmt.Fprintf(a.out, "%s  %s\n", a.style.bold("chinvex try"), door.Line(root))
	fmt.Fprintf(a.out, "indexed %s, %s, %s in %s\n", door.Plural(s.LiveFiles, "file"), door.Plural(s.LiveSymbols, "symbol"), door.Plural(report.Commits, "commit"), door.Duration(took))
	found, ok, err := pickSample(e, c.Includes.Repos)
	if err != nil {
		return err
	}
	if !ok {
		return negative(fmt.Sprintf("no source file in %s defines anything that could be played with; name another folder", door.Line(root)))
	}
	for _, step := range a.play(e, found) {
		if err := a.show(ctx, home, step); err != nil {
			return err
		}
	}
	if !a.quiet {
		fmt.Fprintf(a.out, "\n%s\n%s\n", a.style.dim("The temporary index is deleted; nothing was written to "+door.Line(root)+"."),
			a.style.dim("To keep one: chinvex ingest, then chinvex search QUERY or chinvex mcp."))
	}
	return nil
}

// step is one event of the play.
type step struct {
	what  string
	event event
}

// play is what an agent might do on the way to a change of the sample.
func (a *app) play(e *search.Engine, s sample) []step {
	const session = "chinvex-try"
	name := door.Symbol(s.Scope, s.Name)
	rel := door.Line(s.Path.Rel)
	parts := words(s.Name)
	prompt := fmt.Sprintf("what depends on %s?", s.Name)
	pattern := strings.Join(parts[:min(2, len(parts))], "[_ -]?")
	command := fmt.Sprintf("grep -rniE '%s' .", pattern)
	lines := min(s.End-s.Start+1, 120)
	return []step{
		{fmt.Sprintf("the person asks: %s", prompt), promptEvent(session, s.Repo.Root, prompt)},
		{"the agent runs: " + command, bashEvent(session, s.Repo.Root, command, grep(e, pattern))},
		{fmt.Sprintf("the agent reads %s, lines %d to %d", rel, s.Start, s.Start+lines-1), readEvent(session, s, s.Start, lines)},
		{fmt.Sprintf("the agent edits %s in %s", name, rel), editEvent(session, s)},
	}
}

// grepBytes is how much of a command's output the client hands on.
const grepBytes = 30_000

// grep prints what grep -rni would, from the indexed texts.
func grep(e *search.Engine, pattern string) string {
	re, err := regexp.Compile("(?i)" + pattern)
	if err != nil {
		return ""
	}
	var out strings.Builder
	files := e.Reader().Files
	for row := 0; row < files.Len() && out.Len() < grepBytes; row++ {
		f := files.At(row)
		text, err := e.Reader().Text(f.ID)
		if err != nil {
			continue
		}
		for i, line := range strings.Split(string(text), "\n") {
			if re.MatchString(line) && out.Len() < grepBytes {
				fmt.Fprintf(&out, "%s:%d:%s\n", f.Path.Rel, i+1, line)
			}
		}
	}
	return out.String()
}

// show plays one event and prints the answer.
func (a *app) show(ctx context.Context, home project.Home, s step) error {
	var out bytes.Buffer
	start := time.Now()
	dispatch.Run(ctx, bytes.NewReader(s.event.bytes()), &out, dispatch.Env{Home: home, ProjectDir: s.event["cwd"].(string),
		Spawn: func([]string) error { return nil }}) // no file changes, so nothing is to be indexed again
	took := fmt.Sprintf("%.1f ms", float64(time.Since(start).Microseconds())/1000)
	text, err := told(out.Bytes())
	if err != nil {
		return err
	}
	what := a.style.cut(s.what, len(took)+4)
	fmt.Fprintf(a.out, "\n%s %s  %s\n", a.style.good("▸"), a.style.bold(what), a.style.dim(took))
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if text == "" {
		lines = []string{"silence: it has seen all there is to tell, or nothing is sure enough"}
	}
	for _, l := range lines[:min(len(lines), toldLines)] {
		fmt.Fprintf(a.out, "  %s %s\n", a.style.dim("│"), a.style.cut(l, 4))
	}
	if more := len(lines) - toldLines; more > 0 {
		fmt.Fprintf(a.out, "  %s %s\n", a.style.dim("│"), a.style.dim(fmt.Sprintf("… and %s", door.Plural(more, "more line"))))
	}
	return nil
}
