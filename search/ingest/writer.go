package ingest

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/chinvex/chinvex/parse/source"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search/index"
	"github.com/chinvex/chinvex/search/vector"
)

// ErrLocked says that another process writes the index.
var ErrLocked = errors.New("another chinvex is writing this index")

// lock takes the writer's lock of an index directory, waiting up to wait; with wait 0 it
// tries once. ErrLocked when another process keeps it.
func lock(ctx context.Context, dir string, wait time.Duration) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the index directory: %w; check that the disk is writable and not full", err)
	}
	l := flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600))
	if wait == 0 {
		ok, err := l.TryLock()
		if err == nil && !ok {
			err = ErrLocked
		}
		return l, err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	ok, err := l.TryLockContext(ctx, 20*time.Millisecond)
	switch {
	case ok:
		return l, nil
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("%w (%s); wait for it to end and try again", ErrLocked, dir)
	case err == nil:
		err = ErrLocked
	}
	return nil, fmt.Errorf("cannot lock the index in %s: %w", dir, err)
}

// segmentDocs is how many chunks go into one posting segment.
const segmentDocs = 8192

// writer makes the next generation of an index. It is used by one goroutine and under
// the lock.
type writer struct {
	dir      string // index directory
	build    string // directory of the build
	fresh    bool   // a new build, which nobody reads yet
	previous *index.Manifest
	next     index.Manifest
	files    map[uint32]index.FileRow // live after this generation

	db *sql.DB
	tx *sql.Tx

	chunkTab, vectors, sketches *os.File

	// hasty publishes before everything is on the disk and syncs afterwards: an edit is
	// to be seen at once. Only a power cut in between, some milliseconds, can damage the
	// index, and then the next ingest builds it anew.
	hasty bool
	late  []string // files to sync after publishing

	docs      *index.SegmentWriter
	building  chan struct{} // a token while a segment is built in the background
	built     chan segmentResult
	pending   int
	segments  []index.Segment // new ones by number
	segmentNo int
	names     map[string]int64 // reference names known to be in rows.db
	changed   bool
}

type segmentResult struct {
	at  int
	seg index.Segment
	err error
}

// openWriter starts the next generation after m, or a first one when m is nil.
func openWriter(dir string, m *index.Manifest, generation int64, hasty bool) (w *writer, err error) {
	w = &writer{dir: dir, previous: m, fresh: m == nil, hasty: hasty, files: map[uint32]index.FileRow{},
		docs: index.NewSegmentWriter(index.ChunkSegment), building: make(chan struct{}, 1), built: make(chan segmentResult, 64), names: map[string]int64{}}
	defer func() {
		if err != nil {
			w.abort()
		}
	}()
	if w.fresh {
		w.next = index.Manifest{Files: 1, Symbols: 1, Commits: 1} // ids start at 1: 0 means none
		w.next.Build, err = newBuild(dir)
		if err != nil {
			return w, err
		}
	} else {
		w.next = *m
		w.next.Segments = append([]index.Segment(nil), m.Segments...)
		w.next.Repos = append([]index.Repo(nil), m.Repos...)
	}
	w.next.Format, w.next.Engine, w.next.Generation = index.Format, project.Version, generation
	w.build = filepath.Join(dir, w.next.Build)
	if w.fresh {
		if err = os.Mkdir(w.build, 0o700); err != nil {
			return w, fmt.Errorf("cannot make %s: %w; check that the disk is writable and not full", w.build, err)
		}
		// SQLite makes the file itself.
		if err = os.WriteFile(filepath.Join(w.build, index.RowsName), nil, 0o600); err != nil {
			return w, fmt.Errorf("cannot write in %s: %w", w.build, err)
		}
	} else if err = w.readFiles(); err != nil {
		return w, err
	}
	if w.db, err = index.OpenRows(filepath.Join(w.build, index.RowsName), false); err != nil {
		return w, fmt.Errorf("cannot open rows.db: %w", err)
	}
	pragmas := []string{"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA cache_size=-65536", "PRAGMA temp_store=MEMORY"}
	if w.hasty {
		pragmas[1] = "PRAGMA synchronous=NORMAL" // a commit does not wait for the disk
		w.late = append(w.late, filepath.Join(w.build, index.RowsName+"-wal"))
	}
	if w.fresh {
		// Nobody reads a build before its manifest is there, and a crash throws it away.
		pragmas = []string{"PRAGMA page_size=8192", "PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF", "PRAGMA cache_size=-65536", "PRAGMA temp_store=MEMORY", "PRAGMA locking_mode=EXCLUSIVE"}
	}
	for _, p := range pragmas {
		if _, err = w.db.Exec(p); err != nil {
			return w, fmt.Errorf("cannot prepare rows.db (%s): %w", p, err)
		}
	}
	if w.tx, err = w.db.Begin(); err != nil {
		return w, fmt.Errorf("cannot write rows.db: %w", err)
	}
	if w.fresh {
		_, err = w.tx.Exec(index.Schema)
	} else {
		err = w.checkRows()
	}
	if err != nil {
		return w, fmt.Errorf("cannot write rows.db: %w", err)
	}
	if w.chunkTab, err = w.table(index.ChunksName, int64(w.next.Chunks)*index.ChunkSize); err != nil {
		return w, err
	}
	return w, nil
}

