package index

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"

	bleve "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v16"
)

// Postings live in segments of bleve's own file format (zap). Segments are used
// directly, without bleve's mutable shell around them: a segment is immutable and
// is opened by mapping it, so readers need no lock, and a process that links only the
// segment code starts in a third of the time.
//
// A document is a chunk, with the one field "t", or a commit, with the one field
// "m". One field keeps one dictionary look-up a term; in which part of the chunk a
// term stands is packed into the posting's frequency:
//
//	bits 0–3  count in code, at most 15
//	bits 4–6  count in comments, at most 7
//	bits 7–8  count in names defined in the chunk, at most 3
//	bit  9    in the file's stem
//	bits 10–11 count in the last three directories, at most 3
//
// Lengths for the normalisation stand in chunks.tab; zap's norm is always 1.

// Counts tells where and how often a term stands in a chunk.
type Counts struct{ Body, Comment, Name, Stem, Dir int }

// Pack returns the stored form; counts over their limit are cut to it.
func (c Counts) Pack() uint64 {
	return uint64(min(c.Body, 15)) | uint64(min(c.Comment, 7))<<4 | uint64(min(c.Name, 3))<<7 |
		uint64(min(c.Stem, 1))<<9 | uint64(min(c.Dir, 3))<<10
}

// Unpack is the inverse of Pack.
func Unpack(v uint64) Counts {
	return Counts{Body: int(v & 15), Comment: int(v >> 4 & 7), Name: int(v >> 7 & 3), Stem: int(v >> 9 & 1), Dir: int(v >> 10 & 3)}
}

const (
	chunkField  = "t"
	commitField = "m"
)

// Kinds of segments.
const (
	ChunkSegment  = "chunks"
	CommitSegment = "commits"
)

// SegmentWriter collects documents and writes one segment. It is not safe for
// concurrent use.
type SegmentWriter struct {
	kind string
	docs []bleve.Document
	ids  []byte
}

// NewSegmentWriter returns a writer for segments of one kind.
func NewSegmentWriter(kind string) *SegmentWriter { return &SegmentWriter{kind: kind} }

// Add adds one document: its chunk or commit id, and for each term the packed
// counts (or the plain frequency, for a commit).
func (w *SegmentWriter) Add(id uint32, terms map[string]uint64) {
	d := &document{id: binary.LittleEndian.AppendUint32(nil, id), field: chunkField, terms: make(bleve.TokenFrequencies, len(terms))}
	if w.kind == CommitSegment {
		d.field = commitField
	}
	slab := make([]bleve.TokenFreq, len(terms))
	i := 0
	for term, f := range terms {
		slab[i].SetFrequency(int(f))
		d.terms[term] = &slab[i]
		i++
	}
	w.docs = append(w.docs, d)
	w.ids = append(w.ids, d.id...)
}

// Len is the number of documents added.
func (w *SegmentWriter) Len() int { return len(w.docs) }

// Write writes dir/name.zap and dir/name.ids and empties the writer; with sync both are
// on the disk when it returns. A writer without documents writes nothing and returns a zero Segment.
func (w *SegmentWriter) Write(dir, name string, sync bool) (Segment, error) {
	n := len(w.docs)
	if n == 0 {
		return Segment{}, nil
	}
	plugin := zap.ZapPlugin{}
	seg, _, err := plugin.New(w.docs)
	if err != nil {
		return Segment{}, fmt.Errorf("cannot build the posting segment %s: %w", name, err)
	}
	base := segmentPath(dir, name)
	// zap opens without truncating: a leftover of a crashed writer must go first.
	if err := os.Remove(base + ".zap"); err != nil && !os.IsNotExist(err) {
		return Segment{}, fmt.Errorf("cannot replace %s.zap: %w", base, err)
	}
	if err := persist(seg, base+".zap", sync); err != nil {
		return Segment{}, fmt.Errorf("cannot write %s.zap: %w; free disk space and run the command again", base, err)
	}
	_ = seg.Close()
	if err := writeFile(base+".ids", w.ids, sync); err != nil {
		return Segment{}, err
	}
	w.docs, w.ids = nil, nil
	return Segment{Name: name, Docs: uint32(n), Kind: w.kind}, nil
}

func segmentPath(dir, name string) string { return dir + string(os.PathSeparator) + name }

