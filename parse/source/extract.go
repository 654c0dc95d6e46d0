package source

import (
	"bytes"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// region is a definition or a scope without a symbol of its own (a Rust impl) as
// the chunker sees it.
type region struct {
	start, end int // lines, 1-based, inclusive
	symbol     int // index into File.Symbols, -1 for a scope without a symbol
	parent     int // index of the enclosing region, -1 at top level
	kind       Kind
	scope      string // of what lies inside
}

// scope is an open definition or scope during the walk.
type scope struct {
	next   int32 // index of the first node behind it
	symbol int   // innermost symbol, -1 for none
	region int
	kind   Kind
	path   string
	local  bool // inside a function
}

// extraction is the walk over one file's syntax tree.
type extraction struct {
	*File
	g     *grammar
	text  []byte
	lines lines
	nodes []node

	open    []scope
	regions []region
	names   map[string]string // one string for each distinct name
	named   map[int32]bool    // name nodes of definitions, which are no references
	locals  map[string]int32  // local names → index of the first node behind their function
	lead    []bool            // by line: nothing but comments, attributes and decorators
	imports int32             // end of the import that the walk is in
	heirs   int32             // end of the list of base types that the walk is in
	cursor  int               // last line looked up
}

// walk visits the nodes in order and fills symbols, references, imports and comments.
func (x *extraction) walk() {
	if x.g.spaced {
		for i := range x.nodes {
			n := &x.nodes[i]
			for n.start < n.end && strings.IndexByte(" \t\r\n", x.text[n.start]) >= 0 {
				n.start++
			}
		}
	}
	var bad []Span
	x.open = append(x.open[:0], scope{next: int32(len(x.nodes)), symbol: -1, region: -1})
	for i := int32(0); i < int32(len(x.nodes)); i++ {
		for len(x.open) > 1 && x.top().next <= i {
			x.open = x.open[:len(x.open)-1]
		}
		if x.nodes[i].symbol == errorSymbol {
			bad = append(bad, Span{x.line(x.nodes[i].start), x.last(i)})
		}
		if p := x.role(x.nodes[i].parent); p != nil && p.inherit.set && x.part(p.inherit, i) {
			x.heirs = max(x.heirs, x.nodes[i].next)
		}
		r := x.role(i)
		if r == nil {
			continue
		}
		if r.comment && (r.commentIf == nil || r.commentIf(x, i)) {
			x.comment(i)
			i = x.nodes[i].next - 1
			continue
		}
		if r.lead && (r.leadIf == nil || r.leadIf(x, i)) {
			x.markLead(i)
		}
		if r.inherit.any && x.part(r.inherit, i) {
			x.heirs = max(x.heirs, x.nodes[i].next)
		}
		if r.imports != nil && r.imports(x, i) {
			x.imports = x.nodes[i].next
		}
		if r.define != nil && x.define(r.define, i) {
			continue
		}
		if r.leaf {
			x.reference(i, r)
		}
	}
	x.recover(bad)
}

// errorSymbol is the type of nodes that hold what the grammar could not read.
const errorSymbol = 0xFFFF

func (x *extraction) top() *scope { return &x.open[len(x.open)-1] }

// role is what the language's table says of the type of nodes[i]; nil for nothing.
func (x *extraction) role(i int32) *role {
	if i < 0 {
		return nil
	}
	if s := x.nodes[i].symbol; int(s) < len(x.g.roles) {
		return x.g.roles[s]
	}
	return nil // an ERROR node
}

// is reports whether nodes[i] has one of the types.
func (x *extraction) is(i int32, types ...string) bool {
	return i >= 0 && slices.Contains(types, x.nodeType(i))
}

func (x *extraction) nodeType(i int32) string {
	if i < 0 {
		return ""
	}
	if s := x.nodes[i].symbol; int(s) < len(x.g.nodeTypes) {
		return x.g.nodeTypes[s]
	}
	return "ERROR"
}

// child is the first child with the field, -1 when there is none.
func (x *extraction) child(i int32, field string) int32 {
	id := x.g.fields[field]
	if i < 0 || id == 0 {
		return -1
	}
	for c := range x.children(i) {
		if x.nodes[c].field == id {
			return c
		}
	}
	return -1
}

// first is the first child of one of the types, -1 when there is none.
func (x *extraction) first(i int32, types ...string) int32 {
	for c := range x.children(i) {
		if x.is(c, types...) {
			return c
		}
	}
	return -1
}

// firstChild is the first named child of nodes[i], -1 when there is none.
func (x *extraction) firstChild(i int32) int32 {
	if i < 0 || x.nodes[i].next == i+1 {
		return -1
	}
	return i + 1
}

// within is the first descendant of one of the types, -1 when there is none.
func (x *extraction) within(i int32, types ...string) int32 {
	if i < 0 {
		return -1
	}
	for d := i; d < min(x.nodes[i].next, i+maxClimb); d++ {
		if x.is(d, types...) {
			return d
		}
	}
	return -1
}

func (x *extraction) children(i int32) func(func(int32) bool) {
	return func(yield func(int32) bool) {
		if i < 0 {
			return
		}
		for c := i + 1; c < x.nodes[i].next; c = x.nodes[c].next {
			if !yield(c) {
				return
			}
		}
	}
}

func (x *extraction) bytes(i int32) []byte {
	if i < 0 {
		return nil
	}
	return x.text[x.nodes[i].start:x.nodes[i].end]
}

// string is the text of nodes[i]; equal names share one string.
func (x *extraction) string(i int32) string { return x.intern(x.bytes(i)) }

func (x *extraction) intern(b []byte) string {
	if s, ok := x.names[string(b)]; ok {
		return s
	}
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	x.names[string(b)] = s
	return s
}

// line is the line of a byte. The walk asks mostly for lines near the last one.
func (x *extraction) line(offset uint32) int {
	x.cursor = x.lines.find(int(offset), x.cursor)
	return x.cursor
}

// last is the line of the last byte of nodes[i]; a trailing line break does not count.
func (x *extraction) last(i int32) int {
	end := x.nodes[i].end
	for end > x.nodes[i].start && (x.text[end-1] == '\n' || x.text[end-1] == '\r') {
		end--
	}
	if end > x.nodes[i].start {
		end--
	}
	return x.line(end)
}

func (x *extraction) comment(i int32) {
	s := Span{int(x.nodes[i].start), int(x.nodes[i].end)}
	if n := len(x.Comments); n > 0 && x.Comments[n-1].End > s.Start {
		return
	}
	x.Comments = append(x.Comments, s)
	x.markLead(i)
}

// markLead notes the lines that nodes[i] fills alone.
func (x *extraction) markLead(i int32) {
	first, last := x.line(x.nodes[i].start), x.last(i)
	if len(bytes.TrimSpace(x.text[x.lines[first-1]:x.nodes[i].start])) > 0 {
		return
	}
	end, rest := int(x.nodes[i].end), len(x.text)
	if last < len(x.lines) {
		rest = x.lines[last]
	}
	if end < rest && len(bytes.TrimSpace(x.text[end:rest])) > 0 {
		return
	}
	for l := first; l <= last; l++ {
		x.lead[l] = true
	}
}

// part reports whether nodes[i] is the part of its parent that the rule names.
func (x *extraction) part(p part, i int32) bool {
	if p.any {
		return true
	}
	parent := x.nodes[i].parent
	if p.first && i == parent+1 || p.last && x.nodes[i].next == x.nodes[parent].next {
		return true
	}
	f := x.nodes[i].field
	return f != 0 && slices.Contains(p.fields, f)
}

// define makes a symbol of nodes[i], or opens a scope. False: it is no definition
// here.
func (x *extraction) define(d *definition, i int32) bool {
	outer := *x.top()
	found := found{name: -1, kind: d.kind}
	if d.find != nil {
		if found = d.find(x, i); found.kind == "" && found.only == "" {
			return false
		}
	} else if d.kind == "" {
		found.only = simpleName(x.string(x.child(i, d.name)))
	} else if field := x.g.fields[d.name]; field != 0 && (d.kind == Constant || d.kind == Variable) {
		if outer.local || outer.kind != "" && outer.kind != Module {
			return false
		}
		// One declaration may name several; the last one opens the scope.
		for c := range x.children(i) {
			if x.nodes[c].field == field && x.role(c) != nil && x.role(c).leaf {
				if found.name >= 0 {
					x.add(d, i, found, outer)
				}
				found.name = c
			}
		}
	} else {
		found.name = x.child(i, d.name)
	}
	if found.only != "" {
		x.enter(i, scope{symbol: outer.symbol, kind: Class, path: join(outer.path, found.only), local: outer.local}, -1, x.startLine(i))
		return true
	}
	if found.name < 0 && found.text == "" {
		return false
	}
	if (found.kind == Constant || found.kind == Variable) && (outer.local || outer.kind != "" && outer.kind != Module && !found.member) {
		return false
	}
	s := x.add(d, i, found, outer)
	if s < 0 {
		return false
	}
	sym := &x.Symbols[s]
	inner := scope{symbol: s, kind: sym.Kind, path: join(sym.Scope, sym.Name), local: outer.local || sym.Kind == Function || sym.Kind == Method}
	x.enter(i, inner, s, sym.StartLine)
	return true
}

func (x *extraction) enter(i int32, s scope, symbol, start int) {
	s.next = x.nodes[i].next
	s.region = len(x.regions)
	x.regions = append(x.regions, region{start, x.last(i), symbol, x.top().region, s.kind, s.path})
	x.open = append(x.open, s)
}

// add appends the symbol and returns its index, -1 when it has no name.
func (x *extraction) add(d *definition, i int32, f found, outer scope) int {
	s := Symbol{Name: f.text, Kind: f.kind, Scope: outer.path, Forward: f.forward || d.forward}
	at := i
	if f.name >= 0 {
		at = f.name
		x.named[f.name] = true
		if s.Name == "" {
			s.Name = x.string(f.name)
		}
	}
	s.Name = strings.TrimSpace(s.Name)
	if s.Name == "" || len(s.Name) > maxName {
		return -1
	}
	if f.scope != "" {
		s.Scope = join(outer.path, f.scope)
	}
	if s.Kind == Function && holdsMethods(outer.kind) {
		s.Kind = Method
	}
	s.Name, s.Scope = strings.ToValidUTF8(s.Name, "\uFFFD"), strings.ToValidUTF8(s.Scope, "\uFFFD")
	s.NameLine = x.line(x.nodes[at].start)
	s.EndLine = max(x.last(i), s.NameLine)
	s.StartLine = min(x.startLine(i), s.NameLine)
	s.Signature = x.signature(i, d.body, s.Kind)
	s.Exported = x.g.exported == nil || x.g.exported(x, i, &s)
	x.Symbols = append(x.Symbols, s)
	return len(x.Symbols) - 1
}

func holdsMethods(k Kind) bool {
	return k == Class || k == Struct || k == Interface || k == Trait || k == Enum
}

// maxClimb bounds the way up or through a tree that is looked at for one node, so that
// a hostile nesting does not cost the square of its depth.
const maxClimb = 400

const maxName = 200 // bytes; longer "names" come from broken text

// wrapped is the outermost node that holds nothing but nodes[i] and its modifiers
// (an export statement, a decorated definition, a template).
func (x *extraction) wrapped(i int32) int32 {
	for p := x.nodes[i].parent; p >= 0; p = x.nodes[p].parent {
		r := x.role(p)
		if r == nil || !r.wrapper {
			break
		}
		if c := p + 1; c != i && x.nodes[c].symbol == x.nodes[i].symbol {
			break // a list of declarations, and not its first
		}
		i = p
	}
	return i
}

// startLine is the first line of a definition with the comments, attributes and
// decorators directly above it.
func (x *extraction) startLine(i int32) int {
	l := x.line(x.nodes[x.wrapped(i)].start)
	for l > 1 && x.lead[l-1] {
		l--
	}
	return l
}

// signature is the text of a definition up to its body on one line.
func (x *extraction) signature(i int32, body string, k Kind) string {
	start, end := x.nodes[i].start, x.nodes[i].end
	if w := x.wrapped(i); bytes.IndexByte(x.text[x.nodes[w].start:start], '\n') < 0 {
		start = x.nodes[w].start
	}
	// Attributes and comments that the grammar puts inside do not belong to it.
	for c := i + 1; c < x.nodes[i].next && x.role(c) != nil && (x.role(c).lead || x.role(c).comment); c = x.nodes[c].next {
		start = x.nodes[c].end
	}
	if body == "" {
		body = "body"
	}
	b := x.child(i, body)
	for c := range x.children(i) {
		if r := x.role(c); r != nil && r.comment && x.nodes[c].start > start {
			end = x.nodes[c].start
			break
		}
	}
	if b < 0 {
		b = x.first(i, x.g.bodies...)
	}
	if b < 0 && x.g.bodyIn != nil {
		b = x.g.bodyIn(x, i)
	}
	switch {
	case b >= 0:
		end = max(start, min(end, x.nodes[b].start))
	case k != Function && k != Method:
		if n := bytes.IndexByte(x.text[start:end], '\n'); n >= 0 {
			end = start + uint32(n)
		}
	}
	return foldLine(x.text[start:end])
}

const maxSignature = 240 // bytes

// foldLine is the text on one line: white space folded, an opening brace or colon at
// the end removed, cut at maxSignature.
func foldLine(text []byte) string {
	const slack = 4 // signatures hold runs of white space
	if len(text) > slack*maxSignature {
		text = text[:slack*maxSignature]
	}
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "")), " ")
	s = strings.TrimSuffix(strings.TrimRight(s, " {:;"), "=>")
	s = strings.TrimRight(s, " =")
	if len(s) > maxSignature {
		n := maxSignature
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = strings.TrimRight(s[:n], " ")
	}
	return s
}

