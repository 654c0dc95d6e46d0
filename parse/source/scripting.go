package source

import (
	"bytes"
	"slices"
	"strings"

	"github.com/smacker/go-tree-sitter/elixir"
	"github.com/smacker/go-tree-sitter/lua"
	"github.com/smacker/go-tree-sitter/php"
)

func rubyGrammar() *grammar {
	return &grammar{
		language: boundedRuby,
		define: map[string]definition{
			"method":           {kind: Method},
			"singleton_method": {kind: Method},
			"class":            {find: rubyType(Class)},
			"module":           {find: rubyType(Module)},
			"assignment":       {find: rubyAssignment},
			"call":             {find: rubyAttributes},
		},
		imports:    map[string]func(*extraction, int32) bool{"call": rubyRequire},
		comments:   []string{"comment"},
		names:      []string{"identifier", "constant"},
		path:       []string{"scope_resolution.name"},
		calls:      []string{"call.method"},
		inherits:   []string{"superclass"},
		binds:      []string{"method_parameters", "block_parameters", "lambda_parameters", "keyword_parameter.name", "optional_parameter.name", "splat_parameter.name", "hash_splat_parameter.name", "block_parameter.name", "exception_variable", "for.pattern", "destructured_parameter"},
		bindsLocal: []string{"assignment.left", "operator_assignment.left", "left_assignment_list"},
		builtins: "self nil true false require require_relative attr_reader attr_writer attr_accessor include extend prepend private protected public module_function new puts raise lambda proc " +
			"alias_method describe it context each map String Array Hash Integer Symbol loop freeze nil? to_s to_sym is_a? respond_to? class",
	}
}

func rubyType(kind Kind) func(*extraction, int32) found {
	return func(x *extraction, i int32) found {
		name := x.child(i, "name")
		if x.is(name, "scope_resolution") {
			return found{name: x.child(name, "name"), kind: kind, scope: strings.ReplaceAll(x.string(x.child(name, "scope")), "::", ".")}
		}
		return found{name: name, kind: kind}
	}
}

func rubyAssignment(x *extraction, i int32) found {
	left := x.child(i, "left")
	if !x.is(left, "constant") || x.top().local {
		return found{}
	}
	f := found{name: left, kind: Constant, member: true}
	if right := x.child(i, "right"); x.is(right, "call") {
		if s := string(x.bytes(right)); strings.HasPrefix(s, "Struct.new") || strings.HasPrefix(s, "Class.new") || strings.HasPrefix(s, "Data.define") {
			f.kind = Class
		}
	}
	return f
}

// rubyAttributes finds the accessors that attr_reader and its like define.
func rubyAttributes(x *extraction, i int32) found {
	if method := string(x.bytes(x.child(i, "method"))); !slices.Contains([]string{"attr_reader", "attr_writer", "attr_accessor", "attr"}, method) {
		return found{}
	}
	outer := *x.top()
	for c := range x.children(x.child(i, "arguments")) {
		if x.is(c, "simple_symbol") {
			if s := x.add(&definition{}, i, found{name: c, text: strings.TrimPrefix(x.string(c), ":"), kind: Method}, outer); s >= 0 {
				x.Symbols[s].Signature = foldLine(x.bytes(i))
			}
		}
	}
	return found{}
}

// rubyRequire finds imports; an included module is a base type too.
func rubyRequire(x *extraction, i int32) bool {
	switch string(x.bytes(x.child(i, "method"))) {
	case "require", "require_relative", "load", "autoload":
		if s := x.within(x.child(i, "arguments"), "string_content"); s >= 0 && x.child(i, "receiver") < 0 {
			x.addImport(i, x.string(s))
			return true
		}
	case "include", "extend", "prepend":
		if x.child(i, "receiver") < 0 && !x.top().local {
			x.heirs = x.nodes[i].next
		}
	}
	return false
}

