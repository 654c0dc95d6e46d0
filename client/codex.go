package client

import "strings"

// fromCodex translates an event of the Codex CLI, whose hooks are modelled on Claude
// Code's: events, fields and answers have its names. Different are the tools: there is a
// shell, and a patch for everything that is edited.
func fromCodex(in object) object {
	out := in.common()
	if turn, ok := in["turn_id"]; ok {
		out["prompt_id"] = turn
	}
	switch tool := in.text("tool_name"); {
	case tool == "Bash":
		// The output alone: Codex does not say whether a command failed.
		out.set("tool_response", map[string]any{"stdout": in.text("tool_response")})
	case tool == "apply_patch":
		codexPatch(out, in.text("cwd"), in.inner("tool_input").text("command", "input"))
	case strings.HasPrefix(tool, "mcp__"):
		out["tool_response"] = content(in["tool_response"])
	}
	return out
}

// codexPatch makes an edit of a patch. An event carries one edit, so the facts are about
// the first file that is updated, or else added; the other files are only named as
// changed.
func codexPatch(out object, dir, text string) {
	files := parsePatch(text)
	first := -1
	var changed []string
	for i, f := range files {
		for _, name := range []string{f.path, f.moved} {
			if name != "" {
				changed = append(changed, absolute(dir, name))
			}
		}
		if f.op != 'D' && (first < 0 || f.op == 'U' && files[first].op == 'A') {
			first = i
		}
	}
	if first < 0 {
		out.refresh(changed...)
		return
	}
	f := files[first]
	name := absolute(dir, f.path)
	if f.op == 'A' {
		text := ""
		if len(f.changes) > 0 {
			text = strings.Join(f.changes[0].new(), "\n") + "\n"
		}
		out.tool("Write", map[string]any{"file_path": name, "content": text}, alsoChanged(map[string]any{"type": "create"}, changed))
		return
	}
	if f.moved != "" {
		name = absolute(dir, f.moved)
	}
	edits := []map[string]any{}
	for _, c := range f.changes {
		edits = append(edits, map[string]any{"old_string": strings.Join(c.old(), "\n"), "new_string": strings.Join(c.new(), "\n")})
	}
	out.tool("MultiEdit", map[string]any{"file_path": name, "edits": edits},
		alsoChanged(map[string]any{"structuredPatch": located(readFile(name), f.changes)}, changed))
}
