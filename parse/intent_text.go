package parse

import (
	"strings"
)

// Commands that search text: grep and its kin, ripgrep, ag, ack, git grep.

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
