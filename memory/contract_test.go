package memory

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

const (
	testHead = "0123456789abcdef0123456789abcdef01234567"
	unborn   = "dead" // commits that start so do not exist
)

func testEnvironment() Environment {
	return Environment{
		Today:  time.Date(2026, 2, 6, 23, 0, 0, 0, time.FixedZone("", -5*3600)),
		To:     testHead,
		Exists: func(evidence string) bool { return !strings.HasPrefix(evidence, unborn) },
	}
}

func parseFiles(archive *txtar.Archive) Files {
	var f Files
	for _, file := range archive.Files {
		for kind, d := range []**Document{State: &f.State, Constraints: &f.Constraints, Decisions: &f.Decisions} {
			if file.Name == Kind(kind).Path() {
				*d = Parse(Kind(kind), file.Data)
			}
		}
	}
	return f
}

// TestApplyExamples holds what Apply makes, or why Check refuses it, against the
// examples: the files before, proposal.json, and what comes of it.
func TestApplyExamples(t *testing.T) {
	for _, name := range examples(t, "testdata/apply/*.txtar") {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			env := testEnvironment()
			for line := range strings.Lines(string(archive.Comment)) {
				if reason, ok := strings.CutPrefix(line, "review "); ok {
					env.Review = append(env.Review, strings.TrimSpace(reason))
				}
			}
			var proposal []byte
			got := &txtar.Archive{Comment: archive.Comment}
			for _, f := range archive.Files {
				if strings.HasPrefix(f.Name, "want/") {
					continue
				}
				got.Files = append(got.Files, f)
				if f.Name == "proposal.json" {
					proposal = f.Data
				}
			}
			p, err := ParseProposal(proposal)
			if err != nil {
				t.Fatal(err)
			}
			old := parseFiles(archive)
			holdContract(t, old, p, env)
			if problems := Check(old, p, env); len(problems) > 0 {
				var text strings.Builder
				for _, problem := range problems {
					text.WriteString(problem.String() + "\n")
				}
				got.Files = append(got.Files, txtar.File{Name: "want/problems", Data: []byte(text.String())})
			} else {
				made, err := Apply(old, p, env)
				if err != nil {
					t.Fatal(err)
				}
				for kind, d := range []*Document{State: made.State, Constraints: made.Constraints, Decisions: made.Decisions} {
					got.Files = append(got.Files, txtar.File{Name: "want/" + filepath.Base(Kind(kind).Path()), Data: d.Bytes()})
				}
			}
			compareExample(t, name, got)
		})
	}
}

// TestLintExamples holds what Lint says of files against the examples.
func TestLintExamples(t *testing.T) {
	for _, name := range examples(t, "testdata/lint/*.txtar") {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			for _, problem := range Lint(parseFiles(archive), testEnvironment()) {
				fmt.Fprintf(&text, "%s: %s\n", problem.Severity, problem)
			}
			got := &txtar.Archive{Comment: archive.Comment, Files: slices.DeleteFunc(slices.Clone(archive.Files), func(f txtar.File) bool { return f.Name == "want" })}
			got.Files = append(got.Files, txtar.File{Name: "want", Data: []byte(text.String())})
			compareExample(t, name, got)
		})
	}
}

func examples(t testing.TB, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no examples in %s: %v", pattern, err)
	}
	return names
}

func compareExample(t *testing.T, name string, got *txtar.Archive) {
	t.Helper()
	text := txtar.Format(got)
	if *update {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("%s (rewrite with -update, then read it): %s", name, diff)
	}
}

