package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Request is one request of the client.
type Request struct {
	N                 int // from 1, in order of arrival
	Kind              Kind
	Marker            string // of the subagent that asks
	Turn              int    // of its conversation, from 0, that answers it; -1 for none
	Arrived, Answered time.Time
	Method, Path      string
	Body              []byte // as it came

	parsed struct {
		Model    string    `json:"model"`
		Stream   bool      `json:"stream"`
		System   Content   `json:"system"`
		Messages []Message `json:"messages"`
		Tools    []Tool    `json:"tools"`
	}
}

// Tool is a tool that the model may call.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Message is one message of the conversation.
type Message struct {
	Role    string  `json:"role"` // "user", "assistant" or "system"
	Content Content `json:"content"`
}

// Block is a part of a message.
type Block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Name      string          `json:"name"`        // of a tool_use
	Input     json.RawMessage `json:"input"`       // of a tool_use
	ToolUseID string          `json:"tool_use_id"` // of a tool_result
	IsError   bool            `json:"is_error"`    // the same
	Content   Content         `json:"content"`     // the same
}

// Content is a list of blocks; the API takes a string for one text.
type Content []Block

func (c *Content) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, (*[]Block)(c))
	}
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	*c = Content{{Type: "text", Text: s}}
	return nil
}

// Text is a text that the model reads.
type Text struct {
	Where string // "system", "tool Bash", "message 3 user", "message 3 result toolu_e2e_0001"
	Role  string
	Text  string
}

// Tools returns the tools that stand before the model at once.
func (r *Request) Tools() []Tool { return r.parsed.Tools }

// Texts returns everything that the model reads, in order.
func (r *Request) Texts() []Text {
	var texts []Text
	for _, b := range r.parsed.System {
		texts = append(texts, Text{"system", "system", b.Text})
	}
	for _, t := range r.parsed.Tools {
		texts = append(texts, Text{"tool " + t.Name, "system", t.Description})
	}
	for i, m := range r.parsed.Messages {
		for _, b := range m.Content {
			where := fmt.Sprintf("message %d %s", i, m.Role)
			switch b.Type {
			case "tool_use":
				texts = append(texts, Text{where + " calls " + b.Name, m.Role, string(b.Input)})
			case "tool_result":
				for _, part := range b.Content {
					texts = append(texts, Text{fmt.Sprintf("message %d result %s", i, b.ToolUseID), m.Role, part.Text})
				}
			default:
				texts = append(texts, Text{where, m.Role, b.Text})
			}
		}
	}
	return texts
}

// Results returns the texts of the tool results, in order.
func (r *Request) Results() []string {
	var results []string
	for _, m := range r.parsed.Messages {
		for _, b := range m.Content {
			if b.Type != "tool_result" {
				continue
			}
			var parts []string
			for _, p := range b.Content {
				parts = append(parts, p.Text)
			}
			results = append(results, strings.Join(parts, "\n"))
		}
	}
	return results
}

// firstPrompt is what the conversation began with.
func (r *Request) firstPrompt() string {
	for _, m := range r.parsed.Messages {
		if m.Role == "user" {
			var parts []string
			for _, b := range m.Content {
				parts = append(parts, b.Text)
			}
			return strings.Join(parts, "\n")
		}
	}
	return ""
}

// asksForSummary looks at the end of the conversation only: later requests may quote it.
func (r *Request) asksForSummary() bool {
	last := r.parsed.Messages[max(0, len(r.parsed.Messages)-3):]
	for _, m := range last {
		for _, b := range m.Content {
			if strings.Contains(b.Text, compactPrompt) {
				return true
			}
		}
	}
	return false
}

// Hook is a text that a hook has put before the model.
type Hook struct {
	Event string // "PostToolUse"
	Of    string // the tool, or the source of a SessionStart; "" where the client names none
	Text  string // paragraphs of the client's own may follow the hook's
}

func (h Hook) String() string { return fmt.Sprintf("%s:%s %q", h.Event, h.Of, h.Text) }

// Facts returns what a text of ours tells: its lines that are indented once, each after
// the heading that it stands under. How much was left out is not one of them.
func (h Hook) Facts() []string {
	var facts []string
	heading := ""
	for line := range strings.SplitSeq(h.Text, "\n") {
		rest, indented := strings.CutPrefix(line, "  ")
		switch {
		case !indented:
			heading = line
		case strings.HasPrefix(rest, " ") || leftOut.MatchString(rest):
		default:
			facts = append(facts, heading+" "+rest)
		}
	}
	return facts
}

var (
	leftOut  = regexp.MustCompile(`^\d+ more\b`)
	hookHead = regexp.MustCompile(`(?m)^([A-Z][A-Za-z]+)(?::([\w.*|-]+))? hook (?:additional context|success): `)
	reminder = regexp.MustCompile(`(?s)<system-reminder>\n?(.*?)</system-reminder>`)
)

// Hooks returns the texts of hooks, in the order in which the model reads them. They
// stand in messages of the role "system" or, from older clients, in tagged reminders.
func (r *Request) Hooks() []Hook {
	var hooks []Hook
	for _, t := range r.Texts() {
		carriers := []string{t.Text}
		if t.Role != "system" {
			carriers = nil
			for _, m := range reminder.FindAllStringSubmatch(t.Text, -1) {
				carriers = append(carriers, m[1])
			}
		}
		for _, c := range carriers {
			heads := hookHead.FindAllStringSubmatchIndex(c, -1)
			for i, at := range heads {
				end := len(c)
				if i+1 < len(heads) {
					end = heads[i+1][0]
				}
				h := Hook{Event: c[at[2]:at[3]], Text: strings.TrimSpace(c[at[1]:end])}
				if at[4] >= 0 {
					h.Of = c[at[4]:at[5]]
				}
				hooks = append(hooks, h)
			}
		}
	}
	return hooks
}

// NewHooks returns the hook texts of r that before, an earlier request or nil, does not hold.
func (r *Request) NewHooks(before *Request) []Hook {
	known := map[Hook]int{}
	if before != nil {
		for _, h := range before.Hooks() {
			known[h]++
		}
	}
	var fresh []Hook
	for _, h := range r.Hooks() {
		if known[h]--; known[h] < 0 {
			fresh = append(fresh, h)
		}
	}
	return fresh
}
