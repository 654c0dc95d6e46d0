package parse

import (
	"path"
	"strconv"
	"strings"
)

// Kind says what a command is after.
type Kind string

const (
	SearchText Kind = "search" // lines that match a pattern
	FindFiles  Kind = "find"   // files by name
	ReadFile   Kind = "read"   // a file's own text
)

// Intent is what one command, or one pipeline, is after. Paths are slash-separated
// and cleaned, absolute when the working directory was, or begin with "~" as
// typed; nil means that the command did not say or that it cannot be known.
type Intent struct {
	Kind         Kind
	Tool         string   // the program: "grep", "rg", "git grep", "find", "sed", …
	Patterns     []string // regular expressions as typed; any of them matches. FindFiles: on the path
	Fixed        bool     // Patterns are plain text
	IgnoreCase   bool
	Word         bool     // Patterns match whole words only
	Names        []string // FindFiles: globs on the base name
	Paths        []string // files or folders
	Globs        []string // only these files; globs on the base name, or on the path when they hold a slash
	ExcludeGlobs []string
	Types        []string // only these languages: go-enry's name when known, else as typed
	Lines        LineSpan // ReadFile: zero for the whole file; End 0 for "to the end"; Start -n for the last n lines
	FilesOnly    bool     // prints names of files only
	Count        bool     // prints counts only
}

// Intents tells what a command line searches, looks for or reads, in order.
// Commands that filter another's output add to that one's intent or to none: in
// `cat x | grep y` the search is of x, in `git log | grep y` it is nobody's.
// Nothing is run. A command line that is no valid Bash gives the intents of the
// commands before the error.
func Intents(command, cwd string) []Intent {
	commands, _ := Commands(command, cwd)
	r := reader{commands: commands, streams: make([]stream, len(commands))}
	for i := range commands {
		r.at = i
		r.streams[i] = r.read(commands[i])
	}
	var intents []Intent
	for _, in := range r.intents {
		if in.Kind != "" {
			intents = append(intents, in)
		}
	}
	return intents
}

// stream is what a command writes into a pipe.
type stream struct {
	kind   streamKind
	intent int      // index into reader.intents of the intent that made it, -1 for none
	paths  []string // of names without an intent
}

type streamKind int

const (
	other   streamKind = iota
	content            // the text of files
	names              // paths of files
	matches            // lines or names that a search found
)

var nothing = stream{intent: -1}

type reader struct {
	commands []Command
	streams  []stream
	intents  []Intent
	at       int // the command being read
}

func (r *reader) add(in Intent, kind streamKind) stream {
	r.intents = append(r.intents, in)
	return stream{kind: kind, intent: len(r.intents) - 1}
}

// upstream is what comes through the command's pipe.
func (r *reader) upstream(c Command) stream {
	if c.Piped && c.From >= 0 && c.From < r.at {
		return r.streams[c.From]
	}
	return nothing
}

func (r *reader) read(c Command) stream {
	name := c.Name()
	args := words(c)[1:]
	switch name {
	case "grep", "egrep", "fgrep", "zgrep", "zegrep", "zfgrep", "rgrep", "ugrep", "ug", "pcregrep", "pcre2grep":
		return r.grep(c, name, args)
	case "rg", "ripgrep", "rga":
		return r.ripgrep(c, args)
	case "ag", "ack", "ack-grep":
		return r.ag(c, name, args)
	case "git":
		return r.git(c, args)
	case "find", "gfind", "bfs":
		return r.find(c, args)
	case "fd", "fdfind":
		return r.fd(c, args)
	case "locate", "mlocate", "plocate":
		return r.locate(c, args)
	case "ls", "tree", "exa", "eza":
		return r.list(c, name, args)
	case "cat", "less", "more", "bat", "batcat", "nl", "tac", "head", "tail":
		return r.show(c, name, args)
	case "sed", "gsed":
		return r.sed(c, args)
	case "awk", "gawk", "mawk", "nawk":
		return r.awk(c, args)
	case "sort", "uniq", "cut", "tr", "wc", "column", "tee", "rev", "fold", "paste", "xargs", "dirname", "basename", "realpath", "readlink", "file", "stat", "shuf":
		return r.upstream(c)
	}
	return nothing
}

// arg is one word of a command.
type arg struct {
	text  string
	known bool
}

func words(c Command) []arg {
	list := make([]arg, len(c.Args))
	for i, text := range c.Args {
		list[i] = arg{text, !c.Unknown[i]}
	}
	return list
}

// option is one option: "-i" or "--include", with its value if it takes one.
type option struct {
	name  string
	value arg
}

