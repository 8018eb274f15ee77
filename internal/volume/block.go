package volume

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/tools"
)

// label is the label of every file system that tare creates. A device with such a
// file system holds no data of the user.
const label = "tare-data"

// CheckDevice returns an error unless tare may create a file system on a device. It
// must be a block device that is not in use, and empty unless it is in destroy, the
// list of devices that the user allows tare to overwrite.
func CheckDevice(device string, destroy []string) error {
	st, err := os.Stat(device)
	if err != nil {
		return fault.Campaignf("device %s: %w", device, err)
	}
	if st.Mode()&os.ModeDevice == 0 || st.Mode()&os.ModeCharDevice != 0 {
		return fault.Campaignf("device %s is not a block device", device)
	}
	// A device that is mounted or part of another cannot be opened exclusively.
	f, err := os.OpenFile(device, os.O_RDWR|unix.O_EXCL, 0)
	if errors.Is(err, unix.EBUSY) {
		return fault.WithRemedy(fault.Campaignf("device %s is in use: it is mounted, or swap, or part of a RAID or of a "+
			"volume group", device),
			"run lsblk %s; then unmount it, or use another", device)
	} else if err != nil {
		return fault.Hostf("device %s: %w", device, err)
	}
	f.Close()
	what, err := contents(device)
	if err != nil || what == "" || slices.Contains(destroy, device) {
		return err
	}
	return fault.WithRemedy(fault.Campaignf("device %s holds %s", device, what),
		"if it is no longer needed: --destroy %s", device)
}

// contents describes what is on a device; "" if that is nothing or a file system of
// tare.
func contents(device string) (string, error) {
	blkid, err := tools.Command(context.Background(), "blkid", "--probe", "--output", "export", device)
	if err != nil {
		return "", fault.Hostf("device %s: %w", device, err)
	}
	out, err := blkid.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == 2: // blkid found nothing
		return "", nil
	case errors.As(err, &exit) && exit.ExitCode() == 8:
		return "several things at once", nil
	case err != nil:
		return "", fault.Hostf("device %s: blkid: %w", device, err)
	}
	values := map[string]string{}
	for line := range strings.Lines(string(out)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[k] = v
	}
	switch {
	case values["PTTYPE"] != "":
		return "a partition table (" + values["PTTYPE"] + ")", nil
	case values["LABEL"] == label:
		return "", nil
	case values["TYPE"] != "":
		what := values["TYPE"]
		if values["LABEL"] != "" {
			what += " named " + values["LABEL"]
		}
		return what, nil
	}
	return "", nil
}

// claimTimeout is how long newBlock waits for a device: udev locks it for a moment
// after a write.
const claimTimeout = 2 * time.Second

// newBlock creates a volume on the first of the devices that no other guest uses.
func newBlock(ctx context.Context, s Spec) (*Volume, error) {
	for begin := time.Now(); ; {
		for _, device := range s.Devices {
			if v, err := claim(device, s); v != nil || err != nil {
				return v, err
			}
		}
		if time.Since(begin) > claimTimeout {
			return nil, fault.WithRemedy(fault.Campaignf("data volume: other guests use all of the devices %s",
				strings.Join(s.Devices, ", ")),
				"list a device for each guest that exists at the same time: one for each arm, and one for the A/A control")
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// claim creates a volume on a device, which must be usable and large enough. It
// returns nil if another guest uses the device.
func claim(device string, s Spec) (*Volume, error) {
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return nil, fault.Hostf("data volume: %w", err)
	}
	// Users of a device exclude each other by a lock on it, which the kernel
	// releases when this process ends.
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, f.Close()
	}
	v := &Volume{Device: device, Format: "raw", Bytes: s.Bytes, Direct: true, close: f.Close}
	if err := v.fit(f, s); err != nil {
		f.Close()
		return nil, err
	}
	return v, nil
}

// fit checks that the device may be used and is large enough, and records what
// its counters were before.
func (v *Volume) fit(f *os.File, s Spec) error {
	if err := CheckDevice(v.Device, s.Destroy); err != nil {
		return err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return fault.Hostf("data volume: %s: %w", v.Device, err)
	}
	if size < s.Bytes {
		return fault.WithRemedy(fault.Campaignf("data volume: %s has %d MiB, but the flavor's disk needs %d MiB", v.Device,
			size>>20, s.Bytes>>20),
			"make the flavor's disk smaller, or use larger devices")
	}
	v.before, err = v.counters()
	return err
}
