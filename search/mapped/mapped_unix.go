//go:build unix

// Package mapped reads files as memory: what a short-lived process does not look at is
// never read.
package mapped

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Open maps a file read-only. The second result releases it; the bytes must not be
// looked at afterwards. An empty file gives no bytes. The error wraps fs.ErrNotExist
// where there is none.
func Open(path string) ([]byte, func() error, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() // the map outlives the descriptor
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	size := info.Size()
	if size == 0 || !info.Mode().IsRegular() { // neither can be mapped
		return nil, func() error { return nil }, nil
	}
	if int64(int(size)) != size {
		return nil, nil, fmt.Errorf("%s is too large to be mapped", path)
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("map %s: %w", path, err)
	}
	return data, func() error { return unix.Munmap(data) }, nil
}
