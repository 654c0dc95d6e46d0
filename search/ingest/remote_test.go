package ingest_test

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
	"github.com/chinvex/chinvex/search/embed"
	"github.com/chinvex/chinvex/search/embed/remote"
	"github.com/chinvex/chinvex/search/index"
	"github.com/chinvex/chinvex/search/ingest"
)

// A server that speaks Ollama's protocol and puts texts that share words near each other:
// the whole way of an index with remote vectors, through HTTP.
func embeddingServer(t *testing.T, dims int) (url string, calls *atomic.Int32) {
	calls = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		var in struct {
			Model string
			Input []string
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.URL.Path != "/api/embed" || in.Model != "toy" {
			t.Errorf("%s %v %+v", r.URL.Path, err, in)
		}
		var out [][]float32
		for _, text := range in.Input {
			v := make([]float32, dims)
			for _, word := range strings.Fields(strings.ToLower(text)) {
				h := fnv.New32a()
				h.Write([]byte(word))
				v[h.Sum32()%uint32(dims)]++
			}
			out = append(out, v)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"model": in.Model, "embeddings": out})
	}))
	t.Cleanup(s.Close)
	return s.URL, calls
}

func TestRemoteEmbedding(t *testing.T) {
	w := newWorld(t)
	w.write("a.md", "# Walrus\n\nthe walrus sings at dawn\n")
	w.write("b.md", "# Zebra\n\nthe zebra runs at night\n")
	w.commit("first")
	url, calls := embeddingServer(t, 96)
	resolve := func(flags map[string]string) *project.Settings {
		r, err := project.Resolve(w.c, nil, flags)
		if err != nil {
			t.Fatal(err)
		}
		return &r.Settings
	}
	ollama := resolve(map[string]string{"embedding.provider": "ollama", "embedding.model": "toy", "embedding.url": url})
	if _, err := ingest.Ingest(context.Background(), ingest.Options{Context: w.c, Settings: ollama}); err != nil {
		t.Fatal(err)
	}
	open := func(s *project.Settings, o search.Options) (*search.Engine, error) {
		e, err := search.Open(w.c.IndexDir(), s, o)
		if err == nil {
			t.Cleanup(e.Close)
		}
		return e, err
	}
	e, err := open(ollama, search.Options{Remote: func() (embed.Embedder, error) { return remote.FromSettings(ollama.Embedding) }})
	if err != nil {
		t.Fatal(err)
	}
	if m := e.Manifest().Embedding; m != (embed.Model{Provider: "ollama", Name: "toy", Dimensions: 96}) {
		t.Errorf("the index says %+v", m)
	}
	res, err := e.Search(context.Background(), search.Query{Text: "zebra runs", Mode: search.Semantic})
	if err != nil || len(res.Results) == 0 || res.Results[0].Path.Rel != "b.md" || res.Results[0].Cosine <= 0 {
		t.Errorf("%v %+v", err, res)
	}

	// Only what changed is embedded again.
	before := calls.Load()
	w.write("b.md", "# Zebra\n\nthe zebra sleeps\n")
	if _, err := ingest.Ingest(context.Background(), ingest.Options{Context: w.c, Settings: ollama}); err != nil {
		t.Fatal(err)
	}
	if n := calls.Load() - before; n > 2 {
		t.Errorf("%d calls for one changed file", n)
	}

	// Another model than the index's is an error that says what to do, never silence.
	for _, s := range []*project.Settings{resolve(nil), resolve(map[string]string{"embedding.provider": "ollama", "embedding.model": "other", "embedding.url": url})} {
		if _, err := open(s, search.Options{}); !errors.Is(err, index.ErrMismatch) || !strings.Contains(err.Error(), "chinvex ingest --rebuild") {
			t.Errorf("open: %v", err)
		}
		if _, err := ingest.Ingest(context.Background(), ingest.Options{Context: w.c, Settings: s}); !errors.Is(err, index.ErrMismatch) {
			t.Errorf("ingest: %v", err)
		}
		if _, err := ingest.Refresh(context.Background(), ingest.Options{Context: w.c, Settings: s}, []project.Path{w.path("a.md")}); !errors.Is(err, index.ErrMismatch) {
			t.Errorf("refresh: %v", err)
		}
	}

	// Where no server is asked, as in a hook, the answer is lexical and says why.
	local, err := open(ollama, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	res, err = local.Search(context.Background(), search.Query{Text: "walrus"})
	if err != nil || len(res.Results) == 0 || res.Trace.ModeUsed != search.Lexical || res.Trace.FallbackReason == "" {
		t.Errorf("%v %+v", err, res.Trace)
	}

	// A server that is gone fails an ingest that needs it, and the index stays.
	gone := resolve(map[string]string{"embedding.provider": "ollama", "embedding.model": "toy", "embedding.url": "http://127.0.0.1:1"})
	w.write("c.md", "# Quokka\n\nthe quokka smiles\n")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ingest.Ingest(ctx, ingest.Options{Context: w.c, Settings: gone}); err == nil {
		t.Error("an ingest without its server succeeded")
	}
	if e, err := open(ollama, search.Options{}); err != nil || e.Manifest().Stats.LiveFiles != 2 {
		t.Errorf("after the failure: %v", err)
	}
}

// The ranking's settings all change something.
func TestRankingSettings(t *testing.T) {
	w := newWorld(t)
	w.write("guide.md", "# Walrus guide\n\nwalrus walrus walrus keepers\n")
	w.write("walrus.go", "package zoo\n\n// Walrus is an animal that keepers feed.\ntype Walrus struct{ Name string }\n")
	w.write("feed.go", "package zoo\n\n// Feed gives fish to a walrus; keepers call it.\nfunc Feed(w Walrus) {}\n")
	w.commit("keepers")
	w.write("feed.go", "package zoo\n\n// Feed gives fish to a walrus; keepers call it twice.\nfunc Feed(w Walrus) {}\n")
	w.at = "2026-06-01T00:00:00Z"
	w.commit("feeding")
	w.ingest()
	scores := func(flags map[string]string) string {
		r, err := project.Resolve(w.c, nil, flags)
		if err != nil {
			t.Fatal(err)
		}
		e, err := search.Open(w.c.IndexDir(), &r.Settings, search.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		res, err := e.Search(context.Background(), search.Query{Text: "keepers feed the walrus"})
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(res.Results)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	plain := scores(nil)
	for key, value := range map[string]string{
		"search.semantic_weight": "0.9", "search.doc_demotion": "0.9", "search.fusion": "rrf", "search.recency_weight": "0.9", "search.recency_half_life_days": "1",
	} {
		if scores(map[string]string{key: value}) == plain {
			t.Errorf("%s = %s changes nothing", key, value)
		}
	}
	if scores(map[string]string{"search.fusion": "rrf"}) == scores(map[string]string{"search.fusion": "rrf", "search.rrf_k": "5"}) {
		t.Error("search.rrf_k changes nothing")
	}
}