// options splits words into options and operands as getopt_long does: bundled
// short options, values in the same word or the next, options after operands,
// "--". valued holds the short options that take a value, long the long ones,
// separated by blanks. dashes is how many operands came before "--", -1 without
// one.
func options(args []arg, valued, long string) (opts []option, operands []arg, dashes int) {
	for i := 0; i < len(args); i++ {
		text := args[i].text
		next := func() arg {
			if i+1 < len(args) {
				i++
				return args[i]
			}
			return arg{}
		}
		switch {
		case text == "--":
			return opts, append(operands, args[i+1:]...), len(operands)
		case strings.HasPrefix(text, "--"):
			name, value, has := strings.Cut(text, "=")
			opt := option{name: name, value: arg{value, args[i].known}}
			if !has && containsWord(long, name) {
				opt.value = next()
			}
			opts = append(opts, opt)
		case len(text) > 1 && text[0] == '-':
			for j := 1; j < len(text); j++ {
				opt := option{name: "-" + text[j:j+1]}
				if strings.IndexByte(valued, text[j]) >= 0 {
					if j+1 < len(text) {
						opt.value = arg{strings.TrimPrefix(text[j+1:], "="), args[i].known}
					} else {
						opt.value = next()
					}
					j = len(text)
				}
				opts = append(opts, opt)
			}
		default:
			operands = append(operands, args[i])
		}
	}
	return opts, operands, -1
}

// scope fills in.Paths with operands, and Globs with the shell globs among them
// when every operand is one: beside a plain path a glob would narrow that too.
func scope(in *Intent, c Command, operands []arg) {
	var globs []string
	for _, o := range operands {
		if !o.known {
			continue
		}
		dir, glob := splitGlob(o.text)
		if p := resolve(c.Dir, dir); p != "" {
			in.Paths = append(in.Paths, p)
			if glob != "" {
				globs = append(globs, glob)
			}
		}
	}
	if len(globs) == len(in.Paths) {
		in.Globs = append(in.Globs, globs...)
	}
}

// splitGlob cuts a path in front of the first component with a glob character.
func splitGlob(name string) (dir, glob string) {
	at := strings.IndexAny(name, "*?[")
	if at < 0 {
		return name, ""
	}
	slash := strings.LastIndexByte(name[:at], '/')
	if slash < 0 {
		return ".", name
	}
	return name[:slash+1], name[slash+1:]
}

// everywhere makes the working directory the scope.
func everywhere(in *Intent, c Command) {
	if c.Dir != "" {
		in.Paths = []string{c.Dir}
	}
}

// search places a search whose flags and patterns are read. operands are its
// paths; recursive says that without one it looks through the working directory.
func (r *reader) search(c Command, in Intent, operands []arg, recursive, invert bool) stream {
	in.Kind = SearchText
	up := r.upstream(c)
	if len(operands) > 0 && !c.Appended {
		if invert || len(in.Patterns) == 0 {
			return nothing
		}
		scope(&in, c, operands)
		return r.add(in, matches)
	}
	switch {
	case c.Appended: // the files come from xargs
		if len(in.Patterns) == 0 || invert {
			return up
		}
		if up.intent < 0 {
			in.Paths = up.paths
			return r.add(in, matches)
		}
		from := &r.intents[up.intent]
		in.Paths, in.ExcludeGlobs = from.Paths, append(in.ExcludeGlobs, from.ExcludeGlobs...)
		in.Globs = append(append(in.Globs, from.Names...), from.Globs...)
		in.Types = append(in.Types, from.Types...)
		if up.kind == names {
			from.Kind = "" // it only listed the files to search
		}
		return r.add(in, matches)
	case c.Input != "":
		if len(in.Patterns) == 0 || invert {
			return nothing
		}
		in.Paths = []string{c.Input}
		return r.add(in, matches)
	case c.Piped && (!recursive || c.From >= 0):
		return r.filter(in, up, invert)
	case recursive:
		if len(in.Patterns) == 0 || invert {
			return nothing
		}
		everywhere(&in, c)
		return r.add(in, matches)
	}
	return nothing
}

// filter is a search of another command's output.
func (r *reader) filter(in Intent, up stream, invert bool) stream {
	if invert || len(in.Patterns) == 0 {
		return up
	}
	switch up.kind {
	case content:
		if up.intent >= 0 {
			in.Paths = r.intents[up.intent].Paths
			r.intents[up.intent] = in
			return stream{kind: matches, intent: up.intent}
		}
	case names:
		if up.intent >= 0 {
			found := &r.intents[up.intent]
			found.Patterns = append(found.Patterns, in.Patterns...)
			found.Fixed, found.IgnoreCase = in.Fixed, found.IgnoreCase || in.IgnoreCase
			return up
		}
		in.Kind, in.Paths = FindFiles, up.paths
		return r.add(in, names)
	}
	return up
}

