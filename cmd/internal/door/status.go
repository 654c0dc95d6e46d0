package door

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search/embed"
	"github.com/chinvex/chinvex/search/index"
)

// Status says what is indexed and how fresh it is.
type Status struct {
	Context    string       `json:"context"`
	Also       []string     `json:"also,omitempty"` // other contexts that claim the directory
	Index      string       `json:"index"`          // directory
	DiskBytes  int64        `json:"disk_bytes"`
	Generation int64        `json:"generation"`
	Embedding  embed.Model  `json:"embedding"`
	Stats      index.Stats  `json:"stats"`
	Repos      []RepoStatus `json:"repos"`
	Warnings   []string     `json:"warnings,omitempty"`
	Settings   []Setting    `json:"settings,omitempty"`
}

// RepoStatus is what the index knows of a repository, and how that differs from what
// is on disk now.
type RepoStatus struct {
	index.Repo
	Stale string `json:"stale"` // what differs, "" when nothing does
}

// Setting is one value with its origin.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// NewSettings lists the settings in force.
func NewSettings(d *Door) []Setting {
	var out []Setting
	for _, s := range d.Settings.Sources() {
		out = append(out, Setting{s.Key, s.Value, s.Source})
	}
	return out
}

// NewStatus looks at the index and at what is checked out. pending counts the files that
// differ from the index, by repository; nil when nobody has counted them.
func NewStatus(d *Door, pending map[string]int) (*Status, error) {
	m, err := index.ReadManifest(d.Context.IndexDir())
	if err != nil {
		return nil, fmt.Errorf("context %s: %w", d.Context.Name, err)
	}
	s := &Status{Context: d.Context.Name, Also: d.Also, Index: d.Context.IndexDir(), DiskBytes: diskSize(d.Context.IndexDir()), Generation: m.Generation, Embedding: m.Embedding, Stats: m.Stats, Warnings: d.Settings.Warnings}
	if d.Faulty != nil {
		s.Warnings = append(s.Warnings, d.Faulty.Error())
	}
	if err := index.CheckModel(m, d.Settings.Embedding); err != nil {
		s.Warnings = append(s.Warnings, err.Error())
	}
	for _, r := range d.Repos {
		rs := RepoStatus{Repo: index.Repo{Name: r.Name, Root: r.Root}, Stale: "not indexed yet; run `chinvex ingest`"}
		for _, known := range m.Repos {
			if known.Name == r.Name {
				rs.Repo = known
				rs.Root = r.Root
				rs.Stale = stale(m, r, pending[r.Name])
			}
		}
		s.Repos = append(s.Repos, rs)
	}
	return s, nil
}

// stale says how what is on disk differs from what is indexed.
func stale(m *index.Manifest, r project.Repository, pending int) string {
	if behind := Behind(m, r); behind != "" || pending == 0 {
		return behind
	}
	if pending == 1 {
		return "1 file differs from the index; `chinvex ingest` brings it up to date"
	}
	return Count(pending) + " files differ from the index; `chinvex ingest` brings it up to date"
}

// Row is one line of a status for a reader.
type Row struct {
	Label, Text string
	Bad         bool
}

// Rows writes a status out, without colour.
func (s *Status) Rows() []Row {
	var rows []Row
	add := func(label, format string, args ...any) {
		rows = append(rows, Row{Label: label, Text: fmt.Sprintf(format, args...)})
	}
	add("context", "%s", s.Context)
	if len(s.Also) > 0 {
		add("also", "claimed by %s; --context chooses", strings.Join(s.Also, ", "))
	}
	add("index", "generation %d, %s on disk, %s", s.Generation, Bytes(s.DiskBytes), Line(s.Index))
	add("files", "%s, %s of text", Plural(s.Stats.LiveFiles, "file"), Bytes(s.Stats.TextBytes))
	add("pieces", "%s, %s", Plural(s.Stats.LiveChunks, "chunk"), Plural(s.Stats.LiveSymbols, "symbol"))
	if l := Tally(s.Stats.Languages, 8); l != "" {
		add("languages", "%s", l)
	}
	if left := Tally(s.Stats.LeftOut, 20); left != "" {
		add("left out", "%s", left)
	}
	if s.Stats.Problems > 0 {
		add("syntax", "given up in %s, indexed as text", Plural(s.Stats.Problems, "file"))
	}
	if s.Stats.Secrets > 0 {
		add("secrets", "%s replaced by a marker", Count(s.Stats.Secrets))
	}
	add("vectors", "%s %s, %d dimensions", s.Embedding.Provider, s.Embedding.Name, s.Embedding.Dimensions)
	for _, r := range s.Repos {
		var at []string
		if r.Head != "" {
			at = append(at, fmt.Sprintf("%.9s", r.Head))
			if r.Branch != "" {
				at[0] += " on " + Line(r.Branch)
			} else {
				at = append(at, "detached")
			}
		}
		for _, what := range []string{r.Note, map[bool]string{true: "shallow"}[r.Shallow]} {
			if what != "" {
				at = append(at, what)
			}
		}
		if r.IndexedAt > 0 {
			at = append(at, "indexed "+Ago(time.Unix(r.IndexedAt, 0)))
		}
		fresh := r.Stale
		if fresh == "" {
			fresh = "up to date"
		}
		rows = append(rows, Row{Line(r.Name), strings.Join(append(at, fresh), ", "), r.Stale != ""})
		add("at", "%s", Line(r.Root))
	}
	for _, w := range s.Warnings {
		rows = append(rows, Row{"warning", Clean(w), true})
	}
	return rows
}

// diskSize sums the files below dir in bytes.
func diskSize(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}

func oneSentence(err error) string { return Clean(err.Error()) }
