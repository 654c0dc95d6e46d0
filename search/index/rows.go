package index

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/golang/snappy"

	"github.com/chinvex/chinvex/project"

	_ "github.com/mattn/go-sqlite3" // the driver
)

// Schema is what rows.db holds. A row that hangs on a file version is never
// changed; files.born and files.died are the generations in which the version
// appeared and went (NULL while it lives).
//
//   - texts: a file's text, secrets redacted, in blocks of whole lines (Blocks), each
//     compressed, so that a few lines of a large file are had without all of it; line is
//     the block's first, 1-based.
//   - symbols.flags: 1 exported, 2 forward declaration. Lines are 1-based.
//   - refs.sites: for each use three varints: line minus the line before, the
//     reference's kind (RefKinds), and the position of the enclosing symbol among the
//     file's symbols plus 1 (0: top level).
//   - imports.key: the last meaningful component of the import, in lower case, by
//     which an importer is looked up (see ImportKey).
//   - paths and commits are the history that counts for coupling: today's names
//     (renames followed), the newest commits without merges.
const Schema = `
CREATE TABLE files(id INTEGER PRIMARY KEY, repo TEXT NOT NULL, path TEXT NOT NULL, hash BLOB NOT NULL, size INTEGER NOT NULL,
  mtime INTEGER NOT NULL, language TEXT NOT NULL, class INTEGER NOT NULL, lines INTEGER NOT NULL, package TEXT NOT NULL,
  first_chunk INTEGER NOT NULL, chunks INTEGER NOT NULL, body_terms INTEGER NOT NULL, comment_terms INTEGER NOT NULL,
  symbols INTEGER NOT NULL, secrets INTEGER NOT NULL, problem TEXT NOT NULL, born INTEGER NOT NULL, died INTEGER, died_at INTEGER);
CREATE INDEX files_path ON files(repo, path);
CREATE TABLE texts(file INTEGER NOT NULL, line INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY(file, line)) WITHOUT ROWID;
CREATE TABLE symbols(id INTEGER PRIMARY KEY, file INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, scope TEXT NOT NULL,
  signature TEXT NOT NULL, name_line INTEGER NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL, flags INTEGER NOT NULL);
CREATE INDEX symbols_name ON symbols(name COLLATE NOCASE);
CREATE INDEX symbols_file ON symbols(file);
CREATE TABLE names(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE refs(name INTEGER NOT NULL, file INTEGER NOT NULL, sites BLOB NOT NULL, PRIMARY KEY(name, file)) WITHOUT ROWID;
CREATE TABLE imports(file INTEGER NOT NULL, key TEXT NOT NULL, path TEXT NOT NULL, line INTEGER NOT NULL);
CREATE INDEX imports_key ON imports(key, path, file, line);
CREATE INDEX imports_file ON imports(file);
CREATE TABLE paths(id INTEGER PRIMARY KEY, repo TEXT NOT NULL, path TEXT NOT NULL, commits INTEGER NOT NULL DEFAULT 0, last INTEGER NOT NULL DEFAULT 0, UNIQUE(repo, path));
CREATE TABLE commits(id INTEGER PRIMARY KEY, repo TEXT NOT NULL, hash TEXT NOT NULL, time INTEGER NOT NULL, subject TEXT NOT NULL);
CREATE TABLE commit_files(path INTEGER NOT NULL, commit_id INTEGER NOT NULL, PRIMARY KEY(path, commit_id)) WITHOUT ROWID;
CREATE INDEX commit_files_commit ON commit_files(commit_id, path);
`

// RefKinds lists the kinds of references by the number that refs.sites stores.
// Append only.
var RefKinds = []string{"use", "call", "type", "import", "inherit"}

// Symbol flags.
const (
	FlagExported = 1
	FlagForward  = 2
)

// Symbol is one row of symbols.
type Symbol struct {
	ID                           uint32
	File                         uint32
	Name, Kind, Scope, Signature string
	NameLine, Start, End         int
	Exported, Forward            bool
}

const symbolColumns = "id, file, name, kind, scope, signature, name_line, start, end, flags"