func (r *reader) grep(c Command, name string, args []arg) stream {
	in := Intent{Tool: name, Fixed: strings.HasSuffix(name, "fgrep")}
	opts, operands, _ := options(args, "efABCmdDgtO",
		"--regexp --file --after-context --before-context --context --max-count --include --exclude --include-dir --exclude-dir --exclude-from --devices --directories --binary-files --label --glob --file-type --max-depth")
	recursive, invert, given := name == "rgrep", false, false
	for _, o := range opts {
		switch o.name {
		case "-e", "--regexp":
			given = true
			in.pattern(o.value)
		case "-f", "--file":
			given = true
		case "-i", "-y", "--ignore-case":
			in.IgnoreCase = true
		case "-w", "--word-regexp":
			in.Word = true
		case "-F", "--fixed-strings":
			in.Fixed = true
		case "-v", "--invert-match":
			invert = true
		case "-l", "-L", "--files-with-matches", "--files-without-match":
			in.FilesOnly = true
		case "-c", "--count":
			in.Count = true
		case "-r", "-R", "--recursive", "--dereference-recursive":
			recursive = true
		case "--include", "-g", "--glob":
			in.glob(o.value)
		case "--exclude":
			in.exclude(o.value)
		case "--exclude-dir":
			in.excludeDir(o.value)
		case "-t", "--file-type":
			in.language(o.value)
		case "-d", "--directories":
			recursive = recursive || o.value.text == "recurse"
		}
	}
	operands = in.first(operands, given)
	return r.search(c, in, operands, recursive, invert)
}

// first takes the pattern off the operands when no option gave one.
func (in *Intent) first(operands []arg, given bool) []arg {
	if given || len(operands) == 0 {
		return operands
	}
	in.pattern(operands[0])
	return operands[1:]
}

func (in *Intent) pattern(a arg) {
	if a.known && a.text != "" {
		in.Patterns = append(in.Patterns, a.text)
	}
}

func (in *Intent) glob(a arg) {
	switch text := strings.TrimPrefix(a.text, "/"); {
	case !a.known || text == "":
	case text[0] == '!':
		in.exclude(arg{text[1:], len(text) > 1})
	default:
		in.Globs = append(in.Globs, text)
	}
}

func (in *Intent) exclude(a arg) {
	if a.known && a.text != "" {
		in.ExcludeGlobs = append(in.ExcludeGlobs, a.text)
	}
}

func (in *Intent) excludeDir(a arg) {
	if dir := strings.Trim(a.text, "/"); a.known && dir != "" {
		in.ExcludeGlobs = append(in.ExcludeGlobs, "**/"+strings.TrimPrefix(dir, "./")+"/**")
	}
}

func (in *Intent) language(a arg) {
	if a.known && a.text != "" && a.text != "all" {
		in.Types = append(in.Types, Language(a.text))
	}
}

// languages maps the type names of rg, ag and ack, and common extensions, to
// go-enry's names.
var languages = map[string]string{
	"py": "Python", "python": "Python", "go": "Go", "golang": "Go", "rust": "Rust", "rs": "Rust",
	"js": "JavaScript", "javascript": "JavaScript", "jsx": "JavaScript", "ts": "TypeScript", "typescript": "TypeScript", "tsx": "TSX",
	"java": "Java", "c": "C", "cc": "C++", "cpp": "C++", "cxx": "C++", "cs": "C#", "csharp": "C#", "rb": "Ruby", "ruby": "Ruby",
	"php": "PHP", "kt": "Kotlin", "kotlin": "Kotlin", "swift": "Swift", "scala": "Scala", "sh": "Shell", "bash": "Shell", "shell": "Shell",
	"lua": "Lua", "ex": "Elixir", "elixir": "Elixir", "md": "Markdown", "markdown": "Markdown", "json": "JSON", "yaml": "YAML", "yml": "YAML",
	"toml": "TOML", "html": "HTML", "css": "CSS", "sql": "SQL", "proto": "Protocol Buffer", "protobuf": "Protocol Buffer", "vue": "Vue",
	"svelte": "Svelte", "zig": "Zig", "haskell": "Haskell", "hs": "Haskell", "ocaml": "OCaml", "perl": "Perl", "r": "R", "dart": "Dart",
	"make": "Makefile", "docker": "Dockerfile", "tf": "HCL", "terraform": "HCL",
}

// Language gives go-enry's name for a search tool's type name ("py", "ts"), or
// the name itself when it is not known.
func Language(typeName string) string {
	if name, ok := languages[strings.ToLower(typeName)]; ok {
		return name
	}
	return typeName
}