// persist writes a segment; zap's own Persist always waits for the disk.
func persist(seg segment.Segment, path string, sync bool) error {
	if sync {
		return seg.(segment.UnpersistedSegment).Persist(path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = seg.(io.WriterTo).WriteTo(f)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

func writeFile(path string, data []byte, sync bool) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		_, err = f.Write(data)
		if err == nil && sync {
			err = f.Sync()
		}
		if e := f.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w; free disk space and run the command again", path, err)
	}
	return nil
}

// document is a bleve document that is analysed already.
type document struct {
	id    []byte
	field string
	terms bleve.TokenFrequencies
}

func (d *document) ID() string                                 { return string(d.id) }
func (d *document) Size() int                                  { return 0 }
func (d *document) VisitComposite(bleve.CompositeFieldVisitor) {}
func (d *document) HasComposite() bool                         { return false }
func (d *document) NumPlainTextBytes() uint64                  { return 0 }
func (d *document) AddIDField()                                {}
func (d *document) StoredFieldsBytes() uint64                  { return 0 }
func (d *document) Indexed() bool                              { return true }
func (d *document) VisitFields(visit bleve.FieldVisitor) {
	visit(idField(d.id))
	visit((*termField)(d))
}

// idField is stored because zap wants one; it is not indexed.
type idField []byte

func (f idField) Name() string                                     { return "_id" }
func (f idField) Value() []byte                                    { return f }
func (f idField) ArrayPositions() []uint64                         { return nil }
func (f idField) EncodedFieldType() byte                           { return 't' }
func (f idField) Analyze()                                         {}
func (f idField) Options() bleve.FieldIndexingOptions              { return bleve.StoreField }
func (f idField) AnalyzedLength() int                              { return 0 }
func (f idField) AnalyzedTokenFrequencies() bleve.TokenFrequencies { return nil }
func (f idField) NumPlainTextBytes() uint64                        { return 0 }

type termField document

func (f *termField) Name() string                                     { return f.field }
func (f *termField) Value() []byte                                    { return nil }
func (f *termField) ArrayPositions() []uint64                         { return nil }
func (f *termField) EncodedFieldType() byte                           { return 't' }
func (f *termField) Analyze()                                         {}
func (f *termField) Options() bleve.FieldIndexingOptions              { return bleve.IndexField }
func (f *termField) AnalyzedLength() int                              { return 1 }
func (f *termField) AnalyzedTokenFrequencies() bleve.TokenFrequencies { return f.terms }
func (f *termField) NumPlainTextBytes() uint64                        { return 0 }

// postings reads one segment.
type postings struct {
	seg  segment.Segment
	dict segment.TermDictionary
	ids  []byte // mapped
	free func() error
	list segment.PostingsList
	it   segment.PostingsIterator
}

func openPostings(dir string, s Segment) (*postings, error) {
	base := segmentPath(dir, s.Name)
	if _, err := os.Stat(base + ".zap"); err != nil {
		return nil, err // zap's own error hides that the file is gone
	}
	plugin := zap.ZapPlugin{}
	seg, err := openZap(plugin, base+".zap")
	if err != nil {
		return nil, err
	}
	p := &postings{seg: seg}
	if p.ids, p.free, err = mapFile(base+".ids", int64(s.Docs)*4); err == nil && seg.Count() != uint64(s.Docs) {
		err = fmt.Errorf("%w: segment %s holds %d documents, the manifest says %d; run `chinvex ingest --rebuild`", ErrDamaged, s.Name, seg.Count(), s.Docs)
	}
	if err == nil {
		field := chunkField
		if s.Kind == CommitSegment {
			field = commitField
		}
		p.dict, err = seg.Dictionary(field)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// openZap turns a panic on a damaged segment into an error: zap trusts its footer.
func openZap(plugin zap.ZapPlugin, path string) (s segment.Segment, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %s cannot be opened (%v); run `chinvex ingest --rebuild`", ErrDamaged, path, r)
		}
	}()
	s, err = plugin.Open(path)
	if err != nil {
		err = fmt.Errorf("%w: %s cannot be opened (%v); run `chinvex ingest --rebuild`", ErrDamaged, path, err)
	}
	return s, err
}

func (p *postings) close() {
	if p.seg != nil {
		_ = p.seg.Close()
	}
	if p.free != nil {
		_ = p.free()
	}
}

// each calls fn for every document of the segment that holds term.
func (p *postings) each(term []byte, fn func(id uint32, frequency uint64)) error {
	list, err := p.dict.PostingsList(term, nil, p.list)
	if err != nil {
		return fmt.Errorf("cannot read postings: %w", err)
	}
	p.list = list
	if list.Count() == 0 {
		return nil
	}
	p.it = list.Iterator(true, false, false, p.it)
	for {
		post, err := p.it.Next()
		if err != nil {
			return fmt.Errorf("cannot read postings: %w", err)
		}
		if post == nil {
			return nil
		}
		n := post.Number()
		if (n+1)*4 > uint64(len(p.ids)) {
			return fmt.Errorf("%w: a posting points past its segment; run `chinvex ingest --rebuild`", ErrDamaged)
		}
		fn(binary.LittleEndian.Uint32(p.ids[n*4:]), post.Frequency())
	}
}

func (p *postings) count(term []byte) (uint64, error) {
	list, err := p.dict.PostingsList(term, nil, p.list)
	if err != nil {
		return 0, fmt.Errorf("cannot read postings: %w", err)
	}
	p.list = list
	return list.Count(), nil
}
