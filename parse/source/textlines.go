package source

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/chinvex/chinvex/parse/language"
)

// linePattern finds a definition in one line: the submatch "name" is its name, kinds
// maps the submatch "word" (or "" without one) to what it defines.
type linePattern struct {
	*regexp.Regexp
	kinds map[string]Kind
}

const identifier = `(?P<name>[A-Za-z_][\w'!?]*)`

func linePatternOf(expression string, kinds map[string]Kind) linePattern {
	return linePattern{regexp.MustCompile(expression), kinds}
}

// keywords maps the words that introduce definitions in most languages.
var keywords = map[string]Kind{
	"fn": Function, "func": Function, "function": Function, "def": Function, "proc": Function, "sub": Function, "fun": Function, "method": Method,
	"class": Class, "struct": Struct, "record": Struct, "enum": Enum, "union": Struct, "interface": Interface, "protocol": Interface, "trait": Trait,
	"type": Type, "module": Module, "namespace": Module, "package": Module, "macro": Macro, "object": Class, "mixin": Class, "extension": Class,
}

// linePatterns holds, by go-enry's names, what is special to a language; anyLine is
// tried for every language without a grammar that is a programming language at all.
var (
	linePatterns = map[string][]linePattern{
		"Haskell": {
			linePatternOf(`^`+identifier+`(?:\s*,\s*[\w']+)*\s*::`, map[string]Kind{"": Function}),
			linePatternOf(`^(?P<word>data|newtype|class|type|instance)\s+(?:family\s+|instance\s+)?(?:.*=>\s*)?(?P<name>[A-Z][\w']*)`,
				map[string]Kind{"data": Type, "newtype": Type, "class": Class, "type": Type, "instance": ""}),
			linePatternOf(`^(?P<word>module)\s+(?P<name>[\w.']+)`, map[string]Kind{"module": Module}),
		},
		"Zig": {
			linePatternOf(`^\s*(?:pub\s+)?(?:export\s+|inline\s+|extern\s+(?:"\w+"\s+)?)*fn\s+`+identifier, map[string]Kind{"": Function}),
			linePatternOf(`^\s*(?:pub\s+)?const\s+`+identifier+`\s*=\s*(?:packed\s+|extern\s+)?(?P<word>struct|enum|union|opaque|error)\b`,
				map[string]Kind{"struct": Struct, "enum": Enum, "union": Struct, "opaque": Struct, "error": Enum}),
			linePatternOf(`^(?:pub\s+)?(?P<word>const|var)\s+`+identifier, map[string]Kind{"const": Constant, "var": Variable}),
			linePatternOf(`^\s*(?P<word>test)\s+"(?P<name>[^"]+)"`, map[string]Kind{"test": Function}),
		},
		// For lines that their grammars cannot read:
		"Shell": {linePatternOf(`^\s*(?P<name>[\w:.-]+)\s*\(\)\s*[{(]`, map[string]Kind{"": Function})},
		"Lua":   {linePatternOf(`^(?:[\w.]+[.:])?(?P<name>\w+)\s*=\s*function\b`, map[string]Kind{"": Function}), linePatternOf(`^\s*(?:local\s+)?function\s+(?:[\w.]+[.:])?(?P<name>\w+)`, map[string]Kind{"": Function})},
		"C":     {cBlock, cLine, cDefine},
		"C++":   {cBlock, cLine, cDefine},

		"Perl":            {linePatternOf(`^\s*(?P<word>sub|package)\s+(?P<name>[\w:]+)`, map[string]Kind{"sub": Function, "package": Module})},
		"R":               {linePatternOf(`^\s*(?P<name>[A-Za-z.][\w.]*)\s*(?:<-|=)\s*function\b`, map[string]Kind{"": Function})},
		"OCaml":           {linePatternOf(`^\s*(?P<word>let|type|module|val|exception|class)\s+(?:rec\s+|type\s+)?(?:'?\w+\s+)??`+identifier, map[string]Kind{"let": Function, "val": Function, "type": Type, "module": Module, "exception": Type, "class": Class})},
		"Clojure":         {linePatternOf(`^\s*\((?P<word>defn-?|defmacro|def|defrecord|deftype|defprotocol|defmulti|ns)\s+(?:\^\S+\s+)*(?P<name>[^\s()\[\]]+)`, map[string]Kind{"defn": Function, "defn-": Function, "defmulti": Function, "defmacro": Macro, "def": Variable, "defrecord": Struct, "deftype": Type, "defprotocol": Interface, "ns": Module})},
		"Erlang":          {linePatternOf(`^(?P<name>[a-z]\w*)\(.*->`, map[string]Kind{"": Function}), linePatternOf(`^-(?P<word>module|record|type|define)\(?\s*(?P<name>\w+)`, map[string]Kind{"module": Module, "record": Struct, "type": Type, "define": Macro})},
		"Julia":           {linePatternOf(`^\s*(?P<name>[\w!.]+)\([^=]*\)(?:\s*where\s+\S+)?\s*=[^=]`, map[string]Kind{"": Function}), linePatternOf(`^\s*(?:mutable\s+|abstract\s+|primitive\s+)?(?P<word>function|macro|struct|type|module)\s+(?P<name>[\w!.]+)`, map[string]Kind{"function": Function, "macro": Macro, "struct": Struct, "type": Type, "module": Module})},
		"Dart":            {linePatternOf(`^\s*(?:static\s+|external\s+|@override\s+)*(?:[\w<>?,]+\s+)(?P<name>\w+)\s*\([^;]*\)\s*(?:async\*?\s*)?(?:\{|=>)`, map[string]Kind{"": Function})},
		"Groovy":          {linePatternOf(`^\s*(?:(?:public|private|protected|static|final)\s+)*(?:def|void|\w+(?:<.*>)?)\s+(?P<name>\w+)\s*\([^;]*\)\s*\{`, map[string]Kind{"": Function})},
		"Objective-C":     {linePatternOf(`^\s*[-+]\s*\([^)]*\)\s*(?P<name>\w+)`, map[string]Kind{"": Method}), linePatternOf(`^@(?P<word>interface|implementation|protocol)\s+(?P<name>\w+)`, map[string]Kind{"interface": Class, "implementation": Class, "protocol": Interface}), linePatternOf(`^\w[\w\s*]*?\b(?P<name>\w+)\s*\([^;]*\)\s*\{?\s*$`, map[string]Kind{"": Function})},
		"Nim":             {linePatternOf("^\\s*(?P<word>proc|func|method|iterator|template|macro|converter)\\s+`?(?P<name>\\w+)", map[string]Kind{"proc": Function, "func": Function, "method": Method, "iterator": Function, "template": Macro, "macro": Macro, "converter": Function})},
		"Vim Script":      {linePatternOf(`^\s*(?P<word>fu|function|def|command)!?\s+(?:-\S+\s+)*(?P<name>[\w:#.]+)`, map[string]Kind{"fu": Function, "function": Function, "def": Function, "command": Macro})},
		"Makefile":        {linePatternOf(`^(?P<name>[\w./-]+)\s*:(?:[^=]|$)`, map[string]Kind{"": Function})},
		"HCL":             {linePatternOf(`^(?P<word>resource|data|module|variable|output|provider)\s+(?:"[^"]+"\s+)?"(?P<name>[^"]+)"`, map[string]Kind{"resource": Variable, "data": Variable, "module": Module, "variable": Variable, "output": Variable, "provider": Variable})},
		"SQL":             {linePatternOf(`(?i)^\s*create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+)?(?P<word>table|view|function|procedure|index|trigger|type)\s+(?:if\s+not\s+exists\s+)?(?P<name>[\w."]+)`, map[string]Kind{"table": Struct, "view": Struct, "function": Function, "procedure": Function, "index": Variable, "trigger": Function, "type": Type})},
		"Protocol Buffer": {linePatternOf(`^\s*(?P<word>message|enum|service|rpc)\s+`+identifier, map[string]Kind{"message": Struct, "enum": Enum, "service": Interface, "rpc": Method})},
	}
	cBlock  = linePatternOf(`^\s*(?:typedef\s+)?(?P<word>struct|class|enum|union|namespace)\s+(?:class\s+)?`+identifier+`\s*(?:final\s*)?(?::[^:;][^;]*)?\{?\s*$`, keywords)
	cLine   = linePatternOf(`^(?:[A-Za-z_][\w:<>,]*[\s*&]+)+(?P<name>[A-Za-z_]\w*)\s*\([^;{}]*\)?\s*(?:\{|const\b.*|$)`, map[string]Kind{"": Function})
	cDefine = linePatternOf(`^\s*#\s*(?P<word>define)\s+`+identifier, map[string]Kind{"define": Macro})
	anyLine = linePatternOf(`^\s*(?:(?:pub|public|private|protected|internal|export|default|static|final|abstract|sealed|async|local|open|override|virtual|inline|data|partial|extern)\s+)*`+
		`(?P<word>fn|func|function|def|proc|sub|fun|class|struct|record|enum|union|interface|protocol|trait|type|module|namespace|macro|mixin|extension)\s+`+identifier, keywords)
)