func (r *reader) ripgrep(c Command, args []arg) stream {
	in := Intent{Tool: "rg"}
	opts, operands, _ := options(args, "efABCmgtTMjEdr",
		"--regexp --file --after-context --before-context --context --max-count --glob --iglob --type --type-not --type-add --type-clear --max-depth --maxdepth --max-filesize --max-columns --threads --encoding --engine --replace --sort --sortr --color --colors --path-separator --pre --pre-glob --ignore-file --context-separator --field-match-separator --field-context-separator --dfa-size-limit --regex-size-limit --hostname-bin --hyperlink-format --stop-on-nonmatch --generate")
	invert, given, list, smart := false, false, false, false
	for _, o := range opts {
		switch o.name {
		case "-e", "--regexp":
			given = true
			in.pattern(o.value)
		case "-f", "--file":
			given = true
		case "-i", "--ignore-case":
			in.IgnoreCase = true
		case "-S", "--smart-case":
			smart = true
		case "-w", "--word-regexp":
			in.Word = true
		case "-F", "--fixed-strings":
			in.Fixed = true
		case "-v", "--invert-match":
			invert = true
		case "-l", "--files-with-matches", "--files-without-match":
			in.FilesOnly = true
		case "-c", "--count", "--count-matches":
			in.Count = true
		case "-g", "--glob", "--iglob":
			in.glob(o.value)
		case "-t", "--type":
			in.language(o.value)
		case "--files":
			list = true
		case "--type-list", "--version", "--help", "-V":
			return nothing
		}
	}
	if list {
		in.Kind, in.Names, in.Globs = FindFiles, in.Globs, nil
		scope(&in, c, operands)
		if len(operands) == 0 {
			everywhere(&in, c)
		}
		return r.add(in, names)
	}
	operands = in.first(operands, given)
	in.IgnoreCase = in.IgnoreCase || smart && allLower(in.Patterns)
	return r.search(c, in, operands, true, invert)
}

func allLower(patterns []string) bool {
	for _, p := range patterns {
		if strings.ToLower(p) != p {
			return false
		}
	}
	return true
}

func (r *reader) ag(c Command, name string, args []arg) stream {
	in := Intent{Tool: name}
	valued, long := "ABCmGgp", "--after --before --context --depth --file-search-regex --ignore --ignore-dir --max-count --pager --path-to-ignore --workers --color-match --color-path"
	if name != "ag" {
		valued, long = "ABCmgt", "--type --ignore-dir --ignore-file --after-context --before-context --context --max-count --output --pager --type-add --type-set"
	}
	opts, operands, _ := options(args, valued, long)
	invert, smart, byName := false, name == "ag", false
	for _, o := range opts {
		switch o.name {
		case "-i", "--ignore-case":
			in.IgnoreCase = true
		case "-s", "--case-sensitive":
			smart = false
		case "-w", "--word-regexp":
			in.Word = true
		case "-Q", "-F", "--literal", "--fixed-strings":
			in.Fixed = true
		case "-v", "--invert-match":
			invert = true
		case "-l", "-L", "--files-with-matches", "--files-without-matches":
			in.FilesOnly = true
		case "-c", "--count":
			in.Count = true
		case "-t", "--type":
			in.language(o.value)
		case "--ignore":
			in.exclude(o.value)
		case "--ignore-dir":
			in.excludeDir(o.value)
		case "-g":
			byName = true
			in.pattern(o.value)
		default:
			if known, ok := languages[strings.TrimPrefix(o.name, "--")]; ok && strings.HasPrefix(o.name, "--") {
				in.Types = append(in.Types, known)
			}
		}
	}
	if byName {
		in.Kind = FindFiles
		scope(&in, c, operands)
		if len(operands) == 0 {
			everywhere(&in, c)
		}
		return r.add(in, names)
	}
	operands = in.first(operands, false)
	in.IgnoreCase = in.IgnoreCase || smart && allLower(in.Patterns)
	return r.search(c, in, operands, true, invert)
}

func (r *reader) git(c Command, args []arg) stream {
	if len(args) == 0 {
		return nothing
	}
	switch args[0].text {
	case "grep":
		return r.gitGrep(c, args[1:])
	case "ls-files":
		return r.gitList(c, args[1:])
	}
	return nothing
}

func (r *reader) gitGrep(c Command, args []arg) stream {
	in := Intent{Tool: "git grep"}
	opts, operands, dashes := options(args, "efABCm", "--max-depth --threads --max-count --after-context --before-context --context")
	invert, given := false, false
	for _, o := range opts {
		switch o.name {
		case "-e":
			given = true
			in.pattern(o.value)
		case "-f":
			given = true
		case "-i", "--ignore-case":
			in.IgnoreCase = true
		case "-w", "--word-regexp":
			in.Word = true
		case "-F", "--fixed-strings":
			in.Fixed = true
		case "-v", "--invert-match":
			invert = true
		case "-l", "-L", "--files-with-matches", "--files-without-match", "--name-only":
			in.FilesOnly = true
		case "-c", "--count":
			in.Count = true
		}
	}
	before := len(operands)
	operands = in.first(operands, given)
	if dashes >= 0 { // what stands between the pattern and "--" is revisions
		operands = operands[max(0, dashes-(before-len(operands))):]
	}
	if len(in.Patterns) == 0 || invert {
		return nothing
	}
	in.Kind = SearchText
	pathspecs(&in, c, operands, dashes >= 0)
	return r.add(in, matches)
}

