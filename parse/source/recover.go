package source

import (
	"bytes"
	"cmp"
	"slices"
)

// recover adds the definitions that stand in lines which the grammar could not read:
// newer syntax, macros, half-typed code. bad holds those line ranges, in order.
func (x *extraction) recover(bad []Span) {
	if len(bad) == 0 {
		return
	}
	patterns := linePatterns[x.g.name]
	if len(patterns) == 0 {
		patterns = []linePattern{anyLine}
	}
	known := make([]bool, len(x.lines)+2)
	for i := range x.Symbols {
		known[x.Symbols[i].NameLine] = true
	}
	before := len(x.Symbols)
	w := lineWalk{text: x.text, lines: x.lines, patterns: patterns}
	next := 1 // lines are looked at once, however error nodes nest
	for _, span := range bad {
		for n := max(next, span.Start); n <= span.End && len(x.Symbols)-before < maxRecovered; n++ {
			next = n + 1
			if known[n] || x.lead[n] {
				continue
			}
			line := w.at(n)
			name, kind, ok := w.match(line)
			if !ok || x.g.skip[name] {
				continue
			}
			start := n
			for start > 1 && x.lead[start-1] {
				start--
			}
			end := w.blockEnd(n, known)
			x.Symbols = append(x.Symbols, Symbol{Name: name, Kind: kind, Signature: foldLine(line), NameLine: n, StartLine: start, EndLine: end, Exported: true})
			x.regions = append(x.regions, region{start, end, len(x.Symbols) - 1, -1, kind, name})
		}
	}
	if len(x.Symbols) > before {
		x.sort()
	}
}

// maxRecovered bounds what one file's broken lines may define.
const maxRecovered = 500

// blockEnd is the last line of what starts at line n, by indentation.
func (w *lineWalk) blockEnd(n int, known []bool) int {
	const longest = 300
	indent := indentation(w.at(n))
	last := n
	for l := n + 1; l <= len(w.lines) && l <= n+longest && !known[l]; l++ {
		line := w.at(l)
		if len(line) == 0 {
			continue
		}
		if indentation(line) <= indent {
			if body := bytes.TrimLeft(line, " \t"); body[0] == '{' {
				continue
			} else if body[0] == '}' || bytes.HasPrefix(body, []byte("end")) {
				return l
			}
			break
		}
		last = l
	}
	return last
}

func indentation(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " \t")) }

// sort brings the symbols into the order of their names in the text, and what points
// at them along.
func (x *extraction) sort() {
	order := make([]int, len(x.Symbols))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x.Symbols[a].NameLine, x.Symbols[b].NameLine) })
	symbols, place := make([]Symbol, len(order)), make([]int, len(order))
	for to, from := range order {
		symbols[to], place[from] = x.Symbols[from], to
	}
	x.Symbols = symbols
	for i := range x.References {
		if r := &x.References[i]; r.Symbol >= 0 {
			r.Symbol = place[r.Symbol]
		}
	}
	for i := range x.regions {
		if r := &x.regions[i]; r.symbol >= 0 {
			r.symbol = place[r.symbol]
		}
	}
}
