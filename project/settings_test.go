package project

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// world is a context with one repository, and the files that settings come from.
type world struct {
	*Context
	config string
}

func newWorld(t testing.TB, config, calibration string) world {
	t.Helper()
	base := tempDir(t)
	c := &Context{Name: "x", Dir: mkdir(t, base, "x")}
	root := mkdir(t, base, "repo")
	if _, _, err := c.Claim(root); err != nil {
		t.Fatal(err)
	}
	w := world{c, filepath.Join(root, ".chinvex", "config.toml")}
	if config != "" {
		write(t, config, w.config)
	}
	if calibration != "" {
		write(t, calibration, c.CalibrationFile())
	}
	return w
}

func TestDefaults(t *testing.T) {
	r, err := Resolve(nil, nil, nil)
	if err != nil || r.Warnings != nil {
		t.Fatal(err, r.Warnings)
	}
	want := Settings{
		Search:    SearchSettings{SemanticWeight: .5, DocDemotion: .3, RRFK: 60, Fusion: "linear", RecencyWeight: .3, RecencyHalfLifeDays: 30, CouplingDepth: 5000},
		Dispatch:  DispatchSettings{Enabled: true, PromptLines: 300, ToolLines: 150, SessionTokens: 20000, RelatedEvery: 5, FactExpiry: 30, DeadlineMS: 1500},
		Index:     IndexSettings{MaxFileBytes: 1 << 20, Exclude: []string{".claude/settings.json", ".claude/settings.local.json"}},
		Embedding: EmbeddingSettings{Provider: "builtin", BatchSize: 64, TimeoutSeconds: 30},
	}
	if !reflect.DeepEqual(r.Settings, want) {
		t.Errorf("defaults\n%+v\nwant\n%+v", r.Settings, want)
	}
	for _, s := range r.Sources() {
		if s.Source != SourceDefault {
			t.Errorf("%+v is no default", s)
		}
	}
}

// TestTable checks that each row has its own field, that a flag and a line of
// config.toml reach it, and that no field of Settings lacks a row.
func TestTable(t *testing.T) {
	fields := 0
	for section := range reflect.TypeFor[Settings]().Fields() {
		fields += section.Type.NumField()
	}
	if fields != len(keys) {
		t.Errorf("%d fields and %d keys", fields, len(keys))
	}
	for _, s := range keys {
		key, flag, line := s.key, "", ""
		switch s.at(&Settings{}).(type) {
		case *bool:
			flag, line = "false", "false"
		case *string:
			flag = "value"
			if s.oneOf != nil {
				flag = s.oneOf[1]
			}
			line = `"` + flag + `"`
		case *[]string:
			flag, line = "a/*, b", `["a/*", "b"]`
		case *float64, *map[string]float64:
			flag, line = "0.875", "0.875"
			if s.lo > .875 {
				flag, line = "7.5", "7.5"
			}
		case *int, *int64:
			flag, line = "77", "77"
		}
		if key == thresholds {
			key += ".rust"
		}
		if key == "embedding.key_env" || key == "embedding.key_file" {
			continue // never from a file: TestRepositoryCannotSendCodeAway
		}
		table, name := key[:strings.LastIndex(key, ".")], key[strings.LastIndex(key, ".")+1:]
		w := newWorld(t, "["+table+"]\n"+name+" = "+line+"\n", "")
		byFlag, err := Resolve(nil, nil, map[string]string{key: flag})
		if err != nil {
			t.Errorf("%s by flag: %v", key, err)
		}
		byFile, err := Resolve(w.Context, nil, nil)
		if err != nil || byFile.Warnings != nil {
			t.Errorf("%s by file: %v %v", key, err, byFile.Warnings)
		}
		plain, _ := Resolve(nil, nil, nil)
		if !reflect.DeepEqual(byFlag.Settings, byFile.Settings) || reflect.DeepEqual(byFlag.Settings, plain.Settings) {
			t.Errorf("%s: by flag %+v, by file %+v", key, byFlag.Settings, byFile.Settings)
		}
		if byFlag.Source(key) != SourceFlag || byFile.Source(key) != w.config {
			t.Errorf("%s: sources %q, %q", key, byFlag.Source(key), byFile.Source(key))
		}
		i := slices.IndexFunc(byFile.Sources(), func(s Sourced) bool { return s.Key == key })
		if i < 0 || byFile.Sources()[i] != (Sourced{key, line, w.config}) {
			t.Errorf("%s: Sources %v", key, byFile.Sources())
		}
	}
}