// newBuild returns the name of a build that does not exist yet.
func newBuild(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("cannot list %s: %w", dir, err)
	}
	last := 0
	for _, e := range entries {
		if n, err := strconv.Atoi(strings.TrimPrefix(e.Name(), "b")); err == nil && strings.HasPrefix(e.Name(), "b") {
			last = max(last, n)
		}
	}
	return fmt.Sprintf("b%d", last+1), nil
}

// readFiles reads the live files of the generation before.
func (w *writer) readFiles() error {
	name := filepath.Join(w.build, index.FilesName(w.previous.Generation))
	data, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("%w: %v; run `chinvex ingest --rebuild`", index.ErrDamaged, err)
	}
	table, err := index.OpenFiles(data)
	if err != nil {
		return err
	}
	for i := 0; i < table.Len(); i++ {
		r := table.At(i)
		w.files[r.ID] = r
	}
	return nil
}

// errCutShort says that a writer died between its commit and its manifest: rows.db is a
// generation ahead. The moment is short and rare, so the index is built anew rather than
// taken back.
var errCutShort = errors.New("the last update was cut short")

// checkRows compares rows.db with the manifest.
func (w *writer) checkRows() error {
	var ahead bool
	err := w.tx.QueryRow("SELECT EXISTS(SELECT 1 FROM files WHERE id >= ?1 OR died > ?2) OR EXISTS(SELECT 1 FROM commits WHERE id >= ?3)",
		w.previous.Files, w.previous.Generation, w.previous.Commits).Scan(&ahead)
	if err == nil && ahead {
		err = errCutShort
	}
	return err
}

// pruneAfter is how long rows of a dead version stay for readers that opened an
// earlier generation; pruneAt is how many must have gathered, because looking through
// the references costs some milliseconds.
const (
	pruneAfter = time.Minute
	pruneAt    = 64
)

func (w *writer) prune(now time.Time) error {
	var n int
	old := now.Add(-pruneAfter).Unix()
	if err := w.tx.QueryRow("SELECT count(*) FROM files WHERE died_at < ?", old).Scan(&n); err != nil || n < pruneAt {
		return err
	}
	for _, q := range []string{
		"DELETE FROM texts WHERE file IN (SELECT id FROM files WHERE died_at < ?)",
		"DELETE FROM symbols WHERE file IN (SELECT id FROM files WHERE died_at < ?)",
		"DELETE FROM refs WHERE file IN (SELECT id FROM files WHERE died_at < ?)",
		"DELETE FROM imports WHERE file IN (SELECT id FROM files WHERE died_at < ?)",
		"DELETE FROM files WHERE died_at < ?",
	} {
		if _, err := w.tx.Exec(q, old); err != nil {
			return fmt.Errorf("cannot delete old rows: %w", err)
		}
	}
	return nil
}

