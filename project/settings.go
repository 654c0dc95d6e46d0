package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Settings are the values in force, resolved once; no later code reads a file or a
// flag again. Their keys, defaults and ranges are in the table keys.
type Settings struct {
	Search    SearchSettings
	Dispatch  DispatchSettings
	Index     IndexSettings
	Embedding EmbeddingSettings
}

// SearchSettings steer the ranking.
type SearchSettings struct {
	SemanticWeight      float64            // share of the semantic leg in the fusion, 0 to 1
	DocDemotion         float64            // factor on documentation and configuration, 0 to 1
	RRFK                int                // constant of reciprocal rank fusion
	Fusion              string             // "linear" or "rrf"
	RecencyWeight       float64            // how much age can take away, 0 to 1
	RecencyHalfLifeDays float64            // days
	CouplingDepth       int                // commits of history read for co-change
	Thresholds          map[string]float64 // least cosine by lower-case language or "default", what the user pinned only
}

// DispatchSettings steer what hooks inject.
type DispatchSettings struct {
	Enabled       bool
	PromptLines   int // most lines after a prompt
	ToolLines     int // most lines after a tool's run
	SessionTokens int // most tokens in one session
	RelatedEvery  int // prompts before `related` of the same file is shown again
	FactExpiry    int // prompts before a shown fact may be shown again
	DeadlineMS    int // milliseconds for one event
}

// IndexSettings steer what is indexed.
type IndexSettings struct {
	MaxFileBytes     int64    // larger files are left out
	Exclude, Include []string // globs, relative to the repository's root
}

// EmbeddingSettings choose the provider of vectors. Zero fields mean the
// provider's own default.
type EmbeddingSettings struct {
	Provider       string // "builtin", "ollama" or "openai" (any compatible server)
	Model, URL     string
	KeyEnv         string // environment variable that holds the key
	KeyFile        string // file that holds the key
	Dimensions     int
	BatchSize      int // texts in one request
	TimeoutSeconds int // for one request
}

// setting is one row of the table that drives defaults, parsing, checks and Sources.
type setting struct {
	key     string
	at      func(*Settings) any // pointer to the field
	initial any                 // compiled default, of the field's type; nil for its zero value
	lo, hi  float64             // range of numbers, both ends allowed
	oneOf   []string            // allowed strings; nil for any
}

