package claude

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The example that people copy into their settings is the event table.
func TestExampleIsTheEventTable(t *testing.T) {
	data, err := os.ReadFile("../hooks.example.json")
	if err != nil {
		t.Fatal(err)
	}
	type command struct{ Type, Command string }
	type entry struct {
		Matcher string
		Hooks   []command
	}
	var got struct{ Hooks map[string][]entry }
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string][]entry{}
	for _, e := range (Call{}).Entries() {
		want[e.Event] = append(want[e.Event], entry{e.Matcher, []command{{"command", e.Command}}})
	}
	if diff := cmp.Diff(want, got.Hooks); diff != "" {
		t.Errorf("hooks.example.json (-want +got):\n%s", diff)
	}
}

func TestCommands(t *testing.T) {
	entries := Call{Context: "Ann's shop", Home: "/srv/state dir"}.Entries()
	same(t, "brief", entries[0].Command, `chinvex brief --context 'Ann'\''s shop' --home '/srv/state dir' 2>/dev/null || true`)
	same(t, "handler", entries[1].Command, `chinvex-hook --home '/srv/state dir' 2>/dev/null || true`)
	same(t, "plugin", Call{Plugin: true}.Entries()[0].Command, `chinvex brief --plugin 2>/dev/null || true`)
	// Where the programs are not installed nothing is printed and nothing fails.
	for _, e := range entries {
		cmd := exec.Command("/bin/sh", "-c", e.Command)
		cmd.Env = []string{"PATH=/nowhere"}
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v, %q", e.Command, err, out)
		}
	}
}