// pathspecs is scope for git's patterns; sure is false when the words may also be
// revisions.
func pathspecs(in *Intent, c Command, operands []arg, sure bool) {
	limited := false
	var globs []string
	for _, o := range operands {
		text := o.text
		switch {
		case !o.known:
			limited = true
		case strings.HasPrefix(text, ":!") || strings.HasPrefix(text, ":^"):
			in.exclude(arg{text[2:], true})
		case strings.HasPrefix(text, ":("):
			magic, rest, _ := strings.Cut(text[2:], ")")
			if strings.Contains(magic, "exclude") {
				in.exclude(arg{rest, true})
			} else {
				in.glob(arg{rest, true})
			}
		case !sure && (text == "HEAD" || strings.ContainsAny(text, "~^@:") || isHash(text)):
		case text == "(" || text == ")": // of -e a --and ( … )
		default:
			limited = true
			dir, glob := splitGlob(text)
			if glob != "" && dir != "." {
				glob = "**/" + glob // git's "*" crosses folders
			}
			if p := resolve(c.Dir, dir); p != "" {
				if glob != "" {
					globs = append(globs, glob)
				}
				in.Paths = append(in.Paths, p)
			}
		}
	}
	if len(globs) == len(in.Paths) {
		in.Globs = append(in.Globs, globs...)
	}
	if !limited {
		everywhere(in, c)
	}
}

func isHash(text string) bool {
	for i := 0; i < len(text); i++ {
		if !isDigit(text[i], 16) {
			return false
		}
	}
	return len(text) >= 7 && len(text) <= 40
}

func (r *reader) gitList(c Command, args []arg) stream {
	opts, operands, _ := options(args, "xX", "--exclude --exclude-from --with-tree")
	for _, o := range opts {
		if o.name == "-m" || o.name == "-u" || o.name == "-d" || o.name == "-o" {
			return nothing // asks for a state, not for a name
		}
	}
	in := Intent{Tool: "git ls-files", Kind: FindFiles}
	pathspecs(&in, c, operands, true)
	in.Names, in.Globs = in.Globs, nil
	if len(operands) == 0 {
		return stream{kind: names, intent: -1, paths: in.Paths}
	}
	return r.add(in, names)
}

func (r *reader) find(c Command, args []arg) stream {
	in := Intent{Tool: c.Name(), Kind: FindFiles}
	i := 0
	for ; i < len(args) && (args[i].text == "-L" || args[i].text == "-H" || args[i].text == "-P"); i++ {
	}
	start := i
	for ; i < len(args) && args[i].text != "" && strings.IndexByte("-(!", args[i].text[0]) < 0; i++ {
	}
	scope(&in, c, args[start:i])
	if i == start {
		everywhere(&in, c)
	}
	// Tests since the last -o, for -prune, which excludes what they match.
	var branch []string
	var nested [][]string
	negated := false
	var exec []arg
	keep := func() {
		for _, t := range branch {
			in.name(crossing(t))
		}
		branch = nil
	}
	for ; i < len(args); i++ {
		next := func() arg {
			if i+1 < len(args) {
				i++
				return args[i]
			}
			return arg{}
		}
		switch text := args[i].text; text {
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename":
			in.IgnoreCase = in.IgnoreCase || text[1] == 'i'
			value := next()
			switch {
			case !value.known || value.text == "":
			case negated:
				in.exclude(arg{crossing(value.text), true})
			default:
				branch = append(branch, value.text)
			}
			negated = false
		case "-regex", "-iregex":
			if value := next(); !negated {
				in.pattern(value)
			}
			negated = false
		case "-not", "!":
			negated = !negated
		case "(":
			nested = append(nested, branch)
			branch = nil
		case ")":
			if n := len(nested); n > 0 {
				branch, nested = append(nested[n-1], branch...), nested[:n-1]
			}
		case "-o", "-or":
			if len(nested) == 0 {
				keep()
			}
		case "-prune":
			for _, t := range branch {
				in.excludeDir(arg{strings.Trim(strings.TrimPrefix(t, "*/"), "*"), true})
			}
			branch = nil
		case "-exec", "-execdir", "-ok", "-okdir":
			first := i + 1
			for i++; i < len(args) && args[i].text != ";" && args[i].text != "+"; i++ {
			}
			exec = args[min(first, len(args)):min(i, len(args))]
		case "-type", "-xtype", "-maxdepth", "-mindepth", "-mtime", "-mmin", "-ctime", "-atime", "-newer", "-size", "-perm", "-user", "-group", "-printf", "-fprint", "-samefile", "-links", "-inum", "-fstype", "-regextype":
			next()
			negated = false
		}
	}
	for _, outer := range nested { // a bracket that is not closed
		branch = append(branch, outer...)
	}
	keep()
	s := r.add(in, names)
	if len(exec) > 0 {
		// The command runs on what find lists, as under xargs.
		inner := Command{Dir: c.Dir, Piped: true, From: r.at, Appended: true}
		for _, a := range exec {
			inner.Args, inner.Unknown = append(inner.Args, a.text), append(inner.Unknown, !a.known || a.text == "{}")
		}
		w := &walker{}
		w.simple(inner, &shell{dir: c.Dir, vars: map[string]string{}})
		for _, cmd := range w.commands {
			if name := cmd.Name(); strings.Contains(name, "grep") || name == "rg" || name == "ag" || name == "ack" {
				cmd.Piped, cmd.From, cmd.Appended = true, r.at, true
				r.streams[r.at] = s
				r.at++
				s = r.read(cmd)
				r.at--
			}
		}
	}
	return s
}

