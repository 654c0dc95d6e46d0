package source

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/smacker/go-tree-sitter/c"
	"github.com/smacker/go-tree-sitter/cpp"
	"github.com/smacker/go-tree-sitter/golang"
	"github.com/smacker/go-tree-sitter/javascript"
	"github.com/smacker/go-tree-sitter/python"
	"github.com/smacker/go-tree-sitter/rust"
	"github.com/smacker/go-tree-sitter/typescript/tsx"
	"github.com/smacker/go-tree-sitter/typescript/typescript"
)

// grammars is the table of languages, by go-enry's names.
var grammars = map[string]*grammar{
	"Go": {
		language: golang.GetLanguage,
		define: map[string]definition{
			"function_declaration": {kind: Function},
			"method_declaration":   {find: goMethod},
			"type_spec":            {find: goType},
			"type_alias":           {kind: Type},
			"const_spec":           {kind: Constant},
			"var_spec":             {kind: Variable},
			"method_elem":          {kind: Method, forward: true},
			"package_clause":       {find: goPackage},
		},
		imports:    map[string]func(*extraction, int32) bool{"import_spec": goImport},
		comments:   []string{"comment"},
		wrappers:   []string{"type_declaration", "const_declaration", "var_declaration"},
		bodies:     []string{"block"},
		bodyIn:     func(x *extraction, i int32) int32 { return x.first(x.child(i, "type"), "field_declaration_list") },
		names:      []string{"identifier", "field_identifier"},
		typeNames:  []string{"type_identifier"},
		path:       []string{"selector_expression.field", "qualified_type.name", "generic_type.type", "parenthesized_expression", "type_instantiation_expression.type"},
		calls:      []string{"call_expression.function", "type_conversion_expression.type"},
		inherits:   []string{"field_declaration#first"},
		arguments:  []string{"type_arguments", "parameter_list", "field_declaration_list"},
		binds:      []string{"parameter_declaration.name", "variadic_parameter_declaration.name", "type_parameter_declaration.name", "short_var_declaration.left", "range_clause.left", "type_switch_statement.alias", "receive_statement.left"},
		bindsLocal: []string{"var_spec.name", "const_spec.name"},
		patterns:   []string{"expression_list"},
		ignore:     []string{"field_declaration.name", "labeled_statement.label", "goto_statement", "break_statement", "continue_statement"},
		builtins: "nil true false iota append cap clear close complex copy delete imag len make max min new panic print println real recover " +
			"any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr _",
		exported: func(x *extraction, i int32, s *Symbol) bool {
			r, _ := utf8.DecodeRuneInString(s.Name)
			return unicode.IsUpper(r)
		},
	},
	"Rust": {
		language: rust.GetLanguage,
		prepare:  unwrapMacros,
		define: map[string]definition{
			"function_item":           {kind: Function},
			"function_signature_item": {kind: Function, forward: true},
			"struct_item":             {kind: Struct},
			"union_item":              {kind: Struct},
			"enum_item":               {kind: Enum},
			"trait_item":              {kind: Trait},
			"impl_item":               {name: "type"},
			"mod_item":                {kind: Module, find: rustModule},
			"type_item":               {kind: Type},
			"associated_type":         {kind: Type, forward: true},
			"const_item":              {kind: Constant},
			"static_item":             {kind: Variable},
			"macro_definition":        {kind: Macro},
		},
		imports:   map[string]func(*extraction, int32) bool{"use_declaration": rustUse, "extern_crate_declaration": rustCrate, "mod_item": rustModFile},
		comments:  []string{"line_comment", "block_comment"},
		lead:      []string{"attribute_item"},
		names:     []string{"identifier", "field_identifier"},
		typeNames: []string{"type_identifier"},
		path: []string{"scoped_identifier.name", "scoped_type_identifier.name", "field_expression.field", "generic_function.function",
			"generic_type.type", "generic_type_with_turbofish.type", "parenthesized_expression"},
		calls:     []string{"call_expression.function", "macro_invocation.macro", "struct_expression.name"},
		inherits:  []string{"impl_item.trait", "trait_item.bounds"},
		arguments: []string{"type_arguments"},
		binds: []string{"parameter.pattern", "let_declaration.pattern", "closure_parameters", "for_expression.pattern", "let_condition.pattern",
			"match_pattern", "const_parameter.name", "type_parameters", "constrained_type_parameter.left"},
		patterns: []string{"tuple_pattern", "tuple_struct_pattern", "ref_pattern", "mut_pattern", "reference_pattern", "slice_pattern", "captured_pattern", "or_pattern", "field_pattern", "struct_pattern"},
		ignore:   []string{"field_declaration.name", "enum_variant.name", "field_initializer.field", "lifetime"},
		builtins: "self Self super crate Some None Ok Err Option Result Vec String Box true false u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 bool char str " +
			"unwrap clone expect to_string into iter collect map as_ref is_some is_none is_empty len push to_owned as_str format vec println assert assert_eq matches write writeln panic " +
			"Debug Clone Copy derive cfg test allow inline must_use doc",
		exported: func(x *extraction, i int32, s *Symbol) bool {
			return x.first(i, "visibility_modifier") >= 0 || s.Kind == Macro && strings.Contains(string(x.leadText(i)), "macro_export")
		},
	},
	"Python": {
		language: python.GetLanguage,
		define: map[string]definition{
			"function_definition":  {kind: Function},
			"class_definition":     {kind: Class},
			"assignment":           {find: pythonAssignment},
			"type_alias_statement": {find: pythonAlias},
		},
		imports:   map[string]func(*extraction, int32) bool{"import_statement": pythonImport, "import_from_statement": pythonFrom, "future_import_statement": pythonFrom},
		comments:  []string{"comment"},
		commentIf: map[string]func(*extraction, int32) bool{"expression_statement": pythonDoc},
		lead:      []string{"decorator"},
		wrappers:  []string{"decorated_definition"},
		names:     []string{"identifier"},
		path:      []string{"attribute.attribute", "dotted_name#last", "parenthesized_expression"},
		calls:     []string{"call.function", "decorator"},
		types:     []string{"type", "generic_type#first", "subscript.value"},
		inherits:  []string{"class_definition.superclasses"},
		binds: []string{"parameters", "lambda_parameters", "default_parameter.name", "typed_parameter#first", "typed_default_parameter.name",
			"for_in_clause.left", "list_splat_pattern", "dictionary_splat_pattern", "named_expression.name", "as_pattern_target"},
		bindsLocal: []string{"assignment.left", "for_statement.left", "global_statement"},
		patterns:   []string{"pattern_list", "tuple_pattern", "list_pattern"},
		ignore:     []string{"keyword_argument.name"},
		builtins: "metaclass self cls None True False print len range str int float bool list dict set tuple bytes object type super isinstance issubclass enumerate zip " +
			"getattr setattr hasattr property staticmethod classmethod repr sorted iter next any all min max sum abs id open map filter callable _ __name__ __file__ " +
			"Exception ValueError TypeError KeyError AttributeError RuntimeError",
		exported: func(x *extraction, i int32, s *Symbol) bool {
			return !strings.HasPrefix(s.Name, "_") || strings.HasPrefix(s.Name, "__") && strings.HasSuffix(s.Name, "__")
		},
	},
	"JavaScript": ecmaScript(javascript.GetLanguage, false, true),
	"TypeScript": ecmaScript(typescript.GetLanguage, true, false),
	"TSX":        ecmaScript(tsx.GetLanguage, true, true),
	"C":          cFamily(c.GetLanguage, false),
	"C++":        cFamily(cpp.GetLanguage, true),
	"Java":       javaGrammar(),
	"C#":         csharpGrammar(),
	"Kotlin":     kotlinGrammar(),
	"Swift":      swiftGrammar(),
	"Scala":      scalaGrammar(),
	"Ruby":       rubyGrammar(),
	"PHP":        phpGrammar(),
	"Shell":      shellGrammar(),
	"Lua":        luaGrammar(),
	"Elixir":     elixirGrammar(),
}