// table opens an append-only file and cuts it to size.
func (w *writer) table(name string, size int64) (*os.File, error) {
	path := filepath.Join(w.build, name)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", path, err)
	}
	info, err := f.Stat()
	if err == nil && info.Size() < size {
		err = fmt.Errorf("%w: %d bytes of %d; run `chinvex ingest --rebuild`", index.ErrDamaged, info.Size(), size)
	}
	if err == nil && info.Size() > size {
		err = f.Truncate(size)
	}
	if err == nil {
		_, err = f.Seek(size, 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("cannot prepare %s: %w", path, err)
	}
	return f, nil
}

// remove ends the life of a file version.
func (w *writer) remove(id uint32, now time.Time) error {
	row := w.files[id]
	var body, comment, symbols, secrets, size int64
	var problem string
	err := w.tx.QueryRow("SELECT body_terms, comment_terms, symbols, secrets, size, problem FROM files WHERE id = ?", id).Scan(&body, &comment, &symbols, &secrets, &size, &problem)
	if err != nil {
		return fmt.Errorf("cannot read the row of %s: %w; run `chinvex ingest --rebuild`", row.Path.Rel, err)
	}
	if _, err := w.tx.Exec("UPDATE files SET died = ?, died_at = ? WHERE id = ?", w.next.Generation, now.Unix(), id); err != nil {
		return fmt.Errorf("cannot retire %s: %w", row.Path.Rel, err)
	}
	w.count(row, -1, body, comment, symbols, secrets, size, problem)
	delete(w.files, id)
	w.changed = true
	return nil
}

func (w *writer) count(row index.FileRow, sign int, body, comment, symbols, secrets, size int64, problem string) {
	s := &w.next.Stats
	s.LiveFiles += sign
	s.LiveChunks += sign * int(row.Chunks)
	s.LiveSymbols += sign * int(symbols)
	s.TextBytes += int64(sign) * size
	s.BodyTerms += int64(sign) * body
	s.CommentTerms += int64(sign) * comment
	s.Secrets += sign * int(secrets)
	if problem != "" {
		s.Problems += sign
	}
	languages := make(map[string]int, len(s.Languages)+1) // the manifest before keeps its own
	for k, v := range s.Languages {
		languages[k] = v
	}
	if languages[row.Language] += sign; languages[row.Language] <= 0 {
		delete(languages, row.Language)
	}
	s.Languages = languages
}

// add stores a new file version.
func (w *writer) add(p *parsed) error {
	id := w.next.Files
	w.next.Files++
	firstSymbol := w.next.Symbols
	w.next.Symbols += uint32(len(p.file.Symbols))
	row := index.FileRow{ID: id, Path: p.path, Language: p.language, Class: p.class, Lines: uint32(p.lines), FirstChunk: w.next.Chunks, Chunks: uint32(len(p.chunks))}

	var body, comment int64
	tab := make([]byte, 0, len(p.chunks)*index.ChunkSize)
	for i, c := range p.file.Chunks {
		ct := p.chunks[i]
		body += int64(ct.body)
		comment += int64(ct.comment)
		chunk := index.Chunk{File: id, Start: uint32(c.StartLine), End: uint32(c.EndLine), Kind: index.KindNumber(string(c.Kind)),
			Body: uint16(min(ct.body, 1<<16-1)), Comment: uint16(min(ct.comment, 1<<16-1))}
		if c.Symbol >= 0 {
			chunk.Symbol = firstSymbol + uint32(c.Symbol)
		}
		tab = index.AppendChunk(tab, chunk)
		w.docs.Add(w.next.Chunks, ct.terms)
		w.next.Chunks++
	}
	row.Terms = uint32(min(body+comment, 1<<32-1))
	if _, err := w.chunkTab.Write(tab); err != nil {
		return fmt.Errorf("cannot write %s: %w; free disk space and run the command again", w.chunkTab.Name(), err)
	}
	if err := w.addRows(p, row, firstSymbol, body, comment); err != nil {
		return fmt.Errorf("cannot write the rows of %s: %w; free disk space and run the command again", p.path.Rel, err)
	}
	w.files[id] = row
	w.count(row, 1, body, comment, int64(len(p.file.Symbols)), int64(p.secrets), p.size, p.file.Problem)
	w.changed = true
	if w.docs.Len() >= segmentDocs {
		return w.flushSegment()
	}
	return nil
}

