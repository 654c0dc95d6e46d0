package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/chinvex/chinvex/project"
)

// ChunkSize is the length of one row of chunks.tab in bytes: seven fields,
// little-endian.
//
//	0  uint32 file     file version
//	4  uint32 start    first line, 1-based
//	8  uint32 end      last line, inclusive
//	12 uint32 symbol   id of the symbol that the chunk is or begins, 0 for none
//	16 uint16 body     terms of code, at most 65,535
//	18 uint16 comment  terms of comments
//	20 uint32 kind     index into Kinds
const ChunkSize = 24

// Chunk is one row of chunks.tab.
type Chunk struct {
	File          uint32
	Start, End    uint32
	Symbol        uint32
	Body, Comment uint16
	Kind          uint32
}

// Kinds lists the chunk kinds by the number that chunks.tab stores. Append only.
var Kinds = []string{"block", "function", "method", "class", "struct", "interface", "trait", "enum", "type", "module", "constant", "variable", "macro", "section"}

// KindNumber returns the number of a kind; unknown ones are 0, "block".
func KindNumber(kind string) uint32 {
	for i, k := range Kinds {
		if k == kind {
			return uint32(i)
		}
	}
	return 0
}

// AppendChunk appends the row of c to buf.
func AppendChunk(buf []byte, c Chunk) []byte {
	le := binary.LittleEndian
	buf = le.AppendUint32(buf, c.File)
	buf = le.AppendUint32(buf, c.Start)
	buf = le.AppendUint32(buf, c.End)
	buf = le.AppendUint32(buf, c.Symbol)
	buf = le.AppendUint16(buf, c.Body)
	buf = le.AppendUint16(buf, c.Comment)
	return le.AppendUint32(buf, c.Kind)
}

// ChunkTable is a view over the mapped bytes of chunks.tab.
type ChunkTable []byte

// Len is the number of chunks, dead ones included.
func (t ChunkTable) Len() int { return len(t) / ChunkSize }

// File returns the file version of a chunk.
func (t ChunkTable) File(id uint32) uint32 {
	return binary.LittleEndian.Uint32(t[int(id)*ChunkSize:])
}

// At returns one row.
func (t ChunkTable) At(id uint32) Chunk {
	b := t[int(id)*ChunkSize : int(id+1)*ChunkSize]
	le := binary.LittleEndian
	return Chunk{File: le.Uint32(b), Start: le.Uint32(b[4:]), End: le.Uint32(b[8:]), Symbol: le.Uint32(b[12:]),
		Body: le.Uint16(b[16:]), Comment: le.Uint16(b[18:]), Kind: le.Uint32(b[20:])}
}

// Class says what sort of file it is; the ranking has a factor for each.
type Class uint16

const (
	Test          Class = 1 << iota // tests, fixtures, snapshots
	Documentation                   // prose
	Configuration                   // configuration and data
	Generated
	Vendored
	Example // examples, benchmarks, samples
	Compat  // compatibility layers
	Init    // package entry that mostly re-exports: __init__.py
	Types   // type declarations beside code: .d.ts, .pyi
	Internal
)

// FileRow is one live file version.
type FileRow struct {
	ID         uint32
	Path       project.Path
	Language   string
	Class      Class
	Lines      uint32
	FirstChunk uint32 // its chunks are FirstChunk … FirstChunk+Chunks-1
	Chunks     uint32
	Terms      uint32 // body and comment terms of all its chunks
	LastCommit int64  // Unix seconds of the last commit that touched it, 0 when none is known
}

// files-<G>.tab, little-endian: magic "CXF1", uint32 rows, uint32 newest commit of any
// file (Unix seconds), uint32 ids, uint32 blob bytes; then ids × uint32 (row number + 1 of each file id, 0 for a
// dead one); then rows × fileSize; then the blob with the strings. Rows are in order
// of path, so that row order is the tie-break order. A row:
//
//	0 id · 4 path offset · 8 path length · 12 repo offset · 16 repo and language
//	length (uint16 each; the language follows the repository in the blob) · 20 class
//	(uint16), unused (uint16) · 24 lines · 28 first chunk · 32 chunks · 36 terms ·
//	40 last commit (uint32, Unix seconds)
const (
	filesMagic  = "CXF1"
	filesHeader = 20
	fileSize    = 44
)

// EncodeFiles makes files-<G>.tab. ids is one more than the largest file id ever
// given; rows may be in any order.
func EncodeFiles(rows []FileRow, ids uint32) []byte {
	rows = append([]FileRow(nil), rows...)
	sort.Slice(rows, func(i, j int) bool { return rows[i].Path.Less(rows[j].Path) })
	le := binary.LittleEndian
	index := make([]uint32, ids)
	var blob bytes.Buffer
	labels := map[string]uint32{} // repository + language, shared by many rows
	body := make([]byte, 0, len(rows)*fileSize)
	newest := uint32(0)
	for i, r := range rows {
		newest = max(newest, uint32(max(0, min(r.LastCommit, 1<<32-1))))
		index[r.ID] = uint32(i) + 1
		label := r.Path.Repo + r.Language
		key := r.Path.Repo + "\x00" + r.Language
		at, ok := labels[key]
		if !ok {
			at = uint32(blob.Len())
			labels[key] = at
			blob.WriteString(label)
		}
		path := uint32(blob.Len())
		blob.WriteString(r.Path.Rel)
		for _, v := range []uint32{r.ID, path, uint32(len(r.Path.Rel)), at,
			uint32(len(r.Path.Repo)) | uint32(len(r.Language))<<16, uint32(r.Class), r.Lines, r.FirstChunk, r.Chunks, r.Terms,
			uint32(max(0, min(r.LastCommit, 1<<32-1)))} {
			body = le.AppendUint32(body, v)
		}
	}
	out := append([]byte(nil), filesMagic...)
	for _, v := range []uint32{uint32(len(rows)), newest, ids, uint32(blob.Len())} {
		out = le.AppendUint32(out, v)
	}
	for _, v := range index {
		out = le.AppendUint32(out, v)
	}
	out = append(out, body...)
	return append(out, blob.Bytes()...)
}

