package xen

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/xenctl"
)

// deviceModels are the paths of the QEMU that emulates the machine around an HVM guest, in Debian
// and other distributions.
var deviceModels = []string{
	"/usr/libexec/xen-qemu-system-i386",
	"/usr/lib/xen*/bin/qemu-system-i386", "/usr/lib64/xen*/bin/qemu-system-i386",
	"/usr/local/lib/xen*/bin/qemu-system-i386",
}

// deviceModel returns the path of this host's device model, "" if there is none.
func deviceModel() string {
	for _, pattern := range deviceModels {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

// logDir is where xl makes device models write logs, which nothing removes. A domain's xl
// therefore sees another directory there.
const logDir = "/var/log/xen"

// hidden returns the host's directories that a domain's xl must not see.
func (d Driver) hidden() []string {
	if _, err := os.Stat(logDir); err != nil || d.kind != kindHVM {
		return nil
	}
	return []string{logDir}
}

// hvmSettings returns the additional settings for a machine with emulated devices: as few devices
// as possible.
func hvmSettings() [][2]string {
	return [][2]string{
		{"device_model_version", quote("qemu-xen")},
		{"device_model_override", quote(deviceModel())},
		{"vga", quote("none")}, {"nographic", "1"}, {"vnc", "0"}, {"sdl", "0"}, {"usb", "0"},
	}
}

// noProcess is a process ID above the kernel's limit, so no process has it.
const noProcess = "2147483647"

// forgetDeviceModel keeps the toolstack from killing the process whose ID the store gives as the
// domain's device model. The device model died with the sandbox, and its ID was one of the
// sandbox's PID namespace, so outside it belongs to another process.
func forgetDeviceModel(store *xenctl.Store, domain int) error {
	node := fmt.Sprintf("/local/domain/%d/image/device-model-pid", domain)
	if there, err := holds(store, node, "")(); !there {
		return err
	}
	return store.Write(node, noProcess)
}

// Destroy ends the domain with this name, if there is one. It is for domains that an earlier tare
// left behind.
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
