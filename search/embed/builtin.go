package embed

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/chinvex/chinvex/search/mapped"
)

// The file of a fitted built-in model. All numbers little-endian; floats IEEE 754.
// It is written whole and renamed into place, never changed, and read in place from
// a memory map: opening it decodes nothing.
//
//	header, 64 bytes
//	   0  magic "chinvexE"
//	   8  uint32  version, 1
//	  12  uint32  dimensions, 256
//	  16  uint32  T, the number of terms, at most 30,000
//	  20  uint32  B, the bytes of all terms together
//	  24  uint64  size of the whole file
//	  32  uint64  texts that the fit has seen
//	  40  [16]byte  the first half of the SHA-256 of everything after the header
//	  56  uint32  0
//	  60  uint32  CRC-32C of bytes 0 to 59
//	offsets  uint32[T+1]      term i is bytes offsets[i] to offsets[i+1] of the last section
//	idf      float32[T]       > 0
//	scales   float32[T]       ≥ 0; a component is scale × int8
//	rows     int8[T][256]     the term vectors
//	terms    byte[B]          ascending in byte order, so that they are searched in place
//
// A text's vector is Σ (1 + ln tf) · idf · scale · row over its terms, brought to
// length 1.
const (
	builtinMagic   = "chinvexE"
	builtinVersion = 1
	builtinHeader  = 64

	// BuiltinDimensions is the length of every vector of the built-in model.
	BuiltinDimensions = 256
)

// Tokenize calls emit for every term of text, in order, repeats included. Terms are
// identifier parts and words in lower case; text is not kept.
type Tokenize func(text []byte, emit func(term string))

// NewTokenize makes the tokeniser of one goroutine. Fit and OpenBuiltin have to be
// given the same one.
type NewTokenize func() Tokenize

// Builtin is the default embedder: a vector a term, fitted on the repository's own
// texts (Fit), no download and no network. It is safe for concurrent use until Close.
type Builtin struct {
	data  []byte // the whole file
	unmap func() error
	terms int

	scratch   sync.Pool         // of *textEmbedder
	index     map[string]uint32 // term → row; only built for many texts
	indexOnce sync.Once
}

// OpenBuiltin maps the model that WriteFile wrote. It checks the header and the size,
// not the body: see Verify. Close releases the map.
func OpenBuiltin(path string, tokenize NewTokenize) (*Builtin, error) {
	data, unmap, err := mapped.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the embedding model: %w", err)
	}
	b, err := newBuiltin(data, tokenize)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("embedding model %s %w; rebuild the index", path, err), unmap())
	}
	b.unmap = unmap
	return b, nil
}

// newBuiltin looks at a model in memory; its errors continue the sentence
// "the model …".
func newBuiltin(data []byte, tokenize NewTokenize) (*Builtin, error) {
	if len(data) < builtinHeader || string(data[:8]) != builtinMagic {
		return nil, errors.New("is not an embedding model")
	}
	if v := le32(data, 8); v != builtinVersion {
		return nil, fmt.Errorf("has format version %d, this program reads %d", v, builtinVersion)
	}
	if le32(data, 60) != crc32.Checksum(data[:60], castagnoli) {
		return nil, errors.New("has a damaged header")
	}
	terms, bytes := uint64(le32(data, 16)), uint64(le32(data, 20))
	size := builtinHeader + 4*(terms+1) + (8+BuiltinDimensions)*terms + bytes
	if dims := le32(data, 12); dims != BuiltinDimensions || terms > maxTerms || size != binary.LittleEndian.Uint64(data[24:]) {
		return nil, errors.New("has a header that contradicts itself")
	}
	if size != uint64(len(data)) {
		return nil, fmt.Errorf("has %d bytes instead of %d", len(data), size)
	}
	b := &Builtin{data: data, unmap: func() error { return nil }, terms: int(terms)}
	b.scratch.New = func() any {
		return &textEmbedder{b: b, tokenize: tokenize(), counts: make([]uint8, b.terms)}
	}
	return b, nil
}

