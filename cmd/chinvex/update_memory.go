package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/git"
	"github.com/chinvex/chinvex/memory"
	"github.com/chinvex/chinvex/memory/maintainer"
	"github.com/chinvex/chinvex/memory/model"
	"github.com/chinvex/chinvex/memory/rules"
	"github.com/chinvex/chinvex/project"
)

func (a *app) updateMemoryCommand() *cobra.Command {
	var u memoryUpdate
	cmd := &cobra.Command{
		Use:   "update-memory [flags]",
		Short: "Bring the project's memory files up to date with its history",
		Long: `Bring the project's memory files up to date with its history: docs/memory/STATE.md,
CONSTRAINTS.md and DECISIONS.md in each repository of the context. The commits since the
last time are read, 50 at most in one run, and what they say goes into the files, as far as
their contracts allow. The files are changed and the difference is shown; nothing is
committed without --commit.

Who writes: fixed rules, which need no model and send nothing anywhere; with --llm a
language model; or you, or an agent, with --plan and --apply.`,
		Example: `  chinvex update-memory
  chinvex update-memory --llm anthropic --commit
  chinvex update-memory --llm openai:qwen3 --llm-url http://127.0.0.1:8080/v1
  chinvex update-memory --plan > plan.txt
  chinvex update-memory --apply proposal.json`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{globals: "context home json quiet"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := u.check(cmd); err != nil {
				return err
			}
			u.app = a
			return u.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&u.repo, "repo", "", "only this `REPOSITORY` of the context (default: all)")
	f.BoolVar(&u.commit, "commit", false, "commit the memory files, and nothing else, as \""+memory.CommitSubject+"\"")
	f.StringVar(&u.llm, "llm", "", "have a language model write: `PROVIDER` or PROVIDER:MODEL, of "+strings.Join(model.Names, ", "))
	f.StringVar(&u.options.URL, "llm-url", "", "the `URL` of its server, instead of the provider's own")
	f.StringVar(&u.options.KeyEnv, "llm-key-env", "", "the environment `VARIABLE` that holds the key for it")
	f.BoolVar(&u.plan, "plan", false, "print what a model would be sent, and change nothing")
	f.StringVar(&u.apply, "apply", "", "write what the proposal in `FILE` says (- for standard input), made from a plan")
	return cmd
}

// memoryUpdate is one run of the command.
type memoryUpdate struct {
	*app
	repo, llm, apply string
	options          model.Options
	commit, plan     bool
	several          bool         // repositories are updated
	model            *model.Model // nil without --llm
}

func (u *memoryUpdate) check(cmd *cobra.Command) error {
	given := func(flag string) bool { return cmd.Flags().Changed(flag) }
	for _, pair := range [][2]string{{"plan", "apply"}, {"plan", "commit"}, {"apply", "llm"}} {
		if given(pair[0]) && given(pair[1]) {
			return usage(fmt.Sprintf("--%s and --%s do not go together; give one of them", pair[0], pair[1]))
		}
	}
	for _, flag := range []string{"llm-url", "llm-key-env"} {
		if given(flag) && u.llm == "" {
			return usage(fmt.Sprintf("--%s needs --llm, which says what kind of server it is", flag))
		}
	}
	if given("apply") && u.apply == "" {
		return usage("--apply needs a file's name, or - for standard input")
	}
	if given("llm") {
		var err error
		if u.model, err = model.ByName(u.llm, u.options); err != nil {
			return usage(err.Error())
		}
	}
	return nil
}

// The outcomes of an update.
const (
	memoryUpdated   = "updated"
	memoryUnchanged = "unchanged" // there was nothing to do
	memoryRefused   = "refused"   // the proposal broke a contract
	memoryFailed    = "failed"
)

// memoryJSON is the answer of update-memory.
type memoryJSON struct {
	Context string           `json:"context"`
	Writer  string           `json:"writer"` // "rules", "proposal", or a provider of model.Names
	Repos   []memoryRepoJSON `json:"repos"`
	Usage   *model.Usage     `json:"usage,omitempty"` // with a model
}

type memoryRepoJSON struct {
	Repo    string             `json:"repo"`
	Root    string             `json:"root"`
	Outcome string             `json:"outcome"`
	Note    string             `json:"note,omitempty"` // why there was nothing to do
	Error   string             `json:"error,omitempty"`
	Update  *maintainer.Result `json:"update,omitempty"`    // where commits were read
	Commit  string             `json:"committed,omitempty"` // full hash
}

// planJSON is what a writer gets.
type planJSON struct {
	Context string          `json:"context"`
	Schema  json.RawMessage `json:"schema"` // of a proposal
	Repos   []repoPlanJSON  `json:"repos"`
}

type repoPlanJSON struct {
	Repo   string         `json:"repo"`
	Root   string         `json:"root"`
	Inputs *memory.Inputs `json:"inputs,omitempty"` // none when there is nothing to do
	Error  string         `json:"error,omitempty"`
}

func (u *memoryUpdate) run(ctx context.Context) error {
	d, err := u.find()
	if err != nil {
		return err
	}
	repos := d.Repos
	if u.repo != "" || len(repos) == 0 {
		r, err := d.Repository(u.repo)
		if err != nil {
			return err
		}
		repos = []project.Repository{r}
	}
	u.several = len(repos) > 1
	if u.apply != "" && u.several {
		return usage("a proposal is for one repository; name it with --repo: " + strings.Join(names(repos), ", "))
	}
	if u.plan {
		return u.printPlans(ctx, d, repos)
	}
	update, writer, err := u.updater()
	if err != nil {
		return err
	}
	answer := memoryJSON{Context: d.Context.Name, Writer: writer, Repos: []memoryRepoJSON{}}
	failed := 0
	for _, r := range repos {
		one := memoryRepoJSON{Repo: r.Name, Root: r.Root}
		options, err := d.Memory(r)
		if err == nil {
			err = u.one(ctx, &one, options, update)
		} else {
			one.Outcome = memoryFailed
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			one.Error = oneLine(err)
			failed++
		}
		if !u.json {
			u.print(&one)
		}
		answer.Repos = append(answer.Repos, one)
	}
	if u.model != nil {
		spent := u.model.Usage()
		answer.Usage = &spent
		if !u.json && !u.quiet && spent.Requests > 0 {
			u.note("%s", spent)
		}
	}
	if u.json {
		if err := u.printJSON(answer); err != nil {
			return err
		}
	}
	switch {
	case failed == 0:
		return nil
	case len(repos) == 1:
		return negative("") // it has been said
	}
	return negative(fmt.Sprintf("%d of %d repositories not updated", failed, len(repos)))
}

// updater returns what updates one repository, and who writes.
func (u *memoryUpdate) updater() (update func(context.Context, maintainer.Options) (*maintainer.Result, error), writer string, err error) {
	if u.apply != "" {
		p, err := u.proposal()
		if err != nil {
			return nil, "", err
		}
		return func(ctx context.Context, o maintainer.Options) (*maintainer.Result, error) {
			return maintainer.Apply(ctx, o, p)
		}, "proposal", nil
	}
	var w maintainer.Writer = byRules{}
	writer = "rules"
	if u.model != nil {
		w, writer = announced{u}, u.model.Usage().Provider
	}
	return func(ctx context.Context, o maintainer.Options) (*maintainer.Result, error) {
		return maintainer.Run(ctx, o, w)
	}, writer, nil
}

// one updates a repository, and commits.
func (u *memoryUpdate) one(ctx context.Context, answer *memoryRepoJSON, o maintainer.Options, update func(context.Context, maintainer.Options) (*maintainer.Result, error)) (err error) {
	answer.Update, err = update(ctx, o)
	switch {
	case err == nil:
		answer.Outcome = memoryUpdated
	case errors.Is(err, maintainer.ErrNothing):
		answer.Outcome, answer.Note = memoryUnchanged, oneLine(err)
		if u.apply != "" {
			answer.Note += "; the proposal was not used"
		}
	case errors.Is(err, maintainer.ErrRefused):
		answer.Outcome = memoryRefused
		return err
	default:
		answer.Outcome = memoryFailed
		return err
	}
	if !u.commit {
		return nil
	}
	answer.Commit, err = maintainer.Commit(ctx, o)
	if errors.Is(err, git.ErrUnchanged) {
		return nil
	}
	if err != nil {
		answer.Outcome = memoryFailed
	}
	return err
}

// proposal reads the file that --apply names.
func (u *memoryUpdate) proposal() (*memory.Proposal, error) {
	from, name := u.in, "standard input"
	if u.apply != "-" {
		name = u.apply
		f, err := os.Open(u.apply)
		if err != nil {
			return nil, unreadable(name, err)
		}
		defer f.Close()
		from = f
	}
	data, err := io.ReadAll(io.LimitReader(from, memory.MaxProposal+1))
	if err != nil {
		return nil, unreadable(name, err)
	}
	p, err := memory.ParseProposal(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// unreadable is the error for a proposal that cannot be read.
func unreadable(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("cannot read the proposal from %s (%w); name the file that holds it, or - for standard input", name, err)
}

// byRules writes without a model. A second proposal would be the first again.
type byRules struct{}

func (byRules) Propose(_ context.Context, in *memory.Inputs, _ *memory.Proposal, _ []memory.Problem) (*memory.Proposal, error) {
	return rules.Propose(in), nil
}

// announced is the model, which can take minutes.
type announced struct{ u *memoryUpdate }

func (w announced) Propose(ctx context.Context, in *memory.Inputs, before *memory.Proposal, problems []memory.Problem) (*memory.Proposal, error) {
	if !w.u.quiet && !w.u.json {
		if len(problems) == 0 {
			w.u.note("asking %s about %s of %s; this can take minutes", w.u.model, door.Plural(len(in.Commits), "commit"), in.Repository)
		} else {
			w.u.note("the answer is not usable for %s; asking once more", door.Plural(len(problems), "reason"))
		}
	}
	return w.u.model.Propose(ctx, in, before, problems)
}

// printPlans prints what a model would be sent for each repository.
func (u *memoryUpdate) printPlans(ctx context.Context, d *door.Door, repos []project.Repository) error {
	answer := planJSON{Context: d.Context.Name, Schema: json.RawMessage(memory.Schema()), Repos: []repoPlanJSON{}}
	failed := 0
	for _, r := range repos {
		one := repoPlanJSON{Repo: r.Name, Root: r.Root}
		work, err := plan(ctx, d, r)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, maintainer.ErrNothing):
			if !u.json && !u.quiet {
				u.note("%s: %s", r.Name, err)
			}
		case err != nil:
			one.Error = oneLine(err)
			failed++
			if !u.json {
				u.note("%s: %s", r.Name, one.Error)
			}
		default:
			one.Inputs = &work.Inputs
			if !u.json {
				system, user := memory.Prompt(one.Inputs, nil, nil)
				fmt.Fprintf(u.out, "%s\n%s", system, user)
			}
		}
		answer.Repos = append(answer.Repos, one)
	}
	if u.json {
		if err := u.printJSON(answer); err != nil {
			return err
		}
	}
	if failed > 0 {
		return negative("")
	}
	if u.model != nil && !u.quiet {
		u.note("without --plan this goes to %s", u.model)
	}
	return nil
}

func plan(ctx context.Context, d *door.Door, r project.Repository) (*maintainer.Work, error) {
	o, err := d.Memory(r)
	if err != nil {
		return nil, err
	}
	return maintainer.Plan(ctx, o)
}

// print tells people what became of a repository's memory.
func (u *memoryUpdate) print(one *memoryRepoJSON) {
	name := u.style.bold(door.Line(one.Repo))
	switch r := one.Update; {
	case one.Outcome == memoryRefused:
		u.note("%s: %s", one.Repo, one.Error)
		problems := slices.Clone(r.Refused)
		for i := range problems {
			if u.several { // as everywhere: REPOSITORY:PATH
				problems[i].File = one.Repo + ":" + problems[i].File
			}
		}
		u.printProblems(problems)
		return
	case r != nil:
		u.printDiff(r.Diff)
		if u.quiet {
			break
		}
		said := fmt.Sprintf("%s read, up to %.9s", door.Plural(r.Commits, "commit"), r.To)
		switch {
		case len(r.Changed) == 0:
			said += "; the files say it all already"
		case !u.commit:
			said += "; " + strings.Join(bases(r.Changed), ", ") + " changed. Look at the difference, then `chinvex update-memory --commit`"
		case one.Error != "":
			said += "; " + strings.Join(bases(r.Changed), ", ") + " changed"
		}
		fmt.Fprintf(u.out, "%s: %s\n", name, said)
		for _, why := range r.Review {
			u.note("%s: manual review: %s", one.Repo, why)
		}
	case one.Outcome == memoryUnchanged && one.Commit == "" && !u.quiet:
		fmt.Fprintf(u.out, "%s: %s\n", name, one.Note)
	}
	switch {
	case one.Error != "" && one.Update != nil && one.Commit == "": // the files were written
		u.note("%s: not committed: %s", one.Repo, one.Error)
	case one.Error != "":
		u.note("%s: %s", one.Repo, one.Error)
	case one.Commit != "" && !u.quiet:
		fmt.Fprintf(u.out, "%s: committed as %.9s\n", name, one.Commit)
	}
}

// printDiff prints a unified difference, in colour on a terminal.
func (a *app) printDiff(diff string) {
	for line := range strings.Lines(diff) {
		line = door.Clean(strings.TrimSuffix(line, "\n"))
		switch {
		case strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ "):
			line = a.style.bold(line)
		case strings.HasPrefix(line, "@@"):
			line = a.style.path(line)
		case strings.HasPrefix(line, "+"):
			line = a.style.good(line)
		case strings.HasPrefix(line, "-"):
			line = a.style.bad(line)
		}
		fmt.Fprintln(a.out, line)
	}
}

func bases(paths []string) []string {
	out := slices.Clone(paths)
	for i, p := range out {
		out[i] = filepath.Base(p)
	}
	return out
}

func names(repos []project.Repository) []string {
	var out []string
	for _, r := range repos {
		out = append(out, r.Name)
	}
	return out
}
