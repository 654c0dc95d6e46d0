//go:build !unix

package mapped

import "os"

// Open reads the file; the second result does nothing.
func Open(path string) ([]byte, func() error, error) {
	data, err := os.ReadFile(path)
	return data, func() error { return nil }, err
}
