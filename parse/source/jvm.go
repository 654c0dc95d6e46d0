package source

import (
	"strings"

	"github.com/smacker/go-tree-sitter/java"
	"github.com/smacker/go-tree-sitter/scala"
)

// head is the text of nodes[i] before its child name: modifiers and keywords.
func (x *extraction) head(i, name int32) string {
	if name < 0 {
		return ""
	}
	return string(x.text[x.nodes[i].start:x.nodes[name].start])
}

// hasWord reports whether a word stands between white space: the keyword of a
// declaration whose grammar has one node type for several.
func hasWord(head, word string) bool {
	for _, w := range strings.Fields(head) {
		if w == word {
			return true
		}
	}
	return false
}

// notPrivate is the export rule of languages where everything is visible that is not
// private.
func notPrivate(x *extraction, i int32, s *Symbol) bool {
	return !hasWord(s.Signature, "private") && !hasWord(s.Signature, "fileprivate") && !strings.HasPrefix(s.Signature, "private[")
}

// public is the export rule of Java and C#.
func public(x *extraction, i int32, s *Symbol) bool {
	if hasWord(s.Signature, "public") || hasWord(s.Signature, "protected") {
		return true
	}
	return x.top().kind == Interface && !hasWord(s.Signature, "private")
}

func withBody(kind Kind) func(*extraction, int32) found {
	return func(x *extraction, i int32) found {
		return found{name: x.child(i, "name"), kind: kind, forward: x.child(i, "body") < 0}
	}
}

func javaGrammar() *grammar {
	return &grammar{
		language: java.GetLanguage,
		define: map[string]definition{
			"class_declaration":                   {kind: Class},
			"record_declaration":                  {kind: Class},
			"interface_declaration":               {kind: Interface},
			"annotation_type_declaration":         {kind: Interface},
			"enum_declaration":                    {kind: Enum},
			"method_declaration":                  {find: withBody(Method)},
			"constructor_declaration":             {kind: Method},
			"compact_constructor_declaration":     {kind: Method},
			"annotation_type_element_declaration": {kind: Method, forward: true},
			"package_declaration": {find: func(x *extraction, i int32) found {
				x.Package = string(x.bytes(x.first(i, "scoped_identifier", "identifier")))
				x.imports = x.nodes[i].next
				return found{}
			}},
		},
		imports: map[string]func(*extraction, int32) bool{"import_declaration": func(x *extraction, i int32) bool {
			name := x.first(i, "scoped_identifier", "identifier")
			path := string(x.bytes(name))
			if x.first(i, "asterisk") >= 0 {
				path += ".*"
			}
			x.addImport(i, path, simpleName(path))
			return true
		}},
		comments:   []string{"line_comment", "block_comment"},
		names:      []string{"identifier"},
		typeNames:  []string{"type_identifier"},
		path:       []string{"field_access.field", "scoped_identifier.name", "scoped_type_identifier#last", "generic_type#first", "method_reference#last"},
		calls:      []string{"method_invocation.name", "object_creation_expression.type", "annotation.name", "marker_annotation.name"},
		inherits:   []string{"superclass", "super_interfaces", "extends_interfaces"},
		arguments:  []string{"type_arguments"},
		binds:      []string{"formal_parameter.name", "catch_formal_parameter.name", "lambda_expression.parameters", "inferred_parameters", "enhanced_for_statement.name", "resource.name", "type_parameter"},
		bindsLocal: []string{"variable_declarator.name"},
		ignore:     []string{"variable_declarator.name", "element_value_pair.key", "enum_constant.name", "labeled_statement#first", "break_statement", "continue_statement"},
		builtins:   "Override String Object Integer Long Boolean Double Deprecated SuppressWarnings length System",
		exported:   public,
	}
}