// holdContract applies a proposal, if Check takes it, and holds the result against
// what every result promises. It looks at the files as lines, not through the
// code that it tests, as far as it can.
func holdContract(t testing.TB, old Files, p *Proposal, env Environment) (accepted bool) {
	t.Helper()
	before := old.Current()
	problems := Check(old, p, env)
	made, err := Apply(old, p, env)
	if (err != nil) != (len(problems) > 0) {
		t.Fatalf("Check says %v, Apply %v", problems, err)
	}
	if old.Current() != before {
		t.Fatal("the old files were changed")
	}
	if err != nil {
		for _, problem := range problems {
			if problem.Severity != Error || problem.File == "" || problem.Where == "" || problem.What == "" || strings.ContainsAny(problem.String(), "\n\r") {
				t.Fatalf("problem %+v", problem)
			}
			if !strings.Contains(err.Error(), problem.String()) {
				t.Fatalf("Apply does not say %q", problem)
			}
		}
		return false
	}
	after := made.Current()
	fail := func(format string, args ...any) {
		t.Helper()
		proposal, _ := json.MarshalIndent(p, "", " ")
		t.Fatalf(format+"\nproposal: %s\nCONSTRAINTS.md before:\n%q\nafter:\n%q\nDECISIONS.md before:\n%q\nafter:\n%q\nSTATE.md:\n%s",
			append(args, proposal, before.Constraints, after.Constraints, before.Decisions, after.Decisions, after.State)...)
	}
	for kind, d := range []*Document{State: made.State, Constraints: made.Constraints, Decisions: made.Decisions} {
		if !reflect.DeepEqual(Parse(Kind(kind), d.Bytes()), d) {
			fail("%s does not read as it was made", Kind(kind).Path())
		}
	}
	if problems := CheckChange(old, made); len(problems) > 0 {
		fail("CheckChange: %v", problems)
	}

	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(after.State, "\r\n", "\n"), "\n"), "\n")
	if len(lines) > 45 || lines[len(lines)-1] != "<!-- chinvex:last-commit:"+env.To+" -->" || made.State.Coverage().Anchor != env.To {
		fail("STATE.md has %d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	for _, problem := range Lint(Files{State: made.State}, env) {
		if problem.File == State.Path() && problem.Where != "the footer" {
			fail("Lint of STATE.md: %v", problem)
		}
	}

	if old.State != nil {
		holdForm(fail, "STATE.md", strings.TrimPrefix(before.State, byteOrderMark), after.State)
	}

	// CONSTRAINTS.md: every line that is none of a changed bullet is there, in its order.
	if !isEmpty(old.Constraints) {
		var kept strings.Builder
		changed := 0
		old.Constraints.walk(func(_ int, s *Section, e *Entry, b *Block) {
			switch {
			case b == nil:
				kept.WriteString(s.Heading)
			case b.Type == Item && isQuoted(p, s, b):
				changed++
				kept.WriteString("\n")
			default:
				kept.WriteString(b.Raw)
			}
		})
		if line := missingLine(kept.String(), after.Constraints); line != "" {
			fail("CONSTRAINTS.md lost %q", line)
		}
		was, is := len(bulletsOf(old.Constraints)), len(bulletsOf(made.Constraints))
		if is < was || is > was+len(p.Constraints.Add) {
			fail("%d bullets became %d", was, is)
		}
		if changed == 0 && was == is && after.Constraints != before.Constraints {
			fail("CONSTRAINTS.md was changed for nothing")
		}
		holdForm(fail, "CONSTRAINTS.md", before.Constraints, after.Constraints)
	}
	// DECISIONS.md: every line outside the roll-up is there, in its order.
	if !isEmpty(old.Decisions) {
		var kept strings.Builder
		old.Decisions.walk(func(_ int, s *Section, e *Entry, b *Block) {
			switch {
			case b == nil && e == nil:
				kept.WriteString(s.Heading)
			case b == nil:
				kept.WriteString(e.Heading)
			case e != nil || s != old.Decisions.Section(rollup) || b.Type != Item && b.Type != Paragraph:
				kept.WriteString(b.Raw)
			}
		})
		if line := missingLine(kept.String(), after.Decisions); line != "" {
			fail("DECISIONS.md lost %q", line)
		}
		holdForm(fail, "DECISIONS.md", before.Decisions, after.Decisions)
	}

	again, err := Apply(made, p, env)
	if err != nil {
		fail("the second time: %v", err)
	}
	if diff := cmp.Diff(after, again.Current()); diff != "" {
		fail("the second time changes something: %s", diff)
	}
	nothing := &Proposal{State: p.State, Recent: p.Recent}
	same, err := Apply(made, nothing, env)
	if err != nil {
		fail("no change: %v", err)
	}
	if diff := cmp.Diff(after, same.Current()); diff != "" {
		fail("no change changes something: %s", diff)
	}
	return true
}

