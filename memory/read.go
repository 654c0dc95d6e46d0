package memory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/chinvex/chinvex/project"
)

// MaxFileSize is how large a memory file may be, in bytes. They aim at a hundred
// lines; what is larger is something else.
const MaxFileSize = 1 << 20

// Files are the three documents; nil for one that does not exist.
type Files struct{ State, Constraints, Decisions *Document }

// ReadFiles reads the three files of the repository at root. What does not exist
// is nil. What cannot be read is an error, one each, and then nothing may be
// written.
func ReadFiles(root string) (Files, []error) {
	var f Files
	var problems []error
	for kind, d := range []**Document{State: &f.State, Constraints: &f.Constraints, Decisions: &f.Decisions} {
		doc, err := Read(root, Kind(kind))
		if err == nil {
			*d = doc
		} else if !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
		}
	}
	return f, problems
}

// Current returns the texts of the files.
func (f Files) Current() Current {
	text := func(d *Document) string {
		if d == nil {
			return ""
		}
		return string(d.Bytes())
	}
	return Current{State: text(f.State), Constraints: text(f.Constraints), Decisions: text(f.Decisions)}
}

// Read parses the memory file of a kind in the repository at root. The error says
// in one sentence what is wrong with the file; it is an fs.ErrNotExist when there
// is none.
//
// It reads regular UTF-8 files inside the repository only: a link in a cloned
// repository could name any file of the user's.
func Read(root string, kind Kind) (*Document, error) {
	name := filepath.Join(root, filepath.FromSlash(kind.Path()))
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, fmt.Errorf("%s: %w", kind.Path(), fs.ErrNotExist)
	}
	repository := project.Repository{Root: root}
	path, inside := repository.PathOf(name)
	if !inside {
		return nil, fmt.Errorf("%s is a link that leaves the repository", kind.Path())
	}
	data, err := readRegular(repository.Root, path.Rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is a link to nothing", kind.Path())
	case err != nil:
		return nil, fmt.Errorf("%s %w", kind.Path(), err)
	case !utf8.Valid(data):
		return nil, fmt.Errorf("%s is not UTF-8", kind.Path())
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		if strings.HasPrefix(line, "<<<<<<< ") || strings.HasPrefix(line, ">>>>>>> ") {
			return nil, fmt.Errorf("%s has the marks of an unresolved merge in line %d", kind.Path(), n)
		}
	}
	return Parse(kind, data), nil
}

// readRegular reads a file that may be a pipe or a device, which it does not wait
// for or touch, or a link swapped in since it was looked at, which it does not
// follow out of root.
func readRegular(root, rel string) ([]byte, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	defer dir.Close()
	rel = filepath.FromSlash(rel)
	info, err := dir.Stat(rel)
	if err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	var f *os.File
	if err == nil {
		f, err = dir.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	}
	if err != nil {
		var where *fs.PathError
		if errors.As(err, &where) {
			err = where.Err // the path is in the message already
		}
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot be read: %w", err)
	case len(data) > MaxFileSize:
		return nil, errors.New("is larger than 1 MiB")
	}
	return data, nil
}
