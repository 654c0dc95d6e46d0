package memory

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// outline writes a document's structure, a line a piece.
func outline(d *Document) string {
	types := [...]string{"blank", "item", "paragraph", "code", "comment", "rule", "subheading", "footer"}
	var out strings.Builder
	blocks := func(blocks []Block) {
		for _, b := range blocks {
			if b.Type != Blank {
				fmt.Fprintf(&out, "  %s %q\n", types[b.Type], b.Text())
			}
		}
	}
	for _, s := range d.Sections {
		if s.Level > 0 {
			fmt.Fprintf(&out, "section %d %q\n", s.Level, s.Name)
		}
		blocks(s.Blocks)
		for _, e := range s.Entries {
			date := "-"
			if !e.Date.IsZero() {
				date = e.Date.Format(time.DateOnly)
			}
			fmt.Fprintf(&out, " entry %s %q\n", date, e.Title)
			blocks(e.Blocks)
		}
	}
	return out.String()
}

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name string
		kind Kind
		text string
		want string
	}{
		{"empty", State, "", ""},
		{"plain", State, "# State\n\n## Blockers\nNone\n", "section 1 \"State\"\nsection 2 \"Blockers\"\n  paragraph \"None\"\n"},
		{"windows", State, "\ufeff# State\r\n\r\n## Blockers\r\n- a\r\n  b\r\n", "section 1 \"State\"\nsection 2 \"Blockers\"\n  item \"a\\nb\"\n"},
		{"nested", Constraints, "- a\n  - b\n    - c\n\n  more of a\n- d\n", "  item \"a\\n- b\\n  - c\\n\\nmore of a\"\n  item \"d\"\n"},
		{"nested by tab", Constraints, "-\ta\n\t- b\n", "  item \"a\\n- b\"\n"},
		{"an indented list is no nested one", Constraints, "  - a\n  - b\n", "  item \"a\"\n  item \"b\"\n"},
		{"numbers", Constraints, "1. a\n   b\n2) c\n1.5 is a number\n", "  item \"a\\nb\"\n  item \"c\\n1.5 is a number\"\n"},
		{"a bullet runs on", Constraints, "* a\nb\n\nc\n", "  item \"a\\nb\"\n  paragraph \"c\"\n"},
		{"no bullets", Constraints, "-a\n**b** c\n", "  paragraph \"-a\\n**b** c\"\n"},
		{"empty bullet", Constraints, "-\n- \n+ x\n", "  item \"\"\n  item \"\"\n  item \"x\"\n"},
		{"fences", Constraints, "```md\n## no heading\n<!-- shown -->\n```\n~~~\n```\n~~~~\n## heading ##\n",
			"  code \"```md\\n## no heading\\n<!-- shown -->\\n```\"\n  code \"~~~\\n```\\n~~~~\"\nsection 2 \"heading\"\n"},
		{"a fence that stays open", Constraints, "```\n## no heading\n", "  code \"```\\n## no heading\"\n"},
		{"inline code is no fence", Constraints, "```a``` b\n## heading\n", "  paragraph \"```a``` b\"\nsection 2 \"heading\"\n"},
		{"a fence in a bullet", Constraints, "- a\n  ```\n  ## no heading\n  ```\n- b\n", "  item \"a\\n```\\n## no heading\\n```\"\n  item \"b\"\n"},
		{"comments", Constraints, "<!-- a\n\n## b\n-->\n## c <!-- d -->\n- e <!-- f\n  g --> h\n<!-- i --> j\n",
			"  comment \"\"\nsection 2 \"c\"\n  item \"e  h\"\n  paragraph \"j\"\n"},
		{"a comment that stays open", Constraints, "- a <!-- b\n\n<!-- c\n## d\n", "  item \"a\"\n  comment \"\"\n"},
		{"comments in code", Constraints, "- `<!-- a -->` and ``b ` <!-- c -->`` <!-- d -->\n- ` <!-- e -->\n",
			"  item \"`<!-- a -->` and ``b ` <!-- c -->``\"\n  item \"`\"\n"},
		{"underlined", Constraints, "Title\n=====\nRules\n---\n- a\n---\nb\nc\n---\n",
			"section 1 \"Title\"\nsection 2 \"Rules\"\n  item \"a\"\n  rule \"\"\n  paragraph \"b\\nc\"\n  rule \"\"\n"},
		{"no headings", Constraints, "#hash\n####### seven\n    ## indented\n", "  paragraph \"#hash\\n####### seven\\n    ## indented\"\n"},
		{"rules", Constraints, "* * *\n___\n--\n", "  rule \"\"\n  rule \"\"\n  paragraph \"--\"\n"},
		{"footer", State, "## Blockers\nNone\n---\nLast memory update: 2026-02-05\nCommits covered through: abc\n\n<!-- chinvex:last-commit:abcdef0 -->\n",
			"section 2 \"Blockers\"\n  paragraph \"None\"\n  rule \"\"\n  footer \"\"\n  comment \"\"\n"},
		{"subheadings", Constraints, "## Rules\n### Back end\n- a\n", "section 2 \"Rules\"\n  subheading \"Back end\"\n  item \"a\"\n"},
		{"entries", Decisions, "## 2026-02\n### 2026-02-05 — One\n- **Why:** a\n### 2026-02-30 - Two\n### 2026-02-04T10:00:00+02:00: Three\n### Four\n#### Five\n",
			"section 2 \"2026-02\"\n entry 2026-02-05 \"One\"\n  item \"**Why:** a\"\n entry - \"2026-02-30 - Two\"\n entry 2026-02-04 \"Three\"\n entry - \"Four\"\n  subheading \"Five\"\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := Parse(tc.kind, []byte(tc.text))
			if got := string(d.Bytes()); got != tc.text {
				t.Errorf("Bytes = %q, want %q", got, tc.text)
			}
			if diff := cmp.Diff(tc.want, outline(d)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// fragments are what real and broken files are made of.
var fragments = []string{
	"\n", "\r\n", " ", "\t", "  ", "    ", "x", "- ", "* ", "1. ", "- [ ] ", "## Rules", "### 2026-02-05 — Title", "# State", "#### deep", "---", "===",
	"```", "~~~~", "`", "``", "<!--", "-->", "<!-- a -->", "<!-- chinvex:last-commit:0123456789abcdef0123456789abcdef01234567 -->",
	"Last memory update: 2026-02-05", "Commits covered through: abc", "**Why:** because", "Evidence: 1234567", "## Recent (last 30 days)", "\ufeff", "\xff", "\x00",
	"é—…", "<<<<<<< HEAD", "| a | b |", "> quoted", "[link](x)", "None",
}

// checkPieces holds what every document promises.
func checkPieces(t *testing.T, kind Kind, data []byte) {
	t.Helper()
	d := Parse(kind, data)
	if got := d.Bytes(); string(got) != string(data) {
		t.Fatalf("Bytes of %q = %q", data, got)
	}
	if len(d.Sections) == 0 || d.Sections[0].Heading != "" {
		t.Fatalf("%q: the first section is not what stands before the headings", data)
	}
	check := func(blocks []Block) {
		for _, b := range blocks {
			if b.Raw == "" {
				t.Fatalf("%q has an empty block", data)
			}
			if text := b.Text(); text != "" && (b.Type == Blank || b.Type == Comment || b.Type == Rule || b.Type == Footer) {
				t.Fatalf("%q: block %q of type %d has the text %q", data, b.Raw, b.Type, text)
			}
		}
	}
	for i, s := range d.Sections {
		if i > 0 && (s.Heading == "" || s.Level < 1 || s.Level > 2) {
			t.Fatalf("%q: section %+v", data, s)
		}
		check(s.Blocks)
		for _, e := range s.Entries {
			check(e.Blocks)
			e.Labels()
		}
	}
	d.Coverage()
}

func TestParseKeepsEveryByte(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var text strings.Builder
		for range random.IntN(30) {
			text.WriteString(fragments[random.IntN(len(fragments))])
			if random.IntN(3) == 0 {
				text.WriteString("\n")
			}
		}
		checkPieces(t, Kind(random.IntN(3)), []byte(text.String()))
	}
}

func FuzzParse(f *testing.F) {
	for i, fragment := range fragments {
		f.Add(uint8(i), []byte(fragment+"\n"+fragments[(i+7)%len(fragments)]))
	}
	names, err := filepath.Glob("testdata/briefs/*.txtar")
	if err != nil || len(names) == 0 {
		f.Fatalf("no examples: %v", err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			f.Add(uint8(len(file.Name)), file.Data)
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) { checkPieces(t, Kind(kind%3), data) })
}

func TestCoverage(t *testing.T) {
	const hash = "0123456789abcdef0123456789abcdef01234567"
	day := time.Date(2026, 2, 5, 0, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		text string
		want Coverage
	}{
		{"", Coverage{}},
		{"<!-- chinvex:last-commit:" + hash + " -->", Coverage{Anchor: hash}},
		{"<!--chinvex:last-commit:ABCDEF0-->\r\n", Coverage{Anchor: "abcdef0"}},
		{"<!-- chinvex:last-commit:none -->\n", Coverage{}},
		{"<!-- chinvex:last-commit:1111111 -->\n\n<!-- chinvex:last-commit:2222222 -->\n", Coverage{Anchor: "2222222"}},
		{"```\n<!-- chinvex:last-commit:1111111 -->\n```\n- `<!-- chinvex:last-commit:2222222 -->`\n", Coverage{}},
		{"---\nLast memory update: 2026-02-05\nCommits covered through: " + hash + "\n", Coverage{Updated: day, Through: hash}},
		{"last memory update: 2026-02-05T23:30:00+02:00\n", Coverage{Updated: day}},
		{"Last memory update: 2026-02-05 23:30 CET\n", Coverage{Updated: day}},
		{"Last memory update: yesterday\n", Coverage{}},
		{"Last memory update: YYYY-MM-DD\nCommits covered through: <hash>\n", Coverage{Through: "<hash>"}},
	} {
		if diff := cmp.Diff(tc.want, Parse(State, []byte(tc.text)).Coverage()); diff != "" {
			t.Errorf("%q: %s", tc.text, diff)
		}
	}
}

func TestSection(t *testing.T) {
	d := Parse(State, []byte("# State\n## Out of Scope (for now)\n## active work:\n## (none)\n"))
	for name, want := range map[string]string{"Out of Scope": "Out of Scope (for now)", "Active Work": "active work:", "(none)": "(none)", "state": "State"} {
		if s := d.Section(name); s == nil || s.Name != want {
			t.Errorf("Section(%q) = %+v", name, s)
		}
	}
	for _, name := range []string{"", "Out", "Active Work and more"} {
		if s := d.Section(name); s != nil {
			t.Errorf("Section(%q) = %+v", name, s)
		}
	}
}

func TestLabels(t *testing.T) {
	d := Parse(Decisions, []byte("### 2026-02-05 — T\n- **Why:** one\n  two\n- **Root cause**: x\n- Impact: y\n- __Evidence:__ abc\n- **Trade-off:**\n- https://example.org\n- no label\n\n**Fix:** z\n"))
	want := []Label{{"Why", "one\ntwo"}, {"Root cause", "x"}, {"Impact", "y"}, {"Evidence", "abc"}, {"Trade-off", ""}, {"Fix", "z"}}
	if diff := cmp.Diff(want, d.Sections[0].Entries[0].Labels()); diff != "" {
		t.Error(diff)
	}
}

// TestParseIsLinear gives the parser files made to be slow: eight times the size
// must not take anything like 64 times as long.
func TestParseIsLinear(t *testing.T) {
	ticks := func(size int) string { // runs of backquotes, none as long as another
		var out strings.Builder
		out.WriteString("- <!-- a -->")
		for n := 1; out.Len() < size; n++ {
			out.WriteString(strings.Repeat("`", n) + "x")
		}
		return out.String()
	}
	repeat := func(s string) func(int) string {
		return func(size int) string { return "- " + strings.Repeat(s, size/len(s)) }
	}
	for i, text := range []func(int) string{
		ticks, repeat("- \n\n"), repeat("<!--"), repeat("<!---->"), repeat("a\n---\n"), repeat("\t"), repeat("\n"), repeat("#"), repeat("\n  -"),
	} {
		took := func(size int) time.Duration {
			start := time.Now()
			checkPieces(t, State, []byte(text(size)))
			return time.Since(start)
		}
		large := took(MaxFileSize)
		if large < time.Second {
			continue
		}
		if small := took(MaxFileSize / 8); large > 30*small {
			t.Errorf("text %d: %v for %d bytes, %v for %d", i, small, MaxFileSize/8, large, MaxFileSize)
		}
	}
}
