package host

import (
	"encoding/binary"
	"strings"
)

func cpuid(leaf, sub uint32) (eax, ebx, ecx, edx uint32)

// cpuidVendor returns the hypervisor signature of this CPU. Call it only if the CPU has the
// hypervisor bit.
func cpuidVendor() (string, error) {
	_, b, c, d := cpuid(0x40000000, 0)
	var sig [12]byte
	binary.LittleEndian.PutUint32(sig[0:], b)
	binary.LittleEndian.PutUint32(sig[4:], c)
	binary.LittleEndian.PutUint32(sig[8:], d)
	return strings.Trim(strings.ToValidUTF8(string(sig[:]), "?"), "\x00 "), nil
}
