package rules

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/chinvex/chinvex/memory"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// readInputs reads an archive: "log", and by kind the excerpts "manifest/PATH",
// "text/PATH", "file/PATH", and the memory files. A commit of the log starts with
// "== DATE AUTHOR | FILE, FILE"; its hash is made from its subject.
func readInputs(t testing.TB, path string) (*memory.Inputs, *txtar.Archive) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	in := &memory.Inputs{Repository: "test", Today: "2027-06-01"}
	for _, f := range archive.Files {
		kind, name, _ := strings.Cut(f.Name, "/")
		e := memory.Excerpt{Path: name, Text: string(f.Data)}
		switch kind {
		case "log":
			for _, c := range strings.Split("\n"+string(f.Data), "\n== ")[1:] {
				head, message, _ := strings.Cut(c, "\n")
				who, files, _ := strings.Cut(head, " | ")
				day, author, _ := strings.Cut(who, " ")
				subject, body, _ := strings.Cut(message, "\n")
				sum := sha1.Sum([]byte(subject))
				when, err := time.Parse(time.DateOnly, day)
				if err != nil {
					t.Fatal(err)
				}
				one := memory.Commit{Hash: hex.EncodeToString(sum[:]), Time: when, Author: author, Subject: subject, Body: strings.TrimSpace(body)}
				if files = strings.TrimSpace(files); files != "" {
					one.Files = strings.Split(files, ", ")
				}
				in.Commits = append(in.Commits, one)
			}
		case "manifest":
			in.Manifests = append(in.Manifests, e)
		case "text":
			in.Texts = append(in.Texts, e)
		case "file":
			in.Files = append(in.Files, e)
		case "state":
			in.Memory.State = e.Text
		case "constraints":
			in.Memory.Constraints = e.Text
		case "decisions":
			in.Memory.Decisions = e.Text
		case "proposal.json":
		default:
			t.Fatalf("%s: what is %s?", path, f.Name)
		}
	}
	return in, archive
}

func asJSON(t testing.TB, p *memory.Proposal) []byte {
	t.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(p); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestPropose holds the proposals against those at the end of the archives, which
// were read line by line as the project's maintainer would.
func TestPropose(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 5 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			in, archive := readInputs(t, path)
			p := Propose(in)
			hold(t, in, p)
			got := asJSON(t, p)
			golden := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "proposal.json" })
			if *update {
				if golden < 0 {
					golden = len(archive.Files)
					archive.Files = append(archive.Files, txtar.File{Name: "proposal.json"})
				}
				archive.Files[golden].Data = got
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if golden < 0 {
				t.Fatal("no proposal.json; run with -update and read it")
			}
			if diff := cmp.Diff(string(archive.Files[golden].Data), string(got)); diff != "" {
				t.Errorf("differs; run with -update and read the diff:\n%s", diff)
			}
		})
	}
}

