package client

import (
	"fmt"
	"strings"

	"github.com/chinvex/chinvex/claude"
)

// fromCursor translates an event of Cursor, editor or command line.
func fromCursor(in object) object {
	out := in.common()
	dir := in.text("cwd")
	if roots := in.texts("workspace_roots"); dir == "" && len(roots) > 0 {
		dir = roots[0]
	}
	out.set("cwd", dir)
	// Of the two, this one never changes in a conversation.
	out.set("session_id", in.text("conversation_id", "session_id"))
	out.set("prompt_id", in.text("generation_id"))
	out.set("duration_ms", in.number("duration"))
	switch event := in.text("hook_event_name"); event {
	case "sessionStart", "sessionEnd":
		out.set("hook_event_name", "S"+event[1:])
	case "beforeSubmitPrompt":
		out.set("hook_event_name", "UserPromptSubmit")
	case "preCompact":
		out.compaction()
	case "afterFileEdit", "afterTabFileEdit":
		// No answer is taken: telling the agent is postToolUse's part, and what nobody
		// reads must not count as told.
		out.refresh(absolute(dir, in.text("file_path")))
	case "postToolUse", "postToolUseFailure":
		out.set("hook_event_name", "P"+event[1:])
		cursorTool(out, in, dir)
		if event == "postToolUseFailure" {
			out.failed(in.text("error_message"))
		}
	}
	return out
}

// cursorTool translates the tools. Cursor documents their names and, of their inputs and
// outputs, hardly more than examples: members are looked for under each name that has
// been seen.
func cursorTool(out, in object, dir string) {
	input, output := in.inner("tool_input"), in.inner("tool_output")
	file := absolute(dir, input.text("file_path", "path", "target_file"))
	printed := output.text("output", "stdout", "content", "contents")
	switch tool := in.text("tool_name"); tool {
	case "Shell":
		if started := input.text("cwd", "working_directory", "workdir"); started != "" {
			out.set("cwd", absolute(dir, started))
		}
		out.tool("Bash", map[string]any{"command": input.text("command")}, map[string]any{"stdout": printed})
		if code := output.number("exitCode"); code != 0 {
			out.failed(fmt.Sprintf("Exit code %d\n%s", code, printed))
		}
	case "Read":
		out.tool("Read", map[string]any{"file_path": file, "offset": input.number("offset"), "limit": input.number("limit")}, nil)
	case "Write":
		out.tool("Write", map[string]any{"file_path": file, "content": input.text("content", "contents")}, nil)
	case "StrReplace":
		old, text := input.text("old_string"), input.text("new_string")
		now := readFile(file)
		var changes []change
		if c, ok := replaced(now, old, text); ok {
			changes = []change{c}
		}
		out.tool("MultiEdit",
			map[string]any{"file_path": file, "edits": []map[string]any{{"old_string": old, "new_string": text, "replace_all": input.isTrue("replace_all")}}},
			map[string]any{"structuredPatch": located(now, changes)})
	case "Delete":
		out.refresh(file)
	case "Grep":
		if printed == "" {
			printed = in.text("tool_output")
		}
		out.tool("Grep", map[string]any{
			"pattern": input.text("pattern"), "path": file, "glob": input.text("glob"), "type": input.text("type"),
			"output_mode": "content", "-i": input.isTrue("-i"),
		}, map[string]any{"content": printed})
	default:
		// Cursor does not say whose tool it is. A result that holds places as our tools
		// print them has shown the agent those places whosever it is.
		if name, ok := strings.CutPrefix(tool, "MCP:"); ok {
			out.set("tool_name", "mcp__chinvex__"+strings.TrimPrefix(name, "chinvex:"))
			out["tool_response"] = in["tool_output"]
			if output["content"] != nil {
				out["tool_response"] = output["content"]
			}
		}
	}
}

func toCursor(_ *claude.Event, text string) any {
	return map[string]string{"additional_context": text}
}