func goMethod(x *extraction, i int32) found {
	receiver := x.within(x.child(i, "receiver"), "type_identifier")
	f := found{name: x.child(i, "name"), kind: Method}
	if receiver >= 0 {
		f.scope = x.string(receiver)
	}
	return f
}

func goType(x *extraction, i int32) found {
	f := found{name: x.child(i, "name"), kind: Type}
	switch x.nodeType(x.child(i, "type")) {
	case "struct_type":
		f.kind = Struct
	case "interface_type":
		f.kind = Interface
	}
	return f
}

func goPackage(x *extraction, i int32) found {
	x.Package = string(x.bytes(x.first(i, "package_identifier")))
	return found{}
}

func goImport(x *extraction, i int32) bool {
	var names []string
	path := unquote(string(x.bytes(x.child(i, "path"))))
	local := path[strings.LastIndexByte(path, '/')+1:]
	if n := x.child(i, "name"); n >= 0 {
		local = x.string(n)
		names = []string{local}
	}
	x.locals[local] = int32(len(x.nodes)) // a package name is no reference to a definition
	x.addImport(i, path, names...)
	return true
}

// leadText is the text of the comments, attributes and decorators above nodes[i].
func (x *extraction) leadText(i int32) []byte {
	return x.text[x.lines[x.startLine(i)-1]:x.nodes[i].start]
}

func rustModule(x *extraction, i int32) found {
	return found{name: x.child(i, "name"), kind: Module, forward: x.child(i, "body") < 0}
}

func rustModFile(x *extraction, i int32) bool {
	if x.child(i, "body") < 0 {
		x.addImport(i, x.string(x.child(i, "name")))
	}
	return false
}