// keys is a plain literal, which the linker lays out: nothing runs at start.
var keys = [...]setting{
	{key: "search.semantic_weight", at: func(s *Settings) any { return &s.Search.SemanticWeight }, initial: .5, hi: 1},
	{key: "search.doc_demotion", at: func(s *Settings) any { return &s.Search.DocDemotion }, initial: .3, hi: 1},
	{key: "search.rrf_k", at: func(s *Settings) any { return &s.Search.RRFK }, initial: 60, lo: 1, hi: 1000},
	{key: "search.fusion", at: func(s *Settings) any { return &s.Search.Fusion }, initial: "linear", oneOf: []string{"linear", "rrf"}},
	{key: "search.recency_weight", at: func(s *Settings) any { return &s.Search.RecencyWeight }, initial: .3, hi: 1},
	{key: "search.recency_half_life_days", at: func(s *Settings) any { return &s.Search.RecencyHalfLifeDays }, initial: 30., lo: 1, hi: 36500},
	{key: "search.coupling_depth", at: func(s *Settings) any { return &s.Search.CouplingDepth }, initial: 5000, hi: 1e6},
	{key: thresholds, at: func(s *Settings) any { return &s.Search.Thresholds }, hi: 1},

	{key: "dispatch.enabled", at: func(s *Settings) any { return &s.Dispatch.Enabled }, initial: true},
	{key: "dispatch.prompt_lines", at: func(s *Settings) any { return &s.Dispatch.PromptLines }, initial: 300, hi: 1e5},
	{key: "dispatch.tool_lines", at: func(s *Settings) any { return &s.Dispatch.ToolLines }, initial: 150, hi: 1e5},
	{key: "dispatch.session_tokens", at: func(s *Settings) any { return &s.Dispatch.SessionTokens }, initial: 20000, hi: 1e7},
	{key: "dispatch.related_every", at: func(s *Settings) any { return &s.Dispatch.RelatedEvery }, initial: 5, hi: 1e4},
	{key: "dispatch.fact_expiry", at: func(s *Settings) any { return &s.Dispatch.FactExpiry }, initial: 30, hi: 1e4},
	{key: "dispatch.deadline_ms", at: func(s *Settings) any { return &s.Dispatch.DeadlineMS }, initial: 1500, lo: 1, hi: 6e4},

	{key: "index.max_file_bytes", at: func(s *Settings) any { return &s.Index.MaxFileBytes }, initial: int64(1 << 20), lo: 1, hi: 1 << 30},
	{key: "index.exclude", at: func(s *Settings) any { return &s.Index.Exclude },
		initial: []any{".claude/settings.json", ".claude/settings.local.json"}}, // our own hooks are in them
	{key: "index.include", at: func(s *Settings) any { return &s.Index.Include }},

	{key: "embedding.provider", at: func(s *Settings) any { return &s.Embedding.Provider }, initial: "builtin",
		oneOf: []string{"builtin", "ollama", "openai"}},
	{key: "embedding.model", at: func(s *Settings) any { return &s.Embedding.Model }},
	{key: "embedding.url", at: func(s *Settings) any { return &s.Embedding.URL }},
	{key: "embedding.key_env", at: func(s *Settings) any { return &s.Embedding.KeyEnv }},
	{key: "embedding.key_file", at: func(s *Settings) any { return &s.Embedding.KeyFile }},
	{key: "embedding.dimensions", at: func(s *Settings) any { return &s.Embedding.Dimensions }, hi: 8192},
	{key: "embedding.batch_size", at: func(s *Settings) any { return &s.Embedding.BatchSize }, initial: 64, lo: 1, hi: 2048},
	{key: "embedding.timeout_seconds", at: func(s *Settings) any { return &s.Embedding.TimeoutSeconds }, initial: 30, lo: 1, hi: 600},
}

// thresholds is the one key below which the user makes keys: a language each.
const thresholds = "search.thresholds"

// Names of sources that are no file; a value from config.toml or context.json has
// that file's path.
const (
	SourceFlag        = "flag"
	SourceCalibration = "calibration.json"
	SourceDefault     = "default"
)

const (
	// maxConfig bounds config.toml, in bytes. The file comes with a repository,
	// and a parser's depth grows with it.
	maxConfig      = 64 << 10
	maxCalibration = 16 << 20
)

// Resolved are the settings with where each came from.
type Resolved struct {
	Settings
	Warnings []string // keys that nobody knows, a calibration that cannot be used

	sources map[string]string // by key, of those that are not the default
}

// Sourced is one setting as `status --settings` prints it.
type Sourced struct {
	Key    string // as in config.toml, with its table: search.rrf_k
	Value  string // as config.toml spells it
	Source string // SourceFlag, a file's path, SourceCalibration or SourceDefault
}

// Resolve finds the value of each setting: in flags (values as typed, by key such
// as "search.rrf_k"; lists with commas), else in .chinvex/config.toml of the first
// of repos that has one, else in best_config of the context's calibration.json,
// else in the context's embedding, else the default. What is written decides, even
// where it equals the default; but a source that chooses another embedding
// provider than those below it makes their model, address, key and dimensions
// void. With repos nil those of the context are used; c may
// be nil.
//
// The Resolved is whole in any case. A value that cannot be used, or a config.toml
// that cannot be read, is left out of it and told in the error, one line each with
// file, key, value and range; the caller decides whether to go on.
func Resolve(c *Context, repos []Repository, flags map[string]string) (*Resolved, error) {
	r := &Resolved{sources: map[string]string{}}
	for i := range keys {
		if keys[i].initial != nil {
			if why := keys[i].assign(&r.Settings, keys[i].initial); why != "" {
				panic("default of " + keys[i].key + " " + why)
			}
		}
	}
	var errs []error
	// From the lowest to the highest: a later layer overwrites.
	if c != nil {
		errs = append(errs, r.readEmbedding(c)...)
		r.readCalibration(c.CalibrationFile())
		if repos == nil {
			repos = c.Includes.Repos
		}
	}
	for _, repo := range repos {
		path := filepath.Join(repo.Root, ".chinvex", "config.toml")
		data, err := ReadRegular(path, maxConfig)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("cannot read the configuration: %w", err))
		} else {
			chosen := r.Embedding
			errs = append(errs, r.readConfig(path, data)...)
			r.keepOnMachine(path, chosen)
		}
		break
	}
	for _, key := range sortedKeys(flags) {
		if err := r.readFlag(key, flags[key]); err != nil {
			errs = append(errs, err)
		}
	}
	return r, errors.Join(errs...)
}

