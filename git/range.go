package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// ErrUnknown is wrapped by errors about a commit that the repository does not have.
var ErrUnknown = errors.New("no such commit in this repository")

// Resolve returns the full hash of the commit that revision names: a hash of at
// least 4 digits, a branch, a tag. The error wraps ErrUnknown when there is none,
// or more than one.
func (r *Repo) Resolve(ctx context.Context, revision string) (string, error) {
	if err := checkRevision(revision); err != nil {
		return "", err
	}
	out, err := output(ctx, r.Root, "rev-parse", "--verify", "-q", "--end-of-options", revision+"^{commit}")
	if code := exitCode(err); code == 1 || code == 128 {
		return "", fmt.Errorf("%.80s: %w", revision, ErrUnknown)
	}
	return strings.TrimSuffix(out, "\n"), err
}

// HasCommit tells whether hash, of at least 4 digits, begins that of one commit. A
// branch or tag of that name is none.
func (r *Repo) HasCommit(ctx context.Context, hash string) bool {
	full, err := r.Resolve(ctx, hash)
	return err == nil && strings.HasPrefix(full, hash)
}

// MergeBases returns the best common ancestors of two commits, by full hashes: one
// of the two where it is an ancestor of the other, several after criss-cross
// merges, none for unrelated histories.
func (r *Repo) MergeBases(ctx context.Context, a, b string) ([]string, error) {
	for _, revision := range []string{a, b} {
		if err := checkRevision(revision); err != nil {
			return nil, err
		}
	}
	out, err := output(ctx, r.Root, "merge-base", "--all", a, b)
	if exitCode(err) == 1 {
		return nil, nil
	}
	return strings.Fields(out), err
}

// NewestBefore returns the newest commit of revision's history that was committed
// at t or earlier; "" when there is none.
func (r *Repo) NewestBefore(ctx context.Context, revision string, t time.Time) (string, error) {
	if err := checkRevision(revision); err != nil {
		return "", err
	}
	out, err := output(ctx, r.Root, "rev-list", "-1", "--min-age="+strconv.FormatInt(t.Unix(), 10), revision, "--")
	return strings.TrimSuffix(out, "\n"), err
}

// Node is a commit's place in history.
type Node struct {
	Hash    string
	Parents []string // none for a root and where a shallow clone ends
	Subject string   // valid UTF-8
}

// GraphOptions choose the commits of Graph.
type GraphOptions struct {
	From   string   // commit whose history is walked
	Not    []string // commits whose histories are left out
	Depth  int      // at most so many; 0 means all
	ByDate bool     // newest first, else branch by branch
	Dir    string   // only commits that touch this folder, on whatever branch; absolute or relative to Root
}

// Graph lists commits, merges included, each before its parents.
func (r *Repo) Graph(ctx context.Context, opts GraphOptions) ([]Node, error) {
	args := []string{"log", "-z", "--no-color", "--encoding=UTF-8", "--format=tformat:%H%x00%P%x00%s", "--full-history"}
	if opts.ByDate {
		args = append(args, "--date-order")
	} else {
		args = append(args, "--topo-order")
	}
	if opts.Depth > 0 {
		args = append(args, "-n", strconv.Itoa(opts.Depth))
	}
	for _, revision := range append([]string{opts.From}, opts.Not...) {
		if err := checkRevision(revision); err != nil {
			return nil, err
		}
	}
	args = append(args, opts.From)
	if len(opts.Not) > 0 {
		args = append(append(args, "--not"), opts.Not...)
	}
	last := len(args)
	args, err := r.limit(args, opts.Dir)
	if err != nil {
		return nil, err
	}
	if len(args) == last {
		args = append(args, "--")
	}
	var nodes []Node
	err = stream(ctx, r.Root, args, func(out io.Reader) error {
		fields := newFieldReader(out)
		for {
			hash, err := fields.next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			node := Node{Hash: string(hash)}
			if !isHash(node.Hash) {
				return fmt.Errorf("git log printed %.80q where a commit was expected", hash)
			}
			for _, field := range []func(string){
				func(s string) { node.Parents = strings.Fields(s) },
				func(s string) { node.Subject = strings.ToValidUTF8(s, "\uFFFD") },
			} {
				text, err := fields.next()
				if err != nil {
					return fmt.Errorf("git log's output ends inside a commit: %w", io.ErrUnexpectedEOF)
				}
				field(string(text))
			}
			nodes = append(nodes, node)
		}
	})
	return nodes, err
}