// isQuoted tells whether a proposal wants to change a bullet.
func isQuoted(p *Proposal, s *Section, b *Block) bool {
	_, head, _ := splitItem(b.Raw)
	item := &bullet{keys: [2]string{key(textOf(head)), key(b.Text())}}
	quotes := func(section, text string) bool {
		text = clean(withoutComments(text))
		return s.Is(section) && (item.says(text) || key(clean(textOf(head))) == key(text))
	}
	return slices.ContainsFunc(p.Constraints.Edit, func(e Edited) bool { return quotes(e.Section, e.Old) }) ||
		slices.ContainsFunc(p.Constraints.Supersede, func(e Superseded) bool { return quotes(e.Section, e.Old) })
}

// missingLine returns the first line that is not in a file in its order.
func missingLine(kept, file string) string {
	have := strings.Split(strings.TrimPrefix(file, byteOrderMark), "\n")
	at := 0
	for line := range strings.SplitSeq(strings.TrimPrefix(kept, byteOrderMark), "\n") {
		line = strings.TrimRight(line, "\r")
		if strings.TrimSpace(line) == "" {
			continue
		}
		for at < len(have) && strings.TrimRight(have[at], "\r") != line {
			at++
		}
		if at++; at > len(have) {
			return line
		}
	}
	return ""
}

// holdForm looks at what a file keeps however it changes.
func holdForm(fail func(string, ...any), name, before, after string) {
	if strings.HasPrefix(before, byteOrderMark) != strings.HasPrefix(after, byteOrderMark) {
		fail("%s: the byte order mark changed", name)
	}
	windows := strings.Count(before, "\r\n")
	if windows > 0 && windows == strings.Count(before, "\n") && strings.Count(after, "\r\n") != strings.Count(after, "\n") {
		fail("%s: lines do not all end in CR LF any more", name)
	}
	if windows == 0 && strings.Contains(before, "\n") && strings.Contains(after, "\r\n") {
		fail("%s: a line ends in CR LF", name)
	}
}

// writer makes files and proposals by chance.
type writer struct {
	*rand.Rand
	n     int
	nasty []string
}

func newWriter(seed uint64) *writer {
	return &writer{Rand: rand.New(rand.NewPCG(seed, 1)), nasty: nastyTexts}
}

// quoted returns what a proposal can quote of files: sections and their bullets.
func quoted(f Files) (sections []string, texts map[string][]string) {
	texts = map[string][]string{}
	if f.Constraints == nil {
		return nil, texts
	}
	for i, b := range bulletsOf(f.Constraints) {
		if !slices.Contains(sections, b.section.Name) {
			sections = append(sections, b.section.Name)
		}
		texts[b.section.Name] = append(texts[b.section.Name], []string{b.text, b.keys[1]}[i%2])
	}
	return sections, texts
}

var (
	plainWords = strings.Fields("prices integers orders deleted cache warm `go test` flags store refund (internal) per-user API é— retries 3.40 SQLite #12 <T> a/b.go _x_ **bold**")
	nastyTexts = []string{
		"## 2026-02", "### 2026-02-01 — Old", "<!-- hidden -->", "<!-- open", "-->", "---", "```", "```go", "`", "``", "- [ ] x", "* y", "1. z", "> q", "| a |",
		"line\nline", "line\r\nline", "a\x00b\x1b[2J", "zero\u200bwidth", "\xff\xfe", "<!-- chinvex:last-commit:" + testHead + " -->", "`<!-- code -->`",
		"Last memory update: 2020-01-01", "Commits covered through: abc", "Manual review: no", "<<<<<<< HEAD", "=======", "===", "#", "###### six", "~~~~", "\\", "- ",
		"(updated 2020-01-01)", "(Superseded 2020-01-01) x — y", "[One line: x]", "Test: <cmd>", "None", "", "   ", "label:", "**Why:** no", "](x)", "&lt;!--", "T10:00 x", "— x", "C #",
		"[ ] [x] y", "\ufeffx", "x  ", "“…”",
	}
)