func (w *writer) addRows(p *parsed, row index.FileRow, firstSymbol uint32, body, comment int64) error {
	f := p.file
	if _, err := w.tx.Exec("INSERT INTO files VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,NULL,NULL)", row.ID, p.path.Repo, p.path.Rel, p.hash[:], p.size, p.mtime,
		p.language, int(p.class), p.lines, f.Package, row.FirstChunk, row.Chunks, body, comment, len(f.Symbols), p.secrets, f.Problem, w.next.Generation); err != nil {
		return err
	}
	for _, b := range p.blocks {
		if _, err := w.tx.Exec("INSERT INTO texts VALUES(?,?,?)", row.ID, b.Line, b.Data); err != nil {
			return err
		}
	}
	symbol, err := w.tx.Prepare("INSERT INTO symbols VALUES(?,?,?,?,?,?,?,?,?,?)")
	if err != nil {
		return err
	}
	defer symbol.Close()
	for i, s := range f.Symbols {
		flags := 0
		if s.Exported {
			flags |= index.FlagExported
		}
		if s.Forward {
			flags |= index.FlagForward
		}
		if _, err := symbol.Exec(firstSymbol+uint32(i), row.ID, s.Name, string(s.Kind), s.Scope, s.Signature, s.NameLine, s.StartLine, s.EndLine, flags); err != nil {
			return err
		}
	}
	for _, i := range f.Imports {
		for _, key := range index.ImportKeys(i.Path) {
			if _, err := w.tx.Exec("INSERT INTO imports VALUES(?,?,?,?)", row.ID, key, i.Path, i.Line); err != nil {
				return err
			}
		}
	}
	return w.addReferences(f.References, row.ID)
}

