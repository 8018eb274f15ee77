package store

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
)

// FuzzOpen: reading a file of any bytes never panics.
func FuzzOpen(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("SQLite format 3\x00"))
	// Only the start of a whole run: FuzzMutated covers the rest, and large
	// inputs slow down the fuzzer.
	f.Add(wholeRun(f, 2, 10)[:600])
	path := filepath.Join(f.TempDir(), "fuzz.tare")
	f.Fuzz(func(t *testing.T, text []byte) {
		must(t, os.WriteFile(path, text, 0o644))
		if _, err := readAll(path); err != nil && fault.KindOf(err) == fault.Internal {
			t.Errorf("an error of no known fault: %v", err)
		}
	})
}

// FuzzMutated changes bytes of a whole run, so that the fuzzer need not discover
// the format: six bytes of input are an offset and two bytes to write there.
func FuzzMutated(f *testing.F) {
	whole := wholeRun(f, 6, 200)
	f.Add([]byte{0, 0, 16, 0, 0xff, 0xff})
	f.Add([]byte{0, 1, 0, 0, 0x0d, 0, 0, 0, 32, 100, 0, 1})
	path := filepath.Join(f.TempDir(), "fuzz.tare")
	f.Fuzz(func(t *testing.T, changes []byte) {
		text := append([]byte(nil), whole...)
		for ; len(changes) >= 6; changes = changes[6:] {
			at := int(binary.BigEndian.Uint32(changes)) % (len(text) - 1)
			text[at], text[at+1] = changes[4], changes[5]
		}
		must(t, os.WriteFile(path, text, 0o644))
		if _, err := readAll(path); err != nil && fault.KindOf(err) == fault.Internal {
			t.Errorf("an error of no known fault: %v", err)
		}
	})
}
