// Package xenctl queries the Xen hypervisor and XenStore from the privileged domain: which domains
// run, how much CPU time each has used, and what the store contains. It needs no Xen library, only
// the kernel's devices below /dev/xen.
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

// IsDom0 reports whether these are the capabilities (of xenfs) or the features of the privileged
// domain. The feature XENFEAT_dom0 serves where xenfs is not mounted.
func IsDom0(capabilities, features string) bool {
	const xenfeatDom0 = 11
	bits, err := strconv.ParseUint(features, 16, 64)
	return strings.Contains(capabilities, "control_d") || err == nil && bits>>xenfeatDom0&1 == 1
}
