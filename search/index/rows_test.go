package index

import (
	"bytes"
	"strings"
	"testing"
)

func FuzzBlocks(f *testing.F) {
	f.Add("")
	f.Add("one line")
	f.Add(strings.Repeat("a line\n", 10_000))
	f.Add(strings.Repeat("x", 40_000) + "\n" + strings.Repeat("\n", 40_000))
	f.Fuzz(func(t *testing.T, text string) {
		var whole []byte
		line := 1
		for i, b := range Blocks([]byte(text)) {
			if b.Line != line {
				t.Fatalf("block %d begins at line %d, want %d", i, b.Line, line)
			}
			part, err := Unblock(b.Data)
			if err != nil {
				t.Fatal(err)
			}
			line += bytes.Count(part, []byte{'\n'})
			whole = append(whole, part...)
		}
		if string(whole) != text {
			t.Fatal("the blocks are not the text")
		}
	})
}

func FuzzSites(f *testing.F) {
	f.Add(AppendSite(AppendSite(nil, 3, 0, "call", 2), 9, 3, "type", -1))
	f.Add([]byte{0xff, 0xff})
	f.Fuzz(func(t *testing.T, blob []byte) {
		for _, s := range appendSites(nil, 1, blob) {
			if s.Kind == "" || s.Symbol < -1 {
				t.Fatalf("%+v", s)
			}
		}
	})
}

func TestSites(t *testing.T) {
	blob := AppendSite(AppendSite(nil, 3, 0, "call", 2), 9, 3, "inherit", -1)
	got := appendSites(nil, 7, blob)
	if len(got) != 2 || got[0] != (Site{7, 3, "call", 2}) || got[1] != (Site{7, 9, "inherit", -1}) {
		t.Errorf("%+v", got)
	}
}

func TestCounts(t *testing.T) {
	for _, c := range []Counts{{}, {1, 2, 3, 1, 2}, {15, 7, 3, 1, 3}} {
		if got := Unpack(c.Pack()); got != c {
			t.Errorf("%+v came back as %+v", c, got)
		}
	}
	if got := Unpack(Counts{100, 100, 100, 100, 100}.Pack()); got != (Counts{15, 7, 3, 1, 3}) {
		t.Errorf("counts over their limits: %+v", got)
	}
}

func TestImportKeys(t *testing.T) {
	for path, want := range map[string]string{
		"os/path": "path", "crate::a::b": "b a", "./util.js": "util", "pkg.mod.Name": "name", "a/b.h": "b", "<vector>": "<vector>", "./foo.bar.ts": "bar", "": "", "a.b.*": "b",
	} {
		if got := strings.Join(ImportKeys(path), " "); got != want {
			t.Errorf("ImportKeys(%q) = %q, want %q", path, got, want)
		}
	}
}
