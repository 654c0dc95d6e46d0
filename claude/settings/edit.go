package settings

import (
	"bytes"
	"strings"

	"github.com/tailscale/hujson"
)

// style is how a file is laid out.
type style struct {
	lines bool   // one member a line; false for a file of one line
	nl    string // "\n" or "\r\n"
	unit  string // one step of indentation
	colon string // with the blanks around it
	comma string // what follows a comma on the same line
}

func styleOf(text []byte, root hujson.Value) style {
	top := root.Value.(*hujson.Object)
	s := style{nl: "\n", unit: "  ", colon: ": ", comma: " "}
	s.lines = len(top.Members) == 0 || bytes.Contains(text[root.StartOffset:root.EndOffset], []byte("\n"))
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		s.nl = "\r\n"
	}
	if len(top.Members) > 0 {
		m := top.Members[0]
		if before, after := m.Name.AfterExtra, m.Value.BeforeExtra; isBlanks(before) && isBlanks(after) {
			s.colon = string(before) + ":" + string(after)
		}
		if !s.lines && strings.HasSuffix(s.colon, ":") {
			s.comma = ""
		}
	}
	if !s.lines && len(top.Members) > 1 && isBlanks(top.Members[1].Name.BeforeExtra) {
		s.comma = string(top.Members[1].Name.BeforeExtra)
	}
	flush := false
	for v := range root.All() {
		c, ok := containerOf(v)
		if !ok || c.len() == 0 {
			continue
		}
		if indent, ok := lastIndent(*c.before(0)); ok {
			if unit, ok := strings.CutPrefix(indent, indentAt(text, v.StartOffset)); ok && unit != "" {
				s.unit = unit
				return s
			}
			flush = true
		}
	}
	if flush {
		s.unit = ""
	}
	return s
}

// object, list and raw are JSON to be rendered, as is string.
type (
	object []member
	member struct {
		name  string
		value any
	}
	list []any
	raw  []byte
)

// render appends v, which begins on a line of the given indentation.
func (s style) render(b []byte, v any, indent string) []byte {
	var brackets string
	var items []any
	lines := s.lines
	switch v := v.(type) {
	case string:
		return append(b, hujson.String(v)...)
	case raw:
		return append(b, v...)
	case object:
		brackets = "{}"
		for _, m := range v {
			items = append(items, m)
		}
	case list:
		brackets, items = "[]", v
		if len(v) > 0 {
			if _, words := v[0].(string); words {
				lines = false
			}
		}
	}
	b = append(b, brackets[0])
	inner := indent
	if lines {
		inner += s.unit
	}
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		if lines {
			b = append(b, s.nl+inner...)
		} else if i > 0 {
			b = append(b, s.comma...)
		}
		if m, ok := item.(member); ok {
			b = append(append(b, hujson.String(m.name)...), s.colon...)
			item = m.value
		}
		b = s.render(b, item, inner)
	}
	if lines && len(items) > 0 {
		b = append(b, s.nl+indent...)
	}
	return append(b, brackets[1])
}

// container is an object or an array, whose entries are edited alike.
type container struct {
	obj   *hujson.Object
	arr   *hujson.Array
	start int // of the opening bracket in the document's text
}

func containerOf(v *hujson.Value) (container, bool) {
	switch c := v.Value.(type) {
	case *hujson.Object:
		return container{obj: c, start: v.StartOffset}, true
	case *hujson.Array:
		return container{arr: c, start: v.StartOffset}, true
	}
	return container{}, false
}

func (c container) len() int {
	if c.obj != nil {
		return len(c.obj.Members)
	}
	return len(c.arr.Elements)
}

// before is what stands between entry i and the bracket or comma before it.
func (c container) before(i int) *hujson.Extra {
	if c.obj != nil {
		return &c.obj.Members[i].Name.BeforeExtra
	}
	return &c.arr.Elements[i].BeforeExtra
}

// after is what stands between entry i and its comma. On the last entry it is nil
// when no comma follows.
func (c container) after(i int) *hujson.Extra {
	if c.obj != nil {
		return &c.obj.Members[i].Value.AfterExtra
	}
	return &c.arr.Elements[i].AfterExtra
}

// end is what stands before the closing bracket.
func (c container) end() *hujson.Extra {
	if c.obj != nil {
		return &c.obj.AfterExtra
	}
	return &c.arr.AfterExtra
}

func (c container) drop(i int) {
	if c.obj != nil {
		c.obj.Members = append(c.obj.Members[:i], c.obj.Members[i+1:]...)
	} else {
		c.arr.Elements = append(c.arr.Elements[:i], c.arr.Elements[i+1:]...)
	}
}