// Commits reads commits by their full hashes, in that order, with bodies and all
// files; a merge comes without Files. Renames are followed as in Log, from the first
// to the last.
func (r *Repo) Commits(ctx context.Context, hashes []string) ([]Commit, error) {
	const atOnce = 500 // hashes that surely fit into a command line
	commits := make([]Commit, 0, len(hashes))
	boundary, renames := r.shallow(), renames{}
	for len(hashes) > 0 {
		some := hashes[:min(len(hashes), atOnce)]
		hashes = hashes[len(some):]
		for _, hash := range some {
			if !isHash(hash) {
				return nil, fmt.Errorf("%.80q is not the full hash of a commit", hash)
			}
		}
		args := []string{"log", "--no-walk=unsorted", "--raw", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff", "--no-textconv",
			"--no-color", "--encoding=UTF-8", "--diff-merges=off", logFormatBody}
		err := stream(ctx, r.Root, append(append(args, some...), "--"), func(out io.Reader) error {
			return parseLog(out, true, func(commit Commit, raw []rawChange) error {
				if boundary[commit.Hash] {
					raw = nil
				}
				commit.Files = renames.follow(raw)
				commit.FileCount = len(commit.Files)
				commits = append(commits, commit)
				return nil
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return commits, nil
}

// errEnough ends git when as much as was wanted has been read.
var errEnough = errors.New("enough")

// head returns the first limit bytes that git prints, and whether there are more.
func head(ctx context.Context, dir string, limit int, args ...string) (data []byte, more bool, err error) {
	err = stream(ctx, dir, args, func(out io.Reader) error {
		var readErr error
		if data, readErr = io.ReadAll(io.LimitReader(out, int64(limit)+1)); readErr == nil && len(data) > limit {
			data, more = data[:limit], true
			return errEnough
		}
		return readErr
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return data, more, err
}

// Blob returns the first limit bytes of a file as it is in a commit, path being
// relative to Root, and whether there are more. The error wraps fs.ErrNotExist when
// the commit has no such file.
func (r *Repo) Blob(ctx context.Context, commit, path string, limit int) (data []byte, more bool, err error) {
	if err := checkRevision(commit); err != nil {
		return nil, false, err
	}
	data, more, err = head(ctx, r.Root, limit, "cat-file", "blob", commit+":"+path)
	if exitCode(err) == 128 {
		err = fmt.Errorf("%.200s is not in commit %.12s: %w", path, commit, fs.ErrNotExist)
	}
	return data, more, err
}

// List names the regular files directly in a folder, relative to Root ("" for Root
// itself), as it is in a commit, in git's order. A folder that is not there has none.
func (r *Repo) List(ctx context.Context, commit, folder string) ([]string, error) {
	if err := checkRevision(commit); err != nil {
		return nil, err
	}
	args := []string{"ls-tree", "-z", "--full-tree", commit}
	if folder != "" {
		folder = strings.TrimSuffix(folder, "/") + "/"
		args = append(args, "--", folder)
	}
	var names []string
	err := stream(ctx, r.Root, args, func(out io.Reader) error {
		return eachField(out, func(field string) error {
			stat, path, found := strings.Cut(field, "\t")
			if !found {
				return fmt.Errorf("git ls-tree printed %.80q, which is no entry", field)
			}
			if strings.HasPrefix(stat, "100") {
				names = append(names, strings.TrimPrefix(path, folder))
			}
			return nil
		})
	})
	return names, err
}

// emptyTree is what a root commit is compared with.
const (
	emptyTree       = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	emptyTreeSHA256 = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
)

// treeOf is from, or the empty tree for "".
func treeOf(from, to string) (string, error) {
	for _, hash := range []string{from, to} {
		if hash != "" && !isHash(hash) || to == "" {
			return "", fmt.Errorf("%.80q is not the full hash of a commit", hash)
		}
	}
	switch {
	case from != "":
		return from, nil
	case len(to) == len(emptyTreeSHA256):
		return emptyTreeSHA256, nil
	}
	return emptyTree, nil
}

// Churn is how many lines of a file differ between two commits.
type Churn struct {
	Lines  int // added and deleted
	Binary bool
}

// Churn compares two commits by full hashes, "" for from being no files at all, and
// returns the files that differ by their paths. A rename counts as both.
func (r *Repo) Churn(ctx context.Context, from, to string) (map[string]Churn, error) {
	from, err := treeOf(from, to)
	if err != nil {
		return nil, err
	}
	files := map[string]Churn{}
	err = stream(ctx, r.Root, []string{"diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", from, to, "--"},
		func(out io.Reader) error {
			return eachField(out, func(field string) error {
				words := strings.SplitN(field, "\t", 3)
				if len(words) != 3 {
					return fmt.Errorf("git diff-tree printed %.80q, which is no statistics", field)
				}
				added, notText := strconv.Atoi(words[0])
				deleted, _ := strconv.Atoi(words[1])
				files[words[2]] = Churn{added + deleted, notText != nil}
				return nil
			})
		})
	return files, err
}

// Diff returns the first limit bytes of the unified difference of a file between two
// commits by full hashes, "" for from being no files at all, from its first "@@" on,
// and whether there are more. path is relative to Root.
func (r *Repo) Diff(ctx context.Context, from, to, path string, limit int) (text []byte, more bool, err error) {
	if from, err = treeOf(from, to); err != nil {
		return nil, false, err
	}
	const header = 8 << 10 // what stands before, two paths and hashes
	text, more, err = head(ctx, r.Root, limit+header, "diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color",
		"--src-prefix=a/", "--dst-prefix=b/", from, to, "--", path)
	at := bytes.Index(text, []byte("\n@@"))
	if err != nil || at < 0 {
		return nil, false, err
	}
	if text = text[at+1:]; len(text) > limit {
		text, more = text[:limit], true
	}
	return text, more, nil
}
