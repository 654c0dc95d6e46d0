// Package docs_test holds the pages for users against the program.
package docs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chinvex/chinvex/project"
)

// pages are the files whose links are checked.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, glob := range []string{"*.md", "../*.md", "../plugin/*.md", "../bench/runs/*/*.md"} {
		found, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	if len(all) < 10 {
		t.Fatalf("only %d pages", len(all))
	}
	return all
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var (
	fence   = regexp.MustCompile("(?ms)^```.*?^```$")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are the names by which GitHub links to a page's headings.
func anchors(page string) []string {
	var names []string
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		names = append(names, strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return names
}

func TestLinks(t *testing.T) {
	seen := 0
	for _, name := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(readPage(t, name), ""), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			seen++
			file := filepath.Join(filepath.Dir(name), filepath.FromSlash(target))
			if target == "" {
				file = name
			}
			if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
			} else if anchor != "" && !slices.Contains(anchors(readPage(t, file)), anchor) {
				t.Errorf("%s links to %s, which has no such heading", name, m[1])
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d links checked", seen)
	}
}

// The table of settings.md has the keys, defaults and ranges of the program.
func TestSettings(t *testing.T) {
	type setting struct{ Key, Default, Range string }
	var want, got []setting
	resolved, err := project.Resolve(nil, nil, map[string]string{"search.thresholds.language": "0.5"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range resolved.Sources() {
		row := setting{s.Key, s.Value, allowed(s.Key)}
		if s.Key == "search.thresholds.language" { // the one key that people make themselves
			row.Key, row.Default = "search.thresholds.LANGUAGE", ""
		}
		want = append(want, row)
	}
	row := regexp.MustCompile("(?m)^\\| `([a-z_]+\\.[a-zA-Z_.]+)` \\| ?(.*?) ?\\| ?(.*?) ?\\| (.+) \\|$")
	for _, m := range row.FindAllStringSubmatch(readPage(t, "settings.md"), -1) {
		got = append(got, setting{m[1], strings.Trim(m[2], "` "), m[3]})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings.md (-program +page):\n%s", diff)
	}
}

// allowed is what a setting may be, as the program says it of a value that none may be.
func allowed(key string) string {
	_, err := project.Resolve(nil, nil, map[string]string{key: "-1"})
	if err == nil {
		return ""
	}
	for _, before := range []string{"must be a number from ", "must be a whole number from ", "must be one of "} {
		if _, after, ok := strings.Cut(err.Error(), before); ok {
			return after
		}
	}
	return ""
}
