//go:build unix

package index

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps the first size bytes of a file read-only; size -1 means all of it. A
// file that is shorter is ErrDamaged.
func mapFile(path string, size int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if size < 0 {
		size = info.Size()
	}
	if info.Size() < size {
		return nil, fmt.Errorf("%w: %s holds %d bytes of %d; run `chinvex ingest --rebuild`", ErrDamaged, path, info.Size(), size)
	}
	if size == 0 {
		return nil, nil
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("cannot map %s: %w", path, err)
	}
	return b, nil
}

func unmapFile(b []byte) {
	if b != nil {
		_ = unix.Munmap(b)
	}
}