func phpGrammar() *grammar {
	return &grammar{
		language: php.GetLanguage,
		define: map[string]definition{
			"class_declaration":     {kind: Class},
			"interface_declaration": {kind: Interface},
			"trait_declaration":     {kind: Trait},
			"enum_declaration":      {kind: Enum},
			"method_declaration":    {find: withBody(Method)},
			"function_definition":   {kind: Function},
			"const_element": {find: func(x *extraction, i int32) found {
				return found{name: x.first(i, "name"), kind: Constant}
			}},
			"namespace_definition": {find: func(x *extraction, i int32) found {
				name := x.child(i, "name")
				x.Package = string(x.bytes(name))
				return found{}
			}},
		},
		imports: map[string]func(*extraction, int32) bool{
			"namespace_use_declaration": phpUse,
			"require_expression":        phpRequire, "require_once_expression": phpRequire,
			"include_expression": phpRequire, "include_once_expression": phpRequire,
		},
		comments: []string{"comment"},
		lead:     []string{"attribute_list"},
		names:    []string{"name"},
		path:     []string{"qualified_name#last", "member_access_expression.name", "class_constant_access_expression#last", "nullsafe_member_access_expression.name"},
		calls:    []string{"function_call_expression.function", "member_call_expression.name", "nullsafe_member_call_expression.name", "scoped_call_expression.name", "object_creation_expression#first", "attribute#first"},
		types:    []string{"named_type"},
		inherits: []string{"base_clause", "class_interface_clause", "use_declaration"},
		ignore:   []string{"variable_name", "namespace_name", "const_element#first", "enum_case.name"},
		builtins: "self static parent null true false array string int bool float NULL TRUE FALSE __DIR__ __construct count isset sprintf Override Exception",
		exported: notPrivate,
	}
}