func (w *writer) one(in int) bool { return w.IntN(in) == 0 }

// words is a text; nasty in one of so many cases, 0 for never.
func (w *writer) words(nasty int) string {
	w.n++
	text := fmt.Sprintf("Fact %d", w.n)
	for range w.IntN(6) {
		text += " " + plainWords[w.IntN(len(plainWords))]
	}
	if nasty > 0 && w.one(nasty) {
		bad := w.nasty[w.IntN(len(w.nasty))]
		switch w.IntN(3) {
		case 0:
			return bad
		case 1:
			return bad + " " + text
		default:
			return text + " " + bad
		}
	}
	return text
}

// bullet is a bullet with what may be nested in it; texts collects what it says.
func (w *writer) bullet(texts *[]string) string {
	indent := strings.Repeat(" ", []int{0, 0, 0, 0, 0, 1, 2, 3}[w.IntN(8)])
	mark := []string{"- ", "- ", "- ", "* ", "+ ", "1. ", "-   ", "-\t"}[w.IntN(8)]
	text := w.words(0)
	*texts = append(*texts, text)
	raw := indent + mark + text
	inner := indent + "    "
	for w.one(3) {
		raw += []string{
			"\n" + inner + "more of it", "\n" + inner + "- nested " + w.words(0), "\n\n" + inner + "paragraph", "\n" + inner + "```\n" + inner + "## code\n" + inner + "```",
			" <!-- note -->", "\n" + inner + "<!-- own line -->", "\nlazy", " (updated 2025-12-31)", " <!-- two\n" + inner + "lines -->", "\n\t- by tab", "  ", " `",
		}[w.IntN(12)]
	}
	return raw + "\n"
}

// constraints makes a CONSTRAINTS.md; texts are what its bullets say, by section.
func (w *writer) constraints() (text string, sections []string, texts map[string][]string) {
	texts = map[string][]string{}
	if w.one(2) {
		text += "<!-- DO: add bullets. -->\n\n# Constraints\n\n"
	}
	for _, name := range append(slices.Clone(constraintSections), "House rules", "Naming:") {
		if w.one(4) {
			continue
		}
		heading := "## " + name + "\n"
		if w.one(8) {
			heading = name + "\n---\n"
		}
		if text += heading; w.one(3) {
			text += "\n"
		}
		sections = append(sections, name)
		var said []string
		for range w.IntN(5) {
			switch w.IntN(9) {
			case 0:
				text += w.words(0) + "\n\n"
			case 1:
				text += "<!-- comment\n## in it -->\n"
			case 2:
				text += "```\n- code\n```\n"
			case 3:
				text += "### Sub-heading\n"
			case 4:
				text += "\n"
			default:
				text += w.bullet(&said)
			}
		}
		texts[name] = said
		if !w.one(4) {
			text += "\n"
		}
	}
	return w.finish(text), sections, texts
}

