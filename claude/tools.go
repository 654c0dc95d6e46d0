package claude

import (
	"path/filepath"
	"strconv"
	"strings"
)

// Hunk is one hunk of a structured patch. Lines carry a leading " ", "-" or "+";
// numbers are 1-based, NewLines 0 means that nothing is left.
type Hunk struct {
	OldStart int      `json:"oldStart"`
	OldLines int      `json:"oldLines"`
	NewStart int      `json:"newStart"`
	NewLines int      `json:"newLines"`
	Lines    []string `json:"lines"`
}

// Lines is a run of lines, 1-based and inclusive.
type Lines struct{ Start, End int }

// Changed gives the lines that the hunk added, as numbered after the edit. A
// deletion counts as the line that now stands in its place.
func (h Hunk) Changed() []Lines {
	var spans []Lines
	line := max(h.NewStart, 1)
	for i := 0; i < len(h.Lines); {
		if sign(h.Lines[i]) == ' ' {
			line++
			i++
			continue
		}
		start, removed := line, false
		for ; i < len(h.Lines) && sign(h.Lines[i]) != ' '; i++ {
			if sign(h.Lines[i]) == '+' {
				line++
			} else {
				removed = removed || sign(h.Lines[i]) == '-'
			}
		}
		switch {
		case line > start:
			spans = append(spans, Lines{start, line - 1})
		case removed:
			spans = append(spans, Lines{start, start})
		}
	}
	return spans
}

// Old is the text of the removed lines, New that of the added ones.
func (h Hunk) Old() string { return h.side('-') }

// New is the text of the added lines.
func (h Hunk) New() string { return h.side('+') }

func (h Hunk) side(want byte) string {
	var text strings.Builder
	for _, line := range h.Lines {
		if sign(line) == want {
			text.WriteString(line[1:])
			text.WriteByte('\n')
		}
	}
	return text.String()
}

// sign is a patch line's first byte: ' ', '-', '+', or '\\' for the remark that
// the file ends without a newline. An empty line is context.
func sign(line string) byte {
	if line == "" {
		return ' '
	}
	return line[0]
}

// Replacement is one replaced text.
type Replacement struct {
	Old, New   string
	ReplaceAll bool
}

// Edit is what Edit, MultiEdit, Write or NotebookEdit changed.
type Edit struct {
	Path         string        // absolute, as the client resolved it
	Replacements []Replacement // in order; a Write has one with Old "", a NotebookEdit one with the cell's texts
	Whole        bool          // a Write: New is the whole file
	Created      bool          // the file did not exist before
	Cell         string        // NotebookEdit: the cell's id
	Others       []string      // further files that the same call changed: a patch of another agent may hold several
	Hunks        []Hunk        // nil before the edit happened, for a created file and for a notebook
	response     Value
}

// Edit returns the change of an editing tool's event; ok is false for every
// other event and when no path is named.
func (e *Event) Edit() (edit Edit, ok bool) {
	in := e.ToolInput
	edit = Edit{Path: in.Text("file_path"), response: e.Response}
	switch e.ToolName {
	case "Edit":
		edit.Replacements = []Replacement{{in.Text("old_string"), in.Text("new_string"), in.Bool("replace_all")}}
		edit.Created = e.Response.members != nil && in.Text("old_string") == "" && !e.Response.Has("originalFile")
	case "MultiEdit":
		for _, raw := range in.list("edits") {
			var one Value
			if one.read(&scanner{data: raw}) == nil && one.members != nil {
				edit.Replacements = append(edit.Replacements, Replacement{one.Text("old_string"), one.Text("new_string"), one.Bool("replace_all")})
			}
		}
	case "Write":
		edit.Whole = true
		edit.Replacements = []Replacement{{New: in.Text("content")}}
		edit.Created = e.Response.Text("type") == "create"
	case "NotebookEdit":
		edit.Path, edit.Cell = in.Text("notebook_path"), in.Text("cell_id")
		edit.Replacements = []Replacement{{Old: e.Response.Text("old_source"), New: in.Text("new_source")}}
	default:
		return Edit{}, false
	}
	edit.Others = e.Response.object("bashEditDiff").Texts("changedFiles")
	e.Response.decode("structuredPatch", &edit.Hunks)
	return edit, edit.Path != ""
}

// Changed gives the lines that changed, as numbered after the edit, from the
// structured patch; the whole of a created file; nil when the event does not say.
func (e Edit) Changed() []Lines {
	if e.Created && e.Whole {
		return []Lines{{1, max(1, strings.Count(e.Replacements[0].New, "\n"))}}
	}
	var spans []Lines
	for _, h := range e.Hunks {
		spans = append(spans, h.Changed()...)
	}
	return spans
}

// Original decodes the whole file as it was before the edit. ok is false when the
// event does not carry it.
func (e Edit) Original() (text string, ok bool) {
	for _, key := range []string{"originalFile", "original_file"} {
		if e.response.Has(key) {
			return e.response.Text(key), true
		}
	}
	return "", false
}

// Read is what the Read tool showed.
type Read struct {
	Path       string // absolute
	Offset     int    // first line asked for, 0 when not asked
	Limit      int    // lines asked for, 0 when not asked
	Start, End int    // lines shown, 1-based and inclusive; 0 when the event does not say
	Total      int    // lines of the file, 0 when the event does not say
	Notebook   bool
	file       Value
}

