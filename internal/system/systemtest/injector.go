package systemtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An injector lets one system call of this process, or of any that it has started since, fail. A filter of system calls
// reports each call to another process, the judge, which answers that it may go on or how it fails. Unlike strace, this
// disturbs neither processes that trace others nor emulators that make few calls, and it counts the calls of all
// processes together.
//
// A filter stays for the life of a process: once the judge is gone, the calls fail with ENOSYS.
type injector struct{ *shared }

// shared is memory that this process and the judge share: a system call would be judged itself.
type shared struct {
	listener atomic.Int32 // descriptor of the filter in this process, plus 1
	failed   atomic.Int32 // 1: the judge could not begin
	call     atomic.Int32 // number of the system call that fails
	errno    atomic.Int32
	at       atomic.Int32 // the call fails when it is made for the at-th time; 0: never
	done     atomic.Int32 // 1: it has failed
	counts   [512]atomic.Int32
}

const (
	judgeVar  = "TARE_TEST_JUDGE" // set in the environment of the judge: process ID of its parent
	judgeFile = 3                 // the judge's descriptor of the shared memory
)

// judged is this process's injector, of which it can have only one.
var judged injector

// newInjector makes these system calls, the same each time, fail on demand for the rest of this process's life.
func newInjector(t *testing.T, calls []int) injector {
	t.Helper()
	if judged.shared != nil {
		return judged
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	fd, err := unix.MemfdCreate("judge", unix.MFD_CLOEXEC)
	must(err)
	file := os.NewFile(uintptr(fd), "judge")
	defer file.Close()
	must(file.Truncate(int64(unsafe.Sizeof(shared{}))))
	s, err := mapShared(fd)
	must(err)
	judge := exec.Command("/proc/self/exe")
	judge.Env = append(os.Environ(), fmt.Sprintf("%s=%d", judgeVar, os.Getpid()))
	judge.ExtraFiles = []*os.File{file}
	judge.Stderr = os.Stderr
	must(judge.Start())
	listener, err := filterCalls(calls)
	if err != nil {
		judge.Process.Kill()
		judge.Wait()
		t.Skipf("system calls cannot be judged: %v", err)
	}
	s.listener.Store(int32(listener) + 1)
	judged = injector{s}
	return judged
}

func mapShared(fd int) (*shared, error) {
	b, err := unix.Mmap(fd, 0, int(unsafe.Sizeof(shared{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return (*shared)(unsafe.Pointer(&b[0])), nil
}

// filterCalls installs the filter in all threads and returns its listener.
func filterCalls(calls []int) (int, error) {
	const load, equal, answer = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K,
		unix.BPF_RET | unix.BPF_K
	program := []unix.SockFilter{{Code: load, K: 0}} // the call's number
	for i, call := range calls {
		program = append(program, unix.SockFilter{Code: equal, K: uint32(call), Jt: uint8(len(calls) - i)})
	}
	program = append(program,
		unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW}, unix.SockFilter{Code: answer,
			K: unix.SECCOMP_RET_USER_NOTIF})
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	// A signal, of which Go's runtime sends many, must not make a call that was counted begin anew.
	const flags = unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH |
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}

// arm lets the n-th of the following calls with this number fail; with n = 0 none.
func (i injector) arm(call int, errno unix.Errno, n int) {
	i.at.Store(0)
	for c := range i.counts {
		i.counts[c].Store(0)
	}
	i.call.Store(int32(call))
	i.errno.Store(int32(errno))
	i.done.Store(0)
	i.at.Store(int32(n))
}

// disarm lets all calls go on, and reports whether one has failed.
func (i injector) disarm() bool {
	i.at.Store(0)
	return i.done.Load() == 1
}

// count is the number of calls with this number since the last arm.
func (i injector) count(call int) int { return int(i.counts[call].Load()) }

// notification and response are the kernel's struct seccomp_notif and seccomp_notif_resp.
type notification struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type response struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

// judge answers for the filter of its parent until the parent and all that it has started have ended.
func judge(parent int) error {
	s, err := mapShared(judgeFile)
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	for s.listener.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	process, err := unix.PidfdOpen(parent, 0)
	if err != nil {
		return err
	}
	fd, err := unix.PidfdGetfd(process, int(s.listener.Load())-1, 0)
	if err != nil {
		return err
	}
	control := func(request uintptr, data unsafe.Pointer) error {
		for {
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(data))
			switch errno {
			case 0:
				return nil
			case unix.EINTR:
			default:
				return errno
			}
		}
	}
	for {
		var n notification
		if err := control(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); errors.Is(err, unix.ENOENT) {
			continue // the caller has ended
		} else if err != nil {
			return err
		}
		r := response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if s.fails(&n) {
			r.errno, r.flags = -s.errno.Load(), 0
		}
		if err := control(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
}

// fails counts a call and reports whether it is the one that fails. Go's runtime would end this process if it could not
// start a thread, or wake itself, for which it writes 8 bytes to a descriptor of its own: these never fail.
func (s *shared) fails(n *notification) bool {
	switch {
	case n.nr < 0 || int(n.nr) >= len(s.counts),
		n.nr == unix.SYS_CLONE && n.args[0]&unix.CLONE_THREAD != 0,
		n.nr == unix.SYS_WRITE && n.args[2] == 8:
		return false
	}
	if count := s.counts[n.nr].Add(1); s.call.Load() == n.nr && s.at.Load() == count {
		s.done.Store(1)
		return true
	}
	return false
}

// interceptJudge must be called first in Main. It does not return in the judge.
func interceptJudge() {
	var parent int
	if _, err := fmt.Sscan(os.Getenv(judgeVar), &parent); err != nil {
		return
	}
	runtime.LockOSThread() // PR_SET_PDEATHSIG is about the thread's parent
	err := judge(parent)
	fmt.Fprintln(os.Stderr, "systemtest: the judge of system calls ends:", err)
	syscall.Exit(1)
}
