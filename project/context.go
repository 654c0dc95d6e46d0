package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// schemaVersion is the version of context.json that Save writes; older ones are
// read too, newer ones refused.
const schemaVersion = 1

// maxContextJSON bounds context.json, in bytes: some ten thousand repositories.
const maxContextJSON = 4 << 20

// Context is a named set of repositories with one index. It is stored in
// context.json:
//
//	{
//	  "schema_version": 1,
//	  "name": "shop",
//	  "aliases": ["store"],
//	  "includes": {"repos": [{"name": "shop", "root": "/home/ann/shop"}]},
//	  "reranker": null,
//	  "embedding": {"provider": "openai", "model": "…", "url": "…", "key_env": "…", "dimensions": 256},
//	  "hooks": {"place": "local", "startup_only": true, "mcp": true},
//	  "ingested_at": "2026-11-20T12:00:00Z"
//	}
//
// Every key but includes may be absent or null. Keys that this version does not
// know, at the top, in includes, in embedding, in hooks and in a repository, survive
// a Save, and so does the order of keys.
type Context struct {
	Name      string // the folder's name, whatever the file says
	Aliases   []string
	Dir       string // absolute
	Includes  Includes
	Embedding Embedding       // zero: not chosen for this context
	Reranker  json.RawMessage // nil for none; read by search/rerank
	Hooks     Hooks           // zero: never chosen
	Ingested  time.Time       // end of the last ingest, zero before the first

	stored object // as read, for what this version does not know
}

// Includes is what a context indexes.
type Includes struct{ Repos []Repository }

// Embedding is the provider that a context's index was made with; empty fields
// mean the provider's own default.
type Embedding struct {
	Provider, Model, URL string
	KeyEnv               string // environment variable that holds the key, never the key itself
	KeyFile              string // file that holds it, absolute
	Dimensions           int
}

// Hooks is what the user chose for the hooks in the context's repositories.
type Hooks struct {
	Place       HooksPlace
	StartupOnly bool // the start-up hook alone
	MCP         bool // the MCP server is registered too
}

// HooksPlace names the client's settings file that holds the hooks.
type HooksPlace string

const (
	HooksShared HooksPlace = ""      // settings.json, which goes with the repository
	HooksLocal  HooksPlace = "local" // settings.local.json, which does not
	HooksNone   HooksPlace = "none"  // taken out, and not to be put back
)

// IndexDir is where search/index keeps its generations.
func (c *Context) IndexDir() string { return filepath.Join(c.Dir, "index") }

// LogsDir is where the query log and the dispatch log lie.
func (c *Context) LogsDir() string { return filepath.Join(c.Dir, "logs") }

// SessionsDir is where dispatch keeps its session ledgers.
func (c *Context) SessionsDir() string { return filepath.Join(c.Dir, "sessions") }

// InstalledDir is where installation keeps what settings files held before ours.
func (c *Context) InstalledDir() string { return filepath.Join(c.Dir, "installed") }

// CalibrationFile is where calibrate writes what it chose.
func (c *Context) CalibrationFile() string { return filepath.Join(c.Dir, "calibration.json") }

func (c *Context) file() string { return filepath.Join(c.Dir, "context.json") }

// Repository returns the repository of this name.
func (c *Context) Repository(name string) (Repository, bool) {
	i := slices.IndexFunc(c.Includes.Repos, func(r Repository) bool { return r.Name == name })
	if i < 0 {
		return Repository{}, false
	}
	return c.Includes.Repos[i], true
}

