package lab

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// Kind is what the lab's machine boots as.
type Kind string

// The kinds of lab.
const (
	Xen   Kind = "xen"   // the Xen hypervisor with a Linux dom0
	KVM   Kind = "kvm"   // Linux on a CPU that offers virtualization
	Linux Kind = "linux" // Linux, with kernel features that the host may lack
)

// Kinds are all kinds of lab.
var Kinds = []Kind{Xen, KVM, Linux}

// ParseKind parses a kind's name.
func ParseKind(name string) (Kind, error) {
	if k := Kind(name); slices.Contains(Kinds, k) {
		return k, nil
	}
	return "", fault.Campaignf("lab %q: want xen, kvm or linux", name)
}

// DefaultMemory is the default memory in bytes of a lab of this kind: enough for its host and two
// guests of half a gigabyte.
func (k Kind) DefaultMemory() int64 {
	if k == Xen {
		return 4 << 30
	}
	return 3 << 30
}

// dom0Memory is the memory of Xen's privileged domain; the rest is for guests.
const dom0Memory = "1280M"

// modules are the kernel modules that the lab's host needs. They are loaded at boot; those for
// hardware that the machine does not have print an error and are skipped.
func (k Kind) modules() []string {
	m := []string{
		// crc32c first: file systems need it, but do not list it as a dependency.
		"crc32c_generic", "virtio_pci", "virtio_blk", "virtio_console", "virtio_net", "virtio_rng",
		"ext4", "xfs", "9p", "9pnet_virtio", "loop", "overlay", "tun", "bridge", "veth", "nft_chain_nat", "nft_masq",
		"dm_mod", "dm_snapshot",
	}
	switch k {
	case Xen:
		m = append(m, "xen_evtchn", "xen_gntdev", "xen_gntalloc", "xen_privcmd", "xenfs", "xen_blkback", "xen_netback")
	case KVM:
		m = append(m, "kvm_amd", "vhost_net")
	}
	return m
}

// The names of the machine's ports, and of their sockets in the lab's directory.
const (
	agentPort = "tare.lab"
	shellPort = "tare.shell"
)

// kernelArgs returns the command line of the lab's Linux.
func (k Kind) kernelArgs() string {
	console := "ttyS0"
	if k == Xen {
		console = "hvc0"
	}
	return "console=" + console + " quiet panic=-1 mitigations=off tare.root=vda tare.data=vdb:ext4 tare.stay=1 " +
		"tare.port=" + agentPort
}

// xenArgs returns the command line of the hypervisor. dom0 has as many virtual CPUs as the machine
// has CPUs, each pinned to one, so that CPU numbers mean the same in dom0 and in Xen.
func xenArgs(cpus int) string {
	return fmt.Sprintf("console=com1 com1=115200,8n1 sched=credit dom0_mem=%[1]s,max:%[1]s dom0_max_vcpus=%[2]d "+
		"dom0_vcpus_pin", dom0Memory, cpus)
}

const program = "qemu-system-x86_64"

// commandLine returns the command that runs the machine. The CPU has everything that QEMU can
// emulate, except what does not work: with SMAP a dom0 faults during boot; with RDTSCP and PKU, PVH
// guests crash; with AVX, which depends on XSAVE, results computed in guests are silently wrong
// when the host is busy.
func (l *Lab) commandLine(files machineFiles) []string {
	c := l.config
	cpu := "max,-smap"
	if c.Kind == Xen {
		cpu = "max,-smap,-rdtscp,-pku,-xsave,-avx"
	}
	args := []string{
		program, "-name", "tare-lab", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
		// A program that takes QEMU over can make only the system calls that a machine needs.
		"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
		"-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", cpu,
		"-smp", strconv.Itoa(c.CPUs), "-m", strconv.FormatInt(c.MemoryBytes>>20, 10) + "M",
		"-chardev", "file,id=console,path=" + quote(l.path(consoleFile)), "-serial", "chardev:console",
		"-device", "virtio-rng-pci", "-device", "virtio-serial-pci",
	}
	for _, p := range []string{agentPort, shellPort} {
		args = append(args, "-chardev", "socket,id="+p+",server=on,wait=off,path="+quote(l.path(p)),
			"-device", "virtserialport,chardev="+p+",name="+p)
	}
	for i, d := range []struct{ file, options string }{
		{files.root, "readonly=on"}, {files.data, "cache=unsafe"}, {files.userland, "readonly=on"},
	} {
		args = append(args, "-drive", fmt.Sprintf("if=none,id=disk%d,format=raw,%s,file=%s", i, d.options, quote(d.file)),
			"-device", fmt.Sprintf("virtio-blk-pci,drive=disk%d", i))
	}
	// With mapped attributes, links, devices and set-user-ID files that the lab creates are plain files
	// on the host, which nothing here follows or executes.
	for tag, share := range map[string]string{
		"exchange": "path=" + quote(l.path(exchangeDir)),
		"userland": "readonly=on,path=" + quote(filepath.Dir(files.userland)),
	} {
		args = append(args, "-fsdev", "local,security_model=mapped-xattr,id="+tag+","+share,
			"-device", "virtio-9p-pci,fsdev="+tag+",mount_tag="+tag)
	}
	if c.Kind != Xen {
		return append(args, "-kernel", files.kernel, "-initrd", quote(files.initramfs), "-append", c.Kind.kernelArgs())
	}
	// Xen takes the kernel and its initramfs as modules, in this order.
	return append(args, "-kernel", files.xen, "-append", xenArgs(c.CPUs),
		"-initrd", quote(files.kernel)+" "+c.Kind.kernelArgs()+","+quote(files.initramfs))
}

// quote makes text a value in one of QEMU's comma-separated lists.
func quote(text string) string { return strings.ReplaceAll(text, ",", ",,") }
