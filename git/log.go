package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// DefaultMaxFiles is the size above which a commit says little about which
// files belong together: reformatting, renames of folders, imports.
const DefaultMaxFiles = 50

// LogOptions choose the commits that Log reads.
type LogOptions struct {
	Revision string // commit or range; "" means HEAD
	Depth    int    // at most so many commits; 0 means all
	MaxFiles int    // a larger commit comes without its Files; 0 means DefaultMaxFiles, below 0 no limit
	Dir      string // only commits that touch this folder, and only its files; absolute or relative to Root
	Since    string // only commits after this date, in any form that git takes
	Merges   bool   // include merges, compared with their first parent
	Body     bool   // fill Commit.Body
}

// Commit is one commit of Log. Texts are valid UTF-8, whatever was stored.
type Commit struct {
	Hash      string
	Parent    string // first parent; "" for a root and where a shallow clone ends
	Time      int64  // when it was committed, Unix seconds
	Author    string // name
	Subject   string // first paragraph on one line
	Body      string // the rest; only with LogOptions.Body
	Files     []Change
	FileCount int // files changed; above MaxFiles, Files is nil
}

// Change is what a commit did to one file.
type Change struct {
	// Path is the name that the file has in LogOptions.Revision as far as
	// renames could be followed, else the name that it had here. Relative to
	// Root, slash-separated, raw bytes.
	Path   string
	Status byte // 'A'dded, 'M'odified, 'D'eleted, 'T'ype changed, 'R'enamed
	// Then is the name that the commit knew the file by, where it is not Path. Another
	// file may have taken that name since.
	Then string
	// OldPath is the name before this commit, as it was then; only with 'R'.
	OldPath string
}

// logFormat prints a commit's fields, each ended by NUL, which no message can
// hold: so nothing in a message can be taken for the next field.
const (
	logFormat     = "--format=tformat:%H%x00%P%x00%ct%x00%an%x00%s%x00"
	logFormatBody = logFormat + "%b%x00"
)

// Log calls fn with each commit, newest first, while git is still walking. A
// repository without commits has an empty log. An error of fn ends the walk
// and is returned.
//
// Renames are followed by file names and blob hashes of one commit, never by
// content, so that no blob is read (or, in a partial clone, missed). Where a
// shallow clone ends, the last commits come without Files: all files would
// seem to have been added there.
func (r *Repo) Log(ctx context.Context, opts LogOptions, fn func(Commit) error) error {
	args := []string{"log", "--raw", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--no-color", "--encoding=UTF-8"}
	if opts.Body {
		args = append(args, logFormatBody)
	} else {
		args = append(args, logFormat)
	}
	if opts.Merges {
		args = append(args, "--diff-merges=first-parent")
	} else {
		args = append(args, "--no-merges")
	}
	if opts.Depth > 0 {
		args = append(args, "-n", strconv.Itoa(opts.Depth))
	}
	if opts.Since != "" {
		args = append(args, "--since="+opts.Since)
	}
	revision := opts.Revision
	if revision == "" {
		revision = "HEAD"
	}
	if err := checkRevision(revision); err != nil {
		return err
	}
	args, err := r.limit(append(args, revision), opts.Dir)
	if err != nil {
		return err
	}
	if args[len(args)-1] == revision {
		args = append(args, "--") // a file may have the revision's name
	}
	boundary := r.shallow()
	renames := renames{}
	limit := opts.MaxFiles
	if limit == 0 {
		limit = DefaultMaxFiles
	}
	err = stream(ctx, r.Root, args, func(out io.Reader) error {
		return parseLog(out, opts.Body, func(commit Commit, raw []rawChange) error {
			if boundary[commit.Hash] {
				raw = nil
			}
			commit.Files = renames.follow(raw)
			commit.FileCount = len(commit.Files)
			if limit > 0 && commit.FileCount > limit {
				commit.Files = nil
			}
			return fn(commit)
		})
	})
	if exitCode(err) == 128 && opts.Revision == "" {
		if head, headErr := r.Head(ctx); headErr == nil && head.Unborn {
			return nil
		}
	}
	return err
}

// rawChange is one entry of git log --raw.
type rawChange struct {
	path             string
	status           byte
	oldBlob, newBlob string // abbreviated to nothing: full hashes
}

// parseLog reads what git log prints for logFormat, or logFormatBody with
// body. After a commit's fields come its changes, a field of numbers that
// starts with ':' and a path each; any other field is the next commit's hash.
func parseLog(r io.Reader, body bool, fn func(Commit, []rawChange) error) error {
	fields := newFieldReader(r)
	text := func() (string, error) {
		field, err := fields.next()
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("git log's output ends inside a commit: %w", io.ErrUnexpectedEOF)
		}
		return string(field), err
	}
	prose := func() (string, error) {
		s, err := text()
		return strings.ToValidUTF8(s, "\uFFFD"), err
	}
	var (
		commit  Commit
		changes []rawChange
	)
	finish := func() error {
		if commit.Hash == "" {
			return nil
		}
		return fn(commit, changes)
	}
	for {
		field, err := fields.next()
		if errors.Is(err, io.EOF) {
			return finish()
		}
		if err != nil {
			return err
		}
		field = bytes.TrimPrefix(field, []byte("\n"))
		switch {
		case len(field) == 0: // the separators of -z
		case field[0] == ':':
			change, err := parseRaw(string(field))
			if err != nil || commit.Hash == "" {
				return fmt.Errorf("git log printed %.80q where a commit or a change was expected", field)
			}
			if change.path, err = text(); err != nil {
				return err
			}
			changes = append(changes, change)
		case isHash(string(field)):
			hash := string(field)
			if err := finish(); err != nil {
				return err
			}
			commit, changes = Commit{Hash: hash}, changes[:0]
			parents, err := text()
			if err != nil {
				return err
			}
			commit.Parent, _, _ = strings.Cut(parents, " ")
			seconds, err := text()
			if err != nil {
				return err
			}
			// git prints nothing for a date that it cannot read.
			if commit.Time, err = strconv.ParseInt(seconds, 10, 64); err != nil {
				commit.Time = 0
			}
			if commit.Author, err = prose(); err != nil {
				return err
			}
			if commit.Subject, err = prose(); err != nil {
				return err
			}
			if body {
				if commit.Body, err = prose(); err != nil {
					return err
				}
				commit.Body = strings.TrimRight(commit.Body, "\n")
			}
		default:
			return fmt.Errorf("git log printed %.80q where a commit was expected", field)
		}
	}
}