func phpUse(x *extraction, i int32) bool {
	prefix := ""
	if p := x.first(i, "namespace_name"); p >= 0 {
		prefix = x.string(p) + `\`
	}
	for d := i + 1; d < x.nodes[i].next; d++ {
		if x.is(d, "namespace_use_clause", "namespace_use_group_clause") {
			path := prefix + x.string(x.first(d, "qualified_name", "name", "namespace_name"))
			x.addImport(i, path, simpleName(path))
		}
	}
	return true
}

func phpRequire(x *extraction, i int32) bool {
	if s := x.within(i, "string_content", "string"); s >= 0 {
		x.addImport(i, unquote(x.string(s)))
	}
	return false
}

func shellGrammar() *grammar {
	return &grammar{
		language: boundedBash,
		define: map[string]definition{
			"function_definition": {kind: Function},
			"variable_assignment": {find: func(x *extraction, i int32) found {
				p := x.nodes[i].parent
				if !x.is(p, "program") && !(x.is(p, "declaration_command") && x.is(x.nodes[p].parent, "program")) {
					return found{}
				}
				f := found{name: x.child(i, "name"), kind: Variable}
				if x.is(p, "declaration_command") && bytes.HasPrefix(x.bytes(p), []byte("readonly")) {
					f.kind = Constant
				}
				return f
			}},
		},
		imports: map[string]func(*extraction, int32) bool{"command": func(x *extraction, i int32) bool {
			name := string(x.bytes(x.child(i, "name")))
			if argument := x.child(i, "argument"); argument >= 0 && (name == "source" || name == "." || name == "load") {
				x.addImport(i, unquote(x.string(argument)))
				return true
			}
			return false
		}},
		comments:   []string{"comment"},
		names:      []string{"variable_name"},
		callNames:  []string{"word"},
		calls:      []string{"command_name"},
		bindsLocal: []string{"variable_assignment.name", "for_statement.variable"},
		builtins:   "alias echo printf cd local return exit test eval set unset shift export readonly declare source true false exec trap read cat grep sed rm mkdir cp mv ls IFS PATH HOME PWD break continue",
	}
}

func luaGrammar() *grammar {
	return &grammar{
		language: lua.GetLanguage,
		spaced:   true,
		reset:    "x = \"\"\n",
		prepare:  func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("---"), []byte("-- ")) }, // its reading of types in comments fails on real ones
		define: map[string]definition{
			"function_statement":   {find: luaFunction},
			"variable_declaration": {find: luaVariable},
			"field": {find: func(x *extraction, i int32) found {
				if name := x.child(i, "name"); x.is(x.child(i, "value"), "function") && x.is(name, "identifier") {
					return found{name: name, kind: Function}
				}
				return found{}
			}},
		},
		imports:  map[string]func(*extraction, int32) bool{"function_call": luaRequire},
		comments: []string{"comment", "emmy_documentation"},
		bodies:   []string{"function_body"},
		names:    []string{"identifier"},
		calls:    []string{"function_call"},
		callIf: func(x *extraction, i int32) bool {
			next := x.nodes[i].next
			return next >= int32(len(x.nodes)) || x.nodes[next].parent != x.nodes[i].parent || !x.is(next, "identifier", "self_call_colon", "table_dot", "table_colon")
		},
		binds:      []string{"parameter_list"},
		bindsLocal: []string{"variable_declarator", "for_numeric"},
		ignore:     []string{"field.name"},
		builtins:   "self nil true false require ipairs pairs type table string math tostring tonumber print error pcall setmetatable getmetatable unpack select assert vim local",
		exported: func(x *extraction, i int32, s *Symbol) bool {
			return !strings.HasPrefix(s.Signature, "local ")
		},
	}
}

// luaName takes the last of the identifiers below nodes[i] as the name and those
// before it as the scope.
func (x *extraction) luaName(i int32) (name int32, scope string) {
	if x.is(i, "identifier") {
		return i, ""
	}
	name = -1
	for c := range x.children(i) {
		if x.is(c, "identifier") {
			if name >= 0 {
				scope = join(scope, x.string(name))
			}
			name = c
		}
	}
	return name, scope
}

func luaFunction(x *extraction, i int32) found {
	n := x.child(i, "name")
	name, scope := x.luaName(n)
	f := found{name: name, kind: Function, scope: scope}
	if x.first(n, "table_colon") >= 0 {
		f.kind = Method
	}
	return f
}

func luaVariable(x *extraction, i int32) found {
	name, scope := x.luaName(x.child(i, "name"))
	if name < 0 {
		return found{}
	}
	f := found{name: name, kind: Variable, scope: scope}
	switch value := x.child(i, "value"); {
	case x.is(value, "function"):
		f.kind = Function
	case x.nodes[i].parent != 0, x.is(value, "function_call") && bytes.HasPrefix(x.bytes(value), []byte("require")):
		return found{}
	}
	return f
}

func luaRequire(x *extraction, i int32) bool {
	if string(x.bytes(x.child(i, "prefix"))) != "require" {
		return false
	}
	if s := x.within(i, "string", "string_argument"); s >= 0 {
		x.addImport(i, strings.Trim(x.string(s), `"'[]`))
	}
	return true
}