// Claim adds the folder at root to the context, under its base name or that with a
// number; new is false when it is there already. Save keeps it.
func (c *Context) Claim(root string) (r Repository, new bool, err error) {
	abs, err := filepath.Abs(root)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return Repository{}, false, fmt.Errorf("cannot claim %q (%w): give an existing folder", root, err)
	}
	if !isDir(abs) {
		return Repository{}, false, fmt.Errorf("cannot claim %s: it is not a folder; give the folder that holds it", abs)
	}
	if !utf8.ValidString(abs) {
		return Repository{}, false, fmt.Errorf("cannot claim %q: its name is not UTF-8, which context.json cannot hold; rename the folder", abs)
	}
	for _, r := range c.Includes.Repos {
		if r.Root == abs {
			return r, false, nil
		}
	}
	base := NameFor(abs)
	name := base
	for n := 2; ; n++ {
		if _, taken := c.Repository(name); !taken {
			break
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
	r = Repository{Name: name, Root: abs}
	c.Includes.Repos = append(c.Includes.Repos, r)
	return r, true, nil
}

// readContext reads the context in dir. The error wraps fs.ErrNotExist when there
// is no context.json.
func readContext(dir string) (*Context, error) {
	c := &Context{Name: filepath.Base(dir), Dir: dir}
	data, err := ReadRegular(c.file(), maxContextJSON)
	if err != nil {
		return nil, fmt.Errorf("cannot read context %q (%w): repair the file, or remove the context with `chinvex purge`", c.Name, err)
	}
	if err := c.parse(data); err != nil {
		if errors.Is(err, ErrNewer) {
			return nil, fmt.Errorf("%s: %w", c.file(), err)
		}
		return nil, fmt.Errorf("%s: %w; repair the file, or remove the context with `chinvex purge`", c.file(), err)
	}
	return c, nil
}

// parse fills c from the bytes of a context.json.
func (c *Context) parse(data []byte) error {
	doc, err := parseObject(data)
	if err != nil {
		return err
	}
	version := schemaVersion
	if err := doc.read("schema_version", &version); err != nil {
		return err
	}
	if version > schemaVersion {
		return fmt.Errorf("%w: it has schema_version %d and this chinvex reads up to %d; update chinvex", ErrNewer, version, schemaVersion)
	}
	var ingested string
	for _, err := range []error{
		doc.read("aliases", &c.Aliases),
		doc.read("ingested_at", &ingested),
	} {
		if err != nil {
			return err
		}
	}
	if ingested != "" {
		if c.Ingested, err = time.Parse(time.RFC3339Nano, ingested); err != nil {
			return fmt.Errorf("ingested_at is %q, not a time such as 2026-11-20T12:00:00Z", ingested)
		}
	}
	if raw, _ := doc.get("reranker"); !isNull(raw) {
		c.Reranker = raw
	}
	embedding, err := doc.object("embedding")
	if err != nil {
		return err
	}
	for _, err := range []error{
		embedding.read("provider", &c.Embedding.Provider),
		embedding.read("model", &c.Embedding.Model),
		embedding.read("url", &c.Embedding.URL),
		embedding.read("key_env", &c.Embedding.KeyEnv),
		embedding.read("key_file", &c.Embedding.KeyFile),
		embedding.read("dimensions", &c.Embedding.Dimensions),
	} {
		if err != nil {
			return fmt.Errorf("embedding: %w", err)
		}
	}
	hooks, err := doc.object("hooks")
	if err != nil {
		return err
	}
	for _, err := range []error{
		hooks.read("place", &c.Hooks.Place),
		hooks.read("startup_only", &c.Hooks.StartupOnly),
		hooks.read("mcp", &c.Hooks.MCP),
	} {
		if err != nil {
			return fmt.Errorf("hooks: %w", err)
		}
	}
	if !slices.Contains([]HooksPlace{HooksShared, HooksLocal, HooksNone}, c.Hooks.Place) {
		return fmt.Errorf("hooks: the place is %q, not \"local\", \"none\" or absent", c.Hooks.Place)
	}
	repos, err := doc.repos()
	if err != nil {
		return err
	}
	for _, o := range repos {
		var r Repository
		for _, err := range []error{o.read("name", &r.Name), o.read("root", &r.Root)} {
			if err != nil {
				return fmt.Errorf("includes.repos: %w", err)
			}
		}
		if _, taken := c.Repository(r.Name); taken || r.Name == "" {
			return fmt.Errorf("includes.repos: the name %q is empty or there twice", r.Name)
		}
		if !filepath.IsAbs(r.Root) || strings.IndexByte(r.Root, 0) >= 0 {
			return fmt.Errorf("includes.repos: the root %q of %q is not an absolute path", r.Root, r.Name)
		}
		r.Root = filepath.Clean(r.Root)
		c.Includes.Repos = append(c.Includes.Repos, r)
	}
	c.stored = doc
	return nil
}

// Save writes context.json, 0600, in one step. What another process saved since c
// was read is lost: only the holder of the writer's lock should save.
func (c *Context) Save() error {
	data, err := c.marshal()
	if err == nil {
		err = WriteFileAtomic(c.file(), data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot save context %q: %w", c.Name, err)
	}
	return nil
}

func (c *Context) marshal() ([]byte, error) {
	doc := slices.Clone(c.stored)
	doc.set("schema_version", schemaVersion)
	doc.set("name", c.Name)
	aliases := c.Aliases
	if aliases == nil {
		aliases = []string{}
	}
	doc.set("aliases", aliases)

	known, err := doc.repos()
	if err != nil {
		return nil, err
	}
	repos := []object{}
	for _, r := range c.Includes.Repos {
		var o object
		for _, k := range known {
			var name string
			if k.read("name", &name) == nil && name == r.Name {
				o = k
			}
		}
		o.set("name", r.Name)
		o.set("root", r.Root)
		repos = append(repos, o)
	}
	includes, err := doc.object("includes")
	if err != nil {
		return nil, err
	}
	includes.set("repos", repos)
	doc.set("includes", includes)

	if c.Reranker == nil {
		doc.set("reranker", nil)
	} else if !json.Valid(c.Reranker) {
		return nil, fmt.Errorf("its reranker is not JSON: %q", c.Reranker)
	} else {
		doc.set("reranker", c.Reranker)
	}
	embedding, err := doc.object("embedding")
	if err != nil {
		return nil, err
	}
	if c.Embedding == (Embedding{}) && len(embedding) == 0 {
		doc.set("embedding", nil)
	} else {
		embedding.set("provider", c.Embedding.Provider)
		embedding.set("model", c.Embedding.Model)
		embedding.set("url", c.Embedding.URL)
		if c.Embedding.KeyEnv != "" {
			embedding.set("key_env", c.Embedding.KeyEnv)
		}
		if c.Embedding.KeyFile != "" {
			embedding.set("key_file", c.Embedding.KeyFile)
		}
		embedding.set("dimensions", c.Embedding.Dimensions)
		doc.set("embedding", embedding)
	}
	hooks, err := doc.object("hooks")
	if err != nil {
		return nil, err
	}
	if c.Hooks != (Hooks{}) || len(hooks) > 0 {
		hooks.set("place", c.Hooks.Place)
		hooks.set("startup_only", c.Hooks.StartupOnly)
		hooks.set("mcp", c.Hooks.MCP)
		doc.set("hooks", hooks)
	}
	if !c.Ingested.IsZero() {
		doc.set("ingested_at", c.Ingested.UTC().Format(time.RFC3339Nano))
	}
	compact, err := doc.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, compact, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// object is a JSON object that keeps the order of its keys and the members that
// nobody here knows. Of a key that is there twice the last value counts.
type object []member

type member struct {
	key   string
	value json.RawMessage
}

func parseObject(data []byte) (object, error) {
	if !json.Valid(data) {
		var v any
		return nil, fmt.Errorf("it is not valid JSON (%w)", json.Unmarshal(data, &v))
	}
	if b := bytes.TrimLeft(data, " \t\r\n"); b[0] != '{' {
		return nil, errors.New("it does not hold a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	o := object{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		o.put(key.(string), value)
	}
	return o, nil
}

func (o object) get(key string) (json.RawMessage, bool) {
	for _, m := range o {
		if m.key == key {
			return m.value, true
		}
	}
	return nil, false
}

func (o *object) put(key string, value json.RawMessage) {
	for i, m := range *o {
		if m.key == key {
			(*o)[i].value = value
			return
		}
	}
	*o = append(*o, member{key, value})
}

// set puts a value that always marshals: strings, numbers, lists, objects of ours.
func (o *object) set(key string, value any) {
	o.put(key, marshalJSON(value))
}

// read decodes the member into v; one that is absent or null leaves v as it is.
func (o object) read(key string, v any) error {
	raw, _ := o.get(key)
	if isNull(raw) {
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("%s has the wrong type (%w)", key, err)
	}
	return nil
}

// object returns the member as an object, empty when it is absent or null.
func (o object) object(key string) (object, error) {
	raw, _ := o.get(key)
	if isNull(raw) {
		return nil, nil
	}
	inner, err := parseObject(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return inner, nil
}

// repos returns the members of includes.repos of a context.json.
func (o object) repos() ([]object, error) {
	includes, err := o.object("includes")
	if err != nil {
		return nil, err
	}
	var raws []json.RawMessage
	if err := includes.read("repos", &raws); err != nil {
		return nil, fmt.Errorf("includes: %w", err)
	}
	var repos []object
	for _, raw := range raws {
		r, err := parseObject(raw)
		if err != nil {
			return nil, fmt.Errorf("includes.repos: %w", err)
		}
		repos = append(repos, r)
	}
	return repos, nil
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(marshalJSON(m.key))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// marshalJSON leaves <, > and & as they are: people read and edit the file.
func marshalJSON(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only a value of ours that cannot be JSON, a mistake in this file
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
