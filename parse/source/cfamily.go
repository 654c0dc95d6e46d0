package source

import (
	"bytes"
	"regexp"
	"strings"

	sitter "github.com/smacker/go-tree-sitter"
)

// cFamily is the entry for C and, with classes, C++.
func cFamily(language func() *sitter.Language, classes bool) *grammar {
	g := &grammar{
		language: language,
		prepare:  blankMacros,
		define: map[string]definition{
			"function_definition":  {find: cFunction},
			"declaration":          {find: cDeclaration},
			"type_definition":      {find: cTypedef},
			"struct_specifier":     {find: cType(Struct)},
			"union_specifier":      {find: cType(Struct)},
			"enum_specifier":       {find: cType(Enum)},
			"preproc_def":          {find: cMacro},
			"preproc_function_def": {find: cMacro},
		},
		imports:    map[string]func(*extraction, int32) bool{"preproc_include": cInclude},
		comments:   []string{"comment"},
		names:      []string{"identifier", "field_identifier"},
		typeNames:  []string{"type_identifier"},
		path:       []string{"field_expression.field", "parenthesized_expression"},
		calls:      []string{"call_expression.function"},
		binds:      []string{"parameter_declaration.declarator", "preproc_params"},
		bindsLocal: []string{"declaration.declarator"},
		patterns:   []string{"pointer_declarator", "array_declarator", "init_declarator", "function_declarator", "parenthesized_declarator"},
		ignore:     []string{"field_declaration.declarator", "enumerator.name", "pointer_declarator", "array_declarator", "field_designator"},
		builtins:   "if else for while do switch case break return goto default struct union enum sizeof static const void int char long short unsigned double float NULL nullptr true false this size_t ssize_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t ptrdiff_t bool FILE std override final defined __cplusplus string",
		exported: func(x *extraction, i int32, s *Symbol) bool {
			return holdsMethods(x.top().kind) || string(x.bytes(x.first(i, "storage_class_specifier"))) != "static"
		},
	}
	if !classes {
		return g
	}
	for t, d := range map[string]definition{
		"class_specifier":      {find: cType(Class)},
		"field_declaration":    {find: cMember},
		"namespace_definition": {kind: Module},
		"alias_declaration":    {kind: Type},
		"concept_definition":   {kind: Type},
	} {
		g.define[t] = d
	}
	g.wrappers = []string{"template_declaration"}
	g.names = append(g.names, "namespace_identifier")
	g.path = append(g.path, "qualified_identifier.name", "template_function.name", "template_type.name", "template_method.name")
	g.calls = append(g.calls, "new_expression.type")
	g.inherits = []string{"base_class_clause"}
	g.arguments = []string{"template_argument_list"}
	g.binds = append(g.binds, "optional_parameter_declaration.declarator", "for_range_loop.declarator", "type_parameter_declaration", "variadic_parameter_declaration.declarator")
	g.patterns = append(g.patterns, "reference_declarator", "structured_binding_declarator", "variadic_declarator")
	g.ignore = append(g.ignore, "reference_declarator", "field_initializer#first", "namespace_definition.name", "nested_namespace_specifier", "destructor_name")
	return g
}

// Macros before a name that the grammars cannot know and stumble over: an attribute
// between "class" and its name, an export macro before a declaration, a macro alone
// on its line at the margin.
var attributeMacros = regexp.MustCompile(`(?m)` +
	`\b(?:class|struct)[ \t]+([A-Z][A-Z0-9_]{2,}(?:\([^()\n]*\))?)[ \t]+[A-Za-z_]` +
	`|^[ \t]*([A-Z][A-Z0-9]*_[A-Z0-9_]+(?:\([^()\n]*\))?)[ \t]+[A-Za-z_][\w:<>]*[ \t*&]+[ \t*&]*[\w:~]+[ \t]*\(` +
	`|^([A-Z][A-Z0-9]*_[A-Z0-9_]+)[ \t]*\r?$`)

// blankMacros is the text with such macros replaced by spaces.
func blankMacros(text []byte) []byte {
	var out []byte
	for _, m := range attributeMacros.FindAllSubmatchIndex(text, -1) {
		if out == nil {
			out = bytes.Clone(text)
		}
		for k := 2; k < len(m); k += 2 {
			for at := m[k]; at >= 0 && at < m[k+1]; at++ {
				out[at] = ' '
			}
		}
	}
	if out == nil {
		return text
	}
	return out
}