// FileTable is a view over the mapped bytes of files-<G>.tab.
type FileTable struct {
	index, rows []byte
	blob        []byte
	n           int
	newest      int64
}

// OpenFiles checks the sizes of a files table and returns the view. ErrDamaged when
// they do not fit.
func OpenFiles(b []byte) (FileTable, error) {
	bad := func(what string) (FileTable, error) {
		return FileTable{}, fmt.Errorf("%w: the file table %s; run `chinvex ingest --rebuild`", ErrDamaged, what)
	}
	if len(b) < filesHeader || string(b[:4]) != filesMagic {
		return bad("has no header")
	}
	le := binary.LittleEndian
	rows, ids, blob := uint64(le.Uint32(b[4:])), uint64(le.Uint32(b[12:])), uint64(le.Uint32(b[16:]))
	if filesHeader+4*ids+fileSize*rows+blob != uint64(len(b)) {
		return bad("has the wrong size")
	}
	t := FileTable{n: int(rows), newest: int64(le.Uint32(b[8:]))}
	b = b[filesHeader:]
	t.index, b = b[:4*ids], b[4*ids:]
	t.rows, t.blob = b[:fileSize*rows], b[fileSize*rows:]
	for i := 0; i < t.n; i++ {
		r := t.rows[i*fileSize:]
		lengths := le.Uint32(r[16:])
		if uint64(le.Uint32(r)) >= ids || uint64(le.Uint32(r[4:]))+uint64(le.Uint32(r[8:])) > blob ||
			uint64(le.Uint32(r[12:]))+uint64(lengths&0xffff)+uint64(lengths>>16) > blob {
			return bad("points outside itself")
		}
	}
	return t, nil
}

// Newest is the time of the newest commit of any live file, Unix seconds, 0 when none
// is known.
func (t FileTable) Newest() int64 { return t.newest }

// Len is the number of live files.
func (t FileTable) Len() int { return t.n }

// Row returns the row number of a live file id; ok is false for a dead one.
func (t FileTable) Row(id uint32) (row int, ok bool) {
	if int(id) >= len(t.index)/4 {
		return 0, false
	}
	v := binary.LittleEndian.Uint32(t.index[4*id:])
	if v == 0 || int(v) > t.n {
		return 0, false
	}
	return int(v) - 1, true
}

// At returns the row with number row, in order of path.
func (t FileTable) At(row int) FileRow {
	le := binary.LittleEndian
	b := t.rows[row*fileSize : (row+1)*fileSize]
	at, lengths := le.Uint32(b[12:]), le.Uint32(b[16:])
	repo, language := lengths&0xffff, lengths>>16
	return FileRow{
		ID:         le.Uint32(b),
		Path:       project.Path{Repo: string(t.blob[at : at+repo]), Rel: t.rel(b)},
		Language:   string(t.blob[at+repo : at+repo+language]),
		Class:      Class(le.Uint32(b[20:])),
		Lines:      le.Uint32(b[24:]),
		FirstChunk: le.Uint32(b[28:]),
		Chunks:     le.Uint32(b[32:]),
		Terms:      le.Uint32(b[36:]),
		LastCommit: int64(le.Uint32(b[40:])),
	}
}

func (t FileTable) rel(b []byte) string {
	at, n := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
	return string(t.blob[at : at+n])
}

// Terms returns the number of terms of the file in row.
func (t FileTable) Terms(row int) uint32 {
	return binary.LittleEndian.Uint32(t.rows[row*fileSize+36:])
}

// ChunkRange returns the first chunk of the file in row and how many it has.
func (t FileTable) ChunkRange(row int) (first, n uint32) {
	b := t.rows[row*fileSize:]
	return binary.LittleEndian.Uint32(b[28:]), binary.LittleEndian.Uint32(b[32:])
}

// Find returns the row of a path by binary search.
func (t FileTable) Find(p project.Path) (FileRow, bool) {
	i := sort.Search(t.n, func(i int) bool { return !t.At(i).Path.Less(p) })
	if i < t.n {
		if r := t.At(i); r.Path == p {
			return r, true
		}
	}
	return FileRow{}, false
}

// Below returns the row numbers [from, to) of the files whose path is dir or lies
// below it; an empty Rel means the whole repository.
func (t FileTable) Below(dir project.Path) (from, to int) {
	if dir.Rel == "" {
		from = sort.Search(t.n, func(i int) bool { return t.At(i).Path.Repo >= dir.Repo })
		to = sort.Search(t.n, func(i int) bool { return t.At(i).Path.Repo > dir.Repo })
		return from, to
	}
	prefix := dir.Rel + "/"
	from = sort.Search(t.n, func(i int) bool {
		p := t.At(i).Path
		return p.Repo > dir.Repo || p.Repo == dir.Repo && p.Rel >= prefix
	})
	to = from + sort.Search(t.n-from, func(i int) bool {
		p := t.At(from + i).Path
		return p.Repo > dir.Repo || p.Repo == dir.Repo && (len(p.Rel) < len(prefix) || p.Rel[:len(prefix)] != prefix)
	})
	return from, to
}
