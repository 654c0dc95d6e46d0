// Package plugin_test holds the Claude Code plugin against what it must agree with: the
// event table, the version and the MCP tools.
package plugin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chinvex/chinvex/claude"
	"github.com/chinvex/chinvex/project"
)

func read(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func TestHooksAreTheEventTable(t *testing.T) {
	type command struct{ Type, Command string }
	type entry struct {
		Matcher string
		Hooks   []command
	}
	var got struct{ Hooks map[string][]entry }
	read(t, "hooks/hooks.json", &got)
	want := map[string][]entry{}
	for _, e := range (claude.Call{Plugin: true}).Entries() {
		want[e.Event] = append(want[e.Event], entry{e.Matcher, []command{{"command", e.Command}}})
	}
	if diff := cmp.Diff(want, got.Hooks); diff != "" {
		t.Errorf("hooks/hooks.json (-want +got):\n%s", diff)
	}
}

func TestManifests(t *testing.T) {
	type manifest struct{ Name, Version, Description, License, Repository string }
	var got manifest
	read(t, ".claude-plugin/plugin.json", &got)
	want := manifest{"chinvex", project.Version, got.Description, "MIT", "https://github.com/chinvex/chinvex"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plugin.json (-want +got):\n%s", diff)
	}
	var market struct {
		Plugins []struct{ Name, Source, Description string }
	}
	read(t, "../.claude-plugin/marketplace.json", &market)
	if len(market.Plugins) != 1 || market.Plugins[0].Name != got.Name || market.Plugins[0].Source != "./plugin" || market.Plugins[0].Description != got.Description {
		t.Errorf("the marketplace offers %+v", market.Plugins)
	}
	// The prefix of our own tools in the event table, mcp__plugin_chinvex_chinvex__, is
	// made of the plugin's name and the server's.
	var mcp struct {
		MCPServers map[string]struct{ Command string }
	}
	read(t, ".mcp.json", &mcp)
	if s, ok := mcp.MCPServers["chinvex"]; !ok || len(mcp.MCPServers) != 1 || s.Command != "chinvex-mcp" {
		t.Errorf(".mcp.json has %+v", mcp.MCPServers)
	}
}

// The skill's table is the list of MCP tools, and names their arguments rightly.
func TestSkillNamesTheTools(t *testing.T) {
	data, err := os.ReadFile("skills/chinvex/SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	arguments := map[string]map[string]any{}
	schemas, err := filepath.Glob("../cmd/mcp/tools/testdata/tools/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range schemas {
		var tool struct {
			Name        string
			InputSchema struct{ Properties map[string]any }
		}
		read(t, path, &tool)
		want = append(want, tool.Name)
		arguments[tool.Name] = tool.InputSchema.Properties
	}
	row := regexp.MustCompile("(?m)^\\| [A-Z].* \\| `(\\w+)` \\| (.*)\\|$")
	argument := regexp.MustCompile("`([a-z]+)`")
	for _, m := range row.FindAllStringSubmatch(string(data), -1) {
		got = append(got, m[1])
		for _, a := range argument.FindAllStringSubmatch(m[2], -1) {
			if _, ok := arguments[m[1]][a[1]]; !ok && a[1] != "parse" { // parse is an example of a symbol
				t.Errorf("the skill gives %s the argument %s", m[1], a[1])
			}
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools in the skill's table (-MCP table +skill):\n%s", diff)
	}
	if description := regexp.MustCompile(`(?m)^description: (.*)$`).FindSubmatch(data); description == nil || len(description[1]) > 1024 {
		t.Error("the skill's description is missing or longer than 1,024 bytes")
	}
}
