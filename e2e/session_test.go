package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSession is a day's work: facts come when they help, to whom they help, once.
func TestSession(t *testing.T) {
	t.Parallel()
	program := client(t, current)
	p := newPlace(t)
	p.chinvex("ingest")
	p.chinvex("hooks", "install", "--mcp")

	const marker = "Subagent, look at the vouchers."
	m := NewModel(Script{
		Turns: []Turn{
			0: p.edit("lib/price.js", "Number(amount)", "Number(amount) + 1"),
			1: p.bash("grep -rn 'function reserve' ."),
			2: p.readFile("lib/receipt.js"),
			3: p.bash("node test/price.test.js"),
			4: call("Write", map[string]any{"file_path": p.file("lib/refund.js"), "content": "// refundPrice gives money back.\nfunction refundPrice(price) {\n  return { ...price, amount: -price.amount };\n}\n\nmodule.exports = { refundPrice };\n"}),
			5: {From: func(*Request) Turn {
				p.await("lib/refund.js", "refundPrice")
				return call("mcp__chinvex__search", map[string]any{"query": "refundPrice"})
			}},
			6:  call("Agent", map[string]any{"description": "vouchers", "prompt": marker, "subagent_type": "general-purpose", "run_in_background": false}),
			7:  {Calls: p.bash("true").Calls, Used: 990_000}, // compacts before it goes on
			8:  p.readFile("lib/stock.js"),
			9:  {Text: "That is all for today."},
			10: p.bash("cat lib/stock.js"), // in the second process
			11: p.bash("cat lib/cart.js"),
			12: {Text: "Done."},
		},
		Subagents: []Subagent{{marker, []Turn{
			0: p.readFile("lib/voucher.js"),
			1: p.edit("lib/voucher.js", "Math.max(0, total - value.amount)", "Math.max(0, Math.round(total - value.amount))"),
			2: {Text: "Vouchers are rounded now."},
		}}},
	})
	first := p.run(program, m, func(s *Session) { s.Prompt = "Why does applyVoucher ignore the currency?" })
	second := p.run(program, m, func(s *Session) { s.Resume = first.ID })
	if second.ID != first.ID {
		t.Errorf("the second process is session %s and not %s", second.ID, first.ID)
	}
	for _, r := range []*Result{first, second} {
		if r.Stderr != "" {
			t.Errorf("on standard error: %s", r.Stderr)
		}
	}

	told(t, m, "", 0, "SessionStart", "startup", "chinvex brief: shop", "several currencies", "never below zero")
	told(t, m, "", 0, "UserPromptSubmit", "", "lib/voucher.js", "applyVoucher")
	tools := m.Asked("", 0).Tools()
	for _, name := range []string{"mcp__chinvex__search", "mcp__chinvex__context"} {
		if !slices.ContainsFunc(tools, func(t Tool) bool { return t.Name == name }) {
			t.Errorf("%s is not before the model at once", name)
		}
	}
	told(t, m, "", 1, "PostToolUse", "Edit", "parsePrice in lib/price.js", "lib/cart.js:10 in Cart.add", "lib/voucher.js:5 in applyVoucher", "test/price.test.js")
	told(t, m, "", 2, "PostToolUse", "Bash", "lib/stock.js", "reserve")
	told(t, m, "", 3, "PostToolUse", "Read", "printReceipt", "lib/checkout.js:11 in checkout")
	told(t, m, "", 4, "PostToolUseFailure", "Bash", "test/price.test.js:5 in testParsePrice")
	silent(t, m, "", 5) // of a new file nothing is known that a listing does not tell
	silent(t, m, "", 6)
	if found := last(m.Asked("", 6).Results()); !strings.Contains(found, "lib/refund.js:1-6") {
		t.Errorf("a search does not find what was written a moment ago: %s", found)
	}

	// The subagent is told for itself.
	silent(t, m, marker, 0)
	told(t, m, marker, 1, "PostToolUse", "Read", "applyVoucher", "lib/checkout.js:10 in checkout")
	told(t, m, marker, 2, "PostToolUse", "Edit", "applyVoucher in lib/voucher.js", "lib/checkout.js:10 in checkout")
	silent(t, m, "", 7)
	main, sub := m.Asked("", 7), m.Asked(marker, 2)
	for _, fact := range factsOf(sub) {
		if slices.Contains(factsOf(main), fact) {
			t.Errorf("a fact for the subagent reached the main conversation: %s", fact)
		}
	}

	// Compaction forgets everything; the brief comes again.
	if n := len(slices.DeleteFunc(m.Requests(), func(r *Request) bool { return r.Kind != Compact })); n != 1 {
		t.Errorf("%d compactions, want 1", n)
	}
	told(t, m, "", 8, "SessionStart", "compact", "chinvex brief: shop", "several currencies")
	told(t, m, "", 8, "SessionStart", "", "lib/price.js", "lib/refund.js")
	told(t, m, "", 9, "PostToolUse", "Read", "Stock.reserve", "lib/checkout.js:8 in checkout")

	// The second process remembers what the first one said, and has its brief.
	silent(t, m, "", 10)
	silent(t, m, "", 11)
	told(t, m, "", 12, "PostToolUse", "Bash", "Cart.grandTotal", "lib/checkout.js:10 in checkout")

	for _, r := range []*Request{main, sub, m.Asked("", 12)} {
		once(t, r)
	}
	for _, r := range []*Request{m.Asked("", 7), m.Asked("", 9)} {
		if n := bytes.Count(r.Body, []byte("chinvex brief: ")); n != 1 {
			t.Errorf("request %d holds %d briefs", r.N, n)
		}
	}
}

