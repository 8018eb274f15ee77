package lab

import "github.com/tare-bench/tare/internal/image"

// Recipe is what a lab's host is made of: what tare needs to run, the
// hypervisors, and a kernel that can be Xen's dom0, which the guests' cloud
// kernel cannot. The workloads' programs are not in it: they are in the userland
// image, which the lab gets as a disk.
func Recipe() image.Recipe {
	r := image.Base()
	r.Name = "lab"
	r.Packages = []string{
		"bash", "coreutils", "iproute2", "kmod", "procps", "util-linux",
		"e2fsprogs", "lvm2", "xfsprogs", "nftables",
		"qemu-system-x86", "qemu-system-xen", "xen-hypervisor-4.17-amd64", "xen-utils-4.17",
	}
	r.Kernel = "linux-image-" + r.Arch
	r.Source, r.Pieces = "", 0
	return r
}
