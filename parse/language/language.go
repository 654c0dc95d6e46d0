// Package language tells in which language a file is written, by its name and its text.
package language

import (
	"bytes"
	_ "embed" // for languages.tsv
	"path"
	"strings"
	"sync"
)

// languages.tsv says which language a file name means: lines of kind ("extension",
// "filename" or "interpreter"), key, language, and the language's type ("programming",
// "data", "markup", "prose"). It is made from go-enry's data by
//
//	go test ./parse/language -run TestLanguages -update
//
// and checked against it by the same test. go-enry itself is not linked: it compiles
// some hundred regular expressions when a process starts, 20 to 35 ms that every
// search and every refresh would pay.
//
//go:embed languages.tsv
var languagesTSV string

type table struct {
	byExtension, byFilename, byInterpreter map[string]string
	kind                                   map[string]string // of a language
}

var data = sync.OnceValue(func() *table {
	t := &table{map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}}
	for line := range strings.Lines(languagesTSV) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) != 4 {
			continue
		}
		switch f[0] {
		case "extension":
			t.byExtension[f[1]] = f[2]
		case "filename":
			t.byFilename[f[1]] = f[2]
		case "interpreter":
			t.byInterpreter[f[1]] = f[2]
		}
		t.kind[f[2]] = f[3]
	}
	return t
})

// sniffBytes is how much of a text is looked at.
const sniffBytes = 16 << 10

// Of returns the name of a file's language as go-enry (and GitHub) call it, "Text" when
// it has none. name is a slash path.
func Of(name string, text []byte) string {
	t := data()
	base := path.Base(name)
	if l, ok := t.byFilename[base]; ok {
		return l
	}
	lower := strings.ToLower(base)
	for dot := strings.IndexByte(lower, '.'); dot >= 0; { // the longest extension first: .d.ts before .ts
		if l, ok := t.byExtension[lower[dot:]]; ok {
			return resolve(l, lower[dot:], text)
		}
		next := strings.IndexByte(lower[dot+1:], '.')
		if next < 0 {
			break
		}
		dot += next + 1
	}
	if l, ok := t.byInterpreter[interpreter(text)]; ok {
		return l
	}
	return "Text"
}

// Kind is what sort of language it is: "programming", "data", "markup", "prose", or ""
// for a name that is none.
func Kind(language string) string { return data().kind[language] }

// resolve decides by content where one extension stands for several languages that
// matter.
func resolve(l, ext string, text []byte) string {
	head := text[:min(len(text), sniffBytes)]
	has := func(marks ...string) bool {
		for _, m := range marks {
			if bytes.Contains(head, []byte(m)) {
				return true
			}
		}
		return false
	}
	switch ext {
	case ".h":
		switch {
		case has("\n@interface", "\n@protocol", "\n@class", "#import <", "#import \"", "NS_ASSUME_NONNULL"):
			return "Objective-C"
		case has("\nnamespace ", "\ntemplate", "\nclass ", "std::", "\nusing ", "\npublic:", "constexpr ", "#include <cstd", "#include <string>", "#include <vector>", "#include <memory>"):
			return "C++"
		}
	case ".m":
		if has("\nfunction ", "\n%") && !has("@implementation", "#import") {
			return "MATLAB"
		}
	case ".ts":
		if bytes.HasPrefix(bytes.TrimSpace(head), []byte("<?xml")) || bytes.HasPrefix(head, []byte("<!DOCTYPE TS")) {
			return "XML" // Qt's translations
		}
	case ".pl", ".t":
		if has(":- ") && !has("use strict", "my $") {
			return "Prolog"
		}
	}
	return l
}

// interpreter returns the program that a file's first line names: python3 for
// "#!/usr/bin/env -S python3 -u".
func interpreter(text []byte) string {
	line, ok := strings.CutPrefix(string(text[:min(len(text), 256)]), "#!")
	if !ok {
		return ""
	}
	line, _, _ = strings.Cut(line, "\n")
	for i, f := range strings.Fields(line) {
		if name := path.Base(f); name != "env" && (i == 0 || !strings.HasPrefix(f, "-") && !strings.Contains(f, "=")) {
			return name
		}
	}
	return ""
}
