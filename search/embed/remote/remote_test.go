package remote

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chinvex/chinvex/search/embed"
)

const testKey = "sk-test-0123456789"

// call is what both protocols put into a request.
type call struct {
	Model          string   `json:"model"`
	Input          []string `json:"input"`
	EncodingFormat string   `json:"encoding_format"`
	Dimensions     int      `json:"dimensions"`
	path, key      string
}

// serve runs a server that answers every call with answer.
func serve(t *testing.T, answer func(w http.ResponseWriter, n int, c call)) (address string, calls *atomic.Int32) {
	t.Helper()
	calls = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c := call{path: r.URL.Path, key: r.Header.Get("Authorization")}
		if err := json.Unmarshal(body, &c); err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s with %q: %v", r.Method, body, err)
		}
		answer(w, int(calls.Add(1)), c)
	}))
	t.Cleanup(s.Close)
	return s.URL, calls
}

// vectorOf is the test model: three numbers that tell texts apart.
func vectorOf(text string) []float32 { return []float32{float32(len(text)), 3, float32(text[0])} }

func openAIAnswer(w io.Writer, c call) {
	var items []string
	for i, text := range c.Input {
		v, _ := json.Marshal(vectorOf(text))
		items = append(items, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, i, v))
	}
	slices.Reverse(items) // the index counts, not the order
	fmt.Fprintf(w, `{"object":"list","data":[%s],"model":%q,"usage":{"total_tokens":1}}`, strings.Join(items, ","), c.Model)
}

// connect returns the embedder with pauses that suit a test.
func connect(t *testing.T, cfg Config) embed.Embedder {
	t.Helper()
	if cfg.Model == "" {
		cfg.Model = "m"
	}
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	e.(*remote).pause = time.Millisecond
	return e
}

func near(t *testing.T, got []float32, text string) {
	t.Helper()
	want := vectorOf(text)
	norm := math.Sqrt(float64(want[0]*want[0] + want[1]*want[1] + want[2]*want[2]))
	for i := range want {
		if len(got) != 3 || math.Abs(float64(got[i])-float64(want[i])/norm) > 1e-6 {
			t.Fatalf("%q: vector %v, want %v/%v", text, got, want, norm)
		}
	}
}

func TestOpenAI(t *testing.T) {
	t.Setenv("TEST_EMBED_KEY", testKey+"\n")
	var sizes []int
	address, _ := serve(t, func(w http.ResponseWriter, _ int, c call) {
		if c.path != "/v1/embeddings" || c.key != "Bearer "+testKey || c.Model != "m" || c.EncodingFormat != "float" || c.Dimensions != 3 {
			t.Errorf("call %+v", c)
		}
		for _, text := range c.Input {
			if strings.TrimSpace(text) == "" || len(text) > 10 || !utf8.ValidString(text) {
				t.Errorf("text %q is sent", text)
			}
		}
		sizes = append(sizes, len(c.Input))
		openAIAnswer(w, c)
	})
	for _, url := range []string{address, address + "/", address + "/v1", address + "/v1/"} {
		sizes = nil
		e := connect(t, Config{Provider: "openai", URL: url, KeyEnv: "TEST_EMBED_KEY", Dimensions: 3, BatchSize: 2, TextBytes: 10})
		texts := []string{"one", "", "three", " \n", "fifth", "ünïcödé ünïcödé", "x"}
		got, err := e.Embed(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			if strings.TrimSpace(text) == "" {
				if len(got[i]) != 3 || slices.Max(got[i]) != 0 {
					t.Errorf("%q gets %v", text, got[i])
				}
				continue
			}
			near(t, got[i], cut(text, 10))
		}
		if !slices.Equal(sizes, []int{2, 2, 1}) {
			t.Errorf("batches %v", sizes)
		}
		if m := e.Model(); m != (embed.Model{Provider: "openai", Name: "m", Dimensions: 3}) {
			t.Error(m)
		}
	}
}

