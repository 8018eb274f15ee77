package vminit

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestSwapHeader: the header says what mkswap's says, which also has an identity.
func TestSwapHeader(t *testing.T) {
	const size = 3 << 20
	page := os.Getpagesize()
	file := filepath.Join(t.TempDir(), "swap")
	if err := os.WriteFile(file, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkswap", file).CombinedOutput(); err != nil {
		t.Fatalf("mkswap: %v: %s", err, out)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const uuid = 1024 + 12
	copy(b[uuid:], make([]byte, 16))
	if got := swapHeader(size, page); !bytes.Equal(got, b[:page]) {
		t.Errorf("%x\n%x", got[1024:1100], b[1024:1100])
	}
}

func TestSwapOnNothing(t *testing.T) {
	if err := swapOn(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a swap on a device that does not exist")
	}
}
