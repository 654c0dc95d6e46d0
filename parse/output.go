package parse

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxLocations = 5_000   // that one output gives
	maxOutput    = 4 << 20 // bytes of an output that are read, from its beginning
	maxLine      = 2_000   // bytes of a line that are read
)

// Location is one place that a tool's output names.
type Location struct {
	Path string // as printed, a leading "./" taken off; relative to where the tool ran, or absolute
	Line int    // 1-based; 0 when only the file is named
	Text string // what the line says about the place, trimmed; "" when nothing
	Kind string // which format: a name from the table of formats
}

// format recognises one way to name a place in a line. The line is trimmed at its
// right end and holds no escape sequences.
type format struct {
	kind  string
	match func(line string) (Location, bool)
}

// formats is in order: the first that matches wins. "match", "count" and "file"
// are what searches print; the others are errors of compilers, tests and
// programs.
var formats = []format{
	{"rustc", rustcLine},       // --> src/x.rs:3:5
	{"python", pythonLine},     //   File "x.py", line 3, in run
	{"node", stackLine},        //     at run (/src/x.js:3:5); also Java's at a.B.c(B.java:3)
	{"tsc", tscLine},           // src/a.ts(3,5): error TS2304: …
	{"gcc", includedLine},      // In file included from a.h:3:
	{"php", phpLine},           // … in /src/x.php on line 3
	{"compiler", compilerLine}, // path:line:col: text — go, gcc, clang, eslint's unix format, rg --vimgrep
	{"match", matchLine},       // path:line:text — grep -n, rg -n, javac, pytest, go test
	{"context", contextLine},   // path-line-text — grep -C
	{"count", countLine},       // path:3 — grep -c
	{"pytest", pytestLine},     // FAILED tests/test_x.py::test_y - …
	{"match", textLine},        // path:text — grep -r without -n
	{"file", fileLine},         // path — grep -l, find, ls
}

// Locations returns the places that a tool's output names, in order, at most
// 5,000 from the first 4 MiB: matches and file lists of search tools, with and
// without headings, and errors of compilers, tests and programs. Lines that name
// no place are skipped.
func Locations(output string) []Location { return LocationsIn("", output) }

// LocationsIn is Locations for the output of a command that looked at one file
// only and therefore does not print its name: "12:text" is line 12 of file.
func LocationsIn(file, output string) []Location {
	if len(output) > maxOutput {
		output = output[:maxOutput]
	}
	var found []Location
	heading := file // the file that lines without a path belong to
	for line := range strings.SplitSeq(output, "\n") {
		if len(found) == maxLocations {
			break
		}
		if len(line) > maxLine {
			line = strings.ToValidUTF8(line[:maxLine], "")
		}
		line = strings.TrimRight(dropEscapes(line), " \t\r")
		if line == "" {
			heading = file
			continue
		}
		if heading != "" {
			if at, text, ok := numbered(line); ok {
				// A heading was taken for a file's name; its lines say more.
				if n := len(found); n > 0 && found[n-1].Kind == "file" && found[n-1].Path == heading {
					found = found[:n-1]
				}
				found = append(found, Location{heading, at, text, "match"})
				continue
			}
		}
		for _, f := range formats {
			if l, ok := f.match(line); ok {
				l.Path = strings.TrimPrefix(l.Path, "./")
				l.Kind = f.kind
				if f.kind == "file" {
					heading = l.Path
				}
				found = append(found, l)
				break
			}
		}
	}
	return found
}

// dropEscapes takes terminal escape sequences out of a line.
func dropEscapes(line string) string {
	if strings.IndexByte(line, '\x1b') < 0 {
		return line
	}
	var out strings.Builder
	for i := 0; i < len(line); i++ {
		if line[i] != '\x1b' {
			out.WriteByte(line[i])
			continue
		}
		if i+1 < len(line) && line[i+1] == '[' {
			for i += 2; i < len(line) && (line[i] < '@' || line[i] > '~'); i++ {
			}
		}
	}
	return out.String()
}

