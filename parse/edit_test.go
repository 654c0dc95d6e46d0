package parse

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// without drops lines from a text.
func without(text string, spans []LineSpan) string {
	var kept strings.Builder
	for i, line := range strings.SplitAfter(text, "\n") {
		if !slices.ContainsFunc(spans, func(s LineSpan) bool { return s.Start <= i+1 && i+1 <= s.End }) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// checkChanged asserts what makes a line diff right: both texts without their
// changed lines are the same, and the spans are in order and inside the text.
func checkChanged(t *testing.T, old, new string) {
	t.Helper()
	added, removed := ChangedLines(old, new)
	if without(old, removed) != without(new, added) {
		t.Errorf("old %q new %q: added %v, removed %v", old, new, added, removed)
	}
	for text, spans := range map[string][]LineSpan{old: removed, new: added} {
		end := 0
		for _, s := range spans {
			if s.Start <= end || s.End < s.Start || s.End > strings.Count(text, "\n")+1 {
				t.Errorf("spans %v of %q", spans, text)
			}
			end = s.End
		}
	}
	if old == new && len(added)+len(removed) > 0 {
		t.Errorf("equal texts differ: %v %v", added, removed)
	}
}

func TestChangedLines(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range random.IntN(30) {
			fmt.Fprintf(&b, "line %d", random.IntN(8))
			if random.IntN(10) > 0 {
				b.WriteByte('\n')
			}
		}
		return b.String()
	}
	for range 2000 {
		checkChanged(t, text(), text())
	}
	added, removed := ChangedLines("a\nb\nc\nd\n", "a\nx\ny\nc\n")
	if fmt.Sprint(added, removed) != "[{2 3}] [{2 2} {4 4}]" {
		t.Error(added, removed)
	}
	// More distinct lines than there are runes of two bytes, around the surrogates.
	var many strings.Builder
	for i := range 9_000 {
		fmt.Fprintln(&many, i)
	}
	checkChanged(t, many.String(), strings.ReplaceAll(many.String(), "7\n", "seven\n"))
}

func TestChangedLinesIsBounded(t *testing.T) {
	var a, b strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&a, "a%d\n", i)
		fmt.Fprintf(&b, "b%d\n", i)
	}
	start := time.Now()
	checkChanged(t, "same\n"+a.String(), "same\n"+b.String())
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestLocateEdit(t *testing.T) {
	for _, test := range []struct {
		name, file, old, new string
		all                  bool
		want                 string
	}{
		{"inside a line", "a\nreturn 2\nb\n", "return 1", "return 2", false, "[{2 2}]"},
		{"only the changed line", "x\na\nB\nc\ny\n", "a\nb\nc", "a\nB\nc", false, "[{3 3}]"},
		{"all", "f2()\nx\nf2() + f2()\n", "f", "f2", true, "[{1 1} {3 3}]"},
		{"removed line", "x\na\nc\ny\n", "a\nb\nc", "a\nc", false, "[{3 3}]"},
		{"text before", "x\na\nb\nc\n", "b\n", "", false, "[{3 3}]"},
		{"text before, all", "b\nx\nb\ny\n", "b\n", "", true, "[{1 1} {2 2}]"},
		{"text after a removal", "x\na\n", "b\n", "", false, "[]"},
		{"not there", "x\n", "b", "c", false, "[]"},
		{"nothing at all", "", "", "", true, "[]"},
		{"new lines", "a\nb1\nb2\nb3\nc\n", "a\nc", "a\nb1\nb2\nb3\nc", false, "[{2 4}]"},
	} {
		if have := fmt.Sprint(LocateEdit(test.file, test.old, test.new, test.all)); have != test.want {
			t.Errorf("%s: %s, want %s", test.name, have, test.want)
		}
	}
}

func TestChangedIdentifiers(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{"def alpha(x):\n    return x\n", "def beta(x):\n    return x\n", "alpha"},
		{"func (s *Server) Handle(w Writer) {\n\tlog(w)\n}", "func (s *Server) Serve(w Writer) {\n\tlog(w)\n}", "Handle"},
		{"a = helper(1)\nclass Old:\n", "a = 1\n", "Old helper"},
		{"MAX_SIZE = 10\n", "MAX_BYTES = 10\n", "MAX_SIZE"},
		{"return 1", "return 2", ""},
		{"x", "", ""},
		{"pub struct Config { path: PathBuf }", "pub struct Settings { path: PathBuf }", "Config"},
		{"größe = 1", "", "größe"},
		{"", "foo", ""},
	} {
		if have := strings.Join(ChangedIdentifiers(test.old, test.new), " "); have != test.want {
			t.Errorf("%q → %q: %q, want %q", test.old, test.new, have, test.want)
		}
	}
}

func FuzzChangedLines(f *testing.F) {
	f.Add("a\nb\nc", "a\nc\n")
	f.Add("", "\n\n\xff\n")
	f.Add("a\r\nb\r\n", "b\na")
	f.Fuzz(func(t *testing.T, old, new string) {
		checkChanged(t, old, new)
		ChangedIdentifiers(old, new)
		lines := strings.Count(old+new, "\n") + 2
		for _, all := range []bool{false, true} {
			for _, s := range LocateEdit(old+new, old, new, all) {
				if s.Start < 1 || s.End < s.Start || s.End > 3*lines {
					t.Errorf("span %v", s)
				}
			}
		}
	})
}