// keywordless are programming languages in which the words of anyLine define nothing
// that their own patterns miss.
var keywordless = map[string]bool{"Haskell": true, "Makefile": true, "HCL": true, "SQL": true, "Dockerfile": true}

// lineComments are the words that start a comment of one line.
var lineComments = map[string][]string{
	"Haskell": {"--"}, "Elm": {"--"}, "SQL": {"--"}, "Ada": {"--"}, "Lua": {"--"}, "Clojure": {";"}, "Common Lisp": {";"}, "Emacs Lisp": {";"}, "Scheme": {";"},
	"Erlang": {"%"}, "TeX": {"%"}, "Vim Script": {"\""}, "OCaml": {"(*"},
	"Perl": {"#"}, "R": {"#"}, "Julia": {"#"}, "Nim": {"#"}, "Makefile": {"#"}, "YAML": {"#"}, "TOML": {"#"}, "Dockerfile": {"#"}, "PowerShell": {"#"}, "CMake": {"#"}, "HCL": {"#", "//"},
	"Zig": {"//"}, "Dart": {"//"}, "Groovy": {"//"}, "Objective-C": {"//"}, "Protocol Buffer": {"//"}, "F#": {"//"}, "Solidity": {"//"}, "Verilog": {"//"},
}

var called = regexp.MustCompile(`[A-Za-z_]\w{2,}\(`)