// crossing writes a path glob of find, whose "*" crosses folders, with "**".
func crossing(glob string) string {
	if !strings.Contains(glob, "/") {
		return glob
	}
	glob = strings.TrimPrefix(glob, "./")
	if rest, ok := strings.CutPrefix(glob, "*/"); ok {
		glob = "**/" + rest
	}
	if rest, ok := strings.CutSuffix(glob, "/*"); ok {
		glob = rest + "/**"
	}
	return glob
}

// name adds a glob of find: on the base name, or on the path.
func (in *Intent) name(glob string) {
	if strings.Contains(glob, "/") {
		in.Globs = append(in.Globs, strings.TrimPrefix(glob, "./"))
	} else {
		in.Names = append(in.Names, glob)
	}
}

func (r *reader) fd(c Command, args []arg) stream {
	in := Intent{Tool: c.Name(), Kind: FindFiles}
	var exec []arg
	for i, a := range args {
		if a.text == "-x" || a.text == "-X" || a.text == "--exec" || a.text == "--exec-batch" {
			args, exec = args[:i], args[i+1:]
			break
		}
	}
	opts, operands, _ := options(args, "etEdSjco", "--extension --type --exclude --max-depth --min-depth --exact-depth --size --changed-within --changed-before --owner --threads --base-directory --search-path --and --color --max-results --path-separator --format")
	globs := false
	var under []arg
	for _, o := range opts {
		switch o.name {
		case "-e", "--extension":
			if o.value.known && o.value.text != "" {
				in.Names = append(in.Names, "*."+strings.TrimPrefix(o.value.text, "."))
			}
		case "-E", "--exclude":
			in.exclude(o.value)
		case "-g", "--glob":
			globs = true
		case "-F", "--fixed-strings":
			in.Fixed = true
		case "-i", "--ignore-case":
			in.IgnoreCase = true
		case "--search-path", "--base-directory":
			under = append(under, o.value)
		case "--and":
			in.pattern(o.value)
		}
	}
	if len(operands) > 0 {
		if p := operands[0]; globs && p.known {
			in.name(p.text)
		} else if p.text != "." {
			in.pattern(p)
		}
		under = append(under, operands[1:]...)
	}
	in.IgnoreCase = in.IgnoreCase || allLower(in.Patterns) && len(in.Patterns) > 0
	scope(&in, c, under)
	if len(under) == 0 {
		everywhere(&in, c)
	}
	s := r.add(in, names)
	if len(exec) > 0 {
		if name := path.Base(exec[0].text); name == "grep" || name == "rg" || name == "egrep" {
			inner := Command{Dir: c.Dir, Piped: true, From: r.at, Appended: true}
			for _, a := range exec {
				inner.Args, inner.Unknown = append(inner.Args, a.text), append(inner.Unknown, !a.known)
			}
			r.streams[r.at] = s
			r.at++
			s = r.read(inner)
			r.at--
		}
	}
	return s
}

func (r *reader) locate(c Command, args []arg) stream {
	in := Intent{Tool: c.Name(), Kind: FindFiles}
	opts, operands, _ := options(args, "dlnr", "--database --limit --regexp --regex")
	for _, o := range opts {
		switch o.name {
		case "-i", "--ignore-case":
			in.IgnoreCase = true
		case "-r", "--regexp", "--regex":
			in.pattern(o.value)
		}
	}
	for _, o := range operands {
		if !o.known || o.text == "" {
			continue
		}
		if strings.ContainsAny(o.text, "*?[") {
			in.name(o.text)
		} else {
			in.name("*" + o.text + "*")
		}
	}
	return r.add(in, names)
}