// shortScript is an edit and a search that we have something to say about, on a
// repository as it was committed. The older client edits only what it has read.
func (p *place) shortScript() *Model {
	p.git(0, "checkout", "-q", "--", "lib")
	return NewModel(Script{Turns: []Turn{
		call("Read", map[string]any{"file_path": p.file("lib/price.js"), "limit": 1}),
		p.edit("lib/price.js", "text.trim()", "text.trimStart()"),
		p.bash("grep -rn 'function reserve' . || echo $SHOP"),
		{Text: "Done."},
	}})
}

// toldShort checks that everything was said in a session of shortScript, each thing once.
func toldShort(t *testing.T, m *Model) {
	t.Helper()
	told(t, m, "", 0, "SessionStart", "startup", "chinvex brief: shop", "several currencies")
	silent(t, m, "", 1)
	told(t, m, "", 2, "PostToolUse", "Edit", "parsePrice in lib/price.js", "lib/cart.js:10 in Cart.add")
	told(t, m, "", 3, "PostToolUse", "Bash", "lib/stock.js", "reserve")
	once(t, m.Asked("", 3))
}

// noWord checks that no request speaks of us.
func noWord(t *testing.T, m *Model) {
	t.Helper()
	if m.Asked("", 3) == nil {
		t.Error("the session ended early")
	}
	for _, r := range m.Requests() {
		if at := bytes.Index(bytes.ToLower(r.Body), []byte("chinvex")); at >= 0 {
			t.Errorf("request %d: …%s…", r.N, r.Body[max(0, at-100):min(len(r.Body), at+100)])
		}
		if hooks := r.Hooks(); len(hooks) > 0 {
			t.Errorf("request %d: %v", r.N, hooks)
		}
	}
}

// userSettings has a form that no program would give it.
const userSettings = "{\r\n\t\"env\": {\"SHOP\":  \"open\"},\r\n\t\"permissions\": { \"deny\": [ \"WebFetch\" ] }}"

// TestRemoved checks that after either uninstall the model hears nothing, and that the
// files are what they were.
func TestRemoved(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{{"uninstall"}, {"hooks", "uninstall"}} {
		t.Run(strings.Join(command, " "), func(t *testing.T) {
			t.Parallel()
			program := client(t, current)
			p := newPlace(t)
			p.write(".claude/settings.json", userSettings)
			p.chinvex("ingest")
			p.chinvex("hooks", "install", "--mcp")
			m := p.shortScript()
			p.run(program, m, nil)
			toldShort(t, m)

			p.chinvex(command...)
			if now := p.read(".claude/settings.json"); now != userSettings {
				t.Errorf("settings.json is now %q", now)
			}
			if now := p.read(".mcp.json"); now != "" {
				t.Errorf(".mcp.json is still there: %s", now)
			}
			m = p.shortScript()
			p.run(program, m, nil)
			noWord(t, m)
		})
	}
}

