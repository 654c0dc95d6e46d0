package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chinvex/chinvex/memory"
)

// inputsForm is where a plan, or a request made of one, holds the inputs.
var inputsForm = regexp.MustCompile(`(?s)<inputs>\n(.*?)</inputs>`)

// proposalFrom does what a model does: it reads the inputs and proposes.
func proposalFrom(t *testing.T, text string) *memory.Proposal {
	t.Helper()
	found := inputsForm.FindStringSubmatch(text)
	if found == nil {
		t.Errorf("no inputs in\n%s", text)
		return &memory.Proposal{}
	}
	var in memory.Inputs
	if err := json.Unmarshal([]byte(found[1]), &in); err != nil || len(in.Commits) == 0 {
		t.Errorf("inputs: %v, %d commits", err, len(in.Commits))
		return &memory.Proposal{}
	}
	newest := in.Commits[0]
	return &memory.Proposal{
		State: memory.StateProposal{Objective: "Sell in several currencies.", Active: []string{newest.Subject}, Blockers: []string{}, Next: []memory.Action{},
			Quick: memory.Quick{Test: "npm test"}, OutOfScope: []string{}},
		Constraints: memory.ConstraintsProposal{Add: []memory.Added{{Section: "Rules", Text: "A total is never below zero"}}, Edit: []memory.Edited{}, Supersede: []memory.Superseded{}},
		Decisions: []memory.Decision{{Date: newest.Time.Format("2006-01-02"), Title: "Vouchers round", Kind: "decision", Why: "Cents.", Impact: "Totals are whole cents.",
			Evidence: []string{newest.Hash}}},
		Recent: []string{},
	}
}

// everything is all that the model reads of a request.
func everything(r *Request) string {
	var b strings.Builder
	for _, text := range r.Texts() {
		b.WriteString(text.Text + "\n")
	}
	return b.String()
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	must(t, err)
	return string(data)
}

// withoutMemory takes away the memory files that the fixture comes with.
func (p *place) withoutMemory() {
	p.t.Helper()
	if p.read("docs/memory/STATE.md") != "" {
		p.git(20, "rm", "-q", "-r", "docs/memory")
		p.git(20, "commit", "-q", "-m", "Start without memory")
	}
}

// TestMemoryTools has the agent write the project's memory: a plan, a proposal that is
// refused, the corrected one, and the next session begins with what it says.
func TestMemoryTools(t *testing.T) {
	t.Parallel()
	program := client(t, current)
	p := newPlace(t)
	p.withoutMemory()
	p.chinvex("ingest")
	p.chinvex("hooks", "install", "--mcp")

	var proposal *memory.Proposal
	apply := func(p *memory.Proposal) Turn {
		var input map[string]any
		must(t, json.Unmarshal([]byte(asJSON(t, p)), &input))
		return call("mcp__chinvex__memory_apply", map[string]any{"proposal": input})
	}
	m := NewModel(Script{Turns: []Turn{
		0: call("mcp__chinvex__memory_plan", nil),
		1: {From: func(r *Request) Turn {
			proposal = proposalFrom(t, last(r.Results()))
			wrong := *proposal
			wrong.Decisions = slices.Clone(wrong.Decisions)
			wrong.Decisions[0].Evidence = []string{strings.Repeat("0", 40)}
			return apply(&wrong)
		}},
		2: {From: func(*Request) Turn { return apply(proposal) }},
		3: {Text: "The memory is up to date."},
		4: {Text: "Good morning."}, // in a new session
	}})
	p.run(program, m, func(s *Session) { s.Prompt = "Please update the project's memory." })
	if refused := last(m.Asked("", 2).Results()); !strings.Contains(refused, "nothing was written") || !strings.Contains(refused, "DECISIONS.md") {
		t.Errorf("the wrong proposal: %s", refused)
	}
	if done := last(m.Asked("", 3).Results()); !strings.Contains(done, "Written: docs/memory/CONSTRAINTS.md") || !strings.Contains(done, "+- A total is never below zero") {
		t.Errorf("the right proposal: %s", done)
	}
	if !strings.Contains(p.read("docs/memory/DECISIONS.md"), "Vouchers round") {
		t.Errorf("DECISIONS.md:\n%s", p.read("docs/memory/DECISIONS.md"))
	}
	if out := p.chinvex("memory", "lint"); !strings.Contains(out, "keep their contracts") {
		t.Error(out)
	}
	p.run(program, m, nil)
	told(t, m, "", 4, "SessionStart", "startup", "Current Objective: Sell in several currencies.", "A total is never below zero")
}

// TestMemoryByClaude has `chinvex update-memory --llm claude-cli` run the real program.
func TestMemoryByClaude(t *testing.T) {
	t.Parallel()
	program := client(t, current)
	p := newPlace(t)
	p.withoutMemory()
	p.chinvex("ingest")
	bin, err := programs()
	must(t, err)
	clients := t.TempDir()
	must(t, os.Symlink(program, filepath.Join(clients, "claude")))
	p.path = clients + string(os.PathListSeparator) + p.path

	m := NewModel(Script{Side: func(r *Request) string {
		return "Here it is.\n```json\n" + asJSON(t, proposalFrom(t, everything(r))) + "\n```"
	}})
	r := p.run(filepath.Join(bin, "chinvex"), m, func(s *Session) { s.Command = []string{"update-memory", "--llm", "claude-cli"} })
	for _, want := range []string{"+Sell in several currencies.", "changed. Look at the difference"} {
		if !strings.Contains(r.Stdout, want) {
			t.Errorf("%q is not in\n%s", want, r.Stdout)
		}
	}
	for _, want := range []string{"asking ", "tokens in"} {
		if !strings.Contains(r.Stderr, want) {
			t.Errorf("%q is not in\n%s", want, r.Stderr)
		}
	}
	asked := m.Requests()
	asked = slices.DeleteFunc(asked, func(r *Request) bool { return r.Kind != Side })
	if len(asked) != 1 {
		t.Fatalf("%d questions", len(asked))
	}
	// What goes out is what --plan prints, and nothing of ours besides.
	must(t, os.RemoveAll(p.file("docs/memory")))
	must(t, os.RemoveAll(p.file(".git/chinvex")))
	plan := p.chinvex("update-memory", "--plan")
	for part := range strings.SplitSeq(plan, "\n\n") {
		if !strings.Contains(everything(asked[0]), strings.TrimSpace(part)) {
			t.Errorf("of the plan this was not sent: %s", part)
		}
	}
	if strings.Contains(everything(asked[0]), "chinvex brief") || strings.Contains(everything(asked[0]), p.repo) {
		t.Errorf("sent: %s", everything(asked[0]))
	}
}
