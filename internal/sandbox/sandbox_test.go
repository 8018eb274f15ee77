package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/sandbox"
	"github.com/tare-bench/tare/internal/volume"
)

// The test program runs itself again in a sandbox. These variables give it its role there, and the
// mark by which to recognize what it makes.
const (
	roleVar = "SANDBOX_TEST_ROLE"
	markVar = "SANDBOX_TEST_MARK"
	diskVar = "SANDBOX_TEST_DISK"
)

func TestMain(m *testing.M) {
	sandbox.Intercept()
	role := os.Getenv(roleVar)
	switch {
	case role == "":
		os.Exit(m.Run())
	case !sandbox.Inside():
		status, err := sandbox.Run(filepath.Join(os.Getenv(diskVar), "private"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 99
		}
		os.Exit(status)
	}
	if err := roles[role](os.Getenv(markVar)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(98)
	}
}

var roles = map[string]func(mark string) error{
	"exit": func(string) error {
		os.Exit(42)
		return nil
	},
	"signalled": func(string) error { return unix.Kill(os.Getpid(), unix.SIGKILL) },
	"term": func(string) error {
		got := make(chan os.Signal, 1)
		signal.Notify(got, unix.SIGTERM)
		fmt.Println("ready")
		<-got
		os.Exit(7)
		return nil
	},
	"alone":   alone,
	"jail":    jailed,
	"orphans": orphans,
	"work":    work,
	"mounts":  mounts,
}

// alone checks what it sees in a sandbox.
func alone(string) error {
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(procs) != 2 {
		return fmt.Errorf("processes: %v, %v", procs, err)
	}
	files, err := os.ReadDir(sandbox.Dir())
	if err != nil || len(files) > 2 { // the host's /proc, and perhaps a version 2 hierarchy
		return fmt.Errorf("the private directory: %v, %v", files, err)
	}
	if procs, err := filepath.Glob(sandbox.HostProc() + "/[0-9]*"); err != nil || len(procs) < 4 {
		return fmt.Errorf("the host's processes: %v, %v", procs, err)
	}
	return os.WriteFile(filepath.Join(sandbox.Dir(), "x"), nil, 0o600)
}

// mounts mounts something below the directory mark, and waits until the host has unmounted what it had there.
func mounts(mark string) error {
	if err := unix.Mount("ours", filepath.Join(mark, "ours"), "tmpfs", 0, ""); err != nil {
		return err
	}
	if here := mountedBelow(mark); len(here) != 3 {
		return fmt.Errorf("mounted before: %q", here)
	}
	fmt.Println("ready")
	var here []string
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(10 * time.Millisecond) {
		if here = mountedBelow(mark); strings.Join(here, " ") == mark+" "+mark+"/ours" {
			return nil
		}
	}
	return fmt.Errorf("mounted after the host has unmounted: %q", here)
}

// mountedBelow lists where something is mounted, at dir and below, as this thread sees it.
func mountedBelow(dir string) (at []string) {
	b, _ := os.ReadFile("/proc/thread-self/mounts")
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[1], dir) {
			at = append(at, f[1])
		}
	}
	return at
}

