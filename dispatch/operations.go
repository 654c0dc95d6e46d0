package dispatch

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chinvex/chinvex/claude"
	"github.com/chinvex/chinvex/parse"
	"github.com/chinvex/chinvex/project"
)

// Kind names an operation, in the dispatch log too.
type Kind string

const (
	Related Kind = "related" // the files that belong to an edited one
	Changed Kind = "changed" // who uses the symbols that an edit touched
	Uses    Kind = "uses"    // who uses the symbols that were read
	Search  Kind = "search"  // what a search for text did not show
	Find    Kind = "find"    // the files that a search for names did not show
	Prompt  Kind = "context" // what a prompt is about
	Places  Kind = "places"  // the code that a failing tool's output points to
	Nearest Kind = "nearest" // the paths next to one that does not exist
)

// Operation is one question to the engine.
type Operation struct {
	Kind     Kind
	Tool     string         // as the agent knows it: "Edit", "grep", "git grep"
	Text     string         // the query; for Nearest the path that is missing
	Path     project.Path   // the file that was edited or read
	Lines    claude.Lines   // that were read; zero for the whole file
	Edit     *claude.Edit   // Changed
	Places   []Place        // Places
	Under    []project.Path // Search and Find: the files and folders that the tool was told
	Glob     string         // the same
	Language string         // the same
}

// Place is a run of lines of a file; Start 0 means the whole file, End 0 the end.
type Place struct {
	Path       project.Path
	Start, End int
}

// Plan is what an event asks for.
type Plan struct {
	Operations []Operation
	Shown      map[project.Path]bool // files that the tool's response named
	Learned    []Place               // what the agent has read now and need not be told
	Changed    []project.Path        // files that the tool changed: they are indexed again
	Forget     bool                  // the agent's memory was cleared: what was shown is gone
}

func (p *Plan) empty() bool {
	return len(p.Operations)+len(p.Learned)+len(p.Changed) == 0 && !p.Forget
}

// rule says what an event of one kind is about and asks for.
type rule struct {
	event string
	tools []string // nil for any
	// about names absolute files or folders, the best first: a context that claims one
	// of them answers. The working directory is tried after them.
	about func(*claude.Event) []string
	plan  func(*site, *Plan)
}

// rules is the table of events. What is not in it is answered with silence.
var rules = []rule{
	{"PostToolUse", []string{"Edit", "MultiEdit", "Write", "NotebookEdit"}, editedFile, (*site).planEdit},
	{"PostToolUse", []string{"Bash"}, commandPaths, (*site).planBash},
	{"PostToolUse", []string{"Grep"}, searchedPath, (*site).planGrep},
	{"PostToolUse", []string{"Glob"}, searchedPath, (*site).planGlob},
	{"PostToolUse", []string{"Read"}, editedFile, (*site).planRead},
	{"PostToolUse", nil, nil, (*site).planOwn},
	{"PostToolUseFailure", nil, editedFile, (*site).planFailure},
	{"UserPromptSubmit", nil, nil, (*site).planPrompt},
	{"SessionStart", nil, nil, (*site).planStart},
	{"SessionEnd", nil, nil, func(*site, *Plan) {}},
}

// ruleFor returns the rule of an event, nil for events that are none of our business.
func ruleFor(e *claude.Event) *rule {
	if !e.Handles() {
		return nil
	}
	for i := range rules {
		r := &rules[i]
		if r.event == e.Name && (r.tools == nil || slices.Contains(r.tools, e.ToolName)) {
			return r
		}
	}
	return nil
}

func editedFile(e *claude.Event) []string {
	return nonEmpty(e.ToolInput.Text("file_path"), e.ToolInput.Text("notebook_path"))
}

func searchedPath(e *claude.Event) []string { return nonEmpty(e.ToolInput.Text("path")) }

func commandPaths(e *claude.Event) []string {
	var paths []string
	for _, in := range parse.Intents(e.ToolInput.Text("command"), startDir(e)) {
		paths = append(paths, in.Paths...)
	}
	return paths[:min(len(paths), 4)]
}

