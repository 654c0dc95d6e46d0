package rules

import (
	"regexp"
	"strings"

	"github.com/chinvex/chinvex/memory"
)

// fact is what a manifest says for as long as it says it: "Needs Go 1.26 or newer
// (`go.mod`)".
type fact struct {
	section string
	lead    string // how our bullet on it starts: "Needs Go "
	value   string // "" when the manifest does not say it
	tail    string // " or newer"
	source  string // the manifest
	about   *regexp.Regexp
}

func (f fact) text() string { return f.lead + f.value + f.tail + f.suffix() }

func (f fact) suffix() string { return " (`" + f.source + "`)" }

var (
	atLeast = expression(`^(?:>=|\^|~>)?\s*v?(\d+(?:\.\d+){0,2})(?:\.0|\.x|\.\*)*\s*$`)
	version = expression(`\d+(?:\.\d+)+|\b\d+\b`)
	minimum = expression(`(?i)\b(?:newer|later|minimum|at least|requires?|needs?|up|above|msrv)\b|>=|≥|\d\+`)
	updated = expression(`\s*\(updated \d{4}-\d{2}-\d{2}\)\s*$`)

	aboutGo      = expression(`\bGo\b`)
	aboutRust    = expression(`(?i)\b(?:rust|msrv|rustc)\b`)
	aboutPython  = expression(`\bPython\b`)
	aboutNode    = expression(`\bNode\b`)
	aboutLicence = expression(`(?i)\blicen[sc]ed?\b`)
)

// facts lists what the manifests say, and what they could say but do not.
func (m *manifests) facts() []fact {
	var out []fact
	needs := func(name, spec, source string, about *regexp.Regexp) {
		f := fact{section: "Infrastructure", lead: "Needs " + name + " ", value: spec, source: source, about: about}
		if v := atLeast().FindStringSubmatch(spec); v != nil && !strings.HasPrefix(spec, "~") {
			f.value, f.tail = v[1], " or newer"
		} else if len(spec) > 60 {
			f.value = ""
		}
		out = append(out, f)
	}
	says := func(section, lead, value, source string, about *regexp.Regexp) {
		if len(value) > 80 || strings.Contains(value, "`") {
			value = ""
		}
		f := fact{section: section, lead: lead, value: value, source: source, about: about}
		if strings.HasSuffix(lead, "`") {
			f.tail = "`"
		}
		out = append(out, f)
	}
	if m.present["go.mod"] {
		needs("Go", m.goVersion, "go.mod", aboutGo())
		says("Key Facts", "Go module `", m.goModule, "go.mod", nil)
	}
	if m.present["Cargo.toml"] {
		own := func(key string) string {
			if s := text(m.cargo, "workspace", "package", key); s != "" {
				return s
			}
			return text(m.cargo, "package", key)
		}
		needs("Rust", own("rust-version"), "Cargo.toml", aboutRust())
		says("Key Facts", "Licence: ", own("license"), "Cargo.toml", aboutLicence())
	}
	if m.present["pyproject.toml"] {
		needs("Python", text(m.pyproject, "project", "requires-python"), "pyproject.toml", aboutPython())
		says("Infrastructure", "Built with `", text(m.pyproject, "build-system", "build-backend"), "pyproject.toml", nil)
		licence := text(m.pyproject, "project", "license")
		if licence == "" {
			licence = text(m.pyproject, "project", "license", "text")
		}
		says("Key Facts", "Licence: ", licence, "pyproject.toml", aboutLicence())
	}
	if m.present["package.json"] {
		needs("Node.js", text(m.pkg, "engines", "node"), "package.json", aboutNode())
		manager, _, _ := strings.Cut(text(m.pkg, "packageManager"), "@")
		says("Infrastructure", "Packages are installed with ", manager, "package.json", nil)
		says("Key Facts", "Licence: ", text(m.pkg, "license"), "package.json", aboutLicence())
	}
	return out
}

// constraints holds CONSTRAINTS.md against the manifests: adds what it does not
// say, edits what has changed, supersedes what has gone.
func constraints(current string, m *manifests) memory.ConstraintsProposal {
	p := memory.ConstraintsProposal{Add: []memory.Added{}, Edit: []memory.Edited{}, Supersede: []memory.Superseded{}}
	doc := memory.Parse(memory.Constraints, []byte(current))
	type line struct{ section, raw, text string }
	var lines []line
	count := map[string]int{}
	for i := range doc.Sections {
		s := &doc.Sections[i]
		if s.Is("Superseded") || s.Level == 0 {
			continue
		}
		for _, b := range s.Blocks {
			if b.Type == memory.Item {
				raw := b.Text()
				l := line{s.Name, raw, oneLine(updated().ReplaceAllString(raw, ""))}
				lines = append(lines, l)
				count[key(l.text)]++
			}
		}
	}
	touched := map[string]bool{}
	edit := func(l line, text string) {
		// An edit names a bullet by its text: two alike cannot be told apart.
		if count[key(l.text)] == 1 && count[key(text)] == 0 && !touched[l.raw] {
			touched[l.raw] = true
			count[key(text)]++
			p.Edit = append(p.Edit, memory.Edited{Section: l.section, Old: l.raw, New: text})
		}
	}
	licence := false
	for _, f := range m.facts() {
		stated := f.about == aboutLicence() && licence && f.value != ""
		for _, l := range lines {
			ours := strings.HasPrefix(l.text, f.lead) && strings.HasSuffix(l.text, f.suffix())
			switch {
			case ours && f.value == "":
				if count[key(l.text)] == 1 && !touched[l.raw] {
					touched[l.raw] = true
					p.Supersede = append(p.Supersede, memory.Superseded{Section: l.section, Old: l.raw, Reason: "`" + f.source + "` no longer says it"})
				}
			case ours:
				if stated = true; l.text != f.text() {
					edit(l, f.text())
				}
			case f.value == "":
			case f.about == aboutLicence() && aboutLicence().MatchString(l.text), f.about == nil && strings.Contains(l.text, f.value):
				stated = true
			case f.about != nil && f.about != aboutLicence() && f.about.MatchString(l.text) && minimum().MatchString(l.text):
				// A person said it in other words: the number is kept true.
				numbers := version().FindAllString(l.text, -1)
				if len(numbers) == 0 {
					continue
				}
				stated = true
				if f.tail != "" && len(numbers) == 1 && !sameVersion(numbers[0], f.value) && !strings.Contains(l.raw, "\n") {
					edit(l, strings.Replace(l.text, numbers[0], f.value, 1))
				}
			}
		}
		if f.value == "" || stated {
			continue
		}
		licence = licence || f.about == aboutLicence()
		p.Add = append(p.Add, memory.Added{Section: f.section, Text: f.text()})
	}
	return p
}

// key is what two bullets have in common that say the same.
func key(text string) string { return strings.TrimRight(strings.ToLower(text), ".") }

// sameVersion tells whether two versions say the same: 1.26 is 1.26.0.
func sameVersion(a, b string) bool {
	trim := func(s string) string {
		for strings.HasSuffix(s, ".0") && strings.Count(s, ".") > 1 {
			s = strings.TrimSuffix(s, ".0")
		}
		return s
	}
	return trim(a) == trim(b)
}