func TestCascade(t *testing.T) {
	w := newWorld(t,
		"[search]\nsemantic_weight = 0.5 # as the default\nrrf_k = 10\n[search.thresholds]\nRust = 1\npython = 0.6\n",
		`{"calibrated_at": "x", "best_config": {"semantic_weight": 0.9, "doc_demotion": 0.1, "rrf_k": 90, "coupling_depth": 500}}`)
	w.Embedding = Embedding{Provider: "ollama", Model: "m", Dimensions: 128}
	r, err := Resolve(w.Context, nil, map[string]string{"search.rrf_k": "60"})
	if err != nil || r.Warnings != nil {
		t.Fatal(err, r.Warnings)
	}
	for _, want := range []Sourced{
		{"search.semantic_weight", "0.5", w.config}, // presence, not value
		{"search.doc_demotion", "0.1", SourceCalibration},
		{"search.rrf_k", "60", SourceFlag},
		{"search.coupling_depth", "500", SourceCalibration},
		{"search.thresholds.python", "0.6", w.config},
		{"search.thresholds.rust", "1", w.config},
		{"search.recency_weight", "0.3", SourceDefault},
		{"embedding.provider", `"ollama"`, w.file()},
		{"embedding.dimensions", "128", w.file()},
		{"embedding.url", `""`, SourceDefault},
	} {
		if !slices.Contains(r.Sources(), want) {
			t.Errorf("no %+v in %v", want, r.Sources())
		}
	}
	if r.Search.SemanticWeight != .5 || r.Search.RRFK != 60 || r.Search.CouplingDepth != 500 || r.Search.Thresholds["rust"] != 1 || r.Embedding.Model != "m" {
		t.Errorf("%+v", r.Settings)
	}
}

func TestConfigOfTheFirstRepositoryThatHasOne(t *testing.T) {
	base := tempDir(t)
	none, first, second := mkdir(t, base, "none"), mkdir(t, base, "first"), mkdir(t, base, "second")
	write(t, "[search]\nrrf_k = 1\n", first, ".chinvex", "config.toml")
	write(t, "[search]\nrrf_k = 2\ndoc_demotion = 0.9\n", second, ".chinvex", "config.toml")
	r, err := Resolve(nil, []Repository{{Root: none}, {Root: first}, {Root: second}}, nil)
	if err != nil || r.Search.RRFK != 1 || r.Search.DocDemotion != .3 {
		t.Errorf("%+v, %v", r.Search, err)
	}
}

// A provider that a higher source chose must not get the model of another one.
func TestProviderVoidsForeignModel(t *testing.T) {
	w := newWorld(t, "[embedding]\nprovider = \"openai\"\nmodel = \"large\"\nurl = \"http://127.0.0.1:8080\"\n", "")
	w.Embedding = Embedding{Provider: "ollama", Model: "m", URL: "http://localhost", Dimensions: 128}
	for _, tc := range []struct {
		flags map[string]string
		want  EmbeddingSettings
	}{
		{nil, EmbeddingSettings{Provider: "openai", Model: "large", URL: "http://127.0.0.1:8080"}},
		{map[string]string{"embedding.provider": "openai"}, EmbeddingSettings{Provider: "openai", Model: "large", URL: "http://127.0.0.1:8080"}},
		{map[string]string{"embedding.provider": "builtin"}, EmbeddingSettings{Provider: "builtin"}},
		{map[string]string{"embedding.provider": "ollama", "embedding.model": "v"}, EmbeddingSettings{Provider: "ollama", Model: "v"}},
	} {
		r, err := Resolve(w.Context, nil, tc.flags)
		tc.want.BatchSize, tc.want.TimeoutSeconds = 64, 30
		if err != nil || r.Embedding != tc.want {
			t.Errorf("%v: %+v, %v; want %+v", tc.flags, r.Embedding, err, tc.want)
		}
	}
}

