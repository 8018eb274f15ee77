package server

import (
	"errors"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent/wire"
)

// starter forks and executes path. The channel receives the exit status once.
type starter interface {
	start(path string, argv []string, attr *syscall.ProcAttr) (pid int, ended <-chan exitStatus, err error)
}

// ownChildren starts processes and waits only for those.
type ownChildren struct{}

func (ownChildren) start(path string, argv []string, attr *syscall.ProcAttr) (int, <-chan exitStatus, error) {
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return 0, nil, err
	}
	ch := make(chan exitStatus, 1)
	go func() {
		st, _, _ := wait(pid)
		ch <- st
	}()
	return pid, ch, nil
}

// wait waits for the child pid, or for any child if pid is -1.
func wait(pid int) (exitStatus, int, error) {
	var ws syscall.WaitStatus
	var ru syscall.Rusage
	for {
		ended, err := syscall.Wait4(pid, &ws, 0, &ru)
		if !errors.Is(err, unix.EINTR) {
			return exitStatus{
				wait: ws, usage: rusage(&ru), monotonic: clock(unix.CLOCK_MONOTONIC), realtime: clock(unix.CLOCK_REALTIME),
			}, ended, err
		}
	}
}

// reaper starts processes and waits for every child of the agent. The agent is often process 1 of
// its guest, so it also gets orphans.
type reaper struct {
	mu      sync.Mutex
	waiting map[int]chan exitStatus
	child   chan struct{} // tells the loop that there is a new child
}

type exitStatus struct {
	wait                syscall.WaitStatus
	usage               *wire.Rusage
	monotonic, realtime int64
}

func startReaper() *reaper {
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	r := &reaper{waiting: map[int]chan exitStatus{}, child: make(chan struct{}, 1)}
	go r.loop()
	return r
}

func (r *reaper) start(path string, argv []string, attr *syscall.ProcAttr) (int, <-chan exitStatus, error) {
	// The lock is held during the fork, so that the loop cannot see the exit of a child which is
	// not registered yet.
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return 0, nil, err
	}
	ch := make(chan exitStatus, 1)
	r.waiting[pid] = ch
	select {
	case r.child <- struct{}{}:
	default:
	}
	return pid, ch, nil
}

func (r *reaper) loop() {
	for {
		st, pid, err := wait(-1)
		switch {
		case errors.Is(err, unix.ECHILD):
			// An orphan may become our child unnoticed; the pause bounds its time as a zombie.
			select {
			case <-r.child:
			case <-time.After(10 * time.Second):
			}
		case err != nil:
			time.Sleep(time.Second)
		default:
			r.mu.Lock()
			ch := r.waiting[pid]
			delete(r.waiting, pid)
			r.mu.Unlock()
			if ch != nil {
				ch <- st
			}
		}
	}
}

func rusage(u *syscall.Rusage) *wire.Rusage {
	return &wire.Rusage{
		UserNs:              u.Utime.Nano(),
		SystemNs:            u.Stime.Nano(),
		MaxRssBytes:         u.Maxrss << 10,
		MinorFaults:         u.Minflt,
		MajorFaults:         u.Majflt,
		InBlocks:            u.Inblock,
		OutBlocks:           u.Oublock,
		VoluntarySwitches:   u.Nvcsw,
		InvoluntarySwitches: u.Nivcsw,
	}
}
