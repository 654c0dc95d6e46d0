// Package parse turns text that an agent types or sees into meaning: a shell
// command into what it searches or reads, a regular expression into query words,
// an edit into changed lines, a tool's output into locations, a prompt into a
// query. It runs nothing and reads no file; every function takes any input,
// never panics and does bounded work.
package parse

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	maxCommandBytes = 32 << 10 // of one command line; the rest is not looked at
	maxCommands     = 400      // simple commands of one command line
	maxNestedShells = 3        // bash -c inside bash -c …
	maxBraceWords   = 64       // words that one brace expression becomes
)

// Command is one simple command of a command line, without the wrappers around
// it (env, sudo, timeout, xargs, …) and without its redirections.
type Command struct {
	Args     []string // the words, quotes resolved; never empty
	Unknown  []bool   // per word: it holds a variable or a substitution, which Args leaves out
	Dir      string   // where it runs, slash-separated and cleaned; begins with "~" in a home, "" when a cd went somewhere unknown
	Piped    bool     // it reads a pipe or text from the command line (here-document)
	From     int      // index of the command that feeds its pipe, -1 when none is known
	Input    string   // file that standard input is redirected from, resolved against Dir, "" for none
	ToFile   bool     // standard output goes to a file or is dropped
	Appended bool     // xargs appends more arguments, read from the pipe
}

// Name is the command's own name without its directory.
func (c Command) Name() string { return path.Base(c.Args[0]) }

// Commands parses command as Bash and returns its simple commands in the order in
// which they would start, those inside substitutions before the command that
// uses them. cwd is the directory it starts in, slash-separated; cd, pushd,
// git -C and make -C move it for what follows. Loop and condition bodies are
// listed once, function bodies not at all. On a syntax error the commands before
// it are returned with the error.
func Commands(command, cwd string) ([]Command, error) {
	w := &walker{}
	err := w.parse(command, &shell{dir: cleanDir(cwd), vars: map[string]string{}}, input{from: -1})
	return w.commands, err
}

func cleanDir(dir string) string {
	if dir == "" {
		return "."
	}
	return path.Clean(dir)
}

// shell is the part of a shell's state that words and paths depend on.
type shell struct {
	dir, back string            // "" unknown
	stack     []string          // of pushd
	vars      map[string]string // variables that were set to literal text
}

func (s *shell) fork() *shell {
	vars := make(map[string]string, len(s.vars))
	for name, value := range s.vars {
		vars[name] = value
	}
	return &shell{s.dir, s.back, append([]string(nil), s.stack...), vars}
}

// input is where a command's standard input comes from.
type input struct {
	piped bool
	from  int
}

type walker struct {
	commands []Command
	nested   int
}

func (w *walker) parse(command string, s *shell, in input) error {
	if len(command) > maxCommandBytes {
		command = command[:maxCommandBytes]
	}
	var failed error
	// The loop is never left early: after a syntax error this iterator yields once
	// more, and panics when nobody listens.
	for stmt, err := range syntax.NewParser().StmtsSeq(strings.NewReader(command)) {
		if err != nil && failed == nil {
			failed = fmt.Errorf("parse the command line: %w", err)
		}
		w.stmt(stmt, s, in)
	}
	return failed
}

func (w *walker) stmts(stmts []*syntax.Stmt, s *shell, in input) {
	for _, stmt := range stmts {
		w.stmt(stmt, s, in)
	}
}

