package index

import (
	"encoding/binary"
	"fmt"
	"os"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v16"
)

// Merge writes one segment with the documents of several whose id keep says to keep,
// in their order.
func Merge(dir, name string, from []Segment, keep func(id uint32) bool) (Segment, error) {
	var segments []segment.Segment
	var drops []*roaring.Bitmap
	var ids []byte
	for _, s := range from {
		p, err := openPostings(dir, s)
		if err != nil {
			return Segment{}, err
		}
		defer p.close()
		drop := roaring.New()
		for i := uint32(0); i < s.Docs; i++ {
			b := p.ids[4*i : 4*i+4]
			if keep(binary.LittleEndian.Uint32(b)) {
				ids = append(ids, b...)
			} else {
				drop.Add(i)
			}
		}
		segments, drops = append(segments, p.seg), append(drops, drop)
	}
	if len(ids) == 0 {
		return Segment{}, nil
	}
	base := segmentPath(dir, name)
	if err := os.Remove(base + ".zap"); err != nil && !os.IsNotExist(err) {
		return Segment{}, fmt.Errorf("cannot replace %s.zap: %w", base, err)
	}
	plugin := zap.ZapPlugin{}
	if _, _, err := plugin.Merge(segments, drops, base+".zap", nil, nil); err != nil {
		return Segment{}, fmt.Errorf("cannot merge posting segments into %s: %w", name, err)
	}
	if err := writeFile(base+".ids", ids, true); err != nil {
		return Segment{}, err
	}
	return Segment{Name: name, Docs: uint32(len(ids) / 4), Kind: from[0].Kind}, nil
}