func (r *Reader) symbols(query string, args ...any) ([]Symbol, error) {
	rows, err := r.query("SELECT "+symbolColumns+" FROM symbols "+query, args...)
	if err != nil {
		return nil, rowsError(err)
	}
	defer rows.Close()
	var out []Symbol
	for rows.Next() {
		var s Symbol
		var flags int
		if err := rows.Scan(&s.ID, &s.File, &s.Name, &s.Kind, &s.Scope, &s.Signature, &s.NameLine, &s.Start, &s.End, &flags); err != nil {
			return nil, rowsError(err)
		}
		s.Exported, s.Forward = flags&FlagExported != 0, flags&FlagForward != 0
		if _, live := r.Files.Row(s.File); live && s.ID < r.Manifest.Symbols {
			out = append(out, s)
		}
	}
	return out, rowsError(rows.Err())
}

func rowsError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot read the index's rows.db: %w; run `chinvex doctor`", err)
}

// SymbolsNamed returns the live definitions of a name, in order of file and line;
// with fold also those that differ in case only. At most limit rows are read.
func (r *Reader) SymbolsNamed(name string, fold bool, limit int) ([]Symbol, error) {
	out, err := r.symbols("WHERE name = ? COLLATE NOCASE ORDER BY file, start LIMIT ?", name, limit)
	if fold || err != nil {
		return out, err
	}
	exact := out[:0]
	for _, s := range out {
		if s.Name == name {
			exact = append(exact, s)
		}
	}
	return exact, nil
}

// SymbolsOf returns the symbols of a file version in the order in which they were stored.
func (r *Reader) SymbolsOf(file uint32) ([]Symbol, error) {
	return r.symbols("WHERE file = ? ORDER BY id", file)
}

// SymbolAt returns one of them by its position, as Site.Symbol gives it.
func (r *Reader) SymbolAt(file uint32, position int) (Symbol, bool, error) {
	s, err := r.symbols("WHERE id = (SELECT id FROM symbols WHERE file = ? ORDER BY id LIMIT 1 OFFSET ?)", file, position)
	if err != nil || len(s) == 0 {
		return Symbol{}, false, err
	}
	return s[0], true, nil
}

// SymbolsByID returns the live symbols among ids.
func (r *Reader) SymbolsByID(ids []uint32) (map[uint32]Symbol, error) {
	out := make(map[uint32]Symbol, len(ids))
	for len(ids) > 0 {
		n := min(len(ids), 500)
		args := make([]any, n)
		for i, id := range ids[:n] {
			args[i] = id
		}
		found, err := r.symbols("WHERE id IN (?"+strings.Repeat(",?", n-1)+")", args...)
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			out[s.ID] = s
		}
		ids = ids[n:]
	}
	return out, nil
}

// Site is one use of a name.
type Site struct {
	File   uint32
	Line   int
	Kind   string
	Symbol int // position of the enclosing symbol in SymbolsOf(File), -1 at top level
}

// AppendSite appends one site to a sites blob; last is the line of the site before.
func AppendSite(buf []byte, line, last int, kind string, symbol int) []byte {
	k := 0
	for i, name := range RefKinds {
		if name == kind {
			k = i
		}
	}
	buf = binary.AppendVarint(buf, int64(line-last))
	buf = binary.AppendUvarint(buf, uint64(k))
	return binary.AppendUvarint(buf, uint64(symbol+1))
}

// Sites returns the live uses of a name, in order of file id and line; files counts
// the files that hold one.
func (r *Reader) Sites(name string) (sites []Site, files int, err error) {
	rows, err := r.query("SELECT refs.file, refs.sites FROM names JOIN refs ON refs.name = names.id WHERE names.name = ? ORDER BY refs.file", name)
	if err != nil {
		return nil, 0, rowsError(err)
	}
	defer rows.Close()
	var blob sql.RawBytes
	for rows.Next() {
		var file uint32
		if err := rows.Scan(&file, &blob); err != nil {
			return nil, 0, rowsError(err)
		}
		if _, live := r.Files.Row(file); !live {
			continue
		}
		files++
		sites = appendSites(sites, file, blob)
	}
	return sites, files, rowsError(rows.Err())
}

