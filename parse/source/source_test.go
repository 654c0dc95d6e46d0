package source

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// samples are the files of testdata by language, written for these tests.
var samples = map[string]string{
	"Go": "sample.go.txt", "Rust": "sample.rs", "Python": "sample.py", "JavaScript": "sample.js", "TypeScript": "sample.ts", "TSX": "sample.tsx",
	"Java": "sample.java", "C": "sample.c.txt", "C++": "sample.cpp.txt", "C#": "sample.cs", "Ruby": "sample.rb", "PHP": "sample.php", "Kotlin": "sample.kt",
	"Swift": "sample.swift", "Scala": "sample.scala", "Shell": "sample.sh", "Lua": "sample.lua", "Elixir": "sample.ex",
	"Haskell": "sample.hs", "Zig": "sample.zig", "Markdown": "sample.md", "reStructuredText": "sample.rst", "Text": "sample.txt",
}

func sample(t testing.TB, language string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", samples[language]))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// render is what a golden file holds: one line for each symbol, import and chunk, and
// the references by line.
func render(f *File) string {
	var b strings.Builder
	fmt.Fprintf(&b, "syntax %v, package %q, comments %d\n", f.Syntax, f.Package, len(f.Comments))
	for _, s := range f.Symbols {
		flags := ""
		if s.Exported {
			flags += " exported"
		}
		if s.Forward {
			flags += " forward"
		}
		fmt.Fprintf(&b, "%d-%d@%d %s %s [%s]%s: %s\n", s.StartLine, s.EndLine, s.NameLine, s.Kind, s.Name, s.Scope, flags, s.Signature)
	}
	for _, i := range f.Imports {
		fmt.Fprintf(&b, "import %d %q %q\n", i.Line, i.Path, i.Names)
	}
	line := 0
	for _, r := range f.References {
		if r.Line != line {
			line = r.Line
			fmt.Fprintf(&b, "refs %d:\n", line)
		}
		in := "-"
		if r.Symbol >= 0 {
			in = f.Symbols[r.Symbol].Name
		}
		fmt.Fprintf(&b, "  %s %s in %s\n", r.Kind, r.Name, in)
	}
	for _, c := range f.Chunks {
		name := "-"
		if c.Symbol >= 0 {
			name = f.Symbols[c.Symbol].Name
		}
		fmt.Fprintf(&b, "chunk %d-%d %s %s [%s]\n", c.StartLine, c.EndLine, c.Kind, name, c.Scope)
	}
	return b.String()
}

// The golden files were read against the samples by eye when they were written;
// UPDATE_GOLDEN=1 rewrites them.
func TestSamplesMatchTheirGoldenFiles(t *testing.T) {
	for language, name := range samples {
		t.Run(language, func(t *testing.T) {
			got := render(Parse(context.Background(), "src/"+strings.TrimSuffix(name, ".txt"), language, sample(t, language)))
			golden := filepath.Join("testdata", name+".golden")
			if os.Getenv("UPDATE_GOLDEN") != "" {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The few facts that searches depend on most, apart from the golden files.
func TestDefinitionsOfEachLanguage(t *testing.T) {
	for _, c := range []struct {
		language, text string
		want           string // "kind scope.name" of each symbol
	}{
		{"Go", "package p\nfunc (s *Server[T]) Run() {}\ntype Server[T any] struct{}\nconst (\n\tA = 1\n\tB = 2\n)\n", "method Server.Run, struct Server, constant A, constant B"},
		{"Rust", "impl fmt::Display for Foo<'_> {\n fn fmt(&self) {}\n}\nmacro_rules! m { () => {} }\n", "method Foo.fmt, macro m"},
		{"Rust", "cfg_rt! {\n    pub struct Inner { a: u8 }\n}\n", "struct Inner"},
		{"Python", "class A(B):\n  @property\n  def x(self): return 1\nMAX = 3\nasync def f(): pass\n", "class A, method A.x, constant MAX, function f"},
		{"JavaScript", "exports.foo = function () {}\nFoo.prototype.bar = function () {}\nconst f = () => {}, o = { m() {}, k: async () => 1 }\n", "function foo, method Foo.bar, function f, constant o, function o.m, function o.k"},
		{"TypeScript", "export default abstract class A<T> implements I { private x = () => 1; get v() { return 1 } }\nnamespace N { export type X = 1 }\n", "class A, method A.x, method A.v, module N, type N.X"},
		{"TSX", "export const App = () => <Foo.Bar a={b}/>\n", "function App"},
		{"Java", "class A { A() {} enum E { X } interface I { void m(); } }\n", "class A, method A.A, enum A.E, interface A.I, method A.I.m"},
		{"C", "typedef struct { int a; } T;\nstruct S;\nint f(void);\nstatic int (*p)(int);\n#define M(x) x\n", "struct T, struct S, function f, variable p, macro M"},
		{"C", "CURL_EXTERN CURLcode easy(int a);\n", "function easy"},
		{"C++", "class ABSL_EXPORT Foo : public B {\n public:\n  void m();\n};\nvoid Foo::m() {}\ntemplate <class T> T g(T t) { return t; }\n", "class Foo, method Foo.m, method Foo.m, function g"},
		{"C#", "namespace A.B { record R(int X); class C { int P => 1; void M() {} } }\n", "module A.B, class A.B.R, class A.B.C, variable A.B.C.P, method A.B.C.M"},
		{"Ruby", "module A\n class B::C\n  attr_reader :x\n  def self.y; end\n end\nend\n", "module A, class A.B.C, method A.B.C.x, method A.B.C.y"},
		{"PHP", "<?php namespace A; trait T { function m() {} } const K = 1; function f() {}\n", "trait T, method T.m, constant K, function f"},
		{"Kotlin", "object O { fun a() {} }\nclass C {\n companion object { fun b() {} }\n}\nfun String.ext() = 1\n", "class O, method O.a, class C, class C.Companion, method C.Companion.b, method String.ext"},
		{"Swift", "extension Foo: P { func a() {} }\nprotocol P { func b() }\nstruct S { init() {} }\n", "method Foo.a, interface P, method P.b, struct S, method S.init"},
		{"Scala", "object O { def a = 1; implicit val i: Int = 1 }\ntrait T\ncase class C(a: Int)\n", "class O, method O.a, constant O.i, trait T, class C"},
		{"Shell", "foo() { :; }\nfunction bar { :; }\nreadonly X=1\n", "function foo, function bar, constant X"},
		{"Lua", "local function a() end\nfunction M.b() end\nfunction M:c() end\nM.d = function() end\n", "function a, function M.b, method M.c, function M.d"},
		{"Elixir", "defmodule A.B do\n  def a(x) when x > 1, do: x\n  defp b, do: 1\n  defmacro c(x), do: x\nend\n", "module A.B, function A.B.a, function A.B.b, macro A.B.c"},
		{"Haskell", "data T = A | B\nfoo, bar :: Int -> Int\nfoo x = x\nclass Monad m => C m where\n", "type T, function foo, class C"},
		{"Zig", "pub fn a() void {}\nconst S = struct {\n    fn m() void {}\n};\n", "function a, struct S, method S.m"},
		{"Perl", "package A::B;\nsub x {\n}\n", "module A::B, function x"},
		{"Objective-C", "@interface Foo : NSObject\n- (void)bar:(int)x;\n@end\n", "class Foo, method bar"},
	} {
		f := Parse(context.Background(), "a", c.language, []byte(c.text))
		var got []string
		for _, s := range f.Symbols {
			got = append(got, string(s.Kind)+" "+join(s.Scope, s.Name))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s %q:\n%s", c.language, c.text, diff)
		}
	}
}

func TestDocCommentsAndDecoratorsBelongToTheDefinition(t *testing.T) {
	for _, c := range []struct {
		language, text string
		start, end     int
	}{
		{"Go", "package p\n\n// not this\n\n// Doc.\n// More.\nfunc F() {\n}\n", 5, 8},
		{"Go", "package p\nvar x = 1 // trailing\nfunc F() {}\n", 3, 3},
		{"Rust", "/// Doc\n#[test]\n#[cfg(x)]\nfn f() {\n}\n", 1, 5},
		{"Python", "# why\n@a.b(1)\n@c\ndef f():\n  pass\n", 1, 5},
		{"TypeScript", "/** Doc */\nexport function f() {\n}\n", 1, 3},
		{"C++", "// Doc\ntemplate <class T>\nT f(T t) {\n}\n", 1, 4},
		{"Elixir", "defmodule A do\n  @doc \"x\"\n  @spec f(t) :: t\n  def f(a), do: a\nend\n", 2, 4},
		{"Java", "/** Doc */\n@Deprecated\nclass A {\n}\n", 1, 4},
	} {
		f := Parse(context.Background(), "a", c.language, []byte(c.text))
		s := f.Symbols[len(f.Symbols)-1]
		if c.language == "Java" {
			s = f.Symbols[0]
		}
		if s.StartLine != c.start || s.EndLine != c.end {
			t.Errorf("%s %q: %s at %d-%d, want %d-%d", c.language, c.text, s.Name, s.StartLine, s.EndLine, c.start, c.end)
		}
	}
}

func TestReferencesKnowHowANameIsUsed(t *testing.T) {
	text := "from a.b import C\nclass D(Base):\n  def m(self, local):\n    other = helper(local)\n    return apply(callback, other, CONST, self.attr)\n  def n(self) -> Result: ...\n"
	f := Parse(context.Background(), "a.py", "Python", []byte(text))
	got := map[string]string{}
	for _, r := range f.References {
		in := ""
		if r.Symbol >= 0 {
			in = f.Symbols[r.Symbol].Name
		}
		got[r.Name] = fmt.Sprint(r.Kind, " ", r.Line, " ", in)
	}
	want := map[string]string{
		"C": "", "Base": "inherit 2 D", "helper": "call 4 m", "apply": "call 5 m", "callback": "use 5 m", "CONST": "use 5 m", "attr": "use 5 m", "Result": "type 6 n",
	}
	delete(want, "C") // one letter
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRecoversDefinitionsInLinesThatTheGrammarCannotRead(t *testing.T) {
	text := "fn before() {}\n\nfn broken( {{{ ]\n\n/// Doc\npub fn after(a: u8) -> u8 {\n    a\n}\n"
	f := Parse(context.Background(), "a.rs", "Rust", []byte(text))
	var names []string
	for _, s := range f.Symbols {
		names = append(names, s.Name)
	}
	if !slices.Contains(names, "before") || !slices.Contains(names, "after") {
		t.Errorf("symbols %q, want before and after among them", names)
	}
	check(t, []byte(text), f)
}

func TestLongDefinitionsAreSplitAndShortOnesStayWhole(t *testing.T) {
	var b strings.Builder
	b.WriteString("package p\n\n// Long is long.\nfunc Long() {\n")
	for i := range 50 {
		fmt.Fprintf(&b, "\tif f(%d) {\n\t\tg()\n\t}\n\n", i)
	}
	b.WriteString("}\n\nfunc Short() {\n\tg()\n\tg()\n\tg()\n\tg()\n}\n")
	f := Parse(context.Background(), "a.go", "Go", []byte(b.String()))
	parts := 0
	for _, c := range f.Chunks {
		if size := c.EndLine - c.StartLine + 1; size > maxLines+tinyLines {
			t.Errorf("chunk %d-%d has %d lines", c.StartLine, c.EndLine, size)
		}
		if c.Symbol >= 0 && f.Symbols[c.Symbol].Name == "Long" {
			parts++
		}
	}
	if parts < 3 {
		t.Errorf("Long has %d parts", parts)
	}
	if last := f.Chunks[len(f.Chunks)-1]; f.Symbols[last.Symbol].Name != "Short" || last.Kind != Function {
		t.Errorf("last chunk %+v, want Short whole", last)
	}
}

func TestAGoneContextFallsBackToLines(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f := Parse(ctx, "a.go", "Go", []byte("package p\nfunc F() {}\n"))
	if f.Syntax || f.Problem == "" || len(f.Symbols) != 1 || f.Symbols[0].Name != "F" {
		t.Errorf("%+v, want F found by line and the problem named", f)
	}
	check(t, []byte("package p\nfunc F() {}\n"), f)
}

func TestGrammarsKnowEveryNameInTheirTables(t *testing.T) {
	for _, language := range Languages() {
		Parse(context.Background(), "a", language, []byte("x"))
		if unknown := grammars[language].unknown; len(unknown) > 0 {
			t.Errorf("%s has no %q", language, unknown)
		}
	}
}

// Lua's scanner keeps its state in C variables: what was parsed before or beside a file
// must not show.
func TestSameTextSameResultWhateverElseIsParsed(t *testing.T) {
	ctx := context.Background()
	want := map[string]string{}
	for language := range samples {
		want[language] = render(Parse(ctx, "a", language, sample(t, language)))
	}
	texts := map[string][]byte{}
	for language := range samples {
		texts[language] = sample(t, language)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for language, text := range texts {
				Parse(ctx, "a", language, text[:len(text)*2/3])
				if got := render(Parse(ctx, "a", language, text)); got != want[language] {
					t.Errorf("%s differs:\n%s", language, cmp.Diff(want[language], got))
				}
			}
		})
	}
	wg.Wait()
}

func TestDeepNestingIsRead(t *testing.T) {
	const deep = 60_000
	for language, unit := range map[string][2]string{
		"Go": {"func(){", "}"}, "Rust": {"mod a{", "}"}, "JavaScript": {"(a=>", ")"}, "Python": {"(", ")"}, "C++": {"namespace a{", "}"}, "Java": {"class A{", "}"},
		"Ruby": {"module A;", " end;"}, "PHP": {"(", ")"}, "Scala": {"object A{", "}"}, "Lua": {"{", "}"}, "Elixir": {"[", "]"}, "Shell": {"$(", ")"},
	} {
		text := strings.Repeat(unit[0], deep) + strings.Repeat(unit[1], deep)
		check(t, []byte(text), Parse(context.Background(), "a", language, []byte(text)))
	}
}

// check fails unless the file keeps what File promises for the text.
func check(t testing.TB, text []byte, f *File) {
	t.Helper()
	if strings.HasPrefix(f.Problem, internalError) {
		t.Fatal(f.Problem)
	}
	lines := max(1, strings.Count(string(text), "\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' && strings.Contains(string(text), "\n") {
		lines++
	}
	next := 1
	for _, c := range f.Chunks {
		if c.StartLine != next || c.EndLine < c.StartLine {
			t.Fatalf("chunk %d-%d, want a start at %d", c.StartLine, c.EndLine, next)
		}
		if c.Symbol < -1 || c.Symbol >= len(f.Symbols) || c.Kind == "" {
			t.Fatalf("chunk %+v with %d symbols", c, len(f.Symbols))
		}
		next = c.EndLine + 1
	}
	if next != lines+1 {
		t.Fatalf("chunks end at line %d of %d", next-1, lines)
	}
	for _, s := range f.Symbols {
		if s.Name == "" || s.Kind == "" || s.StartLine < 1 || s.StartLine > s.NameLine || s.NameLine > s.EndLine || s.EndLine > lines {
			t.Fatalf("symbol %+v in %d lines", s, lines)
		}
		if len(s.Signature) > maxSignature || strings.Contains(s.Signature, "\n") || !utf8.ValidString(s.Signature+s.Name+s.Scope) {
			t.Fatalf("signature %q, name %q, scope %q", s.Signature, s.Name, s.Scope)
		}
	}
	for _, r := range f.References {
		if r.Name == "" || r.Line < 1 || r.Line > lines || r.Symbol < -1 || r.Symbol >= len(f.Symbols) || !utf8.ValidString(r.Name) {
			t.Fatalf("reference %+v with %d symbols", r, len(f.Symbols))
		}
	}
	for _, i := range f.Imports {
		if i.Path == "" || i.Line < 1 || i.Line > lines || !utf8.ValidString(i.Path) {
			t.Fatalf("import %+v", i)
		}
	}
	end := 0
	for _, c := range f.Comments {
		if c.Start < end || c.End <= c.Start || c.End > len(text) {
			t.Fatalf("comment %+v after %d in %d bytes", c, end, len(text))
		}
		end = c.End
	}
}

func TestPromisesHoldForMutatedSamples(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	rounds := 40
	if testing.Short() {
		rounds = 5
	}
	for language := range samples {
		text := sample(t, language)
		check(t, text, Parse(context.Background(), "a", language, text))
		for range rounds {
			m := slices.Clone(text)
			for range 1 + random.IntN(8) {
				at, n := random.IntN(len(m)), random.IntN(40)
				switch end := min(len(m), at+n); random.IntN(5) {
				case 0:
					m = slices.Delete(m, at, end)
				case 1:
					m = slices.Insert(m, at, m[at:end]...)
				case 2:
					m[at] = byte(random.IntN(256))
				case 3:
					m = slices.Insert(m, at, '\r', '\n')
				case 4:
					m = slices.Insert(m, at, "({[<\"'`*/"[random.IntN(9)])
				}
				if len(m) == 0 {
					m = []byte{'x'}
				}
			}
			check(t, m, Parse(context.Background(), "a", language, m))
		}
	}
}

func FuzzParse(f *testing.F) {
	languages := slices.Sorted(func(yield func(string) bool) {
		for language := range samples {
			if !yield(language) {
				return
			}
		}
	})
	for i, language := range languages {
		f.Add(uint8(i), sample(f, language))
	}
	for _, text := range []string{"", "\n", "\xef\xbb\xbf#!/x\n", "a\r\n\r\nb", "\xff\xfe\x00", "\"\"\"", "def "} {
		f.Add(uint8(0), []byte(text))
	}
	f.Fuzz(func(t *testing.T, language uint8, text []byte) {
		if len(text) > 1<<16 {
			return
		}
		check(t, text, Parse(context.Background(), "a", languages[int(language)%len(languages)], text))
	})
}

func BenchmarkParse(b *testing.B) {
	for _, language := range []string{"Rust", "Go", "Python", "TypeScript", "C++", "Markdown"} {
		text := []byte(strings.Repeat(string(sample(b, language)), 60))
		b.Run(language, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Parse(context.Background(), "a", language, text)
			}
		})
	}
}
