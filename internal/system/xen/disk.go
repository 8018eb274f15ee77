package xen

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/volume"
	"github.com/tare-bench/tare/internal/xenctl"
)

// vbd is a disk of a domain.
type vbd struct {
	name   string // in the guest
	number int    // Xen's device number: 202<<8 | disk<<4
	access string // r or w
	device string // block device of dom0
}

const rootName, dataName, swapName = "xvde", "xvdf", "xvdg"

// disksOf returns the domain's disks. They are its fifth to seventh, since a device model also
// emulates the first four as IDE disks, in addition to Xen's own.
func disksOf(s *system.Site, root string) []vbd {
	if s.Volume == nil {
		return nil
	}
	disks := []vbd{{rootName, 202<<8 | 4<<4, "r", root}, {dataName, 202<<8 | 5<<4, "w", s.Volume.Device}}
	if s.Swap != nil {
		disks = append(disks, vbd{swapName, 202<<8 | 6<<4, "w", s.Swap.Device})
	}
	return disks
}

// attach tells dom0's kernel which block devices a domain's disks are, as soon as xl has announced
// the disks. It does what Xen's block script would do, without the check that no other domain uses
// the device.
func attach(ctx context.Context, store *xenctl.Store, domain int, disks []vbd, ended <-chan struct{}) error {
	for _, d := range disks {
		back := fmt.Sprintf("/local/domain/0/backend/vbd/%d/%d", domain, d.number)
		if err := poll(ctx, ended, errGaveUp, holds(store, back+"/params", "")); err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Stat(d.device, &st); err != nil {
			return fault.Hostf("%s: %w", d.device, err)
		}
		number := fmt.Sprintf("%x:%x", unix.Major(st.Rdev), unix.Minor(st.Rdev))
		for _, n := range [][2]string{{"physical-device-path", d.device}, {"physical-device", number},
			{"hotplug-status", "connected"}} {
			if err := store.Write(back+"/"+n[0], n[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// rootDisk is the userland's disk as a block device, as blkback requires.
type rootDisk struct {
	path string
	loop *volume.Volume // nil if it is a block device already
}

func openDisk(s *system.Site) (rootDisk, error) {
	if s.Volume == nil { // a probe has no disks
		return rootDisk{}, nil
	}
	st, err := os.Stat(s.Userland.Disk)
	if err != nil {
		return rootDisk{}, fault.Hostf("%w", err)
	}
	if st.Mode()&os.ModeDevice != 0 {
		return rootDisk{path: s.Userland.Disk}, nil
	}
	v, err := volume.ReadOnly(s.Userland.Disk)
	if err != nil {
		return rootDisk{}, err
	}
	return rootDisk{v.Device, v}, nil
}

func (d rootDisk) close() {
	if d.loop != nil {
		d.loop.Close()
	}
}
