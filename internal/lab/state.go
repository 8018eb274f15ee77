package lab

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// The files in a lab's directory, beside the sockets of its ports.
const (
	lockFile    = "lock" // held by QEMU, and by the tare that starts it
	stateFile   = "state.json"
	consoleFile = "console.log"
	qemuLog     = "qemu.log"
	exchangeDir = "exchange"
)

func dirOf(stateDir string) string { return filepath.Join(stateDir, "lab") }

func (l *Lab) path(name string) string { return filepath.Join(l.dir, name) }

// state is what other tare processes must know of a lab.
type state struct {
	Kind        Kind      `json:"kind"`
	CPUs        int       `json:"cpus"`
	MemoryBytes int64     `json:"memory_bytes"`
	PID         int       `json:"pid"` // of QEMU
	Starter     int       `json:"starter"`
	Started     time.Time `json:"started"`
	// Kept: the lab must stay when the tare that started it has ended.
	Kept bool `json:"kept"`
}

// take creates the lab's directory. It returns an error if a lab is up already.
func (l *Lab) take() error {
	if err := Sweep(l.config.StateDir); err != nil {
		return err
	}
	for {
		// Nobody else may connect to its sockets or change its files.
		if err := os.MkdirAll(l.dir, 0o700); err != nil {
			return fault.Hostf("%w", err)
		}
		lock, held, err := lockDir(l.dir)
		switch {
		case errors.Is(err, fs.ErrNotExist): // somebody sweeps it
			continue
		case err != nil:
			return err
		case held:
			return fault.WithRemedy(fault.Hostf("a lab is already up: %s", describe(l.dir)), "tare lab down")
		}
		l.lock = lock
		if err := os.MkdirAll(l.path(exchangeDir), 0o700); err != nil {
			return fault.Hostf("%w", err)
		}
		return nil
	}
}

// lockDir locks a lab's directory; held reports that another process holds the lock. The error is
// fs.ErrNotExist if the directory is not there, or is no longer.
func lockDir(dir string) (lock *os.File, held bool, err error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, false, fault.Hostf("%w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		// Its last holder may have removed the directory before it released the lock.
		var ours, there os.FileInfo
		if ours, err = f.Stat(); err == nil {
			there, err = os.Lstat(f.Name())
		}
		if err == nil && !os.SameFile(ours, there) {
			err = fs.ErrNotExist
		}
		if err == nil {
			return f, false, nil
		}
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, true, nil
	}
	return nil, false, fault.Hostf("%s: %w", f.Name(), err)
}

func (l *Lab) save(kept bool) error {
	c := l.config
	b, err := json.Marshal(state{c.Kind, c.CPUs, c.MemoryBytes, l.pid, os.Getpid(), time.Now(), kept})
	if err != nil {
		return err
	}
	if err := os.WriteFile(l.path(stateFile), b, 0o600); err != nil {
		return fault.Hostf("%w", err)
	}
	return nil
}

// Keep makes the lab stay when this process ends.
func (l *Lab) Keep() error { return l.save(true) }

func readState(dir string) (state, error) {
	var s state
	b, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return s, fault.Hostf("the lab's state: %w", err)
	}
	return s, nil
}

func describe(dir string) string {
	s, err := readState(dir)
	if err != nil {
		return "it is being started"
	}
	return fmt.Sprintf("%s with %d CPUs and %d MiB, since %s", s.Kind, s.CPUs, s.MemoryBytes>>20,
		s.Started.Format(time.DateTime))
}

// ErrNone is in the chain of Find's error if no lab is up.
var ErrNone = errors.New("no lab is up")

// Find returns the lab that is up. The caller need not close it.
func Find(stateDir string) (*Lab, error) {
	none := fault.WithRemedy(fault.Campaignf("%w", ErrNone), "tare lab up xen|kvm|linux")
	dir := dirOf(stateDir)
	if _, err := os.Stat(dir); err != nil {
		return nil, none
	}
	lock, held, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	if !held { // its QEMU is gone
		lock.Close()
		return nil, none
	}
	s, err := readState(dir)
	if err != nil {
		return nil, err
	}
	return &Lab{config: Config{Kind: s.Kind, CPUs: s.CPUs, MemoryBytes: s.MemoryBytes, StateDir: stateDir}, dir: dir,
		pid: s.PID}, nil
}