// callWords look like calls and are none.
var callWords = map[string]bool{"if": true, "for": true, "while": true, "switch": true, "return": true, "catch": true, "function": true, "and": true, "not": true, "elseif": true}

// byLine finds definitions, comments and calls without a grammar.
func byLine(file *File, name string, text []byte, l lines) []region {
	switch name {
	case "Markdown", "MDX", "RMarkdown":
		return headings(file, text, l, markdownHeading)
	case "reStructuredText":
		return headings(file, text, l, underlinedHeading)
	}
	patterns := linePatterns[name]
	programming := language.Kind(name) == "programming"
	if programming && !keywordless[name] {
		patterns = append(patterns[:len(patterns):len(patterns)], anyLine)
	}
	w := lineWalk{File: file, text: text, lines: l, patterns: patterns, marks: lineComments[name], calls: programming}
	for n := 1; n <= len(l); n++ {
		w.line(n)
	}
	w.close(0, len(l))
	return w.regions
}

// lineWalk goes through the lines of a text without a grammar.
type lineWalk struct {
	*File
	text     []byte
	lines    lines
	patterns []linePattern
	marks    []string
	calls    bool
	lead     int // first line of the comments directly above, 0 for none
	content  int // last line that is not blank
	regions  []region
	open     []openLine
}