func nonEmpty(list ...string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

// startDir is the directory that a Bash command started in. An event tells where the
// shell stands afterwards, so a `cd` in the command has to be taken back.
func startDir(e *claude.Event) string {
	command := e.ToolInput.Text("command")
	if !strings.Contains(command, "cd ") && !strings.Contains(command, "pushd ") {
		return e.CWD
	}
	ends := func(start string) bool {
		commands, err := parse.Commands(command+"\ntrue", start)
		return err == nil && commands[len(commands)-1].Dir == path.Clean(e.CWD)
	}
	candidates := []string{e.CWD}
	for dir := e.CWD; path.Dir(dir) != dir && len(candidates) < 12; {
		dir = path.Dir(dir)
		candidates = append(candidates, dir)
	}
	// After `cd ..` it is a folder below, whichever: what follows ran in CWD.
	candidates = append(candidates, e.CWD+"/_", e.CWD+"/_/_")
	for _, dir := range candidates {
		if ends(dir) {
			return dir
		}
	}
	return e.CWD
}

// site is an event at the repository that it is about.
type site struct {
	event *claude.Event
	repo  project.Repository
	now   time.Time
	dirs  map[string]string // see rel
}

func (s *site) planEdit(p *Plan) {
	edit, ok := s.event.Edit()
	if !ok {
		return
	}
	file, ok := s.repo.PathOf(edit.Path)
	if !ok {
		return
	}
	p.Changed = []project.Path{file}
	for _, name := range edit.Others {
		if f, ok := s.repo.PathOf(name); ok && f != file {
			p.Changed = append(p.Changed, f)
		}
	}
	p.Operations = append(p.Operations,
		Operation{Kind: Changed, Tool: s.event.ToolName, Path: file, Edit: &edit},
		Operation{Kind: Related, Tool: s.event.ToolName, Path: file})
}

func (s *site) planRead(p *Plan) {
	read, ok := s.event.Read()
	if !ok || read.Notebook {
		return
	}
	lines := claude.Lines{Start: read.Start, End: read.End}
	if lines.Start == 0 && read.Offset > 0 {
		lines.Start = read.Offset
		if read.Limit > 0 {
			lines.End = read.Offset + read.Limit - 1
		}
	}
	s.read(p, "Read", read.Path, lines)
}

func (s *site) read(p *Plan, tool, file string, lines claude.Lines) {
	if f, ok := s.repo.PathOf(file); ok {
		p.Learned = append(p.Learned, Place{f, lines.Start, lines.End})
		p.Operations = append(p.Operations, Operation{Kind: Uses, Tool: tool, Path: f, Lines: lines})
	}
}

// maxQueries bounds the searches that one event causes.
const maxQueries = 3

func (s *site) planGrep(p *Plan) {
	grep, ok := s.event.Grep()
	if !ok {
		return
	}
	s.shown(p, []string{s.event.CWD}, grep.Files...)
	for _, l := range parse.Locations(grep.Content) {
		s.shown(p, []string{s.event.CWD}, l.Path)
	}
	if grep.Mode == "count" || grep.Mode == "content" { // "path:count" is no location
		for line := range strings.SplitSeq(grep.Content, "\n") {
			if file, _, ok := strings.Cut(line, ":"); ok {
				s.shown(p, []string{s.event.CWD}, file)
			}
		}
	}
	o := Operation{Kind: Search, Tool: "Grep"}
	if grep.Type != "" {
		o.Language = parse.Language(grep.Type)
	}
	globs := strings.FieldsFunc(grep.Glob, func(r rune) bool { return r == ' ' || r == ',' && !strings.Contains(grep.Glob, "{") })
	s.search(p, o, nonEmpty(grep.Path), globs, parse.Words(grep.Pattern, false))
}

func (s *site) planGlob(p *Plan) {
	glob, ok := s.event.Glob()
	if !ok {
		return
	}
	s.shown(p, []string{s.event.CWD}, glob.Files...)
	s.find(p, Operation{Kind: Find, Tool: "Glob"}, nonEmpty(glob.Path), []string{glob.Pattern})
}

func (s *site) planBash(p *Plan) {
	bash, ok := s.event.Bash()
	if !ok {
		return
	}
	start := startDir(s.event)
	commands, _ := parse.Commands(bash.Command, start)
	dirs := []string{s.event.CWD}
	for _, c := range commands {
		if c.Dir != "" && !slices.Contains(dirs, c.Dir) {
			dirs = append(dirs, c.Dir)
		}
	}
	p.Changed = s.changedBy(bash, commands, dirs)

	intents := parse.Intents(bash.Command, start)
	for _, in := range intents {
		if in.Kind == parse.ReadFile {
			if len(in.Paths) == 1 && in.Lines.Start >= 0 {
				s.read(p, in.Tool, in.Paths[0], claude.Lines{Start: in.Lines.Start, End: in.Lines.End})
			}
			continue
		}
		locations := parse.Locations(bash.Stdout)
		if len(in.Paths) == 1 {
			if info, err := os.Stat(in.Paths[0]); err == nil && info.Mode().IsRegular() {
				locations = append(locations, parse.Location{Path: in.Paths[0]}) // its own lines are what was shown
			}
		}
		for _, l := range locations {
			s.shown(p, dirs, l.Path)
		}
		o := Operation{Kind: Search, Tool: in.Tool}
		if len(in.Types) == 1 {
			o.Language = in.Types[0]
		}
		if in.Kind == parse.FindFiles {
			o.Kind = Find
			for _, line := range strings.Split(bash.Stdout, "\n") {
				s.shown(p, dirs, strings.TrimSpace(line))
			}
			s.find(p, o, in.Paths, append(slices.Clone(in.Names), in.Patterns...))
			continue
		}
		var queries []string
		for _, pattern := range in.Patterns {
			queries = append(queries, parse.Words(pattern, in.Fixed)...)
		}
		s.search(p, o, in.Paths, in.Globs, queries)
	}
	// A chain of commands asks much; the first questions are the ones meant.
	if n := maxQueries; len(p.Operations) > n {
		p.Operations = p.Operations[:n]
	}
}

// changedBy returns the files that a command changed: those that the client saw, and
// those that the command names and that were written while it ran. Whatever else it did
// is found by the next ingest.
func (s *site) changedBy(bash claude.Bash, commands []parse.Command, dirs []string) []project.Path {
	const most = 20
	names := bash.Changed
	for _, d := range bash.Diffs {
		names = append(names, d.Path)
	}
	removes := slices.ContainsFunc(commands, func(c parse.Command) bool {
		return slices.Contains([]string{"rm", "mv", "git"}, c.Name())
	})
	began := s.now.Add(-time.Duration(s.event.DurationMS)*time.Millisecond - 2*time.Second)
	words := strings.FieldsFunc(bash.Command, func(r rune) bool { return strings.ContainsRune(" \t\n;|&<>()'\"`=", r) })
	for _, w := range words[:min(len(words), 200)] {
		if len(w) > 1000 || strings.HasPrefix(w, "-") || !strings.ContainsAny(w, "./") || strings.IndexByte(w, 0) >= 0 {
			continue
		}
		for _, dir := range dirs {
			name := w
			if !filepath.IsAbs(name) {
				name = filepath.Join(dir, name)
			}
			info, err := os.Lstat(name)
			if err == nil && info.Mode().IsRegular() && info.ModTime().After(began) || os.IsNotExist(err) && removes && filepath.Ext(name) != "" {
				names = append(names, name)
			}
		}
	}
	var files []project.Path
	for _, name := range names {
		if f, ok := s.repo.PathOf(name); ok && !slices.Contains(files, f) && len(files) < most {
			files = append(files, f)
		}
	}
	return files
}

// search adds a search for each of the queries, narrowed as the tool was.
func (s *site) search(p *Plan, o Operation, paths, globs, queries []string) {
	var inside bool
	if o.Under, inside = s.under(paths); !inside {
		return
	}
	o.Glob = joinGlobs(globs)
	for _, q := range queries {
		if len(p.Operations) == maxQueries {
			return
		}
		if o.Text = q; !slices.ContainsFunc(p.Operations, func(x Operation) bool { return x.Kind == o.Kind && x.Text == q }) {
			p.Operations = append(p.Operations, o)
		}
	}
}

// find adds a search for the words of file patterns.
func (s *site) find(p *Plan, o Operation, paths, patterns []string) {
	var words, exts []string
	for _, pattern := range patterns {
		words = append(words, parse.GlobWords(pattern)...)
		for _, ext := range parse.GlobExt(pattern) {
			exts = append(exts, "*."+ext)
		}
	}
	if len(words) > 0 {
		s.search(p, o, paths, exts, []string{strings.Join(words, " ")})
	}
}

// under turns the paths that a tool was told into files and folders of the repository.
// inside is false when it was told paths and all of them are elsewhere.
func (s *site) under(paths []string) (under []project.Path, inside bool) {
	for _, name := range paths {
		if rel, ok := s.rel(name); ok && rel == "" {
			return nil, true
		}
		if f, ok := s.repo.PathOf(name); ok {
			under = append(under, f)
		}
	}
	return under, len(paths) == 0 || len(under) > 0
}

// joinGlobs makes one glob of several; those with a slash match at any depth.
func joinGlobs(globs []string) string {
	var all []string
	for _, g := range globs {
		if g = strings.TrimPrefix(g, "/"); g == "" || strings.HasPrefix(g, "!") {
			continue
		}
		if !strings.HasPrefix(g, "**/") {
			g = "**/" + g
		}
		all = append(all, g)
	}
	switch len(all) {
	case 0:
		return ""
	case 1:
		return all[0]
	}
	return "{" + strings.Join(all, ",") + "}"
}

// shown notes files that a tool's response named. Names are relative to one of dirs.
// Links are not followed: a response names thousands of files.
func (s *site) shown(p *Plan, dirs []string, names ...string) {
	if p.Shown == nil {
		p.Shown = map[project.Path]bool{}
	}
	for _, name := range names {
		if filepath.IsAbs(name) {
			if rel, ok := s.rel(filepath.Dir(name)); ok {
				s.note(p, path.Join(rel, filepath.Base(name)))
			}
			continue
		}
		for _, dir := range dirs {
			if rel, ok := s.rel(dir); ok {
				s.note(p, path.Join(rel, name))
			}
		}
	}
}

func (s *site) note(p *Plan, rel string) {
	if f, ok := project.NewPath(s.repo.Name, rel); ok {
		p.Shown[f] = true
	}
}

// rel returns a folder's path below the repository's root, "" for the root itself.
func (s *site) rel(dir string) (rel string, ok bool) {
	if known, seen := s.dirs[dir]; seen {
		return known, known != ".."
	}
	rel = ".."
	if dir == s.repo.Root {
		rel = ""
	} else if real, err := filepath.EvalSymlinks(dir); err == nil && real == s.repo.Root {
		rel = ""
	} else if f, ok := s.repo.PathOf(dir); ok {
		rel = f.Rel
	}
	if s.dirs == nil {
		s.dirs = map[string]string{}
	}
	s.dirs[dir] = rel
	return rel, rel != ".."
}

// planOwn lets the ledger learn what our own tools have told the agent: places at the
// beginning of lines, "path:start-end" or "path:line".
func (s *site) planOwn(p *Plan) {
	_, answer, ok := s.event.OwnTool()
	if !ok {
		return
	}
	const most = 50
	for line := range strings.SplitSeq(answer, "\n") {
		rel, start, end := ownPlace(line)
		if f, ok := project.NewPath(s.repo.Name, rel); ok && start > 0 && len(p.Learned) < most {
			p.Learned = append(p.Learned, Place{f, start, max(start, end)})
		}
	}
}

// ownPlace reads the place that a line begins with; start is 0 when it begins with none.
func ownPlace(line string) (rel string, start, end int) {
	for at, c := range line {
		if c != ':' || at == 0 || line[0] == ' ' {
			continue
		}
		lines, _, _ := strings.Cut(line[at+1:], " ")
		first, last, _ := strings.Cut(lines, "-")
		if start, _ = strconv.Atoi(first); start > 0 {
			end, _ = strconv.Atoi(last)
			return line[:at], start, end
		}
	}
	return "", 0, 0
}

func (s *site) planPrompt(p *Plan) {
	if query, ok := parse.PromptQuery(s.event.Prompt); ok {
		p.Operations = []Operation{{Kind: Prompt, Text: query}}
	}
}

func (s *site) planStart(p *Plan) {
	p.Forget = s.event.Source == "clear" || s.event.Source == "compact"
}

// maxPlaces bounds the places of a failing tool's output that are looked up: the first
// errors are the ones to look at.
const maxPlaces = 3

func (s *site) planFailure(p *Plan) {
	if s.event.Interrupted {
		return
	}
	if s.event.ToolName != "Bash" {
		file := s.event.ToolInput.Text("file_path")
		if f, ok := s.repo.PathOf(file); ok {
			if _, err := os.Lstat(file); os.IsNotExist(err) {
				p.Operations = []Operation{{Kind: Nearest, Tool: s.event.ToolName, Text: f.Rel, Path: f}}
			}
		}
		return
	}
	bash, ok := s.event.Bash()
	if !ok {
		return
	}
	commands, _ := parse.Commands(bash.Command, startDir(s.event))
	p.Changed = s.changedBy(bash, commands, []string{s.event.CWD})
	o := Operation{Kind: Places, Tool: "Bash"}
	for _, l := range parse.Locations(bash.Stdout) {
		name := l.Path
		if !filepath.IsAbs(name) {
			name = filepath.Join(s.event.CWD, name)
		}
		if l.Line == 0 || len(o.Places) == maxPlaces {
			continue
		}
		if _, err := os.Lstat(name); err != nil {
			continue
		}
		f, ok := s.repo.PathOf(name)
		if ok && !slices.ContainsFunc(o.Places, func(x Place) bool { return x.Path == f && x.Start == l.Line }) {
			o.Places = append(o.Places, Place{f, l.Line, l.Line})
		}
	}
	if len(o.Places) > 0 {
		p.Operations = append(p.Operations, o)
	}
}