func (w *walker) stmt(stmt *syntax.Stmt, s *shell, in input) {
	if stmt == nil || len(w.commands) >= maxCommands {
		return
	}
	if stmt.Background {
		s = s.fork()
	}
	first := len(w.commands)
	var file string
	toFile := false
	for _, r := range stmt.Redirs {
		target, known := "", false
		if r.Word != nil {
			target, known = w.word(r.Word, s)
		}
		switch r.Op {
		case syntax.RdrIn:
			if known {
				file = resolve(s.dir, target)
			}
			in = input{true, -1}
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			in = input{true, -1}
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
			if r.N == nil || r.N.Value == "1" {
				toFile = true
			}
		}
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		w.call(cmd, s, in)
	case *syntax.BinaryCmd:
		if cmd.Op != syntax.Pipe && cmd.Op != syntax.PipeAll {
			w.stmt(cmd.X, s, in)
			w.stmt(cmd.Y, s, in)
			break
		}
		before := len(w.commands)
		w.stmt(cmd.X, s.fork(), in)
		from := len(w.commands) - 1
		if from < before {
			from = -1
		}
		w.stmt(cmd.Y, s.fork(), input{true, from})
	case *syntax.Subshell:
		w.stmts(cmd.Stmts, s.fork(), in)
	case *syntax.Block:
		w.stmts(cmd.Stmts, s, in)
	case *syntax.IfClause:
		for clause := cmd; clause != nil; clause = clause.Else {
			w.stmts(clause.Cond, s, in)
			w.stmts(clause.Then, s, in)
		}
	case *syntax.WhileClause:
		w.stmts(cmd.Cond, s, in)
		w.stmts(cmd.Do, s, in)
	case *syntax.ForClause:
		if each, ok := cmd.Loop.(*syntax.WordIter); ok {
			for _, item := range each.Items {
				w.word(item, s) // for the substitutions in it
			}
			delete(s.vars, each.Name.Value)
		}
		w.stmts(cmd.Do, s, in)
	case *syntax.CaseClause:
		w.word(cmd.Word, s)
		for _, item := range cmd.Items {
			w.stmts(item.Stmts, s, in)
		}
	case *syntax.TimeClause:
		w.stmt(cmd.Stmt, s, in)
	case *syntax.CoprocClause:
		w.stmt(cmd.Stmt, s.fork(), in)
	case *syntax.DeclClause:
		w.assign(cmd.Args, s)
	}
	for i := first; i < len(w.commands); i++ {
		if file != "" && w.commands[i].Input == "" {
			w.commands[i].Input = file
		}
		w.commands[i].ToFile = w.commands[i].ToFile || toFile
	}
}

func (w *walker) assign(assigns []*syntax.Assign, s *shell) {
	for _, a := range assigns {
		if a.Name == nil {
			continue
		}
		value, known := "", a.Value != nil && !a.Append && a.Index == nil
		if a.Value != nil {
			text, literal := w.word(a.Value, s)
			value, known = text, known && literal
		}
		delete(s.vars, a.Name.Value)
		if known {
			s.vars[a.Name.Value] = value
		}
	}
}

func (w *walker) call(call *syntax.CallExpr, s *shell, in input) {
	if len(call.Args) == 0 {
		w.assign(call.Assigns, s)
		return
	}
	w.assign(call.Assigns, s.fork()) // for the substitutions in them
	cmd := Command{Dir: s.dir, Piped: in.piped, From: in.from}
	for _, arg := range call.Args {
		for _, word := range braceWords(arg) {
			text, known := w.word(word, s)
			cmd.Args = append(cmd.Args, text)
			cmd.Unknown = append(cmd.Unknown, !known)
		}
	}
	w.simple(cmd, s)
}

// simple takes the wrappers off cmd, follows what it does to the shell's
// directory, and appends it.
func (w *walker) simple(cmd Command, s *shell) {
	for range 8 { // sudo env time nice …
		if len(cmd.Args) == 0 || cmd.Unknown[0] || cmd.Args[0] == "" || len(w.commands) >= maxCommands {
			return
		}
		name := cmd.Name()
		wrap, isWrapper := wrappers[name]
		switch {
		case isWrapper:
			if name == "command" && len(cmd.Args) > 1 && (cmd.Args[1] == "-v" || cmd.Args[1] == "-V") {
				return
			}
			w.unwrap(&cmd, wrap)
			continue
		case name == "bash" || name == "sh" || name == "zsh" || name == "dash" || name == "eval":
			if script, ok := scriptOf(cmd); ok && w.nested < maxNestedShells {
				w.nested++
				inner := s
				if name != "eval" {
					inner = s.fork()
				}
				w.parse(script, inner, input{cmd.Piped, cmd.From}) // the commands before a syntax error still count
				w.nested--
				return
			}
		case name == "cd" || name == "pushd" || name == "popd":
			s.move(name, cmd)
			return
		case name == "git" || name == "make":
			cmd = inDir(cmd)
		}
		break
	}
	w.commands = append(w.commands, cmd)
}

// wrapper says how to find the command that a wrapper runs.
type wrapper struct {
	valued   string // short options that take a value
	long     string // long options whose value is the next word, separated by blanks
	operands int    // words between the options and the command
	assigns  bool   // NAME=value words come first
	xargs    bool
}

var wrappers = map[string]wrapper{
	"env":     {valued: "uCS", long: "--unset --chdir", assigns: true},
	"command": {},
	"builtin": {},
	"exec":    {valued: "a"},
	"nohup":   {},
	"time":    {valued: "fo", long: "--format --output"},
	"nice":    {valued: "n", long: "--adjustment"},
	"ionice":  {valued: "cnp"},
	"stdbuf":  {valued: "ioe"},
	"setsid":  {},
	"sudo":    {valued: "ugCDhpRrTtU", long: "--user --group --chdir", assigns: true},
	"doas":    {valued: "uC"},
	"timeout": {valued: "ks", long: "--kill-after --signal", operands: 1},
	"xargs":   {valued: "IEdLnPsa", long: "--replace --delimiter --max-args --max-procs --max-lines --max-chars --arg-file", xargs: true},
}