// addReferences stores one row a name: names are few, uses are many.
func (w *writer) addReferences(refs []source.Reference, file uint32) error {
	type sites struct {
		blob []byte
		last int
	}
	byName := map[string]*sites{}
	var order []string
	for _, r := range refs {
		s := byName[r.Name]
		if s == nil {
			s = &sites{}
			byName[r.Name] = s
			order = append(order, r.Name)
		}
		s.blob = index.AppendSite(s.blob, r.Line, s.last, string(r.Kind), r.Symbol)
		s.last = r.Line
	}
	insert, err := w.tx.Prepare("INSERT INTO refs VALUES(?,?,?)")
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, name := range order {
		id, ok := w.names[name]
		if !ok {
			if id, err = w.nameID(name); err != nil {
				return err
			}
			w.names[name] = id
		}
		if _, err := insert.Exec(id, file, byName[name].blob); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) nameID(name string) (id int64, err error) {
	if !w.fresh {
		err = w.tx.QueryRow("SELECT id FROM names WHERE name = ?", name).Scan(&id)
		if !errors.Is(err, sql.ErrNoRows) {
			return id, err
		}
	}
	res, err := w.tx.Exec("INSERT INTO names(name) VALUES(?)", name)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// flushSegment hands the gathered documents to a goroutine; one segment is built at a
// time, which bounds memory.
func (w *writer) flushSegment() error {
	docs := w.docs
	if docs.Len() == 0 {
		return nil
	}
	w.docs = index.NewSegmentWriter(index.ChunkSegment)
	at := len(w.segments)
	w.segments = append(w.segments, index.Segment{})
	name := w.segmentName()
	w.building <- struct{}{}
	w.pending++
	go func() {
		seg, err := docs.Write(w.build, name, !w.hasty)
		<-w.building
		w.built <- segmentResult{at, seg, err}
	}()
	return nil
}

// segmentName returns a name that no segment of this build has had.
func (w *writer) segmentName() string {
	w.segmentNo++
	return fmt.Sprintf("seg-%d-%d", w.next.Generation, w.segmentNo)
}

func (w *writer) waitSegments() error {
	var failed error
	for ; w.pending > 0; w.pending-- {
		r := <-w.built
		if r.err != nil {
			failed = r.err
			continue
		}
		w.segments[r.at] = r.seg
		if w.hasty && r.seg.Docs > 0 {
			w.late = append(w.late, filepath.Join(w.build, r.seg.Name+".zap"), filepath.Join(w.build, r.seg.Name+".ids"))
		}
	}
	return failed
}

// maxSegments is how many posting segments a query may have to open; beyond it the
// smaller half is merged.
const maxSegments = 16

func (w *writer) mergeSegments() error {
	if err := w.flushSegment(); err != nil {
		return err
	}
	if err := w.waitSegments(); err != nil {
		return err
	}
	w.next.Segments = append(w.next.Segments, w.segments...)
	w.segments = nil
	n := 0
	for _, s := range w.next.Segments {
		if s.Kind == index.ChunkSegment {
			n++
		}
	}
	if n <= maxSegments {
		return nil
	}
	// Small segments are the newest, one an edit. Whole ones (a first ingest of a large
	// repository) are merged only when there are too many of them.
	var keep, merge []index.Segment
	for _, s := range w.next.Segments {
		if s.Kind == index.ChunkSegment && (s.Docs < segmentDocs/2 || n > 4*maxSegments) {
			merge = append(merge, s)
		} else {
			keep = append(keep, s)
		}
	}
	if len(merge) < 2 {
		return nil
	}
	chunks, err := os.ReadFile(w.chunkTab.Name())
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", w.chunkTab.Name(), err)
	}
	table := index.ChunkTable(chunks)
	merged, err := index.Merge(w.build, w.segmentName(), merge, func(id uint32) bool {
		_, live := w.files[table.File(id)]
		return live
	})
	if err != nil {
		return err
	}
	if merged.Docs > 0 {
		keep = append(keep, merged)
	}
	w.next.Segments = keep
	return nil
}

// abort throws the unfinished generation away.
func (w *writer) abort() {
	_ = w.waitSegments()
	if w.tx != nil {
		_ = w.tx.Rollback()
	}
	w.closeFiles()
	if w.fresh && w.build != "" {
		_ = os.RemoveAll(w.build)
	}
}

func (w *writer) closeFiles() {
	for _, f := range []*os.File{w.chunkTab, w.vectors, w.sketches} {
		if f != nil {
			_ = f.Close()
		}
	}
	if w.db != nil {
		_ = w.db.Close()
	}
	w.chunkTab, w.vectors, w.sketches, w.db, w.tx = nil, nil, nil, nil, nil
}

// publish makes the generation the one that readers open.
func (w *writer) publish() error {
	rows := make([]index.FileRow, 0, len(w.files))
	for _, r := range w.files {
		rows = append(rows, r)
	}
	if err := w.write(index.FilesName(w.next.Generation), index.EncodeFiles(rows, w.next.Files)); err != nil {
		return err
	}
	for _, f := range []*os.File{w.chunkTab, w.vectors, w.sketches} {
		if err := w.sync(f.Name()); err != nil {
			return err
		}
	}
	if err := w.tx.Commit(); err != nil {
		return fmt.Errorf("cannot write rows.db: %w; free disk space and run the command again", err)
	}
	w.tx = nil
	if w.fresh {
		// Readers share the file from now on. The checkpoint of an empty WAL also puts
		// the file on the disk.
		for _, p := range []string{"PRAGMA locking_mode=NORMAL", "PRAGMA synchronous=FULL", "PRAGMA journal_mode=WAL", "PRAGMA wal_checkpoint(TRUNCATE)"} {
			if _, err := w.db.Exec(p); err != nil {
				return fmt.Errorf("cannot finish rows.db (%s): %w", p, err)
			}
		}
		if err := syncFile(filepath.Join(w.build, index.RowsName)); err != nil {
			return err
		}
	}
	if err := w.writeManifest(); err != nil {
		return err
	}
	w.fresh = false // the build belongs to readers now: abort must not remove it
	w.closeFiles()
	w.sweep()
	for _, path := range w.late {
		if err := syncFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// write writes a file of the build.
func (w *writer) write(name string, data []byte) error {
	path := filepath.Join(w.build, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("cannot write %s: %w; free disk space and run the command again", path, err)
	}
	return w.sync(path)
}

// sync puts a file on the disk, now or, in haste, after publishing.
func (w *writer) sync(path string) error {
	if w.hasty {
		w.late = append(w.late, path)
		return nil
	}
	return syncFile(path)
}

// sweep deletes what the manifest in force does not name. A reader that is opening an
// older generation at this moment finds a file gone and starts over.
func (w *writer) sweep() {
	entries, _ := os.ReadDir(w.dir)
	for _, e := range entries {
		build := e.IsDir() && strings.HasPrefix(e.Name(), "b") && e.Name() != w.next.Build
		manifest := strings.HasPrefix(e.Name(), manifestTemp) // of a writer that died before its rename
		if build || manifest {
			_ = os.RemoveAll(filepath.Join(w.dir, e.Name()))
		}
	}
	used := map[string]bool{index.FilesName(w.next.Generation): true}
	for _, s := range w.next.Segments {
		used[s.Name+".zap"], used[s.Name+".ids"] = true, true
	}
	entries, _ = os.ReadDir(w.build)
	for _, e := range entries {
		name := e.Name()
		if (strings.HasPrefix(name, "files-") || strings.HasPrefix(name, "seg-")) && !used[name] {
			_ = os.Remove(filepath.Join(w.build, name))
		}
	}
}

// writeManifest publishes.
func (w *writer) writeManifest() error {
	data, err := json.MarshalIndent(&w.next, "", " ")
	if err != nil {
		return fmt.Errorf("cannot encode the manifest: %w", err)
	}
	path := index.ManifestPath(w.dir)
	if !w.hasty {
		err = project.WriteFileAtomic(path, data, 0o600)
	} else {
		temp := filepath.Join(w.dir, manifestTemp+"hasty") // under the lock nobody else writes this name
		if err = os.WriteFile(temp, data, 0o600); err == nil {
			err = os.Rename(temp, path)
		}
		w.late = append(w.late, path)
	}
	if err != nil {
		return fmt.Errorf("cannot publish the index: %w; free disk space and run the command again", err)
	}
	return nil
}

// manifestTemp begins the names under which a manifest is written before its rename.
const manifestTemp = ".meta.json."

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("cannot sync %s: %w", path, err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, fs.ErrInvalid) {
		return fmt.Errorf("cannot sync %s: %w; free disk space and run the command again", path, err)
	}
	return nil
}

// appendVectors writes vectors, in order of chunk id, behind those that are there.
func (w *writer) appendVectors(vectors [][]float32) error {
	var rows, sketches []byte
	for _, v := range vectors {
		rows, sketches = vector.Append(rows, sketches, v)
	}
	for f, data := range map[*os.File][]byte{w.vectors: rows, w.sketches: sketches} {
		if _, err := f.Write(data); err != nil {
			return fmt.Errorf("cannot write %s: %w; free disk space and run the command again", f.Name(), err)
		}
	}
	return nil
}
