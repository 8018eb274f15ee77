package lab

import "github.com/tare-bench/tare/internal/image"

// Recipe is the recipe of a lab's host: what tare needs to run, the hypervisors, and a kernel that
// can be Xen's dom0, unlike the guests' cloud kernel. It does not contain the workloads' programs:
// they are in the userland image, which the lab gets as a disk.
func Recipe() image.Recipe {
	r := image.Base().GenericKernel()
	r.Name = "lab"
	r.Packages = []string{
		"bash", "coreutils", "iproute2", "kmod", "procps", "util-linux",
		"e2fsprogs", "lvm2", "xfsprogs", "nftables",
		"qemu-system-x86", "qemu-system-xen", "xen-hypervisor-4.17-amd64", "xen-utils-4.17",
	}
	r.Source, r.Pieces = "", 0
	return r
}
