package ingest

import (
	"bytes"
	"path"
	"strings"

	"github.com/go-enry/go-enry/v2"

	"github.com/chinvex/chinvex/search/index"
)

// sniffBytes is how much of a file tells whether it is binary and in which language
// it is written.
const sniffBytes = 16 << 10

// unindexable returns why a file's content is left out, "" when it is text.
func unindexable(name string, text []byte) string {
	head := text[:min(len(text), 8000)]
	if bytes.IndexByte(head, 0) >= 0 {
		return Binary
	}
	// Lines that nobody wrote: bundles, embedded data, dumps.
	if lines := bytes.Count(text, []byte{'\n'}) + 1; len(text) > 20<<10 && len(text)/lines > 400 {
		return Minified
	}
	if base := path.Base(name); strings.Contains(base, ".min.") && len(text) > 2<<10 {
		return Minified
	}
	return ""
}

// language returns go-enry's name of the language, "Text" when it has none.
func language(name string, text []byte) string {
	lang := enry.GetLanguage(path.Base(name), text[:min(len(text), sniffBytes)])
	if lang == "" {
		return "Text"
	}
	return lang
}

// classOf says what sort of file it is, by go-enry and by the names that folders
// have everywhere.
func classOf(name, lang string, text []byte) index.Class {
	var c index.Class
	lower := strings.ToLower(name)
	base := path.Base(lower)
	stem := base
	if dot := strings.IndexByte(base, '.'); dot > 0 {
		stem = base[:dot]
	}
	if enry.IsTest(name) || strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, "_spec") || strings.HasPrefix(stem, "test_") ||
		strings.HasSuffix(stem, "test") && strings.HasSuffix(path.Base(name), "Test"+path.Ext(name)) ||
		strings.HasSuffix(stem, "tests") && strings.Contains(path.Base(name), "Tests.") ||
		strings.Contains(base, ".test.") || strings.Contains(base, ".spec.") || strings.HasSuffix(base, ".snap") || strings.HasSuffix(base, ".bats") ||
		stem == "conftest" {
		c |= index.Test
	}
	if enry.IsVendor(name) {
		c |= index.Vendored
	}
	if enry.IsGenerated(name, text[:min(len(text), sniffBytes)]) {
		c |= index.Generated
	}
	switch enry.GetLanguageType(lang) {
	case enry.Prose:
		c |= index.Documentation
	case enry.Data:
		c |= index.Configuration
	}
	if enry.IsDocumentation(name) {
		c |= index.Documentation
	}
	if enry.IsConfiguration(name) {
		c |= index.Configuration
	}
	for part := range strings.SplitSeq(path.Dir(lower), "/") {
		switch part {
		case "test", "tests", "testing", "testdata", "spec", "specs", "__tests__", "__snapshots__", "snapshots", "fixtures", "e2e":
			c |= index.Test
		case "examples", "example", "samples", "sample", "demo", "demos", "benches", "bench", "benchmark", "benchmarks":
			c |= index.Example
		case "compat", "legacy", "deprecated", "shims", "polyfills":
			c |= index.Compat
		case "internal", "detail", "details", "impl":
			c |= index.Internal
		case "docs", "doc":
			if c&index.Documentation == 0 && enry.GetLanguageType(lang) != enry.Programming {
				c |= index.Documentation
			}
		}
	}
	if strings.Contains(stem, "compat") {
		c |= index.Compat
	}
	if strings.Contains(stem, "benchmark") || strings.HasSuffix(stem, "_bench") {
		c |= index.Example
	}
	switch {
	case base == "__init__.py" || base == "package-info.java":
		c |= index.Init
	case strings.HasSuffix(base, ".d.ts") || strings.HasSuffix(base, ".pyi"):
		c |= index.Types
	}
	return c
}
