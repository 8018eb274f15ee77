// Package xenctl asks the Xen hypervisor and its store from the privileged
// domain: who runs, how much CPU each has used, and what the store says. It
// needs no library of Xen, only the kernel's devices below /dev/xen.
package xenctl

import (
	"os"
	"strconv"
	"strings"
)

// Dom0 reports whether this kernel is Xen's privileged domain.
func Dom0() bool {
	read := func(file string) string {
		b, _ := os.ReadFile(file)
		return strings.TrimSpace(string(b))
	}
	return read("/sys/hypervisor/type") == "xen" &&
		IsDom0(read("/proc/xen/capabilities"), read("/sys/hypervisor/properties/features"))
}

// IsDom0 knows the privileged domain by what xenfs says or, where that is not
// mounted, by the feature XENFEAT_dom0.
func IsDom0(capabilities, features string) bool {
	const xenfeatDom0 = 11
	bits, err := strconv.ParseUint(features, 16, 64)
	return strings.Contains(capabilities, "control_d") || err == nil && bits>>xenfeatDom0&1 == 1
}
