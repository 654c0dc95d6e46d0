package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/tools/txtar"

	"github.com/chinvex/chinvex/search/index"
)

// bin is where the tests install the two programs, side by side as users have them.
var bin string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if bin, err = os.MkdirTemp("", "chinvex-hook-test"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(bin)
	if err := os.Chmod(bin, 0o755); err != nil {
		panic(err)
	}
	for program, pkg := range map[string]string{"chinvex-hook": ".", "chinvex": "../chinvex"} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, program), pkg).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "cannot build %s: %v\n%s", pkg, err, out)
			return 1
		}
	}
	return m.Run()
}

// place is a repository with an index.
type place struct {
	repo, home string
	env        []string
	nobody     bool // the hook runs as a user without rights, where the test may choose
}

// newPlace builds a repository from a list of commits in the txtar file at history and
// indexes it. A file named "commit SUBJECT" ends the commit that the files before it
// belong to.
func newPlace(dir, history string) (*place, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	p := &place{repo: filepath.Join(dir, "repo"), home: filepath.Join(dir, "home")}
	p.env = []string{
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "user"), "CHINVEX_HOME=" + p.home,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com",
	}
	archive, err := txtar.ParseFile(history)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(p.repo, 0o755); err != nil {
		return nil, err
	}
	if err := p.git(0, "init", "-q", "-b", "main"); err != nil {
		return nil, err
	}
	day := 0
	for _, f := range archive.Files {
		if subject, ok := strings.CutPrefix(f.Name, "commit "); ok {
			day++
			if err := p.git(day, "add", "-A"); err != nil {
				return nil, err
			}
			if err := p.git(day, "commit", "-q", "-m", subject); err != nil {
				return nil, err
			}
			continue
		}
		name := filepath.Join(p.repo, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			return nil, err
		}
	}
	return p, p.ingest()
}

// git runs git in the repository on a day of January 2026.
func (p *place) git(day int, args ...string) error {
	date := time.Date(2026, 1, 1+day, 12, 0, 0, 0, time.UTC).Format(time.RFC3339)
	return p.command(p.repo, append(p.env, "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date), "git", args...)
}

func (p *place) ingest() error {
	return p.command(p.repo, p.env, filepath.Join(bin, "chinvex"), "ingest", "--quiet", "--no-claude-hook")
}

func (p *place) command(dir string, env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// context is the folder of the place's context.
func (p *place) context() string { return filepath.Join(p.home, "contexts", "repo") }

// hook runs the installed hook on one event.
func (p *place) hook(event []byte, env ...string) (stdout, stderr string, code int, took time.Duration) {
	cmd := exec.Command(filepath.Join(bin, "chinvex-hook"))
	cmd.Env = append(p.env, env...)
	cmd.Dir = "/"
	if p.nobody {
		asNobody(cmd)
	}
	cmd.Stdin = bytes.NewReader(event)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	_ = cmd.Run()
	return out.String(), errs.String(), cmd.ProcessState.ExitCode(), time.Since(start)
}

// answerText returns the text of an answer; ok is false when output is none.
func answerText(output, event string) (text string, ok bool) {
	var answer struct {
		HookSpecificOutput struct{ HookEventName, AdditionalContext string }
	}
	d := json.NewDecoder(strings.NewReader(output))
	d.DisallowUnknownFields()
	if d.Decode(&answer) != nil || d.More() {
		return "", false
	}
	return answer.HookSpecificOutput.AdditionalContext, answer.HookSpecificOutput.HookEventName == event
}

// TestPayloads sends every event that was captured from the client through the hook, in
// a repository like the one that they were captured in.
func TestPayloads(t *testing.T) {
	const dir = "../../claude/testdata/payloads"
	answered := []string{
		"PostToolUse-Edit-replace-all.json", "PostToolUse-Edit.json",
		"PostToolUse-Grep-count.json", "PostToolUse-Grep-files.json", // src/b.py was moved when they were captured
		"PostToolUse-NotebookEdit.json", "PostToolUse-Read.json", "PostToolUse-Write-create.json", "PostToolUse-Write-update.json",
	}
	var got []string
	p, err := newPlace(tempDir(t), "testdata/history/payloads.txtar")
	must(t, err)
	n := 0
	must(t, filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".json" {
			return err
		}
		n++
		event, err := os.ReadFile(name)
		must(t, err)
		event = bytes.ReplaceAll(event, []byte(`"/repo`), []byte(`"`+p.repo))
		// Each in a session of its own: none is silent for what another said.
		must(t, os.RemoveAll(filepath.Join(p.context(), "sessions")))
		must(t, os.Mkdir(filepath.Join(p.context(), "sessions"), 0o700))
		stdout, stderr, code, took := p.hook(event, "PATH=/nowhere")
		if code != 0 || stderr != "" || took > slow {
			t.Errorf("%s: exit code %d, %v, stderr %s", name, code, took, stderr)
		}
		if stdout != "" {
			var e struct {
				Name string `json:"hook_event_name"`
			}
			must(t, json.Unmarshal(event, &e))
			text, ok := answerText(stdout, e.Name)
			if !ok || strings.Contains(text, p.repo) {
				t.Errorf("%s: %s", name, stdout)
			}
			if filepath.Dir(name) == dir {
				got = append(got, filepath.Base(name))
			}
		}
		return nil
	}))
	if n < 100 {
		t.Errorf("only %d payloads", n)
	}
	if diff := cmp.Diff(answered, got); diff != "" {
		t.Errorf("answered (-want +got):\n%s", diff)
	}
	log, err := os.ReadFile(filepath.Join(p.context(), "logs", "dispatch.jsonl"))
	must(t, err)
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, `"error"`) && !strings.Contains(line, "program was not found") {
			t.Errorf("an error in the log: %s", line)
		}
	}
}

