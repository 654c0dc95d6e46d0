package memory

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSchemaIsTheProposal holds the schema against the Go types, and against what
// models take of JSON schema.
func TestSchemaIsTheProposal(t *testing.T) {
	type node struct {
		Type                 string
		Description          string
		Properties           map[string]json.RawMessage
		Required             []string
		AdditionalProperties *bool
		Items                json.RawMessage
		Enum                 []string
	}
	var check func(path string, raw json.RawMessage, typ reflect.Type)
	check = func(path string, raw json.RawMessage, typ reflect.Type) {
		var n node
		dec := json.NewDecoder(strings.NewReader(string(raw)))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&n); err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		switch typ.Kind() {
		case reflect.String, reflect.Bool:
			if want := map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean"}[typ.Kind()]; n.Type != want {
				t.Errorf("%s is a %q, want %q", path, n.Type, want)
			}
			if n.Description == "" && !strings.HasSuffix(path, "[]") {
				t.Errorf("%s has no description", path)
			}
		case reflect.Slice:
			if n.Type != "array" || n.Description == "" {
				t.Errorf("%s is a %q described as %q", path, n.Type, n.Description)
			}
			check(path+"[]", n.Items, typ.Elem())
		case reflect.Struct:
			var fields []string
			for i := range typ.NumField() {
				name := typ.Field(i).Tag.Get("json")
				fields = append(fields, name)
				check(path+"."+name, n.Properties[name], typ.Field(i).Type)
			}
			if diff := cmp.Diff(fields, n.Required); diff != "" {
				t.Errorf("%s requires: %s", path, diff)
			}
			if n.Type != "object" || n.AdditionalProperties == nil || *n.AdditionalProperties || len(n.Properties) != len(fields) {
				t.Errorf("%s is a %q of %d properties, or open", path, n.Type, len(n.Properties))
			}
		}
		if want := []string{kindDecision, kindFix}; n.Enum != nil && !slices.Equal(n.Enum, want) {
			t.Errorf("%s is one of %q, want %q", path, n.Enum, want)
		}
	}
	check("", Schema(), reflect.TypeFor[Proposal]())
	Schema()[0] = 'x'
	if Schema()[0] != '{' {
		t.Error("a caller can change the schema")
	}
}

func TestParseProposal(t *testing.T) {
	full := &Proposal{
		State: StateProposal{Objective: "o", Active: []string{"a"}, Blockers: []string{}, Next: []Action{{"n", true}}, OutOfScope: []string{}},
		Constraints: ConstraintsProposal{Add: []Added{{"Rules", "r"}}, Edit: []Edited{{"Rules", "x", "y"}},
			Supersede: []Superseded{{"Rules", "x", "y"}}},
		Decisions: []Decision{{Date: "2026-02-01", Title: "t", Kind: kindFix, Evidence: []string{"1234567"}}}, Recent: []string{"```"},
	}
	data, err := json.MarshalIndent(full, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"plain": string(data), "space": "\ufeff\n " + string(data) + "\n\n", "fence": "```json\n" + string(data) + "\n```\n", "bare fence": "````\r\n" + string(data) + "\r\n````",
	} {
		got, err := ParseProposal([]byte(text))
		if diff := cmp.Diff(full, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	for text, want := range map[string]string{
		"":                                "no JSON object",
		"null":                            "no JSON object",
		"[]":                              "no JSON object",
		"Here it is: {}":                  "no JSON object",
		"```yaml\nstate: {}\n```":         "no JSON object",
		"{":                               "ends in the middle",
		`{"state": {"objective": "x`:      "ends in the middle",
		"{}{}":                            "followed by something else",
		"{} thank you":                    "is no JSON",
		"```json\n{}\n``` thank you":      "is no JSON",
		`{"stat": {}}`:                    `unknown field "stat"`,
		`{"state": {"x": 1}}`:             `unknown field "x"`,
		`{"state": {"objective": 7}}`:     "state.objective is a number",
		`{"state": []}`:                   "state is a array",
		`{"recent": [], "Recent": ["x"]}`: `names "recent" twice`,
		`{"state": {"active": [], "active": []}}`:                  `names "active" twice`,
		`{"decisions": [{"title": "a", "title": "b"}]}`:            `names "title" twice`,
		`{"recent": ["` + strings.Repeat("x", MaxProposal) + `"]}`: "bytes: give 1048576 at most",
	} {
		p, err := ParseProposal([]byte(text))
		if err == nil || p != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %+v, %v, want %q", text, p, err, want)
		}
	}
	// The same name in two objects is none twice.
	if _, err := ParseProposal([]byte(`{"decisions": [{"title": "state", "why": "title"}, {"title": "b"}], "state": {"next": [{"text": "a"}, {"text": "b"}]}}`)); err != nil {
		t.Error(err)
	}
}

func FuzzParseProposal(f *testing.F) {
	for _, seed := range []string{"{}", "```json\n{}\n```", `{"state": {"active": [], "active": []}}`, `{"decisions": [{"kind": "fix"}], "recent": null}`, "[{]}", `{"a":{"b":[{"c":1}]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParseProposal(data)
		if (p == nil) == (err == nil) {
			t.Fatalf("%+v, %v", p, err)
		}
		if err != nil {
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := ParseProposal(again); err != nil || !reflect.DeepEqual(same, p) {
			t.Fatalf("%s reads as %+v, %v", again, same, err)
		}
	})
}
