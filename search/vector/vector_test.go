package vector

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"sort"
	"testing"
)

// clustered returns n unit vectors around centres, as chunks of one repository are.
func clustered(n, dims int, seed uint64) [][]float32 {
	random := rand.New(rand.NewPCG(seed, 0))
	centres := make([][]float64, max(1, n/100))
	for c := range centres {
		centres[c] = make([]float64, dims)
		for i := range centres[c] {
			centres[c][i] = random.NormFloat64()
		}
	}
	vectors := make([][]float32, n)
	for i := range vectors {
		centre, v, norm := centres[random.IntN(len(centres))], make([]float64, dims), 0.0
		for j := range v {
			v[j] = centre[j] + .8*random.NormFloat64()
			norm += v[j] * v[j]
		}
		vectors[i] = make([]float32, dims)
		for j := range v {
			vectors[i][j] = float32(v[j] / math.Sqrt(norm))
		}
	}
	return vectors
}

func view(t testing.TB, vectors [][]float32) Rows {
	t.Helper()
	var rows, sketches []byte
	for _, v := range vectors {
		rows, sketches = Append(rows, sketches, v)
	}
	r, err := View(len(vectors[0]), len(vectors), rows, sketches)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// nearest is the exact answer.
func nearest(vectors [][]float32, q []float32, k int) []uint32 {
	slots := make([]uint32, len(vectors))
	cosines := make([]float64, len(vectors))
	for i := range slots {
		slots[i], cosines[i] = uint32(i), dot(vectors[i], q)
	}
	sort.SliceStable(slots, func(i, j int) bool { return cosines[slots[i]] > cosines[slots[j]] })
	return slots[:k]
}

func recall(hits []Hit, want []uint32) float64 {
	found := 0
	for _, h := range hits {
		if slices.Contains(want, h.Slot) {
			found++
		}
	}
	return float64(found) / float64(len(want))
}

func must(t testing.TB) func([]Hit, error) []Hit {
	return func(hits []Hit, err error) []Hit {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return hits
	}
}

func TestCosineErrorIsWithinTheBound(t *testing.T) {
	for _, dims := range []int{1, 3, 64, 100, 256, 1536} {
		vectors := clustered(200, dims, uint64(dims))
		vectors[7][0] += 1 // one with a dominant component
		r := view(t, vectors)
		slots := make([]uint32, len(vectors))
		for i := range slots {
			slots[i] = uint32(i)
		}
		worst := 0.0
		for _, q := range vectors[:20] {
			cosines, err := r.Dots(q, slots)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range vectors {
				exact := dot(q, v) / math.Sqrt(dot(v, v)*dot(q, q))
				m := 0.0
				for _, x := range v {
					m = max(m, math.Abs(float64(x)))
				}
				bound := 2*math.Sqrt(float64(dims))*m/math.Sqrt(dot(v, v))/254 + math.Sqrt(float64(dims))/32767
				off := math.Abs(float64(cosines[i]) - exact)
				if off > bound {
					t.Fatalf("%d dimensions: cosine %v instead of %v, bound %v", dims, cosines[i], exact, bound)
				}
				worst = max(worst, off)
			}
		}
		if dims == 256 && worst > .006 {
			t.Errorf("worst error for 256 dimensions is %v, usual are .002", worst)
		}
	}
}

func TestRecall(t *testing.T) {
	vectors := clustered(20_000, 256, 1)
	var queries [][]float32
	random := rand.New(rand.NewPCG(9, 9))
	for i := range 50 { // noisy copies of rows
		q := slices.Clone(vectors[i*400])
		for j := range q {
			q[j] += float32(.05 * random.NormFloat64())
		}
		queries = append(queries, q)
	}
	r := view(t, vectors)
	var sketch, full float64
	for _, q := range queries {
		want := nearest(vectors, q, 10)
		sketch += recall(must(t)(r.Scan(q, nil, 10, 0)), want) / float64(len(queries))
		full += recall(must(t)(r.Scan(q, nil, 10, r.Len())), want) / float64(len(queries))
	}
	if sketch < .95 || full < .95 {
		t.Errorf("recall@10 %.3f with sketches, %.3f without", sketch, full)
	}
	t.Logf("recall@10 %.3f with sketches, %.3f without", sketch, full)
}

func TestScanIsTheSameOnAnyNumberOfProcessors(t *testing.T) {
	vectors := clustered(1_000, 256, 2)
	many := make([][]float32, 0, 140_000) // enough for several parts, full of ties
	for len(many) < cap(many) {
		many = append(many, vectors...)
	}
	r := view(t, many)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := must(t)(r.Scan(vectors[3], nil, 500, 20_000))
	runtime.GOMAXPROCS(3)
	three := must(t)(r.Scan(vectors[3], nil, 500, 20_000))
	if !reflect.DeepEqual(one, three) {
		t.Error("the answers differ")
	}
	for i, h := range one[:140] { // 140 copies of the same row, by slot
		if h.Slot != uint32(3+1_000*i) {
			t.Fatalf("hit %d is slot %d, ties are not in order", i, h.Slot)
		}
	}
}

func TestScanLooksAtLiveSlotsOnly(t *testing.T) {
	vectors := clustered(3_000, 256, 3)
	r := view(t, vectors)
	live := make([]uint64, 20) // slots 1280 and up are beyond its end
	for slot := 0; slot < 1_280; slot += 7 {
		live[slot/64] |= 1 << (slot % 64)
	}
	for _, rescore := range []int{20, 100, 5_000} {
		hits := must(t)(r.Scan(vectors[1], live, 20, rescore))
		if len(hits) != 20 {
			t.Fatalf("rescore %d: %d hits", rescore, len(hits))
		}
		for _, h := range hits {
			if h.Slot%7 != 0 || h.Slot >= 1_280 {
				t.Fatalf("rescore %d: slot %d is not live", rescore, h.Slot)
			}
		}
	}
	if hits := must(t)(r.Scan(vectors[1], []uint64{}, 20, 30)); len(hits) != 0 {
		t.Errorf("%d hits among no live slots", len(hits))
	}
	if hits := must(t)(r.Scan(vectors[1], live, 2_000, 2_500)); len(hits) != 183 {
		t.Errorf("%d hits of 183 live slots", len(hits))
	}
}

func TestOddInput(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	tiny := float32(math.SmallestNonzeroFloat32)
	r := view(t, [][]float32{{0, 0, 0}, {nan, 1, inf}, {tiny, 0, 0}, {-1, -2, 3}})
	if got := must(t)(r.Scan([]float32{0, 1, 0}, nil, 4, 4)); got[0] != (Hit{1, 1}) {
		t.Errorf("what is not finite counts as 0, but: %v", got)
	}
	if got, _ := r.Dots([]float32{nan, 0, 0}, []uint32{0, 1, 2, 3, 4}); slices.Max(got) != 0 || slices.Min(got) != 0 {
		t.Errorf("cosines with a zero query: %v", got)
	}
	if got, _ := r.Dots([]float32{1, 0, 0}, []uint32{2, 9}); got[0] != 1 || got[1] != 0 {
		t.Errorf("cosines %v, want 1 and, out of range, 0", got)
	}
	if _, err := r.Scan([]float32{1}, nil, 1, 1); err == nil {
		t.Error("a query of other dimensions is accepted")
	}
	if _, err := r.Dots(nil, nil); err == nil {
		t.Error("a query without dimensions is accepted")
	}
	if hits := must(t)(r.Scan([]float32{1, 0, 0}, nil, 0, 0)); hits != nil {
		t.Error("hits for k 0")
	}
	for _, c := range [][4]int{{0, 1, 9, 9}, {3, -1, 9, 9}, {3, 2, 13, 16}, {3, 2, 14, 15}, {1 << 20, 1, 9, 9}} {
		if _, err := View(c[0], c[1], make([]byte, c[2]), make([]byte, c[3])); err == nil {
			t.Errorf("View accepts %v", c)
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte("\x01\x02\x03\x04\xff\xff\xff\xff"), uint8(3), uint8(2), uint8(1))
	f.Add([]byte{}, uint8(0), uint8(0), uint8(9))
	f.Fuzz(func(t *testing.T, data []byte, dims, k, rescore uint8) {
		r, err := View(int(dims), len(data)/(int(dims)+4), data, make([]byte, 8*len(data)))
		if err != nil {
			return
		}
		q := make([]float32, dims)
		for i := range q {
			q[i] = float32(i%5) - 2
		}
		hits, err := r.Scan(q, nil, int(k), int(rescore))
		if err != nil || len(hits) > int(k) {
			t.Fatal(err, len(hits))
		}
		for _, h := range hits {
			if !(h.Cosine >= -1 && h.Cosine <= 1) || int(h.Slot) >= r.Len() {
				t.Fatal(h)
			}
		}
	})
}

func BenchmarkScan(b *testing.B) {
	vectors := clustered(60_000, 256, 1)
	r := view(b, vectors)
	for _, rescore := range []int{200, DefaultRescore, 60_000} {
		b.Run(fmt.Sprint(rescore), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				must(b)(r.Scan(vectors[i%1_000], nil, 200, rescore))
			}
		})
	}
}

func BenchmarkDots(b *testing.B) {
	vectors := clustered(60_000, 256, 1)
	r := view(b, vectors)
	slots := make([]uint32, 800)
	for i := range slots {
		slots[i] = uint32(i * 71)
	}
	for b.Loop() {
		if _, err := r.Dots(vectors[5], slots); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	v := clustered(1, 256, 1)[0]
	var rows, sketches []byte
	for b.Loop() {
		rows, sketches = Append(rows[:0], sketches[:0], v)
	}
}
