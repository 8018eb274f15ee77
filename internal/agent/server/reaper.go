package server

import (
	"errors"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent/wire"
)

// reaper starts processes and waits for every child of the agent. The agent is
// often process 1 of its guest, so orphans become its children too.
type reaper struct {
	mu      sync.Mutex
	waiting map[int]chan exitStatus
	child   chan struct{} // tells the loop that there is a child again
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

// start forks and executes path. The channel gets the exit status once.
func (r *reaper) start(path string, argv []string, attr *syscall.ProcAttr) (int, <-chan exitStatus, error) {
	// The lock is held over the fork, so that the loop cannot see the exit of
	// a child that nobody waits for yet.
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
		var ws syscall.WaitStatus
		var ru syscall.Rusage
		pid, err := syscall.Wait4(-1, &ws, 0, &ru)
		st := exitStatus{wait: ws, monotonic: clock(unix.CLOCK_MONOTONIC), realtime: clock(unix.CLOCK_REALTIME)}
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ECHILD):
			// An orphan may become our child without our knowing; the pause
			// only bounds how long it stays a zombie.
			select {
			case <-r.child:
			case <-time.After(10 * time.Second):
			}
		case err != nil:
			time.Sleep(time.Second)
		default:
			st.usage = rusage(&ru)
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
