// Package claude knows Claude Code's formats: the event that a hook reads on
// standard input, the answer that it prints, and which events are worth a hook.
// It decides nothing about what an answer says.
package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// MaxEvent is how many bytes of an event are read. An Edit of a 2.5 MB file makes
// an event of 2.6 MB.
const MaxEvent = 32 << 20

// Event is one event. Fields that the event does not have, or has with another
// type, are zero.
type Event struct {
	Name           string // hook_event_name
	SessionID      string
	TranscriptPath string
	CWD            string // the shell's current directory; drifts with cd
	PromptID       string // "" in SessionStart
	AgentID        string // inside a subagent only
	AgentType      string // "" for the subagent that compaction runs
	PermissionMode string
	Source         string // SessionStart: startup, resume, clear, compact, fork
	Reason         string // SessionEnd: other, clear, prompt_input_exit
	Trigger        string // PreCompact, PostCompact: manual, auto
	Prompt         string // UserPromptSubmit
	ToolName       string
	ToolUseID      string
	ToolInput      Value
	Response       Value  // tool_response of PostToolUse: an object, for MCP tools an array or a string
	Error          string // PostToolUseFailure
	Interrupted    bool   // PostToolUseFailure: the person stopped it
	DurationMS     int    // of the tool
}

// ReadEvent reads one event, at most MaxEvent bytes, and finds its fields in one
// pass; large values stay undecoded until an accessor is called. A byte order
// mark and blanks before the object are skipped, text after it is ignored. It
// returns an error when the input is no JSON object, is cut off, or names no
// event; a field of an unexpected type is zero and costs no other field.
func ReadEvent(r io.Reader) (*Event, error) {
	data, err := readAll(r)
	if err != nil {
		return nil, fmt.Errorf("read the event: %w", err)
	}
	if len(data) > MaxEvent {
		return nil, fmt.Errorf("the event is longer than %d bytes; it is ignored", MaxEvent)
	}
	s := &scanner{data: bytes.TrimPrefix(data, []byte("\ufeff"))}
	e := &Event{}
	texts := map[string]*string{
		"hook_event_name": &e.Name,
		"session_id":      &e.SessionID,
		"transcript_path": &e.TranscriptPath,
		"cwd":             &e.CWD,
		"prompt_id":       &e.PromptID,
		"agent_id":        &e.AgentID,
		"agent_type":      &e.AgentType,
		"permission_mode": &e.PermissionMode,
		"source":          &e.Source,
		"reason":          &e.Reason,
		"trigger":         &e.Trigger,
		"prompt":          &e.Prompt,
		"tool_name":       &e.ToolName,
		"tool_use_id":     &e.ToolUseID,
		"error":           &e.Error,
	}
	err = s.members(func(key string) error {
		switch key {
		case "tool_input":
			return e.ToolInput.read(s)
		case "tool_response":
			return e.Response.read(s)
		}
		raw, err := s.value()
		if err != nil {
			return err
		}
		switch into, isText := texts[key]; {
		case isText:
			*into = decodeString(raw)
		case key == "is_interrupt":
			e.Interrupted = string(raw) == "true"
		case key == "duration_ms":
			e.DurationMS = Value{members: map[string][]byte{"": raw}}.Int("")
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the event: %w", err)
	}
	if e.Name == "" {
		return nil, fmt.Errorf("read the event: hook_event_name is missing")
	}
	return e, nil
}

// readAll is io.ReadAll up to one byte more than MaxEvent, with a buffer that
// suits the megabytes of an Edit: growing to them in steps would copy them
// several times.
func readAll(r io.Reader) ([]byte, error) {
	var buffer bytes.Buffer
	buffer.Grow(16 << 10)
	if sized, ok := r.(interface{ Len() int }); ok {
		buffer.Grow(min(sized.Len(), MaxEvent) + bytes.MinRead)
	}
	_, err := buffer.ReadFrom(io.LimitReader(r, MaxEvent+1))
	return buffer.Bytes(), err
}

// text returns what an MCP result says: the texts of a content array, or the
// string that stands for structured content.
func (v Value) text() string {
	if text := decodeString(v.raw); text != "" {
		return text
	}
	var content []struct{ Text string }
	if json.Unmarshal(v.raw, &content) != nil {
		return ""
	}
	var all bytes.Buffer
	for i, block := range content {
		if i > 0 {
			all.WriteByte('\n')
		}
		all.WriteString(block.Text)
	}
	return all.String()
}
