package source

import (
	"context"
	"fmt"
	enry "github.com/go-enry/go-enry/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	sitter "github.com/smacker/go-tree-sitter"
	"github.com/smacker/go-tree-sitter/bash"
	"github.com/smacker/go-tree-sitter/c"
	"github.com/smacker/go-tree-sitter/cpp"
	"github.com/smacker/go-tree-sitter/csharp"
	"github.com/smacker/go-tree-sitter/elixir"
	"github.com/smacker/go-tree-sitter/golang"
	"github.com/smacker/go-tree-sitter/groovy"
	"github.com/smacker/go-tree-sitter/java"
	"github.com/smacker/go-tree-sitter/javascript"
	"github.com/smacker/go-tree-sitter/kotlin"
	"github.com/smacker/go-tree-sitter/lua"
	"github.com/smacker/go-tree-sitter/ocaml"
	"github.com/smacker/go-tree-sitter/php"
	"github.com/smacker/go-tree-sitter/python"
	"github.com/smacker/go-tree-sitter/ruby"
	"github.com/smacker/go-tree-sitter/rust"
	"github.com/smacker/go-tree-sitter/scala"
	"github.com/smacker/go-tree-sitter/swift"
	"github.com/smacker/go-tree-sitter/typescript/tsx"
	"github.com/smacker/go-tree-sitter/typescript/typescript"
)

func TestDump(t *testing.T) {
	file := os.Getenv("DUMP")
	if file == "" {
		t.Skip()
	}
	langs := map[string]*sitter.Language{"sh": bash.GetLanguage(), "c": c.GetLanguage(), "cpp": cpp.GetLanguage(), "cs": csharp.GetLanguage(), "ex": elixir.GetLanguage(), "go": golang.GetLanguage(), "java": java.GetLanguage(), "js": javascript.GetLanguage(), "kt": kotlin.GetLanguage(), "lua": lua.GetLanguage(), "php": php.GetLanguage(), "py": python.GetLanguage(), "rb": ruby.GetLanguage(), "rs": rust.GetLanguage(), "scala": scala.GetLanguage(), "swift": swift.GetLanguage(), "tsx": tsx.GetLanguage(), "ts": typescript.GetLanguage(), "ml": ocaml.GetLanguage(), "groovy": groovy.GetLanguage()}
	text, _ := os.ReadFile(file)
	l := langs[file[strings.LastIndex(file, ".")+1:]]
	err := syntaxTree(context.Background(), &grammar{language: func() *sitter.Language { return l }}, text, func(nodes []node) {
		depth := make([]int, len(nodes))
		for i, n := range nodes {
			if n.parent >= 0 {
				depth[i] = depth[n.parent] + 1
			}
			s := string(text[n.start:n.end])
			if j := strings.IndexByte(s, '\n'); j >= 0 {
				s = s[:j] + "…"
			}
			if len(s) > 60 {
				s = s[:60]
			}
			f := ""
			if n.field > 0 {
				f = l.FieldName(int(n.field)) + ": "
			}
			name := "ERROR"
			if n.symbol != 65535 {
				name = l.SymbolName(sitter.Symbol(n.symbol))
			}
			fmt.Printf("%s%s%s  %q\n", strings.Repeat("  ", depth[i]), f, name, s)
		}
	})
	fmt.Println(err)
}