// numbered reads "12:text", "12-text" and eslint's "  12:5  error …".
func numbered(line string) (n int, text string, ok bool) {
	line = strings.TrimLeft(line, " ")
	n, rest, ok := number(line)
	if !ok || rest == "" || rest[0] != ':' && rest[0] != '-' {
		return 0, "", false
	}
	return n, strings.TrimSpace(rest[1:]), true
}

// number reads digits at the beginning of text; a line number has at most 8.
func number(text string) (n int, rest string, ok bool) {
	digits := 0
	for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
		digits++
	}
	if digits == 0 || digits > 8 {
		return 0, text, false
	}
	n, _ = strconv.Atoi(text[:digits])
	return n, text[digits:], n > 0
}

// isPath tells whether text looks like a file's path: an extension or a folder in
// it, and nothing that a sentence or an address has. Blanks are allowed where the
// path shows by its beginning that it is one.
func isPath(text string) bool {
	if text == "" || len(text) > 1024 || strings.ContainsAny(text, "\"'`<>|*?;,(){}\t=\x00") && !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "./") {
		return false
	}
	if strings.Contains(text, "://") || strings.HasPrefix(text, "//") || text[0] == '-' || !utf8.ValidString(text) {
		return false
	}
	rooted := strings.HasPrefix(text, "/") || strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../")
	if strings.Contains(text, " ") && (!rooted || strings.Contains(text, ": ")) {
		return false
	}
	if strings.IndexByte(text, ':') >= 0 && !(len(text) > 2 && text[1] == ':' && (text[2] == '\\' || text[2] == '/')) {
		return false
	}
	if strings.IndexByte(text, '/') >= 0 || strings.IndexByte(text, '\\') >= 0 {
		return strings.Trim(text, "/.\\") != ""
	}
	return hasExtension(text) || text == "Makefile" || text == "Dockerfile"
}

// hasExtension tells whether a name ends in a dot and 1 to 10 letters or digits,
// a letter first.
func hasExtension(name string) bool {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 || dot+1 == len(name) || len(name)-dot > 11 {
		return false
	}
	for i := dot + 1; i < len(name); i++ {
		c := name[i] | 0x20
		if (c < 'a' || c > 'z') && (i == dot+1 || name[i] < '0' || name[i] > '9') {
			return false
		}
	}
	return true
}

// pathAndLine reads "path:12" at the end of text, and "path:12:5".
func pathAndLine(text string) (Location, bool) {
	for range 2 {
		colon := strings.LastIndexByte(text, ':')
		if colon < 0 {
			return Location{}, false
		}
		n, rest, ok := number(text[colon+1:])
		if !ok || rest != "" {
			return Location{}, false
		}
		if head := strings.TrimPrefix(text[:colon], "file://"); isPath(head) {
			return Location{Path: head, Line: n}, true
		}
		text = text[:colon]
	}
	return Location{}, false
}

// cutPath reads "path:12" in front of a line and returns what comes behind.
func cutPath(line string) (l Location, rest string, ok bool) {
	line = strings.TrimLeft(line, " \t")
	line = strings.TrimPrefix(line, "vet: ")
	for from := 0; ; {
		colon := strings.IndexByte(line[from:], ':')
		if colon < 0 {
			return Location{}, "", false
		}
		colon += from
		if n, rest, isNumber := number(line[colon+1:]); isNumber && isPath(line[:colon]) {
			return Location{Path: line[:colon], Line: n}, rest, true
		}
		if colon > 1 { // one letter and a colon begin a Windows path
			return Location{}, "", false
		}
		from = colon + 1
	}
}

func rustcLine(line string) (Location, bool) {
	_, place, found := strings.Cut(line, "--> ")
	if !found {
		return Location{}, false
	}
	return pathAndLine(place)
}

func pythonLine(line string) (Location, bool) {
	rest, found := strings.CutPrefix(strings.TrimLeft(line, " \t|"), `File "`)
	name, rest, closed := strings.Cut(rest, `", line `)
	if !found || !closed || strings.HasPrefix(name, "<") {
		return Location{}, false
	}
	n, rest, ok := number(rest)
	return Location{Path: name, Line: n, Text: strings.TrimPrefix(strings.TrimPrefix(rest, ","), " ")}, ok
}

