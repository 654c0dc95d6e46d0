package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// slow is far under the deadline and far above what any of these takes on an idle
// machine.
const slow = 1300 * time.Millisecond

// fault is something that is wrong with the world or with an event.
type fault struct {
	name  string
	spoil func(t *testing.T, p *place) // may be nil
	event func(p *place) []byte        // nil for the edit
	env   []string
	want  string // "answer", "silence" or "" for either
}

func editEvent(p *place) []byte {
	return fmt.Appendf(nil, `{"session_id":"s1","prompt_id":"p1","cwd":%q,"hook_event_name":"PostToolUse","tool_name":"Edit","tool_input":{"file_path":%q,"old_string":"text.split()","new_string":"text.split(None)","replace_all":false},"tool_response":{"structuredPatch":[{"oldStart":6,"oldLines":1,"newStart":6,"newLines":1,"lines":["-    amount, currency = text.split()","+    amount, currency = text.split(None)"]}]}}`,
		p.repo, filepath.Join(p.repo, "shop/price.py"))
}

func toolEvent(p *place, tool string, input, response any) []byte {
	event, err := json.Marshal(map[string]any{"session_id": "s1", "prompt_id": "p1", "cwd": p.repo, "hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": input, "tool_response": response})
	if err != nil {
		panic(err)
	}
	return event
}

func readEvent(p *place, name string) []byte {
	return toolEvent(p, "Read", map[string]any{"file_path": name}, map[string]any{"type": "text", "file": map[string]any{"numLines": 20, "startLine": 1, "totalLines": 20}})
}

func bashEvent(p *place, command string) []byte {
	return toolEvent(p, "Bash", map[string]any{"command": command}, map[string]any{"stdout": "", "stderr": ""})
}

func promptEvent(p *place, prompt string) []byte {
	event, _ := json.Marshal(map[string]any{"session_id": "s1", "prompt_id": "p1", "cwd": p.repo, "hook_event_name": "UserPromptSubmit", "prompt": prompt})
	return event
}

func raw(text string) func(*place) []byte { return func(*place) []byte { return []byte(text) } }

// must fails the test for an error of preparing a fault.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inBuild breaks a file of the index's build.
func inBuild(t *testing.T, p *place, pattern string, do func(name string) error) {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(p.context(), "index", "b*", pattern))
	if len(names) == 0 {
		t.Fatalf("the index has no %s", pattern)
	}
	for _, n := range names {
		must(t, do(n))
	}
}

func meta(p *place) string { return filepath.Join(p.context(), "index", "meta.json") }

// patchMeta replaces text in the manifest.
func patchMeta(t *testing.T, p *place, old, new string) {
	t.Helper()
	data, err := os.ReadFile(meta(p))
	must(t, err)
	if !bytes.Contains(data, []byte(old)) {
		t.Fatalf("meta.json does not hold %s: %s", old, data)
	}
	must(t, os.WriteFile(meta(p), bytes.Replace(data, []byte(old), []byte(new), 1), 0o600))
}

// ledgers returns the session ledgers, after making one.
func ledgers(t *testing.T, p *place) []string {
	t.Helper()
	p.hook(editEvent(p))
	names, _ := filepath.Glob(filepath.Join(p.context(), "sessions", "*.jsonl"))
	if len(names) != 1 {
		t.Fatalf("%d ledgers", len(names))
	}
	_ = os.RemoveAll(filepath.Join(p.context(), "index", "queue"))
	return names
}

func scramble(name string) error {
	data, err := os.ReadFile(name)
	for i := range data {
		data[i] ^= byte(i*7 + 0x55)
	}
	if err == nil {
		err = os.WriteFile(name, data, 0o600)
	}
	return err
}

func empty(name string) error { return os.Truncate(name, 0) }

func half(name string) error {
	info, err := os.Stat(name)
	if err == nil {
		err = os.Truncate(name, info.Size()/2)
	}
	return err
}

