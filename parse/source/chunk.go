package source

import (
	"bytes"
	"strings"
)

// Limits of a chunk. A definition within maxLines and maxBytes stays whole; parts of
// a longer one aim at idealLines; neighbours of fewer than tinyLines are merged.
const (
	maxLines   = 60
	maxBytes   = 3000
	idealLines = 40
	tinyLines  = 5
	maxNesting = 32 // regions deeper than this are not divided further
)

// piece is a chunk in the making.
type piece struct {
	Chunk
	parent int  // region that it lies in directly, -1 at top level
	own    bool // a whole definition or its header, not what lies between
}

// chunk divides the text so that each line is in exactly one chunk.
func chunk(file *File, regions []region, text []byte, l lines) []Chunk {
	c := &chunker{file: file, regions: regions, text: text, lines: l, inner: make([][]int, len(regions)+1)}
	for i, r := range regions {
		c.inner[r.parent+1] = append(c.inner[r.parent+1], i)
	}
	c.blank = make([]bool, len(l)+2)
	for n := range l {
		c.blank[n+1] = len(bytes.TrimSpace(c.line(n+1))) == 0
	}
	c.named = make([]int, len(l)+2)
	for i := len(file.Symbols) - 1; i >= 0; i-- {
		c.named[file.Symbols[i].NameLine] = i + 1
	}
	c.divide(-1, 1, len(l), 0)
	return c.merge()
}

type chunker struct {
	file    *File
	regions []region
	inner   [][]int // regions directly inside region i at i+1
	text    []byte
	lines   lines
	blank   []bool // by line
	named   []int  // by line: index of the first symbol named there plus one, 0 for none
	pieces  []piece
}

func (c *chunker) offset(line int) int {
	if line > len(c.lines) {
		return len(c.text)
	}
	return c.lines[line-1]
}

func (c *chunker) line(n int) []byte { return c.text[c.offset(n):c.offset(n+1)] }

func (c *chunker) fits(start, end int) bool {
	return end-start < maxLines && c.offset(end+1)-c.offset(start) <= maxBytes
}

// divide makes the pieces of lines start..end of a region.
func (c *chunker) divide(r, start, end, depth int) {
	at := start
	header := r >= 0
	for _, i := range c.inner[r+1] {
		d := &c.regions[i]
		from, to := max(d.start, at), min(d.end, end)
		if from > to {
			continue
		}
		if r >= 0 && !c.divides(i) {
			continue
		}
		if from > at {
			c.gap(r, at, from-1, header)
			header = false
		}
		if !c.fits(from, to) && c.container(i) && depth < maxNesting {
			c.divide(i, from, to, depth+1)
		} else {
			c.whole(i, r, from, to)
		}
		header = false
		at = to + 1
	}
	if at <= end {
		c.gap(r, at, end, header)
	}
}

// divides reports whether a region inside another one deserves a piece of its own.
func (c *chunker) divides(i int) bool {
	k := c.regions[i].kind
	return k != Constant && k != Variable || c.container(i)
}

func (c *chunker) container(i int) bool { return len(c.inner[i+1]) > 0 }

// whole adds a definition, in parts when it is long.
func (c *chunker) whole(i, parent, start, end int) {
	d := &c.regions[i]
	p := piece{Chunk: Chunk{Kind: Block, Symbol: d.symbol, Scope: d.scope}, parent: parent, own: true}
	if d.symbol >= 0 {
		s := &c.file.Symbols[d.symbol]
		p.Kind, p.Scope = s.Kind, s.Scope
	} else {
		p.Symbol = c.held(start, end)
	}
	c.split(p, start, end)
}

// gap adds what lies between definitions of region r, or its header.
func (c *chunker) gap(r, start, end int, header bool) {
	p := piece{Chunk: Chunk{Kind: Block, Symbol: -1}, parent: r}
	if r >= 0 {
		p.Scope = c.regions[r].scope
		if s := c.regions[r].symbol; s >= 0 {
			p.Symbol = s
			if k := c.file.Symbols[s].Kind; header || k == Function || k == Method {
				p.Kind, p.Scope, p.own = k, c.file.Symbols[s].Scope, true
			}
		}
	}
	c.split(p, start, end)
}

