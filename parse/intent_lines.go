package parse

import (
	"strconv"
	"strings"
)

// Commands that show lines of a file: cat, head, tail, less, nl, sed, awk.

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
