// Package sandbox makes sure that nothing outlives tare. Everything that
// starts guests runs in a PID namespace and a mount namespace of its own: when
// its first process ends, however it ends, the kernel kills every process that
// was started below it and takes every mount with it; loop devices detach
// themselves with their last user.
//
//	tare (outside, waits) ── tare (process 1, reaps orphans) ── tare (inside, does the work)
//
// Whichever of the three is killed takes the ones after it with it.
//
// What a namespace cannot clean up, the empty directories of control groups,
// the parent process removes, and after a kill of both, the next run or
// `tare gc`.
package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

const (
	// insideVar tells the re-executed program that it is inside; its value is
	// the host's mount point of the private directory.
	insideVar = "TARE_INSIDE"
	// enterArg is the first argument of the program as the stub that Enter describes.
	enterArg = "tare-enter"
)

// Intercept must be the first call of main, and of TestMain where tests start
// guests. It does not return when this process is the stub of Enter, or the
// sandbox's first process.
func Intercept() {
	if len(os.Args) == 3 && os.Args[0] == enterArg {
		err := enter(os.Args[2])
		fmt.Fprintln(os.Stderr, "tare: starting a guest's process:", err)
		os.Exit(127)
	}
	if Inside() && os.Getpid() == 1 {
		status, err := runInit()
		if err != nil {
			fmt.Fprintln(os.Stderr, "tare: preparing the sandbox:", err)
			os.Exit(3)
		}
		os.Exit(status)
	}
}

// Inside reports whether this process runs in a sandbox.
func Inside() bool { return Dir() != "" }

// Dir is the directory, in memory and private to the sandbox, that this
// process runs in; "" outside.
func Dir() string { return os.Getenv(insideVar) }

// Run runs this program again, with the same arguments, inside a sandbox, and
// returns its exit status. Interrupts go to the program inside, which decides
// what to do about them; when this process is killed, the sandbox dies with it.
// dir is an existing directory that the sandbox sees empty and in memory.
func Run(dir string) (status int, err error) {
	if os.Getuid() != 0 {
		return 0, fault.WithRemedy(fault.Hostf("making guests, mounts and control groups needs root"), "sudo tare …")
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), insideVar+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS,
		Pdeathsig:  unix.SIGKILL,
	}
	// The signal comes when the thread that forked ends, not the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, fault.WithRemedy(fault.Hostf("starting in namespaces of its own: %w", err),
			"tare needs CAP_SYS_ADMIN and PID and mount namespaces; inside a container, run that privileged")
	}
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				// From a terminal the sandbox has it too; twice is once there.
				if s != os.Interrupt {
					cmd.Process.Signal(s)
				}
			case <-ended:
				return
			}
		}
	}()
	err = cmd.Wait()
	close(ended)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return 128 + int(ws.Signal()), nil
		}
		return exit.ExitCode(), nil
	}
	return 0, err
}

// runInit is the sandbox's first process: it starts this program once more,
// reaps what becomes its child, and ends when that program ends.
func runInit() (status int, err error) {
	if err := prepare(Dir()); err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT)
	runtime.LockOSThread() // for Pdeathsig
	pid, err := syscall.ForkExec("/proc/self/exe", os.Args, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL},
	})
	if err != nil {
		return 0, err
	}
	enterRootGroups()
	go func() {
		for s := range signals {
			if s != os.Interrupt { // the terminal has told it already
				syscall.Kill(pid, s.(syscall.Signal))
			}
		}
	}()
	for {
		var ws syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case ended == pid && ws.Signaled():
			return 128 + int(ws.Signal()), nil
		case ended == pid && ws.Exited():
			return ws.ExitStatus(), nil
		}
	}
}

// enterRootGroups moves this process to the root of every control group
// hierarchy, where the host's init is: runtimes, LXC among them, count the
// paths of the groups that they make from where process 1 is. The work is done
// elsewhere, so where this process is accounted does not matter.
func enterRootGroups() {
	b, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 2 && (f[2] == "cgroup" || f[2] == "cgroup2") {
			// Not being allowed to is no harm where the runtime is not LXC.
			os.WriteFile(filepath.Join(f[1], "cgroup.procs"), []byte("0"), 0)
		}
	}
}

// HostProc is where the host's own /proc is in a sandbox, which shows the
// processes and the threads of the kernel that are outside.
func HostProc() string { return hostProc(Dir()) }

