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
)

// label is of every file system that tare makes, so that one of its own on a
// device is nobody's data.
const label = "tare-data"

// CheckDevice says whether tare may make a file system on a block device: it
// must be one, unused and empty, or one that the user wants destroyed, who
// names those in destroy.
func CheckDevice(device string, destroy []string) error {
	st, err := os.Stat(device)
	if err != nil {
		return fault.Campaignf("device %s: %w", device, err)
	}
	if st.Mode()&os.ModeDevice == 0 || st.Mode()&os.ModeCharDevice != 0 {
		return fault.Campaignf("device %s is no block device", device)
	}
	// Nobody gets a device exclusively that is mounted, or part of something.
	f, err := os.OpenFile(device, os.O_RDWR|unix.O_EXCL, 0)
	if errors.Is(err, unix.EBUSY) {
		return fault.WithRemedy(fault.Campaignf("device %s is in use: it is mounted, or swap, or part of a RAID or of a volume group", device),
			"lsblk %s; then unmount it, or take another", device)
	} else if err != nil {
		return fault.Hostf("device %s: %w", device, err)
	}
	f.Close()
	what, err := contents(device)
	if err != nil || what == "" || slices.Contains(destroy, device) {
		return err
	}
	return fault.WithRemedy(fault.Campaignf("device %s holds %s", device, what),
		"if nobody needs that any more: --destroy %s", device)
}

// contents names what is on a device, "" for nothing and what tare made there.
func contents(device string) (string, error) {
	out, err := exec.Command("blkid", "--probe", "--output", "export", device).Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == 2: // nothing that it knows
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

// claimTimeout is how long newBlock waits for a device: the host's udev locks
// one for a moment after somebody has written to it.
const claimTimeout = 2 * time.Second

// newBlock makes a volume on the first of the devices that no other guest has.
func newBlock(ctx context.Context, s Spec) (*Volume, error) {
	for begin := time.Now(); ; {
		for _, device := range s.Devices {
			if v, err := claim(device, s); v != nil || err != nil {
				return v, err
			}
		}
		if time.Since(begin) > claimTimeout {
			return nil, fault.WithRemedy(fault.Campaignf("data volume: every one of the devices %s is another guest's", strings.Join(s.Devices, ", ")),
				"name as many devices as guests are alive at once: one for each arm, and one for the A/A control")
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// claim makes a volume on a device that may be used and is large enough; nil
// when another guest has it.
func claim(device string, s Spec) (*Volume, error) {
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return nil, fault.Hostf("data volume: %w", err)
	}
	// A lock on the device is how its users know of each other; the kernel
	// lets go of it with us.
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

// fit looks whether the device may be used and is large enough, and notes
// what was written to it before.
func (v *Volume) fit(f *os.File, s Spec) error {
	if err := CheckDevice(v.Device, s.Destroy); err != nil {
		return err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return fault.Hostf("data volume: %s: %w", v.Device, err)
	}
	if size < s.Bytes {
		return fault.WithRemedy(fault.Campaignf("data volume: %s has %d MiB, and the flavor's disk %d MiB", v.Device, size>>20, s.Bytes>>20),
			"make the flavor's disk smaller, or take larger devices")
	}
	v.before, err = v.sectors()
	return err
}