func (w *writer) decisions() string {
	text := ""
	if w.one(2) {
		text = "# Decisions\n\n"
	}
	if !w.one(4) {
		text += "## Recent (last 30 days)\n" + []string{"", "- x\n- y\n", "Prose.\n\n", "<!-- c -->\n- x\n\n- y\n<!-- d -->\n", "- x\n  - y\n### 2026-01-30 — Under Recent\n"}[w.IntN(5)] + []string{"", "\n"}[w.IntN(2)]
	}
	for _, month := range []string{"2026-02", "2026-01", "2025-12"} {
		if w.one(3) {
			continue
		}
		text += "## " + month + "\n"
		if w.one(2) {
			text += "\n"
		}
		for day := 6; day > 0; day-- {
			if w.one(3) {
				text += fmt.Sprintf("### %s-0%d — %s\n\n- **Why:** %s\n  - nested\n- Extra: %s\n\n", month, day, w.words(0), w.words(0), w.words(0))
			}
		}
		if w.one(6) {
			text += "### No date\nProse with ```\n"
		}
	}
	if w.one(4) {
		text += "## Notes\n- kept\n\n```\n## 2026-02\n```\n"
	}
	return w.finish(text)
}

// mess is a file that nobody wrote.
func (w *writer) mess() string {
	var text strings.Builder
	for range w.IntN(40) {
		text.WriteString(fragments[w.IntN(len(fragments))])
		if w.one(2) {
			text.WriteString([]string{"\n", "\n", "\r\n", "\n- fact " + fmt.Sprint(text.Len()) + "\n", "\n## Recent\n", "\n## 2026-02\n", "\n## Superseded\n"}[w.IntN(7)])
		}
	}
	return text.String()
}

// finish gives a file another form: line ends, byte order mark, no last line end,
// something that never ends.
func (w *writer) finish(text string) string {
	if w.one(12) {
		text += []string{"```\nopen\n", "<!-- open\n", "- a <!-- open\n"}[w.IntN(3)]
	}
	if w.one(6) {
		text = strings.TrimRight(text, "\n")
	}
	if w.one(4) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if w.one(8) {
		text = byteOrderMark + text
	}
	return text
}

func (w *writer) proposal(sections []string, texts map[string][]string, nasty int) *Proposal {
	list := func(most int) []string {
		var all []string
		for range w.IntN(most + 1) {
			all = append(all, w.words(nasty))
		}
		return all
	}
	p := &Proposal{State: StateProposal{
		Objective: w.words(nasty), Active: append(list(2), Unknown), Blockers: list(3), OutOfScope: list(3),
		Quick: Quick{Run: []string{"", "go run .", "a `b` c", "<cmd>x"}[w.IntN(4)], Test: w.words(nasty)},
	}}
	for range w.IntN(6) {
		p.State.Next = append(p.State.Next, Action{Text: w.words(nasty), Done: w.one(3)})
	}
	section := func() string {
		if len(sections) > 0 && !w.one(3) {
			return sections[w.IntN(len(sections))]
		}
		return constraintSections[w.IntN(len(constraintSections)-1)]
	}
	for range w.IntN(4) {
		if name := section(); name != supersededName {
			p.Constraints.Add = append(p.Constraints.Add, Added{name, w.words(nasty)})
		}
	}
	for _, name := range sections {
		for _, text := range texts[name] {
			switch {
			case name == supersededName && !w.one(20):
			case w.one(6):
				p.Constraints.Edit = append(p.Constraints.Edit, Edited{name, text, w.words(nasty)})
			case w.one(6):
				p.Constraints.Supersede = append(p.Constraints.Supersede, Superseded{name, strings.ToUpper(text), w.words(nasty)})
			case w.one(20):
				p.Constraints.Add = append(p.Constraints.Add, Added{name, text})
			}
		}
	}
	for range w.IntN(4) {
		d := Decision{
			Date: fmt.Sprintf("%s-0%d", []string{"2026-02", "2026-01", "2025-12", "2025-11"}[w.IntN(4)], 1+w.IntN(6)), Title: w.words(nasty), Kind: kindDecision, Why: w.words(nasty), Impact: w.words(nasty),
			Evidence: []string{"abcdef1", "https://example.org/a/b/pull/7"}[:1+w.IntN(2)],
		}
		if w.one(3) {
			d = Decision{Date: d.Date, Title: d.Title, Kind: kindFix, Symptom: d.Why, RootCause: d.Impact, Fix: w.words(nasty), Prevention: w.words(nasty), Evidence: d.Evidence}
		}
		p.Decisions = append(p.Decisions, d)
	}
	if w.one(3) {
		for range 5 {
			p.Recent = append(p.Recent, w.words(nasty))
		}
	}
	return p
}