func hostProc(dir string) string { return filepath.Join(dir, "host-proc") }

// prepare takes the mounts private and mounts an in-memory file system over dir
// and the sandbox's own /proc.
func prepare(dir string) error {
	for _, m := range []struct {
		source, target, fstype string
		flags                  uintptr
	}{
		{"", "/", "", unix.MS_REC | unix.MS_PRIVATE},
		{"tmpfs", dir, "tmpfs", unix.MS_NOSUID},
		{"/proc", hostProc(dir), "", unix.MS_BIND},
		{"proc", "/proc", "proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
	} {
		if err := os.MkdirAll(m.target, 0o700); err != nil {
			return fault.Hostf("%w", err)
		}
		if err := unix.Mount(m.source, m.target, m.fstype, m.flags, ""); err != nil {
			return fault.Hostf("mounting %s: %w", m.target, err)
		}
	}
	// What is mounted below it later, daemons see that have some other directory hidden.
	if err := unix.Mount("", dir, "", unix.MS_SHARED, ""); err != nil {
		return fault.Hostf("sharing %s: %w", dir, err)
	}
	return mountCgroup2(dir)
}

// mountCgroup2 gives the sandbox a version 2 hierarchy where the host has none mounted.
func mountCgroup2(dir string) error {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	if strings.Contains(string(mounts), " cgroup2 ") {
		return nil
	}
	at := filepath.Join(dir, "cgroup2")
	if err := os.Mkdir(at, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("cgroup2", at, "cgroup2", 0, ""); err != nil {
		return fault.Hostf("mounting a cgroup version 2 hierarchy: %w", err)
	}
	return nil
}

// Enter is how a guest's process starts: before it becomes Path it joins the
// guest's control groups, so that none of its children can escape them.
type Enter struct {
	CgroupProcs []string // cgroup.procs files to write itself into
	Hide        []string // directories of which it sees an empty one in memory instead
	PIDs        bool     // in a PID namespace of its own: what it started ends with it
	Net         string   // path of a network namespace to enter, or ""
	Root        string   // new root directory; "" keeps the old one
	Dir         string   // working directory, in the new root
	Path        string
	Argv        []string
	Env         []string
}

// Command returns the command that does it. The caller sets its files and
// starts it from inside a sandbox.
func (e Enter) Command() (*exec.Cmd, error) {
	arg, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{enterArg, "--", string(arg)}
	// Ctrl-C in a terminal is for tare: a guest that ended of it too would be a
	// guest that died.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if len(e.Hide) > 0 {
		// Not by Unshareflags, with which Go makes every mount private.
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWNS
	}
	if e.PIDs {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWPID
	}
	return cmd, nil
}

func enter(arg string) error {
	var e Enter
	if err := json.Unmarshal([]byte(arg), &e); err != nil {
		return err
	}
	for _, file := range e.CgroupProcs {
		if err := os.WriteFile(file, []byte("0"), 0); err != nil {
			return err
		}
	}
	if e.Net != "" {
		if err := enterNetwork(e.Net); err != nil {
			return err
		}
	}
	if len(e.Hide) > 0 { // what is mounted in it stays in it
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
			return fmt.Errorf("mounts of its own: %w", err)
		}
	}
	for _, dir := range e.Hide {
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID, "mode=755"); err != nil {
			return fmt.Errorf("hiding %s: %w", dir, err)
		}
	}
	if e.Root != "" {
		if err := unix.Chroot(e.Root); err != nil {
			return fmt.Errorf("chroot %s: %w", e.Root, err)
		}
		if e.Dir == "" {
			e.Dir = "/"
		}
	}
	if e.Dir != "" {
		if err := os.Chdir(e.Dir); err != nil {
			return err
		}
	}
	if err := unix.Exec(e.Path, e.Argv, e.Env); err != nil {
		return fmt.Errorf("%s: %w", e.Path, err)
	}
	return nil
}

// enterNetwork takes this thread, which is the one that becomes the guest's
// process, into a network namespace.
func enterNetwork(path string) error {
	runtime.LockOSThread()
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(fd)
		err = unix.Setns(fd, unix.CLONE_NEWNET)
	}
	if err != nil {
		return fmt.Errorf("entering network namespace %s: %w", path, err)
	}
	return nil
}
