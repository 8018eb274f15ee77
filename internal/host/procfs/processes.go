package procfs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// Process is what /proc/PID/stat says about a process or a kernel thread.
type Process struct {
	Name    string  // the kernel's, at most 15 bytes of a process
	Seconds float64 // of CPU time, user and system
	Reaped  float64 // the same of its descendants that have ended
	Parent  int
	Start   uint64 // distinguishes it from another process with the same number
	Kernel  bool   // a kernel thread
}

// Processes returns all visible processes, by number.
func (f FS) Processes() map[int]Process {
	all := map[int]Process{}
	for _, name := range f.Names(f.Proc) {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if b, err := f.ReadFile(f.Proc + "/" + name + "/stat"); err == nil { // it may have ended
			if p, err := parseProcess(string(b)); err == nil {
				all[pid] = p
			}
		}
	}
	return all
}

// Self returns the number of this process among Processes, which in a sandbox is not that of
// os.Getpid. Errors are the host's fault.
func (f FS) Self() (int, error) {
	link, err := f.ReadLink(f.Proc + "/self")
	if err != nil {
		return 0, fault.Hostf("this process: %w", err)
	}
	pid, err := strconv.Atoi(link)
	if err != nil {
		return 0, fault.Hostf("this process: %s/self: %w", f.Proc, err)
	}
	return pid, nil
}

// parseProcess reads /proc/PID/stat. The name may hold spaces and brackets.
func parseProcess(text string) (Process, error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return Process{}, errors.New("no name")
	}
	// Counted from the state, which is column 3 in proc(5).
	const ppid, flags, utime, stime, cutime, cstime, starttime = 1, 6, 11, 12, 13, 14, 19
	f := strings.Fields(text[end+1:])
	if len(f) <= starttime {
		return Process{}, fmt.Errorf("%d columns", len(f))
	}
	var n [starttime + 1]uint64
	for _, i := range []int{ppid, flags, utime, stime, cutime, cstime, starttime} {
		var err error
		if n[i], err = strconv.ParseUint(f[i], 10, 64); err != nil {
			return Process{}, err
		}
	}
	const isKernelThread = 0x00200000 // PF_KTHREAD
	return Process{
		Name:    text[open+1 : end],
		Seconds: (float64(n[utime]) + float64(n[stime])) / userHZ,
		Reaped:  (float64(n[cutime]) + float64(n[cstime])) / userHZ,
		Parent:  int(n[ppid]), Start: n[starttime], Kernel: n[flags]&isKernelThread != 0,
	}, nil
}