func (w *walker) unwrap(cmd *Command, wrap wrapper) {
	i, replace := 1, ""
	for ; i < len(cmd.Args); i++ {
		arg := cmd.Args[i]
		if arg == "--" {
			i++
			break
		}
		if wrap.assigns && strings.Contains(arg, "=") && !strings.HasPrefix(arg, "-") {
			continue
		}
		if len(arg) < 2 || arg[0] != '-' {
			break
		}
		if strings.HasPrefix(arg, "--") {
			if name, value, ok := strings.Cut(arg, "="); ok {
				if name == "--replace" {
					replace = value
				}
			} else if containsWord(wrap.long, arg) {
				i++
			}
			continue
		}
		for j := 1; j < len(arg); j++ {
			if strings.IndexByte(wrap.valued, arg[j]) < 0 {
				continue
			}
			value := arg[j+1:]
			if value == "" {
				if i++; i < len(cmd.Args) {
					value = cmd.Args[i]
				}
			}
			if wrap.xargs && arg[j] == 'I' {
				replace = value
			}
			break
		}
	}
	i = min(i+wrap.operands, len(cmd.Args))
	cmd.Args, cmd.Unknown = cmd.Args[i:], cmd.Unknown[i:]
	if !wrap.xargs {
		return
	}
	cmd.Appended = true
	for i, arg := range cmd.Args {
		if replace != "" && strings.Contains(arg, replace) {
			cmd.Unknown[i] = true
		}
	}
}

// scriptOf returns the script of `bash -c SCRIPT` and of eval.
func scriptOf(cmd Command) (string, bool) {
	if cmd.Name() == "eval" {
		for _, unknown := range cmd.Unknown {
			if unknown {
				return "", false
			}
		}
		return strings.Join(cmd.Args[1:], " "), true
	}
	for i, arg := range cmd.Args[1:] {
		if len(arg) < 2 || arg[0] != '-' {
			return "", false
		}
		if arg[1] != '-' && strings.Contains(arg, "c") {
			at := i + 2
			return argAt(cmd, at), at < len(cmd.Args) && !cmd.Unknown[at]
		}
	}
	return "", false
}

func argAt(cmd Command, i int) string {
	if i < len(cmd.Args) {
		return cmd.Args[i]
	}
	return ""
}

// move follows cd, pushd and popd.
func (s *shell) move(name string, cmd Command) {
	if name == "popd" {
		s.back = s.dir
		s.dir = ""
		if n := len(s.stack); n > 0 {
			s.dir, s.stack = s.stack[n-1], s.stack[:n-1]
		}
		return
	}
	i := 1
	for i < len(cmd.Args) && len(cmd.Args[i]) > 1 && cmd.Args[i][0] == '-' {
		i++
	}
	if name == "pushd" {
		s.stack = append(s.stack, s.dir)
	}
	to := ""
	switch {
	case i >= len(cmd.Args):
		to = "~"
	case cmd.Unknown[i]:
	case cmd.Args[i] == "-":
		to = s.back
	default:
		to = resolve(s.dir, cmd.Args[i])
	}
	s.back, s.dir = s.dir, to
}

// inDir applies the -C options of git and make and takes git's options before the
// subcommand away.
func inDir(cmd Command) Command {
	git := cmd.Name() == "git"
	args, unknown := cmd.Args[:1:1], cmd.Unknown[:1:1]
	i := 1
	for ; i < len(cmd.Args); i++ {
		arg := cmd.Args[i]
		switch {
		case arg == "-C" && i+1 < len(cmd.Args):
			i++
			dir := ""
			if !cmd.Unknown[i] {
				dir = resolve(cmd.Dir, cmd.Args[i])
			}
			cmd.Dir = dir
			continue
		case git && (arg == "-c" || arg == "--git-dir" || arg == "--work-tree" || arg == "--namespace"):
			i++
			continue
		case git && len(arg) > 1 && arg[0] == '-':
			continue
		}
		if git {
			break
		}
		args, unknown = append(args, arg), append(unknown, cmd.Unknown[i])
	}
	i = min(i, len(cmd.Args))
	cmd.Args, cmd.Unknown = append(args, cmd.Args[i:]...), append(unknown, cmd.Unknown[i:]...)
	return cmd
}