// declarator follows nested declarators to the declared name. scope is the path
// before it, function whether a function is declared rather than a variable.
func (x *extraction) declarator(i int32) (name int32, scope string, function bool) {
	at := x.child(i, "declarator")
	for at >= 0 {
		next := x.child(at, "declarator")
		switch x.nodeType(at) {
		case "function_declarator":
			function = true
		case "parenthesized_declarator":
			next = x.first(at, "pointer_declarator", "function_declarator", "identifier", "field_identifier", "type_identifier", "reference_declarator")
			if x.is(next, "pointer_declarator", "reference_declarator") {
				function = false // a pointer to a function
			}
		case "qualified_identifier":
			if s := x.child(at, "scope"); s >= 0 {
				scope = join(scope, simpleName(x.string(s)))
			}
			next = x.child(at, "name")
		case "template_function", "template_type", "template_method":
			next = x.child(at, "name")
		case "reference_declarator", "attributed_declarator":
			if next < 0 {
				next = x.firstChild(at)
			}
		case "identifier", "field_identifier", "type_identifier", "destructor_name", "operator_name", "operator_cast":
			return at, scope, function
		}
		at = next
	}
	return -1, "", false
}

func cFunction(x *extraction, i int32) found {
	name, scope, _ := x.declarator(i)
	f := found{name: name, kind: Function, scope: scope}
	if name < 0 {
		return found{}
	}
	if scope != "" {
		f.kind = Method
	}
	return f
}

func cDeclaration(x *extraction, i int32) found {
	if x.top().local {
		return found{}
	}
	name, scope, function := x.declarator(i)
	switch {
	case name < 0 || x.is(name, "type_identifier"):
		return found{}
	case function:
		return found{name: name, kind: Function, scope: scope, forward: true}
	}
	f := found{name: name, kind: Variable, scope: scope}
	head := string(x.text[x.nodes[i].start:x.nodes[name].start])
	f.forward = strings.HasPrefix(head, "extern ")
	if strings.Contains(head, "const ") || strings.Contains(head, "constexpr ") {
		f.kind = Constant
	}
	return f
}

// cMember finds methods that a class declares.
func cMember(x *extraction, i int32) found {
	if name, _, function := x.declarator(i); function && name >= 0 {
		return found{name: name, kind: Method, forward: true}
	}
	return found{}
}

func cTypedef(x *extraction, i int32) found {
	name, _, _ := x.declarator(i)
	if name < 0 || x.top().local {
		return found{}
	}
	f := found{name: name, kind: Type}
	inner := x.child(i, "type")
	if x.child(inner, "body") < 0 {
		return f
	}
	tag := x.child(inner, "name")
	if tag < 0 {
		f.kind = Struct
		if x.is(inner, "enum_specifier") {
			f.kind = Enum
		}
		return f
	}
	// The type with the tag is the definition; the other name is one beside it.
	if string(x.bytes(tag)) != string(x.bytes(name)) {
		x.add(&definition{}, i, f, *x.top())
	} else {
		x.named[name] = true
	}
	return found{}
}

func cType(kind Kind) func(*extraction, int32) found {
	return func(x *extraction, i int32) found {
		name := x.child(i, "name")
		if x.is(name, "qualified_identifier", "template_type") {
			name = x.within(name, "type_identifier")
		}
		if name < 0 {
			return found{}
		}
		if x.child(i, "body") >= 0 {
			return found{name: name, kind: kind}
		}
		if x.is(x.nodes[i].parent, "translation_unit", "declaration_list", "template_declaration", "preproc_ifdef", "preproc_if") {
			return found{name: name, kind: kind, forward: true}
		}
		return found{}
	}
}

func cMacro(x *extraction, i int32) found {
	name := x.child(i, "name")
	s := strings.TrimRight(string(x.bytes(name)), "_")
	if x.child(i, "value") < 0 && !strings.HasPrefix(s, "HAVE_") && (strings.HasSuffix(s, "_H") || strings.HasSuffix(s, "_HPP") || strings.HasSuffix(s, "INCLUDED")) {
		return found{} // an include guard
	}
	return found{name: name, kind: Macro}
}

func cInclude(x *extraction, i int32) bool {
	x.addImport(i, unquote(string(x.bytes(x.child(i, "path")))))
	return true
}