// add appends an entry to c: v, under name when c is an object. remove gives back the
// bytes that were there.
func (d *document) add(c container, name string, v any) {
	s := d.style
	line := indentAt(d.text, c.start)
	n, end := c.len(), c.end()
	var before, after hujson.Extra
	indent := line
	if n == 0 {
		before = *end
		*end = nil
		if s.lines {
			indent = line + s.unit
			if c.obj != d.top {
				before = join(before, []byte(s.nl), s.nl)
			}
			before = append(bytes.Clone(before), s.nl+indent...)
			*end = hujson.Extra(s.nl + line)
		} else if c.obj != d.top {
			before = append(bytes.Clone(before), ' ')
		}
	} else {
		sep := s.comma
		if extra := *c.before(n - 1); n > 1 && isBlanks(extra) {
			sep = string(extra)
		}
		for i := n - 1; i >= 0; i-- {
			if in, ok := lastIndent(*c.before(i)); ok {
				indent, sep = in, s.nl+in
				break
			}
		}
		// A comment after the last entry belongs to that one.
		head := comments(*end)
		*end = (*end)[len(head):]
		if endsInLineComment(head) && !strings.Contains(sep, "\n") {
			sep = s.nl + indent
		}
		before = append(bytes.Clone(head), sep...)
		if *c.after(n - 1) != nil { // the file's lists end with a comma
			after = hujson.Extra{}
		}
	}
	value, err := hujson.Parse(s.render(nil, v, indent))
	if err != nil {
		panic("settings: rendered JSON does not parse: " + err.Error())
	}
	if c.arr != nil {
		value.BeforeExtra, value.AfterExtra = before, after
		c.arr.Elements = append(c.arr.Elements, value)
		return
	}
	left, right, _ := strings.Cut(s.colon, ":")
	key := hujson.Value{BeforeExtra: before, Value: hujson.String(name), AfterExtra: hujson.Extra(left)}
	value.BeforeExtra, value.AfterExtra = hujson.Extra(right), after
	c.obj.Members = append(c.obj.Members, hujson.ObjectMember{Name: key, Value: value})
}

// remove takes out entry i with its comma and keeps the comments around it. stays
// tells that c is empty now and was before anything of ours came.
func (d *document) remove(c container, i int) (stays bool) {
	n, nl := c.len(), d.style.nl
	before, after := *c.before(i), *c.after(i)
	switch end := c.end(); {
	case n == 1:
		c.drop(0)
		*end, stays = d.emptied(c, before, join(comments(after), *end, nl))
	case i == n-1:
		last := c.after(i - 1)
		kept := join(comments(before), join(comments(after), *end, nl), nl)
		if after != nil {
			if *last == nil {
				*last = hujson.Extra{}
			}
		} else {
			kept, *last = join(comments(*last), kept, nl), nil
		}
		c.drop(i)
		*c.end() = kept
	default:
		next := c.before(i + 1)
		if comments(*next) == nil && comments(after) == nil {
			*next = before
		} else {
			*next = join(comments(before), join(comments(after), *next, nl), nl)
		}
		c.drop(i)
	}
	return stays
}

// emptied is what stands between the brackets of a container whose only entry stood
// between before and end: what was there when add found it empty, which it tells; else
// the comments.
func (d *document) emptied(c container, before, end hujson.Extra) (between hujson.Extra, stays bool) {
	was, nl := before, []byte(" ") // of one line
	if i := bytes.LastIndexByte(before, '\n'); bytes.HasPrefix(bytes.TrimPrefix(end, []byte("\r")), []byte("\n")) && i >= 0 && isBlanks(before[i+1:]) {
		nl = []byte("\n")
		if i > 0 && before[i-1] == '\r' {
			nl = []byte("\r\n")
		}
		was = before[:i+1-len(nl)]
	} else if len(end) > 0 {
		was = nil
	}
	if comments(end) == nil && was != nil {
		if c.obj == d.top {
			return was, false
		}
		if was, ok := bytes.CutSuffix(was, nl); ok {
			return was, true
		}
	}
	if comments(before) == nil && comments(end) == nil {
		return nil, false
	}
	return join(comments(before), end, d.style.nl), false
}

// set gives obj, which begins at start, the member name with a string.
func (d *document) set(obj *hujson.Object, start int, name, value string) {
	if i, _ := lookup(obj, name); i < 0 {
		d.add(container{obj: obj, start: start}, name, value)
	} else if v := &obj.Members[i].Value; v.Value.Kind() != '"' || text(*v) != value {
		v.Value = hujson.String(value)
	}
}

// indentAt is the indentation of the line that holds an offset.
func indentAt(text []byte, offset int) string {
	line := text[bytes.LastIndexByte(text[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// lastIndent is the indentation after the last line end in an Extra.
func lastIndent(x hujson.Extra) (string, bool) {
	i := bytes.LastIndexByte(x, '\n')
	if i < 0 {
		return "", false
	}
	line := x[i+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))]), true
}

func isBlanks(x []byte) bool { return len(bytes.Trim(x, " \t")) == 0 }

// comments is an Extra up to the end of its last comment, without the line end after
// it; nil when there is none.
func comments(x hujson.Extra) hujson.Extra {
	end := 0
	for i := 0; i < len(x); i++ {
		if n := commentLen(x[i:]); n > 0 {
			end = i + len(bytes.TrimRight(x[i:i+n], "\r\n"))
			i += n - 1
		}
	}
	if end == 0 {
		return nil
	}
	return x[:end:end]
}

// commentLen is the length of the comment that b begins with, with its line end; 0
// when b begins with none.
func commentLen(b []byte) int {
	stop := "\n"
	switch {
	case bytes.HasPrefix(b, []byte("/*")):
		stop = "*/"
	case !bytes.HasPrefix(b, []byte("//")):
		return 0
	}
	if i := bytes.Index(b[2:], []byte(stop)); i >= 0 {
		return 2 + i + len(stop)
	}
	return len(b)
}

func endsInLineComment(head hujson.Extra) bool {
	for i := 0; i < len(head); i++ {
		if n := commentLen(head[i:]); n > 0 {
			if i += n; i >= len(head) {
				return head[i-n+1] == '/'
			}
			i--
		}
	}
	return false
}

// join puts an Extra that may end in an open line comment before another.
func join(head, x hujson.Extra, nl string) hujson.Extra {
	joined := bytes.Clone(head)
	if rest := bytes.TrimLeft(x, " \t\r"); endsInLineComment(head) && !bytes.HasPrefix(rest, []byte("\n")) {
		joined = append(joined, nl...)
	}
	return append(joined, x...)
}
