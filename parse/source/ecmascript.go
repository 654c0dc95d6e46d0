package source

import (
	"strings"

	sitter "github.com/smacker/go-tree-sitter"
)

// ecmaScript is the entry for JavaScript and, with types, TypeScript and TSX.
func ecmaScript(language func() *sitter.Language, typed, jsx bool) *grammar {
	g := &grammar{
		language: language,
		define: map[string]definition{
			"function_declaration":           {kind: Function},
			"generator_function_declaration": {kind: Function},
			"class_declaration":              {kind: Class},
			"class":                          {kind: Class},
			"method_definition":              {find: esMethod},
			"variable_declarator":            {find: esVariable},
			"pair":                           {find: esPair},
			"assignment_expression":          {find: esAssignment},
			"field_definition":               {find: esField("property")},
		},
		imports: map[string]func(*extraction, int32) bool{
			"import_statement": esImport, "export_statement": esExport, "call_expression": esRequire,
		},
		comments:   []string{"comment", "hash_bang_line"},
		lead:       []string{"decorator"},
		wrappers:   []string{"export_statement", "lexical_declaration", "variable_declaration", "expression_statement"},
		bodyIn:     esBody,
		names:      []string{"identifier", "property_identifier", "shorthand_property_identifier", "private_property_identifier"},
		path:       []string{"member_expression.property", "parenthesized_expression", "await_expression"},
		calls:      []string{"call_expression.function", "new_expression.constructor", "decorator"},
		inherits:   []string{"class_heritage"},
		arguments:  []string{"arguments"},
		binds:      []string{"formal_parameters", "arrow_function.parameter", "catch_clause.parameter", "for_in_statement.left", "assignment_pattern.left"},
		bindsLocal: []string{"variable_declarator.name"},
		patterns:   []string{"object_pattern", "array_pattern", "rest_pattern", "pair_pattern", "assignment_pattern"},
		ignore:     []string{"pair.key", "variable_declarator.name", "labeled_statement.label", "function_expression.name"},
		builtins: "undefined null true false this super arguments console log Object Array String Number Boolean Promise Map Set Symbol JSON Math Date Error RegExp " +
			"window document globalThis process require module exports length push toString prototype constructor any unknown never string number boolean void object " +
			"Record Partial Readonly Pick Omit ReturnType describe it expect test div span",
		exported: esExported,
	}
	if jsx {
		g.calls = append(g.calls, "jsx_opening_element.name", "jsx_self_closing_element.name")
		g.ignore = append(g.ignore, "jsx_attribute#first", "jsx_closing_element.name")
	}
	if !typed {
		return g
	}
	for t, d := range map[string]definition{
		"abstract_class_declaration": {kind: Class},
		"interface_declaration":      {kind: Interface},
		"type_alias_declaration":     {kind: Type, body: "value"},
		"enum_declaration":           {kind: Enum},
		"internal_module":            {find: esModule},
		"module":                     {find: esModule},
		"function_signature":         {kind: Function, forward: true},
		"method_signature":           {kind: Method, forward: true},
		"abstract_method_signature":  {kind: Method, forward: true},
		"public_field_definition":    {find: esField("name")},
	} {
		g.define[t] = d
	}
	delete(g.define, "field_definition")
	g.wrappers = append(g.wrappers, "ambient_declaration")
	g.typeNames = []string{"type_identifier"}
	g.path = append(g.path, "nested_type_identifier.name", "nested_identifier.property", "generic_type.name", "non_null_expression", "as_expression#first", "instantiation_expression#first")
	g.inherits = append(g.inherits, "extends_type_clause")
	g.arguments = append(g.arguments, "type_arguments")
	g.binds = append(g.binds, "required_parameter.pattern", "optional_parameter.pattern", "type_parameter.name")
	g.ignore = append(g.ignore, "property_signature.name", "public_field_definition.name", "enum_body.name", "enum_assignment.name")
	return g
}

// esFunction reports whether nodes[i] is a function as a value.
func (x *extraction) esFunction(i int32) bool {
	return x.is(i, "arrow_function", "function_expression", "function", "generator_function")
}

func esBody(x *extraction, i int32) int32 {
	for _, field := range []string{"value", "right"} {
		if v := x.child(i, field); x.esFunction(v) {
			return x.child(v, "body")
		}
	}
	return -1
}

func esMethod(x *extraction, i int32) found {
	f := found{name: x.child(i, "name"), kind: Method}
	if !x.is(x.nodes[i].parent, "class_body") {
		f.kind = Function
	}
	return f
}