// hold checks what is true of every proposal.
func hold(t testing.TB, in *memory.Inputs, p *memory.Proposal) {
	t.Helper()
	if again := Propose(in); !bytes.Equal(asJSON(t, p), asJSON(t, again)) {
		t.Error("the same inputs give another proposal")
	}
	exists := func(evidence string) bool {
		return slices.ContainsFunc(in.Commits, func(c memory.Commit) bool {
			return len(evidence) >= 7 && strings.HasPrefix(c.Hash, evidence)
		})
	}
	line := func(where, s string) {
		if s == "" || strings.ContainsAny(s, "\n\r\x00\x1b") || strings.Contains(s, "<!--") || len([]rune(s)) > 700 || strings.TrimSpace(s) != s {
			t.Errorf("%s is no line: %q", where, s)
		}
	}
	if len(p.Decisions) > maxDecisions {
		t.Errorf("%d decisions", len(p.Decisions))
	}
	for i, d := range p.Decisions {
		if i > 0 && d.Date > p.Decisions[i-1].Date {
			t.Errorf("%s stands after an older one", d.Title)
		}
		line("title", d.Title)
		switch d.Kind {
		case "decision":
			line("why", d.Why)
			line("impact", d.Impact)
			if d.Symptom+d.RootCause+d.Fix+d.Prevention != "" {
				t.Errorf("%s is a decision and a fix", d.Title)
			}
		case "fix":
			line("symptom", d.Symptom)
			line("cause", d.RootCause)
			line("fix", d.Fix)
			line("prevention", d.Prevention)
			if d.Why+d.Impact != "" {
				t.Errorf("%s is a fix and a decision", d.Title)
			}
		default:
			t.Errorf("%s is a %q", d.Title, d.Kind)
		}
		if len(d.Evidence) == 0 || !exists(d.Evidence[0]) {
			t.Errorf("%s has the evidence %q", d.Title, d.Evidence)
		}
	}
	env := memory.Environment{Today: time.Date(2027, 6, 1, 0, 0, 0, 0, time.UTC), To: strings.Repeat("a", 40), Exists: exists}
	plain := &memory.Proposal{State: memory.StateProposal{Objective: memory.Unknown, Active: []string{memory.Unknown}}}
	for _, section := range []string{"Infrastructure", "Key Facts"} {
		plain.Constraints.Add = append(plain.Constraints.Add, memory.Added{Section: section, Text: "A fact of the section " + section})
	}
	// A damaged file takes no proposal, whoever makes it.
	if len(memory.Check(files(in.Memory), plain, env)) == 0 {
		for _, problem := range memory.Check(files(in.Memory), p, env) {
			t.Error("refused: ", problem)
		}
	}
	line("objective", p.State.Objective)
	if n := len(p.State.Active); n < 1 || n > maxActive || len(p.State.Blockers) > maxBlockers || len(p.State.Next) > maxActions || len(p.State.OutOfScope) > maxOutOfScope {
		t.Errorf("too much state: %+v", p.State)
	}
	for _, s := range slices.Concat(p.State.Active, p.State.Blockers, p.State.OutOfScope) {
		line("state", s)
	}
	for _, a := range p.State.Next {
		line("action", a.Text)
	}
	for _, a := range p.Constraints.Add {
		line("constraint", a.Text)
	}
	for _, e := range p.Constraints.Edit {
		line("constraint", e.New)
		if !bulletExists(in.Memory.Constraints, e.Section, e.Old) {
			t.Errorf("edits %q, which does not exist in %s", e.Old, e.Section)
		}
	}
	for _, s := range p.Constraints.Supersede {
		if !bulletExists(in.Memory.Constraints, s.Section, s.Old) {
			t.Errorf("supersedes %q, which does not exist in %s", s.Old, s.Section)
		}
	}
}

// files are the memory as it is, where it is the maintainer's: it refuses to
// write over a STATE.md that is not.
func files(c memory.Current) memory.Files {
	var f memory.Files
	if c.Constraints != "" {
		f.Constraints = memory.Parse(memory.Constraints, []byte(c.Constraints))
	}
	if c.Decisions != "" {
		f.Decisions = memory.Parse(memory.Decisions, []byte(c.Decisions))
	}
	return f
}

func bulletExists(text, section, bullet string) bool {
	s := memory.Parse(memory.Constraints, []byte(text)).Section(section)
	return s != nil && slices.ContainsFunc(s.Blocks, func(b memory.Block) bool { return b.Type == memory.Item && b.Text() == bullet })
}

func FuzzPropose(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*.txtar")
	for _, path := range paths {
		in, _ := readInputs(f, path)
		for _, c := range in.Commits {
			f.Add(c.Subject, c.Body, strings.Join(c.Files, "\n"), "Makefile", "test: all\n", in.Memory.State, in.Memory.Constraints)
		}
		for _, m := range in.Manifests {
			f.Add("feat!: x", "Because it would fail.", m.Path, m.Path, m.Text, in.Memory.State, in.Memory.Constraints)
		}
		for _, m := range in.Texts {
			f.Add("add a flag", "Because it would fail.", "CHANGES.rst", m.Path, m.Text, "", "")
		}
	}
	f.Add("a", "", "a", "docs/\x80\x00`plans.md", "- [ ] a\n- [x] b\n", "## Next Actions\n\n- [ ] "+strings.Repeat("y", 1000), "")
	f.Fuzz(func(t *testing.T, subject, body, files, path, text, state, constraints string) {
		excerpt := []memory.Excerpt{{Path: path, Text: text}}
		in := &memory.Inputs{
			Today: "2027-06-01",
			Commits: []memory.Commit{
				{Hash: strings.Repeat("ab", 20), Time: time.Unix(1_800_000_000, 0).UTC(), Author: "A", Subject: subject, Body: body, Files: strings.Split(files, "\n")},
				{Hash: strings.Repeat("cd", 20), Time: time.Unix(1_700_000_000, 0).UTC(), Author: "B", Subject: body, Body: subject},
			},
			Files: append(excerpt, memory.Excerpt{Path: "CHANGES.rst", Text: body}), Texts: excerpt, Manifests: excerpt,
			Memory: memory.Current{State: state, Constraints: constraints},
		}
		hold(t, in, Propose(in))
	})
}
