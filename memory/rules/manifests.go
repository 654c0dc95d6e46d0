package rules

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/chinvex/chinvex/memory"
)

// manifests are the files in the repository's root that say how to run and test.
type manifests struct {
	just, make map[string]bool // targets that need no argument; nil without the file
	pkg        map[string]any  // package.json; nil without it, or where it cannot be read
	pyproject  map[string]any
	cargo      map[string]any
	goVersion  string
	goModule   string // "" without go.mod
	goMains    []string
	present    map[string]bool // by path, those that were read whole
	seen       map[string]bool // base names of all that is known to exist or to have been changed
	readme     []string        // lines of the README's code blocks
	order      []string        // languages, the one most worked in first
}

var (
	justTarget = expression(`^@?([A-Za-z_][\w-]*)((?:\s+[^:=]+(?:=(?:'[^']*'|"[^"]*"|` + "`[^`]*`" + `|[^\s:]+))?)*)\s*:(?:[^=]|$)`)
	makeTarget = expression(`^([A-Za-z0-9_][\w.-]*(?:[ \t]+[\w.-]+)*)[ \t]*::?(?:[^=:]|$)`)
	goMain     = expression(`\bgo (?:build|run|install)\b[^\n]*?\s(\./cmd/[\w-]+)\b`)
	goLine     = expression(`(?m)^go[ \t]+(\d+\.\d+(?:\.\d+)?)[ \t\r]*(?://.*)?$`)
	moduleLine = expression(`(?m)^module[ \t]+"?([\w./~-]+)"?[ \t\r]*(?://.*)?$`)
)

var languageOf = map[string]string{
	".go": "go", ".rs": "rust", ".py": "python", ".pyi": "python", ".js": "node", ".mjs": "node", ".cjs": "node", ".jsx": "node",
	".ts": "node", ".mts": "node", ".tsx": "node", ".vue": "node", ".svelte": "node",
}

func readManifests(in *memory.Inputs) *manifests {
	m := &manifests{present: map[string]bool{}, seen: map[string]bool{}, order: []string{"go", "rust", "python", "node"}}
	count := map[string]int{}
	for _, c := range in.Commits {
		for _, f := range c.Files {
			count[languageOf[path.Ext(f)]]++
			if !strings.Contains(f, "/") {
				m.seen[f] = true
			}
		}
	}
	slices.SortStableFunc(m.order, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	for _, e := range in.Manifests {
		if strings.Contains(e.Path, "/") {
			continue
		}
		m.seen[e.Path] = true
		whole := !e.Cut
		switch name := strings.ToLower(e.Path); {
		case name == "justfile" || name == ".justfile":
			m.just = targets(e.Text, justTarget(), func(name, parameters string) bool {
				for _, p := range strings.Fields(parameters) {
					if !strings.Contains(p, "=") && !strings.HasPrefix(p, "*") && !strings.HasPrefix(p, "$") {
						return false
					}
				}
				return !strings.HasPrefix(name, "_") && name != "set" && name != "alias" && name != "export"
			})
			m.addGoMains(e.Text)
		case name == "makefile" || name == "gnumakefile":
			m.make = targets(e.Text, makeTarget(), func(string, string) bool { return true })
			m.addGoMains(e.Text)
		case name == "package.json":
			whole = whole && json.Unmarshal([]byte(e.Text), &m.pkg) == nil
		case name == "pyproject.toml":
			m.pyproject = readTOML(e.Text)
			whole = whole && m.pyproject != nil
		case name == "cargo.toml":
			m.cargo = readTOML(e.Text)
			whole = whole && m.cargo != nil
		case name == "go.mod":
			if l := moduleLine().FindStringSubmatch(e.Text); l != nil {
				m.goModule = l[1]
			}
			if l := goLine().FindStringSubmatch(e.Text); l != nil {
				m.goVersion = l[1]
			}
		case strings.HasPrefix(name, "readme"):
			m.readme = append(m.readme, codeLines(e.Text)...)
		}
		m.present[e.Path] = whole
	}
	return m
}

func readTOML(text string) map[string]any {
	var v map[string]any
	if toml.NewDecoder(bytes.NewReader([]byte(text))).Decode(&v) != nil {
		return nil
	}
	return v
}

// targets reads the names before the colons of a makefile or justfile.
func targets(text string, form *regexp.Regexp, keep func(name, parameters string) bool) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(text) {
		t := form.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if t == nil {
			continue
		}
		if len(t) > 2 {
			if keep(t[1], t[2]) {
				found[t[1]] = true
			}
			continue
		}
		for _, name := range strings.Fields(t[1]) {
			if keep(name, "") {
				found[name] = true
			}
		}
	}
	return found
}