// reference records the identifier nodes[i], unless it is the name of a definition,
// a local variable or a word of the language.
func (x *extraction) reference(i int32, r *role) {
	if x.named[i] {
		return
	}
	n := &x.nodes[i]
	if n.end-n.start < 2 || n.end-n.start > maxName {
		return
	}
	b := x.text[n.start:n.end]
	if x.g.skip[string(b)] {
		return
	}
	kind, member, at := Use, false, i
	parent := x.role(n.parent)
	for parent != nil && parent.path.set {
		if !x.part(parent.path, at) {
			break
		}
		if at != x.nodes[at].parent+1 {
			member = true
		}
		at = x.nodes[at].parent
		parent = x.role(x.nodes[at].parent)
	}
	switch {
	case i < x.imports && !r.callOnly:
		kind = Import_
	case parent != nil && parent.call.set && x.part(parent.call, at) && (x.g.callIf == nil || x.g.callIf(x, at)):
		kind = Call
		member = member || at != x.nodes[at].parent+1
	case r.callOnly:
		return
	case i < x.heirs && (parent == nil || !parent.arguments):
		kind = Inherit
	case r.typeName, parent != nil && parent.types.set && x.part(parent.types, at):
		kind = TypeUse
	case member:
	default:
		if x.bind(i) || x.locals[string(b)] > i || parent != nil && parent.ignore.set && x.part(parent.ignore, at) {
			return
		}
	}
	if kind == Call && !member && x.locals[string(b)] > i {
		return
	}
	if x.g.dotted {
		if b = b[bytes.LastIndexByte(b, '.')+1:]; len(b) == 0 {
			return
		}
	}
	x.refer(x.intern(b), x.line(n.start), kind)
}

