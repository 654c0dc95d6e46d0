// Package index is what is stored for a context and how it is read. Package ingest
// writes it; this page describes every file for both.
//
// # Layout
//
// A context's index directory holds
//
//	meta.json        the manifest (type Manifest): which build, which generation,
//	                 which segments, how many rows of each table count. Replaced by
//	                 rename; whoever has read it knows a whole, consistent index.
//	lock             the writer's flock; readers never touch it
//	queue/           files that wait for a refresh, see queue.go
//	b<N>/            one build: everything below
//	  rows.db        SQLite in WAL mode, schema in rows.go
//	  chunks.tab     append-only, ChunkSize bytes a chunk, row number = chunk id
//	  vectors.i8     append-only, a row a chunk, see package vector
//	  vectors.sketch append-only, a sketch a chunk, see package vector
//	  model.bin      the built-in embedding's fit (absent with another provider)
//	  seg-<N>.zap    an immutable segment of bleve's zap format, see postings.go
//	  seg-<N>.ids    uint32 little-endian a document: chunk id or commit id
//	  files-<G>.tab  the live files as of generation G, see tables.go
//
// # Generations
//
// A writer never changes what a manifest names. It appends rows past the counts,
// adds segments, writes the next files-<G>.tab, and renames the next meta.json over
// the last one. Content is bound to a file version: an edited file is a new file row
// with new chunks, symbols and references; the old row gets the generation in which
// it died. files-<G>.tab lists the versions alive in G, and every leg of the search
// asks it, so that a reader sees exactly one generation although tables and segments
// hold several. Rows of dead versions are deleted from SQLite a minute after they
// died, and from tables and segments by the next build.
//
// A crash leaves rows past the counts of the manifest in force; the next writer cuts
// them off. A reader that finds a file gone (a newer manifest took its place)
// reads the manifest again.
package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/chinvex/chinvex/parse/words"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search/embed"
)

// Format is the version of everything stored in an index directory. An older one is
// rebuilt by the next ingest, a newer one is refused.
const Format = 1

// Errors of Open. They come wrapped in a sentence that says what to do.
var (
	ErrNoIndex  = errors.New("no index")
	ErrOlder    = errors.New("the index was written by an older chinvex")
	ErrNewer    = errors.New("the index was written by a newer chinvex")
	ErrDamaged  = errors.New("the index is damaged")
	ErrMismatch = errors.New("the embedding model of the index is not the configured one")
)

// Manifest is meta.json.
type Manifest struct {
	Format     int         `json:"format"`
	Engine     string      `json:"engine"`     // version of the program that wrote it
	Generation int64       `json:"generation"` // grows by one a publish, never repeats within a context
	Build      string      `json:"build"`      // directory name
	Fitted     uint32      `json:"fitted"`     // live chunks when the build was made
	Embedding  embed.Model `json:"embedding"`
	// Row counts: ids below them are valid in this generation.
	Files    uint32    `json:"files"`
	Chunks   uint32    `json:"chunks"`
	Symbols  uint32    `json:"symbols"`
	Segments []Segment `json:"segments"`
	// Commits below this id are valid.
	Commits uint32 `json:"commits"`

	Stats Stats  `json:"stats"`
	Repos []Repo `json:"repos"`
}

// Segment is one immutable posting file.
type Segment struct {
	Name string `json:"name"` // file name without extension
	Docs uint32 `json:"docs"`
	Kind string `json:"kind"` // "chunks" or "commits"
}

// Stats are counts over the live files, for status, calibration's snapshot and the
// length normalisation of BM25F.
type Stats struct {
	LiveFiles    int            `json:"live_files"`
	LiveChunks   int            `json:"live_chunks"`
	LiveSymbols  int            `json:"live_symbols"`
	TextBytes    int64          `json:"text_bytes"`
	BodyTerms    int64          `json:"body_terms"`    // sum over live chunks
	CommentTerms int64          `json:"comment_terms"` // sum over live chunks
	Secrets      int            `json:"secrets"`       // replaced by markers
	Languages    map[string]int `json:"languages"`     // files by language
	LeftOut      map[string]int `json:"left_out"`      // files by reason
	Problems     int            `json:"problems"`      // files whose syntax was given up
}

// Repo is what the index knows of one repository's state.
type Repo struct {
	Name      string `json:"name"`
	Root      string `json:"root"`
	Head      string `json:"head,omitempty"`    // commit the files were read at, "" outside git or before the first commit
	Branch    string `json:"branch,omitempty"`  // "" when detached
	Dirty     int    `json:"dirty"`             // files that differed from Head
	History   string `json:"history,omitempty"` // newest commit whose changes are counted
	Shallow   bool   `json:"shallow,omitempty"`
	IndexedAt int64  `json:"indexed_at"`     // Unix seconds
	Note      string `json:"note,omitempty"` // why something is missing: "not a git repository", "no commits yet", …
}

const manifestName = "meta.json"

// ReadManifest reads dir/meta.json. A missing one is ErrNoIndex, a newer format
// ErrNewer, an older one ErrOlder.
func ReadManifest(dir string) (*Manifest, error) {
	path := filepath.Join(dir, manifestName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
		return nil, fmt.Errorf("%w in %s; run `chinvex ingest` in the repository", ErrNoIndex, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("%w: %s is not readable JSON (%v); run `chinvex ingest --rebuild`", ErrDamaged, path, err)
	}
	switch {
	case m.Format > Format:
		return nil, fmt.Errorf("%w (format %d, this program reads %d) in %s; update chinvex or run `chinvex ingest --rebuild`", ErrNewer, m.Format, Format, dir)
	case m.Format < Format:
		return nil, fmt.Errorf("%w (format %d, this program reads %d) in %s; run `chinvex ingest`", ErrOlder, m.Format, Format, dir)
	case m.Build == "" || m.Build != filepath.Base(m.Build) || m.Embedding.Dimensions <= 0 || m.Embedding.Dimensions > 1<<16:
		return nil, fmt.Errorf("%w: %s lacks a build or an embedding; run `chinvex ingest --rebuild`", ErrDamaged, path)
	}
	return &m, nil
}

// ManifestPath names the manifest of an index directory.
func ManifestPath(dir string) string { return filepath.Join(dir, manifestName) }

// Names of the files of a build.
const (
	RowsName     = "rows.db"
	ChunksName   = "chunks.tab"
	VectorsName  = "vectors.i8"
	SketchesName = "vectors.sketch"
	ModelName    = "model.bin"
)

// FilesName names the file table of a generation.
func FilesName(generation int64) string { return fmt.Sprintf("files-%d.tab", generation) }

// NewTokenize makes the tokeniser that the built-in embedding shares with the lexical
// index.
func NewTokenize() embed.Tokenize { return words.NewAnalyzer().Terms }

// CheckModel returns ErrMismatch, with the commands that resolve it, when an index was
// made with another embedding than the configured one. A model name or a number of
// dimensions that the configuration leaves open fits every index.
func CheckModel(m *Manifest, want project.EmbeddingSettings) error {
	provider, model, dimensions := want.Provider, want.Model, want.Dimensions
	have := m.Embedding
	if provider == have.Provider && (provider == embed.ProviderBuiltin || (model == "" || model == have.Name) && (dimensions == 0 || dimensions == have.Dimensions)) {
		return nil
	}
	return fmt.Errorf("%w: it has %s %s (%d dimensions), configured is %s %s; run `chinvex ingest --rebuild` to embed everything anew, or set embedding.provider back to %q",
		ErrMismatch, have.Provider, have.Name, have.Dimensions, provider, model, have.Provider)
}
