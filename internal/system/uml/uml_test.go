package uml

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/systemtest"
)

func TestMain(m *testing.M) { systemtest.Main(m) }

func TestConformance(t *testing.T) { systemtest.Run(t, Driver{}) }

func TestRawDevice(t *testing.T) { systemtest.RawDevice(t, Driver{}) }

func TestLoop(t *testing.T) { systemtest.SoakLoop(t, Driver{}) }

func BenchmarkSystem(b *testing.B) { systemtest.Bench(b, Driver{}) }

// TestDiskIsShared: machines of other systems can use the userland's disk at the same time.
func TestDiskIsShared(t *testing.T) {
	m := systemtest.Launch(t, Driver{}, "shared", systemtest.Request())
	f, err := os.OpenFile(m.Site.Userland.Disk, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// UML would lock the whole file. QEMU, of which other tests have some, locks bytes from the 100th on, and
	// checks whether others do.
	lock := unix.Flock_t{Type: unix.F_WRLCK, Len: 1}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock); err != nil {
		t.Fatal(err)
	}
	if lock.Type != unix.F_UNLCK {
		t.Errorf("process %d holds a lock of type %d on %s", lock.Pid, lock.Type, f.Name())
	}
}

// TestKernelKilled kills only the kernel: the processes that it traced must not continue.
func TestKernelKilled(t *testing.T) {
	m := systemtest.Launch(t, Driver{}, "kernel", systemtest.Request())
	ended := make(chan error, 1)
	go func() {
		_, err := m.Agent.Run(t.Context(), agent.Command{Argv: []string{"sh", "-c", "while :; do :; done"},
			Env: system.AgentEnv})
		ended <- err
	}()
	time.Sleep(200 * time.Millisecond)
	pids, err := m.Site.Group.Processes()
	if err != nil {
		t.Fatal(err)
	}
	kernel := 0
	for _, pid := range pids {
		kernel = max(kernel, tracer(t, pid))
	}
	if kernel == 0 {
		t.Fatalf("none of %v is traced", pids)
	}
	if err := unix.Kill(kernel, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if fault.KindOf(err) != fault.Guest {
			t.Errorf("a command in it gave: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("its stream does not break")
	}
	<-m.Guest.Exited()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if pids, err = m.Site.Group.Processes(); err != nil || len(pids) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%v outlived the kernel", pids)
		}
	}
}

// tracer returns the ID of the process that traces pid, or 0.
func tracer(t *testing.T, pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(b), "TracerPid:")
	word, _, _ := strings.Cut(after, "\n")
	n, err := strconv.Atoi(strings.TrimSpace(word))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFailure(t *testing.T) {
	log := "Linux version 6.1\r\n\r\nKernel panic - not syncing: No working init found.\r\nCall Trace:\r\n" +
		" [<6069f509>] dump_stack+0x1a/0x1c\r\n"
	err := failure(errors.New("EOF"), log)
	want := "it does not boot (EOF); its log ends: Linux version 6.1; Kernel panic - not syncing: No working init " +
		"found.; Call Trace:"
	if fault.KindOf(err) != fault.Guest || err.Error() != want {
		t.Errorf("got %v", err)
	}
	err = failure(errors.New("EOF"), "userspace - ptrace set fp regs failed, errno = 14\n"+log)
	if !strings.Contains(fault.RemedyOf(err), "install-uml-shim") {
		t.Errorf("no remedy: %v", err)
	}
}

// TestShim sets less register state of a traced process than the CPU has, as User-Mode Linux does
// on CPUs with AMX.
func TestShim(t *testing.T) {
	cc, err := exec.LookPath("gcc")
	if runtime.GOARCH != "amd64" {
		t.Skip("User-Mode Linux is for x86")
	}
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	lib, cut := filepath.Join(dir, shim), filepath.Join(dir, "cut")
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-o", lib, "shim/ptrace.c"},
		{"-o", cut, "testdata/cut.c"},
	} {
		if out, err := exec.Command(cc, append([]string{"-O2", "-Wall", "-Wextra", "-Werror"}, args...)...).
			CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, c := range []struct{ preload, bytes, want string }{
		{"", "65536", "set "}, // all of it
		{"", "576", "set: Bad address"},
		{lib, "576", "set 576"},
		{lib, "65536", "set "},
	} {
		cmd := exec.Command(cut, c.bytes)
		cmd.Env = append(os.Environ(), "LD_PRELOAD="+c.preload)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), c.want) || !strings.Contains(string(out), "child: 7") {
			t.Errorf("%+v: %v: %s", c, err, out)
		}
	}
}

// TestOwnFile: the data disk is a plain file, so the host cannot count what is written to it.
func TestOwnFile(t *testing.T) {
	f := systemtest.Request()
	f.Backing = model.BackingRaw
	m := systemtest.Launch(t, Driver{}, "file", f)
	r, err := m.Agent.Run(t.Context(), agent.Command{
		Argv: []string{"sh", "-c", "echo hello >a && sync a && cat a"}, Env: system.AgentEnv, Dir: m.DataDir(),
	})
	if err != nil || string(r.Stdout) != "hello\n" {
		t.Errorf("%v, %+v", err, r)
	}
	if n, err := m.Written(); !errors.Is(err, cgroup.ErrUnknown) {
		t.Errorf("%d bytes reached a device, %v", n, err)
	}
}

func TestHostile(t *testing.T) { systemtest.Hostile(t, Driver{}) }