// WriteFile writes the model through a temporary file beside path, flushed and renamed.
func (b *Builtin) WriteFile(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write the embedding model: %w", err)
	}
	defer os.Remove(f.Name()) // nothing is there after the rename
	_, err = f.Write(b.data)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the embedding model: %w", err)
	}
	return nil
}

// Close releases the file. The model embeds nothing afterwards; Embed must not be
// running.
func (b *Builtin) Close() error {
	if b.data == nil {
		return nil
	}
	b.data, b.terms, b.index = nil, 0, nil
	return b.unmap()
}

// Verify reads the whole model and compares it with its checksum.
func (b *Builtin) Verify() error {
	if len(b.data) == 0 {
		return errClosed
	}
	if sum := sha256.Sum256(b.data[builtinHeader:]); string(sum[:16]) != string(b.data[40:56]) {
		return errDamaged
	}
	return nil
}

// Terms is the size of the vocabulary, 0 to 30,000.
func (b *Builtin) Terms() int { return b.terms }

// Model names the fit: two fits share a name only if they are byte for byte the same.
func (b *Builtin) Model() Model {
	m := Model{Provider: "builtin", Dimensions: BuiltinDimensions}
	if len(b.data) != 0 {
		m.Name = "builtin-1:" + hex.EncodeToString(b.data[40:46])
	}
	return m
}

