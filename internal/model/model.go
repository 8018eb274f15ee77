// Package model has the words that several rooms share, as types and constants: flavors and lists of
// CPUs; the names of networks, backings, hardenings, boots and probes; guests and their roles; and the
// names of arms, series and trials. It does nothing on the machine, and imports no other room.
package model

// Networks of guests, as flavors name them.
const (
	NetworkNone    = "none"    // loopback only
	NetworkBridged = "bridged" // on the run's bridge, with the other guests and the host
	NetworkNAT     = "nat"     // behind a router with masquerading on that bridge
	NetworkUser    = "user"    // QEMU's own stack: outgoing over the host's sockets, nothing incoming
)

// ResourceDisk is the resource that is loaded by what reaches the device, not by CPU time.
const ResourceDisk = "disk"

// ResourceNetwork is the resource whose neighbours exchange packets with the host, for which their
// guests need a network.
const ResourceNetwork = "network"

// Backings of data volumes, as flavors name them.
const (
	BackingLoop  = "loop"  // a loop device over a file
	BackingRaw   = "raw"   // a plain file
	BackingQCOW2 = "qcow2" // a file in QEMU's format
	BackingBlock = "block" // a block device of the user
)

// Hardenings of guests that share the host's kernel, as flavors name them.
const (
	HardeningProduct = "product" // what their system does by default
	HardeningNone    = "none"    // only what keeps root in a guest from changing the host or other guests
)

// Whose programs create and run guests, as flavors name them.
const (
	ProgramsHost  = "host"  // those of this host
	ProgramsTools = "tools" // those of the tools tree, which tare brings along
)

// Boots of a host, as campaigns name them: ways to boot one machine, which is in one of them at a
// time.
const (
	BootLinux = "linux" // on bare metal, or as a guest of whatever hypervisor it runs on
	BootXen   = "xen"   // as Xen's dom0
)
