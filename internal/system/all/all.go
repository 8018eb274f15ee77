// Package all is the registry of systems: a new one is a line here.
package all

import (
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/bubblewrap"
	"github.com/tare-bench/tare/internal/system/crun"
	"github.com/tare-bench/tare/internal/system/engine"
	"github.com/tare-bench/tare/internal/system/gvisor"
	"github.com/tare-bench/tare/internal/system/libvirt"
	"github.com/tare-bench/tare/internal/system/lxc"
	"github.com/tare-bench/tare/internal/system/native"
	"github.com/tare-bench/tare/internal/system/nspawn"
	"github.com/tare-bench/tare/internal/system/qemu"
	"github.com/tare-bench/tare/internal/system/runc"
	"github.com/tare-bench/tare/internal/system/ssh"
	"github.com/tare-bench/tare/internal/system/uml"
	"github.com/tare-bench/tare/internal/system/vmware"
	"github.com/tare-bench/tare/internal/system/xen"
)

// Drivers returns a driver for each system that this version of tare knows, in
// display order.
func Drivers() []system.Driver {
	return []system.Driver{
		native.Driver{},
		native.Dom0(),
		xen.PV(),
		xen.PVH(),
		xen.HVM(),
		lxc.Driver{},
		runc.Driver,
		crun.Driver,
		engine.Docker(),
		engine.Podman(),
		nspawn.Driver{},
		bubblewrap.Driver{},
		gvisor.Systrap(),
		gvisor.Ptrace(),
		gvisor.KVM(),
		qemu.KVM(),
		qemu.TCG(),
		libvirt.LXC(),
		libvirt.KVM(),
		libvirt.QEMU(),
		libvirt.Existing{},
		uml.Driver{},
		ssh.Driver{},
		vmware.VSphere{},
		vmware.Workstation{},
	}
}

// ByName returns the drivers by the names of their systems.
func ByName() map[string]system.Driver {
	all := map[string]system.Driver{}
	for _, d := range Drivers() {
		all[d.Name()] = d
	}
	return all
}