// Abandoned returns the directory of a lab that a dead tare has left behind, or "" if there is
// none: its QEMU has ended, or it runs but was not kept.
func Abandoned(stateDir string) string {
	l := abandoned(stateDir)
	if l == nil {
		return ""
	}
	if l.lock != nil {
		l.lock.Close()
	}
	return l.dir
}

// abandoned returns the lab that Abandoned is about, or nil. If its QEMU has ended, it is locked, so
// that nobody starts another in its directory. A directory that cannot be locked or read is not
// abandoned.
func abandoned(stateDir string) *Lab {
	dir := dirOf(stateDir)
	if _, err := os.Stat(dir); err != nil {
		return nil
	}
	lock, held, err := lockDir(dir)
	if err != nil {
		return nil
	}
	s, err := readState(dir)
	if !held {
		return &Lab{dir: dir, pid: s.PID, lock: lock}
	}
	if err == nil && !s.Kept && s.running() && errors.Is(unix.Kill(s.Starter, 0), unix.ESRCH) {
		return &Lab{dir: dir, pid: s.PID}
	}
	return nil
}

// Sweep ends and removes an abandoned lab, if there is one.
func Sweep(stateDir string) error {
	if l := abandoned(stateDir); l != nil {
		return l.Close()
	}
	return nil
}

// running reports whether the process is still the lab's QEMU.
func (s state) running() bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.PID))
	return s.PID > 0 && err == nil && strings.Contains(string(b), "tare-lab")
}

// kill kills QEMU and returns when it has ended. Everything that the machine has written is removed
// with it, so it need not be shut down.
func (l *Lab) kill() error {
	if l.exited != nil {
		unix.Kill(l.pid, unix.SIGKILL)
		<-l.exited
		return nil
	}
	if !(state{PID: l.pid}).running() {
		return nil
	}
	fd, err := unix.PidfdOpen(l.pid, 0)
	if err != nil {
		return nil // it has just ended
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	if err := waitEnd(fd, 30*time.Second); err != nil {
		return fmt.Errorf("QEMU (pid %d): %w", l.pid, err)
	}
	return nil
}

// waitEnd waits for the end of a process, which need not be a child; pidfd is a descriptor of it.
func waitEnd(pidfd int, timeout time.Duration) error {
	for deadline := time.Now().Add(timeout); ; {
		left := max(time.Until(deadline), 0)
		// The descriptor is readable when the process has ended.
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(left.Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR): // Go's runtime sends signals to its own threads
		case err != nil:
			return err
		case n > 0:
			return nil
		case left == 0:
			return fmt.Errorf("it has not ended after %v", timeout)
		}
	}
}

// machineFiles are the files that the machine boots from, and its disks.
type machineFiles struct {
	xen, kernel, initramfs string
	root, data, userland   string
}

// prepare creates the machine's files in the lab's directory.
func (l *Lab) prepare(ctx context.Context) (machineFiles, error) {
	c := l.config
	f := machineFiles{kernel: c.Host.Vmlinux, root: c.Host.Disk, userland: c.Userland.Disk, data: l.path("disk")}
	if f.kernel == "" {
		return f, fault.Hostf("the lab's image has no uncompressed kernel")
	}
	var err error
	if f.initramfs, err = c.Host.InitramfsWith(c.Agent, c.Kind.modules()...); err != nil {
		return f, err
	}
	if c.Kind == Xen {
		f.xen = l.path("xen")
		if err := unpackXen(c.Host.Tree, f.xen); err != nil {
			return f, fault.Hostf("the hypervisor: %w", err)
		}
	}
	disk, err := os.Create(f.data)
	if err == nil {
		err = disk.Truncate(c.DiskBytes)
		disk.Close()
	}
	if err != nil {
		return f, fault.Hostf("the lab's disk: %w", err)
	}
	if out, err := exec.CommandContext(ctx, "mkfs.ext4", "-q", "-F", f.data).CombinedOutput(); err != nil {
		return f, fault.Hostf("the lab's disk: mkfs.ext4: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return f, nil
}

// unpackXen unpacks the hypervisor from the tree of the lab's image.
func unpackXen(tree, to string) error {
	found, err := filepath.Glob(filepath.Join(tree, "boot/xen-*.gz"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("%s/boot must have one hypervisor, but has %d", tree, len(found))
	}
	in, err := os.Open(found[0])
	if err != nil {
		return err
	}
	defer in.Close()
	unpacked, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, unpacked)
	return errors.Join(err, out.Close())
}
