package dispatch

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chinvex/chinvex/claude"
	"github.com/chinvex/chinvex/project"
)

// An event that two hooks get, the plugin's and the project's, is answered by one.
func TestAnsweredOnce(t *testing.T) {
	root, env, spawned := indexed(t, shop)
	say := func(in string) string {
		var out bytes.Buffer
		Run(context.Background(), strings.NewReader(in), &out, env)
		return out.String()
	}
	edit := event(t, root, "PostToolUse", "Edit", map[string]any{
		"tool_use_id":   "toolu_1",
		"tool_input":    map[string]any{"file_path": root + "/shop/price.py", "old_string": "split()", "new_string": "split(None)"},
		"tool_response": map[string]any{"structuredPatch": []claude.Hunk{{OldStart: 2, OldLines: 1, NewStart: 2, NewLines: 1, Lines: []string{"-    amount, currency = text.split()", "+    amount, currency = text.split(None)"}}}},
	})
	if say(edit) == "" {
		t.Fatal("the first hook said nothing")
	}
	if again := say(edit); again != "" || lastRecord(t, env).Outcome != "twice" || len(*spawned) != 1 {
		t.Errorf("the second hook said %q, logged %q and started %v", again, lastRecord(t, env).Outcome, *spawned)
	}
	prompt := event(t, root, "UserPromptSubmit", "", map[string]any{"prompt": "parse_price should take a currency", "prompt_id": "p2"})
	if say(prompt) == "" {
		t.Error("the prompt was not answered")
	}
	if again := say(prompt); again != "" {
		t.Errorf("the second hook said %q", again)
	}
	// After compaction the agent is reminded of what it edited, and nothing counts as told.
	compact := event(t, root, "SessionStart", "", map[string]any{"source": "compact"})
	if told := say(compact); !strings.Contains(told, "Edited in this session, the last one first: shop/price.py") {
		t.Errorf("after compaction it said %q", told)
	}
	if say(event(t, root, "SessionStart", "", map[string]any{"source": "compact", "session_id": "idle"})) != "" {
		t.Error("a session that edited nothing was told something")
	}
	if say(strings.Replace(edit, "toolu_1", "toolu_2", 1)) == "" {
		t.Error("what was told before compaction still counts as told")
	}
}

func TestSessionEnd(t *testing.T) {
	root, env, _ := indexed(t, shop)
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "one"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	head, err := exec.Command("git", "-C", root, "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	c, err := env.Home.Context("shop")
	if err != nil {
		t.Fatal(err)
	}
	if last := c.LastSession(root); last != (project.Session{}) {
		t.Errorf("before any session: %+v", last)
	}
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	env.Now = func() time.Time { return now }
	old := filepath.Join(c.SessionsDir(), "old.jsonl")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old, now, now.Add(-8*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	Run(context.Background(), strings.NewReader(event(t, root, "SessionEnd", "", map[string]any{"reason": "other"})), &out, env)
	want := project.Session{Ended: now, Head: strings.TrimSpace(string(head))}
	if last := c.LastSession(root); last != want || out.Len() > 0 {
		t.Errorf("the session's end is %+v, not %+v; it said %s", last, want, out.String())
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Error("an old ledger is still there")
	}
	// A file that is damaged is as good as none.
	names, err := filepath.Glob(filepath.Join(c.SessionsDir(), "last-*.json"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	if err := os.WriteFile(names[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if last := c.LastSession(root); last != (project.Session{}) {
		t.Errorf("read %+v", last)
	}
}
