package maintainer

import (
	"fmt"
	"strings"

	"github.com/chinvex/chinvex/parse"
)

// contextLines are shown around a change.
const contextLines = 3

// unified is the difference of a file's texts as git shows it; "" for none. old is
// nil for a new file. Lines that end in another way count as equal.
func unified(path string, old, new []byte) string {
	a, b := lines(old), lines(new)
	added, removed := parse.ChangedLines(joined(a), joined(b))
	type op struct {
		mark byte
		text string
	}
	var ops []op
	in := func(spans []parse.LineSpan, n int) bool {
		return len(spans) > 0 && spans[0].Start <= n && n <= spans[0].End
	}
	for i, k := 1, 1; i <= len(a) || k <= len(b); {
		switch {
		case in(removed, i):
			ops = append(ops, op{'-', a[i-1]})
			if i == removed[0].End {
				removed = removed[1:]
			}
			i++
		case in(added, k):
			ops = append(ops, op{'+', b[k-1]})
			if k == added[0].End {
				added = added[1:]
			}
			k++
		default:
			ops = append(ops, op{' ', a[i-1]})
			i, k = i+1, k+1
		}
	}

	var out strings.Builder
	before, after := 1, 1 // the line numbers of ops[at]
	for at := 0; at < len(ops); {
		first := at
		for first < len(ops) && ops[first].mark == ' ' {
			first++
		}
		if first == len(ops) {
			break
		}
		last := first // of the changes that are near to each other
		for i := first; i < len(ops) && i-last <= 2*contextLines+1; i++ {
			if ops[i].mark != ' ' {
				last = i
			}
		}
		from, to := max(at, first-contextLines), min(len(ops), last+contextLines+1)
		before, after = before+from-at, after+from-at
		var hunk strings.Builder
		oldLines, newLines := 0, 0
		for _, o := range ops[from:to] {
			hunk.WriteString(string(o.mark) + o.text + "\n")
			if o.mark != '+' {
				oldLines++
			}
			if o.mark != '-' {
				newLines++
			}
		}
		if out.Len() == 0 {
			name := "a/" + path
			if old == nil {
				name = "/dev/null"
			}
			fmt.Fprintf(&out, "--- %s\n+++ b/%s\n", name, path)
		}
		fmt.Fprintf(&out, "@@ -%s +%s @@\n%s", extent(before, oldLines), extent(after, newLines), &hunk)
		before, after, at = before+oldLines, after+newLines, to
	}
	return out.String()
}

// extent is a run of lines in the head of a hunk.
func extent(first, n int) string {
	if n == 0 {
		first--
	}
	return fmt.Sprintf("%d,%d", first, n)
}

// lines cuts a text at its line ends.
func lines(data []byte) []string {
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func joined(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