func (r *reader) list(c Command, name string, args []arg) stream {
	valued := ""
	if name == "tree" {
		valued = "LIPo"
	}
	opts, operands, _ := options(args, valued, "--ignore --level")
	in := Intent{Tool: name, Kind: FindFiles}
	recursive := false
	for _, o := range opts {
		switch o.name {
		case "-R", "--recursive":
			recursive = recursive || name != "tree"
		case "-P":
			if name == "tree" && o.value.known {
				in.name(o.value.text)
				recursive = true
			}
		}
	}
	scope(&in, c, operands)
	if len(operands) == 0 {
		everywhere(&in, c)
	}
	in.Names, in.Globs = append(in.Names, in.Globs...), nil
	if !recursive && len(in.Names) == 0 {
		return stream{kind: names, intent: -1, paths: in.Paths}
	}
	return r.add(in, names)
}

// file places a command that prints files: a ReadFile for its operands, else a
// filter on its input.
func (r *reader) file(c Command, tool string, operands []arg, lines LineSpan) stream {
	in := Intent{Kind: ReadFile, Tool: tool, Lines: lines}
	for _, o := range operands {
		if p := resolve(c.Dir, o.text); o.known && p != "" && o.text != "-" && !strings.ContainsAny(o.text, "*?[") {
			in.Paths = append(in.Paths, p)
		}
	}
	if len(operands) == 0 && c.Input != "" {
		in.Paths = []string{c.Input}
	}
	switch {
	case len(in.Paths) > 0 && c.ToFile:
		return nothing // a copy: nobody saw the text
	case len(in.Paths) > 0:
		return r.add(in, content)
	case len(operands) > 0:
		return nothing
	}
	up := r.upstream(c)
	if up.kind == content && up.intent >= 0 && r.intents[up.intent].Kind == ReadFile {
		found := &r.intents[up.intent]
		found.Lines = found.Lines.within(lines)
	}
	return up
}

// within gives the lines that are left when a command prints part, counted from
// the first line that it gets, of the lines s of a file.
func (s LineSpan) within(part LineSpan) LineSpan {
	switch {
	case s == LineSpan{} || s.Start < 0:
		if s.Start < 0 && part.Start >= 0 {
			return s
		}
		return part
	case part == LineSpan{}:
		return s
	case part.Start < 0:
		if s.End > 0 {
			s.Start = max(s.Start, s.End+part.Start+1)
		}
		return s
	}
	first := max(1, s.Start)
	if part.End > 0 && (s.End == 0 || first+part.End-1 < s.End) {
		s.End = first + part.End - 1
	}
	s.Start = first + max(1, part.Start) - 1
	return s
}

func (r *reader) show(c Command, name string, args []arg) stream {
	var lines LineSpan
	valued, long := "", ""
	switch name {
	case "head", "tail":
		valued, long = "nc", "--lines --bytes"
		n, given, bytes := "10", false, false
		rest := args[:0:0]
		for i, a := range args {
			value := i > 0 && containsWord("-n -c --lines --bytes", args[i-1].text)
			if !value && len(a.text) > 1 && (a.text[0] == '-' || a.text[0] == '+' && name == "tail") && isNumber(a.text[1:]) {
				n = strings.TrimPrefix(a.text, "-") // head -20, tail +20
				given = true
				continue
			}
			rest = append(rest, a)
		}
		args = rest
		opts, _, _ := options(args, valued, long)
		for _, o := range opts {
			switch o.name {
			case "-n", "--lines":
				if !given {
					n = o.value.text
				}
			case "-c", "--bytes":
				bytes = true
			case "-f", "-F", "--follow":
				return nothing
			}
		}
		count, err := strconv.Atoi(strings.TrimPrefix(n, "+"))
		switch {
		case err != nil || bytes:
		case name == "tail" && strings.HasPrefix(n, "+"):
			lines = LineSpan{max(1, count), 0}
		case name == "tail":
			lines = LineSpan{-max(count, -count), 0}
		case count > 0:
			lines = LineSpan{1, count}
		}
	case "bat", "batcat":
		valued, long = "rlHm", "--line-range --language --highlight-line --style --theme --paging --color --wrap --map-syntax --tabs --decorations"
		opts, _, _ := options(args, valued, long)
		for _, o := range opts {
			if o.name == "-r" || o.name == "--line-range" {
				lines = colonRange(o.value.text)
			}
		}
	case "nl":
		valued = "bdfhilnsvw"
	case "less", "more":
		valued = "pPkjtTxyb"
		rest := args[:0:0]
		for _, a := range args {
			if number := strings.TrimRight(strings.TrimPrefix(a.text, "+"), "gG"); len(a.text) > 1 && a.text[0] == '+' {
				if n, err := strconv.Atoi(number); err == nil {
					lines = LineSpan{max(1, n), 0}
				}
				continue
			}
			rest = append(rest, a)
		}
		args = rest
	}
	_, operands, _ := options(args, valued, long)
	return r.file(c, name, operands, lines)
}

func isNumber(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}

// colonRange reads bat's 10:20, 10:, :20 and 10:+5.
func colonRange(text string) LineSpan {
	from, to, _ := strings.Cut(text, ":")
	return lineRange(from, to)
}

