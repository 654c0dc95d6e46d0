package chinvex

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestImportsRunDownwards holds the packages against the table of rooms in
// docs/architecture.md: a room may import itself, what the table grants it, and
// nothing else of this module.
func TestImportsRunDownwards(t *testing.T) {
	rooms := readRooms(t)
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	const module = "github.com/chinvex/chinvex/"
	seen := 0
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		from, ok := strings.CutPrefix(p.ImportPath, module)
		if !ok {
			continue
		}
		room := roomOf(rooms, from)
		if room == "" {
			t.Errorf("%s is in no room of docs/architecture.md", from)
			continue
		}
		seen++
		for _, i := range p.Imports {
			to, ours := strings.CutPrefix(i, module)
			if !ours {
				continue
			}
			target := roomOf(rooms, to)
			if target != room && !rooms[room]["everything"] && !rooms[room][target] {
				t.Errorf("%s imports %s: the room %s may not import %s", from, to, room, target)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d packages checked", seen)
	}
}

// readRooms reads the table: room → rooms that it may import.
func readRooms(t *testing.T) map[string]map[string]bool {
	t.Helper()
	data, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	rooms := map[string]map[string]bool{}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		room := strings.Trim(strings.TrimSpace(cells[1]), "`/")
		may := map[string]bool{}
		for name := range strings.SplitSeq(cells[3], ",") {
			may[strings.Trim(strings.TrimSpace(name), "`/")] = true
		}
		rooms[room] = may
	}
	if len(rooms) < 10 {
		t.Fatalf("docs/architecture.md has a table of only %d rooms", len(rooms))
	}
	return rooms
}

// roomOf returns the longest room that holds a package.
func roomOf(rooms map[string]map[string]bool, pkg string) string {
	best := ""
	for room := range rooms {
		if (pkg == room || strings.HasPrefix(pkg, room+"/")) && len(room) > len(best) {
			best = room
		}
	}
	return best
}
