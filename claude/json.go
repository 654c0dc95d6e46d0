package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// The scanner below finds where values end without decoding them. An Edit's
// event carries the whole file before the edit, megabytes that are seldom asked
// for; encoding/json would validate and copy all of it, twice.

var errTruncated = errors.New("the JSON ends inside a value")

type scanner struct {
	data []byte
	pos  int
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

// take consumes white space and then c, if c is next.
func (s *scanner) take(c byte) bool {
	s.space()
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// text consumes a string and returns it with its quotes, still escaped.
func (s *scanner) text() ([]byte, error) {
	start := s.pos
	if !s.take('"') {
		return nil, fmt.Errorf("byte %d of the JSON: a quote was expected", start)
	}
	start = s.pos - 1
	for i := s.pos; ; {
		next := bytes.IndexByte(s.data[i:], '"')
		if next < 0 {
			return nil, errTruncated
		}
		i += next + 1
		slashes := 0 // in front of the quote; an odd number escapes it
		for k := i - 2; k >= s.pos && s.data[k] == '\\'; k-- {
			slashes++
		}
		if slashes%2 == 0 {
			s.pos = i
			return s.data[start:i], nil
		}
	}
}

// value consumes one value of any kind and returns its text. Brackets are
// counted, not matched by kind, and scalars are not checked: decoding does both
// when, and if, the value is asked for.
func (s *scanner) value() ([]byte, error) {
	s.space()
	start := s.pos
	for depth := 0; s.pos < len(s.data); {
		switch c := s.data[s.pos]; c {
		case '"':
			if _, err := s.text(); err != nil {
				return nil, err
			}
		case '{', '[':
			depth++
			s.pos++
			continue
		case '}', ']':
			if depth == 0 {
				return nil, fmt.Errorf("byte %d of the JSON: a value was expected, found %q", s.pos, c)
			}
			depth--
			s.pos++
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return nil, fmt.Errorf("byte %d of the JSON: a value was expected, found %q", s.pos, c)
			}
			s.pos++
			continue
		default:
			for s.pos < len(s.data) && strings.IndexByte(",:{}[]\" \t\r\n", s.data[s.pos]) < 0 {
				s.pos++
			}
		}
		if depth == 0 {
			return s.data[start:s.pos], nil
		}
	}
	return nil, errTruncated
}

// members consumes an object and hands each key to visit, which consumes the
// value.
func (s *scanner) members(visit func(key string) error) error {
	if !s.take('{') {
		return fmt.Errorf("byte %d of the JSON: an object was expected", s.pos)
	}
	for first := true; ; first = false {
		if s.take('}') {
			return nil
		}
		if !first && !s.take(',') {
			if s.pos >= len(s.data) {
				return errTruncated
			}
			return fmt.Errorf("byte %d of the JSON: a comma was expected", s.pos)
		}
		key, err := s.text()
		if err != nil {
			return err
		}
		if !s.take(':') {
			return fmt.Errorf("byte %d of the JSON: a colon was expected", s.pos)
		}
		if err := visit(decodeString(key)); err != nil {
			return err
		}
	}
}

// decodeString returns the text of a JSON string, "" for anything else.
func decodeString(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if bytes.IndexByte(raw, '\\') < 0 && isPlain(raw) {
		return string(raw[1 : len(raw)-1])
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

func isPlain(raw []byte) bool {
	for _, c := range raw {
		if c < ' ' || c >= 0x80 {
			return false
		}
	}
	return true
}

// Value is one JSON value of an event, found but not decoded. Its methods give a
// zero value for a key that is missing or holds another type.
type Value struct {
	raw     []byte
	members map[string][]byte // of an object
}

// read consumes a value, noting the members when it is an object.
func (v *Value) read(s *scanner) error {
	s.space()
	start := s.pos
	*v = Value{}
	if s.pos >= len(s.data) || s.data[s.pos] != '{' {
		raw, err := s.value()
		v.raw = raw
		return err
	}
	v.members = map[string][]byte{}
	err := s.members(func(key string) error {
		raw, err := s.value()
		v.members[key] = raw
		return err
	})
	v.raw = s.data[start:s.pos]
	return err
}

// Raw is the value's JSON, nil when the event has none. It shares the event's
// memory.
func (v Value) Raw() json.RawMessage { return v.raw }

// Has tells whether the object has key with a value other than null.
func (v Value) Has(key string) bool {
	raw, ok := v.members[key]
	return ok && string(raw) != "null"
}

// Text is the string under key.
func (v Value) Text(key string) string { return decodeString(v.members[key]) }

// Int is the whole number under key.
func (v Value) Int(key string) int {
	var n float64
	if json.Unmarshal(v.members[key], &n) != nil || n != n || n < -1<<31 || n > 1<<31 {
		return 0
	}
	return int(n)
}

// Bool is the truth value under key.
func (v Value) Bool(key string) bool { return string(v.members[key]) == "true" }

// Texts is the list of strings under key; elements of other types are left out.
func (v Value) Texts(key string) []string {
	var texts []string
	for _, raw := range v.list(key) {
		if len(raw) > 0 && raw[0] == '"' {
			texts = append(texts, decodeString(raw))
		}
	}
	return texts
}

// object is the object under key, with its members.
func (v Value) object(key string) Value {
	var inner Value
	s := scanner{data: v.members[key]}
	if inner.read(&s) != nil {
		return Value{}
	}
	return inner
}

// list is the elements of the array under key, undecoded.
func (v Value) list(key string) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(v.members[key], &list) != nil {
		return nil
	}
	return list
}

// decode fills into from the value under key and leaves it alone when the types
// do not fit.
func (v Value) decode(key string, into any) bool {
	raw := v.members[key]
	return len(raw) > 0 && json.Unmarshal(raw, into) == nil
}
