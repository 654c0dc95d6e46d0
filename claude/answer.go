package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxAnswer is how many UTF-16 units of text an answer holds at most. The client
// replaces more than 10,000 by a path and a preview of 2 KB.
const MaxAnswer = 9_500

// Answer prints the one JSON object that puts text before the model. It prints
// nothing when text holds nothing visible or when the client takes no text for
// the event. The text is made Plain.
func Answer(w io.Writer, eventName, text string) error {
	if h, _ := handled(eventName); !h.Answers {
		return nil
	}
	text = Plain(text)
	if strings.TrimSpace(text) == "" {
		return nil
	}
	type output struct {
		HookEventName     string `json:"hookEventName"`
		AdditionalContext string `json:"additionalContext"`
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(map[string]output{"hookSpecificOutput": {eventName, text}})
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	// One write: a reader that goes away in between leaves no half object.
	if _, err := w.Write(line.Bytes()); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// Plain makes text from a repository Harmless and short enough for a hook: over
// MaxAnswer it is cut between two items (lines that are not indented start one) and a
// last line says so.
func Plain(text string) string { return fit(Harmless(text)) }

// Harmless escapes what could be read as the client's own reminder tags, which it does
// by itself in what hooks say and not in what MCP tools say, and replaces control and
// format characters and invalid UTF-8.
func Harmless(text string) string { return escapeTags(clean(text)) }

// clean drops what has no place in plain text: carriage returns, zero-width and
// direction marks (they can hide a tag or reorder a line); other control
// characters and invalid bytes become U+FFFD.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || unicode.Is(unicode.Cf, r):
			return -1
		case r == '\u2028' || r == '\u2029':
			return '\n'
		case r < ' ' || r >= 0x7f && r <= 0x9f:
			return utf8.RuneError
		}
		return r
	}, text)
}

// escapeTags turns the "<" of an opening or closing system-reminder tag into
// "&lt;", whatever its case and wherever white space stands in it.
func escapeTags(text string) string {
	const tag = "system-reminder"
	var out strings.Builder
	for {
		at := strings.IndexByte(text, '<')
		if at < 0 {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(text[:at])
		rest := strings.TrimLeftFunc(text[at+1:], func(r rune) bool { return r == '/' || unicode.IsSpace(r) })
		end := 0
		for i := 0; i < len(tag) && end < len(rest); i++ {
			_, size := utf8.DecodeRuneInString(rest[end:])
			end += size
		}
		if strings.EqualFold(rest[:end], tag) {
			out.WriteString("&lt;")
		} else {
			out.WriteByte('<')
		}
		text = text[at+1:]
	}
}

// fit cuts text to MaxAnswer.
func fit(text string) string {
	if len(text) <= MaxAnswer || units(text) <= MaxAnswer {
		return text
	}
	const reserve = 60 // for the note
	lines := strings.SplitAfter(strings.TrimRight(text, "\n"), "\n")
	kept, used := 0, 0
	for ; kept < len(lines); kept++ {
		n := units(lines[kept])
		if used+n > MaxAnswer-reserve {
			break
		}
		used += n
	}
	if kept == 0 { // one line longer than everything
		var short strings.Builder
		for _, r := range lines[0] {
			if used += utf16.RuneLen(r); used > MaxAnswer-reserve {
				break
			}
			short.WriteRune(r)
		}
		return short.String() + "…" + note(len(lines)-1)
	}
	// Back to where the item that is cut in two begins, unless it fills most of
	// the answer by itself.
	whole := kept
	for whole > kept/2 && indented(lines[whole]) {
		whole--
	}
	if whole > kept/2 {
		kept = whole
	}
	return strings.TrimRight(strings.Join(lines[:kept], ""), "\n") + note(len(lines)-kept)
}

func note(lines int) string {
	if lines == 0 {
		return ""
	}
	return fmt.Sprintf("\n(cut here: %d more lines do not fit)", lines)
}

func indented(line string) bool {
	return line != "" && (line[0] == ' ' || line[0] == '\t')
}

// units is the length of text in UTF-16 units, as the client counts.
func units(text string) int {
	n := 0
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}
