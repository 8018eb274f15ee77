// Package sandbox ensures that nothing outlives tare. Everything that starts guests runs in a new
// PID namespace and a new mount namespace. When the namespace's first process ends, for whatever
// reason, the kernel kills every process in it and removes every mount; loop devices detach with
// their last user.
//
//	tare (outside, waits) ── tare (process 1, reaps orphans) ── tare (inside, does the work)
//
// If one of the three is killed, those to the right of it end, too.
//
// Namespaces do not clean up the empty directories of control groups. The outer process removes
// them; if that is killed, too, the next run or `tare gc` does.
package sandbox

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/moby/sys/capability"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

const (
	// insideVar tells the re-executed program that it is inside; its value is the path of the
	// private directory.
	insideVar = "TARE_INSIDE"
	// enterArg is the program's argv[0] when it runs as the stub that Enter describes.
	enterArg = "tare-enter"
)

// init does not return if this process is the stub of Enter. It does not wait for main, before which the
// packages with large tables are initialized: every start of a guest would pay for that.
func init() {
	if len(os.Args) == 3 && os.Args[0] == enterArg {
		err := enter(os.Args[2])
		fmt.Fprintln(os.Stderr, "tare: starting a guest's process:", err)
		os.Exit(127)
	}
}

// Intercept must be the first call in main, and in TestMain if tests start guests. It does not
// return if this process is the sandbox's first process.
func Intercept() {
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

// Dir is the sandbox's private directory, in memory; "" outside a sandbox.
func Dir() string { return os.Getenv(insideVar) }

// Run runs this program again, with the same arguments, inside a sandbox, and returns its exit
// status. It forwards interrupts to the program inside, which decides what to do. If this process
// is killed, the sandbox ends with it. dir is an existing directory; the sandbox sees an empty one
// in memory in its place.
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
	// Pdeathsig is sent when the forking thread ends, not the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, fault.WithRemedy(fault.Hostf("starting tare in new namespaces: %w", err),
			"tare needs CAP_SYS_ADMIN and PID and mount namespaces; inside a container, run the container privileged")
	}
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				// A terminal sends its interrupt to the sandbox, too.
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