func TestOpenAIBase64AndNoIndex(t *testing.T) {
	address, _ := serve(t, func(w http.ResponseWriter, _ int, c call) {
		var items []string
		for _, text := range c.Input {
			var raw []byte
			for _, x := range vectorOf(text) {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
			}
			items = append(items, `{"embedding":"`+base64.StdEncoding.EncodeToString(raw)+`"}`)
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(items, ","))
	})
	e := connect(t, Config{Provider: "openai", URL: address})
	if m := e.Model(); m.Dimensions != 0 {
		t.Error("dimensions are known before the first answer")
	}
	got, err := e.Embed(t.Context(), []string{"one", "seven"})
	if err != nil {
		t.Fatal(err)
	}
	near(t, got[0], "one")
	near(t, got[1], "seven")
	if m := e.Model(); m.Dimensions != 3 {
		t.Error(m)
	}
}

func TestOllama(t *testing.T) {
	address, _ := serve(t, func(w http.ResponseWriter, _ int, c call) {
		if c.path != "/api/embed" || c.key != "" {
			t.Errorf("call %+v", c)
		}
		var vectors [][]float32
		for _, text := range c.Input {
			vectors = append(vectors, vectorOf(text))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"model": c.Model, "embeddings": vectors, "total_duration": 1})
	})
	got, err := connect(t, Config{Provider: "ollama", URL: address}).Embed(t.Context(), []string{"one", "seven"})
	if err != nil {
		t.Fatal(err)
	}
	near(t, got[0], "one")
	near(t, got[1], "seven")
}

func TestLargeTextsGetCallsOfTheirOwn(t *testing.T) {
	address, calls := serve(t, func(w http.ResponseWriter, _ int, c call) { openAIAnswer(w, c) })
	e := connect(t, Config{Provider: "openai", URL: address, TextBytes: 200 << 10})
	if _, err := e.Embed(t.Context(), slices.Repeat([]string{strings.Repeat("x", 300<<10)}, 3)); err != nil || calls.Load() != 3 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
}

