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

// vif is a domain's network interface in xl's format; "" without a network.
func vif(port *network.Port) string {
	if port == nil {
		return ""
	}
	return fmt.Sprintf("mac=%s,type=vif,script=/bin/true", port.MAC)
}

// netbackDir is there when dom0's kernel serves interfaces to domains.
const netbackDir = "/sys/bus/xen-backend/drivers/vif"

// plug takes the interface that dom0's kernel makes for a domain onto the run's
// bridge: what Xen's script vif-bridge does with a bridge of the host.
func plug(ctx context.Context, store *xenctl.Store, domain int, port *network.Port, ended <-chan struct{}) error {
	if port == nil {
		return nil
	}
	name := fmt.Sprintf("vif%d.0", domain)
	made := func() (bool, error) {
		_, err := net.InterfaceByName(name)
		return err == nil, nil // it says nothing but that there is none
	}
	if err := poll(ctx, ended, errGaveUp, made); err != nil {
		if _, missing := os.Stat(netbackDir); missing != nil {
			err = fault.WithRemedy(fault.Hostf("dom0's kernel gives domains no network: %w", missing), "modprobe xen-netback")
		}
		return err
	}
	if err := port.Plug(name); err != nil {
		return err
	}
	// Without this word dom0's end does not join the guest's.
	return store.Write(fmt.Sprintf("/local/domain/0/backend/vif/%d/0/hotplug-status", domain), "connected")
}
