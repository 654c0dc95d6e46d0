package source

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Languages are the languages that Parse has a grammar for, by go-enry's names,
// sorted.
func Languages() []string { return slices.Sorted(maps.Keys(grammars)) }

// Parse reads one file. path is slash-separated and relative to the repository,
// language is go-enry's name for it. The text may be anything: what a grammar cannot
// read within two seconds, or without a grammar, is taken line by line, and
// File.Problem says so in the first case. The result is never nil.
func Parse(ctx context.Context, path, language string, text []byte) (file *File) {
	file = &File{Language: language}
	name := grammarFor(path, language)
	l := newLines(text)
	var regions []region
	defer func() {
		if p := recover(); p != nil { // one odd file must not end an ingest
			file = &File{Language: language, Problem: fmt.Sprintf("%s: %v", internalError, p)}
			file.Chunks = chunk(file, nil, text, l)
		}
	}()
	if g := grammars[name]; g != nil {
		g.once.Do(func() { g.name = name; g.compile() })
		parsed := text
		if g.prepare != nil {
			parsed = g.prepare(text)
		}
		err := syntaxTree(ctx, g, parsed, func(nodes []node) {
			x := &extraction{
				File: file, g: g, text: text, lines: l, nodes: nodes,
				names: map[string]string{}, named: map[int32]bool{}, locals: map[string]int32{},
				lead: make([]bool, len(l)+2),
			}
			x.walk()
			regions = x.regions
		})
		if err == nil {
			file.Syntax = true
		} else {
			file.Problem = fmt.Sprint(err)
		}
	}
	if !file.Syntax {
		regions = byLine(file, language, text, l)
	}
	file.Package = strings.ToValidUTF8(file.Package, "\uFFFD")
	file.Chunks = chunk(file, regions, text, l)
	return file
}

const internalError = "internal error"

// grammarFor is the name of the grammar to use, where go-enry's language alone does
// not decide.
func grammarFor(p, language string) string {
	switch ext := strings.ToLower(path.Ext(p)); {
	case language == "TypeScript" && ext == ".tsx":
		return "TSX"
	case language == "Objective-C" && ext == ".h":
		return "C" // go-enry's guess for a header without a sign of either
	}
	if l, ok := dialects[language]; ok {
		return l
	}
	return language
}

// dialects are languages that another one's grammar reads well.
var dialects = map[string]string{
	"Gradle Kotlin DSL": "Kotlin", "Starlark": "Python", "Cuda": "C++", "Objective-C++": "C++", "JSX": "JavaScript", "Cython": "Python",
}