func kotlinGrammar() *grammar {
	return &grammar{
		language: boundedKotlin,
		define: map[string]definition{
			"class_declaration": {find: func(x *extraction, i int32) found {
				name := x.first(i, "type_identifier", "simple_identifier")
				f := found{name: name, kind: Class}
				switch head := x.head(i, name); {
				case hasWord(head, "interface"):
					f.kind = Interface
				case hasWord(head, "enum"):
					f.kind = Enum
				}
				return f
			}},
			"object_declaration": {find: kotlinNamed(Class, "type_identifier", "simple_identifier")},
			"companion_object": {find: func(x *extraction, i int32) found {
				if name := x.first(i, "type_identifier"); name >= 0 {
					return found{name: name, kind: Class}
				}
				return found{name: -1, text: "Companion", kind: Class}
			}},
			"type_alias": {find: kotlinNamed(Type, "type_identifier")},
			"function_declaration": {find: func(x *extraction, i int32) found {
				name := x.first(i, "simple_identifier")
				f := found{name: name, kind: Function, forward: x.first(i, "function_body") < 0}
				if receiver := x.first(i, "user_type", "nullable_type"); receiver >= 0 && receiver < name {
					f.kind, f.scope = Method, simpleName(x.string(x.within(receiver, "type_identifier")))
				}
				return f
			}},
			"secondary_constructor": {find: func(x *extraction, i int32) found {
				return found{name: -1, text: "constructor", kind: Method}
			}},
			"property_declaration": {find: func(x *extraction, i int32) found {
				name := x.first(x.first(i, "variable_declaration"), "simple_identifier")
				f := found{name: name, kind: Variable, member: x.first(i, "getter") >= 0}
				if hasWord(x.head(i, name), "const") {
					f.kind = Constant
				}
				return f
			}},
			"package_header": {find: func(x *extraction, i int32) found {
				x.Package = string(x.bytes(x.first(i, "identifier")))
				x.imports = x.nodes[i].next
				return found{}
			}},
		},
		imports: map[string]func(*extraction, int32) bool{"import_header": func(x *extraction, i int32) bool {
			path := string(x.bytes(x.first(i, "identifier")))
			name := simpleName(path)
			if x.first(i, "wildcard_import") >= 0 {
				path, name = path+".*", "*"
			}
			x.addImport(i, path, name)
			return true
		}},
		comments:  []string{"line_comment", "multiline_comment"},
		bodies:    []string{"class_body", "enum_class_body", "function_body", "getter"},
		names:     []string{"simple_identifier"},
		typeNames: []string{"type_identifier"},
		path:      []string{"navigation_suffix", "navigation_expression#last", "user_type#first", "nullable_type", "parenthesized_expression"},
		calls:     []string{"call_expression#first", "infix_expression"},
		callIf: func(x *extraction, i int32) bool {
			return !x.is(x.nodes[i].parent, "infix_expression") || i != x.nodes[i].parent+1 && x.nodes[i].next != x.nodes[x.nodes[i].parent].next
		},
		inherits:   []string{"delegation_specifier"},
		arguments:  []string{"type_arguments", "value_arguments", "value_argument"},
		binds:      []string{"parameter#first", "class_parameter", "lambda_parameters", "catch_block#first", "type_parameter#first"},
		bindsLocal: []string{"variable_declaration#first"},
		patterns:   []string{"variable_declaration", "multi_variable_declaration"},
		ignore:     []string{"variable_declaration#first", "enum_entry#first", "value_argument#first", "label"},
		builtins:   "it this super field value String Int Long Boolean Unit Any List Map Set Double Float Char Byte Short Nothing Array null true false",
		exported:   notPrivate,
	}
}

func kotlinNamed(kind Kind, types ...string) func(*extraction, int32) found {
	return func(x *extraction, i int32) found { return found{name: x.first(i, types...), kind: kind} }
}

func scalaGrammar() *grammar {
	value := func(x *extraction, i int32) found {
		name := x.child(i, "pattern")
		if !x.is(name, "identifier") {
			return found{}
		}
		f := found{name: name, kind: Constant, member: hasWord(x.head(i, name), "implicit")}
		if x.is(i, "var_definition") {
			f.kind = Variable
		}
		return f
	}
	return &grammar{
		language: scala.GetLanguage,
		define: map[string]definition{
			"class_definition":     {kind: Class},
			"object_definition":    {kind: Class},
			"package_object":       {kind: Module},
			"trait_definition":     {kind: Trait},
			"enum_definition":      {kind: Enum},
			"type_definition":      {kind: Type, body: "type"},
			"function_definition":  {kind: Function},
			"function_declaration": {kind: Function, forward: true},
			"given_definition": {find: func(x *extraction, i int32) found {
				return found{name: x.child(i, "name"), kind: Constant, member: true}
			}},
			"val_definition": {find: value},
			"var_definition": {find: value},
			"package_clause": {find: func(x *extraction, i int32) found {
				x.Package = join(x.Package, string(x.bytes(x.child(i, "name"))))
				x.imports = max(x.imports, x.child(i, "name")+1)
				return found{}
			}},
		},
		imports: map[string]func(*extraction, int32) bool{"import_declaration": func(x *extraction, i int32) bool {
			path := ""
			var names []string
			for c := range x.children(i) {
				switch x.nodeType(c) {
				case "namespace_selectors":
					for s := range x.children(c) {
						if n := x.child(s, "name"); n >= 0 {
							s = n
						}
						names = append(names, x.string(s))
					}
				case "namespace_wildcard":
					names = append(names, "_")
				default:
					path = join(path, x.string(c))
				}
			}
			if len(names) == 0 {
				names = []string{simpleName(path)}
			}
			x.addImport(i, path, names...)
			return true
		}},
		comments:   []string{"comment", "block_comment"},
		names:      []string{"identifier"},
		typeNames:  []string{"type_identifier"},
		path:       []string{"field_expression.field", "generic_function.function", "stable_identifier#last", "stable_type_identifier#last", "generic_type.type"},
		calls:      []string{"call_expression.function", "instance_expression#first", "infix_expression.operator", "annotation.name"},
		inherits:   []string{"extends_clause"},
		arguments:  []string{"type_arguments", "arguments"},
		binds:      []string{"parameter.name", "class_parameter.name", "binding.name", "enumerator#first", "case_clause.pattern", "type_parameters", "lambda_expression.parameters"},
		bindsLocal: []string{"val_definition.pattern", "var_definition.pattern"},
		patterns:   []string{"tuple_pattern", "case_class_pattern", "typed_pattern", "capture_pattern", "infix_pattern"},
		ignore:     []string{"val_definition.pattern", "var_definition.pattern", "simple_enum_case.name"},
		builtins:   "this super String Int Long Boolean Unit Any AnyRef Nothing Option Some None List Map Set Seq Double true false null",
		exported:   notPrivate,
	}
}