// keepOnMachine takes back what a repository's config.toml says of the embedding where
// that would send code, or a key, off this machine: a repository can be anybody's, so
// such a choice is the user's (`chinvex ingest --embed`, kept in context.json).
func (r *Resolved) keepOnMachine(path string, chosen EmbeddingSettings) {
	e := r.Embedding
	if e.Provider == chosen.Provider && e.URL == chosen.URL && e.KeyEnv == chosen.KeyEnv && e.KeyFile == chosen.KeyFile {
		return
	}
	local := e.Provider == "builtin" || e.Provider == "ollama" && e.URL == "" || isLoopback(e.URL)
	if local && e.KeyEnv == chosen.KeyEnv && e.KeyFile == chosen.KeyFile {
		return
	}
	r.Embedding = chosen
	for key, source := range r.sources {
		if source == path && strings.HasPrefix(key, "embedding.") {
			delete(r.sources, key)
		}
	}
	r.Warnings = append(r.Warnings, path+": its [embedding] would send code or a key off this machine and is ignored; if that is what you want, run `chinvex ingest --rebuild --embed` with your provider")
}

func isLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

func (r *Resolved) readEmbedding(c *Context) (errs []error) {
	for _, m := range []struct {
		key   string
		value any
		set   bool
	}{
		{"embedding.provider", c.Embedding.Provider, c.Embedding.Provider != ""},
		{"embedding.model", c.Embedding.Model, c.Embedding.Model != ""},
		{"embedding.url", c.Embedding.URL, c.Embedding.URL != ""},
		{"embedding.key_env", c.Embedding.KeyEnv, c.Embedding.KeyEnv != ""},
		{"embedding.key_file", c.Embedding.KeyFile, c.Embedding.KeyFile != ""},
		{"embedding.dimensions", int64(c.Embedding.Dimensions), c.Embedding.Dimensions != 0},
	} {
		if !m.set {
			continue
		}
		if err := r.put(m.key, m.value, c.file()); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// readCalibration never fails: the file is the program's own, its values are a
// choice among good ones, and the next calibration writes it anew.
func (r *Resolved) readCalibration(path string) {
	warn := func(err error) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("calibration is not used: %v; run `chinvex calibrate` again", err))
	}
	data, err := ReadRegular(path, maxCalibration)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var file struct {
		BestConfig map[string]any `json:"best_config"`
	}
	if err == nil {
		d := json.NewDecoder(strings.NewReader(string(data)))
		d.UseNumber()
		if err = d.Decode(&file); err != nil {
			err = fmt.Errorf("%s is not valid (%w)", path, err)
		}
	}
	if err != nil {
		warn(err)
		return
	}
	for _, key := range sortedKeys(file.BestConfig) {
		value := file.BestConfig[key]
		if n, ok := value.(json.Number); ok {
			if i, err := n.Int64(); err == nil {
				value = i
			} else if value, err = n.Float64(); err != nil {
				value = n.String()
			}
		}
		if find("search."+key) == nil || key == "thresholds" {
			r.unknown(path, "search."+key)
		} else if err := r.put("search."+key, value, SourceCalibration); err != nil {
			warn(err)
		}
	}
}

func (r *Resolved) readConfig(path string, data []byte) []error {
	var doc map[string]any
	if err := toml.Unmarshal(data, &doc); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, column := at.Position()
			return []error{fmt.Errorf("%s:%d:%d is not valid TOML (%s): correct the line", path, line, column, strings.TrimPrefix(at.Error(), "toml: "))}
		}
		return []error{fmt.Errorf("%s is not valid TOML (%s): correct it", path, strings.TrimPrefix(err.Error(), "toml: "))}
	}
	return r.readTable(path, "", doc)
}

