package client

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// object is a JSON object whose values are decoded when they are asked for: one of an
// unexpected type is as good as missing.
type object map[string]json.RawMessage

// common returns the members that an agent shares with Claude Code.
func (o object) common() object {
	out := object{}
	for _, key := range []string{
		"hook_event_name", "session_id", "transcript_path", "cwd", "agent_id", "agent_type", "permission_mode",
		"source", "reason", "trigger", "prompt", "tool_name", "tool_use_id", "tool_input", "is_interrupt",
	} {
		if raw, ok := o[key]; ok {
			out[key] = raw
		}
	}
	return out
}

// text returns the first of keys that holds a string with something in it.
func (o object) text(keys ...string) string {
	for _, key := range keys {
		var text string
		// An object under key may be megabytes, which Unmarshal would read to the end.
		if bytes.HasPrefix(o[key], []byte{'"'}) && json.Unmarshal(o[key], &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

// texts is the list of strings under key.
func (o object) texts(key string) []string {
	var all []string
	_ = json.Unmarshal(o[key], &all)
	return all
}

// list is the objects under key; elements of other types are left out.
func (o object) list(key string) []object {
	var raws []json.RawMessage
	_ = json.Unmarshal(o[key], &raws)
	var all []object
	for _, raw := range raws {
		var one object
		if json.Unmarshal(raw, &one) == nil && one != nil {
			all = append(all, one)
		}
	}
	return all
}

// number is the whole number under key, 0 for anything else.
func (o object) number(key string) int {
	var n float64
	if json.Unmarshal(o[key], &n) != nil || n != n || n < -1<<31 || n > 1<<31 {
		return 0
	}
	return int(n)
}

func (o object) isTrue(key string) bool { return string(o[key]) == "true" }

// inner is the object under key, or in the string under key: Cursor sends both. It is
// never nil.
func (o object) inner(key string) object {
	raw := o[key]
	if text := o.text(key); text != "" {
		raw = json.RawMessage(text)
	}
	in := object{}
	if json.Unmarshal(raw, &in) != nil || in == nil {
		return object{}
	}
	return in
}

// encode is the object as JSON; members that are nil are left out. Marshal would read
// every value once more, and they are known to be JSON.
func (o object) encode() []byte {
	line := []byte{'{'}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if o[key] == nil {
			continue
		}
		if len(line) > 1 {
			line = append(line, ',')
		}
		line = append(strconv.AppendQuote(line, key), ':')
		line = append(line, o[key]...)
	}
	return append(line, '}')
}

// set stores a value that can always be encoded.
func (o object) set(key string, value any) {
	o[key], _ = json.Marshal(value)
}

// tool makes o a tool's event.
func (o object) tool(name string, input, response map[string]any) {
	o.set("tool_name", name)
	o.set("tool_input", input)
	o.set("tool_response", response)
}

// failed turns the event of a tool that ran into that of one that failed.
func (o object) failed(why string) {
	o.set("hook_event_name", "PostToolUseFailure")
	o.set("error", why)
	delete(o, "tool_response")
}

// refresh makes o the event of files that changed and that the agent is told nothing
// about: Claude Code's report of what a command, here one that does nothing, did to
// files.
func (o object) refresh(files ...string) {
	o.set("hook_event_name", "PostToolUse")
	o.tool("Bash", map[string]any{"command": ":"}, alsoChanged(nil, files))
}

// alsoChanged adds files to a tool's response.
func alsoChanged(response map[string]any, files []string) map[string]any {
	if response == nil {
		response = map[string]any{}
	}
	if len(files) > 0 {
		response["bashEditDiff"] = map[string]any{"changedFiles": files}
	}
	return response
}

// compaction makes o the event after a compaction, of agents that tell of it before: what
// the agent was told is about to be gone. It takes no answer.
func (o object) compaction() {
	o.set("hook_event_name", "SessionStart")
	o.set("source", "compact")
}

// absolute resolves a path that an agent gives relative to dir. A path that is absolute,
// or that nothing is known of, is returned as it is.
func absolute(dir, name string) string {
	if name == "" || filepath.IsAbs(name) || !filepath.IsAbs(dir) || strings.IndexByte(name, 0) >= 0 {
		return name
	}
	return filepath.Join(dir, name)
}

// content is what an MCP tool answered, out of {"content": [...]}.
func content(raw json.RawMessage) json.RawMessage {
	var result object
	if json.Unmarshal(raw, &result) == nil && result["content"] != nil {
		return result["content"]
	}
	return raw
}