func TestTriesAgain(t *testing.T) {
	var first time.Time
	address, calls := serve(t, func(w http.ResponseWriter, n int, c call) {
		switch n {
		case 1:
			first = time.Now()
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			if time.Since(first) < time.Second {
				t.Error("Retry-After is ignored")
			}
			w.WriteHeader(http.StatusServiceUnavailable)
		case 3: // the connection breaks in the middle of the answer
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"data":`))
		default:
			openAIAnswer(w, c)
		}
	})
	got, err := connect(t, Config{Provider: "openai", URL: address}).Embed(t.Context(), []string{"one"})
	if err != nil || calls.Load() != 4 {
		t.Fatal(calls.Load(), err)
	}
	near(t, got[0], "one")
}

// Every way a server can fail gives one sentence that tells it, after so many tries.
func TestFailures(t *testing.T) {
	t.Setenv("TEST_EMBED_KEY", testKey)
	text := func(code int, body string) func(http.ResponseWriter, int, call) {
		return func(w http.ResponseWriter, _ int, _ call) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, int, call)
		tries  int32
		want   string
	}{
		"500s":      {text(500, "oops\n\tat line"), 5, "answers 500: oops at line (5 tries)"},
		"echo":      {text(401, `{"error":{"message":"Incorrect API key provided: `+testKey+`","type":"x"}}`), 1, "answers 401: Incorrect API key provided: [key]; check the key"},
		"no model":  {text(404, `{"error":"model \"m\" not found"}`), 1, `answers 404: model "m" not found; check the URL`},
		"bad":       {text(400, strings.Repeat("x", 9<<10)), 1, "answers 400: xxx"},
		"long wait": {func(w http.ResponseWriter, _ int, _ call) { w.Header().Set("Retry-After", "7200"); w.WriteHeader(429) }, 1, "asks to wait 2h0m0s"},
		"slow": {func(http.ResponseWriter, int, call) {
			time.Sleep(150 * time.Millisecond)
		}, 5, "no whole answer within 100ms (5 tries)"},
		"not JSON":      {text(200, "<html>"), 1, "answer is not usable: invalid character '<'"},
		"cut JSON":      {text(200, `{"data":[`), 1, "answer is not usable: unexpected end"},
		"too few":       {text(200, `{"data":[{"index":0,"embedding":[1,2]}]}`), 1, "1 vectors for 2 texts"},
		"same index":    {text(200, `{"data":[{"index":0,"embedding":[1,2]},{"index":0,"embedding":[1,2]}]}`), 1, "index 0 is out of range or there twice"},
		"wild index":    {text(200, `{"data":[{"index":-1,"embedding":[1,2]},{"index":7,"embedding":[1,2]}]}`), 1, "index -1 is out of range"},
		"no vector":     {text(200, `{"data":[{"index":0},{"index":1,"embedding":[1,2]}]}`), 1, "vector 0 is missing"},
		"empty vector":  {text(200, `{"data":[{"embedding":[]},{"embedding":[]}]}`), 1, "an empty vector"},
		"other lengths": {text(200, `{"data":[{"embedding":[1,2]},{"embedding":[1,2,3]}]}`), 1, "3 dimensions instead of 2"},
		"NaN":           {text(200, `{"data":[{"embedding":"AADAfwAAgD8="},{"embedding":"AADAfwAAgD8="}]}`), 1, "not finite"},
		"too large":     {text(200, `{"data":[{"embedding":[1e99,1]},{"embedding":[1,1]}]}`), 1, "not usable"},
		"odd base64":    {text(200, `{"data":[{"embedding":"AAA="},{"embedding":"AAA="}]}`), 1, "a vector of 2 bytes"},
		"huge": {func(w http.ResponseWriter, _ int, _ call) {
			block := make([]byte, 1<<20)
			for range answerBytes>>20 + 1 {
				_, _ = w.Write(block)
			}
		}, 1, "exceeds 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			address, calls := serve(t, c.answer)
			cfg := Config{Provider: "openai", URL: address, KeyEnv: "TEST_EMBED_KEY", Dimensions: 2}
			if name == "slow" {
				cfg.Timeout = 100 * time.Millisecond
			}
			_, err := connect(t, cfg).Embed(t.Context(), []string{"a", "b"})
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 500 {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
			if strings.Contains(err.Error(), testKey) || strings.ContainsAny(err.Error(), "\n\t") {
				t.Errorf("error %q", err)
			}
			if calls.Load() != c.tries {
				t.Errorf("%d tries, want %d", calls.Load(), c.tries)
			}
		})
	}
}

func TestRefusedConnection(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	_, err := connect(t, Config{Provider: "ollama", URL: s.URL}).Embed(t.Context(), []string{"a"})
	if err == nil || !strings.Contains(err.Error(), "connection refused") || !strings.Contains(err.Error(), "(5 tries)") {
		t.Error(err)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	address, calls := serve(t, func(w http.ResponseWriter, _ int, _ call) {
		cancel()
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(429)
	})
	began := time.Now()
	_, err := connect(t, Config{Provider: "openai", URL: address}).Embed(ctx, []string{"a"})
	if !errors.Is(err, context.Canceled) || calls.Load() != 1 || time.Since(began) > 5*time.Second {
		t.Error(err, calls.Load(), time.Since(began))
	}
}

func TestRedirects(t *testing.T) {
	t.Setenv("TEST_EMBED_KEY", testKey)
	other, strangers := serve(t, func(w http.ResponseWriter, _ int, c call) { openAIAnswer(w, c) })
	address, _ := serve(t, func(w http.ResponseWriter, _ int, c call) {
		switch c.path {
		case "/v1/embeddings":
			w.Header().Set("Location", "/elsewhere")
		case "/elsewhere":
			if c.key != "Bearer "+testKey {
				t.Error("the same host does not get the key")
			}
			openAIAnswer(w, c)
			return
		default:
			w.Header().Set("Location", other+"/v1/embeddings")
		}
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	if _, err := connect(t, Config{Provider: "openai", URL: address, KeyEnv: "TEST_EMBED_KEY"}).Embed(t.Context(), []string{"a"}); err != nil {
		t.Error(err)
	}
	_, err := connect(t, Config{Provider: "openai", URL: address + "/away", KeyEnv: "TEST_EMBED_KEY"}).Embed(t.Context(), []string{"a"})
	if err == nil || !strings.Contains(err.Error(), "redirects to "+other) || strangers.Load() != 0 {
		t.Error(err, strangers.Load())
	}
}

func TestNewRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, empty, two := file("good", testKey+"\r\n"), file("empty", " \n"), file("two", testKey+"\n"+testKey)
	t.Setenv("OPENAI_API_KEY", "")
	for _, c := range []struct {
		cfg  Config
		want string // "" for accepted
	}{
		{Config{Provider: "ollama", Model: "m"}, ""},
		{Config{Provider: "openai", Model: "m", KeyFile: good}, ""},
		{Config{Provider: "openai", Model: "m", URL: "http://[::1]:1", KeyFile: good}, ""},
		{Config{Provider: "openai", Model: "m", URL: "http://10.0.0.1"}, ""},
		{Config{Provider: "openai", Model: "m", URL: "http://10.0.0.1", KeyFile: good}, "unencrypted"},
		{Config{Provider: "ollama", Model: "m", URL: "http://localhost.example.com", KeyFile: good}, "unencrypted"},
		{Config{Provider: "openai", Model: "m"}, "OPENAI_API_KEY is empty"},
		{Config{Provider: "openai", Model: "m", KeyFile: empty}, "is empty"},
		{Config{Provider: "openai", Model: "m", KeyFile: two}, "not one line"},
		{Config{Provider: "openai", Model: "m", KeyFile: filepath.Join(dir, "none")}, "no such file"},
		{Config{Provider: "openai"}, "needs the name of a model"},
		{Config{Provider: "word2vec", Model: "m"}, `"word2vec" is not known`},
		{Config{Provider: "ollama", Model: "m", URL: "localhost:11434"}, "must look like"},
		{Config{Provider: "ollama", Model: "m", URL: "ftp://host"}, "must look like"},
		{Config{Provider: "openai", Model: "m", URL: "https://u:" + testKey + "@host/v1"}, "must not hold a password"},
		{Config{Provider: "openai", Model: "m", URL: "https://host/v1?key=" + testKey}, "must not hold a password"},
		{Config{Provider: "openai", Model: "m", URL: "https://u:" + testKey + "@ho st%zz"}, "must look like"},
		{Config{Provider: "ollama", Model: "m", Dimensions: -1}, "negative"},
	} {
		_, err := New(c.cfg)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), testKey) {
			t.Errorf("the key is in %q", err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-3": 0, "soon": 0, "99999999999999999999": 0,
		"Fri, 20 Nov 2026 12:00:20 GMT": 20 * time.Second, "Fri, 20 Nov 2026 11:00:00 GMT": 0,
	} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"data":[{"index":0,"embedding":[1,2]}],"embeddings":[[1,2]]}`))
	f.Add([]byte(`{"data":[{"index":0,"embedding":"AADAfw=="}],"embeddings":[null]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, api := range []protocol{openAI{}, ollama{}} {
			r := &remote{api: api}
			if vectors, err := api.vectors(body, 1); err == nil && r.check(vectors, 1) == nil && len(vectors[0]) == 0 {
				t.Error("an empty vector is accepted")
			}
			_ = r.explanation(body)
		}
	})
}