// resolve gives name, a path as typed, as seen from dir, "" when dir is not known.
// A home directory ("~") stays as typed: whose it is, the caller may know.
func resolve(dir, name string) string {
	switch {
	case name == "" || strings.IndexByte(name, 0) >= 0:
		return ""
	case path.IsAbs(name) || name[0] == '~':
		return path.Clean(name)
	case dir == "":
		return ""
	}
	return path.Join(dir, name)
}

// braceWords expands {a,b}; a word with a sequence {1..3} or with too many
// alternatives stays as it is.
func braceWords(word *syntax.Word) []*syntax.Word {
	split := &syntax.Word{Parts: append([]syntax.WordPart(nil), word.Parts...)}
	if !syntax.SplitBraces(split) {
		return []*syntax.Word{word}
	}
	words, ok := expandBraces(split)
	if !ok {
		return []*syntax.Word{word}
	}
	return words
}

func expandBraces(word *syntax.Word) ([]*syntax.Word, bool) {
	words := []*syntax.Word{{}}
	for _, part := range word.Parts {
		brace, isBrace := part.(*syntax.BraceExp)
		if !isBrace {
			for _, w := range words {
				w.Parts = append(w.Parts, part)
			}
			continue
		}
		if brace.Sequence {
			return nil, false
		}
		var next []*syntax.Word
		for _, w := range words {
			for _, elem := range brace.Elems {
				tails, ok := expandBraces(elem)
				if !ok || len(next)+len(tails) > maxBraceWords {
					return nil, false
				}
				for _, tail := range tails {
					parts := append(append([]syntax.WordPart(nil), w.Parts...), tail.Parts...)
					next = append(next, &syntax.Word{Parts: parts})
				}
			}
		}
		words = next
	}
	return words, true
}

// word resolves quotes and escapes. known is false when a part of the word is
// decided at run time; the text then lacks that part. Commands in substitutions
// are walked.
func (w *walker) word(word *syntax.Word, s *shell) (text string, known bool) {
	var out strings.Builder
	known = w.parts(&out, word.Parts, s, false)
	return out.String(), known
}

func (w *walker) parts(out *strings.Builder, parts []syntax.WordPart, s *shell, quoted bool) bool {
	known := true
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			unescape(out, p.Value, quoted)
		case *syntax.SglQuoted:
			if p.Dollar {
				ansiC(out, p.Value)
			} else {
				out.WriteString(p.Value)
			}
		case *syntax.DblQuoted:
			known = w.parts(out, p.Parts, s, true) && known
		case *syntax.ParamExp:
			value, ok := s.vars[paramName(p)]
			if !ok && paramName(p) == "PWD" {
				value, ok = s.dir, s.dir != ""
			}
			out.WriteString(value)
			known = known && ok
		case *syntax.CmdSubst:
			w.stmts(p.Stmts, s.fork(), input{from: -1})
			known = false
		case *syntax.ProcSubst:
			w.stmts(p.Stmts, s.fork(), input{from: -1})
			known = false
		case *syntax.ExtGlob:
			out.WriteString(p.Op.String() + p.Pattern.Value + ")")
		default:
			known = false
		}
	}
	return known
}

// paramName is the name of a plain $name or ${name}, "" for every other form.
func paramName(p *syntax.ParamExp) string {
	if p.Param == nil || p.Excl || p.Length || p.Width || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Exp != nil || p.Names != 0 {
		return ""
	}
	return p.Param.Value
}

// unescape removes the backslashes that the shell removes.
func unescape(out *strings.Builder, text string, quoted bool) {
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\\n", text[i+1]) >= 0) {
			i++
			if text[i] == '\n' {
				continue
			}
		}
		out.WriteByte(text[i])
	}
}

// ansiC decodes the inside of $'…'.
func ansiC(out *strings.Builder, text string) {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		i++
		digits, base := 0, 16
		switch c := text[i]; c {
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		case '0', '1', '2', '3', '4', '5', '6', '7':
			digits, base, i = 3, 8, i-1
		default:
			if at := strings.IndexByte("abefnrtv", c); at >= 0 {
				out.WriteByte("\a\b\x1b\f\n\r\t\v"[at])
			} else {
				out.WriteByte(c)
			}
			continue
		}
		end := i + 1
		for end < len(text) && end-i <= digits && isDigit(text[end], base) {
			end++
		}
		n, err := strconv.ParseUint(text[i+1:end], base, 32)
		switch {
		case err != nil:
			out.WriteByte(text[i])
		case digits <= 3:
			out.WriteByte(byte(n))
		default:
			out.WriteRune(rune(n))
		}
		i = end - 1
	}
}

func isDigit(c byte, base int) bool {
	if base == 8 {
		return c >= '0' && c <= '7'
	}
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func containsWord(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}