func appendSites(sites []Site, file uint32, blob []byte) []Site {
	line := 0
	for len(blob) > 0 {
		delta, n := binary.Varint(blob)
		kind, k := uvarintAt(blob, n)
		symbol, s := uvarintAt(blob, n+k)
		if n <= 0 || k <= 0 || s <= 0 || kind >= uint64(len(RefKinds)) || symbol > 1<<31 {
			break // damaged: what was read so far stands
		}
		line += int(delta)
		sites = append(sites, Site{File: file, Line: line, Kind: RefKinds[kind], Symbol: int(symbol) - 1})
		blob = blob[n+k+s:]
	}
	return sites
}

func uvarintAt(b []byte, at int) (uint64, int) {
	if at <= 0 || at > len(b) {
		return 0, 0
	}
	return binary.Uvarint(b[at:])
}

// UseCount returns in how many live files a name is used, at most about 1,000.
func (r *Reader) UseCount(name string) (files int, err error) {
	rows, err := r.query("SELECT refs.file FROM names JOIN refs ON refs.name = names.id WHERE names.name = ? LIMIT 1000", name)
	if err != nil {
		return 0, rowsError(err)
	}
	defer rows.Close()
	for rows.Next() {
		var file uint32
		if err := rows.Scan(&file); err != nil {
			return 0, rowsError(err)
		}
		if _, live := r.Files.Row(file); live {
			files++
		}
	}
	return files, rowsError(rows.Err())
}

// Import is one import of a file.
type Import struct {
	File uint32
	Path string
	Line int
}

func (r *Reader) imports(query string, arg any) ([]Import, error) {
	rows, err := r.query("SELECT file, path, line FROM imports "+query, arg)
	if err != nil {
		return nil, rowsError(err)
	}
	defer rows.Close()
	var out []Import
	for rows.Next() {
		var i Import
		if err := rows.Scan(&i.File, &i.Path, &i.Line); err != nil {
			return nil, rowsError(err)
		}
		if _, live := r.Files.Row(i.File); live {
			out = append(out, i)
		}
	}
	return out, rowsError(rows.Err())
}

// ImportsOf returns what a file version imports, in order of line.
func (r *Reader) ImportsOf(file uint32) ([]Import, error) {
	return r.imports("WHERE file = ? GROUP BY path ORDER BY line, path", file)
}

// maxImporters bounds the uses of one import path that are looked at.
const maxImporters = 5000

// ImportsWithKey calls fn for each import path of that key with the live files that
// import it, in order of file id. Grouped by the database: a module that a thousand
// files import is a few rows, not a thousand.
func (r *Reader) ImportsWithKey(key string, fn func(path string, importers []Import)) error {
	rows, err := r.query("SELECT path, group_concat(file || ' ' || line, ' ') FROM imports WHERE key = ? GROUP BY path ORDER BY path", key)
	if err != nil {
		return rowsError(err)
	}
	defer rows.Close()
	var path string
	var list sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&path, &list); err != nil {
			return rowsError(err)
		}
		var importers []Import
		for len(list) > 0 && len(importers) < maxImporters {
			var file, line int
			file, list = leadingInt(list)
			line, list = leadingInt(list)
			if _, live := r.Files.Row(uint32(file)); live {
				importers = append(importers, Import{File: uint32(file), Path: path, Line: line})
			}
		}
		if len(importers) > 0 {
			fn(path, importers)
		}
	}
	return rowsError(rows.Err())
}

// leadingInt reads a decimal number and the space behind it.
func leadingInt(b []byte) (n int, rest []byte) {
	i := 0
	for ; i < len(b) && '0' <= b[i] && b[i] <= '9'; i++ {
		n = n*10 + int(b[i]-'0')
	}
	return n, b[min(i+1, len(b)):]
}

// ImportKey is the last meaningful component of an import path, or of a file's path
// without its extension, in lower case: "os/path" → path, "crate::a::b" → b,
// "./util.js" → util, "pkg.mod.Name" → name.
func ImportKey(path string) string {
	path = strings.TrimRight(path, "/*;:. ")
	cut := strings.LastIndexAny(path, "/\\")
	base := path[cut+1:]
	if dot := strings.LastIndexByte(base, '.'); dot > 0 && isSourceExtension(base[dot+1:]) {
		base = base[:dot]
	}
	if at := strings.LastIndexAny(base, ".:"); at >= 0 {
		base = base[at+1:]
	}
	return strings.ToLower(base)
}