var (
	errClosed  = errors.New("the embedding model is closed")
	errDamaged = errors.New("the embedding model is damaged; rebuild the index")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// manyTexts is where building a hash table of the terms (some milliseconds) pays for
// itself against searching them in place.
const manyTexts = 256

// Embed needs no network. A text without a known term gets the zero vector.
func (b *Builtin) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if len(b.data) == 0 {
		return nil, errClosed
	}
	if len(texts) >= manyTexts {
		b.indexOnce.Do(func() {
			b.index = make(map[string]uint32, b.terms)
			for i := range b.terms {
				b.index[string(b.term(i))] = uint32(i)
			}
		})
	}
	vectors := make([][]float32, len(texts))
	var damaged atomic.Bool
	parallel(len(texts), 32, func(lo, hi int) {
		if ctx.Err() != nil {
			return
		}
		e := b.scratch.Get().(*textEmbedder)
		defer b.scratch.Put(e)
		backing := make([]float32, (hi-lo)*BuiltinDimensions)
		for i := lo; i < hi; i++ {
			v := backing[:BuiltinDimensions:BuiltinDimensions]
			backing = backing[BuiltinDimensions:]
			if !e.embed(texts[i], v) {
				damaged.Store(true)
			}
			vectors[i] = v
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("embed %d texts: %w", len(texts), err)
	}
	if damaged.Load() {
		return nil, errDamaged
	}
	return vectors, nil
}

// textEmbedder is the scratch space of one goroutine.
type textEmbedder struct {
	b        *Builtin
	tokenize Tokenize
	text     []byte
	counts   []uint8  // occurrences in this text, per term, saturating
	seen     []uint32 // the terms whose count is not 0
	weights  []float64
	sums     [BuiltinDimensions / 2]uint64 // two 32-bit sums each
}

// embed writes the vector of text to v, which is zero; false for a damaged model.
//
// The weights of a text's terms become whole numbers that add up to about 2²³. The
// biased bytes of a row (0 to 255) times a weight then add up below 2³², so that one
// 64-bit multiplication serves two dimensions and the sum is exact: the result does
// not depend on the order of the terms or on the machine.
func (e *textEmbedder) embed(text string, v []float32) bool {
	const total, mask, bias = 1 << 23, 0x000000ff_000000ff, 0x80808080_80808080
	b := e.b
	e.seen, e.weights, e.sums = e.seen[:0], e.weights[:0], [BuiltinDimensions / 2]uint64{}
	e.text = append(e.text[:0], text...)
	e.tokenize(e.text, func(term string) {
		if t, ok := b.lookup(term); ok {
			if e.counts[t] == 0 {
				e.seen = append(e.seen, t)
			}
			if e.counts[t] < math.MaxUint8 {
				e.counts[t]++
			}
		}
	})
	idf, scales := builtinHeader+4*(b.terms+1), builtinHeader+4*(2*b.terms+1)
	rows := builtinHeader + 4*(3*b.terms+1)
	sum, sound := 0.0, true
	for _, t := range e.seen {
		w := float64(lef32(b.data, idf+4*int(t))) * float64(lef32(b.data, scales+4*int(t)))
		if c := e.counts[t]; c > 1 {
			w *= 1 + math.Log(float64(c))
		}
		if !(w >= 0 && w < 1e30) {
			sound = false
		}
		e.counts[t] = 0
		e.weights = append(e.weights, w)
		sum += w
	}
	if !sound || sum == 0 {
		return sound
	}
	var whole uint64 // the sum of the weights
	for i, t := range e.seen {
		w := uint64(e.weights[i]/sum*total + 0.5)
		whole += w
		row := b.data[rows+BuiltinDimensions*int(t):][:BuiltinDimensions]
		sums := e.sums[:]
		for len(row) >= 8 && len(sums) >= 4 {
			x := binary.LittleEndian.Uint64(row) ^ bias
			sums[0] += (x & mask) * w
			sums[1] += (x >> 8 & mask) * w
			sums[2] += (x >> 16 & mask) * w
			sums[3] += (x >> 24 & mask) * w
			row, sums = row[8:], sums[4:]
		}
	}
	var norm float64
	for i, s := range e.sums {
		lo, hi := int64(s&math.MaxUint32)-128*int64(whole), int64(s>>32)-128*int64(whole)
		j := i/4*8 + i%4 // the low half holds byte j of its eight, the high half byte j+4
		v[j], v[j+4] = float32(lo), float32(hi)
		norm += float64(lo)*float64(lo) + float64(hi)*float64(hi)
	}
	if norm == 0 {
		return true
	}
	norm = 1 / math.Sqrt(norm)
	for i := range v {
		v[i] = float32(float64(v[i]) * norm)
	}
	return true
}

// lookup returns the row of a term.
func (b *Builtin) lookup(term string) (uint32, bool) {
	if b.index != nil {
		t, ok := b.index[term]
		return t, ok
	}
	lo, hi := 0, b.terms
	for lo < hi {
		mid := (lo + hi) / 2
		if string(b.term(mid)) < term {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return uint32(lo), lo < b.terms && string(b.term(lo)) == term
}

// term returns the bytes of term i; none where the offsets are damaged.
func (b *Builtin) term(i int) []byte {
	text := b.data[builtinHeader+4*(3*b.terms+1)+BuiltinDimensions*b.terms:]
	from, to := le32(b.data, builtinHeader+4*i), le32(b.data, builtinHeader+4*i+4)
	if from > to || uint64(to) > uint64(len(text)) {
		return nil
	}
	return text[from:to]
}

func le32(data []byte, at int) uint32 { return binary.LittleEndian.Uint32(data[at:]) }

func lef32(data []byte, at int) float32 { return math.Float32frombits(le32(data, at)) }

// parallel splits 0 to n into ranges of grain and hands them to at most GOMAXPROCS
// goroutines. Which goroutine gets which range is not determined: what work does may
// depend on the range alone.
func parallel(n, grain int, work func(lo, hi int)) {
	var next atomic.Int64
	loop := func() {
		for {
			hi := int(next.Add(int64(grain)))
			if hi-grain >= n {
				return
			}
			work(hi-grain, min(hi, n))
		}
	}
	goroutines := min(runtime.GOMAXPROCS(0), (n+grain-1)/grain)
	if goroutines <= 1 {
		loop()
		return
	}
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(loop)
	}
	wg.Wait()
}
