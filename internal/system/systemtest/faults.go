package systemtest

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/system"
)

// faults are system calls, and how they fail on a host that runs out of something.
var faults = []struct {
	name   string
	call   int
	errors []unix.Errno
}{
	{"openat", unix.SYS_OPENAT, []unix.Errno{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EINTR, unix.ENOSPC}},
	{"mkdirat", unix.SYS_MKDIRAT, []unix.Errno{unix.ENOSPC, unix.ENOMEM}},
	{"mknodat", unix.SYS_MKNODAT, []unix.Errno{unix.ENOSPC, unix.ENOMEM}},
	{"symlinkat", unix.SYS_SYMLINKAT, []unix.Errno{unix.ENOSPC, unix.ENOMEM}},
	{"write", unix.SYS_WRITE, []unix.Errno{unix.ENOSPC, unix.ENOMEM, unix.EINTR}},
	{"ftruncate", unix.SYS_FTRUNCATE, []unix.Errno{unix.ENOSPC, unix.EINTR}},
	{"fallocate", unix.SYS_FALLOCATE, []unix.Errno{unix.ENOSPC, unix.EINTR}},
	{"mount", unix.SYS_MOUNT, []unix.Errno{unix.ENOMEM, unix.ENOSPC}},
	{"umount2", unix.SYS_UMOUNT2, []unix.Errno{unix.ENOMEM, unix.EBUSY}},
	{"clone", unix.SYS_CLONE, []unix.Errno{unix.ENOMEM, unix.EAGAIN}},
	{"execve", unix.SYS_EXECVE, []unix.Errno{unix.ENOMEM}},
	{"pipe2", unix.SYS_PIPE2, []unix.Errno{unix.EMFILE, unix.ENFILE}},
	{"socket", unix.SYS_SOCKET, []unix.Errno{unix.EMFILE, unix.ENOMEM}},
	{"socketpair", unix.SYS_SOCKETPAIR, []unix.Errno{unix.EMFILE, unix.ENOMEM}},
	{"ioctl", unix.SYS_IOCTL, []unix.Errno{unix.ENOMEM, unix.EINTR}},
	{"unshare", unix.SYS_UNSHARE, []unix.Errno{unix.ENOMEM, unix.ENOSPC}},
	{"setns", unix.SYS_SETNS, []unix.Errno{unix.ENOMEM}},
	{"sendmsg", unix.SYS_SENDMSG, []unix.Errno{unix.ENOMEM, unix.EINTR}},
	{"dup", unix.SYS_DUP, []unix.Errno{unix.EMFILE}},
	{"fcntl", unix.SYS_FCNTL, []unix.Errno{unix.EMFILE}},
}

// Faults creates and closes guests while one system call of tare, the runtime or the guest fails: of each kind of call
// as many as TARE_SOAK says, spread over all that are made. Whatever fails, nothing may be left.
func Faults(t *testing.T, d system.Driver) {
	h := Host(t)
	each, err := strconv.Atoi(os.Getenv("TARE_SOAK"))
	if err != nil {
		t.Skip("TARE_SOAK is not set")
	}
	needUsable(t, d, h)
	var calls []int
	for _, f := range faults {
		calls = append(calls, f.call)
	}
	i := newInjector(t, calls)
	first, err := system.Launch(t.Context(), d, h, "faults-0", Request()) // with daemons
	if err != nil {                                                       // gVisor with systrap has such a filter itself
		t.Skipf("%s: its guests do not start under a filter of system calls: %v", d.Name(), err)
	}
	defer first.Close()
	before := snapshot(t, h)
	i.arm(-1, 0, 0)
	// A runtime may hang after a fault.
	limit := 3*first.StartTime + 10*time.Second
	if err := createAndClose(t, d, h, "faults", limit); err != nil {
		t.Fatal(err)
	}
	made := map[int]int{}
	for _, f := range faults {
		made[f.call] = i.count(f.call)
	}
	files := openFiles()
	injected, failed := 0, 0
	for _, f := range faults {
		for k := range min(each, made[f.call]) {
			n := 1 + k*made[f.call]/min(each, made[f.call])
			errno := f.errors[k%len(f.errors)]
			i.arm(f.call, errno, n)
			err := createAndClose(t, d, h, "faults", limit)
			if !i.disarm() {
				continue
			}
			injected++
			if err != nil {
				failed++
			}
			for _, line := range settle(t, h, before) {
				t.Errorf("%s number %d failed with %v: left behind: %s; the error was: %v", f.name, n, errno, line, err)
			}
			if now := settledFiles(files); now > files {
				t.Errorf("%s number %d failed with %v: %d files stay open; the error was: %v", f.name, n, errno, now-files, err)
				files = now
			}
			if t.Failed() {
				return
			}
			before = snapshot(t, h)
		}
	}
	t.Logf("%d faults in system calls, after which %d guests did not start or close", injected, failed)
	if injected == 0 {
		t.Error("no system call failed")
	}
}

// createAndClose creates a guest of this name within limit, and closes it.
func createAndClose(t *testing.T, d system.Driver, h *system.Host, name string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	m, err := system.Launch(ctx, d, h, name, Request())
	if err == nil {
		err = m.Close()
	}
	return err
}

// openFiles counts the open files of this process. It collects no garbage, which would close forgotten ones.
func openFiles() int {
	files, _ := filepath.Glob("/proc/self/fd/*")
	return len(files)
}

// settledFiles is openFiles once they are no more than want, or after five seconds.
func settledFiles(want int) int {
	for range 100 {
		if openFiles() <= want {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return openFiles()
}
