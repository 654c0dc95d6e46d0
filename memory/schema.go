package memory

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxProposal is how large the JSON of a proposal may be, in bytes: a hundred
// times one that fills all its fields.
const MaxProposal = 1 << 20

//go:embed schema.json
var schema []byte

// Schema returns the JSON schema of a Proposal, in the subset of draft 2020-12
// that models take: every property required, none beside them, no references.
func Schema() []byte { return bytes.Clone(schema) }

// ParseProposal reads a Proposal as a model or a person writes it: one JSON
// object, in a fenced block or not. The error says in one sentence what is wrong
// with it. What the proposal says is left to Check.
func ParseProposal(data []byte) (*Proposal, error) {
	if len(data) > MaxProposal {
		return nil, fmt.Errorf("the proposal has %d bytes: give %d at most", len(data), MaxProposal)
	}
	data = unfence(bytes.TrimSpace(bytes.TrimPrefix(data, []byte(byteOrderMark))))
	if len(data) == 0 || data[0] != '{' {
		return nil, errors.New("the proposal is no JSON object: give the object alone, without text around it")
	}
	if err := checkKeys(data); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	p := new(Proposal)
	if err := dec.Decode(p); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return nil, fmt.Errorf("the proposal's %s is a %s: the schema wants another type there", wrong.Field, wrong.Value)
		}
		return nil, fmt.Errorf("the proposal does not fit the schema: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return p, nil
}

// unfence takes away the fence of a block of code.
func unfence(data []byte) []byte {
	if !bytes.HasPrefix(data, []byte("```")) {
		return data
	}
	info, inner, ok := bytes.Cut(data, []byte("\n"))
	info = bytes.ToLower(bytes.TrimSpace(bytes.TrimLeft(info, "`")))
	if !ok || len(info) > 0 && string(info) != "json" {
		return data
	}
	return bytes.TrimSpace(bytes.TrimRight(bytes.TrimSpace(inner), "`"))
}

// checkKeys refuses what encoding/json lets pass: a name twice in an object, of
// which one value would be lost, and a second value.
func checkKeys(data []byte) error {
	type object struct {
		names map[string]bool // nil for a list
		name  bool            // a name comes next
	}
	var open []object
	dec := json.NewDecoder(bytes.NewReader(data))
	for started := false; ; started = true {
		token, err := dec.Token()
		switch {
		case err == io.EOF && len(open) == 0:
			return nil
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return errors.New("the proposal ends in the middle: give the whole object")
		case err != nil:
			return fmt.Errorf("the proposal is no JSON: %v near byte %d", err, dec.InputOffset())
		case started && len(open) == 0:
			return errors.New("the proposal is followed by something else: give one object alone")
		}
		delim, _ := token.(json.Delim)
		if n := len(open); n > 0 && delim != '}' && delim != ']' && open[n-1].names != nil {
			if name, ok := token.(string); ok && open[n-1].name {
				name = strings.ToLower(name)
				if open[n-1].names[name] {
					return fmt.Errorf("the proposal names %q twice in one object: give it once", name)
				}
				open[n-1].names[name], open[n-1].name = true, false
				continue
			}
			open[n-1].name = true
		}
		switch delim {
		case '{':
			open = append(open, object{map[string]bool{}, true})
		case '[':
			open = append(open, object{})
		case '}', ']':
			open = open[:len(open)-1]
		}
	}
}