var strength = map[RefKind]int{Use: 0, TypeUse: 1, Call: 2, Inherit: 3, Import_: 4}

// refer appends a reference; of several to one name on one line the most telling stays.
func (x *extraction) refer(name string, line int, kind RefKind) {
	symbol := x.top().symbol
	for j := len(x.References) - 1; j >= 0 && j >= len(x.References)-32 && x.References[j].Line == line; j-- {
		if r := &x.References[j]; r.Name == name {
			if strength[kind] > strength[r.Kind] {
				r.Kind = kind
			}
			return
		}
	}
	x.References = append(x.References, Reference{name, line, kind, symbol})
}

// bind notes nodes[i] as a local name when it stands where the language binds one: a
// parameter, a declaration inside a function, a loop variable.
func (x *extraction) bind(i int32) bool {
	at := i
	for range 4 { // patterns nest, but seldom deeper
		p := x.nodes[at].parent
		r := x.role(p)
		if r == nil {
			return false
		}
		if r.bind.set && x.part(r.bind, at) {
			end := x.top().next
			if !x.top().local {
				if r.bindTop {
					return false
				}
				end = x.nodes[p].next // outside functions: the statement
				for n := 0; n < maxClimb && x.nodes[p].parent > 0; n++ {
					p = x.nodes[p].parent
					end = x.nodes[p].next
				}
			}
			name := x.intern(x.bytes(i))
			x.locals[name] = max(x.locals[name], end)
			return true
		}
		if !r.pattern {
			return false
		}
		at = p
	}
	return false
}