type openLine struct{ region, indent int }

const maxLine = 400 // bytes of a line that are looked at: what is longer is data

// at is the text of line n without what ends it.
func (w *lineWalk) at(n int) []byte {
	start, end := w.lines[n-1], len(w.text)
	if n < len(w.lines) {
		end = w.lines[n]
	}
	return bytes.TrimRight(w.text[start:min(end, start+maxLine)], "\r\n\t ")
}

func (w *lineWalk) line(n int) {
	start, line := w.lines[n-1], w.at(n)
	body := bytes.TrimLeft(line, "\ufeff \t")
	indent := len(line) - len(body)
	if len(body) == 0 {
		w.lead = 0
		return
	}
	for _, mark := range w.marks {
		if bytes.HasPrefix(body, []byte(mark)) {
			w.Comments = append(w.Comments, Span{start + indent, start + len(line)})
			if w.lead == 0 {
				w.lead = n
			}
			return
		}
	}
	if name, kind, ok := w.match(line); ok {
		first := n
		if w.lead > 0 {
			first = w.lead
		}
		w.close(indent, w.content)
		if last := len(w.Symbols) - 1; last >= 0 && kind == Function && w.Symbols[last].Name == name && w.Symbols[last].Kind == kind && w.Symbols[last].NameLine+8 > n {
			// The next clause of the same function.
		} else {
			w.add(name, kind, string(body), n, first, indent)
		}
	} else if w.calls {
		for _, at := range called.FindAllIndex(line, 8) {
			if name := string(line[at[0] : at[1]-1]); !callWords[name] {
				w.References = append(w.References, Reference{name, n, Call, w.symbol()})
			}
		}
	}
	w.lead, w.content = 0, n
}

func (w *lineWalk) match(line []byte) (name string, kind Kind, ok bool) {
	for _, p := range w.patterns {
		m := p.FindSubmatch(line)
		if m == nil {
			continue
		}
		word := ""
		if i := p.SubexpIndex("word"); i >= 0 {
			word = string(bytes.ToLower(m[i]))
		}
		if k := p.kinds[word]; k != "" {
			return strings.ToValidUTF8(strings.Trim(string(m[p.SubexpIndex("name")]), `"`), "\uFFFD"), k, true
		}
		return "", "", false
	}
	return "", "", false
}

func (w *lineWalk) symbol() int {
	if len(w.open) == 0 {
		return -1
	}
	return w.regions[w.open[len(w.open)-1].region].symbol
}

func (w *lineWalk) add(name string, kind Kind, signature string, n, first, indent int) {
	parent, scope := -1, ""
	if len(w.open) > 0 {
		parent = w.open[len(w.open)-1].region
		scope = w.regions[parent].scope
		if kind == Function && holdsMethods(w.regions[parent].kind) {
			kind = Method
		}
	}
	w.Symbols = append(w.Symbols, Symbol{
		Name: name, Kind: kind, Scope: scope, Signature: foldLine([]byte(signature)),
		NameLine: n, StartLine: first, EndLine: n, Exported: !strings.HasPrefix(name, "_"),
	})
	w.regions = append(w.regions, region{first, n, len(w.Symbols) - 1, parent, kind, join(scope, name)})
	w.open = append(w.open, openLine{len(w.regions) - 1, indent})
}

// close ends the definitions that are indented as much as the next one or more.
func (w *lineWalk) close(indent, last int) {
	for len(w.open) > 0 && w.open[len(w.open)-1].indent >= indent {
		r := &w.regions[w.open[len(w.open)-1].region]
		r.end = max(r.end, last)
		w.Symbols[r.symbol].EndLine = r.end
		w.open = w.open[:len(w.open)-1]
	}
}

