package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/chinvex/chinvex/search"
	"github.com/chinvex/chinvex/search/ingest"
)

// processRuns is how often each process is started.
const processRuns = 40

// target is a symbol of the checkout that events are about.
type target struct {
	file, name string
	start, end int
}

// processes times the hook and the command line as they are used: a process an event.
func (r *run) processes(home, dir, bin string, o ingest.Options) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	e, err := search.Open(o.Context.IndexDir(), o.Settings, search.Options{})
	if err != nil {
		return err
	}
	targets, err := chooseTargets(e, processRuns)
	e.Close()
	if err != nil || len(targets) == 0 {
		return err
	}
	r.Processes = map[string]timing{}
	environment := append(os.Environ(), "CHINVEX_HOME="+home, "CLAUDE_PROJECT_DIR="+dir)
	hook := filepath.Join(bin, "chinvex-hook")
	for _, kind := range []struct {
		name  string
		event func(t target) (map[string]any, error)
	}{
		{"hook, edit", func(t target) (map[string]any, error) { return editEvent(dir, t) }},
		{"hook, grep", func(t target) (map[string]any, error) {
			return toolEvent("Bash", map[string]any{"command": "grep -rn '" + t.name + "' " + filepath.Dir(t.file)},
				map[string]any{"stdout": fmt.Sprintf("%s:%d:%s", t.file, t.start, t.name), "stderr": "", "interrupted": false}), nil
		}},
		{"hook, read", func(t target) (map[string]any, error) {
			return toolEvent("Read", map[string]any{"file_path": filepath.Join(dir, t.file), "offset": t.start, "limit": t.end - t.start + 1}, nil), nil
		}},
		{"hook, prompt", func(t target) (map[string]any, error) {
			return map[string]any{"hook_event_name": "UserPromptSubmit", "prompt": "Where does " + strings.ReplaceAll(t.file, "/", " ") + " use " + t.name + "?"}, nil
		}},
		{"hook, nothing to do", func(target) (map[string]any, error) { return toolEvent("TaskCreate", nil, nil), nil }},
	} {
		var times []float64
		var p timing
		for i := range processRuns {
			event, err := kind.event(targets[i%len(targets)])
			if err != nil {
				return err
			}
			// A session of its own, so that nothing was shown before.
			event["session_id"], event["cwd"] = fmt.Sprintf("bench-%s-%d", kind.name, i), dir
			input, err := json.Marshal(event)
			if err != nil {
				return err
			}
			took, out, err := process(environment, dir, input, hook)
			if err != nil {
				return err
			}
			times = append(times, took)
			if len(out) > 0 {
				p.Answers++
			}
			time.Sleep(100 * time.Millisecond) // the refresh that an edit starts is not what is timed
		}
		p.P50, p.P95, p.Runs = quantile(times, .5), quantile(times, .95), len(times)
		r.Processes[kind.name] = p
	}
	for _, command := range []struct {
		name string
		args func(target) []string
	}{
		{"chinvex search", func(t target) []string { return []string{"search", "--", t.name} }},
		{"chinvex brief", func(target) []string { return []string{"brief"} }},
	} {
		var times []float64
		var p timing
		for i := range processRuns {
			took, out, err := process(environment, dir, nil, filepath.Join(bin, "chinvex"), command.args(targets[i%len(targets)])...)
			if err != nil {
				return err
			}
			times = append(times, took)
			if len(out) > 0 {
				p.Answers++
			}
		}
		p.P50, p.P95, p.Runs = quantile(times, .5), quantile(times, .95), len(times)
		r.Processes[command.name] = p
	}
	return nil
}

func process(environment []string, dir string, input []byte, name string, args ...string) (took float64, out []byte, err error) {
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Dir, cmd.Stdin = environment, dir, bytes.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err = cmd.Run()
	took = milliseconds(start)
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 1 {
		err = nil // an answer without results
	}
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w %s", name, err, stderr.String())
	}
	return took, stdout.Bytes(), nil
}

// chooseTargets returns functions that are used in some files, spread over the index.
func chooseTargets(e *search.Engine, n int) ([]target, error) {
	m := e.Manifest()
	var out []target
	for id := uint32(1); id < m.Symbols && len(out) < n; id += max(1, m.Symbols/uint32(40*n)) {
		symbols, err := e.Reader().SymbolsByID([]uint32{id})
		if err != nil {
			return nil, err
		}
		s, ok := symbols[id]
		if !ok || s.Kind != "function" && s.Kind != "method" || len(s.Name) < 5 || s.End-s.Start < 4 || s.End-s.Start > 80 {
			continue
		}
		if uses, err := e.Uses(s.Name); err != nil || uses < 2 || uses > 40 {
			if err != nil {
				return nil, err
			}
			continue
		}
		row, _ := e.Reader().Files.Row(s.File)
		out = append(out, target{e.Reader().Files.At(row).Path.Rel, s.Name, s.NameLine, s.End})
	}
	return out, nil
}

func toolEvent(tool string, input, response map[string]any) map[string]any {
	return map[string]any{"hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": input, "tool_response": response}
}

// editEvent is what the client sends after an edit of the symbol's first line; the file
// stays as it is.
func editEvent(dir string, t target) (map[string]any, error) {
	abs := filepath.Join(dir, t.file)
	data, err := os.ReadFile(abs)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(data), "\n")
	if t.start > len(lines) {
		return nil, fmt.Errorf("%s has no line %d", t.file, t.start)
	}
	before := lines[t.start-1]
	after := before + " "
	return toolEvent("Edit", map[string]any{"file_path": abs, "old_string": before, "new_string": after, "replace_all": false},
		map[string]any{"filePath": abs, "oldString": before, "newString": after, "originalFile": string(data), "userModified": false, "replaceAll": false,
			"structuredPatch": []any{map[string]any{"oldStart": t.start, "oldLines": 1, "newStart": t.start, "newLines": 1, "lines": []string{"-" + before, "+" + after}}}}), nil
}