// TestNotInstalled checks what ingest installs when it is told not to install everything.
func TestNotInstalled(t *testing.T) {
	t.Parallel()
	t.Run("no hook", func(t *testing.T) {
		t.Parallel()
		program := client(t, current)
		p := newPlace(t)
		p.write(".claude/settings.json", userSettings)
		p.chinvex("ingest", "--no-claude-hook")
		if now := p.read(".claude/settings.json"); now != userSettings {
			t.Errorf("settings.json is now %q", now)
		}
		m := p.shortScript()
		p.run(program, m, nil)
		noWord(t, m)
	})
	t.Run("start-up hook", func(t *testing.T) {
		t.Parallel()
		program := client(t, current)
		p := newPlace(t)
		p.chinvex("ingest", "--startup-hook-only")
		m := p.shortScript()
		p.run(program, m, nil)
		told(t, m, "", 0, "SessionStart", "startup", "chinvex brief: shop")
		silent(t, m, "", 2)
		silent(t, m, "", 3)
	})
}

// TestOlderClient checks that a client which drops a settings file for one unknown event
// takes ours, with everything else in it.
func TestOlderClient(t *testing.T) {
	t.Parallel()
	program := client(t, older)
	p := newPlace(t)
	p.write(".claude/settings.json", userSettings)
	p.chinvex("ingest")
	m := p.shortScript()
	p.run(program, m, nil)
	toldShort(t, m)
	if got := last(m.Asked("", 3).Results()); !strings.Contains(got, "open") {
		t.Errorf("env of settings.json is not in force: %q", got)
	}
}

// TestColleague is somebody who has the committed settings and not the programs.
func TestColleague(t *testing.T) {
	t.Parallel()
	for _, version := range []string{current, older} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			program := client(t, version)
			p := newPlace(t)
			p.chinvex("ingest")
			p.git(30, "add", "-A")
			p.git(30, "commit", "-q", "-m", "Settings for all of us")
			m := p.shortScript()
			r := p.run(program, m, func(s *Session) { s.Path = pathWithoutUs() })
			noWord(t, m)
			if r.Stderr != "" {
				t.Errorf("on standard error: %s", r.Stderr)
			}
		})
	}
}

// TestPlugin checks the plugin by itself, and that nothing is said twice where the
// project has hooks too: the client runs both, also where their commands are the same.
func TestPlugin(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"--no-claude-hook"}, nil} {
		t.Run(strings.Join(append([]string{"ingest"}, flags...), " "), func(t *testing.T) {
			t.Parallel()
			program := client(t, current)
			plugin, err := filepath.Abs("../plugin")
			must(t, err)
			p := newPlace(t)
			p.chinvex(append([]string{"ingest"}, flags...)...)
			m := p.shortScript()
			r := p.run(program, m, func(s *Session) { s.Args = []string{"--plugin-dir", plugin} })
			toldShort(t, m)
			if r.Stderr != "" {
				t.Errorf("on standard error: %s", r.Stderr)
			}
			first := m.Asked("", 0)
			if !slices.ContainsFunc(first.Tools(), func(t Tool) bool { return t.Name == "mcp__plugin_chinvex_chinvex__search" }) {
				t.Error("the plugin's search is not before the model at once")
			}
			if !slices.ContainsFunc(first.Texts(), func(t Text) bool { return strings.Contains(t.Text, "- chinvex:") }) {
				t.Error("the plugin's skill is not offered")
			}
		})
	}
}

// TestPluginValidates asks the client itself about the plugin and the marketplace.
func TestPluginValidates(t *testing.T) {
	t.Parallel()
	program := client(t, current)
	for _, dir := range []string{"../plugin", ".."} {
		dir, err := filepath.Abs(dir)
		must(t, err)
		home := t.TempDir()
		s := Session{Program: program, Dir: dir, Home: home, Logs: filepath.Join(home, "logs"), Path: os.Getenv("PATH"), Model: NewModel(Script{}),
			Command: []string{"plugin", "validate", "--strict", dir}}
		r, err := s.Run(t.Context())
		must(t, err)
		if r.Exit != 0 || !strings.Contains(r.Stdout, "alidation passed") {
			t.Errorf("%s: exit code %d\n%s%s", dir, r.Exit, r.Stdout, r.Stderr)
		}
	}
}

