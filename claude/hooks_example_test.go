package claude

import (
	"encoding/json"
	"os"
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
	for _, h := range Hooks {
		want[h.Event] = []entry{{Matcher(h.Event), []command{{"command", "chinvex-hook 2>/dev/null || true"}}}}
	}
	if diff := cmp.Diff(want, got.Hooks); diff != "" {
		t.Errorf("hooks.example.json (-want +got):\n%s", diff)
	}
}