// lineRange makes a span of two addresses; "$" and "" mean the end, "+5" five
// lines on.
func lineRange(from, to string) LineSpan {
	start, _ := strconv.Atoi(from)
	start = max(1, start)
	if n, err := strconv.Atoi(strings.TrimPrefix(to, "+")); err == nil && n > 0 {
		if strings.HasPrefix(to, "+") {
			n += start
		}
		return LineSpan{start, max(n, start)}
	}
	return LineSpan{start, 0}
}

func (r *reader) sed(c Command, args []arg) stream {
	opts, operands, _ := options(args, "efl", "--expression --file --line-length")
	script, given, quiet := "", false, false
	for _, o := range opts {
		switch o.name {
		case "-e", "--expression":
			script, given = script+";"+o.value.text, true
		case "-f", "--file":
			given = true
		case "-n", "--quiet", "--silent":
			quiet = true
		case "-i", "--in-place":
			return nothing // an edit
		}
	}
	if !given {
		if len(operands) == 0 || !operands[0].known {
			return nothing
		}
		script, operands = operands[0].text, operands[1:]
	}
	lines, patterns := sedAddresses(script, quiet)
	if len(patterns) > 0 {
		return r.search(c, Intent{Tool: "sed", Patterns: patterns}, operands, false, false)
	}
	return r.file(c, "sed", operands, lines)
}

// sedAddresses reads what a script prints: the lines from the first range to the
// last, or the patterns of /…/ addresses.
func sedAddresses(script string, quiet bool) (lines LineSpan, patterns []string) {
	for _, part := range strings.FieldsFunc(script, func(r rune) bool { return r == ';' || r == '\n' || r == '{' || r == '}' }) {
		part = strings.TrimSpace(part)
		switch {
		case quiet && strings.HasPrefix(part, "/"):
			if end := strings.IndexByte(part[1:], '/'); end > 0 && strings.HasSuffix(part, "p") {
				patterns = append(patterns, part[1:1+end])
			}
			continue
		case quiet && strings.HasSuffix(part, "p"):
			part = strings.TrimSuffix(part, "p")
		case !quiet && strings.HasSuffix(part, "!d"):
			part = strings.TrimSuffix(part, "!d")
		case !quiet && strings.HasSuffix(part, "q") && isNumber(part[:len(part)-1]):
			part = "1," + part[:len(part)-1]
		default:
			continue
		}
		from, to, isRange := strings.Cut(part, ",")
		if !isNumber(strings.TrimSpace(from)) {
			continue
		}
		if !isRange {
			to = from
		}
		span := lineRange(strings.TrimSpace(from), strings.TrimSpace(to))
		if lines == (LineSpan{}) {
			lines = span
			continue
		}
		lines.Start = min(lines.Start, span.Start)
		if lines.End > 0 && span.End > 0 {
			lines.End = max(lines.End, span.End)
		} else {
			lines.End = 0
		}
	}
	return lines, patterns
}

func (r *reader) awk(c Command, args []arg) stream {
	opts, operands, _ := options(args, "Fvf", "--field-separator --assign --file")
	for _, o := range opts {
		if o.name == "-f" || o.name == "--file" {
			return nothing
		}
	}
	if len(operands) == 0 || !operands[0].known {
		return nothing
	}
	program, operands := strings.TrimSpace(operands[0].text), operands[1:]
	if strings.HasPrefix(program, "/") {
		if end := strings.IndexByte(program[1:], '/'); end > 0 {
			return r.search(c, Intent{Tool: "awk", Patterns: []string{program[1 : 1+end]}}, operands, false, false)
		}
	}
	if lines := awkLines(program); lines != (LineSpan{}) {
		return r.file(c, "awk", operands, lines)
	}
	if len(operands) == 0 {
		return r.upstream(c)
	}
	return nothing
}

// awkLines reads comparisons of NR: NR>=10 && NR<=20, NR==10,NR==20, NR>5.
func awkLines(program string) LineSpan {
	var span LineSpan
	for range 4 {
		at := strings.Index(program, "NR")
		if at < 0 {
			break
		}
		program = strings.TrimLeft(program[at+2:], " ")
		op := program[:len(program)-len(strings.TrimLeft(program, "<>="))]
		program = strings.TrimLeft(program[len(op):], " ")
		digits := len(program) - len(strings.TrimLeft(program, "0123456789"))
		n, err := strconv.Atoi(program[:digits])
		if err != nil {
			continue
		}
		switch op {
		case ">=":
			span.Start = n
		case ">":
			span.Start = n + 1
		case "<=":
			span.End = n
		case "<":
			span.End = n - 1
		case "==":
			if span.Start == 0 {
				span.Start = n
			}
			span.End = n
		}
	}
	if span.End > 0 && span.Start == 0 {
		span.Start = 1
	}
	return span
}
