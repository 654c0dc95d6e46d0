package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// File is one file that git tracks or would offer to add.
type File struct {
	Path         string // relative to Root, slash-separated, the bytes as git has them (any but NUL)
	Hash         string // blob, or a submodule's commit, in the index; "" when untracked or in conflict
	Tracked      bool
	Symlink      bool
	Submodule    bool // a folder with a repository of its own; its files are not listed
	SkipWorktree bool // left out by a sparse checkout: not on disk
}

// Files lists the files below dir, an absolute folder or "" for Root, that
// git tracks or does not ignore, sorted by path. A tracked file can be missing
// from the disk. Repositories embedded without being submodules are left out.
func (r *Repo) Files(ctx context.Context, dir string) ([]File, error) {
	args := []string{"ls-files", "-z", "-t", "--stage", "--cached", "--others", "--exclude-standard"}
	args, err := r.limit(args, dir)
	if err != nil {
		return nil, err
	}
	var files []File
	err = stream(ctx, r.Root, args, func(out io.Reader) error {
		return eachField(out, func(field string) error {
			file, err := parseFile(field)
			if err != nil {
				return err
			}
			if !file.Tracked {
				if strings.HasSuffix(file.Path, "/") {
					return nil
				}
				info, err := os.Lstat(filepath.Join(r.Root, filepath.FromSlash(file.Path)))
				file.Symlink = err == nil && info.Mode()&os.ModeSymlink != 0
			}
			files = append(files, file)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	sort.SliceStable(files, func(i, j int) bool { return files[i].Path < files[j].Path })
	unique := files[:0]
	for _, file := range files { // a conflict lists its path once a stage
		if n := len(unique); n == 0 || unique[n-1].Path != file.Path {
			unique = append(unique, file)
		}
	}
	return unique, nil
}

// parseFile reads "? PATH" or "TAG MODE HASH STAGE\tPATH".
func parseFile(field string) (File, error) {
	if path, ok := strings.CutPrefix(field, "? "); ok && path != "" {
		return File{Path: path}, nil
	}
	stat, path, _ := strings.Cut(field, "\t")
	words := strings.Fields(stat)
	if len(words) != 4 || path == "" {
		return File{}, fmt.Errorf("git ls-files printed %.80q, which is no index entry", field)
	}
	file := File{Path: path, Hash: words[2], Tracked: true, SkipWorktree: words[0] == "S",
		Symlink: words[1] == "120000", Submodule: words[1] == "160000"}
	if words[3] != "0" {
		file.Hash = ""
	}
	return file, nil
}

// limit adds a pathspec for dir, "" or Root being no limit.
func (r *Repo) limit(args []string, dir string) ([]string, error) {
	if dir == "" || dir == r.Root {
		return args, nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(r.Root, dir)
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", dir, err)
	}
	inside, err := filepath.Rel(r.Root, resolved)
	if err != nil || !filepath.IsLocal(inside) {
		return nil, fmt.Errorf("%s lies outside the work tree %s; name a folder inside it", dir, r.Root)
	}
	if inside == "." {
		return args, nil
	}
	return append(args, "--", filepath.ToSlash(inside)), nil
}

// Modified lists the paths that differ from the last commit, untracked files
// included, ignored ones not, sorted.
func (r *Repo) Modified(ctx context.Context) ([]string, error) {
	args := []string{"status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty"}
	var paths []string
	err := stream(ctx, r.Root, args, func(out io.Reader) error {
		return eachField(out, func(field string) error {
			if len(field) < 4 || field[2] != ' ' { // "XY PATH"
				return fmt.Errorf("git status printed %.80q, which is no status", field)
			}
			if !strings.HasSuffix(field, "/") { // an embedded repository
				paths = append(paths, field[3:])
			}
			return nil
		})
	})
	sort.Strings(paths)
	return paths, err
}

// checkRevision refuses what git would take for an option or not at all.
func checkRevision(revision string) error {
	if revision == "" || strings.HasPrefix(revision, "-") || strings.ContainsAny(revision, "\x00\n") {
		return fmt.Errorf("%q names no commit; give a hash, branch or tag", revision)
	}
	return nil
}

// eachField calls fn with each NUL-ended field of r. A last one without its
// NUL means that git was cut off and is an error.
func eachField(r io.Reader, fn func(string) error) error {
	fields := newFieldReader(r)
	for {
		field, err := fields.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := fn(string(field)); err != nil {
			return err
		}
	}
}

// fieldReader splits its input at NUL bytes.
type fieldReader struct {
	in   *bufio.Reader
	long []byte // assembles a field longer than the buffer
}

func newFieldReader(r io.Reader) *fieldReader {
	return &fieldReader{in: bufio.NewReaderSize(r, 64<<10)}
}

// next returns the next field without its NUL, valid until the next call; io.EOF
// after the last one.
func (f *fieldReader) next() ([]byte, error) {
	field, err := f.in.ReadSlice(0)
	if errors.Is(err, bufio.ErrBufferFull) {
		f.long = append(f.long[:0], field...)
		for errors.Is(err, bufio.ErrBufferFull) {
			field, err = f.in.ReadSlice(0)
			f.long = append(f.long, field...)
		}
		field = f.long
	}
	if errors.Is(err, io.EOF) && len(field) > 0 {
		return nil, fmt.Errorf("git's output ends inside %.40q: %w", field, io.ErrUnexpectedEOF)
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(field, []byte{0}), nil
}

// Ignores tells whether git would leave out a file of the work tree: it is neither
// tracked nor offered to be. path is absolute or relative to Root.
func (r *Repo) Ignores(ctx context.Context, path string) (bool, error) {
	out, err := output(ctx, r.Root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", path)
	return err == nil && out == "", err
}

// ExcludeFile names the clone's own list of ignore rules, which need not exist.
func (r *Repo) ExcludeFile() string { return filepath.Join(r.CommonDir, "info", "exclude") }