func TestApplyLosesNothing(t *testing.T) {
	w := newWriter(3)
	const runs = 2000
	accepted, changed := 0, 0
	for i := range runs {
		text, sections, texts := w.constraints()
		old := Files{Constraints: Parse(Constraints, []byte(text)), Decisions: Parse(Decisions, []byte(w.decisions()))}
		switch w.IntN(10) {
		case 0:
			old, sections, texts = Files{}, nil, nil
		case 1, 2:
			old.Constraints, old.Decisions = Parse(Constraints, []byte(w.mess())), Parse(Decisions, []byte(w.mess()))
			sections, texts = quoted(old)
		}
		if w.one(2) {
			old.State = Parse(State, []byte(w.finish("# State\n\n## Blockers\n- x\n")))
		}
		p := w.proposal(sections, texts, []int{0, 0, 40, 5}[i%4])
		if holdContract(t, old, p, testEnvironment()) {
			accepted++
			if len(p.Constraints.Edit)+len(p.Constraints.Supersede) > 0 {
				changed++
			}
		}
	}
	t.Logf("%d of %d proposals accepted, %d with edits", accepted, runs, changed)
	if accepted < runs/3 || changed < runs/10 {
		t.Errorf("only %d of %d proposals accepted, %d with edits: the test says too little", accepted, runs, changed)
	}
}

// TestApplyKeepsRealFiles changes files that people wrote: those of the briefs.
func TestApplyKeepsRealFiles(t *testing.T) {
	w := newWriter(5)
	accepted := 0
	for _, name := range examples(t, "testdata/briefs/*.txtar") {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		old := parseFiles(archive)
		sections, texts := quoted(old)
		for range 100 {
			if holdContract(t, old, w.proposal(sections, texts, 0), testEnvironment()) {
				accepted++
			}
		}
	}
	if accepted < 300 {
		t.Errorf("only %d proposals accepted", accepted)
	}
}

// TestFreshFilesAreClean holds files made from nothing against Lint and the brief:
// nothing of a proposal may be hidden from a session.
func TestFreshFilesAreClean(t *testing.T) {
	w := newWriter(7)
	env := testEnvironment()
	accepted := 0
	for range 500 {
		p := w.proposal(nil, nil, 8)
		if len(Check(Files{}, p, env)) > 0 {
			continue
		}
		accepted++
		made, err := Apply(Files{}, p, env)
		if err != nil {
			t.Fatal(err)
		}
		if problems := Lint(made, env); len(problems) > 0 {
			t.Fatalf("Lint: %v\n%s", problems, made.Current())
		}
		root := writeFiles(t, made)
		read, problems := ReadFiles(root)
		if diff := cmp.Diff(made.Current(), read.Current()); diff != "" || len(problems) > 0 {
			t.Fatalf("read back: %v %s", problems, diff)
		}
		brief := New(t.Context(), Request{Name: "shop", Root: root, Budget: 100_000, Now: env.Today})
		text := strings.ReplaceAll(brief.Text(), "\n  ", "\n")
		want := []string{p.State.Objective}
		want = append(want, p.State.Active...)
		want = append(want, slices.DeleteFunc(slices.Clone(p.State.Blockers), isNone)...)
		want = append(want, slices.DeleteFunc(slices.Clone(p.State.OutOfScope), isNone)...)
		for _, action := range p.State.Next {
			want = append(want, strings.TrimPrefix(strings.TrimPrefix(action.Text, "- "), "[ ]"))
		}
		for _, a := range p.Constraints.Add {
			if slices.ContainsFunc(constraintsShown, func(name string) bool { return strings.EqualFold(name, a.Section) }) {
				want = append(want, updatedMark.ReplaceAllString(a.Text, ""))
			}
		}
		for _, e := range p.Decisions {
			if day, _ := cutDate(e.Date); env.day().Sub(day) <= recentDays*24*time.Hour {
				want = append(want, strings.TrimLeft(e.Title, "—- "), strings.TrimRight(e.Why+e.RootCause, ". "))
			}
		}
		for _, line := range want {
			if line = clean(line); !strings.Contains(strings.ToLower(text), strings.TrimRight(strings.ToLower(line), ".")) {
				proposal, _ := json.MarshalIndent(p, "", " ")
				t.Fatalf("the brief does not tell %q:\n%s\n%s", line, text, proposal)
			}
		}
	}
	if accepted < 100 {
		t.Errorf("only %d proposals accepted", accepted)
	}
}

