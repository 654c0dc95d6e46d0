package claude

import (
	"slices"
	"strings"
)

// ownTools are the name prefixes of our MCP tools, as a project's server and as
// the plugin's.
var ownTools = []string{"mcp__chinvex__", "mcp__plugin_chinvex_chinvex__"}

// Hook is a row of the event table: one entry of a settings file.
type Hook struct {
	Event   string
	Tools   []string // names; nil when the event has no tool
	Own     bool     // our own MCP tools too
	Sources []string // of SessionStart; nil for all
	Brief   bool     // the start-up hook: `chinvex brief` runs, not the handler
	Answers bool     // the client takes additionalContext and the turn does not go on because of it
}

// Hooks is the event table: what is installed, and what an event is answered for.
// An event that is not in it makes an old client ignore the whole settings file,
// so it holds no more than is used, and none that 2.1.100 does not know.
var Hooks = []Hook{
	{Event: "SessionStart", Brief: true},
	{Event: "SessionStart", Sources: []string{"compact"}, Answers: true},
	{Event: "UserPromptSubmit", Answers: true},
	{Event: "PostToolUse", Tools: []string{"Edit", "MultiEdit", "Write", "NotebookEdit", "Bash", "Grep", "Glob", "Read"}, Own: true, Answers: true},
	{Event: "PostToolUseFailure", Tools: []string{"Bash", "Read", "Edit"}, Answers: true},
	{Event: "SessionEnd"},
}

// handled returns the handler's row of an event.
func handled(event string) (Hook, bool) {
	for _, h := range Hooks {
		if h.Event == event && !h.Brief {
			return h, true
		}
	}
	return Hook{}, false
}

// Matcher is the matcher of the row's entry in settings.json or hooks.json, "" where
// everything matches. It is anchored where it holds an expression: a bare "Read" in
// one would match ReadMcpResourceTool.
func (h Hook) Matcher() string {
	names := append(slices.Clone(h.Tools), h.Sources...)
	if !h.Own {
		return strings.Join(names, "|")
	}
	for _, prefix := range ownTools {
		names = append(names, prefix+".*")
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// Handles tells whether e is an event for the handler.
func (e *Event) Handles() bool {
	h, ok := handled(e.Name)
	if !ok || h.Tools == nil {
		return ok
	}
	if contains(h.Tools, e.ToolName) {
		return true
	}
	_, _, own := e.OwnTool()
	return h.Own && own
}

// Entry is one command of a settings file's hooks.
type Entry struct{ Event, Matcher, Command string }

// Call says how hooks call the programs.
type Call struct {
	Context string // of the brief; "" for the one that claims the directory
	Home    string // state directory when it is not the default one, else ""
	Plugin  bool   // from the plugin: the brief is left to the project's own start-up hook where there is one
}

// Entries are the entries to install, in the table's order. They are written so that
// somebody who has no chinvex sees nothing of them.
func (c Call) Entries() []Entry {
	var entries []Entry
	for _, h := range Hooks {
		words := []string{"chinvex-hook"}
		if h.Brief {
			words = []string{"chinvex", "brief"}
			if c.Context != "" {
				words = append(words, "--context", shellQuote(c.Context))
			}
			if c.Plugin {
				words = append(words, "--plugin")
			}
		}
		if c.Home != "" {
			words = append(words, "--home", shellQuote(c.Home))
		}
		entries = append(entries, Entry{h.Event, h.Matcher(), strings.Join(words, " ") + " 2>/dev/null || true"})
	}
	return entries
}

// shellQuote quotes one word for a POSIX shell.
func shellQuote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
