package source

import "github.com/smacker/go-tree-sitter/csharp"

func csharpGrammar() *grammar {
	return &grammar{
		language: csharp.GetLanguage,
		define: map[string]definition{
			"class_declaration":        {kind: Class},
			"record_declaration":       {kind: Class},
			"struct_declaration":       {kind: Struct},
			"interface_declaration":    {kind: Interface},
			"enum_declaration":         {kind: Enum},
			"delegate_declaration":     {kind: Type},
			"method_declaration":       {find: withBody(Method)},
			"constructor_declaration":  {kind: Method},
			"local_function_statement": {kind: Function},
			"property_declaration": {find: func(x *extraction, i int32) found {
				return found{name: x.child(i, "name"), kind: Variable, member: true}
			}, body: "accessors"},
			"namespace_declaration":             {find: csharpNamespace},
			"file_scoped_namespace_declaration": {find: csharpNamespace},
		},
		imports: map[string]func(*extraction, int32) bool{"using_directive": func(x *extraction, i int32) bool {
			alias := x.child(i, "name")
			for c := range x.children(i) {
				if c != alias {
					x.addImport(i, x.string(c))
				}
			}
			return true
		}},
		comments: []string{"comment"},
		lead:     []string{"attribute_list"},
		names:    []string{"identifier"},
		path:     []string{"qualified_name.name", "member_access_expression.name", "generic_name#first", "alias_qualified_name.name", "member_binding_expression.name"},
		calls:    []string{"invocation_expression.function", "object_creation_expression.type", "attribute.name"},
		types: []string{"variable_declaration.type", "parameter.type", "method_declaration.returns", "property_declaration.type", "type_argument_list", "cast_expression.type",
			"nullable_type.type", "array_type.type", "typeof_expression.type", "delegate_declaration.type", "foreach_statement.type", "declaration_expression.type", "generic_name#first"},
		inherits:   []string{"base_list"},
		arguments:  []string{"type_argument_list", "argument_list"},
		binds:      []string{"parameter.name", "foreach_statement.left", "catch_declaration.name", "declaration_expression.name", "declaration_pattern.name", "type_parameter.name", "implicit_parameter"},
		bindsLocal: []string{"variable_declarator.name"},
		ignore:     []string{"variable_declarator.name", "enum_member_declaration.name", "namespace_declaration.name", "event_declaration.name"},
		builtins:   "var string nameof Task String Object Exception Obsolete MethodImpl value",
		exported:   public,
	}
}

func csharpNamespace(x *extraction, i int32) found {
	name := x.child(i, "name")
	if x.Package == "" {
		x.Package = x.string(name)
	}
	for n := name; n >= 0 && n < x.nodes[name].next; n++ {
		x.named[n] = true
	}
	if x.is(i, "file_scoped_namespace_declaration") {
		return found{}
	}
	return found{name: name, kind: Module}
}
