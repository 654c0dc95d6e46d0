package embed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// lowerWords is a tokeniser for tests: runs of letters and digits in lower case.
func lowerWords() Tokenize {
	return func(text []byte, emit func(string)) {
		for _, w := range strings.FieldsFunc(strings.ToLower(string(text)), func(c rune) bool {
			return (c < 'a' || c > 'z') && (c < '0' || c > '9')
		}) {
			emit(w)
		}
	}
}

// written makes n texts of about size words, around topics, with a Zipf-like spread.
func written(n, size int) []string {
	random := rand.New(rand.NewPCG(1, 2))
	texts := make([]string, n)
	for i := range texts {
		var b strings.Builder
		topic := random.IntN(100)
		for range size {
			w := int(40_000 * math.Pow(random.Float64(), 4))
			if random.IntN(2) == 0 {
				w = topic*300 + int(300*math.Pow(random.Float64(), 2))
			}
			fmt.Fprintf(&b, "w%d ", w)
		}
		texts[i] = b.String()
	}
	return texts
}

func fit(t testing.TB, texts []string) *Builtin {
	t.Helper()
	b, err := Fit(context.Background(), slices.Values(texts), lowerWords)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func vectorsOf(t testing.TB, e Embedder, texts ...string) [][]float32 {
	t.Helper()
	vectors, err := e.Embed(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}

func cosine(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

var corpus = []string{
	"def connect(host, port): open a socket to the server and return the connection",
	"class Server: accept a connection on the socket and read the request",
	"send the request over the socket, time out when the server does not answer",
	"retry the request when the connection to the host is refused",
	"close the socket and the connection of the server on shutdown",
	"parse the expression into a syntax tree of nodes",
	"the lexer turns source text into tokens for the parser",
	"walk the syntax tree and visit every node and expression",
	"the parser reports an error for an unexpected token in the source",
	"print the syntax tree back as source text with indentation",
	"store the row in the table and commit the transaction",
	"the index of the table finds a row by its key",
	"roll the transaction back when the row violates a key of the table",
	"select rows from the table by key in one query",
	"the query planner picks an index for the table",
}

func TestRelatedTextsAreClose(t *testing.T) {
	b := fit(t, corpus)
	vectors := vectorsOf(t, b, corpus...)
	for query, topic := range map[string]int{
		"socket connection timeout":             0,
		"what does the server do on a request?": 0,
		"syntax tree of the parser":             1,
		"tokens of the lexer":                   1,
		"transaction commit":                    2,
		"find rows by key":                      2,
	} {
		q := vectorsOf(t, b, query)[0]
		best := 0
		var mean [3]float64
		for i, v := range vectors {
			mean[i/5] += cosine(q, v) / 5
			if cosine(q, v) > cosine(q, vectors[best]) {
				best = i
			}
		}
		if best/5 != topic || slices.Max(mean[:]) != mean[topic] {
			t.Errorf("%q: nearest is %q, means by topic %.2f", query, corpus[best], mean)
		}
	}
	// "node" is in neither of these, but in texts that share words with the first.
	q := vectorsOf(t, b, "node")[0]
	if near, far := cosine(q, vectors[9]), cosine(q, vectors[10]); near <= far {
		t.Errorf("node: %.2f to %q, %.2f to %q", near, corpus[9], far, corpus[10])
	}
}

func TestVectorsHaveLengthOneOrZero(t *testing.T) {
	b := fit(t, corpus)
	for i, v := range vectorsOf(t, b, "socket", "", "zzz unknown", "the the the "+strings.Repeat("row ", 70_000)) {
		want := 1.0
		if i == 1 || i == 2 {
			want = 0
		}
		if len(v) != BuiltinDimensions || math.Abs(cosine(v, v)-want) > 1e-5 {
			t.Errorf("text %d: %d dimensions, length² %v, want %v", i, len(v), cosine(v, v), want)
		}
	}
}

// The integer sums give what the definition of a text's vector gives.
func TestEmbedFollowsTheDefinition(t *testing.T) {
	b := fit(t, corpus)
	const text = "the socket of the server, the socket"
	want := make([]float64, BuiltinDimensions)
	for term, tf := range map[string]float64{"the": 3, "socket": 2, "of": 1, "server": 1} {
		i, ok := b.lookup(term)
		if !ok {
			t.Fatal(term)
		}
		w := (1 + math.Log(tf)) * float64(lef32(b.data, builtinHeader+4*(b.terms+1+int(i)))) *
			float64(lef32(b.data, builtinHeader+4*(2*b.terms+1+int(i))))
		for j := range want {
			want[j] += w * float64(int8(b.data[builtinHeader+4*(3*b.terms+1)+int(i)*BuiltinDimensions+j]))
		}
	}
	norm := 0.0
	for _, x := range want {
		norm += x * x
	}
	for j, x := range vectorsOf(t, b, text)[0] {
		if math.Abs(float64(x)-want[j]/math.Sqrt(norm)) > 1e-5 {
			t.Fatalf("component %d is %v, want %v", j, x, want[j]/math.Sqrt(norm))
		}
	}
}

// With fewer texts than dimensions nothing is lost: the dot products of the term
// vectors, T·Tᵀ = V·Σ·Vᵀ, are the square root of AᵀA.
func TestFitIsExactForFewTexts(t *testing.T) {
	s, err := count(t.Context(), slices.Values(corpus), lowerWords)
	if err != nil {
		t.Fatal(err)
	}
	a := s.matrix()
	vectors, err := termVectors(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	at, k := a.transpose(), a.columns
	root, squared := make([]float64, k*k), make([]float64, k*k)
	for i := range k {
		for j := range k {
			root[i*k+j] = cosine(vectors[i*BuiltinDimensions:][:BuiltinDimensions], vectors[j*BuiltinDimensions:][:BuiltinDimensions])
			for x := at.starts[i]; x < at.starts[i+1]; x++ {
				for y := at.starts[j]; y < at.starts[j+1]; y++ {
					if at.index[x] == at.index[y] {
						squared[i*k+j] += float64(at.values[x]) * float64(at.values[y])
					}
				}
			}
		}
	}
	for i, got := range product(root, root, k) {
		if math.Abs(got-squared[i]) > 1e-4 {
			t.Fatalf("%s and %s: %v, want %v", s.words[i/k].term, s.words[i%k].term, got, squared[i])
		}
	}
}

func TestEigen(t *testing.T) {
	for _, k := range []int{1, 2, 3, 10, 64, 256} {
		random := rand.New(rand.NewPCG(1, uint64(k)))
		m := make([]float64, k*k)
		for i := range k {
			for j := range i + 1 {
				x := random.NormFloat64() * math.Pow(10, -float64(i+j)/100) // a wide spread
				m[i*k+j], m[j*k+i] = x, x
			}
		}
		values, v := eigen(slices.Clone(m), k)
		if !slices.IsSorted(values) {
			t.Errorf("%d: not ascending", k)
		}
		for i := range k {
			for j := range k {
				mv, unit, want := 0.0, 0.0, 0.0
				for l := range k {
					mv += m[i*k+l] * v[l*k+j]
					unit += v[l*k+i] * v[l*k+j]
				}
				if i == j {
					want = 1
				}
				if math.Abs(mv-values[j]*v[i*k+j]) > 1e-11 || math.Abs(unit-want) > 1e-11 {
					t.Fatalf("%d: (%d,%d): M·v = %v, λ·v = %v, v·v = %v", k, i, j, mv, values[j]*v[i*k+j], unit)
				}
			}
		}
	}
}

func TestFitIsTheSameOnAnyNumberOfProcessors(t *testing.T) {
	texts := written(3_000, 40)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := fit(t, texts)
	runtime.GOMAXPROCS(2)
	two := fit(t, texts)
	runtime.GOMAXPROCS(5)
	five := fit(t, texts)
	if !bytes.Equal(one.data, two.data) || !bytes.Equal(one.data, five.data) {
		t.Error("the models differ")
	}
	runtime.GOMAXPROCS(1)
	alone := vectorsOf(t, one, texts[:300]...)
	runtime.GOMAXPROCS(5)
	if !reflect.DeepEqual(alone, vectorsOf(t, one, texts[:300]...)) {
		t.Error("the vectors differ")
	}
	for i, text := range texts[:20] { // searched in place, without the hash table
		if !reflect.DeepEqual(vectorsOf(t, two, text)[0], alone[i]) {
			t.Fatal("a text alone gets another vector than among many")
		}
	}
	if other := fit(t, texts[1:]); other.Model() == one.Model() || one.Model() != two.Model() {
		t.Error("the name does not tell fits apart")
	}
}

// More texts than the sample: later texts replace earlier ones, also inside a batch.
func TestSample(t *testing.T) {
	texts := make([]string, 3*maxSample)
	for i := range texts {
		texts[i] = fmt.Sprintf("all t%d t%d", i, i)
	}
	texts = append(texts, texts...) // every term twice
	s, err := count(context.Background(), slices.Values(texts), lowerWords)
	if err != nil {
		t.Fatal(err)
	}
	if s.texts != len(texts) || len(s.rows) != maxSample || len(s.words) != maxTerms {
		t.Fatalf("%d texts, %d rows, %d words", s.texts, len(s.rows), len(s.words))
	}
	if !slices.IsSortedFunc(s.words, func(a, b word) int { return strings.Compare(a.term, b.term) }) || s.words[0].term != "all" {
		t.Error("the vocabulary is not sorted or lacks its most frequent term")
	}
	lone := 0
	for _, row := range s.rows {
		switch {
		case len(row) == 1 && row[0] == occurrence{0, 1}:
			lone++ // its other term did not get into the vocabulary
		case len(row) != 2 || row[0] != occurrence{0, 1} || row[1].count != 2:
			t.Fatalf("row %v", row)
		}
	}
	if lone == 0 || lone > maxSample/3 { // 6,001 of 36,000 terms are left out
		t.Errorf("%d rows hold one term", lone)
	}
}

func TestFewTexts(t *testing.T) {
	for _, texts := range [][]string{nil, {""}, {"one"}, {"same", "same"}, {"a b", ""}} {
		b := fit(t, texts)
		if m := b.Model(); m.Dimensions != BuiltinDimensions || m.Provider != "builtin" || !strings.HasPrefix(m.Name, "builtin-1:") {
			t.Errorf("%q: model %+v", texts, m)
		}
		for i, v := range vectorsOf(t, b, texts...) {
			want := float64(min(1, len(texts[i])))
			if math.Abs(cosine(v, v)-want) > 1e-5 {
				t.Errorf("%q: %q has length² %v", texts, texts[i], cosine(v, v))
			}
		}
	}
}

func TestFitStopsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Fit(ctx, slices.Values(corpus), lowerWords); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := fit(t, corpus).Embed(ctx, corpus); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestFile(t *testing.T) {
	fitted := fit(t, corpus)
	path := filepath.Join(t.TempDir(), "model")
	if err := fitted.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	opened, err := OpenBuiltin(path, lowerWords)
	if err != nil {
		t.Fatal(err)
	}
	if err := opened.Verify(); err != nil {
		t.Error(err)
	}
	if opened.Model() != fitted.Model() || !reflect.DeepEqual(vectorsOf(t, opened, corpus...), vectorsOf(t, fitted, corpus...)) {
		t.Error("the opened model differs")
	}
	if err := errors.Join(opened.Close(), opened.Close()); err != nil {
		t.Error(err)
	}
	if _, err := opened.Embed(t.Context(), corpus); err == nil || opened.Verify() == nil {
		t.Error("a closed model embeds")
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("files left behind: %v", files)
	}

	for name, change := range map[string]func([]byte) []byte{
		"empty":       func(d []byte) []byte { return nil },
		"short":       func(d []byte) []byte { return d[:40] },
		"truncated":   func(d []byte) []byte { return d[:len(d)-1] },
		"longer":      func(d []byte) []byte { return append(d, 0) },
		"other magic": func(d []byte) []byte { d[0] ^= 1; return d },
		"version":     func(d []byte) []byte { d[8]++; return d },
		"terms":       func(d []byte) []byte { d[16]++; return d },
	} {
		if err := os.WriteFile(path, change(bytes.Clone(fitted.data)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenBuiltin(path, lowerWords); err == nil || !strings.Contains(err.Error(), "rebuild the index") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := OpenBuiltin(filepath.Dir(path), lowerWords); err == nil {
		t.Error("a directory opens")
	}
	if _, err := OpenBuiltin(path+".none", lowerWords); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}

	damaged := bytes.Clone(fitted.data)
	damaged[len(damaged)-5] ^= 1
	b, err := newBuiltin(damaged, lowerWords)
	if err != nil || b.Verify() == nil {
		t.Error("Verify accepts a damaged body", err)
	}
}

// FuzzModel damages the body and the counts of a good file whose header is then made
// to agree: nothing but an error may come of it.
func FuzzModel(f *testing.F) {
	good := fit(f, corpus[:3]).data
	f.Add(uint16(64), []byte{255, 255, 255, 255}, "socket")
	f.Add(uint16(64+4*30), []byte{0, 0, 192, 127, 0, 0, 128, 255}, "the server")
	f.Add(uint16(16), []byte{2, 0, 0, 0}, "request")
	f.Fuzz(func(t *testing.T, at uint16, change []byte, text string) {
		data := bytes.Clone(good)
		copy(data[int(at)%len(data):], change)
		if b, err := newBuiltin(bytes.Clone(data), lowerWords); err == nil {
			vectorsSound(t, b, text)
		}
		copy(data, good[:12]) // the check sum right, the rest as it comes
		for i, b := range crcOf(data[:60]) {
			data[60+i] = b
		}
		if b, err := newBuiltin(data, lowerWords); err == nil {
			vectorsSound(t, b, text)
		}
	})
}

func crcOf(header []byte) []byte {
	c := crc32.Checksum(header, castagnoli)
	return []byte{byte(c), byte(c >> 8), byte(c >> 16), byte(c >> 24)}
}

func vectorsSound(t *testing.T, b *Builtin, text string) {
	texts := make([]string, manyTexts)
	texts[0] = text
	for _, texts := range [][]string{texts[:1], texts} {
		vectors, err := b.Embed(t.Context(), texts)
		if err != nil {
			continue
		}
		if n := cosine(vectors[0], vectors[0]); !(n == 0 || math.Abs(n-1) < 1e-4) {
			t.Fatalf("length² %v", n)
		}
	}
}

func BenchmarkFit57000(b *testing.B) {
	texts := written(57_000, 75) // about 60 different terms each
	for b.Loop() {
		fit(b, texts)
	}
}

func BenchmarkEmbed57000(b *testing.B) {
	texts := written(57_000, 75)
	model := fit(b, texts)
	for b.Loop() {
		vectorsOf(b, model, texts...)
	}
}

// One query in a new process: open, embed, close.
func BenchmarkOpenAndEmbedQuery(b *testing.B) {
	path := filepath.Join(b.TempDir(), "model")
	if err := fit(b, written(57_000, 75)).WriteFile(path); err != nil {
		b.Fatal(err)
	}
	var opening time.Duration
	for b.Loop() {
		began := time.Now()
		model, err := OpenBuiltin(path, lowerWords)
		if err != nil {
			b.Fatal(err)
		}
		opening += time.Since(began)
		vectorsOf(b, model, "w1 w20 w300 w4000 w20000")
		if err := model.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(opening.Microseconds())/float64(b.N), "µs-open/op")
}
