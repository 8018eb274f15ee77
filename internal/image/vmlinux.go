package image

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"github.com/tare-bench/tare/internal/fault"
)

// Magic numbers of compressed and uncompressed kernels.
const (
	magicXZ  = "\xfd7zXZ\x00"
	magicLZ4 = "\x02\x21\x4c\x18" // the "legacy" frame, the only one the kernel uses
	magicELF = "\x7fELF"
)

// writeVmlinux unpacks the kernel in a bzImage, for hypervisors that boot an ELF file, and for
// emulators, in which the kernel's own unpacking takes seconds. It writes nothing for a kernel in
// another format, since vmlinux is optional.
func writeVmlinux(ctx context.Context, bzImage, vmlinux string) error {
	b, err := os.ReadFile(bzImage)
	if err != nil {
		return fault.Hostf("kernel: %w", err)
	}
	payload := bzPayload(b)
	var elf []byte
	switch {
	case bytes.HasPrefix(payload, []byte(magicXZ)):
		elf, err = unxz(ctx, payload)
	case bytes.HasPrefix(payload, []byte(magicLZ4)):
		elf, err = unlz4(payload)
	}
	if err != nil {
		return fault.Hostf("kernel: %s: %w", bzImage, err)
	}
	if !bytes.HasPrefix(elf, []byte(magicELF)) {
		return nil
	}
	if err := os.WriteFile(vmlinux, elf, 0o644); err != nil {
		return fault.Hostf("kernel: %w", err)
	}
	return nil
}

// bzPayload returns the compressed kernel in an x86 bzImage, or nil. The offsets are from the
// kernel's Documentation/x86/boot.rst, protocol 2.08.
func bzPayload(b []byte) []byte {
	if len(b) < 0x250 || string(b[0x202:0x206]) != "HdrS" {
		return nil
	}
	start := (int64(b[0x1f1])+1)*512 + int64(binary.LittleEndian.Uint32(b[0x248:]))
	end := start + int64(binary.LittleEndian.Uint32(b[0x24c:]))
	if start > end || end > int64(len(b)) {
		return nil
	}
	return b[start:end]
}

// unxz unpacks one xz stream and ignores what follows it: the kernel's unpacked size.
func unxz(ctx context.Context, b []byte) ([]byte, error) {
	xz, err := pipe(ctx, bytes.NewReader(b), "xz", "-dc", "--single-stream")
	if err != nil {
		return nil, err
	}
	defer xz.Close()
	out, err := io.ReadAll(xz)
	if err != nil {
		return nil, err
	}
	return out, xz.Close()
}

var errLZ4 = errors.New("the LZ4 data is damaged")

// unlz4 unpacks a legacy LZ4 frame that is followed by the unpacked size: independent blocks of up
// to 8 MiB, each preceded by its packed length.
func unlz4(b []byte) ([]byte, error) {
	if len(b) < len(magicLZ4)+4 {
		return nil, errLZ4
	}
	size := int(binary.LittleEndian.Uint32(b[len(b)-4:]))
	b = b[len(magicLZ4) : len(b)-4]
	out := make([]byte, 0, min(size, 8*len(b)))
	for len(b) >= 4 {
		n := int(binary.LittleEndian.Uint32(b))
		if b = b[4:]; n > len(b) {
			return nil, errLZ4
		}
		var err error
		if out, err = unlz4Block(out, b[:n]); err != nil {
			return nil, err
		}
		b = b[n:]
	}
	if len(out) != size {
		return nil, errLZ4
	}
	return out, nil
}

// unlz4Block unpacks one block and appends the result to out. A block is a series of sequences: a
// token with two lengths of 4 bits, literals, and a match given by its distance back and its
// length; the last sequence has only literals.
func unlz4Block(out, b []byte) ([]byte, error) {
	base := len(out)
	length := func(nibble byte) (int, bool) {
		n := int(nibble)
		for more := nibble == 15; more; {
			if len(b) == 0 {
				return 0, false
			}
			n, more, b = n+int(b[0]), b[0] == 255, b[1:]
		}
		return n, true
	}
	for len(b) > 0 {
		token := b[0]
		b = b[1:]
		n, ok := length(token >> 4)
		if !ok || n > len(b) {
			return nil, errLZ4
		}
		out, b = append(out, b[:n]...), b[n:]
		if len(b) == 0 {
			return out, nil
		}
		if len(b) < 2 {
			return nil, errLZ4
		}
		back := int(binary.LittleEndian.Uint16(b))
		b = b[2:]
		if n, ok = length(token & 15); !ok || back == 0 || back > len(out)-base {
			return nil, errLZ4
		}
		for range n + 4 { // byte by byte, since a match may overlap its own output
			out = append(out, out[len(out)-back])
		}
	}
	return out, nil
}
