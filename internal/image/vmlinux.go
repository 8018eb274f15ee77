package image

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/pierrec/lz4/v4"

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

// unlz4 unpacks a legacy LZ4 frame that is followed by the unpacked size, which it checks.
func unlz4(b []byte) ([]byte, error) {
	if len(b) < len(magicLZ4)+4 {
		return nil, errors.New("the LZ4 data is too short")
	}
	frame, size := b[:len(b)-4], int64(binary.LittleEndian.Uint32(b[len(b)-4:]))
	out, err := io.ReadAll(io.LimitReader(lz4.NewReader(bytes.NewReader(frame)), size+1))
	if err != nil {
		return nil, err
	}
	if int64(len(out)) != size {
		return nil, fmt.Errorf("the LZ4 data does not have the %d bytes that it should have", size)
	}
	return out, nil
}