// TestRealRepository works in a copy of the repository that CHINVEX_E2E_REPO names: on
// the function that is used most in the files that change most.
func TestRealRepository(t *testing.T) {
	source := os.Getenv("CHINVEX_E2E_REPO")
	if source == "" {
		t.Skip("CHINVEX_E2E_REPO names no repository")
	}
	program := client(t, current)
	p := emptyPlace(t)
	if out, err := exec.Command("git", "clone", "-q", source, p.repo).CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, out)
	}
	p.chinvex("ingest")
	file, name, line := p.busiest()
	m := NewModel(Script{Turns: []Turn{
		p.edit(file, line+"\n", line+"\n\n"),
		p.bash("grep -rn '" + name + "' " + filepath.Dir(file) + " | head -n 2"),
		p.readFile(file),
		p.bash("cat " + file),
		{Text: "Done."},
	}})
	r := p.run(program, m, func(s *Session) { s.Prompt = "What does " + name + " do?" })
	t.Logf("%s in %s, %v in all", name, file, r.Wall.Round(time.Millisecond))
	told(t, m, "", 0, "SessionStart", "startup", "chinvex brief: ")
	told(t, m, "", 1, "PostToolUse", "Edit", name, file)
	once(t, m.Asked("", 4))
	for _, h := range m.Asked("", 4).Hooks() {
		text, _, _ := strings.Cut(h.Text, "\n\n")
		t.Logf("%s:%s\n%s", h.Event, h.Of, text)
	}
}

