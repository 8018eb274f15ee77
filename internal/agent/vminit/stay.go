package vminit

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// hostPause is how long it takes at most until a host that comes is noticed.
const hostPause = 50 * time.Millisecond

// stay serves one host after the other over port, for a machine that outlives
// those who talk to it. Each gets an agent of its own, a child of this process,
// so that nothing of one session is left for the next but what a command has
// put into the background.
func stay(port *os.File) error {
	fd := port.Fd() // blocking from now on, as the children want it
	for {
		if hostIsThere(int(fd)) {
			if err := session(fd); err != nil {
				return err
			}
		}
		reap()
		time.Sleep(hostPause)
	}
}

// hostIsThere reports whether the host has the other end of the port open.
func hostIsThere(fd int) bool {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	_, err := unix.Poll(poll, 0)
	return err == nil && poll[0].Revents&unix.POLLHUP == 0
}

// session runs an agent on the port until the host hangs up.
func session(fd uintptr) error {
	agent, err := syscall.ForkExec("/proc/self/exe", []string{"tare-agent", "stdio"}, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{fd, fd, 2}})
	if err != nil {
		return fmt.Errorf("an agent for the host that has come: %w", err)
	}
	for {
		pid, err := syscall.Wait4(-1, nil, 0, nil)
		if pid == agent {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("waiting for the agent: %w", err)
		}
	}
}

// reap takes the orphans that have ended: process 1 gets them all.
func reap() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != nil || pid <= 0 {
			return
		}
	}
}
