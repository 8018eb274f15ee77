package host

import (
	"io"
	"path/filepath"
	"runtime"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/clockcost"
)

// parseMounts reads the format of /proc/self/mountinfo.
func parseMounts(text io.Reader) ([]*mountinfo.Info, error) {
	return mountinfo.GetMountsFromReader(text, nil)
}

// liveCalls queries the kernel that runs tare.
func liveCalls() *calls {
	return &calls{
		arch: runtime.GOARCH,
		now:  time.Now,
		resolve: func(p string) (string, error) {
			abs, err := filepath.Abs(p)
			if err != nil {
				return "", err
			}
			return filepath.EvalSymlinks(abs)
		},
		space: func(p string) (total, free int64, err error) {
			var st unix.Statfs_t
			if err := unix.Statfs(p, &st); err != nil {
				return 0, 0, err
			}
			return int64(st.Blocks) * int64(st.Bsize), int64(st.Bavail) * int64(st.Bsize), nil
		},
		resolution: func() (int64, error) {
			var ts unix.Timespec
			err := unix.ClockGetres(unix.CLOCK_MONOTONIC, &ts)
			return ts.Nano(), err
		},
		reading: func() (float64, error) { return clockcost.Reading(), nil },
		cpuid:   cpuidVendor,
	}
}