// headings makes a section of each heading, up to the next of its level or above.
func headings(file *File, text []byte, l lines, heading func(at func(int) []byte, n int) (string, int)) []region {
	w := lineWalk{text: text, lines: l}
	at := func(n int) []byte {
		if n < 1 || n > len(l) {
			return nil
		}
		return w.at(n)
	}
	var regions []region
	var open []openLine // indent is the level
	fence := ""
	close := func(level, last int) {
		for len(open) > 0 && open[len(open)-1].indent >= level {
			r := &regions[open[len(open)-1].region]
			r.end = max(r.start, last)
			file.Symbols[r.symbol].EndLine = r.end
			open = open[:len(open)-1]
		}
	}
	for n := 1; n <= len(l); n++ {
		line := bytes.TrimLeft(at(n), " \ufeff")
		if mark := fenceOf(line); mark != "" && (fence == "" || strings.HasPrefix(mark, fence)) {
			if fence == "" {
				fence = mark
			} else {
				fence = ""
			}
			continue
		}
		if fence != "" {
			continue
		}
		title, level := heading(at, n)
		if level == 0 || title == "" {
			continue
		}
		close(level, n-1)
		parent, scope := -1, ""
		if len(open) > 0 && len(open) < maxNesting {
			parent = open[len(open)-1].region
			scope = regions[parent].scope
		}
		title = strings.ToValidUTF8(title, "\uFFFD")
		if len(title) > maxName {
			title = foldLine([]byte(title[:maxName]))
		}
		file.Symbols = append(file.Symbols, Symbol{Name: title, Kind: Section, Scope: scope, Signature: foldLine(at(n)), NameLine: n, StartLine: n, EndLine: n, Exported: true})
		regions = append(regions, region{n, n, len(file.Symbols) - 1, parent, Section, join(scope, title)})
		open = append(open, openLine{len(regions) - 1, level})
	}
	close(0, len(l))
	return regions
}

// fenceOf is the mark that opens or closes a code block, "" for another line.
func fenceOf(line []byte) string {
	for _, c := range []byte{'`', '~'} {
		if n := len(line) - len(bytes.TrimLeft(line, string(c))); n >= 3 {
			return string(line[:n])
		}
	}
	return ""
}

func markdownHeading(at func(int) []byte, n int) (string, int) {
	line := at(n)
	text := bytes.TrimLeft(line, "\ufeff")
	if level := len(text) - len(bytes.TrimLeft(text, "#")); level > 0 && level <= 6 {
		if len(text) == level || text[level] == ' ' || text[level] == '\t' {
			return strings.TrimSpace(strings.TrimRight(string(bytes.TrimSpace(text[level:])), "#")), level
		}
		return "", 0
	}
	if len(line) == 0 || line[0] == ' ' || line[0] == '-' || line[0] == '=' || line[0] == '>' || line[0] == '|' || len(at(n-1)) > 0 {
		return "", 0
	}
	switch below := at(n + 1); {
	case isRule(below, '='):
		return string(line), 1
	case isRule(below, '-'):
		return string(line), 2
	}
	return "", 0
}

// isRule reports whether a line is nothing but at least three marks.
func isRule(line []byte, mark byte) bool {
	return len(line) >= 3 && len(bytes.Trim(line, string(mark))) == 0
}

// underlinedHeading takes the level from the mark; reStructuredText leaves the order
// of marks to the writer, this is the usual one.
func underlinedHeading(at func(int) []byte, n int) (string, int) {
	line, below := at(n), at(n+1)
	if len(line) == 0 || line[0] == ' ' || len(below) < 3 || len(below)+2 < len(line) {
		return "", 0
	}
	level := strings.IndexByte(`#*=-~^"'+.:_`, below[0]) + 1
	if level == 0 || !isRule(below, below[0]) || isRule(line, line[0]) {
		return "", 0
	}
	return strings.TrimSpace(string(line)), level
}