// held is the first symbol that is named within the lines, -1 for none.
func (c *chunker) held(start, end int) int {
	for l := start; l <= end; l++ {
		if s := c.named[l]; s > 0 {
			return s - 1
		}
	}
	return -1
}

// split adds the piece for start..end, cut where it is too long: behind blank lines and
// before little indented ones by preference.
func (c *chunker) split(p piece, start, end int) {
	for !c.fits(start, end) && start < end {
		best, at := -1<<30, start
		for n := start; n < end && c.fits(start, n); n++ {
			size := n - start + 1
			score := -abs(size-idealLines)/4 - 2*min(c.indent(n+1), 12)
			if c.blank[n] {
				score += 8
			}
			if size < idealLines/2 {
				score -= idealLines/2 - size
			}
			if score >= best {
				best, at = score, n
			}
		}
		p.StartLine, p.EndLine = start, at
		c.pieces = append(c.pieces, p)
		start = at + 1
	}
	p.StartLine, p.EndLine = start, end
	c.pieces = append(c.pieces, p)
}

// indent is the width of a line's indentation in units of two columns; a closing
// bracket counts as one deeper so that it stays with what it closes.
func (c *chunker) indent(n int) int {
	width := 0
	for _, b := range c.line(n) {
		switch b {
		case ' ':
			width++
		case '\t':
			width += 4
		case '}', ')', ']':
			return width/2 + 2
		default:
			return width / 2
		}
	}
	return width / 2
}

// merge joins blank, closing and tiny pieces with their neighbours.
func (c *chunker) merge() []Chunk {
	var out []piece
	for _, p := range c.pieces {
		if len(out) > 0 && c.joins(&out[len(out)-1], &p) {
			join := &out[len(out)-1]
			if join.own != p.own || c.trivial(join) || c.trivial(&p) {
				if c.trivial(join) && !c.trivial(&p) {
					start := join.StartLine
					*join = p
					join.StartLine = start
				} else if p.own && !c.trivial(&p) {
					join.Kind, join.own = Block, false
				}
			} else if p.own {
				join.Kind = Block
			}
			if join.Symbol < 0 {
				join.Symbol = p.Symbol
			}
			join.EndLine = p.EndLine
			continue
		}
		out = append(out, p)
	}
	chunks := make([]Chunk, len(out))
	for i, p := range out {
		chunks[i] = p.Chunk
		if p.Symbol < 0 {
			chunks[i].Symbol = c.held(p.StartLine, p.EndLine)
		}
	}
	return chunks
}

func (c *chunker) joins(a, b *piece) bool {
	size := b.EndLine - a.StartLine + 1
	if c.offset(b.EndLine+1)-c.offset(a.StartLine) > maxBytes+maxBytes/4 || size > maxLines+tinyLines {
		return false
	}
	if c.trivial(b) || c.trivial(a) {
		return true
	}
	if size > idealLines || c.offset(b.EndLine+1)-c.offset(a.StartLine) > maxBytes {
		return false
	}
	return a.parent == b.parent && a.tiny() && b.tiny()
}

func (p *piece) tiny() bool { return p.EndLine-p.StartLine+1 < tinyLines }

// trivial reports whether a piece holds nothing to find: blank lines, closing brackets
// or "end"; or is the first line of a scope without a symbol.
func (c *chunker) trivial(p *piece) bool {
	if !p.tiny() {
		return false
	}
	if p.Symbol < 0 && p.parent >= 0 && p.StartLine == c.regions[p.parent].start {
		return true
	}
	for _, word := range strings.Fields(string(c.text[c.offset(p.StartLine):c.offset(p.EndLine+1)])) {
		if word != "end" && strings.Trim(word, "{}()[];,") != "" {
			return false
		}
	}
	return true
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
