package claude

import "strings"

// ownTools are the name prefixes of our MCP tools, as a project's server and as
// the plugin's.
var ownTools = []string{"mcp__chinvex__", "mcp__plugin_chinvex_chinvex__"}

// Hook is one event that a hook is installed for.
type Hook struct {
	Event   string
	Tools   []string // names; nil when the event has no tool
	Own     bool     // our own MCP tools too
	Answers bool     // the client takes additionalContext and the turn does not go on because of it
}

// Hooks is the event table: what is installed, and what an event is answered for.
// An event that is not in it makes an old client ignore the whole settings file,
// so it holds no more than is used, and none that 2.1.100 does not know.
var Hooks = []Hook{
	{Event: "SessionStart", Answers: true},
	{Event: "UserPromptSubmit", Answers: true},
	{Event: "PostToolUse", Tools: []string{"Edit", "MultiEdit", "Write", "NotebookEdit", "Bash", "Grep", "Glob", "Read"}, Own: true, Answers: true},
	{Event: "PostToolUseFailure", Tools: []string{"Bash", "Read", "Edit"}, Answers: true},
	{Event: "Stop"},
	{Event: "SessionEnd"},
}

func hook(event string) (Hook, bool) {
	for _, h := range Hooks {
		if h.Event == event {
			return h, true
		}
	}
	return Hook{}, false
}

// Matcher is the matcher of an event's entry in settings.json or hooks.json, ""
// for an event without tools. It is anchored: a bare "Read" in a pattern with
// ".*" in it would match ReadMcpResourceTool.
func Matcher(event string) string {
	h, _ := hook(event)
	if h.Tools == nil {
		return ""
	}
	names := h.Tools
	if !h.Own {
		return strings.Join(names, "|")
	}
	for _, prefix := range ownTools {
		names = append(names[:len(names):len(names)], prefix+".*")
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// Handles tells whether e is in the table.
func (e *Event) Handles() bool {
	h, ok := hook(e.Name)
	if !ok || h.Tools == nil {
		return ok
	}
	if contains(h.Tools, e.ToolName) {
		return true
	}
	_, _, own := e.OwnTool()
	return h.Own && own
}