// stackLine reads the frames of JavaScript, Java, Kotlin and Scala.
func stackLine(line string) (Location, bool) {
	rest, found := strings.CutPrefix(strings.TrimLeft(line, " \t"), "at ")
	if !found {
		return Location{}, false
	}
	text := ""
	if open := strings.LastIndexByte(rest, '('); open >= 0 && strings.HasSuffix(rest, ")") {
		text, rest = strings.TrimSpace(rest[:open]), rest[open+1:len(rest)-1]
	}
	l, ok := pathAndLine(rest)
	l.Text = text
	return l, ok
}

func tscLine(line string) (Location, bool) {
	name, rest, found := strings.Cut(line, "(")
	if !found || !isPath(name) {
		return Location{}, false
	}
	n, rest, ok := number(rest)
	_, text, closed := strings.Cut(rest, "): ")
	return Location{Path: name, Line: n, Text: text}, ok && closed
}

func includedLine(line string) (Location, bool) {
	rest, found := strings.CutPrefix(strings.TrimLeft(line, " "), "In file included from ")
	if !found {
		rest, found = strings.CutPrefix(strings.TrimLeft(line, " "), "from ")
	}
	if !found {
		return Location{}, false
	}
	return pathAndLine(strings.TrimRight(rest, ":,"))
}

func phpLine(line string) (Location, bool) {
	head, after, found := strings.Cut(line, " on line ")
	in := strings.LastIndex(head, " in ")
	if !found || in < 0 || !isPath(head[in+4:]) {
		return Location{}, false
	}
	n, _, ok := number(after)
	return Location{Path: head[in+4:], Line: n, Text: strings.TrimSpace(head[:in])}, ok
}

func compilerLine(line string) (Location, bool) {
	l, rest, ok := cutPath(line)
	if !ok || !strings.HasPrefix(rest, ":") {
		return Location{}, false
	}
	_, text, ok := number(rest[1:])
	if !ok || text != "" && text[0] != ':' {
		return Location{}, false
	}
	l.Text = strings.TrimSpace(strings.TrimPrefix(text, ":"))
	return l, true
}

func matchLine(line string) (Location, bool) {
	l, rest, ok := cutPath(line)
	if !ok || rest == "" || rest[0] != ':' && !strings.HasPrefix(rest, " +0x") {
		return Location{}, false
	}
	l.Text = strings.TrimSpace(rest[1:])
	return l, true
}

// contextLine reads the lines around a match. A path may hold "-12-" itself, so a
// file's extension must stand in front.
func contextLine(line string) (Location, bool) {
	for from, tries := 0, 0; tries < 8; {
		dash := strings.IndexByte(line[from:], '-')
		if dash < 0 {
			break
		}
		dash += from
		if n, rest, ok := number(line[dash+1:]); ok && strings.HasPrefix(rest, "-") {
			if hasExtension(line[:dash]) && isPath(line[:dash]) {
				return Location{Path: line[:dash], Line: n, Text: strings.TrimSpace(rest[1:])}, true
			}
			tries++
		}
		from = dash + 1
	}
	return Location{}, false
}

func countLine(line string) (Location, bool) {
	l, rest, ok := cutPath(line)
	l.Line = 0
	return l, ok && rest == ""
}

func pytestLine(line string) (Location, bool) {
	for _, word := range []string{"FAILED ", "ERROR "} {
		if rest, found := strings.CutPrefix(line, word); found {
			name, text, _ := strings.Cut(rest, "::")
			return Location{Path: name, Text: text}, isPath(name)
		}
	}
	return Location{}, false
}

func textLine(line string) (Location, bool) {
	name, text, found := strings.Cut(line, ":")
	if !found || strings.ContainsAny(name, " ") || !isPath(name) || !hasExtension(name) || strings.HasPrefix(text, "//") {
		return Location{}, false
	}
	return Location{Path: name, Text: strings.TrimSpace(text)}, true
}

func fileLine(line string) (Location, bool) {
	return Location{Path: line}, isPath(line)
}