func esVariable(x *extraction, i int32) found {
	f := found{name: x.child(i, "name"), kind: Variable}
	if !x.is(f.name, "identifier") {
		return found{}
	}
	switch v := x.child(i, "value"); {
	case x.esFunction(v):
		f.kind = Function
	case x.is(v, "class"):
		f.kind = Class
	case x.top().local || x.nodes[i].parent >= 0 && !x.esTop(x.nodes[i].parent):
		return found{}
	case x.child(v, "function") >= 0 && string(x.bytes(x.child(v, "function"))) == "require":
		return found{}
	default:
		if p := x.bytes(x.nodes[i].parent); len(p) > 5 && string(p[:5]) == "const" {
			f.kind = Constant
		}
	}
	return f
}

// esTop reports whether a declaration stands outside blocks.
func (x *extraction) esTop(i int32) bool {
	for i = x.nodes[i].parent; i > 0; i = x.nodes[i].parent {
		if !x.is(i, "export_statement", "ambient_declaration", "internal_module", "module", "statement_block", "expression_statement") {
			return false
		}
		if x.is(i, "statement_block") && !x.is(x.nodes[i].parent, "internal_module", "module") {
			return false
		}
	}
	return true
}

func esPair(x *extraction, i int32) found {
	if !x.esFunction(x.child(i, "value")) {
		return found{}
	}
	return found{name: x.child(i, "key"), text: unquote(x.string(x.child(i, "key"))), kind: Function}
}

func esField(field string) func(*extraction, int32) found {
	return func(x *extraction, i int32) found {
		if !x.esFunction(x.child(i, "value")) {
			return found{}
		}
		return found{name: x.child(i, field), kind: Method}
	}
}

// esAssignment finds `exports.foo = function`, `Foo.prototype.bar = function` and
// the like.
func esAssignment(x *extraction, i int32) found {
	left := x.child(i, "left")
	if !x.is(left, "member_expression") || !x.esFunction(x.child(i, "right")) && !x.is(x.child(i, "right"), "class") {
		return found{}
	}
	f := found{name: x.child(left, "property"), kind: Function}
	if x.is(x.child(i, "right"), "class") {
		f.kind = Class
	}
	object, prototype := strings.CutSuffix(string(x.bytes(x.child(left, "object"))), ".prototype")
	switch {
	case prototype:
		f.kind = Method
		f.scope = object
	case object == "module" || object == "exports" || object == "module.exports" || object == "this":
	case len(object) < maxName/4 && !strings.ContainsAny(object, " \n(["):
		f.scope = object
	}
	return f
}

func esModule(x *extraction, i int32) found {
	n := x.child(i, "name")
	return found{name: n, text: unquote(string(x.bytes(n))), kind: Module}
}

func esSource(x *extraction, i int32) string { return unquote(string(x.bytes(x.child(i, "source")))) }

func esImport(x *extraction, i int32) bool {
	var names []string
	for d := i + 1; d < x.nodes[i].next; d++ {
		switch x.nodeType(d) {
		case "import_specifier":
			names = append(names, x.string(x.child(d, "name")))
		case "import_clause":
			if c := x.firstChild(d); x.is(c, "identifier") {
				names = append(names, x.string(c))
			}
		case "namespace_import":
			local := x.string(x.first(d, "identifier"))
			names = append(names, local)
			x.locals[local] = int32(len(x.nodes))
		}
	}
	if x.child(i, "source") < 0 {
		return false
	}
	x.addImport(i, esSource(x, i), names...)
	return true
}

func esExport(x *extraction, i int32) bool {
	if x.child(i, "source") < 0 {
		return false
	}
	var names []string
	for c := range x.children(x.first(i, "export_clause")) {
		names = append(names, x.string(x.child(c, "name")))
	}
	x.addImport(i, esSource(x, i), names...)
	return true
}

// esRequire finds require("x") and import("x").
func esRequire(x *extraction, i int32) bool {
	f := x.child(i, "function")
	if s := x.bytes(f); string(s) != "require" && !x.is(f, "import") {
		return false
	}
	if argument := x.firstChild(x.child(i, "arguments")); x.is(argument, "string") {
		x.addImport(i, unquote(string(x.bytes(argument))))
	}
	return false
}

func esExported(x *extraction, i int32, s *Symbol) bool {
	if s.Kind == Method {
		return !strings.HasPrefix(s.Name, "#") && !strings.HasPrefix(s.Signature, "private ")
	}
	if x.is(i, "assignment_expression") {
		left := string(x.bytes(x.child(i, "left")))
		return strings.HasPrefix(left, "exports.") || strings.HasPrefix(left, "module.exports")
	}
	for p, n := i, 0; p >= 0 && n < maxClimb; p, n = x.nodes[p].parent, n+1 {
		if x.is(p, "export_statement") {
			return true
		}
		if x.is(p, "statement_block") && p != i {
			return false
		}
	}
	return false
}
