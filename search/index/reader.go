package index

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"github.com/chinvex/chinvex/search/mapped"
	"github.com/chinvex/chinvex/search/vector"
)

// errNotDir is what opening a file below a file gives.
var errNotDir = syscall.ENOTDIR

// Reader is one generation of one index, read-only. It is not safe for concurrent
// use; opening one takes about a millisecond.
type Reader struct {
	Dir      string
	Manifest *Manifest
	Chunks   ChunkTable
	Files    FileTable
	Vectors  vector.Rows

	db       *sql.DB
	prepared map[string]*sql.Stmt
	chunks   []*postings
	commits  []*postings
	mappings []func() error // that release what is mapped
	live     []uint64       // bitmap of the live chunks, made when first asked for
}

// openTries is how often Open starts over when a newer generation replaces the one
// that it is opening.
const openTries = 5

// Open opens the newest generation in dir. Errors wrap ErrNoIndex, ErrOlder,
// ErrNewer or ErrDamaged.
func Open(dir string) (*Reader, error) {
	for try := 1; ; try++ {
		m, err := ReadManifest(dir)
		if err != nil {
			return nil, err
		}
		r, err := open(dir, m)
		switch {
		case err == nil:
			return r, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		case try == openTries:
			return nil, fmt.Errorf("%w: %v; run `chinvex ingest --rebuild`", ErrDamaged, err)
		}
	}
}

func open(dir string, m *Manifest) (r *Reader, err error) {
	build := filepath.Join(dir, m.Build)
	r = &Reader{Dir: dir, Manifest: m}
	defer func() {
		if err != nil {
			r.Close()
			r = nil
		}
	}()
	table := func(name string, size int64) []byte {
		if err != nil {
			return nil
		}
		var b []byte
		var release func() error
		if b, release, err = mapFile(filepath.Join(build, name), size); err == nil {
			r.mappings = append(r.mappings, release)
		}
		return b
	}
	dims := m.Embedding.Dimensions
	r.Chunks = ChunkTable(table(ChunksName, int64(m.Chunks)*ChunkSize))
	files := table(FilesName(m.Generation), -1)
	rows := table(VectorsName, int64(m.Chunks)*int64(vector.RowBytes(dims)))
	sketches := table(SketchesName, int64(m.Chunks)*int64(vector.SketchBytes(dims)))
	if err != nil {
		return r, err
	}
	if r.Files, err = OpenFiles(files); err != nil {
		return r, err
	}
	if r.Vectors, err = vector.View(dims, int(m.Chunks), rows, sketches); err != nil {
		return r, err
	}
	for _, s := range m.Segments {
		p, err := openPostings(build, s)
		if err != nil {
			return r, err
		}
		if s.Kind == CommitSegment {
			r.commits = append(r.commits, p)
		} else {
			r.chunks = append(r.chunks, p)
		}
	}
	r.db, err = OpenRows(filepath.Join(build, RowsName), true)
	return r, err
}

// OpenRows opens rows.db. A reader's connection cannot write; where the directory is
// not writable either, so that SQLite could not share the WAL, the file is taken as
// it stands.
func OpenRows(path string, readOnly bool) (*sql.DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	query := "_busy_timeout=5000"
	if readOnly {
		query = "mode=ro&_query_only=1&_busy_timeout=100"
		if syscall.Access(filepath.Dir(path), 2 /* W_OK */) != nil {
			query += "&immutable=1"
		}
	}
	u.RawQuery = query
	db, err := sql.Open("sqlite3", u.String())
	if err != nil {
		return nil, rowsError(err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// statement prepares a query once: some are asked dozens of times for one answer.
func (r *Reader) statement(query string) (*sql.Stmt, error) {
	if s, ok := r.prepared[query]; ok {
		return s, nil
	}
	s, err := r.db.Prepare(query)
	if err != nil {
		return nil, err
	}
	if r.prepared == nil {
		r.prepared = map[string]*sql.Stmt{}
	}
	r.prepared[query] = s
	return s, nil
}

func (r *Reader) query(query string, args ...any) (*sql.Rows, error) {
	s, err := r.statement(query)
	if err != nil {
		return nil, err
	}
	return s.Query(args...)
}

// queryRow is for queries of one row.
func (r *Reader) queryRow(query string, args ...any) interface{ Scan(...any) error } {
	s, err := r.statement(query)
	if err != nil {
		return failedRow{err}
	}
	return s.QueryRow(args...)
}

type failedRow struct{ err error }

func (f failedRow) Scan(...any) error { return f.err }

// Close releases the files. Strings and structs that the Reader returned stay valid.
func (r *Reader) Close() {
	for _, p := range append(r.chunks, r.commits...) {
		p.close()
	}
	for _, release := range r.mappings {
		_ = release()
	}
	for _, s := range r.prepared {
		_ = s.Close()
	}
	if r.db != nil {
		_ = r.db.Close()
	}
	r.prepared = nil
	r.chunks, r.commits, r.mappings, r.db = nil, nil, nil, nil
}

// mapFile maps the first size bytes of a file; size -1 means all of it. A file that is
// shorter is ErrDamaged.
func mapFile(path string, size int64) ([]byte, func() error, error) {
	b, release, err := mapped.Open(path)
	if err != nil {
		return nil, nil, err
	}
	if have := int64(len(b)); have < size {
		_ = release()
		return nil, nil, fmt.Errorf("%w: %s holds %d bytes of %d; run `chinvex ingest --rebuild`", ErrDamaged, path, have, size)
	}
	if size >= 0 {
		b = b[:size]
	}
	return b, release, nil
}

// Live returns the bitmap of the live chunks: bit id%64 of word id/64.
func (r *Reader) Live() []uint64 {
	if r.live == nil {
		r.live = make([]uint64, (r.Manifest.Chunks+63)/64)
		for i := range r.Files.Len() {
			first, n := r.Files.ChunkRange(i)
			for c := first; c < min(first+n, r.Manifest.Chunks); c++ {
				r.live[c/64] |= 1 << (c % 64)
			}
		}
	}
	return r.live
}

// BuildDir is the directory of the build that the reader reads.
func (r *Reader) BuildDir() string { return filepath.Join(r.Dir, r.Manifest.Build) }

// Postings calls fn for every chunk that holds term, live or not, in order of chunk
// id within each segment, oldest segment first.
func (r *Reader) Postings(term string, fn func(chunk uint32, packed uint64)) error {
	limit := r.Manifest.Chunks
	return each(r.chunks, term, func(id uint32, f uint64) {
		if id < limit {
			fn(id, f)
		}
	})
}

// CommitPostings calls fn for every commit whose subject holds term.
func (r *Reader) CommitPostings(term string, fn func(commit uint32, frequency uint64)) error {
	return each(r.commits, term, fn)
}

// DocumentFrequency is the number of chunks that hold term, dead ones included.
func (r *Reader) DocumentFrequency(term string) (uint64, error) {
	var n uint64
	for _, p := range r.chunks {
		c, err := p.count([]byte(term))
		if err != nil {
			return 0, err
		}
		n += c
	}
	return n, nil
}

func each(segments []*postings, term string, fn func(uint32, uint64)) (err error) {
	defer func() {
		// zap trusts its bytes; a damaged segment must not take the process down.
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: a posting segment cannot be read (%v); run `chinvex ingest --rebuild`", ErrDamaged, v)
		}
	}()
	key := []byte(term)
	for _, p := range segments {
		if err := p.each(key, fn); err != nil {
			return err
		}
	}
	return nil
}
