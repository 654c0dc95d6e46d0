package client

import (
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/chinvex/chinvex/claude"
)

// filePatch is what a patch of Codex does to one file.
type filePatch struct {
	op      byte   // 'A' adds, 'U' updates, 'D' deletes
	path    string // as written
	moved   string // where the file is afterwards, if the patch moves it
	changes []change
}

// change is one place of an updated file, or the only one of an added file.
type change struct {
	under []string // lines that stand above it, the outermost first
	lines []string // with " ", "-" or "+" in front
}

// old and new are the lines before and after, those around included.
func (c change) old() []string { return c.side('-') }
func (c change) new() []string { return c.side('+') }

func (c change) side(sign byte) []string {
	var kept []string
	for _, line := range c.lines {
		if line[0] == sign || line[0] == ' ' {
			kept = append(kept, line[1:])
		}
	}
	return kept
}

// parsePatch reads the patch format of Codex's apply_patch. What does not belong to a
// file, or is no patch at all, is skipped.
func parsePatch(text string) []filePatch {
	var files []filePatch
	headed := false // the line before was a heading of the same change
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if rest, ok := strings.CutPrefix(line, "*** "); ok {
			what, name, _ := strings.Cut(rest, ":")
			name = strings.TrimSpace(name)
			switch what {
			case "Add File", "Update File", "Delete File":
				files = append(files, filePatch{op: what[0], path: name})
			case "Move to":
				if n := len(files); n > 0 {
					files[n-1].moved = name
				}
			case "End Patch":
				return files
			}
			headed = false
			continue
		}
		if len(files) == 0 {
			continue
		}
		f := &files[len(files)-1]
		if heading, ok := strings.CutPrefix(line, "@@"); ok {
			if !headed {
				f.changes = append(f.changes, change{})
			}
			if heading = strings.TrimSpace(heading); heading != "" {
				c := &f.changes[len(f.changes)-1]
				c.under = append(c.under, heading)
			}
			headed = true
			continue
		}
		headed = false
		if line == "" {
			line = " "
		}
		if line[0] != ' ' && line[0] != '+' && line[0] != '-' {
			continue
		}
		if len(f.changes) == 0 {
			f.changes = []change{{}}
		}
		c := &f.changes[len(f.changes)-1]
		c.lines = append(c.lines, line)
	}
	return files
}

// maxFile is how many bytes of an edited file are read.
const maxFile = 4 << 20

// readFile returns a text file with its lines' ends made "\n", "" when it is longer than
// maxFile or cannot be read.
func readFile(name string) string {
	// A pipe would be waited for.
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}

// located numbers the changes of a file. Codex and Cursor do not say where they made a
// change, so it is looked for in the file as it is now. One that is not found exactly
// once has no hunk: a wrong place would be told to the agent as a fact.
func located(now string, changes []change) []claude.Hunk {
	var hunks []claude.Hunk
	text := "\n" + strings.TrimSuffix(now, "\n") + "\n"
	from, grown := 0, 0 // where the last change ended; lines that were added up to there
	for _, c := range changes {
		before, after := len(c.old()), len(c.new())
		start := from
		for _, heading := range c.under {
			if at := strings.Index(text[start:], heading); at >= 0 {
				start += at
				start += max(0, strings.IndexByte(text[start:], '\n'))
			}
		}
		needle := "\n" + strings.Join(c.new(), "\n") + "\n"
		if at := strings.Index(text[start:], needle); after > 0 && at >= 0 && !strings.Contains(text[start+at+1:], needle) {
			line := 1 + strings.Count(text[:start+at], "\n")
			hunks = append(hunks, claude.Hunk{OldStart: line - grown, OldLines: before, NewStart: line, NewLines: after, Lines: c.lines})
			from = start + at + len(needle) - 1
		}
		grown += after - before // it stands before the next one wherever it is
	}
	return hunks
}

// replaced is the change of whole lines that put text in the place of old made, in the
// file as it is now; ok is false when text is not found exactly once.
func replaced(now, old, text string) (c change, ok bool) {
	at := strings.Index(now, text)
	if text == "" || at < 0 || strings.Contains(now[at+1:], text) {
		return change{}, false
	}
	start := 1 + strings.LastIndexByte(now[:at], '\n')
	end := len(now)
	if n := strings.IndexByte(now[at+len(text):], '\n'); n >= 0 {
		end = at + len(text) + n
	}
	before := strings.Split(now[start:at]+old+now[at+len(text):end], "\n")
	after := strings.Split(now[start:end], "\n")
	for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
		c.lines = append(c.lines, " "+before[0])
		before, after = before[1:], after[1:]
	}
	var below []string
	for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
		below = append([]string{" " + before[len(before)-1]}, below...)
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	for _, line := range before {
		c.lines = append(c.lines, "-"+line)
	}
	for _, line := range after {
		c.lines = append(c.lines, "+"+line)
	}
	c.lines = append(c.lines, below...)
	return c, true
}

// unified reads the hunks of a unified diff of one file.
func unified(diff string) []claude.Hunk {
	var hunks []claude.Hunk
	left := 0 // lines, old and new, that the last hunk lacks
	for line := range strings.SplitSeq(diff, "\n") {
		if left <= 0 {
			var h claude.Hunk
			if rest, ok := strings.CutPrefix(line, "@@ -"); ok {
				old, rest, _ := strings.Cut(rest, " +")
				now, _, _ := strings.Cut(rest, " @@")
				h.OldStart, h.OldLines = span(old)
				h.NewStart, h.NewLines = span(now)
				left = h.OldLines + h.NewLines
				hunks = append(hunks, h)
			}
			continue
		}
		h := &hunks[len(hunks)-1]
		switch {
		case line == "":
			line = " "
			left -= 2
		case line[0] == ' ':
			left -= 2
		case line[0] == '-' || line[0] == '+':
			left--
		case line[0] == '\\':
		default: // not a diff after all
			return hunks[:len(hunks)-1]
		}
		h.Lines = append(h.Lines, line)
	}
	return hunks
}

// span reads "start,lines" or "start".
func span(text string) (start, lines int) {
	const most = 1 << 24
	first, count, counted := strings.Cut(text, ",")
	start, _ = strconv.Atoi(first)
	lines = 1
	if counted {
		lines, _ = strconv.Atoi(count)
	}
	return min(max(start, 0), most), min(max(lines, 0), most)
}
