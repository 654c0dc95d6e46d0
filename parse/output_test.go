package parse

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestLocations(t *testing.T) {
	for _, test := range []struct{ name, file, output, want string }{
		{"grep -rn", "", "src/a.py:1:def alpha2():\n./src/b.py:6:        return alpha()\n", "match src/a.py:1 def alpha2():|match src/b.py:6 return alpha()"},
		{"grep -C", "", "src/a-b.py-5-def x\nsrc/a-b.py:6:y = 1\n--\n", "context src/a-b.py:5 def x|match src/a-b.py:6 y = 1"},
		{"grep -l, find", "", "./src/a.py\nsrc/b.py\nMakefile\n./with space.txt\n", "file src/a.py:0 |file src/b.py:0 |file Makefile:0 |file with space.txt:0 "},
		{"grep -c", "", "docs/readme.md:1\nsrc/a.py:0\n", "count docs/readme.md:0 |match src/a.py:0 0"},
		{"grep without -n", "", "src/a.py:def alpha():\n", "match src/a.py:0 def alpha():"},
		{"rg with headings", "", "src/a.py\n1:def alpha\n12-  x\n\nsrc/b.py\n3:y\n", "match src/a.py:1 def alpha|match src/a.py:12 x|match src/b.py:3 y"},
		{"rg in colours", "", "\x1b[0m\x1b[35msrc/a.py\x1b[0m:\x1b[32m1\x1b[0m:def\n", "match src/a.py:1 def"},
		{"one file", "src/a.py", "12:def x\n13-y\n", "match src/a.py:12 def x|match src/a.py:13 y"},
		{"one file not given", "", "12:def x\n", ""},
		{"rg --vimgrep", "", "src/a.go:3:7:x := 1\n", "compiler src/a.go:3 x := 1"},
		{"go build", "", "# example.com/m\n./main.go:12:5: undefined: foo\nvet: ./x.go:1:2: bad\n", "compiler main.go:12 undefined: foo|compiler x.go:1 bad"},
		{"go test", "", "--- FAIL: TestX (0.00s)\n    x_test.go:9: have 1\nFAIL\n", "match x_test.go:9 have 1"},
		{"go panic", "", "main.run()\n\t/repo/x.go:12 +0x1d\n", "match /repo/x.go:12 +0x1d"},
		{"rustc", "", "error[E0425]: cannot find\n --> src/x.rs:3:5\n  |\n3 |     foo();\n", "rustc src/x.rs:3 "},
		{"python", "", "Traceback (most recent call last):\n  File \"/r/x.py\", line 3, in run\n    y()\n  File \"<stdin>\", line 1\n", "python /r/x.py:3 in run"},
		{"pytest", "", "tests/test_x.py:12: AssertionError\nFAILED tests/test_x.py::test_y - assert 1 == 2\n", "match tests/test_x.py:12 AssertionError|pytest tests/test_x.py:0 test_y - assert 1 == 2"},
		{"tsc", "", "src/a.ts(3,5): error TS2304: Cannot find name 'x'.\n", "tsc src/a.ts:3 error TS2304: Cannot find name 'x'."},
		{"node", "", "Error: x\n    at run (/r/x.js:3:5)\n    at file:///r/y.mjs:7:1\n    at node:internal/main:1:1\n", "node /r/x.js:3 run|node /r/y.mjs:7 "},
		{"java", "", "    at com.x.Foo.bar(Foo.java:12)\nFoo.java:3: error: ';' expected\n", "node Foo.java:12 com.x.Foo.bar|match Foo.java:3 error: ';' expected"},
		{"gcc", "", "In file included from a.h:3:\nsrc/a.c:3:5: error: expected ';'\n", "gcc a.h:3 |compiler src/a.c:3 error: expected ';'"},
		{"eslint", "", "/r/src/a.js\n  12:5  error  no-undef\n\n1 problem\n", "match /r/src/a.js:12 5  error  no-undef"},
		{"php", "", "PHP Fatal error: x in /r/x.php on line 3\n", "php /r/x.php:3 PHP Fatal error: x"},
		{"prose", "", "Exit code 1\n12:34:56 started\nhttp://example.com:80/x\nlocalhost:8080: refused\nerror: it failed\n(Bash completed with no output)\nversion 1.2:3\n", ""},
		{"nothing", "", "", ""},
	} {
		var got []string
		for _, l := range LocationsIn(test.file, test.output) {
			got = append(got, fmt.Sprintf("%s %s:%d %s", l.Kind, l.Path, l.Line, l.Text))
		}
		if have := strings.Join(got, "|"); have != test.want {
			t.Errorf("%s\nhave %s\nwant %s", test.name, have, test.want)
		}
	}
}

func TestLocationsAreBounded(t *testing.T) {
	for _, unit := range []string{"a.py:1:x\n", "-1-", "a:", ":1", "at ", "\x1b[", " ", "/a b", "x-1-y.c "} {
		start := time.Now()
		found := Locations(strings.Repeat(unit, 10<<20/len(unit)))
		if len(found) > maxLocations {
			t.Errorf("%q: %d locations", unit, len(found))
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("%q: took %v", unit, took)
		}
	}
}

func FuzzLocations(f *testing.F) {
	f.Add("src/a.py:1:x\n --> a.rs:1:2\nat f (a.js:1:2)\nIn file included from a.h:3:\na-1-b.c-2-x")
	f.Add("x(1,2): y\n  File \"a\", line 1\nFAILED a/b::c\nC:\\x.c:3:4: e\n\x1b[0m\x1b")
	f.Fuzz(func(t *testing.T, output string) {
		for _, l := range append(Locations(output), LocationsIn("f.go", output)...) {
			if l.Line < 0 || l.Kind == "" || strings.Contains(l.Path, "\n") {
				t.Errorf("%+v", l)
			}
		}
	})
}
