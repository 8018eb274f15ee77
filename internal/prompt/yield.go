package prompt

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Yield keeps this process, and all that it starts from now on, on these CPUs, and lets the I/O of all others go first:
// the idle class of I/O priorities, which the schedulers bfq and mq-deadline know. It is the opposite of [Begin], which
// still holds during trials.
func Yield(cpus []int) error {
	state.Lock()
	defer state.Unlock()
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	var failed error
	eachThread(func(tid int) {
		if err := unix.SchedSetaffinity(tid, &set); err != nil && err != unix.ESRCH {
			failed = fmt.Errorf("keeping tare on the CPUs %v: %w", cpus, err)
		}
		const process, idleClass, classShift = 1, 3, 13 // of ioprio_set(2)
		_, _, e := unix.Syscall(unix.SYS_IOPRIO_SET, process, uintptr(tid), idleClass<<classShift)
		if e != 0 && e != unix.ESRCH && e != unix.ENOSYS {
			failed = fmt.Errorf("the idle class of I/O: %w", e)
		}
	})
	return failed
}
