package xen

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/network"
	"github.com/tare-bench/tare/internal/xenctl"
)

// vif returns a domain's network interface in xl's format; "" without a network.
func vif(port *network.Port) string {
	if port == nil {
		return ""
	}
	return fmt.Sprintf("mac=%s,type=vif,script=/bin/true", port.MAC)
}

// netbackDir exists when dom0's kernel can serve network interfaces to domains.
const netbackDir = "/sys/bus/xen-backend/drivers/vif"

// plug attaches the interface that dom0's kernel makes for a domain to the run's bridge, as Xen's
// vif-bridge script does with a bridge of the host.
func plug(ctx context.Context, store *xenctl.Store, domain int, port *network.Port, ended <-chan struct{}) error {
	if port == nil {
		return nil
	}
	name := fmt.Sprintf("vif%d.0", domain)
	made := func() (bool, error) {
		_, err := net.InterfaceByName(name)
		return err == nil, nil // it fails only if there is none
	}
	if err := poll(ctx, ended, errGaveUp, made); err != nil {
		if _, missing := os.Stat(netbackDir); missing != nil {
			err = fault.WithRemedy(fault.Hostf("dom0's kernel offers domains no network: %w", missing), "modprobe xen-netback")
		}
		return err
	}
	if err := port.Plug(name); err != nil {
		return err
	}
	// Without this entry dom0's end of the interface does not connect to the guest's.
	return store.Write(fmt.Sprintf("/local/domain/0/backend/vif/%d/0/hotplug-status", domain), "connected")
}