var faults = []fault{
	{name: "none", want: "answer"},

	// Input.
	{name: "empty input", event: raw(""), want: "silence"},
	{name: "blank input", event: raw(" \n"), want: "silence"},
	{name: "not JSON", event: raw("hello"), want: "silence"},
	{name: "an array", event: raw("[1,2]"), want: "silence"},
	{name: "nested very deep", event: raw(strings.Repeat(`{"a":`, 100_000)), want: "silence"},
	{name: "truncated JSON", event: func(p *place) []byte { e := editEvent(p); return e[:len(e)/2] }, want: "silence"},
	{name: "fields of other types", event: raw(`{"session_id":7,"cwd":["x"],"hook_event_name":"PostToolUse","tool_name":"Edit","tool_input":"x","tool_response":3}`), want: "silence"},
	{name: "20 MB of input", event: func(p *place) []byte {
		return bytes.Replace(editEvent(p), []byte(`{"structuredPatch"`), []byte(`{"originalFile":"`+strings.Repeat(`x = 1\n`, 20<<20/7)+`","structuredPatch"`), 1)
	}},
	{name: "40 MB of input", event: func(p *place) []byte {
		return append([]byte(`{"cwd":"`+p.repo+`","x":"`), bytes.Repeat([]byte("y"), 40<<20)...)
	}, want: "silence"},
	{name: "unknown event", event: raw(`{"session_id":"s","cwd":"/","hook_event_name":"Nova"}`), want: "silence"},
	{name: "unknown tool", event: func(p *place) []byte { return toolEvent(p, "Telescope", map[string]any{}, nil) }, want: "silence"},
	{name: "no session id", event: func(p *place) []byte { return bytes.Replace(editEvent(p), []byte(`"s1"`), []byte(`""`), 1) }, want: "answer"},
	{name: "session id that is a path", event: func(p *place) []byte {
		return bytes.Replace(editEvent(p), []byte(`"s1"`), []byte(`"../../../x\u0000"`), 1)
	}, want: "answer"},
	{name: "not UTF-8", event: func(p *place) []byte { return bytes.Replace(editEvent(p), []byte("None"), []byte("\xff\xfe"), 2) }},
	{name: "huge command", event: func(p *place) []byte { return bashEvent(p, strings.Repeat("grep -rn applyVoucher . | ", 40_000)+"cat") }},
	{name: "command that is no shell", event: func(p *place) []byte { return bashEvent(p, "grep 'applyVoucher ((( <<X") }},
	{name: "huge pattern", event: func(p *place) []byte {
		return bashEvent(p, "grep -rE '"+strings.Repeat("(apply|voucher)+", 20_000)+"' .")
	}},
	{name: "malformed glob", event: func(p *place) []byte { return bashEvent(p, "grep -rn applyVoucher --include='[a' .") }},
	{name: "prompt of 1 MB", event: func(p *place) []byte { return promptEvent(p, strings.Repeat("what does apply_voucher do ", 1<<20/27)) }},
	{name: "prompt of any bytes", event: func(p *place) []byte { return promptEvent(p, "\x00\x01 apply_voucher \u202e ?.*(") }},
	{name: "output of 5 MB", event: func(p *place) []byte {
		return toolEvent(p, "Bash", map[string]any{"command": "grep -rn applyVoucher ."}, map[string]any{"stdout": strings.Repeat("shop/cart.py:1:x\n", 300_000)})
	}},

	// Paths.
	{name: "file outside the repository", event: func(p *place) []byte { return readEvent(p, "/etc/hosts") }, want: "silence"},
	{name: "path that climbs out", event: func(p *place) []byte { return readEvent(p, p.repo+"/../../etc/hosts") }, want: "silence"},
	{name: "NUL in a path", event: func(p *place) []byte { return readEvent(p, p.repo+"/shop/price.py\x00.go") }, want: "silence"},
	{name: "file inside .git", event: func(p *place) []byte { return readEvent(p, p.repo+"/.git/config") }, want: "silence"},
	{name: "the root as a file", event: func(p *place) []byte { return readEvent(p, p.repo) }, want: "silence"},
	{name: "path of 10,000 bytes", event: func(p *place) []byte { return readEvent(p, p.repo+strings.Repeat("/abcdefghi", 1000)) }, want: "silence"},
	{name: "symbolic link out", spoil: func(t *testing.T, p *place) { must(t, os.Symlink("/etc", p.repo+"/etc")) },
		event: func(p *place) []byte { return readEvent(p, p.repo+"/etc/hosts") }, want: "silence"},
	{name: "loop of links", spoil: func(t *testing.T, p *place) { must(t, os.Symlink("loop", p.repo+"/loop")) },
		event: func(p *place) []byte { return readEvent(p, p.repo+"/loop/x.py") }, want: "silence"},
	{name: "deleted file", spoil: func(t *testing.T, p *place) { must(t, os.Remove(p.repo+"/shop/price.py")) }},
	{name: "deleted repository", spoil: func(t *testing.T, p *place) { must(t, os.RemoveAll(p.repo)) }},
	{name: "no working directory", event: func(p *place) []byte {
		return bytes.Replace(bashEvent(p, "grep -rn applyVoucher ."), []byte(p.repo), []byte("/nowhere/at/all"), 1)
	}, want: "silence"},
	{name: "working directory not absolute", event: func(p *place) []byte {
		return bytes.Replace(bashEvent(p, "grep -rn applyVoucher ."), []byte(p.repo), []byte("shop"), 1)
	}, want: "silence"},

	// The index.
	{name: "missing index", spoil: func(t *testing.T, p *place) { must(t, os.RemoveAll(p.context()+"/index")) }, want: "silence"},
	{name: "missing rows.db", spoil: func(t *testing.T, p *place) { inBuild(t, p, "rows.db*", os.Remove) }},
	{name: "damaged rows.db", spoil: func(t *testing.T, p *place) { inBuild(t, p, "rows.db", scramble) }},
	{name: "index of a newer version", spoil: func(t *testing.T, p *place) { patchMeta(t, p, `"format": 1`, `"format": 99`) }, want: "silence"},
	{name: "index of an older version", spoil: func(t *testing.T, p *place) { patchMeta(t, p, `"format": 1`, `"format": 0`) }, want: "silence"},
	{name: "damaged meta.json", spoil: func(t *testing.T, p *place) { must(t, half(meta(p))) }, want: "silence"},
	{name: "empty meta.json", spoil: func(t *testing.T, p *place) { must(t, empty(meta(p))) }, want: "silence"},
	{name: "meta.json is a folder", spoil: func(t *testing.T, p *place) { must(t, os.Remove(meta(p))); must(t, os.Mkdir(meta(p), 0o700)) }, want: "silence"},
	{name: "truncated chunk table", spoil: func(t *testing.T, p *place) { inBuild(t, p, "chunks.tab", half) }},
	{name: "truncated file table", spoil: func(t *testing.T, p *place) { inBuild(t, p, "files-*.tab", half) }},
	{name: "damaged file table", spoil: func(t *testing.T, p *place) { inBuild(t, p, "files-*.tab", scramble) }},
	{name: "damaged segment", spoil: func(t *testing.T, p *place) { inBuild(t, p, "seg-*.zap", scramble) },
		event: func(p *place) []byte { return bashEvent(p, "grep -rn applyVoucher .") }},
	{name: "empty segment", spoil: func(t *testing.T, p *place) { inBuild(t, p, "seg-*.zap", empty) },
		event: func(p *place) []byte { return bashEvent(p, "grep -rn applyVoucher .") }},
	{name: "truncated vectors", spoil: func(t *testing.T, p *place) { inBuild(t, p, "vectors.*", half) },
		event: func(p *place) []byte { return bashEvent(p, "grep -rn applyVoucher .") }},
	{name: "damaged model", spoil: func(t *testing.T, p *place) { inBuild(t, p, "model.bin", scramble) },
		event: func(p *place) []byte { return bashEvent(p, "grep -rn applyVoucher .") }},
	{name: "embedding mismatch", spoil: func(t *testing.T, p *place) { patchMeta(t, p, `"builtin"`, `"ollama"`) }, want: "silence"},

	// The state directory.
	{name: "HOME and CHINVEX_HOME unset", env: []string{"HOME=", "CHINVEX_HOME="}, want: "silence"},
	{name: "home that does not exist", env: []string{"CHINVEX_HOME=/nowhere/at/all"}, want: "silence"},
	{name: "home is a file", env: []string{"CHINVEX_HOME=/etc/hosts"}, want: "silence"},
	{name: "damaged context.json", spoil: func(t *testing.T, p *place) { must(t, half(p.context()+"/context.json")) }, want: "silence"},
	{name: "no logs and sessions folders", spoil: func(t *testing.T, p *place) {
		must(t, os.RemoveAll(p.context()+"/logs"))
		must(t, os.RemoveAll(p.context()+"/sessions"))
	}, want: "answer"},
	{name: "read-only state directory", spoil: func(t *testing.T, p *place) {
		must(t, filepath.WalkDir(p.home, func(name string, e os.DirEntry, _ error) error {
			if e.IsDir() {
				return os.Chmod(name, 0o555)
			}
			return os.Chmod(name, 0o444)
		}))
		p.nobody = true // root writes anywhere
		for _, dir := range []string{filepath.Dir(p.repo), filepath.Dir(filepath.Dir(p.repo))} {
			must(t, os.Chmod(dir, 0o755))
		}
		t.Cleanup(func() {
			_ = filepath.WalkDir(p.home, func(name string, _ os.DirEntry, _ error) error { return os.Chmod(name, 0o700) })
		})
	}, want: "answer"},
	{name: "log is a folder", spoil: func(t *testing.T, p *place) {
		must(t, os.MkdirAll(p.context()+"/logs/dispatch.jsonl/x", 0o700))
	}, want: "answer"},
	{name: "log of 9 MB", spoil: func(t *testing.T, p *place) {
		must(t, os.MkdirAll(p.context()+"/logs", 0o700))
		must(t, os.WriteFile(p.context()+"/logs/dispatch.jsonl", bytes.Repeat([]byte("x"), 9<<20), 0o600))
	}, want: "answer"},
	{name: "ledger is a folder", spoil: func(t *testing.T, p *place) {
		for _, n := range ledgers(t, p) {
			must(t, os.Remove(n))
			must(t, os.Mkdir(n, 0o700))
		}
	}, want: "answer"},
	{name: "ledger is a pipe nobody writes", spoil: func(t *testing.T, p *place) {
		for _, n := range ledgers(t, p) {
			must(t, os.Remove(n))
			must(t, mkfifo(n))
		}
	}, want: "answer"},
	{name: "ledger is a full disk", spoil: func(t *testing.T, p *place) {
		for _, n := range ledgers(t, p) {
			must(t, os.Remove(n))
			must(t, os.Symlink("/dev/full", n))
		}
	}, want: "answer"},
	{name: "garbage in the ledger", spoil: func(t *testing.T, p *place) {
		for _, n := range ledgers(t, p) {
			must(t, os.WriteFile(n, []byte("{\"p\":\x00\n[]\nnull\n{\"p\":-4}\n{\"p\":\"x\"}\n{\"p\":1,\"n\":-9000000000000000000}\n\xff\n"), 0o600))
		}
	}, want: "answer"},
	{name: "ledger of 50 MB", spoil: func(t *testing.T, p *place) {
		for _, n := range ledgers(t, p) {
			must(t, os.WriteFile(n, bytes.Repeat([]byte("{\"p\":1,\"id\":\"p1\",\"k\":[\"0123456789abcdef\"]}\n"), 50<<20/44), 0o600))
		}
	}, want: "answer"},
	{name: "request of an edit long ago", spoil: func(t *testing.T, p *place) {
		name := p.context() + "/index/queue/request-1"
		must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		must(t, os.WriteFile(name, []byte("repo\x00shop/price.py\x00"), 0o600))
		must(t, os.Chtimes(name, time.Unix(0, 0), time.Unix(0, 0)))
	}, want: "answer"},
	{name: "request of garbage", spoil: func(t *testing.T, p *place) {
		must(t, os.MkdirAll(p.context()+"/index/queue/request-2", 0o700))
		must(t, os.WriteFile(p.context()+"/index/queue/request-1", []byte("\x00\x00../..\x00/etc/passwd\xff"), 0o600))
	}, want: "answer"},
	{name: "queue is a file", spoil: func(t *testing.T, p *place) {
		must(t, os.WriteFile(p.context()+"/index/queue", nil, 0o600))
	}, want: "answer"},
	{name: "malformed config.toml", spoil: func(t *testing.T, p *place) {
		must(t, os.MkdirAll(p.repo+"/.chinvex", 0o755))
		must(t, os.WriteFile(p.repo+"/.chinvex/config.toml", []byte("[dispatch\ncontrol = = 3"), 0o644))
	}, want: "answer"},
	{name: "dispatch switched off", spoil: func(t *testing.T, p *place) {
		must(t, os.MkdirAll(p.repo+"/.chinvex", 0o755))
		must(t, os.WriteFile(p.repo+"/.chinvex/config.toml", []byte("[dispatch]\nenabled = false\n"), 0o644))
	}, want: "silence"},
	{name: "two contexts claim the repository", spoil: func(t *testing.T, p *place) {
		must(t, p.command(p.repo, p.env, filepath.Join(bin, "chinvex"), "ingest", "--quiet", "--context", "other", "--repo", p.repo))
	}, want: "answer"},
	{name: "no programs on PATH", env: []string{"PATH=/nowhere"}, want: "answer"},
	{name: "HEAD that cannot be read", spoil: func(t *testing.T, p *place) {
		must(t, os.WriteFile(p.repo+"/.git/HEAD", []byte("ref: \xff\x00"), 0o644))
	}},
}