func (m *manifests) addGoMains(text string) {
	for _, g := range goMain().FindAllStringSubmatch(strings.ReplaceAll(text, "\\\n", " "), -1) {
		m.goMains = appendNew(m.goMains, g[1])
	}
}

// codeLines returns the commands of a README's code blocks.
func codeLines(text string) []string {
	var out []string
	fence := false
	for line := range strings.Lines(text) {
		t := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~"):
			fence = !fence
		case fence || strings.HasPrefix(line, "    ") && strings.HasPrefix(t, "$ "):
			if t = strings.TrimPrefix(t, "$ "); len(t) <= 100 {
				out = append(out, strings.TrimSpace(strings.Split(t, " #")[0]))
			}
		}
	}
	return out
}

// get follows keys through tables; nil where one is missing.
func get(v any, keys ...string) any {
	for _, k := range keys {
		table, _ := v.(map[string]any)
		v = table[k]
	}
	return v
}

func text(v any, keys ...string) string {
	s, _ := get(v, keys...).(string)
	return oneLine(s)
}

func has(v any, keys ...string) bool { return get(v, keys...) != nil }

var (
	readmeTest = expression(`^(?:(?:npm|pnpm|yarn|bun)(?: run)? test\b|(?:uv run |poetry run )?(?:python3? -m )?(?:pytest|tox|nox|unittest)\b|cargo (?:nextest run|test)\b|go test\b|(?:make|just|task|rake|bundle exec rake) (?:test|check)\b|bundle exec rspec\b|(?:\./)?gradlew? (?:test|check)\b|(?:\./)?mvnw? (?:test|verify)\b|mix test\b|dotnet test\b|swift test\b|ctest\b|zig build test\b|composer test\b)[^|&;<>]*$`)
	readmeRun  = expression(`^(?:(?:npm|pnpm|yarn|bun)(?: run)? (?:start|dev|serve)\b|cargo run\b|go run \.|(?:make|just|task) (?:run|start|serve|dev)\b|docker[- ]compose up\b|flask run\b|(?:uv run )?python3? (?:-m )?[\w./-]+$|mix phx\.server\b|dotnet run\b|(?:\./)?gradlew? (?:run|bootRun)\b)[^|&;<>]*$`)
	targetName = expression(`^[\w-]+$`)
	pytest     = expression(`^pytest(?:[^\w-]|$)`)
	oneCommand = expression("^[^`\\s]+(?: [^`]*)?$")
)

// quick keeps what STATE.md says, but for a command whose target is gone, and
// adds what the manifests hold.
func (m *manifests) quick(current memory.Quick) memory.Quick {
	usual := m.byLanguage()
	if current.Run == "" || m.gone(current.Run) {
		current.Run = cmp.Or(m.target("run", "start", "serve", "dev"), usual.Run, m.fromReadme(readmeRun()))
	}
	if current.Test == "" || m.gone(current.Test) {
		current.Test = cmp.Or(m.target("test", "tests"), usual.Test, m.target("check"), m.fromReadme(readmeTest()))
	}
	current.Entry = cmp.Or(current.Entry, usual.Entry)
	for _, text := range []*string{&current.Run, &current.Test, &current.Entry} {
		if *text = oneLine(*text); len([]rune(*text)) > memory.MaxLine-2 || saysNothing(*text) || strings.HasSuffix(*text, ":") {
			*text = "" // a part of a command is none
		}
	}
	return current
}