// ImportKeys returns the keys under which an import is stored: its own, and where the
// last component is mostly a name inside the module (Rust, C++), the module's as well.
func ImportKeys(path string) []string {
	keys := []string{ImportKey(path)}
	if at := strings.LastIndex(path, "::"); at > 0 {
		if module := ImportKey(path[:at]); module != keys[0] {
			keys = append(keys, module)
		}
	}
	return keys
}

// isSourceExtension tells extensions that imports write out from the last component
// of a dotted name.
func isSourceExtension(ext string) bool {
	switch ext {
	case "h", "hh", "hpp", "hxx", "inc", "c", "cc", "cpp", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "json", "css", "scss",
		"vue", "svelte", "py", "pyi", "rb", "php", "lua", "sh", "bash", "zig", "rs", "go", "java", "kt", "scala", "cs", "swift", "ex", "exs", "hs":
		return true
	}
	return false
}

// Block is a run of whole lines of a text, compressed.
type Block struct {
	Line int // its first, 1-based
	Data []byte
}

// blockBytes is the least size of a block but a text's last, uncompressed.
const blockBytes = 16 << 10

// Blocks cuts a text and compresses the parts: snappy, because a search unpacks the
// places of all its results and the disk holds the index easily.
func Blocks(text []byte) []Block {
	var out []Block
	line, start, lines := 1, 0, 0
	for i, c := range text {
		if c == '\n' {
			lines++
			if i+1-start >= blockBytes {
				out = append(out, Block{line, snappy.Encode(nil, text[start:i+1])})
				line, start, lines = line+lines, i+1, 0
			}
		}
	}
	if start < len(text) || len(out) == 0 {
		out = append(out, Block{line, snappy.Encode(nil, text[start:])})
	}
	return out
}

// Unblock is the inverse of the compression of one block. ErrDamaged for anything else.
func Unblock(data []byte) ([]byte, error) {
	text, err := snappy.Decode(nil, data)
	if err != nil {
		return nil, fmt.Errorf("%w: a stored text cannot be unpacked (%v); run `chinvex ingest --rebuild`", ErrDamaged, err)
	}
	return text, nil
}

// BlockAt returns the block of a file version that holds a line, unpacked, and the
// number of its first line; nothing for a line before or behind the text.
func (r *Reader) BlockAt(file uint32, line int) (text []byte, first int, err error) {
	var data []byte
	switch err := r.queryRow("SELECT line, data FROM texts WHERE file = ? AND line <= ? ORDER BY line DESC LIMIT 1", file, line).Scan(&first, &data); {
	case errors.Is(err, sql.ErrNoRows):
		return nil, 0, nil
	case err != nil:
		return nil, 0, rowsError(err)
	}
	text, err = Unblock(data)
	return text, first, err
}

// Text returns a file version's whole text as indexed, secrets redacted; nil when there
// is none.
func (r *Reader) Text(file uint32) ([]byte, error) {
	rows, err := r.query("SELECT data FROM texts WHERE file = ? ORDER BY line", file)
	if err != nil {
		return nil, rowsError(err)
	}
	return JoinBlocks(rows)
}

// JoinBlocks reads the blocks of one text, in order, and closes rows.
func JoinBlocks(rows *sql.Rows) ([]byte, error) {
	defer rows.Close()
	var text []byte
	var data sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&data); err != nil {
			return nil, rowsError(err)
		}
		block, err := Unblock(data)
		if err != nil {
			return nil, err
		}
		text = append(text, block...)
	}
	return text, rowsError(rows.Err())
}

// Coupled is a path that changed together with another.
type Coupled struct {
	Path    project.Path
	Count   int   // commits that touched both
	Commits int   // commits that touched Path
	Last    int64 // Unix seconds of the newest common commit
}

// maxCouplingCommits bounds the work for a file that almost every commit touches: the
// newest say what matters.
const maxCouplingCommits = 150