// busiest returns a function that others use, its file, and the line that it begins with.
func (p *place) busiest() (file, name, line string) {
	p.t.Helper()
	cmd := exec.Command("git", "log", "-n", "300", "--name-only", "--format=")
	cmd.Dir = p.repo
	out, err := cmd.Output()
	must(p.t, err)
	changes := map[string]int{}
	for f := range strings.Lines(string(out)) {
		changes[strings.TrimSpace(f)]++
	}
	var files []string
	for f := range changes {
		if p.read(f) != "" {
			files = append(files, f)
		}
	}
	slices.SortFunc(files, func(a, b string) int {
		if d := changes[b] - changes[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	type symbol struct {
		File, Name, Kind string
		Line, Uses       int
	}
	most, looked := 1, 0
	for _, f := range files {
		var listed struct{ Symbols []symbol }
		if out, err := p.tryChinvex("symbols", f, "--json"); err != nil || json.Unmarshal([]byte(out), &listed) != nil {
			continue // not indexed
		}
		lines := strings.Split(p.read(f), "\n")
		for _, s := range listed.Symbols {
			if looked == 100 {
				break
			}
			if s.Kind != "function" && s.Kind != "method" || s.Line > len(lines) || strings.Count(p.read(f), lines[s.Line-1]+"\n") != 1 {
				continue
			}
			looked++
			var found struct{ Definitions []symbol }
			must(p.t, json.Unmarshal([]byte(p.chinvex("refs", s.Name, "--json")), &found))
			for _, d := range found.Definitions {
				if d.File == f && d.Line == s.Line && d.Uses > most {
					most, file, name, line = d.Uses, f, s.Name, lines[s.Line-1]
				}
			}
		}
	}
	if file == "" {
		p.t.Fatal("no function with users in the files that change most")
	}
	return file, name, line
}

var keep = flag.String("keep", "", "write the times of BenchmarkSession, a line per tool call, to this CSV `file`")

// BenchmarkSession measures what the hooks add to a tool call: the same session with and
// without them, in turns, from the model's answer to the client's next request.
func BenchmarkSession(b *testing.B) {
	program := client(b, current)
	with, without := newPlace(b), newPlace(b)
	with.chinvex("ingest")
	without.chinvex("ingest", "--no-claude-hook")
	script := func(p *place) (turns []Turn) {
		for _, round := range []string{"a", "b", "c"} {
			turns = append(turns,
				p.edit("lib/price.js", "function parsePrice", "// "+round+"\nfunction parsePrice"),
				p.bash("grep -rn voucher lib/checkout.js"),
				p.readFile("lib/cart.js"),
				p.bash("true"),
				p.bash("cat lib/receipt.js"),
				p.bash("git status --short"),
			)
		}
		return append(turns, Turn{Text: "Done."})
	}
	var tools []string // by call
	calls := func(p *place) (took []time.Duration) {
		tools = tools[:0]
		p.git(0, "checkout", "-q", "--", "lib")
		m := NewModel(Script{Turns: script(p)})
		p.run(program, m, nil)
		for turn := 1; m.Asked("", turn) != nil; turn++ {
			took = append(took, m.Asked("", turn).Arrived.Sub(m.Asked("", turn-1).Answered))
			tools = append(tools, lastCall(m.Asked("", turn)).Name)
		}
		return took
	}
	var plain, hooked, added []time.Duration
	kept := "call,tool,without_ms,with_ms\n"
	for b.Loop() {
		x, y := calls(without), calls(with)
		if len(x) != len(y) {
			b.Fatalf("%d calls without hooks, %d with", len(x), len(y))
		}
		plain, hooked = append(plain, x...), append(hooked, y...)
		for i := range x {
			added = append(added, y[i]-x[i])
			kept += fmt.Sprintf("%d,%s,%.3f,%.3f\n", i+1, tools[i], x[i].Seconds()*1000, y[i].Seconds()*1000)
		}
	}
	if *keep != "" {
		must(b, os.WriteFile(*keep, []byte(kept), 0o644))
	}
	b.ReportMetric(median(plain), "ms/call-without")
	b.ReportMetric(median(hooked), "ms/call-with")
	b.ReportMetric(median(added), "ms/call-added")
}

// median is in milliseconds.
func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Microseconds()) / 1000
}

func call(tool string, input map[string]any) Turn { return Turn{Calls: []Call{{tool, input}}} }

func (p *place) edit(rel, old, new string) Turn {
	return call("Edit", map[string]any{"file_path": p.file(rel), "old_string": old, "new_string": new})
}

func (p *place) readFile(rel string) Turn {
	return call("Read", map[string]any{"file_path": p.file(rel)})
}

func (p *place) bash(command string) Turn { return call("Bash", map[string]any{"command": command}) }

// await waits until the index knows a symbol of a file.
func (p *place) await(rel, symbol string) {
	began := time.Now()
	for time.Since(began) < 20*time.Second {
		if out, err := p.tryChinvex("symbols", rel); err == nil && strings.Contains(out, symbol) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.t.Errorf("%s is not in the index, %v after it was written", symbol, time.Since(began).Round(time.Second))
}

// fresh returns the hook texts that came with the request for a turn.
func fresh(t *testing.T, m *Model, marker string, turn int) []Hook {
	t.Helper()
	r := m.Asked(marker, turn)
	if r == nil {
		t.Fatalf("nobody asked for turn %d of %q", turn, marker)
	}
	return r.NewHooks(m.Asked(marker, turn-1))
}

// told checks that the request for a turn brought one text of the event, and that it
// holds all parts.
func told(t *testing.T, m *Model, marker string, turn int, event, of string, parts ...string) {
	t.Helper()
	var texts []string
	hooks := fresh(t, m, marker, turn)
	for _, h := range hooks {
		if h.Event == event && h.Of == of {
			texts = append(texts, h.Text)
		}
	}
	if len(texts) != 1 {
		t.Errorf("turn %d: %d texts of %s:%s, want one; there are %v", turn, len(texts), event, of, hooks)
		return
	}
	for _, part := range parts {
		if !strings.Contains(texts[0], part) {
			t.Errorf("turn %d, %s:%s: no %q in\n%s", turn, event, of, part, texts[0])
		}
	}
}

// silent checks that the request for a turn brought nothing of tools and prompts.
func silent(t *testing.T, m *Model, marker string, turn int) {
	t.Helper()
	for _, h := range fresh(t, m, marker, turn) {
		if h.Event != "SessionStart" {
			t.Errorf("turn %d: want silence, there is %v", turn, h)
		}
	}
}

// factsOf returns the facts that a conversation was told up to a request.
func factsOf(r *Request) (facts []string) {
	for _, h := range r.Hooks() {
		facts = append(facts, h.Facts()...)
	}
	return facts
}

// once checks that a conversation was told nothing twice.
func once(t *testing.T, r *Request) {
	t.Helper()
	facts := factsOf(r)
	if len(facts) == 0 {
		t.Errorf("request %d holds no fact", r.N)
	}
	slices.Sort(facts)
	for i := range facts[:max(0, len(facts)-1)] {
		if facts[i] == facts[i+1] {
			t.Errorf("request %d tells twice: %s", r.N, facts[i])
		}
	}
}

// last returns the zero value where there is nothing.
func last[T any](list []T) (end T) {
	if len(list) > 0 {
		end = list[len(list)-1]
	}
	return end
}