// readTable reads a table of config.toml; prefix is its name with a dot, or empty.
func (r *Resolved) readTable(path, prefix string, table map[string]any) (errs []error) {
	for _, name := range sortedKeys(table) {
		key, value := prefix+name, table[name]
		inner, isTable := value.(map[string]any)
		switch {
		case isTable && key == thresholds:
			for _, language := range sortedKeys(inner) {
				if language == "" {
					r.unknown(path, key+".")
				} else if err := r.put(key+"."+language, inner[language], path); err != nil {
					errs = append(errs, err)
				}
			}
		case find(key) != nil && key != thresholds:
			if err := r.put(key, value, path); err != nil {
				errs = append(errs, err)
			}
		case !isTableName(key):
			r.unknown(path, key)
		case isTable:
			errs = append(errs, r.readTable(path, key+".", inner)...)
		default:
			errs = append(errs, fmt.Errorf("%s: %s is %s, but must be a table", path, key, show(value)))
		}
	}
	return errs
}

func (r *Resolved) readFlag(key, text string) error {
	s := find(key)
	if s == nil {
		return fmt.Errorf("%s: %s is no setting%s", SourceFlag, key, nearest(key))
	}
	var value any = text
	switch s.at(&r.Settings).(type) {
	case *int, *int64:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			value = n
		}
	case *float64, *map[string]float64:
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			value = f
		}
	case *bool:
		if b, err := strconv.ParseBool(text); err == nil {
			value = b
		}
	case *[]string:
		list := []any{}
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list = append(list, item)
			}
		}
		value = list
	}
	return r.put(key, value, SourceFlag)
}

// put sets the value of a known key, or tells why it cannot be used.
func (r *Resolved) put(key string, value any, source string) error {
	s := find(key)
	var why string
	if s.key == thresholds {
		language := strings.ToLower(strings.TrimPrefix(key, thresholds+"."))
		key = thresholds + "." + language
		var f float64
		if why = s.number(value, &f); why == "" {
			if r.Search.Thresholds == nil {
				r.Search.Thresholds = map[string]float64{}
			}
			r.Search.Thresholds[language] = f
		}
	} else {
		provider := r.Embedding.Provider
		why = s.assign(&r.Settings, value)
		if r.Embedding.Provider != provider {
			r.dropForeign(source)
		}
	}
	if why != "" {
		return fmt.Errorf("%s: %s is %s, but %s", source, key, show(value), why)
	}
	r.sources[key] = source
	return nil
}

// dropForeign clears what a source below this one said about another provider: its
// model, address and key mean nothing, or something else, to the provider that
// source chose.
func (r *Resolved) dropForeign(source string) {
	for _, key := range []string{"embedding.model", "embedding.url", "embedding.key_env", "embedding.key_file", "embedding.dimensions"} {
		if from, ok := r.sources[key]; !ok || from == source {
			continue
		}
		switch at := find(key).at(&r.Settings).(type) {
		case *string:
			*at = ""
		case *int:
			*at = 0
		}
		delete(r.sources, key)
	}
}

func (r *Resolved) unknown(path, key string) {
	name := key
	if quoted := strconv.Quote(key); len(quoted) != len(key)+2 { // a line break in a key must not make a second line
		name = quoted
	}
	r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %s is no setting and is ignored%s", path, name, nearest(key)))
}

// assign sets the field when value has its type and lies in its range; else why
// says what it must be.
func (s *setting) assign(settings *Settings, value any) (why string) {
	switch at := s.at(settings).(type) {
	case *bool:
		b, ok := value.(bool)
		if !ok {
			return "must be true or false"
		}
		*at = b
	case *string:
		text, ok := value.(string)
		if !ok && s.oneOf == nil {
			return "must be a string"
		}
		if s.oneOf != nil && (!ok || !slices.Contains(s.oneOf, text)) {
			return "must be one of " + strings.Join(s.oneOf, ", ")
		}
		*at = text
	case *[]string:
		list, ok := value.([]any)
		texts := make([]string, len(list))
		for i := 0; ok && i < len(list); i++ {
			texts[i], ok = list[i].(string)
		}
		if !ok {
			return "must be a list of strings"
		}
		*at = texts
	case *float64:
		return s.number(value, at)
	case *int:
		n, why := s.whole(value)
		if why == "" {
			*at = int(n)
		}
		return why
	case *int64:
		n, why := s.whole(value)
		if why == "" {
			*at = n
		}
		return why
	}
	return ""
}

