package source

import (
	"slices"
	"strings"
	"sync"

	sitter "github.com/smacker/go-tree-sitter"
)

// grammar is one language's entry: how its syntax tree tells definitions, references,
// imports and comments. Strings name node types; a part "call.function" is the child
// of a call that has the field function, "call#first" and "call#last" are its first
// and last named child, "call" alone is any child.
type grammar struct {
	name     string // go-enry's, set from the table
	language func() *sitter.Language

	define     map[string]definition
	imports    map[string]func(x *extraction, i int32) bool // false: no import after all
	comments   []string
	commentIf  map[string]func(x *extraction, i int32) bool // documentation strings
	lead       []string                                     // attributes and decorators that stand above what they describe
	leadIf     map[string]func(x *extraction, i int32) bool
	wrappers   []string // nodes around a definition that belong to it
	bodies     []string // node types of bodies that have no field
	bodyIn     func(x *extraction, i int32) int32
	names      []string // leaves that are identifiers
	callNames  []string // leaves that matter only where they are called
	typeNames  []string // leaves that always name types
	path       []string // parts that hold the last name of a qualified one: "selector.field"
	calls      []string // parts that are called
	callIf     func(x *extraction, i int32) bool
	types      []string                 // parts that are types
	inherits   []string                 // parts, or whole nodes, that list base types
	arguments  []string                 // nodes inside a list of base types that hold other names
	binds      []string                 // parts that declare local names
	bindsLocal []string                 // the same, but global names outside functions
	patterns   []string                 // nodes that may lie between a declared name and such a part
	ignore     []string                 // parts that are names of something which is no symbol
	dotted     bool                     // a leaf may hold a path of which the last name counts
	spaced     bool                     // nodes begin with the white space before them
	prepare    func(text []byte) []byte // what to parse instead, of equal length
	// The scanner keeps its state in variables of the C program: one parse at a time,
	// and this text before each, which leaves them as they were at the start.
	reset    string
	builtins string // words that are not worth a reference
	exported func(x *extraction, i int32, s *Symbol) bool

	once      sync.Once
	alone     sync.Mutex        // held while parsing, where reset is set
	roles     []*role           // by symbol id; nil: of no interest
	nodeTypes []string          // by symbol id
	fields    map[string]uint16 // ids by name
	skip      map[string]bool   // builtins
	unknown   []string          // table entries that the grammar does not have; a test wants none
}

// definition says that a node type defines something.
type definition struct {
	kind    Kind   // "": find decides; without find the node is a scope without a symbol
	name    string // field of the name, or of the type that a scope is named after
	body    string // field of the body, default "body"
	forward bool   // a declaration without a body
	find    func(x *extraction, i int32) found
}

// found is what a definition's find function says; no kind: not a definition here.
type found struct {
	name    int32  // the name's node, -1 when only text is known
	text    string // the name where it is not the node's text
	kind    Kind
	scope   string // scope that the definition itself names, e.g. a receiver
	forward bool
	only    string // opens a scope of this name and defines nothing
	member  bool   // a variable that counts although it stands inside a type
}

// part is a compiled "type.field".
type part struct {
	set, any, first, last bool
	fields                []uint16
}

// role is what a grammar says of one node type.
type role struct {
	define                                           *definition
	imports, commentIf, leadIf                       func(x *extraction, i int32) bool
	comment, lead, wrapper, leaf, typeName, callOnly bool
	pattern, arguments, bindTop                      bool
	path, call, types, inherit, bind, ignore         part
}

// compile turns the tables into roles by symbol id, once a process.
func (g *grammar) compile() {
	l := g.language()
	n := int(l.SymbolCount())
	g.nodeTypes, g.roles = make([]string, n), make([]*role, n)
	byType := map[string][]int{}
	for s := range n {
		if l.SymbolType(sitter.Symbol(s)) == sitter.SymbolTypeRegular {
			g.nodeTypes[s] = l.SymbolName(sitter.Symbol(s))
			byType[g.nodeTypes[s]] = append(byType[g.nodeTypes[s]], s)
		}
	}
	g.fields = map[string]uint16{}
	for f := 1; ; f++ {
		name := l.FieldName(f)
		if name == "" {
			break
		}
		g.fields[name] = uint16(f)
	}
	g.skip = map[string]bool{}
	for _, w := range strings.Fields(g.builtins) {
		g.skip[w] = true
	}
	at := func(nodeType string, set func(*role)) {
		ids := byType[nodeType]
		if len(ids) == 0 {
			g.unknown = append(g.unknown, nodeType)
		}
		for _, s := range ids {
			if g.roles[s] == nil {
				g.roles[s] = &role{}
			}
			set(g.roles[s])
		}
	}
	each := func(list []string, set func(*role)) {
		for _, t := range list {
			at(t, set)
		}
	}
	parts := func(list []string, of func(*role) *part) {
		for _, t := range list {
			nodeType, field, isField := strings.Cut(t, ".")
			nodeType, edge, _ := strings.Cut(nodeType, "#")
			if isField && g.fields[field] == 0 {
				g.unknown = append(g.unknown, t)
			}
			at(nodeType, func(r *role) {
				p := of(r)
				p.set = true
				switch {
				case isField:
					p.fields = append(p.fields, g.fields[field])
				case edge == "first":
					p.first = true
				case edge == "last":
					p.last = true
				default:
					p.any = true
				}
			})
		}
	}
	for t, d := range g.define {
		if d.name == "" {
			d.name = "name"
		}
		at(t, func(r *role) { r.define = &d })
	}
	for t, f := range g.imports {
		at(t, func(r *role) { r.imports = f })
	}
	for t, f := range g.commentIf {
		at(t, func(r *role) { r.comment, r.commentIf = true, f })
	}
	for t, f := range g.leadIf {
		at(t, func(r *role) { r.lead, r.leadIf = true, f })
	}
	each(g.comments, func(r *role) { r.comment = true })
	each(g.lead, func(r *role) { r.lead = true })
	each(g.wrappers, func(r *role) { r.wrapper = true })
	each(g.names, func(r *role) { r.leaf = true })
	each(g.typeNames, func(r *role) { r.leaf, r.typeName = true, true })
	each(g.callNames, func(r *role) { r.leaf, r.callOnly = true, true })
	each(g.patterns, func(r *role) { r.pattern = true })
	each(g.arguments, func(r *role) { r.arguments = true })
	parts(g.path, func(r *role) *part { return &r.path })
	parts(g.calls, func(r *role) *part { return &r.call })
	parts(g.types, func(r *role) *part { return &r.types })
	parts(g.inherits, func(r *role) *part { return &r.inherit })
	parts(g.ignore, func(r *role) *part { return &r.ignore })
	parts(g.binds, func(r *role) *part { return &r.bind })
	parts(g.bindsLocal, func(r *role) *part { r.bindTop = true; return &r.bind })
	slices.Sort(g.unknown)
}
