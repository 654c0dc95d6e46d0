// Package vector stores vectors compactly and finds the nearest ones.
//
// Two files hold the vectors of an index, both raw rows without a header, so that a
// writer only appends and a reader maps them; the number of dimensions is recorded
// elsewhere. A vector's slot is its row number in both.
//
//	rows      per slot dims × int8, then the scale as a little-endian float32:
//	          component = scale × int8. Rows have length 1, so the scale is
//	          1/‖int8 row‖; 0 for the zero vector.
//	sketches  per slot ⌈dims/64⌉ little-endian uint64, bit j%64 of word j/64 set where
//	          component j is above 0; unused bits are 0.
package vector

import (
	"encoding/binary"
	"fmt"
	"math"
)

// RowBytes is the width of a row of the rows file.
func RowBytes(dims int) int { return dims + 4 }

// SketchBytes is the width of a row of the sketches file.
func SketchBytes(dims int) int { return (dims + 63) / 64 * 8 }

// Append appends the row and the sketch of v. Numbers that are not finite count as 0.
func Append(rows, sketches []byte, v []float32) (newRows, newSketches []byte) {
	q := make([]int8, len(v))
	scale := Quantize(q, v)
	for _, x := range q {
		rows = append(rows, byte(x))
	}
	words := make([]uint64, SketchBytes(len(v))/8)
	Sketch(words, v)
	for _, w := range words {
		sketches = binary.LittleEndian.AppendUint64(sketches, w)
	}
	return binary.LittleEndian.AppendUint32(rows, math.Float32bits(scale)), sketches
}

// Quantize rounds v to dst, of the same length, so that its largest component becomes
// ±127, and returns the scale that brings dst to length 1; 0 for the zero vector.
//
// With m = max|v| / ‖v‖, every component of v/‖v‖ is off by at most m/254 and the
// whole by r = √dims·m/254 at most. A cosine with any vector is then off by at most
// 2·r: r for the rounding and r for the changed length. For 256 dimensions of about
// the same size (m ≈ .2) that is .025; errors of .002 are usual.
func Quantize(dst []int8, v []float32) (scale float32) {
	var largest float64
	for _, x := range v {
		if a := math.Abs(float64(x)); a > largest && a <= math.MaxFloat32 {
			largest = a
		}
	}
	var norm int64
	for i, x := range v {
		dst[i] = 0
		if a := math.Abs(float64(x)); a > 0 && a <= math.MaxFloat32 {
			dst[i] = int8(math.Round(float64(x) / largest * 127))
		}
		norm += int64(dst[i]) * int64(dst[i])
	}
	if norm == 0 {
		return 0
	}
	return float32(1 / math.Sqrt(float64(norm)))
}

// Sketch writes the signs of v to dst, ⌈len(v)/64⌉ words.
func Sketch(dst []uint64, v []float32) {
	clear(dst)
	for i, x := range v {
		if x > 0 {
			dst[i/64] |= 1 << (i % 64)
		}
	}
}

// Rows is a view of the two files. It keeps the slices and never writes to them; it
// is safe for concurrent use.
type Rows struct {
	dims     int
	rows     []byte
	sketches []byte
	n        int
}

// View returns a view of n rows of dims components, 1 to 65,536; what follows them in
// the files, such as rows of a writer that has not published them, is not looked at.
func View(dims, n int, rows, sketches []byte) (Rows, error) {
	if dims < 1 || dims > maxDims || n < 0 || n > math.MaxUint32 {
		return Rows{}, fmt.Errorf("vectors: %d rows of %d dimensions are out of range; rebuild the index", n, dims)
	}
	if len(rows)/RowBytes(dims) < n || len(sketches)/SketchBytes(dims) < n {
		return Rows{}, fmt.Errorf("vectors: %d bytes of rows and %d of sketches are too few for %d vectors of %d dimensions; rebuild the index",
			len(rows), len(sketches), n, dims)
	}
	return Rows{dims, rows[:n*RowBytes(dims)], sketches[:n*SketchBytes(dims)], n}, nil
}

// maxDims keeps the sum of a dot product inside 63 bits and a distance inside 32.
const maxDims = 1 << 16

// Len is the number of rows.
func (r Rows) Len() int { return r.n }

// Dims is the number of components.
func (r Rows) Dims() int { return r.dims }
