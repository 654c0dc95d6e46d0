package settings

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/mattn/go-shellwords"
	"github.com/tailscale/hujson"
)

// maxCommand bounds, in bytes, the commands that are parsed; a longer one is the
// user's script.
const maxCommand = 8 << 10

// Own is a command that calls chinvex.
type Own struct {
	Brief   bool   // the brief; else the handler
	Context string // --context of the brief
	Home    string // --home
	Plugin  bool   // --plugin of the brief
	Tuned   bool   // has flags or variables that we never write
	// Composed tells that the command does something of the user's besides: it is
	// not ours to change.
	Composed bool
}

// same tells whether two commands say the same.
func (o Own) same(p Own) bool {
	o.Tuned, p.Tuned = false, false
	return o == p
}

// Recognise parses a shell command and tells whether it is one of ours: chinvex-hook,
// chinvex hook or chinvex brief, whatever path, variables or exec stand before it,
// with nothing after it but redirections and || true. A command that calls one of
// them beside something else is the user's: Composed, and false.
func Recognise(command string) (Own, bool) {
	if len(command) > maxCommand {
		return textually(command)
	}
	rest := oneLine(command)
	for first := true; ; first = false {
		words, tail, err := simpleCommand(rest)
		if err != nil {
			return textually(command)
		}
		if own, plain, ok := program(words); ok {
			if first && plain && guarded(tail) {
				return own, true
			}
			own.Composed = true
			return own, false
		}
		if rest = strings.TrimLeft(tail, "; \t&|<"); rest == "" {
			return Own{}, false
		}
	}
}

var (
	callsBrief   = regexp.MustCompile(`\bchinvex(\.exe)?["']?\s+brief\b`)
	callsHandler = regexp.MustCompile(`\bchinvex(-hook|(\.exe)?["']?\s+hook)\b`)
)

// textually judges a command that is more than shellwords reads, such as ( … ).
func textually(command string) (Own, bool) {
	brief := callsBrief.MatchString(command)
	return Own{Brief: brief, Composed: brief || callsHandler.MatchString(command)}, false
}

// oneLine writes a command as shellwords takes it for what a shell does: each line end
// that ends a command a semicolon, no comments and continuations, a backslash in double
// quotes itself where it escapes nothing, and \t and \n their letters.
func oneLine(command string) string {
	var b strings.Builder
	var quote byte
	wordStart := true
	for i := 0; i < len(command); i++ {
		c := command[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(command):
			i++
			switch next := command[i]; {
			case next == '\n':
				continue
			case quote == '"' && strings.IndexByte("$`\"\\", next) < 0:
				b.WriteString(`\\`)
			case quote != 0 || next != 't' && next != 'n':
				b.WriteByte(c)
			}
			b.WriteByte(command[i])
			wordStart = false
			continue
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"' || c == '`':
			quote = c
		case c == '\n':
			c = ';'
		case c == '#' && wordStart:
			end := strings.IndexByte(command[i:], '\n')
			if end < 0 {
				return b.String()
			}
			i += end - 1
			continue
		}
		wordStart = quote == 0 && strings.IndexByte(" \t;&|", c) >= 0
		b.WriteByte(c)
	}
	return b.String()
}

// redirection is its operator; a here-document is none.
var redirection = regexp.MustCompile(`^\d*(&>>|&>|>>|>&|>\||>|<&|<>|<)`)

// simpleCommand splits off the words of the first simple command, its redirections
// dropped. tail is "" or begins with the operator that ended it.
func simpleCommand(s string) (words []string, tail string, err error) {
	target := false // the next word is where a redirection goes
	for {
		p := shellwords.NewParser()
		p.ParseEnv, p.ParseBacktick, p.ParseComment = false, false, false
		more, err := p.Parse(s)
		if err != nil {
			return nil, "", err
		}
		if target {
			if len(more) == 0 {
				return nil, "", errors.New("a redirection to nowhere")
			}
			more = more[1:]
		}
		words = append(words, more...)
		if p.Position < 0 {
			return words, "", nil
		}
		s = s[offset(s, p.Position):]
		operator := redirection.FindString(s)
		if operator == "" || strings.HasPrefix(s, "<<") {
			return words, s, nil
		}
		s, target = s[len(operator):], true
	}
}