// orphans leaves children to process 1 and waits until it has reaped them.
func orphans(string) error {
	if err := exec.Command("sh", "-c", "for i in 1 2 3 4 5; do (sleep 0.05 &) ; done").Run(); err != nil {
		return err
	}
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		if procs, _ := filepath.Glob("/proc/[0-9]*"); len(procs) == 2 {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("orphans stay")
}

// work makes what a guest consists of: a process, another one in a frozen control group, and a
// mounted volume. It ends only with the sandbox.
func work(mark string) error {
	plain := exec.Command("sleep", "3600")
	plain.Args[0] = mark
	if err := plain.Start(); err != nil {
		return err
	}
	layout, err := cgroup.Detect()
	if err != nil {
		return err
	}
	g, err := layout.New(mark, cgroup.Limits{})
	if err != nil {
		return err
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		return err
	}
	cold := sandbox.Enter{Path: sleep, Argv: []string{mark, "3600"}}.Command(context.Background())
	if err := g.Start(cold); err != nil {
		return err
	}
	for len(processes(mark)) < 2 { // until it has executed sleep
		time.Sleep(time.Millisecond)
	}
	if err := g.Freeze(); err != nil {
		return err
	}
	v, err := volume.Create(context.Background(), volume.Spec{Dir: os.Getenv(diskVar), Bytes: 16 << 20, FS: "ext4"})
	if err != nil {
		return err
	}
	at := filepath.Join(sandbox.Dir(), "volume")
	if err := os.Mkdir(at, 0o755); err != nil {
		return err
	}
	if err := v.Mount(at); err != nil {
		return err
	}
	fmt.Println("ready")
	time.Sleep(math.MaxInt64) // without cgo, the runtime would call select {} a deadlock
	return nil
}

// start runs this program in a sandbox in this role.
func start(t *testing.T, role, mark string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	disk := t.TempDir()
	if err := os.Mkdir(filepath.Join(disk, "private"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVar+"="+role, markVar+"="+mark, diskVar+"="+disk)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(out)
}

func TestExitStatus(t *testing.T) {
	for role, want := range map[string]int{"exit": 42, "signalled": 128 + 9, "alone": 0, "orphans": 0} {
		cmd, out := start(t, role, "")
		io.Copy(io.Discard, out)
		cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s: status %d, want %d", role, got, want)
		}
	}
}

// TestMounts: the host can unmount what was mounted when a sandbox began, and does not see what that mounts.
func TestMounts(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	dir := t.TempDir()
	inner := filepath.Join(dir, "host")
	runtime.LockOSThread() // this thread stands for the host, and ends with the test
	if err := errors.Join(unix.Unshare(unix.CLONE_NEWNS),
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("host", dir, "tmpfs", 0, "")); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	if err := errors.Join(unix.Mount("", dir, "", unix.MS_SHARED, ""), // as systemd makes all mounts
		os.Mkdir(inner, 0o755), os.Mkdir(filepath.Join(dir, "ours"), 0o755),
		unix.Mount("stick", inner, "tmpfs", 0, "")); err != nil {
		t.Fatal(err)
	}
	cmd, out := start(t, "mounts", dir)
	defer cmd.Process.Kill()
	if line, err := out.ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	if here := mountedBelow(dir); len(here) != 2 {
		t.Errorf("the host sees mounts of the sandbox: %q", here)
	}
	if err := unix.Unmount(inner, 0); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestSignalReachesTheInside(t *testing.T) {
	cmd, out := start(t, "term", "")
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Signal(unix.SIGTERM)
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 7 {
		t.Errorf("status %d, want 7", got)
	}
}

// TestKill kills each of the three processes: everything that was made in the sandbox must
// disappear, except the directories of control groups.
func TestKill(t *testing.T) {
	for depth, who := range []string{"outside", "process 1", "inside"} {
		t.Run(who, func(t *testing.T) {
			mark := fmt.Sprintf("sandbox-test-%d-%d", os.Getpid(), depth)
			cmd, out := start(t, "work", mark)
			defer removeGroups(t, mark)
			defer cmd.Process.Kill()
			if line, err := out.ReadString('\n'); err != nil {
				t.Fatalf("%q, %v", line, err)
			}
			if n := len(processes(mark)); n != 2 {
				t.Fatalf("%d processes do the work", n)
			}
			disk := filepath.Dir(privateDir(cmd))
			if n := len(loops(disk)); n != 1 {
				t.Fatalf("%d loop devices", n)
			}
			victim := cmd.Process.Pid
			for range depth {
				victim = child(t, victim)
			}
			unix.Kill(victim, unix.SIGKILL)
			cmd.Wait()
			for begin := time.Now(); time.Since(begin) < time.Minute; {
				if len(processes(mark)) == 0 && len(loops(disk)) == 0 {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
			t.Errorf("left: processes %v, loop devices %v", processes(mark), loops(disk))
		})
	}
}

func privateDir(cmd *exec.Cmd) string {
	for _, kv := range cmd.Env {
		if dir, ok := strings.CutPrefix(kv, diskVar+"="); ok {
			return filepath.Join(dir, "private")
		}
	}
	return ""
}

// processes lists the processes whose argv[0] is mark.
func processes(mark string) (pids []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.HasPrefix(string(b), mark+"\x00") {
			pids = append(pids, f)
		}
	}
	return pids
}

// loops lists the loop devices on files in dir.
func loops(dir string) (found []string) {
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.HasPrefix(string(b), dir+"/") {
			found = append(found, f)
		}
	}
	return found
}

// child returns the first child of a process.
func child(t *testing.T, of int) int {
	t.Helper()
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", of))
	for _, f := range files {
		b, _ := os.ReadFile(f)
		if words := strings.Fields(string(b)); len(words) > 0 {
			pid, err := strconv.Atoi(words[0])
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("process %d has no child", of)
	return 0
}

func removeGroups(t *testing.T, mark string) {
	layout, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	if layout.V2 == "" { // the sandbox had its own hierarchy
		return
	}
	left := layout.Leftovers(mark)
	if len(left) == 0 {
		t.Error("no control group is left to be listed")
	}
	if err := cgroup.RemoveLeftovers(left); err != nil {
		t.Error(err)
	}
}
