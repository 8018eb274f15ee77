package collect

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/files"
)

// replace puts what it reads in the place of the file at path, if that has the hash: all of it or
// nothing.
func replace(path string, r io.Reader, hash string) error {
	return files.Replace(path, 0o644, func(f *os.File) error {
		h := sha256.New()
		if _, err := io.Copy(io.MultiWriter(f, h), r); err != nil {
			return fault.Hostf("%w", err)
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != hash {
			return fault.WithRemedy(fault.Hostf("%s arrived damaged: its hash is %s, not %s", path, got, hash), "send it again")
		}
		if err := f.Sync(); err != nil {
			return fault.Hostf("%w", err)
		}
		return nil
	})
}
