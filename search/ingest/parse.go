package ingest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/chinvex/chinvex/parse/language"
	"github.com/chinvex/chinvex/parse/secret"
	"github.com/chinvex/chinvex/parse/source"
	"github.com/chinvex/chinvex/parse/words"
	"github.com/chinvex/chinvex/search/index"
)

// hashSize is the length of a content hash: SHA-256, cut.
const hashSize = 16

// parsed is a file read, redacted and taken apart; the work that runs in parallel.
type parsed struct {
	candidate
	reason    string // why it is left out, "" when it is indexed
	unchanged bool   // the content is that of the version before
	hash      [hashSize]byte
	language  string
	class     index.Class
	lines     int
	secrets   int
	blocks    []index.Block // its text as stored
	file      *source.File
	chunks    []chunkTerms
	nameLines []int // of each symbol: the chunk that holds its name
}

type chunkTerms struct {
	terms         map[string]uint64 // packed index.Counts
	body, comment int
}

// read reads at most limit bytes of a regular file; a file that grew past the limit or
// turned into something else since it was examined has a reason.
func read(abs string, limit int64) (text []byte, reason string) {
	f, err := os.OpenFile(abs, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, Missing
	case errors.Is(err, syscall.ELOOP):
		return nil, Symlink
	case err != nil:
		return nil, Unreadable
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, Unreadable
	}
	if !info.Mode().IsRegular() {
		return nil, Irregular
	}
	text = make([]byte, 0, min(info.Size(), limit)+1)
	for {
		n, err := f.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case err == io.EOF:
			return text, ""
		case err != nil:
			return nil, Unreadable
		case int64(len(text)) > limit:
			return nil, TooLarge
		case len(text) == cap(text):
			text = append(text, 0)[:len(text)]
		}
	}
}

// parseFile does all of the work for one file that needs nothing but the file. before
// is the hash of the version in the index, nil for a new file.
func parseFile(ctx context.Context, c candidate, before []byte, limit int64, a *words.Analyzer) *parsed {
	p := &parsed{candidate: c}
	text, reason := read(c.abs, limit)
	if p.reason = reason; reason != "" {
		return p
	}
	sum := sha256.Sum256(text)
	copy(p.hash[:], sum[:])
	if before != nil && bytes.Equal(before, p.hash[:]) {
		p.unchanged = true
		return p
	}
	if p.reason = unindexable(c.path.Rel, text); p.reason != "" {
		return p
	}
	text, p.secrets = secret.Redact(c.path.Rel, text)
	p.language = language.Of(c.path.Rel, text)
	p.class = classOf(c.path.Rel, p.language, text)
	p.file = source.Parse(ctx, c.path.Rel, p.language, text)
	p.blocks = index.Blocks(text)
	p.analyse(text, a)
	return p
}

// analyse makes the terms of every chunk.
func (p *parsed) analyse(text []byte, a *words.Analyzer) {
	starts := lineStarts(text)
	p.lines = len(starts) - 1
	p.chunks = make([]chunkTerms, len(p.file.Chunks))
	p.nameLines = make([]int, len(p.file.Symbols))

	stem, dirs := pathTerms(p.path.Rel, a)
	for i, c := range p.file.Chunks {
		counts := make(map[string]index.Counts, 64)
		ct := &p.chunks[i]
		count := func(from, to int, comment bool) {
			if from >= to {
				return
			}
			a.Terms(text[from:to], func(term string) {
				v := counts[term]
				if comment {
					v.Comment++
					ct.comment++
				} else {
					v.Body++
					ct.body++
				}
				counts[term] = v
			})
		}
		from, to := byteRange(starts, c.StartLine, c.EndLine)
		eachPart(p.file.Comments, from, to, count)
		for term := range stem {
			v := counts[term]
			v.Stem = 1
			counts[term] = v
		}
		for term, n := range dirs {
			v := counts[term]
			v.Dir = n
			counts[term] = v
		}
		for _, s := range symbolsIn(p.file.Symbols, c) {
			p.nameLines[s] = i
			for _, term := range a.IdentifierTerms(p.file.Symbols[s].Name) {
				v := counts[term]
				v.Name++
				counts[term] = v
			}
		}
		ct.terms = make(map[string]uint64, len(counts))
		for term, v := range counts {
			ct.terms[term] = v.Pack()
		}
		if i == 0 {
			index.AddNameTerms(ct.terms, p.path.Rel)
		}
	}
}

// symbolsIn returns the positions of the symbols whose name stands in a chunk. Symbols
// are in order of their first line, not of their name's, so all are looked at; a file
// has few.
func symbolsIn(symbols []source.Symbol, c source.Chunk) []int {
	var in []int
	for i, s := range symbols {
		if c.StartLine <= s.NameLine && s.NameLine <= c.EndLine {
			in = append(in, i)
		}
	}
	return in
}

// pathTerms returns the terms of a path: those of the file's name without its
// extension, and how often each occurs in the last three directories.
func pathTerms(rel string, a *words.Analyzer) (stem map[string]bool, dirs map[string]int) {
	stem, dirs = map[string]bool{}, map[string]int{}
	base := path.Base(rel)
	if dot := strings.LastIndexByte(base, '.'); dot > 0 {
		base = base[:dot]
	}
	a.Terms([]byte(base), func(t string) { stem[t] = true })
	parts := strings.Split(path.Dir(rel), "/")
	for _, part := range parts[max(0, len(parts)-3):] {
		a.Terms([]byte(part), func(t string) { dirs[t]++ })
	}
	return stem, dirs
}

// lineStarts returns the offset of each line's first byte, and the text's length last.
func lineStarts(text []byte) []int {
	starts := []int{0}
	for i := 0; i < len(text); {
		n := bytes.IndexByte(text[i:], '\n')
		if n < 0 {
			break
		}
		i += n + 1
		if i < len(text) {
			starts = append(starts, i)
		}
	}
	return append(starts, len(text))
}

// byteRange returns the bytes of lines start to end (1-based, inclusive).
func byteRange(starts []int, start, end int) (from, to int) {
	last := len(starts) - 1
	return starts[min(max(start-1, 0), last)], starts[min(max(end, 0), last)]
}

// eachPart calls fn for the parts of [from, to) that are inside and outside comments,
// in order.
func eachPart(comments []source.Span, from, to int, fn func(from, to int, comment bool)) {
	// Binary search for the first comment that ends after from.
	lo, hi := 0, len(comments)
	for lo < hi {
		if mid := (lo + hi) / 2; comments[mid].End <= from {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	for ; lo < len(comments) && comments[lo].Start < to; lo++ {
		c := comments[lo]
		fn(from, max(from, c.Start), false)
		fn(max(from, c.Start), min(to, c.End), true)
		from = min(to, c.End)
	}
	fn(from, to, false)
}