func rustCrate(x *extraction, i int32) bool {
	x.addImport(i, x.string(x.child(i, "name")))
	return true
}

var (
	macroAroundItems = regexp.MustCompile(`(?m)^([ \t]*)(\w+(?:::\w+)*![ \t]*\{)[ \t]*\r?\n(?:[ \t]*(?:#!?\[.*|//.*)?\r?\n)*[ \t]*(?:pub\b|fn |async fn|unsafe |struct |enum |trait |impl\b|mod |use |type |const |static |macro_rules!|cfg_\w+!)`)
	macrosOfTokens   = regexp.MustCompile(`^(?:macro_rules|quote|quote_spanned|parse_quote|rust|stringify)!`)
)

// unwrapMacros is the text without the macros that stand around whole items
// (cfg_rt! { … }, pin_project! { … }), since a grammar sees tokens in them, not
// definitions. The closing brace is the first one indented like the macro.
func unwrapMacros(text []byte) []byte {
	var out []byte
	for from := 0; ; {
		m := macroAroundItems.FindSubmatchIndex(text[from:])
		if m == nil {
			break
		}
		indent, start, end := text[from+m[2]:from+m[3]], from+m[4], from+m[5]
		from = end
		closing := append(append([]byte{'\n'}, indent...), '}')
		at := bytes.Index(text[end:], closing)
		if at < 0 || macrosOfTokens.Match(text[start:end]) {
			continue
		}
		if out == nil {
			out = bytes.Clone(text)
		}
		for i := start; i < end; i++ {
			out[i] = ' '
		}
		out[end+at+len(closing)-1] = ' '
	}
	if out == nil {
		return text
	}
	return out
}

// rustUse records one import for each path and each list of names.
func rustUse(x *extraction, i int32) bool {
	type open struct {
		node   int32
		prefix string
	}
	todo := []open{{x.child(i, "argument"), ""}}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		under := func(n int32) string {
			s := string(x.bytes(n))
			if at.prefix == "" {
				return s
			}
			return strings.TrimSuffix(at.prefix+"::"+s, "::")
		}
		if len(at.prefix) > maxClimb {
			continue
		}
		switch x.nodeType(at.node) {
		case "":
		case "scoped_use_list":
			todo = append(todo, open{x.child(at.node, "list"), under(x.child(at.node, "path"))})
		case "use_list":
			var names []string
			for c := range x.children(at.node) {
				switch x.nodeType(c) {
				case "identifier", "self":
					names = append(names, x.string(c))
				case "use_as_clause":
					names = append(names, x.string(x.child(c, "path")))
				case "line_comment", "block_comment":
				default:
					todo = append(todo, open{c, at.prefix})
				}
			}
			if len(names) > 0 {
				x.addImport(i, at.prefix, names...)
			}
		case "use_wildcard":
			x.addImport(i, under(at.node))
		case "use_as_clause":
			at.node = x.child(at.node, "path")
			fallthrough
		default:
			path := under(at.node)
			x.addImport(i, path, simpleName(path))
		}
	}
	return true
}

func pythonAssignment(x *extraction, i int32) found {
	left := x.child(i, "left")
	if !x.is(left, "identifier") || x.child(i, "right") < 0 {
		return found{}
	}
	if x.top().local || x.top().symbol >= 0 || x.nodes[x.nodes[i].parent].parent > 0 {
		return found{} // only at the left margin
	}
	f := found{name: left, kind: Variable}
	if s := x.string(left); strings.ToUpper(s) == s {
		f.kind = Constant
	}
	return f
}

func pythonAlias(x *extraction, i int32) found {
	return found{name: x.within(i, "identifier"), kind: Type}
}

// pythonDoc reports whether an expression statement is a documentation string.
func pythonDoc(x *extraction, i int32) bool {
	if s := x.firstChild(i); !x.is(s, "string") || x.nodes[s].next != x.nodes[i].next {
		return false
	}
	p := x.nodes[i].parent
	return x.is(p, "module") || x.is(p, "block") && x.is(x.nodes[p].parent, "function_definition", "class_definition")
}

func pythonImport(x *extraction, i int32) bool {
	for c := range x.children(i) {
		at, local := c, x.first(c, "identifier")
		if x.is(c, "aliased_import") {
			at, local = x.child(c, "name"), x.child(c, "alias")
		}
		if x.is(at, "dotted_name") {
			x.addImport(i, x.string(at))
			x.locals[x.string(local)] = int32(len(x.nodes)) // a module name is no reference to a definition
		}
	}
	return true
}

func pythonFrom(x *extraction, i int32) bool {
	module := x.child(i, "module_name")
	var names []string
	for c := range x.children(i) {
		switch {
		case c == module:
		case x.is(c, "aliased_import"):
			names = append(names, x.string(x.child(c, "name")))
		case x.is(c, "dotted_name", "wildcard_import"):
			names = append(names, x.string(c))
		}
	}
	x.addImport(i, x.string(module), names...)
	return true
}