// Read returns what a Read event showed.
func (e *Event) Read() (read Read, ok bool) {
	if e.ToolName != "Read" {
		return Read{}, false
	}
	in := e.ToolInput
	read = Read{
		Path: in.Text("file_path"), Offset: max(0, in.Int("offset")), Limit: max(0, in.Int("limit")),
		Notebook: e.Response.Text("type") == "notebook", file: e.Response.object("file"),
	}
	if n := read.file.Int("numLines"); n > 0 {
		read.Start = max(1, read.file.Int("startLine"))
		read.End = read.Start + n - 1
	}
	read.Total = max(0, read.file.Int("totalLines"))
	return read, read.Path != ""
}

// Content decodes the text that was shown, "" when the event does not carry it.
func (r Read) Content() string { return r.file.Text("content") }

// Grep is one use of the Grep tool. Paths in Files and Content are relative to
// the event's CWD.
type Grep struct {
	Pattern    string // a regular expression of the Rust flavour
	Path       string // absolute, "" for CWD
	Glob       string // as typed; may hold several, separated by blanks or commas
	Type       string // of rg --type
	Mode       string // content, files_with_matches or count
	IgnoreCase bool
	Multiline  bool
	Files      []string // files_with_matches only
	Content    string   // content: "path:line:text" lines; count: "path:count" lines
}

// Grep returns what a Grep event searched and found.
func (e *Event) Grep() (grep Grep, ok bool) {
	if e.ToolName != "Grep" {
		return Grep{}, false
	}
	in := e.ToolInput
	grep = Grep{
		Pattern: in.Text("pattern"), Path: in.Text("path"), Glob: in.Text("glob"), Type: in.Text("type"),
		Mode: in.Text("output_mode"), IgnoreCase: in.Bool("-i"), Multiline: in.Bool("multiline"),
		Files: e.Response.Texts("filenames"), Content: e.Response.Text("content"),
	}
	if grep.Mode == "" {
		grep.Mode = "files_with_matches"
	}
	return grep, grep.Pattern != ""
}

// Glob is one use of the Glob tool. Files are relative to the event's CWD.
type Glob struct {
	Pattern string
	Path    string // absolute, "" for CWD
	Files   []string
}

// Glob returns what a Glob event looked for and found.
func (e *Event) Glob() (glob Glob, ok bool) {
	if e.ToolName != "Glob" {
		return Glob{}, false
	}
	glob = Glob{e.ToolInput.Text("pattern"), e.ToolInput.Text("path"), e.Response.Texts("filenames")}
	return glob, glob.Pattern != ""
}

// FileDiff is what a command did to one file.
type FileDiff struct {
	Path    string `json:"filePath"` // absolute
	Hunks   []Hunk `json:"hunks"`
	Deleted bool   `json:"deleted"`
}

// Bash is one command and its outcome.
type Bash struct {
	Command    string
	Stdout     string // of a failed command: all its output
	Stderr     string
	ExitCode   int        // of a failed command; 0 otherwise
	Background bool       // it still runs; there is no output
	Changed    []string   // absolute paths of files that the client saw change; often empty although some did
	Diffs      []FileDiff // interactive sessions only
}

// Bash returns what a Bash event ran and what came of it.
func (e *Event) Bash() (bash Bash, ok bool) {
	if e.ToolName != "Bash" {
		return Bash{}, false
	}
	r := e.Response
	bash = Bash{
		Command: e.ToolInput.Text("command"), Stdout: r.Text("stdout"), Stderr: r.Text("stderr"),
		Background: r.Text("backgroundTaskId") != "",
	}
	if rest, failed := strings.CutPrefix(e.Error, "Exit code "); failed {
		code, output, _ := strings.Cut(rest, "\n")
		bash.ExitCode, _ = strconv.Atoi(code)
		bash.Stdout = output
	} else if e.Error != "" {
		bash.Stdout = e.Error
	}
	if r.Has("bashEditDiff") {
		diff := r.object("bashEditDiff")
		bash.Changed = diff.Texts("changedFiles")
		diff.decode("files", &bash.Diffs)
	}
	for _, path := range staleFiles(r.Text("staleReadFileStateHint")) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(e.CWD, path)
		}
		if !contains(bash.Changed, path) {
			bash.Changed = append(bash.Changed, path)
		}
	}
	return bash, bash.Command != ""
}

// staleFiles reads the paths out of "[This command modified 2 files you've
// previously read: a, b. Call Read before editing.]".
func staleFiles(hint string) []string {
	_, list, found := strings.Cut(hint, "previously read: ")
	if !found {
		return nil
	}
	if end := strings.LastIndex(list, ". Call "); end >= 0 {
		list = list[:end]
	}
	var paths []string
	for path := range strings.SplitSeq(list, ", ") {
		if path = strings.TrimSpace(path); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

func contains(list []string, want string) bool {
	for _, s := range list {
		if s == want {
			return true
		}
	}
	return false
}

// OwnTool returns the bare name ("search") of one of our own MCP tools and what
// it answered; ok is false for every other tool.
func (e *Event) OwnTool() (name, answer string, ok bool) {
	for _, prefix := range ownTools {
		if name, ok = strings.CutPrefix(e.ToolName, prefix); ok && name != "" {
			return name, e.Response.text(), true
		}
	}
	return "", "", false
}
