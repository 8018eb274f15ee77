package xen

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/xenctl"
)

// deviceModels are where Debian and others keep the QEMU that emulates the
// machine around a guest of the type HVM.
var deviceModels = []string{
	"/usr/libexec/xen-qemu-system-i386",
	"/usr/lib/xen*/bin/qemu-system-i386", "/usr/lib64/xen*/bin/qemu-system-i386", "/usr/local/lib/xen*/bin/qemu-system-i386",
}

// deviceModel is the one of this host, "" for none.
func deviceModel() string {
	for _, pattern := range deviceModels {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

// logDir is where xl has device models leave their logs for ever, unless it
// sees another directory there.
const logDir = "/var/log/xen"

// hidden are the host's directories that a domain's xl must not see.
func (d Driver) hidden() []string {
	if _, err := os.Stat(logDir); err != nil || d.kind != kindHVM {
		return nil
	}
	return []string{logDir}
}

// hvmSettings are what xl has to know of a machine with emulated devices beyond
// what it knows of others: as few of them as there can be.
func hvmSettings() [][2]string {
	return [][2]string{
		{"device_model_version", quote("qemu-xen")},
		{"device_model_override", quote(deviceModel())},
		{"vga", quote("none")}, {"nographic", "1"}, {"vnc", "0"}, {"sdl", "0"}, {"usb", "0"},
	}
}

// noProcess is a number that no process has: it is beyond the kernel's limit.
const noProcess = "2147483647"

// forgetDeviceModel keeps the toolstack from ending the process that has the
// number of the domain's device model. Ours have died with the sandbox, and in
// it they had numbers of their own.
func forgetDeviceModel(store *xenctl.Store, domain int) error {
	node := fmt.Sprintf("/local/domain/%d/image/device-model-pid", domain)
	if there, err := holds(store, node, "")(); !there {
		return err
	}
	return store.Write(node, noProcess)
}

// Destroy ends the domain of this name, if there is one, that a tare which has
// ended has left.
func Destroy(ctx context.Context, name string) error {
	store, err := xenctl.OpenStore()
	if err != nil {
		return err
	}
	defer store.Close()
	ids, err := store.DomainIDs()
	if err != nil {
		return err
	}
	id, ok := ids[name]
	if !ok {
		return nil
	}
	if err := forgetDeviceModel(store, id); err != nil {
		return fault.Hostf("domain %s: %w", name, err)
	}
	return destroy(ctx, name)
}