// offset is where in s, in bytes, a character begins.
func offset(s string, character int) int {
	for i := range s {
		if character == 0 {
			return i
		}
		character--
	}
	return len(s)
}

// guarded tells whether what follows a command only hides that it failed.
func guarded(tail string) bool {
	tail = strings.Trim(tail, "; \t\r")
	if tail == "" {
		return true
	}
	or, ok := strings.CutPrefix(tail, "||")
	if !ok {
		return false
	}
	words, tail, err := simpleCommand(or)
	return err == nil && tail == "" && (slices.Equal(words, []string{"true"}) || slices.Equal(words, []string{":"}))
}

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// program reads the words of one command. plain is false when they are part of
// something larger, such as a condition or a time limit.
func program(words []string) (own Own, plain, ok bool) {
	plain = true
	wrapped, tuned := false, false
	for ; len(words) > 0; words = words[1:] {
		switch w := words[0]; {
		case assignment.MatchString(w):
			tuned = true
		case w == "exec", w == "command", w == "env", w == "nohup":
			wrapped = true
		case w == "time", w == "timeout", w == "nice", w == "setsid",
			w == "if", w == "then", w == "else", w == "do", w == "!", w == "{":
			wrapped, plain = true, false
		case wrapped && strings.IndexByte("-0123456789", (w + "x")[0]) >= 0:
			plain = false
		default:
			own, ok = call(words)
			own.Tuned = own.Tuned || tuned
			return own, plain, ok
		}
	}
	return own, plain, false
}

// base is the name of a program without its folder.
func base(path string) string {
	return strings.TrimSuffix(path[strings.LastIndexAny(path, `/\`)+1:], ".exe")
}

// call reads a program and its arguments.
func call(words []string) (own Own, ok bool) {
	name := base(words[0])
	verb := ""
	if name == "chinvex-hook" {
		verb = "hook"
	} else if name != "chinvex" {
		return own, false
	}
	for args := words[1:]; len(args) > 0; args = args[1:] {
		flag, value, given := strings.Cut(args[0], "=")
		var into *string
		switch {
		case flag == "--context":
			into = &own.Context
		case flag == "--home":
			into = &own.Home
		case args[0] == "--plugin":
			own.Plugin = true
			continue
		case !strings.HasPrefix(flag, "-"):
			if verb == "" {
				verb = args[0]
			} else if verb == "brief" { // the handler ignores its argument
				own.Tuned = true
			}
			continue
		}
		switch {
		case into == nil:
			own.Tuned = true
		case given:
			*into = value
		case len(args) > 1:
			*into = args[1]
			args = args[1:]
		}
	}
	own.Brief = verb == "brief"
	return own, own.Brief || verb == "hook"
}

// hookCommand reads a hook object: its command, in the exec form with its arguments.
func hookCommand(hook *hujson.Object) (command string, own Own, ok bool) {
	if i, twice := lookup(hook, "type"); twice || i >= 0 && text(hook.Members[i].Value) != "command" {
		return "", own, false
	}
	i, twice := lookup(hook, "command")
	if i < 0 || twice {
		return "", own, false
	}
	command = text(hook.Members[i].Value)
	i, twice = lookup(hook, "args")
	if i < 0 {
		own, ok = Recognise(command)
		return command, own, ok
	}
	args, ok := stringsOf(hook.Members[i].Value)
	if !ok || twice {
		return command, own, false
	}
	own, ok = call(append([]string{command}, args...))
	return strings.Join(append([]string{command}, args...), " "), own, ok
}

// stringsOf are the elements of a list of strings.
func stringsOf(v hujson.Value) (words []string, ok bool) {
	list, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil, false
	}
	for _, e := range list.Elements {
		if e.Value.Kind() != '"' {
			return nil, false
		}
		words = append(words, text(e))
	}
	return words, true
}
