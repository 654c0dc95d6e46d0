package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
	"github.com/chinvex/chinvex/search/index"
)

// sample is a definition of the index itself, of which the answers are known: doctor
// asks for it, try plays with it.
type sample struct {
	search.Definition
	Text string // of the file as indexed
	Repo project.Repository
}

// sampleFiles bounds how many files are looked at for a sample.
const sampleFiles = 400

// pickSample returns the definition of a name that nothing else has and that speaks for
// itself: a function before a type before the rest, a name of several words, used in
// several files but not everywhere; among the first source files, ties by path and line.
// ok is false when no file defines anything.
func pickSample(e *search.Engine, repos []project.Repository) (best sample, ok bool, err error) {
	files := e.Reader().Files
	most, bestRow := -1, 0
	for row, seen := 0, 0; row < files.Len() && seen < sampleFiles; row++ {
		f := files.At(row)
		repo, known := repository(repos, f.Path.Repo)
		if f.Class&^index.Internal != 0 || !known {
			continue
		}
		symbols, err := e.Symbols(f.Path)
		if err != nil {
			return best, false, err
		}
		if len(symbols) > 0 {
			seen++
		}
		for _, s := range symbols {
			if s.Uses, err = e.Uses(s.Name); err != nil {
				return best, false, err
			}
			value := showing(s)
			if value <= most {
				continue
			}
			if named, err := e.Reader().SymbolsNamed(s.Name, true, 2); err != nil || len(named) != 1 {
				continue // defined twice: nobody can tell whose uses they are
			}
			best, most, bestRow = sample{Definition: s, Repo: repo}, value, row
		}
	}
	if most < 0 {
		return best, false, nil
	}
	text, err := e.Reader().Text(files.At(bestRow).ID)
	best.Text = string(text)
	return best, err == nil, err
}

// showing says how well a definition shows what the engine does, -1 for not at all.
func showing(s search.Definition) int {
	const plenty = 12 // files; more uses show no more
	value := min(s.Uses, plenty)
	switch s.Kind {
	case "section":
		return -1
	case "function", "method":
		value += 40
	case "class", "struct", "interface", "trait", "enum", "type":
		value += 20
	}
	if w := words(s.Name); len(w) > 1 && !strings.ContainsAny(s.Name, ". ") && !slices.Contains(w, "test") {
		value += 20
	}
	if s.Uses == 0 || len(s.Name) < 5 {
		value = min(value, 1)
	}
	return value
}

func repository(repos []project.Repository, name string) (project.Repository, bool) {
	for _, r := range repos {
		if r.Name == name {
			return r, true
		}
	}
	return project.Repository{}, false
}

// words splits a name: parse_url and ParseURL both give parse, url.
func words(name string) []string {
	var out []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = nil
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			flush()
		}
		word = append(word, r)
	}
	flush()
	return out
}

// event is a tool event as Claude Code sends it.
type event map[string]any

func newEvent(name, session, root string) event {
	return event{"session_id": session, "cwd": root, "hook_event_name": name, "transcript_path": "", "permission_mode": "default"}
}

func (e event) tool(name string, input, response any) event {
	e["tool_name"], e["tool_input"], e["tool_response"], e["tool_use_id"] = name, input, response, "toolu_"+rand.Text()
	return e
}

func (e event) bytes() []byte {
	data, err := json.Marshal(e)
	if err != nil {
		panic(err) // strings and numbers of ours
	}
	return data
}

func promptEvent(session, root, prompt string) event {
	e := newEvent("UserPromptSubmit", session, root)
	e["prompt"] = prompt
	return e
}

func bashEvent(session, root, command, stdout string) event {
	return newEvent("PostToolUse", session, root).tool("Bash", map[string]any{"command": command},
		map[string]any{"stdout": stdout, "stderr": "", "interrupted": false, "isImage": false})
}

func readEvent(session string, s sample, start, lines int) event {
	all := strings.Split(s.Text, "\n")
	from := min(start-1, len(all))
	file := s.Repo.Abs(s.Path)
	return newEvent("PostToolUse", session, s.Repo.Root).tool("Read", map[string]any{"file_path": file, "offset": start, "limit": lines},
		map[string]any{"type": "text", "file": map[string]any{"filePath": file, "content": strings.Join(all[from:min(from+lines, len(all))], "\n"),
			"numLines": lines, "startLine": start, "totalLines": len(all)}})
}

// editEvent is an edit of the line that holds the sample's name.
func editEvent(session string, s sample) event {
	all := strings.Split(s.Text, "\n")
	old := all[min(s.Line, len(all))-1]
	changed := old + " "
	file := s.Repo.Abs(s.Path)
	return newEvent("PostToolUse", session, s.Repo.Root).tool("Edit",
		map[string]any{"file_path": file, "old_string": old, "new_string": changed, "replace_all": false},
		map[string]any{"filePath": file, "oldString": old, "newString": changed, "originalFile": s.Text, "userModified": false, "replaceAll": false,
			"structuredPatch": []any{map[string]any{"oldStart": s.Line, "oldLines": 1, "newStart": s.Line, "newLines": 1, "lines": []string{"-" + old, "+" + changed}}}})
}

// told returns the text of a hook's answer, "" for silence.
func told(answer []byte) (string, error) {
	if len(answer) == 0 {
		return "", nil
	}
	var a struct {
		Output struct {
			Text string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return "", fmt.Errorf("the hook's answer is not JSON: %w", err)
	}
	return a.Output.Text, nil
}
