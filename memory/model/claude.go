package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// claude runs the claude program in print mode, which has a login of its own.
type claude struct {
	program   string
	model     string
	maxTokens int
}

func newClaude(o *Options) (provider, error) {
	if o.URL != "" || o.KeyEnv != "" {
		return nil, errors.New("claude-cli takes no URL and no key: the claude program has its own; use anthropic for another server")
	}
	program, err := exec.LookPath("claude")
	if err != nil {
		return nil, errors.New("the program claude is not on the PATH: install Claude Code, or use another provider")
	}
	return &claude{program, o.Model, o.MaxTokens}, nil
}

func (c *claude) place() string { return "claude-cli" }

func (c *claude) formats() int { return 1 }

func (c *claude) ask(ctx context.Context, _ int, system, user string) (*answer, error) {
	// In an empty directory there are no instructions, settings and servers of a project.
	dir, err := os.MkdirTemp("", "chinvex-claude-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	args := []string{
		"-p", "--output-format", "json", "--max-turns", "1", "--no-session-persistence",
		"--tools", "", "--strict-mcp-config", "--system-prompt", system,
		// Our own hooks would brief this session too, and the user's instructions are for
		// other work.
		"--settings", `{"disableAllHooks":true,"claudeMdExcludes":["**/CLAUDE.md"]}`,
	}
	if c.model != "" {
		args = append(args, "--model", c.model)
	}
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(user)
	for _, v := range os.Environ() {
		// With these it takes itself for a part of the session that this runs in.
		if !strings.HasPrefix(v, "CLAUDECODE=") && !strings.HasPrefix(v, "CLAUDE_CODE_ENTRYPOINT=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "PWD="+dir)
	if c.maxTokens > 0 {
		cmd.Env = append(cmd.Env, "CLAUDE_CODE_MAX_OUTPUT_TOKENS="+strconv.Itoa(c.maxTokens))
	}
	stdout, stderr := &head{limit: answerBytes}, &head{limit: 4 << 10}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = 2 * time.Second // for what it started itself
	failed := cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if stdout.more {
		return nil, &refusal{message: fmt.Sprintf("the answer exceeds %d MiB; use another model", answerBytes>>20)}
	}
	var got struct {
		Type    string  `json:"type"`
		Subtype string  `json:"subtype"`
		IsError bool    `json:"is_error"`
		Result  string  `json:"result"`
		Stop    string  `json:"stop_reason"`
		Cost    float64 `json:"total_cost_usd"`
		Usage   struct {
			In      int `json:"input_tokens"`
			Created int `json:"cache_creation_input_tokens"`
			Cached  int `json:"cache_read_input_tokens"`
			Out     int `json:"output_tokens"`
		} `json:"usage"`
		Models map[string]struct {
			Out int `json:"outputTokens"`
		} `json:"modelUsage"`
	}
	if err := json.Unmarshal(stdout.kept, &got); err != nil || got.Type != "result" {
		text := oneLine(string(stderr.kept))
		if text == "" {
			text = oneLine(string(stdout.kept))
		}
		if failed == nil {
			return nil, &refusal{message: fmt.Sprintf("the program's answer is not its JSON (%s); update Claude Code", text)}
		}
		return nil, &refusal{message: fmt.Sprintf("the program failed with %v (%s); run `claude -p hello` to see whether it works, or update it", failed, text)}
	}
	if got.IsError || got.Subtype != "success" {
		text := oneLine(got.Result)
		if text == "" {
			text = oneLine(got.Subtype)
		}
		return nil, &refusal{message: fmt.Sprintf("the program reports %q; run `claude -p hello` to see whether it works", text)}
	}
	out := &answer{text: got.Result, in: got.Usage.In + got.Usage.Created + got.Usage.Cached, out: got.Usage.Out, cost: &got.Cost}
	for _, name := range slices.Sorted(maps.Keys(got.Models)) {
		// There may be a small one beside it, which named the session.
		if out.model == "" || got.Models[name].Out > got.Models[out.model].Out {
			out.model = name
		}
	}
	switch got.Stop {
	case "max_tokens":
		out.end = cut
	case "refusal":
		out.end = refused
	}
	return out, nil
}

// head keeps the start of what is written.
type head struct {
	kept  []byte
	limit int
	more  bool
}

func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.limit-len(h.kept))
	h.kept = append(h.kept, p[:n]...)
	h.more = h.more || n < len(p)
	return len(p), nil
}
