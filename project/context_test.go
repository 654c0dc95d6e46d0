package project

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestSaveKeepsUnknownKeys(t *testing.T) {
	dir := filepath.Join(tempDir(t), "shop")
	const before = `{
  "future": {"b": 1, "a": [1.50, 12345678901234567890]},
  "schema_version": 1,
  "includes": {
    "notes": ["~/notes"],
    "repos": [
      {"root": "/src/shop", "branch": "main", "name": "shop"},
      {"name": "gone", "root": "/src/gone", "x": 1}
    ]
  },
  "embedding": {"model": "m", "revision": "abc", "provider": "ollama"},
  "name": "another",
  "html": "<a & b>"
}`
	write(t, before, dir, "context.json")
	c, err := readContext(dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "shop" || c.Embedding != (Embedding{Provider: "ollama", Model: "m"}) || c.Reranker != nil || len(c.Includes.Repos) != 2 {
		t.Errorf("read %+v", c)
	}
	c.Includes.Repos = append(c.Includes.Repos[:1], Repository{Name: "new", Root: "/src/new", Linked: true})
	c.Aliases = []string{"store"}
	c.Embedding.Dimensions = 256
	c.Reranker = json.RawMessage(`{"provider":"jina","top_k":5}`)
	c.Ingested = time.Date(2026, 11, 20, 12, 0, 0, 5, time.FixedZone("", 3600))
	const want = `{
  "future": {
    "b": 1,
    "a": [
      1.50,
      12345678901234567890
    ]
  },
  "schema_version": 1,
  "includes": {
    "notes": [
      "~/notes"
    ],
    "repos": [
      {
        "root": "/src/shop",
        "branch": "main",
        "name": "shop"
      },
      {
        "name": "new",
        "root": "/src/new"
      }
    ]
  },
  "embedding": {
    "model": "m",
    "revision": "abc",
    "provider": "ollama",
    "url": "",
    "dimensions": 256
  },
  "name": "shop",
  "html": "<a & b>",
  "aliases": [
    "store"
  ],
  "reranker": {
    "provider": "jina",
    "top_k": 5
  },
  "ingested_at": "2026-11-20T11:00:00.000000005Z"
}
`
	for round := range 2 { // the second time from what was written
		if err := c.Save(); err != nil {
			t.Fatal(err)
		}
		got, _ := os.ReadFile(c.file())
		if string(got) != want {
			t.Fatalf("round %d: saved\n%s\nwant\n%s", round, got, want)
		}
		again, err := readContext(dir)
		if err != nil || !again.Ingested.Equal(c.Ingested) || again.Embedding != c.Embedding || !reflect.DeepEqual(again.Aliases, c.Aliases) {
			t.Fatalf("round %d: read %+v, %v", round, again, err)
		}
		c = again
	}
	c.Reranker = json.RawMessage(`{`)
	if err := c.Save(); err == nil {
		t.Error("a reranker that is not JSON was saved")
	}
	if got, _ := os.ReadFile(c.file()); string(got) != want {
		t.Error("a failed Save changed the file")
	}
}

func TestClaim(t *testing.T) {
	base := tempDir(t)
	a, b, d := mkdir(t, base, "one", "app"), mkdir(t, base, "two", "app"), mkdir(t, base, "three", "app")
	link := symlink(t, a, base, "link")
	c := &Context{Name: "x", Dir: base}
	for _, tc := range []struct {
		root  string
		want  Repository
		isNew bool
	}{
		{a, Repository{Name: "app", Root: a}, true},
		{a, Repository{Name: "app", Root: a}, false},
		{link, Repository{Name: "app", Root: a}, false},
		{b, Repository{Name: "app-2", Root: b}, true},
		{d, Repository{Name: "app-3", Root: d}, true},
	} {
		got, isNew, err := c.Claim(tc.root)
		if err != nil || got != tc.want || isNew != tc.isNew {
			t.Errorf("Claim(%s) = %+v, %v, %v; want %+v, %v", tc.root, got, isNew, err, tc.want, tc.isNew)
		}
	}
	for _, root := range []string{filepath.Join(base, "none"), write(t, "", base, "file"), mkdir(t, base, "\xff")} {
		if got, _, err := c.Claim(root); err == nil {
			t.Errorf("Claim(%q) = %+v", root, got)
		}
	}
	if r, ok := c.Repository("app-2"); !ok || r.Root != b {
		t.Errorf("Repository(app-2) = %+v, %v", r, ok)
	}
	if _, ok := c.Repository("none"); ok {
		t.Error("Repository(none) exists")
	}
}

func TestWriteFileAtomic(t *testing.T) {
	dir := tempDir(t)
	target := write(t, "old", dir, "target")
	path := symlink(t, target, dir, "file")
	if err := WriteFileAtomic(path, []byte("new"), 0o640); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if got, _ := os.ReadFile(target); string(got) != "old" {
		t.Error("the link was followed")
	}
	if err := WriteFileAtomic(filepath.Join(dir, "none", "file"), nil, 0o600); err == nil {
		t.Error("a missing folder is no error")
	}
	busy := mkdir(t, dir, "busy") // a folder cannot be replaced by a file
	if err := WriteFileAtomic(busy, nil, 0o600); err == nil {
		t.Error("a folder was replaced")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 3 {
		t.Errorf("left behind: %v", entries)
	}
}

func FuzzContextJSON(f *testing.F) {
	for _, s := range []string{
		`{}`, `null`, ``, `[`, `{"schema_version":2}`, `{"schema_version":1,"name":"a","aliases":["b"],"includes":{"repos":[{"name":"r","root":"/r","x":1}],"y":[]},"reranker":{},"embedding":{"provider":"p","z":null},"ingested_at":"2026-11-20T12:00:00Z"}`,
		`{"a":1,"a":2}`, `{"includes":{"repos":[null]}}`, `{"reranker": 1 , "embedding":null}`, "{\"\xff\":\"\xff\"}", `{"includes":{"repos":[{"name":"a","root":"/a","name":"b"}]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &Context{Name: "x", Dir: "/x"}
		if c.parse(data) != nil {
			return
		}
		first, err := c.marshal()
		if err != nil {
			t.Fatalf("read, yet not written: %v", err)
		}
		again := &Context{Name: "x", Dir: "/x"}
		if err := again.parse(first); err != nil {
			t.Fatalf("what was written is refused: %v\n%s", err, first)
		}
		second, err := again.marshal()
		if err != nil || string(first) != string(second) {
			t.Fatalf("not stable (%v):\n%s\n%s", err, first, second)
		}
		before, _ := parseObject(data)
		after, _ := parseObject(first)
		for _, m := range before {
			if _, ok := after.get(m.key); !ok {
				t.Fatalf("key %q was lost", strings.ToValidUTF8(m.key, "?"))
			}
		}
	})
}
