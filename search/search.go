// Package search is the engine: Search, Context, Related and Refs over one
// context's index. The command line, the hook, the MCP server, calibration and
// evaluation call it and nothing beside it.
package search

import (
	"time"

	"github.com/chinvex/chinvex/project"
)

// Mode says which legs find candidates.
type Mode string

const (
	Hybrid   Mode = "hybrid"
	Semantic Mode = "semantic"
	Lexical  Mode = "lexical"
)

// Query is one search.
type Query struct {
	Text     string
	Limit    int            // results wanted, 1 to 1000; 0 means 10
	Mode     Mode           // "" means Hybrid
	Language string         // go-enry's language name, any case; "" means all
	PathGlob string         // doublestar glob over the path inside the repository; "" means all
	Under    []project.Path // only files below these folders or exactly these files; empty means all
	Exclude  []project.Path // files left out
	Explain  bool           // fill Result.Terms
	PerFile  int            // at most so many results a file; 0 means no limit
}

// Result is one chunk.
type Result struct {
	Path      project.Path
	Start     int // 1-based, inclusive
	End       int
	Language  string
	Kind      string
	Symbol    string
	Scope     string
	Signature string  // of the symbol, "" when it has none
	Score     float64 // final score; comparable inside one answer only
	Cosine    float64 // true cosine of query and chunk, -1 to 1; 0 when the semantic leg did not run
	Coverage  float64 // idf-weighted share of the query's terms that the chunk or its path holds, 0 to 1
	Text      string  // the chunk's text, secrets redacted
	Hash      string  // of the content: the key for session dedup
	Terms     []Term  // with Query.Explain

	symbol uint32 // id in the index
}

// Term is one named part of a score.
type Term struct {
	Name  string
	Value float64 // what was added, or the factor
	Op    string  // "+" or "×"
}

// Trace says how an answer came about. Every answer carries one; a leg that gave
// nothing is visible in it.
type Trace struct {
	ModeRequested  Mode           `json:"mode_requested,omitempty"`
	ModeUsed       Mode           `json:"mode_used,omitempty"`
	FallbackReason string         `json:"fallback_reason,omitempty"`
	Candidates     map[string]int `json:"candidates"` // per leg: "lexical", "semantic", "symbol", "coupling", "references", …
	Generation     int64          `json:"generation"`
	Timings        []Timing       `json:"-"` // in order; not part of the deterministic output
}

// Timing is how long one step took.
type Timing struct {
	Step string
	Took time.Duration
}

// Results answers Search.
type Results struct {
	Query   string
	Results []Result
	Trace   Trace
}

// RelatedFile is one file that belongs to another, with the reasons.
type RelatedFile struct {
	Path    project.Path
	Score   float64
	Reasons []string // facts, best first: "changed together in 14 of 21 commits", "imports it", "its test"
	Start   int      // a line worth opening, 0 when unknown
	Symbol  string   // the symbol at that line
}

// RelatedFiles answers Related.
type RelatedFiles struct {
	Path  project.Path
	Files []RelatedFile
	Trace Trace
}

// Reference is one use of a symbol.
type Reference struct {
	Path       project.Path
	Line       int
	Kind       string  // source.RefKind
	In         string  // the enclosing definition, "Scope.Name", "" at top level
	Text       string  // the line itself, trimmed, at most 200 bytes
	Likelihood float64 // 0 to 1, that it means this definition
	Why        string  // "same file", "imports it", "same package", "unique name", "same name"
}

// Definition is one place that defines a symbol.
type Definition struct {
	Path       project.Path
	Start, End int
	Line       int // of the name
	Name       string
	Kind       string
	Scope      string
	Signature  string
	Exported   bool
	Uses       int // references by this name in the whole context
}

// References answers Refs.
type References struct {
	Name        string
	Definitions []Definition
	References  []Reference // best first
	Total       int         // before the limit
	Files       int         // files that hold one
	Trace       Trace
}

// RefsQuery asks who uses a symbol.
type RefsQuery struct {
	Name  string       // "Parse" or "Parser.Parse"
	File  project.Path // the definition meant, when several share the name; zero for any
	Limit int          // 0 means 20
	// Exclude leaves out references inside this file's lines Start to End (the
	// definition itself, lines the agent has just read).
	Exclude []LineRange
}

// LineRange is a run of lines of a file.
type LineRange struct {
	Path       project.Path
	Start, End int // 1-based inclusive; End 0 means to the end
}

// RelatedQuery asks what belongs to a file.
type RelatedQuery struct {
	Path  project.Path // may be a file that is not indexed: name and neighbours still answer
	Limit int          // 0 means 10
}

// ContextQuery asks for a bundle under a budget.
type ContextQuery struct {
	Text    string
	Budget  int    // in Unit; 0 means 500 lines or 6,000 tokens
	Unit    string // "lines" (default) or "tokens" (bytes/4, rounded up)
	Content string // "full" (default), "preview" (first 6 lines) or "none"
	Files   int    // most files; 0 means 20
}

// BundleItem is one piece of a bundle.
type BundleItem struct {
	Result
	Role   string // "match", "coupled", "commit", "test", "source"
	Reason string // a fact
}

// Bundle answers Context.
type Bundle struct {
	Query  string
	Items  []BundleItem
	Used   int // of the budget
	Budget int
	Unit   string
	Cut    int // items left out for the budget
	Trace  Trace
}
