package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/chinvex/chinvex/project"
)

var updatePages = flag.Bool("update", false, "write docs/man anew")

// TestManPages holds docs/man against the commands. With -update it writes them.
func TestManPages(t *testing.T) {
	const dir = "../../docs/man"
	pages := map[string][]byte{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Hidden || cmd.Name() == "help" || cmd.Name() == "completion" {
			return
		}
		cmd.DisableAutoGenTag = true
		date := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC) // the day would change them every day
		var page bytes.Buffer
		header := &doc.GenManHeader{Section: "1", Source: "chinvex " + project.Version, Manual: "chinvex", Date: &date}
		if err := doc.GenMan(cmd, header, &page); err != nil {
			t.Fatal(err)
		}
		pages[strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"] = page.Bytes()
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk((&app{style: newStyle(&bytes.Buffer{})}).root())
	if len(pages) < 15 {
		t.Errorf("only %d pages", len(pages))
	}
	if *updatePages {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, page := range pages {
		file := filepath.Join(dir, name)
		if *updatePages {
			if err := os.WriteFile(file, page, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if old, err := os.ReadFile(file); err != nil || !bytes.Equal(old, page) {
			t.Errorf("docs/man/%s is out of date (%v); `go test ./cmd/chinvex -run TestManPages -update` writes it anew", name, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(pages) {
		t.Errorf("docs/man holds %d pages, there are %d commands", len(entries), len(pages))
	}
}
