package embed

import (
	"cmp"
	"math"
	"slices"
)

// The linear algebra of the fit. Matrices are row-major slices. Every element is
// computed in an order that does not depend on the number of goroutines. Products
// are rounded explicitly, so that no machine fuses them with the addition.

// sparse is a matrix in compressed rows: row i holds values[starts[i]:starts[i+1]] in
// the columns index[…], ascending.
type sparse struct {
	columns int
	starts  []int
	index   []uint32
	values  []float32
}

func (m *sparse) rows() int { return len(m.starts) - 1 }

func (m *sparse) transpose() *sparse {
	t := &sparse{
		columns: m.rows(),
		starts:  make([]int, m.columns+1),
		index:   make([]uint32, len(m.index)),
		values:  make([]float32, len(m.values)),
	}
	for _, c := range m.index {
		t.starts[c+1]++
	}
	for i := range m.columns {
		t.starts[i+1] += t.starts[i]
	}
	next := append([]int(nil), t.starts...)
	for r := range m.rows() {
		for i := m.starts[r]; i < m.starts[r+1]; i++ {
			at := next[m.index[i]]
			next[m.index[i]]++
			t.index[at], t.values[at] = uint32(r), m.values[i]
		}
	}
	return t
}

// multiply sets out to m·x, where x is [m.columns][k] and out [m.rows()][k].
func (m *sparse) multiply(out, x []float32, k int) {
	parallel(m.rows(), 64, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			sum := out[r*k:][:k]
			clear(sum)
			i, end := m.starts[r], m.starts[r+1]
			for ; i+4 <= end; i += 4 {
				c, v := m.index[i:i+4], m.values[i:i+4]
				add4(sum, v[0], v[1], v[2], v[3],
					x[int(c[0])*k:], x[int(c[1])*k:], x[int(c[2])*k:], x[int(c[3])*k:])
			}
			for ; i < end; i++ {
				v, row := m.values[i], x[int(m.index[i])*k:][:k]
				for j := range sum {
					sum[j] += float32(v * row[j])
				}
			}
		}
	})
}

// multiplyDense sets out to a·b; a is [n][k], b [k][w].
func multiplyDense(out, a, b []float32, n, k, w int) {
	parallel(n, 64, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			sum, row := out[r*w:][:w], a[r*k:][:k]
			clear(sum)
			i := 0
			for ; i+4 <= k; i += 4 {
				add4(sum, row[i], row[i+1], row[i+2], row[i+3], b[i*w:], b[(i+1)*w:], b[(i+2)*w:], b[(i+3)*w:])
			}
			for ; i < k; i++ {
				v, line := row[i], b[i*w:][:w]
				for j := range sum {
					sum[j] += float32(v * line[j])
				}
			}
		}
	})
}

// add4 adds four scaled rows to sum; one pass, since loading and storing the sum is
// what takes the time.
func add4(sum []float32, v0, v1, v2, v3 float32, x0, x1, x2, x3 []float32) {
	x0, x1, x2, x3 = x0[:len(sum)], x1[:len(sum)], x2[:len(sum)], x3[:len(sum)]
	for j := range sum {
		sum[j] += float32(v0*x0[j]) + float32(v1*x1[j]) + (float32(v2*x2[j]) + float32(v3*x3[j]))
	}
}

// segment is the number of rows that byColumn keeps together: five columns of a
// segment fit the first-level cache.
const segment = 256

// byColumn turns m [n][k] into [⌈n/256⌉][k][256]float64, the last segment filled up
// with zeros.
func byColumn(m []float32, n, k int) []float64 {
	segments := (n + segment - 1) / segment
	t := make([]float64, segments*k*segment)
	parallel(segments, 1, func(s, _ int) {
		for r := s * segment; r < min((s+1)*segment, n); r++ {
			for j, v := range m[r*k:][:k] {
				t[(s*k+j)*segment+r%segment] = float64(v)
			}
		}
	})
	return t
}

// products returns aᵀ·b [k][k], which the caller knows to be symmetric, of two
// matrices from byColumn. In double precision, since eigenvalues of the result spread
// over up to the sixth power of the spread of the singular values.
func products(a, b []float64, n, k int) []float64 {
	out := make([]float64, k*k)
	column := func(m []float64, s, j int) *[segment]float64 {
		return (*[segment]float64)(m[(s*k+min(j, k-1))*segment:])
	}
	parallel(k, 8, func(lo, hi int) {
		for s := range (n + segment - 1) / segment {
			for i := lo; i < hi; i += 2 {
				x0, x1 := column(a, s, i), column(a, s, i+1)
				for j := 0; j <= i+1; j += 3 {
					y0, y1, y2 := column(b, s, j), column(b, s, j+1), column(b, s, j+2)
					var s00, s01, s02, s10, s11, s12 float64
					for r, u := range x0 {
						v := x1[r]
						s00 += float64(u * y0[r])
						s01 += float64(u * y1[r])
						s02 += float64(u * y2[r])
						s10 += float64(v * y0[r])
						s11 += float64(v * y1[r])
						s12 += float64(v * y2[r])
					}
					sums := [2][3]float64{{s00, s01, s02}, {s10, s11, s12}}
					for di := range min(2, hi-i) {
						for dj := range min(3, i+di-j+1) {
							out[(i+di)*k+j+dj] += sums[di][dj]
						}
					}
				}
			}
		}
	})
	for i := range k {
		for j := range i {
			out[j*k+i] = out[i*k+j]
		}
	}
	return out
}

