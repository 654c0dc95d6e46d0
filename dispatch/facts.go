package dispatch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
)

// What an operation shows at most. An agent reads all of it, so it is little.
const (
	relatedFiles   = 6
	changedSymbols = 3
	changedUses    = 6 // of one symbol
	readSymbols    = 3
	readUses       = 4
	searchResults  = 5
	searchPerFile  = 2
	findResults    = 3
	promptItems    = 5
	previewLines   = 2
	nearestPaths   = 3
	placeRelated   = 3
	lineBytes      = 160 // of one line of code
	headBytes      = 100 // of a signature beside a place
)

// leastLikely is the least likelihood of a use: below it nothing but the name says that
// it means this definition.
const leastLikely = 0.5

// Fact is one thing that the agent may be told.
type Fact struct {
	Key  string // hash of what it says, line numbers left out
	Path project.Path
	// Lines of the code that it shows; Start 0 when it is about the file.
	Start, End int
	Text       string // lines; those after the first are indented
	Passes     bool   // the gate: relevant enough to be told
}

// Group is facts under one heading, from one operation.
type Group struct {
	Kind    Kind
	Path    project.Path // the file that it is about, if it is one
	Heading string
	Facts   []Fact // best first
	Limit   int    // most facts to show, 0 for all: the filters run first, so that what they remove makes room
	More    int    // what is left out beside Facts
	Call    string // the command that shows everything
}

// key hashes what a fact says.
func key(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// asker runs operations.
type asker struct {
	engine     *search.Engine
	repo       project.Repository
	thresholds map[string]float64 // least cosine by language, what the user set
	lines      int                // most lines after a prompt
}

// ask answers one operation. Groups without facts are left out.
func (a *asker) ask(ctx context.Context, o Operation) (groups []Group, candidates int, err error) {
	switch o.Kind {
	case Related:
		groups, candidates, err = a.related(ctx, o)
	case Changed:
		groups, candidates, err = a.changed(ctx, o)
	case Uses:
		groups, candidates, err = a.uses(ctx, o)
	case Search, Find:
		groups, candidates, err = a.search(ctx, o)
	case Prompt:
		groups, candidates, err = a.prompt(ctx, o)
	case Places:
		groups, candidates, err = a.places(ctx, o)
	case Nearest:
		groups, candidates = a.nearest(o)
	}
	return slices.DeleteFunc(groups, func(g Group) bool { return len(g.Facts) == 0 }), candidates, err
}

// name prints a path: relative to the repository, with its name when it is another one.
func (a *asker) name(p project.Path) string {
	name := p.Rel
	if p.Repo != a.repo.Name {
		name = p.Repo + ":" + p.Rel
	}
	if strings.ContainsFunc(name, unicode.IsControl) { // it would begin a line of its own
		return strconv.Quote(name)
	}
	return name
}

// commonName is the number of files that use a name above which the uses are not looked
// at: a name like "new" or "get" means another thing in each, and judging them all takes
// longer than an answer may.
const commonName = 150

func qualified(scope, name string) string {
	if scope == "" {
		return name
	}
	return scope + "." + name
}

// holdsWord tells whether name stands in line and not inside a longer name.
func holdsWord(line, name string) bool {
	for from := 0; name != ""; {
		at := strings.Index(line[from:], name)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(line[:at])
		next, _ := utf8.DecodeRuneInString(line[at+len(name):])
		if !isNamePart(before) && !isNamePart(next) {
			return true
		}
		from = at + len(name)
	}
	return false
}

func isNamePart(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80 && r != utf8.RuneError
}

// cut shortens one line to n bytes.
func cut(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return cut(s, lineBytes)
}

// quote makes an argument of a shell command as the agent would type it.
func quote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r == '/' || r == '.' || r == '-' || r == ':' || isNamePart(r))
	}) && s[0] != '-' {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
