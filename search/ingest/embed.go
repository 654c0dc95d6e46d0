package ingest

import (
	"fmt"
	"iter"
	"path/filepath"
	"strings"

	"github.com/chinvex/chinvex/search/embed"
	"github.com/chinvex/chinvex/search/embed/remote"
	"github.com/chinvex/chinvex/search/index"
	"github.com/chinvex/chinvex/search/vector"
)

// The vectors of new chunks.

// embed makes the vectors of the chunks that this generation added.
func (r *run) embed() error {
	w := r.w
	model, err := r.model()
	if err != nil {
		return err
	}
	if c, ok := model.(interface{ Close() error }); ok {
		defer c.Close()
	}
	if w.next.Embedding = model.Model(); w.next.Embedding.Dimensions == 0 {
		// A remote model tells its dimensions with the first answer.
		if _, err := model.Embed(r.ctx, []string{"dimensions"}); err != nil {
			return err
		}
		w.next.Embedding = model.Model()
	}
	var first uint32
	if !w.fresh {
		first = w.previous.Chunks
	}
	dims := w.next.Embedding.Dimensions
	if !w.fresh && dims != w.previous.Embedding.Dimensions {
		return fmt.Errorf("%w: the model %s now gives %d dimensions, the index has %d; run `chinvex ingest --rebuild`", index.ErrMismatch, w.next.Embedding.Name, dims, w.previous.Embedding.Dimensions)
	}
	if w.vectors, err = w.table(index.VectorsName, int64(first)*int64(vector.RowBytes(dims))); err != nil {
		return err
	}
	if w.sketches, err = w.table(index.SketchesName, int64(first)*int64(vector.SketchBytes(dims))); err != nil {
		return err
	}
	const batch = 512
	texts := make([]string, 0, batch)
	all, done := int(w.next.Chunks-first), 0
	flush := func() error {
		vectors, err := model.Embed(r.ctx, texts)
		if err != nil {
			return err
		}
		done += len(texts)
		r.progress("embed", done, all)
		texts = texts[:0]
		return w.appendVectors(vectors)
	}
	var failed error
	for text := range r.chunkTexts(first, &failed) {
		if texts = append(texts, text); len(texts) == batch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if failed != nil {
		return failed
	}
	if len(texts) > 0 {
		return flush()
	}
	return nil
}

// model opens or makes the embedder: the built-in one is fitted for a new build and
// kept for the build's life.
func (r *run) model() (embed.Embedder, error) {
	w := r.w
	file := filepath.Join(w.build, index.ModelName)
	if r.Settings.Embedding.Provider != embed.ProviderBuiltin {
		return remote.FromSettings(r.Settings.Embedding)
	}
	if !w.fresh {
		return embed.OpenBuiltin(file, index.NewTokenize)
	}
	var failed error
	r.progress("fit", 0, 0)
	model, err := embed.Fit(r.ctx, r.chunkTexts(0, &failed), index.NewTokenize)
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	r.stage("fit")
	if err := model.WriteFile(file); err != nil {
		return nil, err
	}
	return model, syncFile(file)
}

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
