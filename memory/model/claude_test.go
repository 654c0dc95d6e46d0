package model

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chinvex/chinvex/memory"
)

// script puts a program called claude on the PATH that does what body says, with its
// arguments, input, directory and environment in the files of the folder it returns.
func script(t *testing.T, body string) string {
	t.Helper()
	dir := t.TempDir()
	text := "#!/bin/sh\nprintf '%s\\n' \"$@\" >'" + dir + "/args'\ncat >'" + dir + "/stdin'\npwd -P >'" + dir + "/pwd'\nls -A >'" + dir + "/ls'\nenv >'" + dir + "/env'\n" + body + "\n"
	if err := os.WriteFile(filepath.Join(dir, "claude"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return dir
}

func result(t *testing.T, text, more string) string {
	t.Helper()
	return "cat <<'END'\n" + `{"type":"result","subtype":"success","is_error":false,"result":` + quote(text) + `,"total_cost_usd":0.25,"stop_reason":"end_turn","usage":{"input_tokens":1000,"cache_creation_input_tokens":15,"cache_read_input_tokens":5,"output_tokens":300},"modelUsage":{"small":{"outputTokens":1},"large":{"outputTokens":299}}` + more + "}\nEND"
}

func TestClaude(t *testing.T) {
	t.Setenv("CLAUDECODE", "1")
	t.Setenv("CLAUDE_CODE_ENTRYPOINT", "cli")
	dir := script(t, result(t, "Sure.\n```json\n"+proposalJSON(t)+"\n```", ""))
	m, err := ByName("claude-cli:large", Options{MaxTokens: 500})
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Propose(t.Context(), inputs(), proposal(), problems())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(proposal(), got); diff != "" {
		t.Error(diff)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	system, user := memory.Prompt(inputs(), proposal(), problems())
	if diff := cmp.Diff(user, read("stdin")); diff != "" {
		t.Error(diff)
	}
	args := read("args")
	for _, want := range []string{"-p\n--output-format\njson\n", "--tools\n\n", "--strict-mcp-config\n", `"disableAllHooks":true`, "--system-prompt\n" + system, "--model\nlarge\n", "--max-turns\n1\n"} {
		if !strings.Contains(args, want) {
			t.Errorf("no %q in %q", want, args)
		}
	}
	env := read("env")
	if strings.Contains(env, "CLAUDECODE=") || strings.Contains(env, "ENTRYPOINT=") || !strings.Contains(env, "CLAUDE_CODE_MAX_OUTPUT_TOKENS=500") {
		t.Error(env)
	}
	if pwd := strings.TrimSpace(read("pwd")); read("ls") != "" || !strings.Contains(pwd, "chinvex-claude-") {
		t.Errorf("it runs in %s with %q", pwd, read("ls"))
	} else if _, err := os.Stat(pwd); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left behind", pwd)
	}
	if u := m.Usage(); u.Model != "large" || u.Input != 1020 || u.Output != 300 || u.Requests != 1 || u.Cost == nil || *u.Cost != .25 {
		t.Errorf("%+v", u)
	}
}

func TestClaudeFailures(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"no login":   {`printf %s '{"type":"result","subtype":"success","is_error":true,"result":"Not logged in\nPlease run /login"}'; exit 1`, `reports "Not logged in Please run /login"`},
		"turns":      {`echo '{"type":"result","subtype":"error_max_turns","is_error":false}'`, `reports "error_max_turns"`},
		"old":        {`echo "error: unknown option '--tools'" >&2; exit 1`, "failed with exit status 1 (error: unknown option '--tools'); run `claude -p hello`"},
		"not JSON":   {`echo hello`, "answer is not its JSON (hello); update"},
		"other JSON": {`echo '[]'`, "answer is not its JSON"},
		"malformed":  {result(t, `{"state":`, ""), "answer is not usable"},
		"truncated":  {result(t, "{", `,"stop_reason":"max_tokens"`), "cut off after 300 tokens"},
		"refusal":    {result(t, "No.", `,"stop_reason":"refusal"`), "declines to answer (No.)"},
		"slow":       {`exec sleep 30`, "no whole answer within 500ms"},
		"children":   {`sleep 30 & wait`, "no whole answer within 500ms"},
		"huge":       {`head -c 17000000 /dev/zero`, "exceeds 16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			script(t, c.body)
			o := Options{}
			if strings.Contains(c.want, "500ms") {
				o.Timeout = 500 * time.Millisecond
			}
			m, err := ByName("claude-cli", o)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_, err = m.Propose(t.Context(), inputs(), nil, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || time.Since(began) > 10*time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		})
	}
}

func TestClaudeCancel(t *testing.T) {
	script(t, "exec sleep 30")
	m, err := ByName("claude-cli", Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := m.Propose(ctx, &memory.Inputs{}, nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
