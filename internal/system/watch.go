package system

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// WatchProcess returns a channel that is closed when a process ends. It need not be a child of
// this process.
func WatchProcess(pid int) (<-chan struct{}, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return nil, fault.Guestf("process %d of the guest has ended", pid)
	}
	if err != nil {
		return nil, fault.Hostf("process %d: %w", pid, err)
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, fault.Hostf("process %d: %w", pid, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer f.Close()
		asked := false
		raw.Read(func(uintptr) bool { // called again when the descriptor is readable
			again := asked
			asked = true
			return again || unix.Kill(pid, 0) == unix.ESRCH
		})
	}()
	return ended, nil
}
