// Package source turns one file's text into what an index needs of it: chunks
// that cover every line, symbols (definitions), references by name, imports and
// the byte ranges that are comments. Syntax comes from tree-sitter where there is
// a grammar; other languages get line-based definitions and windows.
package source

// Kind says what a symbol or a chunk is. Values are stored in the index and
// printed, so they do not change.
type Kind string

const (
	Function  Kind = "function"
	Method    Kind = "method"
	Class     Kind = "class"
	Struct    Kind = "struct"
	Interface Kind = "interface"
	Trait     Kind = "trait"
	Enum      Kind = "enum"
	Type      Kind = "type"
	Module    Kind = "module"
	Constant  Kind = "constant"
	Variable  Kind = "variable"
	Macro     Kind = "macro"
	Section   Kind = "section" // a heading of a document
	Block     Kind = "block"   // a chunk that is no single definition
)

// RefKind says how a name is used.
type RefKind string

const (
	Call    RefKind = "call"
	TypeUse RefKind = "type"
	Import_ RefKind = "import" // named in an import
	Inherit RefKind = "inherit"
	Use     RefKind = "use" // any other mention, e.g. a member access or a macro argument
)

// Symbol is one definition. Lines are 1-based and inclusive.
type Symbol struct {
	Name      string
	Kind      Kind
	Scope     string // enclosing definitions, outermost first, joined by "."; a Go method's receiver type, a Rust impl's type
	Signature string // first line(s) of the definition up to its body, white space folded, at most 240 bytes
	NameLine  int    // line of the name itself
	StartLine int    // first line, doc comment and decorators included
	EndLine   int
	Exported  bool // visible outside its file or package by the language's own rule
	Forward   bool // a declaration without a body where the language has both (C prototypes, class X;)
}

// Reference is one use of a name that may be defined somewhere in the repository.
type Reference struct {
	Name   string
	Line   int // 1-based
	Kind   RefKind
	Symbol int // index into File.Symbols of the innermost enclosing definition, -1 at top level
}

// Import is one import, include, use or require.
type Import struct {
	Path  string   // as written, without quotes: "./util", "os/path", "crate::a::b", "<vector>" without brackets
	Names []string // names that it brings in, when it says them
	Line  int
}

// Span is a half-open byte range of the text.
type Span struct{ Start, End int }

// Chunk is a run of lines. Chunks of a file are in order, do not overlap, and
// together cover every line.
type Chunk struct {
	StartLine, EndLine int // 1-based, inclusive
	Kind               Kind
	Symbol             int // index into File.Symbols of the definition that this chunk is (or the first that it holds), -1 for none
	Scope              string
}

// File is what Parse found.
type File struct {
	Language   string // go-enry's name: "Go", "Rust", "Python", …
	Syntax     bool   // a grammar parsed it; false: line-based
	Package    string // package, module or namespace that the file declares, "" when none
	Symbols    []Symbol
	References []Reference
	Imports    []Import
	Comments   []Span // comments and documentation strings, in order, not overlapping
	Chunks     []Chunk
	Problem    string // why syntax was given up ("timed out after 2s", "nested deeper than …"), "" when fine
}
