// Package settings edits the client's settings files: the hooks in
// .claude/settings.json and the server in .mcp.json. It turns bytes into bytes and
// opens no file.
//
// Foreign bytes never change: keys, order, indentation, comments, escapes and
// numbers stay as they were written, and what is inserted follows the file's own
// indentation and line ends. A second run changes nothing.
//
// Whose an entry is, its command tells (Recognise), so there is no mark in the file.
// What ours is goes whole: comments and keys inside an entry of ours go with it.
//
// # Containers that are left empty
//
// Uninstall takes out a group, an event, "hooks" or "mcpServers" that its own removal
// has emptied, unless a comment or a foreign key is left in it. What the user had left
// empty must stay, but "hooks": {} looks the same whoever made it. So ours goes into
// an empty container of the user's after a blank line (a blank, in a file of one
// line): a container whose first entry stands so is left empty, with the bytes that it
// had; any other goes. A formatter that drops the blank line costs the user an empty
// container.
package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// maxBytes bounds a settings file; real ones have a few kilobytes. maxDepth bounds
// its nesting: the parser recurses.
const (
	maxBytes = 1 << 20
	maxDepth = 256
)

const bom = "\ufeff"

// Change is what became of a file's bytes.
type Change struct {
	Bytes    []byte   // the file's new bytes; the old ones when nothing had to change
	Notes    []string // one sentence each, for the person
	Warnings []string // the same: what keeps the client from running what the file holds
}

// document is a parsed file that is being edited.
type document struct {
	old   []byte
	text  []byte // old without its byte order mark: what offsets count in
	root  hujson.Value
	top   *hujson.Object
	style style
}

// open parses a file. One that does not exist or is blank is a new one.
func open(old []byte) (*document, error) {
	text := bytes.TrimPrefix(old, []byte(bom))
	switch {
	case len(old) > maxBytes:
		return nil, fmt.Errorf("it is longer than %d bytes, which no settings file should be", maxBytes)
	case bytes.HasPrefix(old, []byte("\xff\xfe")), bytes.HasPrefix(old, []byte("\xfe\xff")), bytes.IndexByte(old, 0) >= 0:
		return nil, errors.New("it is UTF-16 or binary; save it as UTF-8")
	case !utf8.Valid(old):
		return nil, errors.New("it is not valid UTF-8; save it as UTF-8")
	case bytes.Count(text, []byte("\r")) != bytes.Count(text, []byte("\r\n")):
		return nil, errors.New("its lines end with bare carriage returns; save it with ordinary line ends")
	case depth(text) > maxDepth:
		return nil, fmt.Errorf("it is nested deeper than %d levels", maxDepth)
	case blank(text):
		text = []byte("{}\n")
	}
	d := &document{old: old, text: text}
	var err error
	if d.root, err = hujson.Parse(text); err != nil {
		return nil, fmt.Errorf("it is not valid JSON (%s); mend it first", strings.TrimPrefix(err.Error(), "hujson: "))
	}
	var ok bool
	if d.top, ok = d.root.Value.(*hujson.Object); !ok {
		return nil, fmt.Errorf("it holds %s, not an object", kind(d.root))
	}
	d.style = styleOf(d.text, d.root)
	return d, nil
}

// bytes are the file as edited.
func (d *document) bytes() []byte {
	packed := d.root.Pack()
	if bytes.Equal(packed, d.text) && !blank(d.old) {
		return d.old
	}
	if bytes.HasPrefix(d.old, []byte(bom)) {
		return append([]byte(bom), packed...)
	}
	return packed
}

// reopen parses what was edited so far, so that offsets hold again.
func (d *document) reopen() (*document, error) { return open(d.bytes()) }

// warnings say why the client runs nothing of the file as it was.
func (d *document) warnings() (warnings []string) {
	if !d.root.IsStandard() {
		warnings = append(warnings, "it holds comments or trailing commas, and the client loads no such file: nothing in it takes effect until they are gone")
	}
	if i, _ := lookup(d.top, "disableAllHooks"); i >= 0 && d.top.Members[i].Value.Value.Kind() == 't' {
		warnings = append(warnings, "disableAllHooks is true: the client runs no hook until that is gone")
	}
	return warnings
}

// bare tells whether nothing but {} is left, or nothing but an empty object in
// member.
func (d *document) bare(member string) bool {
	if comments(d.root.BeforeExtra) != nil || comments(d.root.AfterExtra) != nil || comments(d.top.AfterExtra) != nil {
		return false
	}
	switch len(d.top.Members) {
	case 0:
		return true
	case 1:
		m := d.top.Members[0]
		inner, ok := m.Value.Value.(*hujson.Object)
		return ok && text(m.Name) == member && len(inner.Members) == 0 && comments(inner.AfterExtra) == nil
	}
	return false
}

// blank tells whether a file holds nothing.
func blank(data []byte) bool {
	return len(bytes.Trim(bytes.TrimPrefix(data, []byte(bom)), " \t\r\n")) == 0
}

// depth is the greatest nesting of brackets in a text of JSON with comments. It is
// right up to the first fault, which is as far as the parser goes.
func depth(b []byte) (deepest int) {
	for i, level := 0, 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			level++
			deepest = max(deepest, level)
		case '}', ']':
			level--
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '/':
			i += max(commentLen(b[i:])-1, 0)
		}
	}
	return deepest
}

// lookup finds the member of a name: its index or -1, and whether there is more than
// one, of which the client takes the last.
func lookup(obj *hujson.Object, name string) (index int, twice bool) {
	index = -1
	for i, m := range obj.Members {
		if text(m.Name) == name {
			twice = index >= 0
			index = i
		}
	}
	return index, twice
}

// text is the value of a string, "" for anything else.
func text(v hujson.Value) string {
	lit, ok := v.Value.(hujson.Literal)
	if !ok || lit.Kind() != '"' {
		return ""
	}
	var s string
	if json.Unmarshal(lit, &s) != nil {
		return ""
	}
	return s
}

// kind names a value's type for a message.
func kind(v hujson.Value) string {
	switch v.Value.Kind() {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "a truth value"
}