func (s *setting) number(value any, at *float64) (why string) {
	var f float64
	switch v := value.(type) {
	case float64:
		f = v
	case int64:
		f = float64(v)
	default:
		f = math.NaN()
	}
	if !(f >= s.lo && f <= s.hi) { // NaN too
		return "must be a number from " + spell(s.lo) + " to " + spell(s.hi)
	}
	*at = f
	return ""
}

func (s *setting) whole(value any) (n int64, why string) {
	switch v := value.(type) {
	case int64:
		n = v
	case int:
		n = int64(v)
	default:
		n = math.MinInt64
	}
	if n < int64(s.lo) || n > int64(s.hi) {
		return 0, "must be a whole number from " + spell(s.lo) + " to " + spell(s.hi)
	}
	return n, ""
}

// find returns the row of a key, that of thresholds for each language's key; nil
// when there is none.
func find(key string) *setting {
	for i := range keys {
		if keys[i].key == key && key != thresholds {
			return &keys[i]
		}
		if keys[i].key == thresholds && len(key) > len(thresholds)+1 && strings.HasPrefix(key, thresholds+".") {
			return &keys[i]
		}
	}
	return nil
}

// isTableName tells whether some key lies in the table of this name.
func isTableName(name string) bool {
	return name == thresholds || slices.ContainsFunc(keys[:], func(s setting) bool { return strings.HasPrefix(s.key, name+".") })
}

// nearest suggests the known key that is fewest edits away, unless that is more
// than half of the key.
func nearest(key string) string {
	if len(key) > 64 { // no key of ours is near, and the distance takes time
		return ""
	}
	best, least := "", len(key)/2+1
	for i := range keys {
		if d := editDistance(key, keys[i].key); d < least {
			best, least = keys[i].key, d
		}
	}
	if best == "" {
		return ""
	}
	return "; is " + best + " meant?"
}

// editDistance is Levenshtein's, over bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d++
			}
			diagonal = row[j+1]
			row[j+1] = min(d, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Source tells where the value of a key comes from.
func (r *Resolved) Source(key string) string {
	if source, ok := r.sources[key]; ok {
		return source
	}
	return SourceDefault
}

// Sources lists every setting in the order of the table, each language's threshold
// by name.
func (r *Resolved) Sources() []Sourced {
	var list []Sourced
	for i := range keys {
		key := keys[i].key
		if key == thresholds {
			for _, language := range sortedKeys(r.Search.Thresholds) {
				key := thresholds + "." + language
				list = append(list, Sourced{key, show(r.Search.Thresholds[language]), r.Source(key)})
			}
			continue
		}
		var value any
		switch at := keys[i].at(&r.Settings).(type) {
		case *bool:
			value = *at
		case *string:
			value = *at
		case *[]string:
			value = *at
		case *float64:
			value = *at
		case *int:
			value = *at
		case *int64:
			value = *at
		}
		list = append(list, Sourced{key, show(value), r.Source(key)})
	}
	return list
}

// show spells a value about as TOML does, at most 80 bytes of it.
func show(value any) string {
	var text string
	switch v := value.(type) {
	case string:
		text = strconv.Quote(v)
	case []string:
		quoted := make([]string, len(v))
		for i, item := range v {
			quoted[i] = strconv.Quote(item)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	case float64:
		return spell(v)
	case map[string]any:
		return "a table"
	case []any:
		return "a list"
	case nil:
		return "null"
	default:
		text = fmt.Sprint(v)
	}
	if len(text) > 80 {
		text = strings.ToValidUTF8(text[:80], "") + "…"
	}
	return text
}

func spell(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func sortedKeys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
