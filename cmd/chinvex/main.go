// Command chinvex is the command line: one file a command; flags in, one call to the
// engine, print.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/search"
)

// Exit codes.
const (
	exitFine     = 0
	exitNegative = 1 // the command's own negative answer, and everything that went wrong
	exitUsage    = 2
	exitNoIndex  = 3 // no context, or no index that can answer
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// app is what every command gets: where it reads and prints, and the global flags.
type app struct {
	in       io.Reader
	out, err io.Writer
	dir      string // current directory, absolute
	style    *style // of out
	started  bool   // flags and arguments were understood

	context, home        string
	json, quiet, verbose bool
}

// negative is a command's own negative answer. Its sentence, which may be empty, goes
// to standard error unless --quiet is given.
type negative string

func (n negative) Error() string { return string(n) }

// usage is a mistake in how the command was called.
type usage string

func (u usage) Error() string { return string(u) }

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, stderr io.Writer) int {
	a := &app{in: in, out: out, err: stderr, style: newStyle(out)}
	a.dir, _ = os.Getwd() // "" when it was deleted: a hook must not fail for that
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	var no negative
	var wrong usage
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &no):
		if no != "" && !a.quiet {
			a.note("%s", no)
		}
		return exitNegative
	case errors.As(err, &wrong) || !a.started:
		fmt.Fprintf(stderr, "chinvex: %s; see `%s --help`\n", oneLine(err), cmd.CommandPath())
		return exitUsage
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "chinvex: interrupted; what was there before still stands")
		return exitNegative
	}
	fmt.Fprintf(stderr, "chinvex: %s\n", oneLine(err))
	if door.Unusable(err) {
		return exitNoIndex
	}
	return exitNegative
}

func oneLine(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	for i := range lines {
		lines[i] = door.Clean(strings.TrimSpace(lines[i]))
	}
	return strings.Join(lines, "; ")
}

// note prints a sentence on standard error.
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(a.err, "chinvex: %s\n", door.Clean(fmt.Sprintf(format, args...)))
}

// globals names, in Command.Annotations, the global flags that a command obeys. Help
// shows those, and another one is refused: no flag is taken and then ignored.
const globals = "globals"

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "chinvex",
		Short:         "Search a code base, and tell a coding agent what an edit touches",
		SilenceErrors: true,
		SilenceUsage:  true,
		Annotations:   map[string]string{globals: "context home json quiet verbose"},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			for _, f := range []string{"context", "home", "json", "quiet", "verbose"} {
				if cmd.Flags().Changed(f) && !obeys(cmd, f) {
					return fmt.Errorf("%s does not take --%s", cmd.CommandPath(), f)
				}
			}
			a.started = true
			if a.dir == "" && obeys(cmd, "quiet") {
				return errors.New("the current directory is gone; change to one that exists")
			}
			return nil
		},
	}
	p := root.PersistentFlags()
	p.StringVar(&a.context, "context", "", "the context `NAME` (default: the one that claims the current directory)")
	p.StringVar(&a.home, "home", "", "the state directory `DIR` (default $CHINVEX_HOME, else ~/.chinvex)")
	p.BoolVar(&a.json, "json", false, "print JSON")
	p.BoolVarP(&a.quiet, "quiet", "q", false, "print results only")
	p.BoolVarP(&a.verbose, "verbose", "v", false, "say more")
	cobra.AddTemplateFunc("globals", globalUsages)
	root.SetUsageTemplate(usageTemplate)
	root.AddCommand(a.ingestCommand(), a.searchCommand(), a.contextCommand(), a.relatedCommand(), a.refsCommand(), a.symbolsCommand(),
		a.briefCommand(), a.updateMemoryCommand(), a.memoryCommand(), a.statusCommand(), a.doctorCommand(), a.tryCommand(), a.hooksCommand(), a.hookCommand(), a.mcpCommand(),
		a.contextsCommand(), a.purgeCommand(), a.uninstallCommand(), a.refreshCommand(), a.versionCommand())
	return root
}

// ofItsOwn is what a command that only has sub-commands does: a name that is none of
// theirs is a mistake, and not a request for help.
func ofItsOwn(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(fmt.Sprintf("%s has no command %q", cmd.CommandPath(), args[0]))
	}
	return cmd.Help()
}

func obeys(cmd *cobra.Command, flag string) bool {
	return slices.Contains(strings.Fields(cmd.Annotations[globals]), flag)
}

func globalUsages(cmd *cobra.Command) string {
	set := *cmd.Root().PersistentFlags()
	out := strings.Split(strings.TrimRight(set.FlagUsagesWrapped(80), "\n"), "\n")
	var kept []string
	show := false
	for _, line := range out {
		if at := strings.Index(line, "--"); at >= 0 && strings.HasPrefix(strings.TrimLeft(line, " "), "-") {
			show = obeys(cmd, strings.Fields(line[at+2:])[0])
		}
		if show {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

const usageTemplate = `Usage:
  {{if .Runnable}}{{.UseLine}}{{else}}{{.CommandPath}} COMMAND{{end}}
{{- if .HasExample}}

Examples:
{{.Example}}{{end}}
{{- if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}
{{- if .HasAvailableLocalFlags}}

Flags:
{{if .HasParent}}{{.LocalFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{else}}{{globals .}}{{end}}{{end}}
{{- if .HasParent}}{{with globals .}}

Global flags:
{{.}}{{end}}{{end}}
`

// find finds the context that the command is about and says what is wrong with its
// settings.
func (a *app) find() (*door.Door, error) {
	d, err := door.Find(door.Place{Home: a.home, Context: a.context, Dir: a.dir})
	if err != nil {
		return nil, err
	}
	if !a.quiet {
		if d.Faulty != nil {
			a.note("%s; it is ignored", oneLine(d.Faulty))
		}
		for _, w := range d.Settings.Warnings {
			a.note("%s", w)
		}
	}
	if a.verbose {
		a.note("context %s in %s", d.Context.Name, d.Context.Dir)
		if len(d.Also) > 0 {
			a.note("%s claim this directory too; the context ingested last answers, --context chooses", strings.Join(d.Also, ", "))
		}
	}
	return d, nil
}

// ask opens the index that the command is about and runs fn with its engine. It says
// when the index was made at another commit than the one checked out, which costs some
// microseconds a repository.
func (a *app) ask(ctx context.Context, fn func(*door.Door, *search.Engine) error) error {
	d, err := a.find()
	if err != nil {
		return err
	}
	e, err := d.Open()
	if err != nil {
		return err
	}
	defer e.Close()
	for _, r := range d.Repos {
		if behind := door.Behind(e.Manifest(), r); behind != "" && !a.quiet {
			a.note("%s", behind)
		}
	}
	if err := fn(d, e); err != nil {
		return err
	}
	return ctx.Err()
}

func inRange(flag string, n, least, most int) error {
	if n < least || n > most {
		return usage(fmt.Sprintf("%s %d is out of range; use %d to %d", flag, n, least, most))
	}
	return nil
}
