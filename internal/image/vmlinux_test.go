package image

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// bzImage wraps a payload as arch/x86/boot does.
func bzImage(payload []byte) []byte {
	b := make([]byte, 3*512)
	b[0x1f1] = 1 // set-up sectors
	copy(b[0x202:], "HdrS")
	binary.LittleEndian.PutUint32(b[0x248:], 512)
	binary.LittleEndian.PutUint32(b[0x24c:], uint32(len(payload)))
	return append(append(b, payload...), "trailer"...)
}

func TestVmlinux(t *testing.T) {
	elf := []byte(magicELF + strings.Repeat("kernel text, ", 500) + "end")
	size := binary.LittleEndian.AppendUint32(nil, uint32(len(elf)))
	for _, c := range []struct {
		tool string
		args []string
	}{{"xz", []string{"-c", "--check=crc32"}}, {"lz4", []string{"-c", "-l", "-9", "-"}}} {
		t.Run(c.tool, func(t *testing.T) {
			cmd := exec.Command(c.tool, c.args...)
			cmd.Stdin = bytes.NewReader(elf)
			packed, err := cmd.Output()
			if err != nil {
				t.Skipf("no %s here: %v", c.tool, err)
			}
			dir := t.TempDir()
			in, out := filepath.Join(dir, "vmlinuz"), filepath.Join(dir, "vmlinux")
			if err := os.WriteFile(in, bzImage(append(packed, size...)), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := writeVmlinux(t.Context(), in, out); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, elf) {
				t.Errorf("%d bytes, %v; want %d", len(got), err, len(elf))
			}
		})
	}
	for _, b := range [][]byte{nil, make([]byte, 4096), bzImage([]byte("\x1f\x8bgzip"))} {
		dir := t.TempDir()
		in, out := filepath.Join(dir, "vmlinuz"), filepath.Join(dir, "vmlinux")
		if err := os.WriteFile(in, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := writeVmlinux(t.Context(), in, out); err != nil {
			t.Errorf("a kernel of another form: %v", err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Error("a vmlinux out of nothing")
		}
	}
}

// TestUnlz4 unpacks a small handmade LZ4 frame: "abcabcabcabc!" as three literals, an overlapping
// match of nine bytes, and a last literal.
func TestUnlz4(t *testing.T) {
	good := "\x02\x21\x4c\x18" + "\x08\x00\x00\x00" + "\x35abc\x03\x00" + "\x10!" + "\x0d\x00\x00\x00"
	if got, err := unlz4([]byte(good)); err != nil || string(got) != "abcabcabcabc!" {
		t.Errorf("%q, %v", got, err)
	}
	for n := range len(good) {
		if got, err := unlz4([]byte(good[:n])); err == nil {
			t.Errorf("cut at %d: %q without an error", n, got)
		}
	}
}

// FuzzUnlz4: damaged data is an error, and what is unpacked has the size that is written after it.
func FuzzUnlz4(f *testing.F) {
	f.Add([]byte("\x08\x00\x00\x00\x35abc\x03\x00\x10!"), uint16(13))
	f.Fuzz(func(t *testing.T, blocks []byte, size uint16) {
		frame := binary.LittleEndian.AppendUint32(append([]byte(magicLZ4), blocks...), uint32(size))
		if out, err := unlz4(frame); err == nil && len(out) != int(size) {
			t.Errorf("%d bytes instead of %d", len(out), size)
		}
	})
}
