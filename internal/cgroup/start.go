package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// Start starts cmd like cmd.Start, as a process that is born in the group. A process that moves itself
// there waits for grace periods of the kernel on version 1, 50 to 700 ms in all.
//
// On version 2 clone3(2) puts the child into the group (Linux 5.7). On version 1 a child is in the groups
// of the thread that makes it, and a thread that moves only itself waits for nothing. cmd must not have a
// Pdeathsig, which that thread's end would send. On version 1, the group is charged with the fork.
func (g *Group) Start(cmd *exec.Cmd) error {
	dir := filepath.Join(g.layout.V2, g.name, leaf)
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fault.Hostf("control group %s: %w", dir, err)
	}
	defer unix.Close(fd)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, fd
	if g.v1 == nil {
		err = cmd.Start()
	} else {
		err = onThread(func() error {
			if err := g.joinV1(); err != nil {
				return err
			}
			return cmd.Start()
		})
	}
	if err != nil {
		return fault.Hostf("starting a process in control group %s: %w", g.name, err)
	}
	return nil
}

// joinV1 moves the calling thread, and no other, into the group's version 1 hierarchies.
func (g *Group) joinV1() error {
	// Where real time is budgeted, a new group has none of it and takes no thread that could use it.
	if has, err := unix.SchedGetAttr(0, 0); err == nil && has.Priority > 0 {
		if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr}, 0); err != nil {
			return fmt.Errorf("giving up real-time priority: %w", err)
		}
	}
	for _, dir := range g.leaves() {
		if dir == filepath.Join(g.layout.V2, g.name, leaf) {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "tasks"), []byte("0"), 0); err != nil {
			return err
		}
	}
	return nil
}

// onThread runs do on a thread of its own, and returns when that thread has ended: while it exists, its
// groups cannot be removed and seem to contain this process.
func onThread(do func() error) error {
	type end struct {
		tid int
		err error
	}
	ended := make(chan end)
	go func() {
		// Never unlocked: the runtime ends the thread with the goroutine.
		runtime.LockOSThread()
		if tid := unix.Gettid(); tid != unix.Getpid() {
			err := do()
			ended <- end{tid, err}
			return
		}
		// The runtime never ends the main thread. While this goroutine has it, another one gets another.
		err := onThread(do)
		runtime.UnlockOSThread()
		ended <- end{0, err}
	}()
	e := <-ended
	if e.tid == 0 {
		return e.err
	}
	for wait := 20 * time.Microsecond; ; wait = min(2*wait, 5*time.Millisecond) {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", e.tid)); err != nil {
			return e.err
		}
		sleep(wait)
	}
}
