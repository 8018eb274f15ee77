// Package files writes files as a whole, and identifies them by their content.
package files

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tare-bench/tare/internal/fault"
)

// Replace puts what write writes in the place of the file at path: all of it or nothing. Errors of
// write are returned as they are. A write that must outlive a power loss ends with f.Sync.
func Replace(path string, mode fs.FileMode, write func(f *os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tare-*")
	if err != nil {
		return fault.Hostf("%w", err)
	}
	defer os.Remove(f.Name()) // if it still has this name
	defer f.Close()
	if err := write(f); err != nil {
		return err
	}
	err = errors.Join(f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fault.Hostf("%w", err)
	}
	return nil
}

// Sum returns the SHA-256 of a file in hex.
func Sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