// TestScripts runs testdata/*.txt, one a kind of event. Each has a repository of its
// own, in $REPO.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			p, err := newPlace(env.WorkDir, "testdata/history/shop.txtar")
			if err != nil {
				return err
			}
			for _, v := range p.env {
				name, value, _ := strings.Cut(v, "=")
				env.Setenv(name, value)
			}
			env.Setenv("REPO", p.repo)
			env.Setenv("LOG", filepath.Join(p.context(), "logs", "dispatch.jsonl"))
			env.Setenv("SESSIONS", filepath.Join(p.context(), "sessions"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// hook EVENT: run the hook on the event; its answer's text becomes the file
			// answer. Where EVENT says $REPO, the repository's path is put.
			"hook": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 1 {
					ts.Fatalf("usage: hook EVENT")
				}
				p := &place{env: []string{}}
				for _, name := range []string{"PATH", "HOME", "CHINVEX_HOME", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL"} {
					p.env = append(p.env, name+"="+ts.Getenv(name))
				}
				event := strings.ReplaceAll(ts.ReadFile(args[0]), "$REPO", ts.Getenv("REPO"))
				stdout, stderr, code, _ := p.hook([]byte(event))
				if code != 0 || stderr != "" {
					ts.Fatalf("exit code %d, stderr %q", code, stderr)
				}
				var e struct {
					Name string `json:"hook_event_name"`
				}
				ts.Check(json.Unmarshal([]byte(event), &e))
				text := ""
				if stdout != "" {
					var ok bool
					if text, ok = answerText(stdout, e.Name); !ok {
						ts.Fatalf("no answer to %s: %s", e.Name, stdout)
					}
					if strings.Contains(text, ts.Getenv("WORK")) {
						ts.Fatalf("an absolute path in\n%s", text)
					}
					text += "\n"
				}
				ts.Check(os.WriteFile(ts.MkAbs("answer"), []byte(text), 0o644))
			},
			// silent: the last hook said nothing.
			"silent": func(ts *testscript.TestScript, neg bool, _ []string) {
				if text := ts.ReadFile("answer"); (text == "") == neg {
					ts.Fatalf("it said:\n%s", text)
				}
			},
			// settled: wait until no file waits for a refresh.
			"settled": func(ts *testscript.TestScript, neg bool, _ []string) {
				for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
					if !index.Waiting(filepath.Join(filepath.Dir(ts.Getenv("SESSIONS")), "index"), time.Hour) {
						return
					}
				}
				ts.Fatalf("the refresh did not come")
			},
			// await FILE TEXT: wait until the file holds the text.
			"await": func(ts *testscript.TestScript, neg bool, args []string) {
				for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
					if data, err := os.ReadFile(args[0]); err == nil && bytes.Contains(data, []byte(args[1])) {
						return
					}
				}
				ts.Fatalf("%s does not hold %s", args[0], args[1])
			},
		},
	})
}

// TestLinked keeps out of the hook what takes longer to start than it takes to answer.
func TestLinked(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	must(t, err)
	for dep := range strings.Lines(string(out)) {
		dep = strings.TrimSpace(dep)
		for _, heavy := range []string{
			"net/http", "github.com/smacker/go-tree-sitter", "github.com/spf13/cobra", "github.com/mark3labs/mcp-go", "github.com/go-enry",
			"github.com/zricethezav/gitleaks", "github.com/vbauerster/mpb", "charm.land/", "github.com/chinvex/chinvex/search/ingest",
		} {
			if strings.HasPrefix(dep, heavy) && !strings.HasPrefix(dep, "net/http/internal") {
				t.Errorf("the hook links %s", dep)
			}
		}
	}
}