func (x *extraction) addImport(i int32, path string, names ...string) {
	if path = strings.TrimSpace(path); path == "" || len(path) > 4*maxName {
		return
	}
	x.Imports = append(x.Imports, Import{strings.ToValidUTF8(path, "\uFFFD"), names, x.line(x.nodes[i].start)})
}

func join(scope, name string) string {
	if scope == "" || name == "" {
		return scope + name
	}
	if len(scope)+len(name) > 2*maxName { // broken or hostile nesting
		return scope
	}
	return scope + "." + name
}

// simpleName is a type's name without its path and type arguments: "S" of "a::S<T>".
func simpleName(s string) string {
	if i := strings.IndexAny(s, "<[({ \n"); i > 0 {
		s = s[:i]
	}
	if i := strings.LastIndexAny(s, ":.\\"); i >= 0 {
		s = s[i+1:]
	}
	return strings.TrimLeft(s, "&*")
}

// unquote is a string literal's text without quotes.
func unquote(s string) string { return strings.Trim(s, "\"'`<>") }

// lines holds the byte offset at which each line starts. Lines end with "\n"; a text
// that ends with "\n" has no further empty line, an empty text has one line.
type lines []int

func newLines(text []byte) lines {
	l := make(lines, 1, 1+bytes.Count(text, []byte{'\n'}))
	for i, b := range text {
		if b == '\n' && i+1 < len(text) {
			l = append(l, i+1)
		}
	}
	return l
}

// find is the 1-based line of a byte offset; hint is a line near it.
func (l lines) find(offset, hint int) int {
	if hint > 0 && hint <= len(l) && l[hint-1] <= offset {
		for n := 0; n < 4; n++ {
			if hint == len(l) || l[hint] > offset {
				return hint
			}
			hint++
		}
	}
	return max(1, sort.SearchInts(l, offset+1))
}
