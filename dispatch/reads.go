package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/chinvex/chinvex/search"
)

// After a read: who uses the main symbols of the lines that were read.

// uses tells who uses the key symbols of lines that were read.
func (a *asker) uses(ctx context.Context, o Operation) ([]Group, int, error) {
	symbols, err := a.engine.Symbols(o.Path)
	if errors.Is(err, search.ErrNoFile) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	var keySymbols []touched
	for _, s := range symbols {
		inside := o.Lines.Start == 0 || s.Line >= o.Lines.Start && (o.Lines.End == 0 || s.Line <= o.Lines.End)
		if !inside || !telling(s) || local(s, symbols) {
			continue
		}
		files, err := a.engine.Uses(s.Name)
		if err != nil {
			return nil, 0, err
		}
		if files > 0 && files <= commonName {
			keySymbols = append(keySymbols, touched{Definition: s, files: files})
		}
	}
	sort.SliceStable(keySymbols, func(i, j int) bool {
		if keySymbols[i].Exported != keySymbols[j].Exported {
			return keySymbols[i].Exported
		}
		return keySymbols[i].files > keySymbols[j].files
	})
	candidates := len(keySymbols)
	g := Group{Kind: Uses, Path: o.Path, Heading: "Used elsewhere, of what was read in " + a.name(o.Path) + ":"}
	seen := map[string]bool{}
	for _, s := range keySymbols[:min(candidates, 3*readSymbols)] {
		if len(g.Facts) == readSymbols {
			break
		}
		if seen[s.Name] {
			continue
		}
		seen[s.Name] = true
		found, err := a.refs(ctx, search.RefsQuery{Name: s.Name, File: o.Path, Limit: readUses, Exclude: []search.LineRange{{Path: o.Path}}}, false)
		if err != nil {
			return nil, candidates, err
		}
		if len(found.References) == 0 {
			continue
		}
		what := []string{"uses", s.Name, o.Path.Rel}
		var places []string
		for _, r := range found.References {
			place := fmt.Sprintf("%s:%d", a.name(r.Path), r.Line)
			if r.In != "" {
				place += " in " + r.In
			}
			places = append(places, place)
			what = append(what, r.Path.Rel, r.In)
		}
		text := fmt.Sprintf("%s (line %d): %s", qualified(s.Scope, s.Name), s.Line, strings.Join(places, ", "))
		if more := found.Total - len(places); more > 0 {
			text += fmt.Sprintf(", %d more (chinvex refs %s)", more, quote(s.Name))
		}
		g.Facts = append(g.Facts, Fact{Key: key(what...), Path: o.Path, Start: s.Start, End: s.End, Passes: true, Text: text})
	}
	return []Group{g}, candidates, nil
}

// telling tells whether a name is one that its uses can be found by.
func telling(s search.Definition) bool {
	switch s.Kind {
	case "section", "module", "variable":
		return false
	}
	return utf8.RuneCountInString(s.Name) > 2 && !(strings.HasPrefix(s.Name, "__") && strings.HasSuffix(s.Name, "__"))
}

// local tells whether a symbol is defined inside a function, where nothing else sees it.
func local(s search.Definition, symbols []search.Definition) bool {
	return slices.ContainsFunc(symbols, func(o search.Definition) bool {
		return (o.Kind == "function" || o.Kind == "method") && o.Start <= s.Start && s.End <= o.End && o.End-o.Start > s.End-s.Start
	})
}
