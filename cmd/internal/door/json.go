package door

import (
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
)

// The JSON of answers: names are lower_snake_case and stay. Paths are relative to the
// repository that is named beside them.

// Result is one chunk.
type Result struct {
	Repo      string  `json:"repo"`
	File      string  `json:"file"`
	Start     int     `json:"start"`
	End       int     `json:"end"`
	Language  string  `json:"language"`
	Kind      string  `json:"kind"`
	Symbol    string  `json:"symbol"`
	Scope     string  `json:"scope"`
	Signature string  `json:"signature"`
	Score     float64 `json:"score"`
	Cosine    float64 `json:"cosine"`
	Coverage  float64 `json:"coverage"`
	Text      string  `json:"text"`
	Terms     []Term  `json:"terms,omitempty"`
}

// Term is one named part of a score.
type Term struct {
	Name  string  `json:"name"`
	Op    string  `json:"op"`
	Value float64 `json:"value"`
}

// Trace is search.Trace with the timings where they were asked for: without them the
// same index and query give the same bytes.
type Trace struct {
	search.Trace
	Timings []Timing `json:"timings,omitempty"`
}

// Timing is how long one step took.
type Timing struct {
	Step         string  `json:"step"`
	Milliseconds float64 `json:"milliseconds"`
}

// NewTrace makes the JSON of a trace.
func NewTrace(t search.Trace, timings bool) Trace {
	w := Trace{Trace: t}
	if timings {
		for _, s := range t.Timings {
			w.Timings = append(w.Timings, Timing{s.Step, float64(s.Took.Microseconds()) / 1000})
		}
	}
	return w
}

// NewResult makes the JSON of a result.
func NewResult(r search.Result) Result {
	w := Result{Repo: r.Path.Repo, File: r.Path.Rel, Start: r.Start, End: r.End, Language: r.Language, Kind: r.Kind, Symbol: r.Symbol,
		Scope: r.Scope, Signature: r.Signature, Score: r.Score, Cosine: r.Cosine, Coverage: r.Coverage, Text: r.Text}
	for _, t := range r.Terms {
		w.Terms = append(w.Terms, Term{t.Name, t.Op, t.Value})
	}
	return w
}

// Results answers search.
type Results struct {
	Query   string   `json:"query"`
	Results []Result `json:"results"`
	Trace   Trace    `json:"trace"`
}

// NewResults makes the JSON of a search; timings come with explain.
func NewResults(r *search.Results, explain bool) Results {
	w := Results{Query: r.Query, Results: []Result{}, Trace: NewTrace(r.Trace, explain)}
	for _, x := range r.Results {
		w.Results = append(w.Results, NewResult(x))
	}
	return w
}

// Item is one piece of a bundle.
type Item struct {
	Result
	Role   string `json:"role"`
	Reason string `json:"reason"`
}

// Bundle answers context.
type Bundle struct {
	Query  string `json:"query"`
	Items  []Item `json:"items"`
	Used   int    `json:"used"`
	Budget int    `json:"budget"`
	Unit   string `json:"unit"`
	Cut    int    `json:"cut"`
	Trace  Trace  `json:"trace"`
}

// NewBundle makes the JSON of a bundle.
func NewBundle(b *search.Bundle) Bundle {
	w := Bundle{Query: b.Query, Items: []Item{}, Used: b.Used, Budget: b.Budget, Unit: b.Unit, Cut: b.Cut, Trace: NewTrace(b.Trace, false)}
	for _, i := range b.Items {
		w.Items = append(w.Items, Item{NewResult(i.Result), i.Role, i.Reason})
	}
	return w
}

// RelatedFile is one file that belongs to another.
type RelatedFile struct {
	Repo    string   `json:"repo"`
	File    string   `json:"file"`
	Score   float64  `json:"score"`
	Reasons []string `json:"reasons"`
	Start   int      `json:"start"`
	Symbol  string   `json:"symbol"`
}

// Related answers related.
type Related struct {
	Repo  string        `json:"repo"`
	File  string        `json:"file"`
	Files []RelatedFile `json:"files"`
	Trace Trace         `json:"trace"`
}

// NewRelated makes the JSON of related files.
func NewRelated(r *search.RelatedFiles) Related {
	w := Related{Repo: r.Path.Repo, File: r.Path.Rel, Files: []RelatedFile{}, Trace: NewTrace(r.Trace, false)}
	for _, f := range r.Files {
		w.Files = append(w.Files, RelatedFile{f.Path.Repo, f.Path.Rel, f.Score, f.Reasons, f.Start, f.Symbol})
	}
	return w
}

// Definition is one place that defines a symbol.
type Definition struct {
	Repo      string `json:"repo"`
	File      string `json:"file"`
	Line      int    `json:"line"`
	Start     int    `json:"start"`
	End       int    `json:"end"`
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Scope     string `json:"scope"`
	Signature string `json:"signature"`
	Exported  bool   `json:"exported"`
	Uses      int    `json:"uses,omitempty"` // of refs: in the whole context
}

// Reference is one use of a symbol.
type Reference struct {
	Repo       string  `json:"repo"`
	File       string  `json:"file"`
	Line       int     `json:"line"`
	Kind       string  `json:"kind"`
	In         string  `json:"in"`
	Text       string  `json:"text"`
	Likelihood float64 `json:"likelihood"`
	Why        string  `json:"why"`
}

// References answers refs.
type References struct {
	Name        string       `json:"name"`
	Definitions []Definition `json:"definitions"`
	References  []Reference  `json:"references"`
	Total       int          `json:"total"`
	Files       int          `json:"files"`
	Trace       Trace        `json:"trace"`
}

// NewReferences makes the JSON of references.
func NewReferences(r *search.References) References {
	w := References{Name: r.Name, Definitions: NewDefinitions(r.Definitions), References: []Reference{}, Total: r.Total, Files: r.Files, Trace: NewTrace(r.Trace, false)}
	for _, x := range r.References {
		w.References = append(w.References, Reference{x.Path.Repo, x.Path.Rel, x.Line, x.Kind, x.In, x.Text, x.Likelihood, x.Why})
	}
	return w
}

// NewDefinitions makes the JSON of definitions.
func NewDefinitions(ds []search.Definition) []Definition {
	w := []Definition{}
	for _, d := range ds {
		w = append(w, Definition{d.Path.Repo, d.Path.Rel, d.Line, d.Start, d.End, d.Name, d.Kind, d.Scope, d.Signature, d.Exported, d.Uses})
	}
	return w
}

// Symbols answers symbols.
type Symbols struct {
	Repo    string       `json:"repo"`
	File    string       `json:"file"`
	Symbols []Definition `json:"symbols"`
}

// NewSymbols makes the JSON of a file's symbols.
func NewSymbols(p project.Path, ds []search.Definition) Symbols {
	return Symbols{p.Repo, p.Rel, NewDefinitions(ds)}
}