// product returns a·b of two [k][k] matrices.
func product(a, b []float64, k int) []float64 {
	out := make([]float64, k*k)
	parallel(k, 8, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			sum := out[i*k:][:k]
			for l, v := range a[i*k:][:k] {
				for j, x := range b[l*k:][:k] {
					sum[j] += float64(v * x)
				}
			}
		}
	})
	return out
}

func transposed(m []float64, k int) []float64 {
	t := make([]float64, k*k)
	for i := range k {
		for j := range k {
			t[j*k+i] = m[i*k+j]
		}
	}
	return t
}

// eigen returns the eigenvalues of the symmetric matrix m [k][k], ascending, and the
// matching eigenvectors as columns; m is overwritten. Householder reduction to a
// tridiagonal matrix, then QL steps with implicit shifts (Golub and Van Loan, Matrix
// Computations, sections 8.3.1 and 8.3.3).
func eigen(m []float64, k int) (values, vectors []float64) {
	q := make([]float64, k*k)
	for i := range k {
		q[i*k+i] = 1
	}
	v, w := make([]float64, k), make([]float64, k)
	for c := 0; c < k-2; c++ {
		// Reflect column c below the diagonal onto its first element.
		norm := 0.0
		for i := c + 1; i < k; i++ {
			v[i] = m[i*k+c]
			norm += v[i] * v[i]
		}
		norm = math.Sqrt(norm)
		if norm == 0 {
			continue
		}
		v[c+1] += math.Copysign(norm, v[c+1])
		square := 0.0
		for _, x := range v[c+1:] {
			square += x * x
		}
		dot := 0.0
		for i := c + 1; i < k; i++ {
			w[i] = 0
			for j, x := range m[i*k+c+1 : (i+1)*k] {
				w[i] += x * v[c+1+j]
			}
			w[i] *= 2 / square
			dot += w[i] * v[i]
		}
		for i := c + 1; i < k; i++ {
			w[i] -= dot / square * v[i]
		}
		for i := c + 1; i < k; i++ {
			row := m[i*k : (i+1)*k]
			for j := c + 1; j < k; j++ {
				row[j] -= v[i]*w[j] + w[i]*v[j]
			}
		}
		m[(c+1)*k+c] -= v[c+1] // what the reflection leaves there
		for i := range k {
			row := q[i*k : (i+1)*k]
			dot := 0.0
			for j := c + 1; j < k; j++ {
				dot += row[j] * v[j]
			}
			dot *= 2 / square
			for j := c + 1; j < k; j++ {
				row[j] -= dot * v[j]
			}
		}
	}

	// d is the diagonal, e[i] the element beside d[i] and d[i+1]; z holds the
	// eigenvectors as rows, so that a rotation works on neighbouring memory.
	d, e, z := make([]float64, k), make([]float64, k), transposed(q, k)
	for i := range k {
		d[i] = m[i*k+i]
		if i+1 < k {
			e[i] = m[(i+1)*k+i]
		}
	}
	for l := range k {
		for range 100 { // two suffice as a rule
			end := l
			for end < k-1 && math.Abs(e[end]) > 0x1p-52*(math.Abs(d[end])+math.Abs(d[end+1])) {
				end++
			}
			if end == l {
				break
			}
			g := (d[l+1] - d[l]) / (2 * e[l])
			g = d[end] - d[l] + e[l]/(g+math.Copysign(math.Hypot(g, 1), g))
			s, c, p := 1.0, 1.0, 0.0
			i := end - 1
			for ; i >= l; i-- {
				f, b := s*e[i], c*e[i]
				r := math.Hypot(f, g)
				e[i+1] = r
				if r == 0 { // the matrix splits here
					d[i+1] -= p
					break
				}
				s, c = f/r, g/r
				g = d[i+1] - p
				r = (d[i]-g)*s + 2*c*b
				p = s * r
				d[i+1] = g + p
				g = c*r - b
				low, high := z[i*k:(i+1)*k], z[(i+1)*k:(i+2)*k]
				for j, x := range low {
					y := high[j]
					low[j], high[j] = c*x-s*y, s*x+c*y
				}
			}
			if i < l {
				d[l] -= p
				e[l] = g
			}
			e[end] = 0
		}
	}

	order := make([]int, k)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(d[a], d[b]) })
	values, vectors = make([]float64, k), make([]float64, k*k)
	for to, from := range order {
		values[to] = d[from]
		for i := range k {
			vectors[i*k+to] = z[from*k+i]
		}
	}
	return values, vectors
}
