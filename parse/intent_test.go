package parse

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// summary writes an intent in one line.
func summary(in Intent) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", in.Kind, in.Tool)
	list := func(label string, values []string) {
		if len(values) > 0 {
			fmt.Fprintf(&b, " %s%s", label, strings.Join(values, ","))
		}
	}
	flag := func(label string, on bool) {
		if on {
			b.WriteString(" " + label)
		}
	}
	list("/", in.Patterns)
	list("name=", in.Names)
	list("in=", in.Paths)
	list("glob=", in.Globs)
	list("not=", in.ExcludeGlobs)
	list("type=", in.Types)
	if in.Lines != (LineSpan{}) {
		fmt.Fprintf(&b, " lines=%d-%d", in.Lines.Start, in.Lines.End)
	}
	flag("fixed", in.Fixed)
	flag("nocase", in.IgnoreCase)
	flag("word", in.Word)
	flag("files", in.FilesOnly)
	flag("count", in.Count)
	return b.String()
}

// TestIntents reads testdata/commands.txt: a command, one or more lines that
// begin with "=> " (one an intent, none for a command that wants nothing), and an
// empty line.
func TestIntents(t *testing.T) {
	data, err := os.ReadFile("testdata/commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for _, block := range strings.Split(strings.TrimSpace(string(data)), "\n\n") {
		command, want, _ := strings.Cut(block, "\n=>")
		if want != "" {
			want = "=>" + want
		}
		var got []string
		for _, in := range Intents(command, "/r") {
			got = append(got, "=> "+summary(in))
		}
		cases++
		if have := strings.Join(got, "\n"); have != strings.TrimSpace(want) {
			t.Errorf("%s\nhave\n%s\nwant\n%s", command, have, want)
		}
	}
	if cases < 80 {
		t.Errorf("%d commands, want at least 80", cases)
	}
}

func TestCommandsNeverRun(t *testing.T) {
	mark := t.TempDir() + "/mark"
	for _, c := range []string{"touch " + mark, "x=$(touch " + mark + "); grep $x .", "`touch " + mark + "`", "cat <(touch " + mark + ")", "bash -c 'touch " + mark + "'", "find . -exec touch " + mark + " ;"} {
		Intents(c, "/r")
	}
	if _, err := os.Stat(mark); err == nil {
		t.Fatal("a command was run")
	}
}

func TestCommands(t *testing.T) {
	for _, test := range []struct{ command, want string }{
		{`FOO=1 sudo -u bob env BAR=2 grep x y`, `/r: grep x y`},
		{`cd a && (cd b && ls) && ls; cd - ; ls`, `/r/a/b: ls|/r/a: ls|/r: ls`},
		{`pushd src; make -C lib all; popd; pwd`, `/r/src/lib: make all|/r: pwd`},
		{`cd "$X" && ls; cd /abs; ls`, `?: ls|/abs: ls`},
		{`echo $'a\tb\x41\u00e9' "c\"d" e\ f`, "/r: echo a\tbAé c\"d e f"},
		{`D=src; ls $D ${D}/x "$D"`, `/r: ls src src/x src`},
		{`ls {a,b}/c`, `/r: ls a/c b/c`},
		{"cat <<EOF\nrm -rf /\nEOF\nls", `/r: cat|/r: ls`},
		{`echo a; if true; then`, `/r: echo a`},
		{`f() { rm x; }; for i in $(ls a); do echo $i; done`, `/r: ls a|/r: echo `},
		{`git -C sub --no-pager -c a=b grep x`, `/r/sub: git grep x`},
		{`timeout -k 1 5 nice -n 3 time ls`, `/r: ls`},
		{`bash -lc "cd x && ls"; ls`, `/r/x: ls|/r: ls`},
		{``, ``},
	} {
		commands, _ := Commands(test.command, "/r")
		var got []string
		for _, c := range commands {
			dir := c.Dir
			if dir == "" {
				dir = "?"
			}
			got = append(got, dir+": "+strings.Join(c.Args, " "))
		}
		if have := strings.Join(got, "|"); have != test.want {
			t.Errorf("%s\nhave %s\nwant %s", test.command, have, test.want)
		}
	}
}

func FuzzIntents(f *testing.F) {
	data, _ := os.ReadFile("testdata/commands.txt")
	for _, block := range strings.Split(string(data), "\n\n") {
		command, _, _ := strings.Cut(block, "\n=>")
		f.Add(command)
	}
	f.Add(strings.Repeat("$((", 200))
	f.Add("00&0\xac") // the parser's iterator goes on after an error
	f.Add("head -n -9223372036854775808 x | tail -n +1 | sed -n '99999999999999999999p'")
	f.Fuzz(func(t *testing.T, command string) {
		for _, in := range Intents(command, "/r") {
			for _, p := range in.Paths {
				if p == "" || strings.IndexByte(p, 0) >= 0 {
					t.Errorf("path %q of %q", p, command)
				}
			}
			for _, p := range in.Patterns {
				Words(p, in.Fixed)
			}
			for _, g := range append(in.Names, in.Globs...) {
				GlobWords(g)
				GlobExt(g)
			}
			if in.Lines.End > 0 && in.Lines.Start > in.Lines.End && in.Lines.Start > 0 && !strings.Contains(command, "awk") && !strings.Contains(command, "|") {
				t.Errorf("lines %v of %q", in.Lines, command)
			}
		}
	})
}

func BenchmarkIntents(b *testing.B) {
	for b.Loop() {
		Intents(`cd src && grep -rn --include='*.py' "def \w+_handler" . | head -50 && sed -n '10,80p' app/views.py`, "/r")
	}
}