// Whoever can commit a config.toml must not get the code of those who clone it.
func TestRepositoryCannotSendCodeAway(t *testing.T) {
	mine := Embedding{Provider: "openai", Model: "m", URL: "https://models.example.com"}
	for _, tc := range []struct {
		name, config string
		context      Embedding
		ignored      bool
	}{
		{"a stranger's server", "provider = \"openai\"\nmodel = \"m\"\nurl = \"https://evil.example.com\"", Embedding{}, true},
		{"the provider's own server", "provider = \"openai\"\nmodel = \"m\"", Embedding{}, true},
		{"another server than the user's", "url = \"https://evil.example.com\"", mine, true},
		{"another key", "key_env = \"AWS_SECRET_ACCESS_KEY\"", mine, true},
		{"a key file", "key_file = \"/home/ann/.ssh/id_rsa\"\nurl = \"http://localhost\"", mine, true},
		{"a name that looks local", "provider = \"ollama\"\nurl = \"http://localhost.evil.example.com\"", Embedding{}, true},
		{"a server on this machine", "provider = \"ollama\"\nmodel = \"m\"", Embedding{}, false},
		{"by address", "provider = \"openai\"\nmodel = \"m\"\nurl = \"http://[::1]:8080/v1\"", Embedding{}, false},
		{"nothing that matters", "batch_size = 7", mine, false},
		{"back to the built-in", "provider = \"builtin\"", mine, false},
	} {
		w := newWorld(t, "[embedding]\n"+tc.config+"\n", "")
		w.Embedding = tc.context
		plain, _ := Resolve(w.Context, []Repository{}, nil)
		r, err := Resolve(w.Context, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if ignored := r.Embedding == plain.Embedding; ignored != tc.ignored || tc.ignored != (len(r.Warnings) == 1) {
			t.Errorf("%s: %+v, warnings %q", tc.name, r.Embedding, r.Warnings)
		}
	}
}

func TestBadConfig(t *testing.T) {
	for _, tc := range []struct{ config, want string }{
		{"[search]\nsemantic_weight = 1.5", "search.semantic_weight is 1.5, but must be a number from 0 to 1"},
		{"[search]\nsemantic_weight = -0.1", "search.semantic_weight is -0.1, but must be a number from 0 to 1"},
		{"[search]\nsemantic_weight = nan", "search.semantic_weight is NaN, but must be a number from 0 to 1"},
		{"[search]\nsemantic_weight = \"high\"", `search.semantic_weight is "high", but must be a number from 0 to 1`},
		{"[search]\nrrf_k = 60.5", "search.rrf_k is 60.5, but must be a whole number from 1 to 1000"},
		{"[search]\nrrf_k = 0", "search.rrf_k is 0, but must be a whole number from 1 to 1000"},
		{"[search]\nfusion = \"max\"", `search.fusion is "max", but must be one of linear, rrf`},
		{"[search]\nfusion = 2026-01-01", "search.fusion is 2026-01-01, but must be one of linear, rrf"},
		{"[search]\nfusion = {a = 1}", "search.fusion is a table, but must be one of linear, rrf"},
		{"[search.thresholds]\nrust = 2", "search.thresholds.rust is 2, but must be a number from 0 to 1"},
		{"[search]\nthresholds = 1", "search.thresholds is 1, but must be a table"},
		{"search = 3", "search is 3, but must be a table"},
		{"[[search]]\nrrf_k = 1", "search is a list, but must be a table"},
		{"[dispatch]\nenabled = 1", "dispatch.enabled is 1, but must be true or false"},
		{"[index]\nexclude = \"*.go\"", `index.exclude is "*.go", but must be a list of strings`},
		{"[index]\nexclude = [1]", "index.exclude is a list, but must be a list of strings"},
		{"[embedding]\nmodel = 1", "embedding.model is 1, but must be a string"},
		{"[search]\nrrf_k = ", "config.toml:2:"},
		{"a = 1\na = 2", "not valid TOML"},
		{strings.Repeat("#", maxConfig+1), "larger than"},
	} {
		w := newWorld(t, tc.config+"\n[dispatch.x]\n", "")
		write(t, tc.config, w.config)
		r, err := Resolve(w.Context, nil, map[string]string{"dispatch.tool_lines": "7"})
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), w.config) {
			t.Errorf("%.40q: %v; want %q", tc.config, err, tc.want)
		}
		if r == nil || r.Dispatch.ToolLines != 7 || r.Search.SemanticWeight != .5 || r.Search.RRFK != 60 {
			t.Errorf("%.40q: the rest is lost: %+v", tc.config, r)
		}
	}
	// One bad value costs itself only, and each bad one is told.
	w := newWorld(t, "[search]\nrrf_k = 0\ndoc_demotion = 0.2\nfusion = \"x\"\n", "")
	r, err := Resolve(w.Context, nil, nil)
	if r.Search.DocDemotion != .2 || err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("%+v, %v", r.Search, err)
	}
	// A folder in the file's place: unreadable for root too.
	if err := os.Remove(w.config); err != nil {
		t.Fatal(err)
	}
	mkdir(t, w.config)
	if _, err := Resolve(w.Context, nil, nil); err == nil || !strings.Contains(err.Error(), w.config) {
		t.Errorf("a folder as config.toml: %v", err)
	}
}

func TestUnknownKeysWarn(t *testing.T) {
	w := newWorld(t, "semantic_weight = 1\n[search]\nsemantic_wieght = 1\n[serach]\nrrf_k = 1\n[dispatch.more]\nx = 1\n[zzz]\nq = 1\n[search.thresholds]\n\"\" = 1\n[\"a\\nb\"]\n", "")
	r, err := Resolve(w.Context, nil, nil)
	want := []string{
		w.config + `: "a\nb" is no setting and is ignored`,
		w.config + ": dispatch.more is no setting and is ignored; is dispatch.enabled meant?",
		w.config + ": search.semantic_wieght is no setting and is ignored; is search.semantic_weight meant?",
		w.config + ": search.thresholds. is no setting and is ignored; is search.thresholds meant?",
		w.config + ": semantic_weight is no setting and is ignored; is search.semantic_weight meant?",
		w.config + ": serach is no setting and is ignored",
		w.config + ": zzz is no setting and is ignored",
	}
	if err != nil || !slices.Equal(r.Warnings, want) {
		t.Errorf("%v\n%s", err, strings.Join(r.Warnings, "\n"))
	}
	if r.Search.SemanticWeight != .5 || r.Search.RRFK != 60 {
		t.Errorf("%+v", r.Search)
	}
}

