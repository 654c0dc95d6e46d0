package parse

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// maxDiffLines is how many lines of both texts together, common ends not counted,
// are compared one by one; a larger change counts as one block. The comparison is
// quadratic in the number of changed lines.
const maxDiffLines = 20_000

// LineSpan is a run of lines, 1-based and inclusive.
type LineSpan struct{ Start, End int }

// block is one change: old lines [oldAt, oldAt+removed) became new lines
// [newAt, newAt+added), 0-based.
type block struct{ oldAt, removed, newAt, added int }

// blocks compares two texts line by line. A last line without a newline differs
// from the same line with one.
func blocks(old, new string) []block {
	a, b := strings.SplitAfter(old, "\n"), strings.SplitAfter(new, "\n")
	a, b = dropEmpty(a), dropEmpty(b)
	prefix := 0
	for prefix < min(len(a), len(b)) && a[prefix] == b[prefix] {
		prefix++
	}
	a, b = a[prefix:], b[prefix:]
	suffix := 0
	for suffix < min(len(a), len(b)) && a[len(a)-1-suffix] == b[len(b)-1-suffix] {
		suffix++
	}
	a, b = a[:len(a)-suffix], b[:len(b)-suffix]
	if len(a) == 0 && len(b) == 0 {
		return nil
	}
	if len(a) == 0 || len(b) == 0 || len(a)+len(b) > maxDiffLines {
		return []block{{prefix, len(a), prefix, len(b)}}
	}
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = 0 // a deadline would make the answer depend on the machine
	x, y, _ := dmp.DiffLinesToRunes(strings.Join(a, ""), strings.Join(b, ""))
	var list []block
	oldAt, newAt := prefix, prefix
	open := false // the last block in list may still grow
	for _, d := range dmp.DiffMainRunes(x, y, false) {
		n := utf8.RuneCountInString(d.Text) // one rune stands for one line
		if d.Type == diffmatchpatch.DiffEqual {
			oldAt, newAt, open = oldAt+n, newAt+n, false
			continue
		}
		if !open {
			list = append(list, block{oldAt: oldAt, newAt: newAt})
			open = true
		}
		last := &list[len(list)-1]
		if d.Type == diffmatchpatch.DiffDelete {
			last.removed += n
			oldAt += n
		} else {
			last.added += n
			newAt += n
		}
	}
	return list
}

func dropEmpty(lines []string) []string {
	if n := len(lines); lines[n-1] == "" {
		return lines[:n-1]
	}
	return lines
}

// ChangedLines compares two texts. added are lines of the new text that the old
// one lacks, removed lines of the old text that the new one lacks; both in order,
// not touching. Past 20,000 differing lines the whole middle between the common
// beginning and end counts as changed.
func ChangedLines(old, new string) (added, removed []LineSpan) {
	for _, b := range blocks(old, new) {
		if b.added > 0 {
			added = append(added, LineSpan{b.newAt + 1, b.newAt + b.added})
		}
		if b.removed > 0 {
			removed = append(removed, LineSpan{b.oldAt + 1, b.oldAt + b.removed})
		}
	}
	return added, removed
}

// LocateEdit tells which lines of a file the replacement of oldString by
// newString changed, as numbered after the edit. file is the text after it; the
// text before it serves as well, and is needed when newString is empty, which no
// text shows: it is taken for that when newString does not occur in it and
// oldString does. Lines that both strings share are left out; where lines were
// only removed, the line that took their place is given. Without replaceAll the
// first occurrence counts. nil when the edit cannot be found.
func LocateEdit(file, oldString, newString string, replaceAll bool) []LineSpan {
	before := newString == "" || !strings.Contains(file, newString)
	needle := newString
	if before {
		needle = oldString
	}
	if needle == "" {
		return nil
	}
	changes := blocks(oldString, newString)
	grown := strings.Count(newString, "\n") - strings.Count(oldString, "\n")
	var spans []LineSpan
	line, rest, shift := 1, file, 0
	for {
		at := strings.Index(rest, needle)
		if at < 0 {
			return spans
		}
		line += strings.Count(rest[:at], "\n")
		for _, b := range changes {
			start := max(1, line+shift+b.newAt)
			span := LineSpan{start, start + max(b.added, 1) - 1}
			// Two occurrences in one line give one span.
			if n := len(spans); n > 0 && span.Start <= spans[n-1].End {
				spans[n-1].End = max(spans[n-1].End, span.End)
				continue
			}
			spans = append(spans, span)
		}
		if !replaceAll {
			return spans
		}
		if before {
			shift += grown
		}
		line += strings.Count(needle, "\n")
		rest = rest[at+len(needle):]
	}
}

// maxIdentifiers bounds what ChangedIdentifiers returns.
const maxIdentifiers = 20

// definers are words that stand in front of a defined name in some language.
const definers = "def fn func function class struct interface trait enum type impl mod module const let var val static macro_rules define record object union namespace package sub proc protocol extension typedef alias defp defmodule"

// notNames are words that are no one's name.
const notNames = definers + " if else elif for while do switch case match return break continue import from use using include require export public private protected internal pub mut async await new delete try except catch finally throw raise with as in is not and or self this super None null nil true false True False void int string bool float double char long short unsigned default where yield pass goto end begin then"

// ChangedIdentifiers returns identifiers that stand on lines of oldString that
// the edit changed and that newString no longer holds: names that were renamed or
// removed. Those in a place that looks like a definition come first (after a word
// like "func" or "class", or first on the line before "=", ":" or "("), each group
// in order of appearance; at most 20.
func ChangedIdentifiers(oldString, newString string) []string {
	still := map[string]bool{}
	for _, w := range identifiers(newString) {
		still[w.text] = true
	}
	lines := strings.SplitAfter(oldString, "\n")
	var defined, used []string
	for _, b := range blocks(oldString, newString) {
		for _, line := range lines[b.oldAt : b.oldAt+b.removed] {
			found := identifiers(line)
			previous := ""
			for i, w := range found {
				after := strings.TrimLeft(line[w.at+len(w.text):], " \t")
				isDefined := containsWord(definers, previous) ||
					strings.HasPrefix(line, "func (") && strings.Index(line, ") ")+2 == w.at || // a Go method
					i == 0 && (strings.HasPrefix(after, "=") && !strings.HasPrefix(after, "==") || strings.HasPrefix(after, ":"))
				previous = w.text
				if still[w.text] || utf8.RuneCountInString(w.text) < 2 || containsWord(notNames, w.text) {
					continue
				}
				if isDefined {
					defined = append(defined, w.text)
				} else {
					used = append(used, w.text)
				}
			}
		}
	}
	all := append(defined, used...)
	unique := all[:0:0]
	for _, name := range all {
		if len(unique) < maxIdentifiers && !slices.Contains(unique, name) {
			unique = append(unique, name)
		}
	}
	return unique
}

// identifier is a name and the byte where it begins.
type identifier struct {
	at   int
	text string
}

// identifiers returns the names in text, in order: runs of letters, digits and
// underscores that do not begin with a digit.
func identifiers(text string) []identifier {
	var found []identifier
	start := -1
	for i, r := range text + " " {
		if isNameRune(r) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 && (text[start] < '0' || text[start] > '9') {
			found = append(found, identifier{start, text[start:i]})
		}
		start = -1
	}
	return found
}