func elixirGrammar() *grammar {
	return &grammar{
		language:  elixir.GetLanguage,
		dotted:    true,
		define:    map[string]definition{"call": {find: elixirCall}, "unary_operator": {find: elixirAttribute}},
		imports:   map[string]func(*extraction, int32) bool{"call": elixirImport},
		comments:  []string{"comment"},
		commentIf: map[string]func(*extraction, int32) bool{"unary_operator": func(x *extraction, i int32) bool { return x.attribute(i, "doc", "moduledoc", "typedoc") }},
		leadIf: map[string]func(*extraction, int32) bool{"unary_operator": func(x *extraction, i int32) bool {
			return x.attribute(i, "doc", "typedoc", "spec", "impl", "deprecated", "since")
		}},
		bodies:    []string{"do_block"},
		names:     []string{"alias"},
		callNames: []string{"identifier"},
		path:      []string{"dot.right"},
		calls:     []string{"call.target"},
		callIf: func(x *extraction, i int32) bool { // the name of a module attribute is no call
			p := x.nodes[x.nodes[i].parent].parent
			return !x.is(p, "unary_operator") || x.text[x.nodes[p].start] != '@'
		},
		ignore: []string{"keyword"},
		builtins: "def defp defmodule defmacro defmacrop defguard defguardp defdelegate defstruct defexception defprotocol defimpl defoverridable use import alias require quote unquote if unless " +
			"case cond with for fn raise when and or not in do end type typep opaque spec doc moduledoc typedoc impl callback is_nil is_binary is_atom is_list is_map to_string assert test describe",
		exported: func(x *extraction, i int32, s *Symbol) bool {
			word, _, _ := strings.Cut(s.Signature, " ")
			return !slices.Contains([]string{"defp", "defmacrop", "defguardp", "@typep"}, word)
		},
	}
}

// attribute reports whether nodes[i] is one of these module attributes.
func (x *extraction) attribute(i int32, names ...string) bool {
	b := x.bytes(i)
	return len(b) > 1 && b[0] == '@' && slices.Contains(names, string(x.bytes(x.child(x.child(i, "operand"), "target"))))
}

func elixirCall(x *extraction, i int32) found {
	target := x.child(i, "target")
	if !x.is(target, "identifier") {
		return found{}
	}
	head := x.firstChild(x.first(i, "arguments"))
	if head < 0 {
		return found{}
	}
	f := found{kind: Function}
	switch string(x.bytes(target)) {
	case "defmodule", "defprotocol":
		if f.kind = Module; string(x.bytes(target)) == "defprotocol" {
			f.kind = Interface
		}
		if !x.is(head, "alias") {
			return found{}
		}
		path := x.string(head)
		if x.Package == "" {
			x.Package = path
		}
		f.name, f.text = head, path
		if dot := strings.LastIndexByte(path, '.'); dot >= 0 {
			f.text, f.scope = path[dot+1:], path[:dot]
		}
		return f
	case "defimpl":
		return found{only: x.string(head)}
	case "def", "defp", "defdelegate":
	case "defmacro", "defmacrop", "defguard", "defguardp":
		f.kind = Macro
	default:
		return found{}
	}
	if x.is(head, "binary_operator") { // a guard, or an operator
		head = x.child(head, "left")
	}
	if x.is(head, "call") {
		head = x.child(head, "target")
	}
	if !x.is(head, "identifier") {
		return found{}
	}
	f.name = head
	return f
}

// elixirAttribute finds types and callbacks.
func elixirAttribute(x *extraction, i int32) found {
	f := found{kind: Type}
	switch {
	case x.attribute(i, "type", "typep", "opaque"):
	case x.attribute(i, "callback", "macrocallback"):
		f.kind, f.forward = Function, true
	default:
		return found{}
	}
	head := x.child(x.first(x.first(x.child(i, "operand"), "arguments"), "binary_operator"), "left")
	if x.is(head, "call") {
		head = x.child(head, "target")
	}
	if !x.is(head, "identifier") {
		return found{}
	}
	f.name = head
	return f
}

func elixirImport(x *extraction, i int32) bool {
	target := x.child(i, "target")
	if !x.is(target, "identifier") || !slices.Contains([]string{"use", "import", "alias", "require"}, string(x.bytes(target))) {
		return false
	}
	head := x.firstChild(x.first(i, "arguments"))
	switch {
	case x.is(head, "alias"):
		path := x.string(head)
		x.addImport(i, path, simpleName(path))
	case x.is(head, "dot"):
		prefix := x.string(x.child(head, "left"))
		for c := range x.children(x.child(head, "right")) {
			x.addImport(i, join(prefix, x.string(c)), simpleName(x.string(c)))
		}
	default:
		return false
	}
	return true
}
