package host

import "testing"

func TestRole(t *testing.T) {
	for _, c := range []struct {
		name        string
		v           Virtualization
		bit, hasBit bool
		role        Role
		of          string
	}{
		{"bare", Virtualization{SysVendor: "Dell Inc."}, false, true, BareMetal, ""},
		{"metal instance", Virtualization{SysVendor: "Amazon EC2", Product: "m5.metal"}, false, true, BareMetal, ""},
		{"kvm", Virtualization{CPUID: "KVMKVMKVM", SysVendor: "QEMU"}, true, true, InGuest, "KVM"},
		{"hidden kvm", Virtualization{SysVendor: "QEMU"}, false, true, InGuest, "QEMU"},
		{"stranger", Virtualization{CPUID: "SomethingNew"}, true, true, InGuest, "SomethingNew"},
		{"xen guest", Virtualization{Hyper: map[string]string{"type": "xen", "features": "00002705"}}, true, true,
			InGuest, "Xen"},
		{"dom0 by xenfs", Virtualization{Hyper: map[string]string{"type": "xen", "xen": "control_d"}}, true, true,
			XenDom0, "Xen"},
		{"dom0 by features", Virtualization{Hyper: map[string]string{"type": "xen", "features": "00002f05"}}, true, true,
			XenDom0, "Xen"},
		{"arm guest", Virtualization{Hyper: map[string]string{"devicetree": "linux,kvm"}}, false, false, InGuest, "KVM"},
		{"arm, silent", Virtualization{}, false, false, UnknownRole, ""},
	} {
		if role, of := judgeRole(c.v, c.bit, c.hasBit); role != c.role || of != c.of {
			t.Errorf("%s: %s of %q, want %s of %q", c.name, role, of, c.role, c.of)
		}
	}
}

func TestIsEmulated(t *testing.T) {
	for _, c := range []struct {
		vendor, model string
		want          bool
	}{
		{"TCGTCGTCGTCG", "", true},
		{"XenVMMXenVMM", "QEMU TCG CPU version 2.5+", true},
		{"KVMKVMKVM", "QEMU Virtual CPU version 2.5+", false},
		{"", "AMD EPYC 7B13", false},
	} {
		if got := isEmulated(c.vendor, c.model); got != c.want {
			t.Errorf("%q, %q: %v", c.vendor, c.model, got)
		}
	}
}
