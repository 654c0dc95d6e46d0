// Package model has language models write proposals for a project's memory: one file
// a provider, everything that they share (the prompt, retries, time-outs, limits, the
// key, the count of tokens) in the others.
//
// What leaves the machine is memory.Prompt's text, the schema of a proposal, the name of the
// model and the key, and nothing else; nothing is sent when a secret is found in it.
package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/chinvex/chinvex/memory"
	"github.com/chinvex/chinvex/parse/secret"
)

// Names are the providers that ByName knows.
var Names = []string{"anthropic", "openai", "ollama", "claude-cli"}

// Options say how to reach a model. Zero values mean the provider's defaults.
type Options struct {
	Model     string        // the provider's name for it; required for ollama and for an openai server other than OpenAI's
	URL       string        // of the server; default https://api.anthropic.com, https://api.openai.com/v1 or http://127.0.0.1:11434
	KeyEnv    string        // environment variable that holds the key; default ANTHROPIC_API_KEY or OPENAI_API_KEY for the default URL, else no key
	MaxTokens int           // most tokens of an answer; default 32,000 for anthropic, else the server's
	Timeout   time.Duration // of one request; default 10 minutes
}

const (
	maxTries    = 5
	maxWait     = time.Minute // a server that asks for a longer pause is given up
	answerBytes = 16 << 20    // streamed JSON takes thirty times its text
)

// Model writes proposals. It is not for concurrent use.
type Model struct {
	provider provider
	timeout  time.Duration
	pause    time.Duration // before the second try; doubles
	format   int           // the first of the provider's that has not been refused
	usage    Usage
}

// provider is what differs between models.
type provider interface {
	// place is where the questions go, for people.
	place() string
	// formats is how many ways there are of asking for JSON, the strictest first.
	formats() int
	// ask sends one request, asking for JSON in a way from 0 to formats()-1.
	ask(ctx context.Context, format int, system, user string) (*answer, error)
}

// answer is what a model said to one request.
type answer struct {
	text    string
	end     ending
	model   string   // as the server names it; "" when it does not
	in, out int      // tokens
	cost    *float64 // USD, where the provider says it itself
}

// ending is why an answer ends.
type ending uint8

const (
	complete ending = iota
	cut             // the limit of tokens
	refused         // by the model, whose words are the text
)

// ByName returns the model of a provider, one of Names, or of "PROVIDER:MODEL", which
// takes precedence over Options.Model. It makes no request yet; the errors are about
// the configuration.
//
// Requests are repeated on 429, 5xx and failed connections, at most 5 tries with
// growing random pauses or the pause that the server asks for. The key is sent to the
// host of the URL only and never appears in an error.
func ByName(name string, o Options) (*Model, error) {
	name, model, _ := strings.Cut(name, ":")
	if model != "" {
		o.Model = model
	}
	if !slices.Contains(Names, name) {
		return nil, fmt.Errorf("language model provider %q is not known: use %s or %s, with :MODEL behind it where you want another than the default",
			name, strings.Join(Names[:len(Names)-1], ", "), Names[len(Names)-1])
	}
	if o.MaxTokens < 0 || o.Timeout < 0 {
		return nil, errors.New("the language model's time-out and most tokens must not be negative")
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Minute
	}
	var p provider
	var err error
	switch name {
	case "anthropic":
		p, err = newAnthropic(&o)
	case "openai":
		p, err = newOpenAI(&o)
	case "ollama":
		p, err = newOllama(&o)
	case "claude-cli":
		p, err = newClaude(&o)
	}
	if err != nil {
		return nil, err
	}
	return &Model{provider: p, timeout: o.Timeout, pause: time.Second, usage: Usage{Provider: name, Model: o.Model}}, nil
}

// Unusable is the error for a complete answer that is no proposal. Asking once more
// with Problem may help.
type Unusable struct{ reason error }

func (u *Unusable) Error() string { return "the model's answer is not usable: " + u.reason.Error() }

// Unwrap returns the error of memory.ParseProposal.
func (u *Unusable) Unwrap() error { return u.reason }

// Problem is the error as Propose takes it.
func (u *Unusable) Problem() memory.Problem {
	return memory.Problem{Severity: memory.Error, File: "answer", Where: "as a whole", What: u.reason.Error()}
}