func TestFaults(t *testing.T) {
	if len(faults) < 25 {
		t.Fatal("faults are missing")
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			p, err := newPlace(tempDir(t), "testdata/history/shop.txtar")
			must(t, err)
			event := editEvent
			if f.event != nil {
				event = f.event
			}
			if f.spoil != nil {
				f.spoil(t, p)
			}
			check(t, p, event(p), f.want, f.env...)
		})
	}
}

// check runs the hook and holds it to what every fault must keep.
func check(t *testing.T, p *place, event []byte, want string, env ...string) {
	t.Helper()
	stdout, stderr, code, took := p.hook(event, env...)
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	if stderr != "" {
		t.Errorf("stderr: %s", stderr)
	}
	if took > slow {
		t.Errorf("it took %v", took)
	}
	switch {
	case stdout == "" && want == "answer":
		log, _ := os.ReadFile(p.context() + "/logs/dispatch.jsonl")
		t.Errorf("no answer; the log says %s", log)
	case stdout != "" && want == "silence":
		t.Errorf("it said %s", stdout)
	case stdout != "":
		var name struct {
			Event string `json:"hook_event_name"`
		}
		if err := json.Unmarshal(event, &name); err != nil {
			name.Event = "PostToolUse"
		}
		if text, ok := answerText(stdout, name.Event); !ok || strings.TrimSpace(text) == "" || strings.Contains(text, p.home) || strings.Contains(text, p.repo) {
			t.Errorf("not one answer, an empty one, or one with an absolute path: %s", stdout)
		}
	}
}

