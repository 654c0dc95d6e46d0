package rules

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chinvex/chinvex/memory"
)

func TestQuick(t *testing.T) {
	for _, test := range []struct {
		name      string
		manifests map[string]string
		touched   string
		current   memory.Quick
		want      memory.Quick
	}{
		{name: "nothing", want: memory.Quick{}},
		{
			name:      "a person's words stay",
			manifests: map[string]string{"go.mod": "module example.com/x\n\ngo 1.26\n"},
			current:   memory.Quick{Test: "go test -short ./...", Entry: "x.go"},
			want:      memory.Quick{Test: "go test -short ./...", Entry: "x.go"},
		},
		{
			name:      "a target that is gone does not",
			manifests: map[string]string{"justfile": "test:\n    true\nserve port:\n    true\nrun port='80' *args:\n    true\nset shell := ['x']\n"},
			current:   memory.Quick{Run: "just start", Test: "just check"},
			want:      memory.Quick{Run: "just run", Test: "just test"},
		},
		{
			name:      "a variable is no target",
			manifests: map[string]string{"Makefile": "test := x\nrun ::= y\n.PHONY: test\ncheck: a b\n"},
			want:      memory.Quick{Test: "make check"},
		},
		{
			name:      "the placeholder of npm init is no test",
			manifests: map[string]string{"package.json": `{"scripts": {"test": "echo \"Error: no test specified\" && exit 1", "start": "node ."}}`},
			want:      memory.Quick{Run: "npm start"},
		},
		{
			name:      "lock files tell the package manager",
			manifests: map[string]string{"package.json": `{"scripts": {"test": "x", "dev": "y"}, "bin": {"a": "a.js", "b": "b.js"}}`},
			touched:   "yarn.lock",
			want:      memory.Quick{Run: "yarn run dev", Test: "yarn test"},
		},
		{
			name:      "the language most worked in",
			manifests: map[string]string{"package.json": `{"scripts": {"test": "x"}}`, "pyproject.toml": "[tool.pytest.ini_options]\n"},
			touched:   "a/b.py",
			want:      memory.Quick{Test: "pytest"},
		},
		{
			name:      "several programs and none of the module's name",
			manifests: map[string]string{"go.mod": "module example.com/x\n", "Makefile": "build:\n\tgo build -o a ./cmd/a\n\tgo build ./cmd/b\n"},
			want:      memory.Quick{Test: "go test ./..."},
		},
		{
			name:      "the README last",
			manifests: map[string]string{"README.md": "Call `make test`.\n```sh\n$ rm -rf / && make test\n$ ctest --preset all # slow\n```\n"},
			want:      memory.Quick{Test: "ctest --preset all"},
		},
		{
			name:      "malformed",
			manifests: map[string]string{"package.json": "{", "pyproject.toml": "[", "Cargo.toml": "= 1", "go.mod": "go 1.2.3.4"},
			want:      memory.Quick{},
		},
		{
			name:      "not in the root",
			manifests: map[string]string{"vendor/x/go.mod": "module x\n"},
			want:      memory.Quick{},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := &memory.Inputs{Commits: []memory.Commit{{Files: strings.Fields(test.touched)}}}
			for _, path := range []string{"go.mod", "justfile", "Makefile", "package.json", "pyproject.toml", "Cargo.toml", "README.md", "vendor/x/go.mod"} {
				if text, ok := test.manifests[path]; ok {
					in.Manifests = append(in.Manifests, memory.Excerpt{Path: path, Text: text})
				}
			}
			if diff := cmp.Diff(test.want, readManifests(in).quick(test.current)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConstraints(t *testing.T) {
	const head = "# Constraints\n\n## Infrastructure\n\n"
	goMod := []memory.Excerpt{{Path: "go.mod", Text: "module example.com/x\n\ngo 1.26\n"}}
	module := memory.Added{Section: "Key Facts", Text: "Go module `example.com/x` (`go.mod`)"}
	needs := memory.Added{Section: "Infrastructure", Text: "Needs Go 1.26 or newer (`go.mod`)"}
	none := memory.ConstraintsProposal{Add: []memory.Added{}, Edit: []memory.Edited{}, Supersede: []memory.Superseded{}}
	with := func(change func(*memory.ConstraintsProposal)) memory.ConstraintsProposal {
		p := none
		change(&p)
		return p
	}
	for _, test := range []struct {
		name, current string
		manifests     []memory.Excerpt
		want          memory.ConstraintsProposal
	}{
		{"new", "", goMod, with(func(p *memory.ConstraintsProposal) { p.Add = []memory.Added{needs, module} })},
		{"there", head + "- Needs Go 1.26 or newer (`go.mod`) (updated 2026-01-01)\n- Is example.com/x\n", goMod, none},
		{"said in other words", head + "- At least Go 1.26.0, module example.com/x\n", goMod, none},
		{"other number, other fact", head + "- Go 1.22 had a bug in example.com/x\n", goMod, with(func(p *memory.ConstraintsProposal) { p.Add = []memory.Added{needs} })},
		{"changed", head + "- Needs Go 1.24 or newer (`go.mod`)\n- example.com/x\n", goMod, with(func(p *memory.ConstraintsProposal) {
			p.Edit = []memory.Edited{{Section: "Infrastructure", Old: "Needs Go 1.24 or newer (`go.mod`)", New: needs.Text}}
		})},
		{"twice the same", head + "- Needs Go 1.24 or newer (`go.mod`)\n- Needs Go 1.24 or newer (`go.mod`)\n- example.com/x\n", goMod, none},
		{"gone", head + "- Needs Go 1.24 or newer (`go.mod`)\n", []memory.Excerpt{{Path: "go.mod", Text: "// nothing\n"}}, with(func(p *memory.ConstraintsProposal) {
			p.Supersede = []memory.Superseded{{Section: "Infrastructure", Old: "Needs Go 1.24 or newer (`go.mod`)", Reason: "`go.mod` no longer says it"}}
		})},
		{"not read whole", head + "- Needs Go 1.24 or newer (`go.mod`)\n", []memory.Excerpt{{Path: "go.mod", Text: "", Cut: true}}, none},
		{"not read", head + "- Needs Go 1.24 or newer (`go.mod`)\n", nil, none},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := &memory.Inputs{Manifests: test.manifests}
			if diff := cmp.Diff(test.want, constraints(test.current, readManifests(in))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNoDecision holds commits that are none of what others rely on, each with
// a body that would be a reason.
func TestNoDecision(t *testing.T) {
	for _, c := range []struct{ subject, files string }{
		{"Merge branch 'main' into next", "a.go"},
		{"docs: update memory files", "docs/memory/STATE.md"},
		{"Bump x from 1 to 2", "go.mod"},
		{"chore(deps): require y 3", "go.mod"},
		{"Add tests for the parser", "a_test.go"},
		{"Add a command line example", "docs/cli.md"},
		{"Fix typo in the security guide", "docs/security.md"},
		{"Refactor the config format reader", "config.go"},
		{"Rename a variable", "a.go"},
		{"Remove unused option parser", "a.go"},
		{"Disable a job by default", ".github/workflows/test.yml"},
		{"style: make the default longer", "a.go"},
		{"fixup! Add a flag", "a.go"},
	} {
		commit := memory.Commit{Hash: strings.Repeat("a1", 20), Time: time.Unix(1_800_000_000, 0), Author: "A", Subject: c.subject,
			Body: "It would fail otherwise, because the old one is slow.", Files: []string{c.files}}
		if d := decisions(&memory.Inputs{Commits: []memory.Commit{commit}}); len(d) != 0 {
			t.Errorf("%q: %+v", c.subject, d)
		}
	}
}

// TestDecisionOnce leaves out what DECISIONS.md tells already and what the range
// itself takes back.
func TestDecisionOnce(t *testing.T) {
	add := memory.Commit{Hash: strings.Repeat("a1", 20), Time: time.Unix(1_800_000_000, 0), Subject: "Add an option to wait", Body: "It would fail otherwise.", Files: []string{"a.go"}}
	if d := decisions(&memory.Inputs{Commits: []memory.Commit{add}}); len(d) != 1 {
		t.Fatalf("%+v", d)
	}
	if d := decisions(&memory.Inputs{Commits: []memory.Commit{add}, Memory: memory.Current{Decisions: "- **Evidence:** a1a1a1a1\n"}}); len(d) != 0 {
		t.Errorf("told twice: %+v", d)
	}
	if d := decisions(&memory.Inputs{Commits: []memory.Commit{add}, Today: "2026-12-31"}); d[0].Date != "2026-12-31" {
		t.Errorf("%s is to come", d[0].Date)
	}
	revert := memory.Commit{Hash: strings.Repeat("b2", 20), Time: time.Unix(1_800_000_009, 0), Subject: `Revert "Add an option to wait"`,
		Body: "This reverts commit " + add.Hash + ".\n\nWaiting would hang on Windows.", Files: []string{"a.go"}}
	d := decisions(&memory.Inputs{Commits: []memory.Commit{revert, add}})
	if len(d) != 1 || d[0].Why != "Waiting would hang on Windows." {
		t.Errorf("%+v", d)
	}
}

func TestSentences(t *testing.T) {
	for _, test := range []struct {
		body string
		want []string
	}{
		{"One thing, e.g. this. Another\nthing is so.", []string{"One thing, e.g. this.", "Another thing is so."}},
		{"It prints this:\n\n    x = 1\n\nand stops there.\n\nThat is wrong.", []string{"That is wrong."}},
		{"Run it like\n```\nx\n```\nThen it fails badly.", []string{"Then it fails badly."}},
		{"Problem\n-------\n\nIt is slow.\n\nTest plan\n--\n\nRan it all.", []string{"It is slow."}},
		{"* Add a thing\n\n* fix lint\n\n---------\n\nCo-authored-by: A <a@example.com>", nil},
		{"- It is slow.\n- It is large.", []string{"It is slow.", "It is large."}},
		{"See [the guide](https://example.com/a) and `**all**`, **now**.", nil},
		{"It takes `**all**`, **now** and [here](https://example.com/a).", []string{"It takes `**all**`, now and here."}},
		{"Fixes #12\nCloses https://example.com/1, #3", nil},
		{"<!-- chinvex:last-commit:" + strings.Repeat("a", 40) + " -->\nIt is so.", []string{"It is so."}},
		{"Je dis « non ». Ça va bien.\xff", []string{"Je dis « non ».", "Ça va bien.\uFFFD."}},
	} {
		got := readMessage(memory.Commit{Subject: "x", Body: test.body}).sentences
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q: %s", test.body, diff)
		}
	}
}

func TestUnfinishedWork(t *testing.T) {
	for subject, want := range map[string]int{"WIP: parser": 1, "Temporarily disable the cache": 1, "Add a parser": 0, "Revert \"x\"": 0} {
		in := &memory.Inputs{Commits: []memory.Commit{{Subject: subject}}, Memory: memory.Current{State: "## Blockers\nNone\n"}}
		if got := Propose(in).State.Blockers; len(got) != want {
			t.Errorf("%q: %q", subject, got)
		}
	}
	if got := Propose(&memory.Inputs{}).State.Blockers; len(got) != 1 || got[0] != memory.NeedsTriage {
		t.Errorf("where nothing is known: %q", got)
	}
	const said = "## Blockers\n\n- The key has expired\n"
	if got := Propose(&memory.Inputs{Memory: memory.Current{State: said}}).State.Blockers; len(got) != 1 || got[0] != "The key has expired" {
		t.Errorf("%q", got)
	}
}