// target returns the command for the first of the targets that the justfile or
// the makefile has.
func (m *manifests) target(names ...string) string {
	for _, name := range names {
		switch {
		case m.just[name]:
			return "just " + name
		case m.make[name]:
			return "make " + name
		}
	}
	return ""
}

func (m *manifests) fromReadme(form *regexp.Regexp) string {
	for _, line := range m.readme {
		if form.MatchString(line) {
			return line
		}
	}
	return ""
}

// gone tells whether a command names a target or script that its manifest does
// not have.
func (m *manifests) gone(command string) bool {
	if !oneCommand().MatchString(command) {
		return false
	}
	w := strings.Fields(command)
	if len(w) < 2 || !targetName().MatchString(w[1]) {
		return false
	}
	switch w[0] {
	case "just":
		return m.just != nil && m.present["justfile"] && !m.just[w[1]]
	case "make":
		return m.make != nil && m.present["Makefile"] && !m.make[w[1]]
	case "npm", "pnpm", "yarn", "bun":
		script := w[1]
		if script == "run" && len(w) > 2 {
			script = w[2]
		} else if w[0] != "npm" || script != "test" && script != "start" {
			return false // may be a command of its own
		}
		return m.present["package.json"] && !has(m.pkg, "scripts", script)
	}
	return false
}

// byLanguage is what one language's manifest holds, that of the language most
// worked in: the run of one and the test of another would be two projects.
func (m *manifests) byLanguage() memory.Quick {
	for _, language := range m.order {
		var q memory.Quick
		switch {
		case language == "go" && m.goModule != "":
			q = m.goQuick()
		case language == "rust" && m.cargo != nil:
			q = m.rustQuick()
		case language == "python" && (m.pyproject != nil || m.present["tox.ini"] || m.present["noxfile.py"]) && !m.isMaturin():
			q = m.pythonQuick()
		case language == "node" && m.pkg != nil:
			q = m.nodeQuick()
		}
		if q != (memory.Quick{}) {
			return q
		}
	}
	return memory.Quick{}
}

func (m *manifests) goQuick() memory.Quick {
	q := memory.Quick{Test: "go test ./..."}
	name := "./cmd/" + path.Base(m.goModule)
	switch {
	case slices.Contains(m.goMains, name):
	case len(m.goMains) == 1:
		name = m.goMains[0]
	default:
		return q
	}
	q.Run, q.Entry = "go run "+name, strings.TrimPrefix(name, "./")
	return q
}

// isMaturin tells whether the Python package is a Rust program in a wheel.
func (m *manifests) isMaturin() bool {
	return m.cargo != nil && text(m.pyproject, "build-system", "build-backend") == "maturin"
}

func (m *manifests) rustQuick() memory.Quick {
	q := memory.Quick{Test: "cargo test"}
	bins, _ := get(m.cargo, "bin").([]any)
	switch {
	case text(m.cargo, "package", "default-run") != "", len(bins) == 1:
		q.Run = "cargo run"
	case m.isMaturin() && text(m.pyproject, "tool", "maturin", "bindings") == "bin":
		q.Run = "cargo run"
		if manifest := text(m.pyproject, "tool", "maturin", "manifest-path"); manifest != "" {
			q.Run += " --manifest-path " + manifest
			q.Entry = path.Dir(manifest)
		}
	}
	if len(bins) == 1 {
		q.Entry = text(bins[0], "path")
	}
	return q
}

