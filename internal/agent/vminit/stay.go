package vminit

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// hostPause is the interval between checks for a host.
const hostPause = 50 * time.Millisecond

// stay serves one host after the other over port, for a machine that outlives its hosts. Each host
// gets a new agent, a child of this process, so that a session leaves nothing for the next except
// what a command has put into the background.
func stay(port *os.File) error {
	fd := port.Fd() // sets it to blocking mode, as the children need it
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
	agent, err := syscall.ForkExec("/proc/self/exe", []string{"tare-agent", "stdio"},
		&syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{fd, fd, 2}})
	if err != nil {
		return fmt.Errorf("starting an agent for the host: %w", err)
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

// reap reaps orphans that have ended; process 1 gets all of them.
func reap() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != nil || pid <= 0 {
			return
		}
	}
}
