package system

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/volume"
)

// prepare creates the site's volumes and its control group, and connects it to the network.
func (s *Site) prepare(ctx context.Context, h *Host, caps Capabilities) (err error) {
	if err := s.createVolumes(ctx, h, caps); err != nil {
		return err
	}
	lim, err := s.limits(h, caps)
	if err != nil {
		return err
	}
	if s.Group, err = h.Cgroups.New(s.ID, lim); err != nil {
		return err
	}
	if caps.HostMount {
		dir := filepath.Join(s.Dir, "data")
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fault.Hostf("%w", err)
		}
		if err := s.Volume.Mount(dir); err != nil {
			return err
		}
		s.DataDir = dir
	}
	return s.connect(h, caps)
}

// createVolumes creates the data volume, and that of the swap if the flavor asks for one and the guest's kernel uses
// it.
func (s *Site) createVolumes(ctx context.Context, h *Host, caps Capabilities) (err error) {
	f, volumes := s.Flavor, h.Volumes()
	switch {
	case f.Backing != "" && !slices.Contains(caps.DiskBackings, f.Backing):
		return fault.Campaignf("it does not support a data volume on %q", f.Backing)
	case f.DiskFS == model.NoFS && !caps.RawDevice:
		return fault.Campaignf("its guests cannot open the device of their data volume (fs: none)")
	}
	if err := os.MkdirAll(volumes, 0o700); err != nil {
		return fault.Hostf("%w", err)
	}
	if s.Volume, err = volume.Create(ctx, volume.Spec{
		Backing: f.Backing, Dir: volumes, Bytes: f.DiskBytes, FS: f.DiskFS, Devices: f.Devices, Destroy: h.Destroy,
		Copy: h.CopyData,
	}); err != nil {
		return err
	}
	if f.SwapBytes > 0 && caps.Swap == SwapVolume {
		s.Swap, err = volume.NewSwap(volumes, f.SwapBytes)
	}
	return err
}

// limits are those of the site's control group. The volumes exist.
func (s *Site) limits(h *Host, caps Capabilities) (cgroup.Limits, error) {
	f := s.Flavor
	lim := cgroup.Limits{CPUs: f.CPUs.String(), Processes: MaxProcesses, OwnDevices: caps.HostMount, KVM: caps.KVM,
		Polite: h.Polite, AnySwap: h.AnySwap}
	lim.IO = f.IO != (model.IOCaps{}) && caps.IOCap == GroupIOCap
	if caps.MemoryInGroup {
		lim.MemoryBytes = f.MemoryBytes
	}
	if f.SwapBytes > 0 {
		switch caps.Swap {
		case SwapVolume:
		case GroupSwap:
			if err := h.Cgroups.CheckSwap(); err != nil {
				return lim, err
			}
			lim.SwapBytes = f.SwapBytes
		default:
			return lim, fault.Campaignf("its guests cannot have swap: %s", caps.Swap.WhyNot)
		}
	}
	if f.DiskFS == model.NoFS && caps.HostMount {
		major, minor, err := s.Volume.Number()
		if err != nil {
			return lim, err
		}
		lim.Device = unix.Mkdev(major, minor)
	}
	return lim, nil
}

// connect gives the site its port on the run's network, if the flavor asks for one.
func (s *Site) connect(h *Host, caps Capabilities) (err error) {
	mode := s.Flavor.Network
	switch {
	case mode == "" || mode == model.NetworkNone:
		return nil
	case !slices.Contains(caps.Networks, mode):
		return fault.Campaignf("it does not support the network %q", mode)
	case h.Network == nil:
		return fault.Hostf("this run has no network")
	case mode == model.NetworkUser: // the VMM provides it
		s.Port, err = h.Network.UserPort()
	case caps.Port == TapPort:
		queues, wrong := s.queues(caps.Options)
		if wrong != nil {
			return wrong
		}
		s.Port, err = h.Network.TapPort(mode, s.User, queues)
	case caps.Port == EmptyPort:
		s.Port, err = h.Network.EmptyPort(mode)
	default:
		s.Port, err = h.Network.NamespacePort(mode)
	}
	return err
}

// CapIO applies the flavor's caps of I/O to the site's control group.
func (s *Site) CapIO() error {
	if s.Group == nil || s.Volume == nil {
		return nil
	}
	major, minor, err := s.Volume.Number()
	if err != nil {
		return err
	}
	return s.Group.CapIO(major, minor, s.Flavor.IO)
}
