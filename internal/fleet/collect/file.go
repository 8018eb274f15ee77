package collect

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/tare-bench/tare/internal/fault"
)

// replace puts what it reads in the place of the file at path, if that has the hash: all of it or
// nothing.
func replace(path string, r io.Reader, hash string) error {
	part, err := os.CreateTemp(filepath.Dir(path), ".tare-*")
	if err != nil {
		return fault.Hostf("%w", err)
	}
	defer os.Remove(part.Name())
	defer part.Close()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(part, h), r); err != nil {
		return fault.Hostf("%w", err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != hash {
		return fault.WithRemedy(fault.Hostf("%s arrived damaged: its hash is %s, not %s", path, got, hash), "send it again")
	}
	if err := errors.Join(part.Chmod(0o644), part.Sync(), part.Close(), os.Rename(part.Name(), path)); err != nil {
		return fault.Hostf("%w", err)
	}
	return nil
}

// hashOfFile is the SHA-256 of a file.
func hashOfFile(path string) (string, error) {
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