// Coupling returns the paths that changed together with p in its newest commits
// (at most 150), most often first, ties by path; total counts those commits. A
// path that is no live file is left out.
func (r *Reader) Coupling(p project.Path, limit int) (out []Coupled, total int, err error) {
	// Commit ids grow with time. Paths are joined last, to the few that count.
	rows, err := r.query(`
WITH mine AS (SELECT commit_id FROM commit_files WHERE path = (SELECT id FROM paths WHERE repo = ?1 AND path = ?2) ORDER BY commit_id DESC LIMIT ?3),
  together AS (SELECT o.path, count(*) AS n, max(o.commit_id) AS newest FROM mine JOIN commit_files o ON o.commit_id = mine.commit_id
               GROUP BY o.path ORDER BY n DESC, newest DESC, o.path LIMIT ?4)
SELECT q.path, n, q.commits, c.time, (SELECT count(*) FROM mine) FROM together JOIN paths q ON q.id = together.path JOIN commits c ON c.id = newest
WHERE q.repo = ?1 AND q.path <> ?2 ORDER BY n DESC, newest DESC, q.path`, p.Repo, p.Rel, maxCouplingCommits, limit*2)
	if err != nil {
		return nil, 0, rowsError(err)
	}
	defer rows.Close()
	for rows.Next() {
		c := Coupled{Path: project.Path{Repo: p.Repo}}
		if err := rows.Scan(&c.Path.Rel, &c.Count, &c.Commits, &c.Last, &total); err != nil {
			return nil, 0, rowsError(err)
		}
		if _, live := r.Files.Find(c.Path); live && len(out) < limit {
			out = append(out, c)
		}
	}
	return out, total, rowsError(rows.Err())
}

// Commit is one commit of the counted history.
type Commit struct {
	ID      uint32
	Repo    string
	Hash    string
	Time    int64
	Subject string
	Paths   []project.Path // live ones, in order
}

// CommitsByID returns commits with the live files that they touched, in the order of
// ids.
func (r *Reader) CommitsByID(ids []uint32) ([]Commit, error) {
	var out []Commit
	for _, id := range ids {
		c := Commit{ID: id}
		err := r.queryRow("SELECT repo, hash, time, subject FROM commits WHERE id = ?", id).Scan(&c.Repo, &c.Hash, &c.Time, &c.Subject)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, rowsError(err)
		}
		rows, err := r.query("SELECT p.path FROM commit_files cf JOIN paths p ON p.id = cf.path WHERE cf.commit_id = ? ORDER BY p.path", id)
		if err != nil {
			return nil, rowsError(err)
		}
		for rows.Next() {
			p := project.Path{Repo: c.Repo}
			if err := rows.Scan(&p.Rel); err != nil {
				rows.Close()
				return nil, rowsError(err)
			}
			if _, live := r.Files.Find(p); live {
				c.Paths = append(c.Paths, p)
			}
		}
		err = rows.Err()
		rows.Close()
		if err != nil {
			return nil, rowsError(err)
		}
		out = append(out, c)
	}
	return out, nil
}

// Totals counts references (uses), pairs of live or past paths that changed
// together at least once, and commits. It scans whole tables: for benchmarks.
func (r *Reader) Totals() (references, pairs, commits int, err error) {
	rows, err := r.query("SELECT file, sites FROM refs")
	if err != nil {
		return 0, 0, 0, rowsError(err)
	}
	defer rows.Close()
	var blob sql.RawBytes
	var sites []Site
	for rows.Next() {
		var file uint32
		if err := rows.Scan(&file, &blob); err != nil {
			return 0, 0, 0, rowsError(err)
		}
		if _, live := r.Files.Row(file); live {
			sites = appendSites(sites[:0], file, blob)
			references += len(sites)
		}
	}
	if err := rows.Err(); err != nil {
		return 0, 0, 0, rowsError(err)
	}
	if err := r.queryRow("SELECT count(*) FROM (SELECT DISTINCT a.path, b.path FROM commit_files a JOIN commit_files b ON a.commit_id = b.commit_id AND a.path < b.path)").Scan(&pairs); err != nil {
		return 0, 0, 0, rowsError(err)
	}
	err = r.queryRow("SELECT count(*) FROM commits").Scan(&commits)
	return references, pairs, commits, rowsError(err)
}