// Propose asks for a proposal. before and problems are those of a proposal that was
// refused; before is nil when the last answer was Unusable. What the proposal says is
// left to memory.Check. The errors are one sentence each: what, where, what to do.
func (m *Model) Propose(ctx context.Context, in *memory.Inputs, before *memory.Proposal, problems []memory.Problem) (*memory.Proposal, error) {
	if err := guard(in, before, problems); err != nil {
		return nil, err
	}
	system, user := memory.Prompt(in, before, problems)
	a, err := m.ask(ctx, system, user)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", m.String(), err)
	}
	m.usage.add(m.provider.place(), a)
	switch a.end {
	case cut:
		return nil, fmt.Errorf("ask %s: the answer is cut off after %d tokens; allow more, or take fewer commits at a time", m.String(), a.out)
	case refused:
		text := oneLine(a.text)
		if text != "" {
			text = " (" + text + ")"
		}
		return nil, fmt.Errorf("ask %s: the model declines to answer%s; read what is in the commits, or use another model", m.String(), text)
	}
	p, err := memory.ParseProposal(object(a.text))
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", m.String(), &Unusable{err})
	}
	return p, nil
}

// String names the model and where the questions go, for people.
func (m *Model) String() string {
	if m.usage.Model == "" {
		return m.provider.place()
	}
	return m.usage.Model + " at " + m.provider.place()
}

// object cuts the JSON object out of the text that models like to put around it.
func object(text string) []byte {
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if from < 0 || to < from {
		return []byte(text) // ParseProposal says what is wrong with it
	}
	return []byte(text[from : to+1])
}

// guard refuses what holds a secret. The inputs have been redacted when they were
// collected; this is for the day on which something was forgotten. Texts are looked at
// as they were collected, since the rules know how secrets stand in files, not in JSON.
func guard(in *memory.Inputs, before *memory.Proposal, problems []memory.Problem) error {
	found := func(path, where, text string) error {
		if _, n := secret.Redact(path, []byte(text)); n > 0 {
			return fmt.Errorf("nothing is sent: a secret is in %s; take it out of there, or use a writer on this machine", where)
		}
		return nil
	}
	for _, list := range [][]memory.Excerpt{in.Files, in.Texts, in.Manifests} {
		for _, e := range list {
			if err := found(e.Path, e.Path, e.Text); err != nil {
				return err
			}
		}
	}
	for _, c := range in.Commits {
		for _, text := range []string{c.Subject, c.Body} {
			if err := found("", "the message of commit "+short(c.Hash), text); err != nil {
				return err
			}
		}
	}
	for kind, text := range []string{in.Memory.State, in.Memory.Constraints, in.Memory.Decisions} {
		path := memory.Kind(kind).Path()
		if err := found(path, path, text); err != nil {
			return err
		}
	}
	// Paths, names and what a model wrote.
	rest := *in
	rest.Files, rest.Texts, rest.Manifests, rest.Memory = paths(in.Files), paths(in.Texts), paths(in.Manifests), memory.Current{}
	data, err := json.Marshal([]any{rest, before, problems})
	if err != nil {
		return err
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if text, ok := token.(string); ok {
			if err := found("", "a name or in the last proposal", text); err != nil {
				return err
			}
		}
	}
}

func paths(list []memory.Excerpt) []memory.Excerpt {
	out := make([]memory.Excerpt, len(list))
	for i, e := range list {
		out[i].Path = e.Path
	}
	return out
}

func short(hash string) string { return hash[:min(len(hash), 12)] }

// ask sends the question, again and in a laxer format where that may help.
func (m *Model) ask(ctx context.Context, system, user string) (*answer, error) {
	var first error // what a laxer format did not help against either
	pause := m.pause
	for try := 1; ; try++ {
		tryCtx, cancel := context.WithTimeout(ctx, m.timeout)
		a, err := m.provider.ask(tryCtx, m.format, system, user)
		late := tryCtx.Err()
		cancel()
		if err == nil {
			return a, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if late != nil {
			return nil, fmt.Errorf("no whole answer within %v; allow more time, or use a faster model", m.timeout)
		}
		var no *refusal
		if errors.As(err, &no) {
			unfit := no.code == http.StatusBadRequest || no.code == http.StatusUnprocessableEntity
			if unfit && m.format+1 < m.provider.formats() {
				if first == nil {
					first = no
				}
				m.format++
				try--
				continue
			}
			if first != nil && unfit {
				return nil, first
			}
			return nil, no
		}
		var later *busy
		if !errors.As(err, &later) {
			return nil, err
		}
		if try == maxTries {
			return nil, fmt.Errorf("%w (%d tries); try later", later, try)
		}
		if later.wait > maxWait {
			return nil, fmt.Errorf("%w; it asks to wait %v", later, later.wait.Round(time.Second))
		}
		// Between a half and the whole, so that clients do not come back together.
		timer := time.NewTimer(max(later.wait, pause/2+rand.N(pause/2+1)))
		pause *= 2
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
}
