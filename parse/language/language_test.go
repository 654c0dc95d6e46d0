package language

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/go-enry/go-enry/v2"
	enrydata "github.com/go-enry/go-enry/v2/data"
)

var update = flag.Bool("update", false, "write the golden files anew")

// preferred are the languages that an extension means when go-enry knows several, the
// first one wins.
var preferred = []string{"C", "C++", "C#", "Objective-C", "TypeScript", "TSX", "Rust", "Python", "Perl", "PHP", "Ruby", "R", "Markdown", "HTML", "YAML", "JSON", "SQL", "XML",
	"JavaScript", "F#", "D", "Elixir", "Erlang", "Fortran", "GLSL", "Assembly", "Scala", "OCaml", "Common Lisp", "Scheme", "Clojure", "Haskell", "Groovy", "TeX", "Objective-C++",
	"Verilog", "Text", "INI", "Java Properties", "Smalltalk", "Puppet", "Visual Basic .NET", "Pascal", "Game Maker Language", "Vim Script", "Shell", "Prolog"}

func TestLanguages(t *testing.T) {
	kinds := map[enry.Type]string{enry.Programming: "programming", enry.Data: "data", enry.Markup: "markup", enry.Prose: "prose"}
	var lines []string
	add := func(kind, key string, languages []string) {
		if strings.ContainsAny(key, "\t\n") || len(languages) == 0 {
			return
		}
		language := languages[0]
		if len(languages) > 1 {
			languages = slices.Clone(languages)
			sort.Strings(languages)
			language = languages[0]
			for _, p := range preferred {
				if slices.Contains(languages, p) {
					language = p
					break
				}
			}
		}
		k, ok := kinds[enry.GetLanguageType(language)]
		if !ok {
			k = "data"
		}
		lines = append(lines, fmt.Sprintf("%s\t%s\t%s\t%s\n", kind, key, language, k))
	}
	for key, languages := range enrydata.LanguagesByExtension {
		add("extension", key, languages)
	}
	for key, languages := range enrydata.LanguagesByFilename {
		add("filename", key, languages)
	}
	for key, languages := range enrydata.LanguagesByInterpreter {
		add("interpreter", key, languages)
	}
	sort.Strings(lines)
	want := strings.Join(lines, "")
	if *update {
		if err := os.WriteFile("languages.tsv", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != languagesTSV {
		t.Error("languages.tsv is not what go-enry's data gives; run go test ./parse/language -run TestLanguages -update")
	}
}

func TestLanguage(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"a.go", "", "Go"}, {"src/x.rs", "", "Rust"}, {"x.py", "", "Python"}, {"x.pyi", "", "Python"}, {"a.ts", "", "TypeScript"}, {"a.d.ts", "", "TypeScript"}, {"a.tsx", "", "TSX"},
		{"a.jsx", "", "JavaScript"}, {"a.mjs", "", "JavaScript"}, {"A.java", "", "Java"}, {"a.c", "", "C"}, {"a.h", "int f(void);\n", "C"}, {"a.h", "#pragma once\nnamespace a {\n}\n", "C++"},
		{"a.h", "\n@interface A\n", "Objective-C"}, {"a.hpp", "", "C++"}, {"a.cc", "", "C++"}, {"a.cs", "", "C#"}, {"a.rb", "", "Ruby"}, {"Rakefile", "", "Ruby"}, {"a.php", "", "PHP"},
		{"a.kt", "", "Kotlin"}, {"a.kts", "", "Kotlin"}, {"a.swift", "", "Swift"}, {"a.scala", "", "Scala"}, {"a.sc", "", "Scala"}, {"a.sh", "", "Shell"}, {"a.bash", "", "Shell"}, {"a.bats", "", "Shell"},
		{"run", "#!/bin/bash\n", "Shell"}, {"run", "#!/usr/bin/env -S python3 -u\n", "Python"}, {"run", "#!", "Text"}, {"a.lua", "", "Lua"}, {"a.ex", "", "Elixir"}, {"a.exs", "", "Elixir"},
		{"a.hs", "", "Haskell"}, {"a.zig", "", "Zig"}, {"README.md", "", "Markdown"}, {"a.rst", "", "reStructuredText"}, {"Makefile", "", "Makefile"}, {"Dockerfile", "", "Dockerfile"},
		{"Cargo.toml", "", "TOML"}, {"package.json", "", "JSON"}, {"a.yml", "", "YAML"}, {"a.unknown", "", "Text"}, {"LICENSE", "", "Text"}, {"A.PY", "", "Python"}, {"a.snap", "", "Jest Snapshot"},
	} {
		if got := Of(tc.name, []byte(tc.text)); got != tc.want {
			t.Errorf("Of(%q, %q) = %s, want %s", tc.name, tc.text, got, tc.want)
		}
	}
}
