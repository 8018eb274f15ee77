package experiment

import (
	"testing"

	"github.com/tare-bench/tare/internal/host"
)

// TestBootOf: the kernel's parameter names the boot, otherwise it is what the host is.
func TestBootOf(t *testing.T) {
	for cmdline, want := range map[string]string{
		"": "linux", "root=/dev/sda1 tare.boot=xen-pinned quiet": "xen-pinned", "nottare.boot=x tare.boot=": "linux",
	} {
		env := &host.Environment{Kernel: host.Kernel{Cmdline: cmdline}}
		if got := BootOf(env); got != want {
			t.Errorf("%q: %s, not %s", cmdline, got, want)
		}
	}
	if got := BootOf(&host.Environment{Virt: host.Virtualization{Role: host.XenDom0}}); got != "xen" {
		t.Errorf("dom0 is %s", got)
	}
}