func TestShow(t *testing.T) {
	root := os.Getenv("SHOW")
	if root == "" {
		t.Skip()
	}
	verbose := os.Getenv("V")
	var mu sync.Mutex
	type sum struct{ files, bytes, syms, refs, chunks, problems, syntax, imports, big int }
	sums := map[string]*sum{}
	var files []string
	filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.Contains(p, "/.git/") {
			files = append(files, p)
		}
		return nil
	})
	miss := map[string]*regexp.Regexp{
		"Rust":       regexp.MustCompile(`^\s*(pub(\([a-z]+\))? )?(async |unsafe |const )*(fn|struct|enum|trait|type|mod|macro_rules!) +\w`),
		"Go":         regexp.MustCompile(`^(func|type) \w|^func \(`),
		"Python":     regexp.MustCompile(`^\s*(async )?(def|class) \w`),
		"C":          regexp.MustCompile(`^(static |extern |CURL_EXTERN |const |unsigned |struct )*[A-Za-z_]\w+ [\w* ]*\(.*[^;,]$|^(struct|enum|union) \w+ \{|^#\s*define`),
		"C++":        regexp.MustCompile(`^\s*(class|struct|enum class) [\w ]+ (:.*)?\{$|^[\w:<>*& ]+ [\w:~]+\([^;]*\) *(const )?\{$`),
		"Java":       regexp.MustCompile(`^\s*(public|protected|private)\b[^=;]*(\(|class|interface|enum)[^=;]*\{`),
		"C#":         regexp.MustCompile(`^\s*(public|protected|private|internal)\b[^=;]*(\(|class |interface |enum )[^=;]*$`),
		"Kotlin":     regexp.MustCompile(`^\s*((public|private|internal|override|suspend|inline|open|abstract|data|sealed|enum) )*(fun|class|interface|object|typealias) +[\w<]`),
		"Swift":      regexp.MustCompile(`^\s*((public|private|internal|override|fileprivate|open|static|final|mutating) )*(func|class|struct|enum|protocol|init|typealias)\b`),
		"Scala":      regexp.MustCompile(`^\s*((private|override|implicit|final|sealed|abstract|case|protected|inline)(\[\w+\])? )*(def|class|trait|object|type) +\w`),
		"Ruby":       regexp.MustCompile(`^\s*(def|class|module) [\w.]`),
		"PHP":        regexp.MustCompile(`^\s*((public|private|protected|static|abstract|final|readonly) )*(function|class|trait|interface|enum) \w+.*[^;]$`),
		"Lua":        regexp.MustCompile(`function [\w.:]+\(|^[\w.]+ = function`),
		"Elixir":     regexp.MustCompile(`^\s*(def|defp|defmacro|defmodule|defprotocol|defmacrop|defguard|defdelegate) \w`),
		"Shell":      regexp.MustCompile(`^(function )?\w+ *\(\) *\{`),
		"JavaScript": regexp.MustCompile(`^(export )?(default )?(async )?(function|class|const \w+ = (async )?(function|\(.*=>))`),
		"TypeScript": regexp.MustCompile(`^\s*(export |declare )*(default )?(abstract )?(async )?(function \w|class \w|interface \w|type \w+.* = |enum|const \w+ = (async )?(function|\(.*=>))`),
	}
	wanted, missed, every := 0, 0, 1
	fmt.Sscan(os.Getenv("MISS"), &every)
	start := time.Now()
	var wg sync.WaitGroup
	ch := make(chan string)
	for range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for p := range ch {
				text, _ := os.ReadFile(p)
				if len(text) > 1<<20 || enry.IsBinary(text) {
					continue
				}
				lang := enry.GetLanguage(p, text)
				t0 := time.Now()
				f := Parse(context.Background(), p, lang, text)
				if d := time.Since(t0); d > 300*time.Millisecond {
					fmt.Println("SLOW", p, lang, d, len(text))
				}
				mu.Lock()
				s := sums[lang]
				if s == nil {
					s = &sum{}
					sums[lang] = s
				}
				s.files++
				s.bytes += len(text)
				s.syms += len(f.Symbols)
				s.refs += len(f.References)
				s.chunks += len(f.Chunks)
				s.imports += len(f.Imports)
				if f.Syntax {
					s.syntax++
				}
				if f.Problem != "" {
					s.problems++
					fmt.Println("PROBLEM", p, f.Problem)
				}
				for _, c := range f.Chunks {
					if c.EndLine-c.StartLine > 70 {
						s.big++
					}
				}
				if re := miss[lang]; os.Getenv("MISS") != "" && re != nil {
					has := map[int]bool{}
					for _, s := range f.Symbols {
						has[s.NameLine] = true
					}
					in := map[int]bool{}
					ls := newLines(text)
					for _, c := range f.Comments {
						for l := ls.find(c.Start, 0); l <= ls.find(c.End-1, 0); l++ {
							in[l] = true
						}
					}
					for n, l := range strings.Split(string(text), "\n") {
						if re.MatchString(l) && !in[n+1] {
							wanted++
							if !has[n+1] {
								missed++
								if missed%max(1, every) == 0 {
									fmt.Printf("MISS %s:%d %s\n", p, n+1, l)
								}
							}
						}
					}
				}
				if verbose != "" {
					fmt.Println("==", p, lang, "package", f.Package)
					for i, s := range f.Symbols {
						fl := ""
						if s.Exported {
							fl += " X"
						}
						if s.Forward {
							fl += " fwd"
						}
						fmt.Printf("%3d %s %s [%s] %d-%d name %d%s | %s\n", i, s.Kind, s.Name, s.Scope, s.StartLine, s.EndLine, s.NameLine, fl, s.Signature)
					}
					fmt.Printf("imports %+v\n", f.Imports)
					if strings.Contains(verbose, "r") {
						line := 0
						for _, r := range f.References {
							if r.Line != line {
								fmt.Printf("\n %d:", r.Line)
								line = r.Line
							}
							fmt.Printf(" %s/%s/%d", r.Name, r.Kind, r.Symbol)
						}
						fmt.Println()
					}
					if strings.Contains(verbose, "c") {
						for _, c := range f.Chunks {
							n := ""
							if c.Symbol >= 0 {
								n = f.Symbols[c.Symbol].Name
							}
							fmt.Printf("  chunk %d-%d %s %s [%s]\n", c.StartLine, c.EndLine, c.Kind, n, c.Scope)
						}
					}
					for _, c := range f.Comments[:min(3, len(f.Comments))] {
						fmt.Printf("  comment %q\n", text[c.Start:min(c.End, c.Start+50)])
					}
				}
				mu.Unlock()
			}
		}()
	}
	for _, f := range files {
		ch <- f
	}
	close(ch)
	wg.Wait()
	el := time.Since(start)
	tot := sum{}
	for l, s := range sums {
		if s.bytes > 20000 || len(sums) < 4 {
			fmt.Printf("%-20s files %d syntax %d MB %.2f syms %d refs %d imports %d chunks %d big %d problems %d\n", l, s.files, s.syntax, float64(s.bytes)/1e6, s.syms, s.refs, s.imports, s.chunks, s.big, s.problems)
		}
		tot.bytes += s.bytes
		tot.syms += s.syms
		tot.refs += s.refs
		tot.chunks += s.chunks
	}
	fmt.Println("wanted", wanted, "missed", missed)
	fmt.Printf("TOTAL %.2f MB %v %.1f MB/s syms %d refs %d chunks %d\n", float64(tot.bytes)/1e6, el, float64(tot.bytes)/1e6/el.Seconds(), tot.syms, tot.refs, tot.chunks)
}

func TestUnknown(t *testing.T) {
	for _, name := range Languages() {
		g := grammars[name]
		g.once.Do(g.compile)
		if len(g.unknown) > 0 {
			t.Errorf("%s: %q", name, g.unknown)
		}
	}
}
