//go:build !unix

package embed

import "os"

// mapFile reads the file; the second result does nothing.
func mapFile(path string) ([]byte, func() error, error) {
	data, err := os.ReadFile(path)
	return data, func() error { return nil }, err
}
