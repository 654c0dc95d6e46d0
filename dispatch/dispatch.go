// Package dispatch answers a tool event with what the agent should know, or with
// silence. An event becomes operations (operations.go), operations run on the engine
// give facts (facts.go), facts pass the filters (filter.go), and what is left is printed
// as the client takes it. Whatever goes wrong costs a line in the dispatch log (log.go)
// and never a word in the agent's session.
package dispatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chinvex/chinvex/claude"
	"github.com/chinvex/chinvex/client"
	"github.com/chinvex/chinvex/git"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
)

// DefaultDeadline is how long an event may take until the settings have been read.
const DefaultDeadline = 1500 * time.Millisecond

// Env is what a hook finds around it.
type Env struct {
	Home       project.Home
	ProjectDir string                    // where the client was started, "" when unknown
	Now        func() time.Time          // nil for the clock
	Spawn      func(args []string) error // starts the main program and does not wait; nil for Spawn
	Client     client.Client             // whose event it is
}

// Run reads one event and prints at most one answer. It returns the exit code, which is
// always 0: any other would put words before the agent or stop its tool.
func Run(ctx context.Context, in io.Reader, out io.Writer, env Env) (code int) {
	defer func() { _ = recover() }()
	if env.Now == nil {
		env.Now = time.Now
	}
	if env.Spawn == nil {
		env.Spawn = Spawn
	}
	w := &work{env: env, start: time.Now(), done: make(chan struct{}), deadline: make(chan time.Duration, 1)}
	go w.run(ctx, in)
	timer := time.NewTimer(DefaultDeadline)
	defer timer.Stop()
	late := false
wait:
	for {
		select {
		case <-w.done:
			break wait
		case d := <-w.deadline:
			timer.Reset(d - time.Since(w.start))
		case <-timer.C:
			late = true
			break wait
		case <-ctx.Done():
			late = true
			break wait
		}
	}
	w.finish(out, late)
	return 0
}

// work is one event on its way. The fields below mu are the worker's until it is done;
// past the deadline finish takes what is there.
type work struct {
	env      Env
	start    time.Time
	done     chan struct{}
	deadline chan time.Duration

	mu         sync.Mutex
	finished   bool // finish has taken the results
	event      *claude.Event
	claim      project.Claim // no context: nobody claims the place
	settings   project.DispatchSettings
	plan       Plan
	groups     []Group
	parts      [][]Group // by operation, as they are found
	answered   int       // operations
	candidates int
	outcome    string
	errs       []error
}

// run does the work up to the filters.
func (w *work) run(ctx context.Context, in io.Reader) {
	defer close(w.done)
	// A damaged index is mapped memory that is shorter than it says.
	debug.SetPanicOnFault(true)
	defer func() {
		if v := recover(); v != nil {
			w.fail("panic", fmt.Errorf("%v at %s", v, panicPlace()))
		}
	}()
	e, err := w.env.Client.ReadEvent(in)
	if err != nil {
		return // no event, no place, no log
	}
	r := ruleFor(e)
	if r == nil {
		return
	}
	claim, ok := w.claimed(e, r)
	if !ok {
		return
	}
	resolved, err := project.Resolve(claim.Context, nil, nil)
	w.update(func() {
		w.event, w.claim, w.settings = e, claim, resolved.Dispatch
		if err != nil {
			w.errs = append(w.errs, err)
		}
		if !resolved.Dispatch.Enabled {
			w.outcome = "disabled"
		}
	})
	w.deadline <- time.Duration(resolved.Dispatch.DeadlineMS) * time.Millisecond
	if !resolved.Dispatch.Enabled {
		return
	}
	var plan Plan
	s := &site{event: e, repo: claim.Repository, now: w.env.Now()}
	r.plan(s, &plan)
	w.update(func() { w.plan = plan })
	if len(plan.Operations) == 0 {
		return
	}
	await(claim.Context)
	// Side by side, each with an engine of its own: opening one costs half a millisecond,
	// answering costs several.
	w.update(func() { w.parts = make([][]Group, len(plan.Operations)) })
	var all sync.WaitGroup
	for i, o := range plan.Operations {
		all.Go(func() {
			debug.SetPanicOnFault(true) // holds for one goroutine
			defer func() {
				if v := recover(); v != nil {
					w.fail("panic", fmt.Errorf("%v at %s", v, panicPlace()))
				}
			}()
			engine, err := search.Open(claim.Context.IndexDir(), &resolved.Settings, search.Options{})
			if err != nil {
				w.fail("error", err)
				return
			}
			defer engine.Close()
			a := &asker{engine: engine, repo: claim.Repository, thresholds: resolved.Search.Thresholds, lines: resolved.Dispatch.PromptLines}
			groups, candidates, err := a.ask(ctx, o)
			w.update(func() {
				w.parts[i] = groups
				w.candidates += candidates
				w.answered++
				if err != nil {
					w.errs = append(w.errs, fmt.Errorf("%s: %w", o.Kind, err))
				}
			})
		})
	}
	all.Wait()
}

// panicPlace names the line of this program that a recovered panic came from.
func panicPlace() string {
	lines := strings.Split(string(debug.Stack()), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") {
			for _, at := range lines[i+1:] {
				if file, _, ok := strings.Cut(strings.TrimSpace(at), " +0x"); ok && !strings.Contains(file, "/runtime/") {
					return filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)
				}
			}
		}
	}
	return "an unknown place"
}

