package source

func swiftGrammar() *grammar {
	text := func(name string) definition {
		return definition{find: func(*extraction, int32) found { return found{name: -1, text: name, kind: Method} }}
	}
	return &grammar{
		language: boundedSwift,
		define: map[string]definition{
			"class_declaration": {find: func(x *extraction, i int32) found {
				name := x.child(i, "name")
				head := x.head(i, name)
				if hasWord(head, "extension") {
					return found{only: simpleName(x.string(name))}
				}
				f := found{name: name, kind: Class}
				switch {
				case hasWord(head, "struct"):
					f.kind = Struct
				case hasWord(head, "enum"):
					f.kind = Enum
				}
				return f
			}},
			"protocol_declaration":          {kind: Interface},
			"function_declaration":          {kind: Function},
			"protocol_function_declaration": {kind: Method, forward: true},
			"init_declaration":              text("init"),
			"deinit_declaration":            text("deinit"),
			"subscript_declaration":         text("subscript"),
			"typealias_declaration":         {kind: Type},
			"associatedtype_declaration":    {kind: Type, forward: true},
			"macro_declaration":             {find: kotlinNamed(Macro, "simple_identifier")},
			"property_declaration": {find: func(x *extraction, i int32) found {
				name := x.child(x.child(i, "name"), "bound_identifier")
				f := found{name: name, kind: Variable, member: x.child(i, "computed_value") >= 0}
				if name >= 0 && hasWord(x.head(i, name), "let") {
					f.kind = Constant
				}
				return f
			}, body: "computed_value"},
		},
		imports: map[string]func(*extraction, int32) bool{"import_declaration": func(x *extraction, i int32) bool {
			x.addImport(i, x.string(x.first(i, "identifier")))
			return true
		}},
		comments:   []string{"comment", "multiline_comment"},
		names:      []string{"simple_identifier"},
		typeNames:  []string{"type_identifier"},
		path:       []string{"navigation_suffix.suffix", "navigation_expression.suffix", "user_type#last", "optional_type"},
		calls:      []string{"call_expression#first"},
		inherits:   []string{"inheritance_specifier"},
		arguments:  []string{"type_arguments"},
		binds:      []string{"parameter.name", "lambda_parameter", "guard_statement.bound_identifier", "if_statement.bound_identifier", "while_statement.bound_identifier", "type_parameter#first", "for_statement.item"},
		bindsLocal: []string{"pattern.bound_identifier"},
		patterns:   []string{"pattern"},
		ignore:     []string{"value_argument_label", "enum_entry.name", "parameter.external_name", "pattern.bound_identifier", "attribute"},
		builtins:   "self super nil true false available testable $0 $1 $2 String Int Bool Double Float Any AnyObject Void Error Array Dictionary Optional Self some",
		exported:   notPrivate,
	}
}