// writeFiles writes files into a new folder.
func writeFiles(t *testing.T, f Files) (root string) {
	t.Helper()
	root = t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, Dir), 0o755); err != nil {
		t.Fatal(err)
	}
	for kind, d := range []*Document{State: f.State, Constraints: f.Constraints, Decisions: f.Decisions} {
		if err := os.WriteFile(filepath.Join(root, Kind(kind).Path()), d.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestBriefTellsReview(t *testing.T) {
	env := testEnvironment()
	env.Review = []string{"history was\nrewritten <!-- hidden -->", "55 commits are left"}
	made, err := Apply(Files{}, &Proposal{State: StateProposal{Objective: "o", Active: []string{"a"}}}, env)
	if err != nil {
		t.Fatal(err)
	}
	text := New(t.Context(), Request{Name: "shop", Root: writeFiles(t, made), Now: env.Today}).Text()
	if want := "Manual review: history was rewritten &lt;!-- hidden -->; 55 commits are left\n"; strings.Count(text, want) != 1 || strings.Count(text, "Manual review") != 1 {
		t.Errorf("the brief does not tell %q:\n%s", want, text)
	}
	if strings.Contains(text, nothingRecent) {
		t.Errorf("the brief tells that there is nothing:\n%s", text)
	}
}

// TestCleanLines holds any text, made clean, against the parser: as a bullet or a
// heading it is that and nothing else, and cleaning it again changes nothing.
func TestCleanLines(t *testing.T) {
	w := newWriter(11)
	for range 20_000 {
		text := w.mess() + w.words(2) + w.mess()
		line := clean(text[w.IntN(len(text)):])
		if again := clean(line); again != line {
			t.Fatalf("%q becomes %q, then %q", text, line, again)
		}
		if line == "" {
			continue
		}
		for _, kind := range []Kind{State, Constraints, Decisions} {
			d := Parse(kind, []byte("- "+line+"\n"))
			if blocks := d.Sections[0].Blocks; len(d.Sections) != 1 || len(blocks) != 1 || blocks[0].Type != Item || blocks[0].Text() != line {
				t.Fatalf("%q, from %q, as a bullet:\n%s", line, text, outline(d))
			}
		}
	}
}

func TestSplicing(t *testing.T) {
	for _, tc := range []struct {
		data  string
		edits splicing
		want  string
	}{
		{"a\nb\n", nil, "a\nb\n"},
		{"a\nb\n", splicing{{start: 2, end: 4}, {text: "c\n"}}, "c\na\n"},
		{"a\nb", splicing{{start: 3, end: 3, text: "c\nd\n"}}, "a\nb\nc\nd"},
		{"a\nb", splicing{{start: 3, end: 3, text: "c\n", apart: true}, {start: 3, end: 3, text: "d\n", apart: true}}, "a\nb\n\nc\n\nd"},
		{"a\r\nb\r\n", splicing{{start: 3, end: 3, text: "c\n", apart: true}}, "a\r\n\r\nc\r\n\r\nb\r\n"},
		{"a\r\n\r\n\r\nb\r\n", splicing{{start: 5, end: 5, text: "c\n", apart: true}}, "a\r\n\r\nc\r\n\r\nb\r\n"},
		{"\ufeffa\n", splicing{{start: 3, end: 3, text: "c\n", apart: true}}, "\ufeffc\n\na\n"},
		{"", splicing{{text: "c\n", apart: true}}, "c\n"},
	} {
		if got := tc.edits.apply(tc.data); got != tc.want {
			t.Errorf("%q with %+v = %q, want %q", tc.data, tc.edits, got, tc.want)
		}
	}
}

func TestReadFiles(t *testing.T) {
	root := t.TempDir()
	if f, problems := ReadFiles(root); f != (Files{}) || len(problems) > 0 || f.Current() != (Current{}) {
		t.Errorf("of nothing: %+v, %v", f, problems)
	}
	if err := os.MkdirAll(filepath.Join(root, Decisions.Path()), 0o755); err != nil {
		t.Fatal(err)
	}
	for kind, text := range map[Kind]string{State: "# State\n", Constraints: "\xff"} {
		if err := os.WriteFile(filepath.Join(root, kind.Path()), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, problems := ReadFiles(root)
	if len(problems) != 2 || f.State == nil || f.Constraints != nil || f.Decisions != nil || f.Current().State != "# State\n" {
		t.Errorf("%+v, %v", f, problems)
	}
}

func TestCheckEnvironment(t *testing.T) {
	p := &Proposal{State: StateProposal{Objective: "o", Active: []string{Unknown}}}
	if problems := Check(Files{}, p, testEnvironment()); len(problems) > 0 {
		t.Fatal(problems)
	}
	for name, change := range map[string]func(*Environment){
		"no day": func(env *Environment) { env.Today = time.Time{} }, "no hash": func(env *Environment) { env.To = "" }, "a short hash": func(env *Environment) { env.To = "0123456" },
	} {
		env := testEnvironment()
		change(&env)
		if problems := Check(Files{}, p, env); len(problems) != 1 || problems[0].Where != "environment" {
			t.Errorf("%s: %v", name, problems)
		}
	}
	if len(Check(Files{}, nil, testEnvironment())) == 0 {
		t.Error("no proposal is one")
	}
}

// FuzzApply changes any files by proposals that quote their bullets and say any
// text.
func FuzzApply(f *testing.F) {
	for i, name := range append(examples(f, "testdata/apply/*.txtar"), examples(f, "testdata/briefs/*.txtar")...) {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		current := parseFiles(archive).Current()
		f.Add([]byte(current.State), []byte(current.Constraints), []byte(current.Decisions), nastyTexts[i%len(nastyTexts)], uint64(i))
	}
	w := newWriter(9)
	for i, text := range nastyTexts {
		constraints, _, _ := w.constraints()
		f.Add([]byte("# State\n"), []byte(constraints), []byte(w.decisions()), text, uint64(i))
	}
	f.Fuzz(func(t *testing.T, state, constraints, decisions []byte, text string, seed uint64) {
		old := Files{State: Parse(State, state), Constraints: Parse(Constraints, constraints), Decisions: Parse(Decisions, decisions)}
		w := newWriter(seed)
		w.nasty = []string{text}
		sections, texts := quoted(old)
		holdContract(t, old, w.proposal(sections, texts, 4), testEnvironment())
	})
}

func FuzzLint(f *testing.F) {
	for _, name := range append(examples(f, "testdata/lint/*.txtar"), examples(f, "testdata/briefs/*.txtar")...) {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(file.Data, file.Data)
		}
	}
	f.Fuzz(func(t *testing.T, before, after []byte) {
		files := func(data []byte) Files {
			return Files{Parse(State, data), Parse(Constraints, data), Parse(Decisions, data)}
		}
		old, new := files(before), files(after)
		for _, problem := range slices.Concat(Lint(old, testEnvironment()), CheckChange(old, new)) {
			if problem.File == "" || problem.Where == "" || problem.What == "" {
				t.Fatalf("%+v", problem)
			}
		}
		if problems := CheckChange(old, old); len(problems) > 0 {
			t.Fatalf("no change: %v", problems)
		}
	})
}
