package doctor

import (
	"cmp"

	"github.com/tare-bench/tare/internal/host"
)

// virtRules: the environment that tare itself runs in.
var virtRules = []rule{
	{"in-guest", inGuest, "every number holds for nested virtualization only, and load on the real host is not visible"},
	{"xen-dom0", dom0, "the native baseline would run under Xen, too, so the cost of Xen would not show"},
	{"in-container", inContainer, "the container's limits and file systems apply to every arm, native included"},
	{"no-hw-virt", noHardware,
		"guests that need hardware virtualization do not start, or are emulated; /dev/kvm alone does not prove that it " +
			"works"},
}

func inGuest(v view) *NoiseSource {
	if v.Virt.Role != host.InGuest {
		return nil
	}
	return found(Disturbs, "measure on bare metal, or state with every number that virtualization was nested",
		"this host is itself a guest of %s", cmp.Or(v.Virt.Of, "an unknown hypervisor"))
}

func dom0(v view) *NoiseSource {
	if v.Virt.Role != host.XenDom0 {
		return nil
	}
	return found(Disturbs,
		"measure native in a boot without Xen; here Xen controls the CPU clock: xenpm set-scaling-governor performance",
		"this host is Xen's dom0 (Xen %s.%s%s)", v.Virt.Hyper["version"], v.Virt.Hyper["minor"], v.Virt.Hyper["extra"])
}

func inContainer(v view) *NoiseSource {
	if v.Virt.Container == "" {
		return nil
	}
	return found(Disturbs, "run tare on the host itself", "tare runs in a container (%s)", v.Virt.Container)
}

func noHardware(v view) *NoiseSource {
	if v.Virt.Extension != "" || v.CPU.Flags == "" || v.Virt.Role == host.XenDom0 ||
		v.CPU.Arch != "amd64" && v.CPU.Arch != "386" {
		return nil
	}
	what := "the CPU shows neither vmx nor svm"
	if v.Virt.KVMDevice {
		what += ", though /dev/kvm is there"
	}
	return found(Note, "enable it in the firmware; in a guest, enable nesting on its host", "%s", what)
}