// tempDir is t.TempDir for tests that leave a refresh running: it removes the folder
// again until nothing writes there any more.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "chinvex-hook-")
	must(t, err)
	t.Cleanup(func() {
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			_ = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error { // a test takes permissions away
				if err == nil && d.IsDir() {
					_ = os.Chmod(name, 0o700)
				}
				return nil
			})
			if os.RemoveAll(dir) == nil {
				return
			}
		}
		t.Errorf("%s cannot be removed", dir)
	})
	return dir
}

// TestSideBySide runs the hooks of one turn at once: each answers or not, nobody says
// what another said, and the ledger and the log have whole lines.
func TestSideBySide(t *testing.T) {
	p, err := newPlace(tempDir(t), "testdata/history/shop.txtar")
	must(t, err)
	const n = 8
	var wg sync.WaitGroup
	answers := make([]string, n)
	for i := range n {
		wg.Go(func() {
			stdout, stderr, code, _ := p.hook(readEvent(p, p.repo+"/shop/price.py"))
			if code != 0 || stderr != "" {
				t.Errorf("exit code %d, stderr %s", code, stderr)
			}
			answers[i] = stdout
		})
	}
	wg.Wait()
	told := 0
	for _, a := range answers {
		if a != "" {
			told++
		}
	}
	if told != 1 {
		t.Errorf("%d of %d hooks told the same", told, n)
	}
	for _, pattern := range []string{"sessions/*.jsonl", "logs/dispatch.jsonl"} {
		names, _ := filepath.Glob(filepath.Join(p.context(), pattern))
		for _, name := range names {
			data, err := os.ReadFile(name)
			must(t, err)
			lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
			for _, line := range lines {
				if !json.Valid(line) {
					t.Errorf("%s holds %q", name, line)
				}
			}
			if len(lines) != n {
				t.Errorf("%s has %d lines, not %d", name, len(lines), n)
			}
		}
		if len(names) != 1 {
			t.Errorf("%d files %s", len(names), pattern)
		}
	}
}