func (m *manifests) nodeQuick() memory.Quick {
	var q memory.Quick
	pm := m.packageManager()
	script := func(names ...string) string {
		for _, name := range names {
			body := text(m.pkg, "scripts", name)
			switch {
			case body == "", strings.Contains(body, "no test specified"):
			case pm == "bun", name != "test" && name != "start":
				return pm + " run " + name
			default:
				return pm + " " + name
			}
		}
		return ""
	}
	q.Run, q.Test = script("start", "dev", "serve"), script("test", "test:unit", "test-unit")
	switch bin := get(m.pkg, "bin").(type) {
	case string:
		q.Entry = oneLine(bin)
	case map[string]any:
		if len(bin) == 1 {
			for _, v := range bin {
				q.Entry = text(v)
			}
		}
	}
	return q
}

// packageManager is what package.json says, or what the lock files say.
func (m *manifests) packageManager() string {
	name, _, _ := strings.Cut(text(m.pkg, "packageManager"), "@")
	name = cmp.Or(name, text(m.pkg, "devEngines", "packageManager", "name"))
	switch {
	case slices.Contains([]string{"npm", "pnpm", "yarn", "bun"}, name):
		return name
	case m.seen["pnpm-lock.yaml"], m.seen["pnpm-workspace.yaml"]:
		return "pnpm"
	case m.seen["yarn.lock"]:
		return "yarn"
	case m.seen["bun.lock"], m.seen["bun.lockb"]:
		return "bun"
	}
	return "npm"
}

func (m *manifests) pythonQuick() memory.Quick {
	var q memory.Quick
	p := m.pyproject
	runner := ""
	switch {
	case has(p, "tool", "uv"), m.seen["uv.lock"]:
		runner = "uv run "
	case has(p, "tool", "poetry"):
		runner = "poetry run "
	case has(p, "tool", "pdm"):
		runner = "pdm run "
	}
	if scripts, ok := get(p, "project", "scripts").(map[string]any); ok {
		names := slices.Sorted(maps.Keys(scripts))
		name := ""
		if len(names) == 1 {
			name = names[0]
		} else if i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, text(p, "project", "name")) }); i >= 0 {
			name = names[i]
		}
		if name != "" {
			q.Run, q.Entry = runner+oneLine(name), text(scripts, name)
		}
	}
	switch {
	case has(p, "tool", "hatch", "envs", "default", "scripts", "test"):
		q.Test = "hatch run test"
	case has(p, "tool", "hatch", "envs", "test", "scripts", "test"):
		q.Test = "hatch run test:test"
	case has(p, "tool", "hatch", "envs", "hatch-test"):
		q.Test = "hatch test"
	case has(p, "tool", "pdm", "scripts", "test"):
		q.Test = "pdm run test"
	case has(p, "tool", "poe", "tasks", "test"):
		q.Test = runner + "poe test"
	case has(p, "tool", "pytest"), m.seen["pytest.ini"], m.needsPytest() != "":
		q.Test = runner + "pytest"
		if group := m.needsPytest(); runner == "uv run " && group != "" && !m.isDefault(group) {
			q.Test = runner + "--group " + group + " pytest"
		}
	case has(p, "tool", "tox"), m.seen["tox.ini"]:
		q.Test = runner + "tox"
	case m.seen["noxfile.py"]:
		q.Test = runner + "nox"
	}
	return q
}

// needsPytest returns the dependency group that holds pytest, one that is
// installed without being asked for where there are several, or "".
func (m *manifests) needsPytest() string {
	groups, _ := get(m.pyproject, "dependency-groups").(map[string]any)
	found := ""
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		list, _ := groups[name].([]any)
		if slices.ContainsFunc(list, func(v any) bool { return pytest().MatchString(text(v)) }) && (found == "" || m.isDefault(name) && !m.isDefault(found)) {
			found = name
		}
	}
	return found
}

// isDefault tells whether uv installs a group without being asked.
func (m *manifests) isDefault(group string) bool {
	groups, ok := get(m.pyproject, "tool", "uv", "default-groups").([]any)
	if !ok {
		return group == "dev" || text(m.pyproject, "tool", "uv", "default-groups") == "all"
	}
	return slices.ContainsFunc(groups, func(v any) bool { return text(v) == group })
}
