package parse

import (
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
