package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chinvex/chinvex/project"
)

// queueName, in an index directory, is a folder of requests for a refresh: a file each,
// which holds for every path the repository's name and the path, both ended by NUL. A
// request gets its final name when it is whole, and goes when its refresh has been
// published, so that neither a slow requester nor a writer that dies loses one.
const (
	queueName     = "queue"
	requestPrefix = "request-"
)

// Enqueue asks for a refresh of files, which `chinvex refresh` does, and returns the
// request's file, "" when there are no paths.
func Enqueue(dir string, paths []project.Path) (request string, err error) {
	var b strings.Builder
	for _, p := range paths {
		b.WriteString(p.Repo + "\x00" + p.Rel + "\x00")
	}
	if b.Len() == 0 {
		return "", nil
	}
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("cannot queue the files to refresh: %w; check that the disk is writable and not full", err)
	}
	queue := filepath.Join(dir, queueName)
	if err := os.MkdirAll(queue, 0o700); err != nil {
		return fail(err)
	}
	f, err := os.CreateTemp(queue, "new-")
	if err != nil {
		return fail(err)
	}
	_, err = f.WriteString(b.String())
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		request = filepath.Join(queue, requestPrefix+strings.TrimPrefix(filepath.Base(f.Name()), "new-"))
		err = os.Rename(f.Name(), request)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fail(err)
	}
	return request, nil
}

// Requests lists the files of the queue, in no order.
func Requests(dir string) ([]string, error) {
	queue := filepath.Join(dir, queueName)
	entries, err := os.ReadDir(queue)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the files to refresh: %w", err)
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), requestPrefix) {
			out = append(out, filepath.Join(queue, e.Name()))
		}
	}
	return out, nil
}

// Requested returns the paths that requests ask for, each once. What cannot be read as
// paths is passed over.
func Requested(files []string) []project.Path {
	seen := map[project.Path]bool{}
	var out []project.Path
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		fields := strings.Split(string(data), "\x00")
		for i := 0; i+1 < len(fields); i += 2 {
			if p, ok := project.NewPath(fields[i], fields[i+1]); ok && !seen[p] {
				seen[p] = true
				out = append(out, p)
			}
		}
	}
	return out
}

// Waiting tells whether a request that came within the last age waits for its refresh.
func Waiting(dir string, age time.Duration) bool {
	files, _ := Requests(dir)
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && time.Since(info.ModTime()) < age {
			return true
		}
	}
	return false
}