// parseRaw reads ":OLDMODE NEWMODE OLDBLOB NEWBLOB STATUS".
func parseRaw(field string) (rawChange, error) {
	words := strings.Fields(field)
	if len(words) != 5 || len(words[4]) == 0 || !isHash(words[2]) || !isHash(words[3]) {
		return rawChange{}, errors.New("not a change")
	}
	return rawChange{status: words[4][0], oldBlob: words[2], newBlob: words[3]}, nil
}

// renames maps a name that a file had to the name it has today, as far as the
// log has been walked, newest commit first.
type renames map[string]string

// The empty file, in SHA-1 and SHA-256 repositories: equal content says
// nothing about where it came from.
const (
	emptyBlob       = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
	emptyBlobSHA256 = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
)

// follow turns one commit's changes into changes under today's names, joins a
// deleted and an added path into a rename, and learns from it for the commits
// to come (the older ones).
func (r renames) follow(raw []rawChange) []Change {
	if len(raw) == 0 {
		return nil
	}
	origin := findRenames(raw) // index of an added path → of the deleted one
	source := make(map[int]bool, len(origin))
	for _, deleted := range origin {
		source[deleted] = true
	}
	changes := make([]Change, 0, len(raw))
	for i, change := range raw {
		if source[i] {
			continue
		}
		today := Change{Path: r.today(change.path), Status: change.status}
		if today.Path != change.path {
			today.Then = change.path
		}
		if deleted, ok := origin[i]; ok {
			today.Status, today.OldPath = 'R', raw[deleted].path
		}
		changes = append(changes, today)
	}
	// Before the commit that added it, a path was another file or none: its
	// alias ends here. Only then may the deleted paths get theirs.
	names := make(map[int]string, len(origin))
	for added := range origin {
		names[added] = r.today(raw[added].path)
	}
	for _, change := range raw {
		if change.status == 'A' {
			delete(r, change.path)
		}
	}
	for added, deleted := range origin {
		r[raw[deleted].path] = names[added]
	}
	return changes
}

func (r renames) today(path string) string {
	if name, ok := r[path]; ok {
		return name
	}
	return path
}

// findRenames pairs added with deleted changes: the same blob and base name
// (in order, where a whole folder of equal files moved), then the same blob,
// then the same base name, the last two only where unique on both sides.
func findRenames(raw []rawChange) map[int]int {
	var added, deleted []int
	for i, change := range raw {
		switch change.status {
		case 'A':
			added = append(added, i)
		case 'D':
			deleted = append(deleted, i)
		}
	}
	if len(added) == 0 || len(deleted) == 0 {
		return nil
	}
	origin := map[int]int{}
	pair := func(largest int, addedKey, deletedKey func(rawChange) string) {
		groups := map[string]*[2][]int{}
		collect := func(side int, indexes []int, key func(rawChange) string) {
			for _, i := range indexes {
				k := key(raw[i])
				if k == "" {
					continue
				}
				if groups[k] == nil {
					groups[k] = new([2][]int)
				}
				groups[k][side] = append(groups[k][side], i)
			}
		}
		collect(0, added, addedKey)
		collect(1, deleted, deletedKey)
		used := map[int]bool{}
		for _, group := range groups {
			if len(group[0]) != len(group[1]) || len(group[0]) > largest {
				continue
			}
			for n, i := range group[0] {
				origin[i] = group[1][n]
				used[i], used[group[1][n]] = true, true
			}
		}
		isUsed := func(i int) bool { return used[i] }
		added, deleted = slices.DeleteFunc(added, isUsed), slices.DeleteFunc(deleted, isUsed)
	}
	content := func(blob string) string {
		if blob == emptyBlob || blob == emptyBlobSHA256 {
			return ""
		}
		return blob
	}
	base := func(c rawChange) string { return path.Base(c.path) }
	pair(len(raw),
		func(c rawChange) string { return c.newBlob + base(c) },
		func(c rawChange) string { return c.oldBlob + base(c) })
	pair(1,
		func(c rawChange) string { return content(c.newBlob) },
		func(c rawChange) string { return content(c.oldBlob) })
	pair(1, base, base)
	return origin
}
