package host

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/xenctl"
)

// cpuidVendors names hypervisors by CPUID leaf 0x40000000.
var cpuidVendors = map[string]string{
	"KVMKVMKVM":    "KVM",
	"Linux KVM Hv": "KVM",
	"TCGTCGTCGTCG": "QEMU TCG",
	"XenVMMXenVMM": "Xen",
	"VMwareVMware": "VMware",
	"Microsoft Hv": "Hyper-V",
	"VBoxVBoxVBox": "VirtualBox",
	"bhyve bhyve":  "bhyve",
	"ACRNACRNACRN": "ACRN",
	"QNXQVMBSQG":   "QNX",
	"prl hyperv":   "Parallels",
	"EVMMEVMMEVMM": "Intel KGT",
}

// dmiVendors names hypervisors by the start of the DMI vendor or product. It decides only if the
// CPU itself does not show a hypervisor.
var dmiVendors = []struct{ prefix, name string }{
	{"QEMU", "QEMU"}, {"KVM", "KVM"}, {"Standard PC (", "QEMU"},
	{"VMware", "VMware"}, {"innotek", "VirtualBox"}, {"VirtualBox", "VirtualBox"},
	{"Xen", "Xen"}, {"Virtual Machine", "Hyper-V"}, {"Google Compute Engine", "KVM"},
	{"OpenStack", "KVM"}, {"DigitalOcean", "KVM"}, {"Parallels", "Parallels"},
	{"BHYVE", "bhyve"}, {"Apple Virtualization", "Apple Virtualization"},
}

func readVirt(r *reader, c *calls, cpu CPU) Virtualization {
	v := Virtualization{Role: UnknownRole}
	flags := cpu.Flags
	words := strings.Fields(flags)
	for _, ext := range []string{"vmx", "svm"} {
		if slices.Contains(words, ext) {
			v.Extension = ext
		}
	}
	v.KVMDevice = r.Exists("/dev/kvm")
	for _, f := range []string{
		"kvm/halt_poll_ns", "kvm/nx_huge_pages", "kvm/tdp_mmu",
		"kvm_intel/nested", "kvm_intel/ept", "kvm_intel/vpid", "kvm_intel/enable_apicv", "kvm_intel/vmentry_l1d_flush",
		"kvm_amd/nested", "kvm_amd/npt", "kvm_amd/avic", "kvm_amd/vgif",
	} {
		module, name, _ := strings.Cut(f, "/")
		r.setting(&v.KVM, "virtualization.kvm", module+"."+name, "/sys/module/"+module+"/parameters/"+name)
	}
	const dmi = "/sys/class/dmi/id"
	v.SysVendor = r.optional("virtualization.dmi_vendor", dmi+"/sys_vendor")
	v.Product = r.optional("virtualization.dmi_product", dmi+"/product_name")
	v.Board = r.optional("virtualization.dmi_board", dmi+"/board_name")
	v.BIOS = strings.TrimSpace(r.optional("virtualization.dmi_bios", dmi+"/bios_version") + " " +
		r.optional("virtualization.dmi_bios", dmi+"/bios_date"))
	for key, f := range map[string]string{
		"type": "/sys/hypervisor/type", "guest_type": "/sys/hypervisor/guest_type",
		"version": "/sys/hypervisor/version/major", "minor": "/sys/hypervisor/version/minor",
		"extra": "/sys/hypervisor/version/extra", "capabilities": "/sys/hypervisor/properties/capabilities",
		"features": "/sys/hypervisor/properties/features", "xen": "/proc/xen/capabilities",
		"devicetree": "/sys/firmware/devicetree/base/hypervisor/compatible",
	} {
		if s := r.optional("virtualization.sys_hypervisor", f); s != "" {
			put(&v.Hyper, key, strings.TrimRight(s, "\x00"))
		}
	}
	v.Container = readContainer(r)
	bit := slices.Contains(words, "hypervisor")
	if bit {
		vendor, err := c.cpuid()
		if err != nil {
			r.fail("virtualization.cpuid_vendor", "CPUID 0x40000000", err)
		}
		v.CPUID = vendor
	}
	v.Emulated = isEmulated(v.CPUID, cpu.Model)
	v.Role, v.Of = judgeRole(v, bit, flags != "" && (c.arch == "amd64" || c.arch == "386"))
	return v
}

// isEmulated recognizes QEMU's emulated CPU by its hypervisor leaf or, if another hypervisor such as
// Xen is in between, by the name of its model.
func isEmulated(vendor, model string) bool {
	return vendor == "TCGTCGTCGTCG" || strings.HasPrefix(model, "QEMU TCG CPU")
}

// judgeRole weighs the evidence. On CPUs that have a hypervisor bit (x86), a cleared bit means bare
// metal, unless the firmware names a hypervisor. On others, firmware that names none proves nothing.
func judgeRole(v Virtualization, bit, hasBit bool) (Role, string) {
	of := cpuidVendors[v.CPUID]
	if of == "" && v.Hyper["type"] == "xen" {
		of = "Xen"
	}
	if of == "" {
		switch dt := v.Hyper["devicetree"]; {
		case strings.Contains(dt, "kvm"):
			of = "KVM"
		case strings.Contains(dt, "xen"):
			of = "Xen"
		}
	}
	if of == "" {
		of = dmiVendor(v)
	}
	switch {
	case xenctl.IsDom0(v.Hyper["xen"], v.Hyper["features"]):
		return XenDom0, "Xen"
	case bit:
		return InGuest, cmp.Or(of, v.CPUID)
	case of != "":
		return InGuest, of
	case hasBit:
		return BareMetal, ""
	}
	return UnknownRole, ""
}

func dmiVendor(v Virtualization) string {
	if strings.HasSuffix(v.Product, ".metal") {
		return ""
	}
	for _, d := range dmiVendors {
		if strings.HasPrefix(v.SysVendor, d.prefix) || strings.HasPrefix(v.Product, d.prefix) {
			return d.name
		}
	}
	return ""
}

// readContainer names the container that tare itself runs in, if any.
func readContainer(r *reader) string {
	if s := r.optional("virtualization.container", "/run/systemd/container"); s != "" {
		return s
	}
	// Container images also boot as virtual machines, with these files left in them; but a container
	// does not see the kernel threads.
	if comm, err := r.ReadFile(r.Proc + "/2/comm"); err == nil && strings.TrimSpace(string(comm)) == "kthreadd" {
		return ""
	}
	switch {
	case r.Exists("/run/.containerenv"):
		return "podman"
	case r.Exists("/.dockerenv"):
		return "docker"
	}
	return ""
}