func TestBadFlags(t *testing.T) {
	for key, value := range map[string]string{
		"search.rrfk": "1", "search": "1", thresholds: "1", "search.rrf_k": "many", "search.semantic_weight": "NaN",
		"dispatch.enabled": "perhaps", "search.thresholds.go": "x", "search.doc_demotion": "2",
	} {
		r, err := Resolve(nil, nil, map[string]string{key: value})
		if err == nil || !strings.Contains(err.Error(), key) || !strings.HasPrefix(err.Error(), SourceFlag) {
			t.Errorf("%s=%s: %v", key, value, err)
		}
		if plain, _ := Resolve(nil, nil, nil); !reflect.DeepEqual(r.Settings, plain.Settings) {
			t.Errorf("%s=%s changed %+v", key, value, r.Settings)
		}
	}
}

func TestBadCalibrationOnlyWarns(t *testing.T) {
	for _, text := range []string{`{`, `[]`, `{"best_config": 3}`, `{"best_config": {"rrf_k": 1e9}}`, `{"best_config": {"rrf_k": "x"}}`,
		`{"best_config": {"bogus": 1}}`, `{"best_config": {"thresholds": 1}}`, `{"best_config": {"doc_demotion": 1e999}}`} {
		w := newWorld(t, "", text)
		r, err := Resolve(w.Context, nil, nil)
		if err != nil || len(r.Warnings) != 1 || r.Search.RRFK != 60 || r.Search.DocDemotion != .3 {
			t.Errorf("%s: %v, %v, %+v", text, err, r.Warnings, r.Search)
		}
	}
	for _, text := range []string{`{}`, `{"best_config": null}`} {
		if r, err := Resolve(newWorld(t, "", text).Context, nil, nil); err != nil || r.Warnings != nil {
			t.Errorf("%s: %v, %v", text, err, r.Warnings)
		}
	}
}

func TestBadStoredEmbedding(t *testing.T) {
	w := newWorld(t, "", "")
	w.Embedding = Embedding{Provider: "nobody", Dimensions: -1}
	r, err := Resolve(w.Context, nil, nil)
	if err == nil || strings.Count(err.Error(), w.file()) != 2 || r.Embedding.Provider != "builtin" || r.Embedding.Dimensions != 0 {
		t.Errorf("%v, %+v", err, r.Embedding)
	}
}

func FuzzConfig(f *testing.F) {
	for _, s := range []string{
		"[search]\nrrf_k = 60\nfusion = \"rrf\"\n[search.thresholds]\nrust = 0.7\n", "a = [[[[", "search = 1", "[[search]]", "[search]\nrrf_k = 0x10",
		"search.thresholds.\"a.b\" = 0.1", "[dispatch]\ncontrol = inf", "x = 2026-01-01T00:00:00Z", "\"\" = 1", "[index]\nexclude = [\"a\", 'b']", "\xff",
		"[search.thresholds]\n\"\" = 0.5\nA = 0.1\na = 0.2", "[embedding]\nprovider = \"jina\"\nmodel = \"x\"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		resolve := func() (*Resolved, []error) {
			r := &Resolved{sources: map[string]string{}}
			for i := range keys {
				if keys[i].initial != nil {
					keys[i].assign(&r.Settings, keys[i].initial)
				}
			}
			return r, r.readConfig("config.toml", data)
		}
		r, errs := resolve()
		again, errsAgain := resolve()
		if !reflect.DeepEqual(r.Settings, again.Settings) || !slices.Equal(r.Warnings, again.Warnings) || len(errs) != len(errsAgain) {
			t.Fatal("two runs differ")
		}
		for i := range keys {
			switch at := keys[i].at(&r.Settings).(type) {
			case *float64:
				if !(*at >= keys[i].lo && *at <= keys[i].hi) {
					t.Fatalf("%s = %v", keys[i].key, *at)
				}
			case *int:
				if float64(*at) < keys[i].lo || float64(*at) > keys[i].hi {
					t.Fatalf("%s = %v", keys[i].key, *at)
				}
			}
		}
		for language, v := range r.Search.Thresholds {
			if math.IsNaN(v) || v < 0 || v > 1 {
				t.Fatalf("threshold of %q = %v", language, v)
			}
		}
		r.Sources()
	})
}