// runInit is the sandbox's first process: it starts this program once more, reaps orphans, and ends
// when that program ends.
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
			if s != os.Interrupt { // the terminal has sent that already
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

// enterRootGroups moves this process to the root of every control group hierarchy, like the host's
// init. Runtimes such as LXC take the paths of the groups that they make relative to the group of
// process 1. The work is done by another process, so it does not matter where this one is
// accounted.
func enterRootGroups() {
	// A failure does no harm unless the runtime is LXC.
	mounts, _ := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	for _, m := range mounts {
		os.WriteFile(filepath.Join(m.Mountpoint, "cgroup.procs"), []byte("0"), 0)
	}
}

// HostProc is the path in a sandbox of the host's own /proc, which shows the processes and kernel
// threads outside.
func HostProc() string { return hostProc(Dir()) }

func hostProc(dir string) string { return filepath.Join(dir, "host-proc") }

// prepare keeps mounts from reaching the host, and mounts an in-memory file system over dir and the sandbox's own
// /proc. What the host unmounts meanwhile is also unmounted here: else its device would be busy until tare ends.
func prepare(dir string) error {
	for _, m := range []struct {
		source, target, fstype string
		flags                  uintptr
	}{
		{"", "/", "", unix.MS_REC | unix.MS_SLAVE},
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
	// Shared, so that a daemon with hidden directories still sees later mounts below dir.
	if err := unix.Mount("", dir, "", unix.MS_SHARED, ""); err != nil {
		return fault.Hostf("sharing %s: %w", dir, err)
	}
	return mountCgroup2(dir)
}

// mountCgroup2 mounts a version 2 hierarchy in the sandbox if the host has none mounted.
func mountCgroup2(dir string) error {
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup2"))
	if err != nil || len(mounts) > 0 {
		return err
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

// Enter describes how a guest's process is confined before it executes Path. cgroup.Group.Start puts it
// into its control groups.
type Enter struct {
	Hide []string // directories to replace by empty ones in memory
	PIDs bool     // run in a new PID namespace: processes that it started end with it
	IPC  bool     // run in a new IPC namespace: System V memory that it leaves ends with it
	Net  string   // path of a network namespace to enter, or ""
	Jail *Jail    // where it is confined; nil: nowhere. Not with Hide, PIDs or Root
	Tree *Tree    // of the program, if it is not the host's. Not with Root
	Root string   // new root directory; "": unchanged
	Dir  string   // working directory, inside Root
	// Drop are capabilities that the process and its children can never have.
	Drop []capability.Cap
	// Lend are capabilities that the program has, but nothing that it executes: a runtime needs them to make a guest.
	Lend []capability.Cap
	// Mark is a descriptor on which the caller is told when the program is executed, see ReadMark. The
	// program does not get it. 0: none.
	Mark int
	Path string
	Argv []string
	Env  []string
}

// Command returns the command that does this; when ctx ends, it is killed, as one of exec.CommandContext. The caller
// sets its files and starts it from inside a sandbox.
func (e Enter) Command(ctx context.Context) *exec.Cmd {
	arg, err := json.Marshal(e)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = []string{enterArg, "--", string(arg)}
	// Its own process group, since Ctrl-C in a terminal is for tare: a guest that ended because of
	// it would count as a guest that died.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if len(e.Hide) > 0 || e.Tree != nil {
		// Not with Unshareflags, with which Go makes every mount private.
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWNS
	}
	if e.PIDs {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWPID
	}
	if e.IPC {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWIPC
	}
	if e.Jail != nil {
		cmd.SysProcAttr.Cloneflags |= e.Jail.cloneflags(e.Net)
	}
	return cmd
}

func enter(arg string) error {
	var e Enter
	if err := json.Unmarshal([]byte(arg), &e); err != nil {
		return err
	}
	if e.Mark > 0 {
		unix.CloseOnExec(e.Mark)
	}
	if e.Net != "" {
		if err := enterNetwork(e.Net); err != nil {
			return err
		}
	}
	if e.Jail != nil {
		runtime.LockOSThread()
		if err := e.Jail.enter(e.Tree); err != nil {
			return fmt.Errorf("confining it: %w", err)
		}
	}
	if (len(e.Hide) > 0 || e.Tree != nil) && e.Jail == nil { // keeps its mounts in its own namespace
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
			return fmt.Errorf("separating its mounts: %w", err)
		}
	}
	if e.Tree != nil && e.Jail == nil {
		if err := e.Tree.enter(); err != nil {
			return fmt.Errorf("entering the tools tree: %w", err)
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
		e.Dir = cmp.Or(e.Dir, "/")
	}
	if e.Dir != "" {
		if err := os.Chdir(e.Dir); err != nil {
			return err
		}
	}
	// The limit is one of the thread that executes the program.
	runtime.LockOSThread()
	if err := lend(e.Lend); err != nil {
		return fmt.Errorf("lending capabilities: %w", err)
	}
	if err := capability.DropBound(e.Drop...); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	if e.Mark > 0 {
		if err := writeMark(e.Mark); err != nil {
			return err
		}
	}
	if err := unix.Exec(e.Path, e.Argv, e.Env); err != nil {
		return fmt.Errorf("%s: %w", e.Path, err)
	}
	return nil
}

// lend drops these capabilities, but for the next program: root's program has those that are inheritable, whatever the
// bounding set is (capabilities(7), transformation of capabilities during execve).
func lend(caps []capability.Cap) error {
	if len(caps) == 0 {
		return nil
	}
	own, err := capability.NewPid2(0)
	if err == nil {
		err = own.Load()
	}
	if err != nil {
		return err
	}
	for _, c := range caps {
		if own.Get(capability.PERMITTED, c) {
			own.Set(capability.INHERITABLE, c)
		}
	}
	if err := own.Apply(capability.CAPS); err != nil {
		return err
	}
	return capability.DropBound(caps...)
}

// Mark is what the process of an Enter notes right before it executes its program.
type Mark struct {
	At  int64         // the host's CLOCK_MONOTONIC in ns
	CPU time.Duration // CPU time that the process has used since it was made
}

// writeMark writes a Mark to a descriptor.
func writeMark(fd int) error {
	var m Mark
	for _, c := range []struct {
		clock int32
		ns    *int64
	}{{unix.CLOCK_PROCESS_CPUTIME_ID, (*int64)(&m.CPU)}, {unix.CLOCK_MONOTONIC, &m.At}} {
		var t unix.Timespec
		if err := unix.ClockGettime(c.clock, &t); err != nil {
			return err
		}
		*c.ns = t.Nano()
	}
	b, err := binary.Append(nil, binary.NativeEndian, m)
	if err == nil {
		_, err = unix.Write(fd, b)
	}
	return err
}

// ReadMark returns the mark of an Enter. It waits for it, and returns an error if the process ends before.
func ReadMark(r io.Reader) (m Mark, err error) {
	err = binary.Read(r, binary.NativeEndian, &m)
	return m, err
}

// enterNetwork moves this thread, which will execute the guest's process, into a network namespace.
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