func (w *work) update(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.finished {
		f()
	}
}

func (w *work) fail(outcome string, err error) {
	w.update(func() {
		w.outcome = outcome
		w.errs = append(w.errs, err)
	})
}

// claimed finds the context of the place that an event is about.
func (w *work) claimed(e *claude.Event, r *rule) (project.Claim, bool) {
	var places []string
	if r.about != nil {
		places = r.about(e)
	}
	for _, place := range append(places, e.CWD, w.env.ProjectDir) {
		if !filepath.IsAbs(place) || strings.IndexByte(place, 0) >= 0 {
			continue
		}
		if claim, err := w.env.Home.Claiming(place); err == nil {
			return claim, true
		}
	}
	return project.Claim{}, false
}

// finish filters what was found, prints it, and remembers and logs what became of it.
func (w *work) finish(out io.Writer, late bool) {
	w.mu.Lock()
	w.finished = true
	w.mu.Unlock()
	w.groups = slices.Concat(w.parts...)
	if w.event == nil {
		return
	}
	c, e := w.claim.Context, w.event
	log := record{
		Time: w.env.Now().UTC(), Session: sessionHash(e.SessionID), Agent: e.AgentID, Event: e.Name, Tool: e.ToolName,
		Candidates: w.candidates, Outcome: w.outcome, Dropped: len(w.plan.Operations) - w.answered,
	}
	defer func() {
		if v := recover(); v != nil {
			log.Outcome = "panic"
			w.errs = append(w.errs, fmt.Errorf("%v at %s", v, panicPlace()))
		}
		log.Micros = time.Since(w.start).Microseconds()
		if err := errors.Join(w.errs...); err != nil {
			log.Error = err.Error()
			if log.Outcome == "" || log.Outcome == "nothing" || log.Outcome == "silent" {
				log.Outcome = "error"
			}
		}
		log.write(c.LogsDir())
	}()
	for _, o := range w.plan.Operations {
		text := o.Text
		if text == "" {
			text = o.Path.Rel
		}
		log.Operations = append(log.Operations, strings.TrimSpace(string(o.Kind)+" "+cut(text, lineBytes)))
	}
	if e.Name == "SessionEnd" {
		if err := w.closeSession(); err != nil {
			w.errs = append(w.errs, err)
		}
	}
	if w.outcome == "disabled" {
		return
	}
	if late {
		log.Outcome = "deadline"
	}
	if w.plan.empty() && e.Name != "UserPromptSubmit" {
		if log.Outcome == "" {
			log.Outcome = "nothing"
		}
		return
	}
	s, err := openSession(c.SessionsDir(), e)
	if err != nil {
		w.errs = append(w.errs, err)
	}
	if s.answered {
		log.Outcome = "twice"
		s.close()
		return
	}
	p := &pass{plan: &w.plan, session: s, settings: w.settings, lines: w.settings.ToolLines}
	if e.Name == "UserPromptSubmit" {
		p.lines = w.settings.PromptLines
	}
	log.Removed = p.filter(w.groups)
	text := render(w.groups)
	if w.plan.Forget {
		text = s.recall()
	}
	log.Tokens = tokens(len(text))
	if text != "" {
		if err := w.env.Client.Answer(out, e, text); err != nil {
			w.errs = append(w.errs, err)
		}
		log.Lines = 1 + strings.Count(text, "\n")
		for _, g := range w.groups {
			log.Facts += len(g.Facts)
			for _, f := range g.Facts {
				if !slices.Contains(log.Files, f.Path.Rel) {
					log.Files = append(log.Files, f.Path.Rel)
				}
			}
		}
	}
	if err := s.append(&w.plan, w.groups, log.Tokens); err != nil {
		w.errs = append(w.errs, err)
	}
	switch {
	case log.Outcome != "":
	case text != "":
		log.Outcome = "told"
	default:
		log.Outcome = "silent"
	}
	log.Spawned = w.freshen()
}

// closeSession remembers the end of a session and removes old ledgers.
func (w *work) closeSession() error {
	c, repo := w.claim.Context, w.claim.Repository
	prune(c.SessionsDir(), w.env.Now())
	last := project.Session{Ended: w.env.Now().UTC()}
	if root, _, ok := project.WorkTreeRoot(repo.Root); ok {
		last.Head, _ = git.HeadFast(root)
	}
	return c.SaveLastSession(repo.Root, last)
}

// freshen starts what brings the index up to date with what the event shows. A linked
// work tree is not what is indexed.
func (w *work) freshen() (spawned []string) {
	repo := w.claim.Repository
	if repo.Linked {
		return nil
	}
	if len(w.plan.Changed) > 0 {
		if err := refresh(&w.env, w.claim.Context, w.plan.Changed); err != nil {
			w.errs = append(w.errs, err)
		} else {
			spawned = append(spawned, "refresh")
		}
	}
	if len(w.plan.Operations) > 0 {
		started, err := follow(&w.env, w.claim.Context, repo)
		if err != nil {
			w.errs = append(w.errs, err)
		} else if started {
			spawned = append(spawned, "ingest")
		}
	}
	return spawned
}
