// Package client lets agents other than Claude Code use the same hooks: it reads their
// events as Claude Code's, so that nobody behind it need know which agent is at work,
// and prints answers as each of them takes them. docs/agents.md says what works where.
//
// Whatever an agent sends, no answer of this package can stop it: no decision, no exit
// code, no reason is ever given, only context.
package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/chinvex/chinvex/claude"
)

// Client is one agent's dialect of hooks. The zero value is Claude Code.
type Client struct {
	name string
	// translate turns an event into Claude Code's form. nil where it has that form.
	translate func(in object) (out object)
	// answer is the value to print for an event that takes context, nil for one that
	// takes none. nil where the agent takes Claude Code's form.
	answer func(e *claude.Event, text string) any
}

var clients = []Client{
	{name: "claude"},
	{name: "codex", translate: fromCodex},
	{name: "cursor", translate: fromCursor, answer: toCursor},
	{name: "gemini", translate: fromGemini, answer: toGemini},
}

// ByName returns the client of an agent; "" is Claude Code.
func ByName(name string) (Client, error) {
	for _, c := range clients {
		if c.name == name || name == "" {
			return c, nil
		}
	}
	return Client{}, fmt.Errorf("there is no client %q; the clients are %s", name, strings.Join(Names(), ", "))
}

// Names are the names that ByName knows, Claude Code's first.
func Names() []string {
	var names []string
	for _, c := range clients {
		names = append(names, c.name)
	}
	return names
}

// ReadEvent reads one event of at most claude.MaxEvent bytes. Names of events and tools
// are Claude Code's where it has such a thing and the agent's own otherwise, paths of
// files are absolute, and what a tool answered is where claude.Event's methods look for
// it. It returns an error when the input is no JSON object, is cut off, or names no
// event; a field of an unexpected type costs no other field.
//
// For agents that do not say where in a file they changed something, the file that was
// edited is read: see located.
func (c Client) ReadEvent(r io.Reader) (*claude.Event, error) {
	if c.translate == nil {
		return claude.ReadEvent(r)
	}
	data, err := io.ReadAll(io.LimitReader(r, claude.MaxEvent+1))
	if err != nil {
		return nil, fmt.Errorf("read the event: %w", err)
	}
	if len(data) > claude.MaxEvent {
		return nil, fmt.Errorf("the event is longer than %d bytes; it is ignored", claude.MaxEvent)
	}
	var in object
	// A decoder ignores what follows the object.
	if err := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff")))).Decode(&in); err != nil {
		return nil, fmt.Errorf("read the event: %w", err)
	}
	return claude.ReadEvent(bytes.NewReader(c.translate(in).encode()))
}

// Answer prints text, made claude.Plain, so that the agent puts it before its model. It
// prints nothing when text holds nothing visible or when the agent takes no text for
// the event.
func (c Client) Answer(w io.Writer, e *claude.Event, text string) error {
	if c.answer == nil {
		return claude.Answer(w, e.Name, text)
	}
	text = claude.Plain(text)
	if strings.TrimSpace(text) == "" || !slices.Contains(answered, e.Name) || announced(e) {
		return nil
	}
	return printLine(w, c.answer(e, text))
}

// answered are the events that an agent may be told something after.
var answered = []string{"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"}

// announced tells whether e is a compaction that is about to come and takes no answer:
// see compaction.
func announced(e *claude.Event) bool { return e.Name == "SessionStart" && e.Source == "compact" }

// Start prints what a session begins with, for the agent's session start hook: plain
// text for Claude Code, an answer to SessionStart for the others: to them plain text is a
// message for the person, or a fault when it begins like JSON.
func (c Client) Start(w io.Writer, text string) error {
	if c.translate != nil {
		return c.Answer(w, &claude.Event{Name: "SessionStart"}, text)
	}
	if text = claude.Plain(text); strings.TrimSpace(text) == "" {
		return nil
	}
	if _, err := fmt.Fprintln(w, strings.TrimRight(text, "\n")); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// printLine prints a value as one line of JSON, in one write: a reader that goes away in
// between is left with no half object.
func printLine(w io.Writer, value any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	if err == nil {
		_, err = w.Write(line.Bytes())
	}
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}
