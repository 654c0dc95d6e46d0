package client

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/chinvex/chinvex/claude"
)

// fromGemini translates an event of the Gemini CLI.
func fromGemini(in object) object {
	out := in.common()
	switch in.text("hook_event_name") {
	case "BeforeAgent":
		out.set("hook_event_name", "UserPromptSubmit")
		out.set("prompt", withoutContext(in.text("prompt")))
	case "PreCompress":
		// One that is not asked for is announced before each request to the model, and
		// seldom follows.
		if in.text("trigger") == "manual" {
			out.compaction()
		}
	case "AfterTool":
		out.set("hook_event_name", "PostToolUse")
		geminiTool(out, in)
	}
	return out
}

// withoutContext takes off what a session start hook said: when there is no person at the
// terminal, Gemini puts it in front of the prompt.
func withoutContext(prompt string) string {
	const begin, end = "<hook_context>", "</hook_context>"
	if strings.HasPrefix(prompt, begin) {
		if at := strings.Index(prompt, end); at >= 0 {
			return strings.TrimLeft(prompt[at+len(end):], "\n")
		}
	}
	return prompt
}

// geminiTool translates the tools. A response has llmContent, what the model is shown,
// returnDisplay, what the person is shown, and error.
func geminiTool(out, in object) {
	dir := in.text("cwd")
	input, response := in.inner("tool_input"), in.inner("tool_response")
	display, shown := response.inner("returnDisplay"), response.text("llmContent")
	file := absolute(dir, input.text("file_path", "absolute_path"))
	under := input.text("dir_path", "path")
	if under != "" {
		under = absolute(dir, under)
	}
	switch tool := in.text("tool_name"); tool {
	case "replace", "write_file":
		if path := display.text("filePath"); path != "" {
			file = absolute(dir, path)
		}
		edited := map[string]any{"structuredPatch": unified(display.text("fileDiff")), "type": "update"}
		if display.isTrue("isNewFile") {
			edited["type"] = "create"
		} else if original, ok := display["originalContent"]; ok {
			edited["originalFile"] = original
		}
		if tool == "write_file" {
			out.tool("Write", map[string]any{"file_path": file, "content": input.text("content")}, edited)
			break
		}
		out.tool("Edit", map[string]any{
			"file_path": file, "old_string": input.text("old_string"), "new_string": input.text("new_string"), "replace_all": input.isTrue("allow_multiple"),
		}, edited)
	case "read_file":
		start, end, total := linesShown(shown)
		out.tool("Read", map[string]any{"file_path": file}, map[string]any{
			"type": "text", "file": map[string]any{"startLine": start, "numLines": end - start + 1, "totalLines": total},
		})
	case "run_shell_command":
		if under != "" {
			out.set("cwd", under)
		}
		printed, code := shellOutput(shown)
		out.tool("Bash", map[string]any{"command": input.text("command")}, map[string]any{"stdout": printed})
		if code != 0 {
			out.failed(fmt.Sprintf("Exit code %d\n%s", code, printed))
			return
		}
	case "grep_search", "search_file_content":
		pattern := input.text("pattern")
		if input.isTrue("fixed_strings") {
			pattern = regexp.QuoteMeta(pattern)
		}
		found := map[string]any{"content": matches(display)}
		mode := "content"
		if input.isTrue("names_only") {
			mode = "files_with_matches"
			_, names, _ := strings.Cut(shown, "\n")
			found = map[string]any{"filenames": strings.Split(names, "\n")}
		}
		out.tool("Grep", map[string]any{
			"pattern": pattern, "path": under, "glob": input.text("include_pattern", "include"), "output_mode": mode,
		}, found)
	case "glob":
		files := []string{}
		for line := range strings.SplitSeq(shown, "\n") {
			if filepath.IsAbs(line) {
				files = append(files, line)
			}
		}
		out.tool("Glob", map[string]any{"pattern": input.text("pattern"), "path": under}, map[string]any{"filenames": files})
	default:
		server, name := in.inner("mcp_context").text("server_name"), in.inner("mcp_context").text("tool_name")
		if rest, ours := strings.CutPrefix(tool, "mcp_chinvex_"); ours && server == "" {
			server, name = "chinvex", rest
		}
		if server != "" {
			out.set("tool_name", "mcp__"+server+"__"+name)
			out["tool_response"] = response["llmContent"]
		}
	}
	if why := response.inner("error").text("message"); why != "" {
		out.failed(why)
	}
}

// linesShown reads the note of a file that was shown in part; without one it was shown
// whole.
func linesShown(text string) (start, end, total int) {
	if _, note, ok := strings.Cut(text[:min(len(text), 500)], "\nStatus: Showing lines "); ok {
		if n, err := fmt.Sscanf(note, "%d-%d of %d total", &start, &end, &total); err == nil && n == 3 && 0 < start && start <= end && end <= total {
			return start, end, total
		}
	}
	total = strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		total++
	}
	return 1, total, total
}

// shellOutput takes apart what the model is shown of a command: "Output: " with the
// output, then lines with a label, of which the exit code is one where it is not 0.
func shellOutput(text string) (output string, code int) {
	text = strings.TrimPrefix(text, "<untrusted_context>\n")
	text = strings.TrimSuffix(text, "\n</untrusted_context>")
	output, ok := strings.CutPrefix(text, "Output: ")
	if !ok {
		return "", 0 // it runs in the background, or was cancelled
	}
	for {
		at := strings.LastIndexByte(output, '\n')
		label, value, _ := strings.Cut(output[at+1:], ": ")
		switch label {
		case "Exit Code":
			code, _ = strconv.Atoi(value)
		case "Signal", "Background PIDs", "Process Group PGID":
		default:
			at = -1
		}
		if at < 0 {
			break
		}
		output = output[:at]
	}
	if output == "(empty)" {
		output = ""
	}
	return output, code
}

// matches prints the matches of a search as grep does.
func matches(display object) string {
	var lines strings.Builder
	for _, m := range display.list("matches") {
		fmt.Fprintf(&lines, "%s:%d:%s\n", m.text("absolutePath", "filePath"), m.number("lineNumber"), m.text("line"))
	}
	return lines.String()
}

func toGemini(e *claude.Event, text string) any {
	name := e.Name
	switch name {
	case "UserPromptSubmit":
		name = "BeforeAgent"
	case "PostToolUse", "PostToolUseFailure":
		name = "AfterTool"
	}
	return map[string]any{"hookSpecificOutput": map[string]string{"hookEventName": name, "additionalContext": text}}
}
