package parse

import (
	"path"
	"strings"
)

// Commands that look for files by name: find, fd, locate, ls -R, git ls-files.

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
