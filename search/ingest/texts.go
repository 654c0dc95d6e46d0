package ingest

import (
	"fmt"
	"iter"
	"path/filepath"
	"strings"

	"github.com/chinvex/chinvex/search/index"
)

// embedBytes is how much of a chunk is embedded: more is beyond what models read.
const embedBytes = 8 << 10

// chunkTexts yields what is embedded for each chunk from first on, in order of chunk
// id: the path's words and the chunk's text. *failed is set when reading breaks off.
func (r *run) chunkTexts(first uint32, failed *error) iter.Seq[string] {
	w := r.w
	return func(yield func(string) bool) {
		tab := make([]byte, int(w.next.Chunks-first)*index.ChunkSize)
		if _, err := w.chunkTab.ReadAt(tab, int64(first)*index.ChunkSize); err != nil && len(tab) > 0 {
			*failed = fmt.Errorf("cannot read %s: %w", w.chunkTab.Name(), err)
			return
		}
		table := index.ChunkTable(tab)
		var file uint32
		var text []byte
		var starts []int
		for i := range table.Len() {
			c := table.At(uint32(i))
			if c.File != file {
				if err := r.ctx.Err(); err != nil {
					*failed = err
					return
				}
				var err error
				text, err = w.storedText(c.File)
				if err != nil {
					*failed = fmt.Errorf("cannot read a stored text: %w", err)
					return
				}
				file, starts = c.File, lineStarts(text)
			}
			from, to := byteRange(starts, int(c.Start), int(c.End))
			if !yield(embedText(w.files[c.File].Path.Rel, text[from:min(to, from+embedBytes)])) {
				return
			}
		}
	}
}

// embedText is the text that is embedded for a chunk.
func embedText(rel string, chunk []byte) string {
	name := strings.TrimSuffix(rel, filepath.Ext(rel))
	return name + "\n" + strings.ToValidUTF8(string(chunk), " ")
}

// storedText returns the whole text of a file version.
func (w *writer) storedText(file uint32) ([]byte, error) {
	rows, err := w.tx.Query("SELECT data FROM texts WHERE file = ? ORDER BY line", file)
	if err != nil {
		return nil, err
	}
	return index.JoinBlocks(rows)
}
