// Package vminit is the agent as process 1 of a virtual machine: it loads the drivers, mounts the
// userland and the data volume, and serves the host over a virtio-serial port or a serial line.
// There is no other init, so everything that runs in the guest was started by tare.
//
// The kernel's command line describes the machine's devices:
//
//	tare.root=vda tare.data=vdb:ext4 tare.swap=vdc tare.port=tare.agent tare.net=eth0,10.213.0.2/24,10.213.0.1
//
// or tare.tty=ttyS0 instead of the port; see tty. The second address of the network is that of
// the gateway and is optional. With tare.stay=1 the machine outlives its host; see stay.
package vminit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent/server"
)

// deviceWait is how long a device may take to appear; an emulated machine on a busy host is slow.
const deviceWait = 60 * time.Second

// Main sets the machine up, serves the host, and resets the machine. It does not return.
func Main() {
	err := setUpAndServe()
	if err != nil {
		// The console is the guest's log.
		fmt.Fprintln(os.Stderr, "tare-agent: init:", err)
	}
	unix.Sync()
	unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
	select {}
}

func setUpAndServe() error {
	for _, m := range []mount{
		{"proc", "/proc", "proc", 0, ""},
		{"sysfs", "/sys", "sysfs", 0, ""},
		{"devtmpfs", "/dev", "devtmpfs", 0, ""},
	} {
		// EBUSY: the kernel has mounted it already.
		if err := m.do(); err != nil && !errors.Is(err, unix.EBUSY) {
			return err
		}
	}
	cmdline, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return err
	}
	args := parameters(string(cmdline))
	if err := loadModules("/modules"); err != nil {
		return err
	}
	if args["root"] != "" { // absent when tare probes the hypervisor
		if err := mountRoot(args); err != nil {
			return err
		}
		if err := setUpNetwork(args["net"]); err != nil {
			return err
		}
	}
	if args["tty"] != "" {
		conn, err := openTTY(args["tty"])
		if err != nil {
			return err
		}
		return server.Serve(context.Background(), conn, server.DataDir)
	}
	conn, err := openPort(args["port"])
	if err != nil {
		return err
	}
	if args["stay"] != "" {
		return stay(conn.File)
	}
	return server.Serve(context.Background(), conn, server.DataDir)
}

// parameters returns the tare.* words of a kernel command line.
func parameters(cmdline string) map[string]string {
	args := map[string]string{}
	for _, word := range strings.Fields(cmdline) {
		if kv, ok := strings.CutPrefix(word, "tare."); ok {
			k, v, _ := strings.Cut(kv, "=")
			args[k] = v
		}
	}
	return args
}

// loadModules loads all modules in dir in lexical order, which must be the order of their
// dependencies.
func loadModules(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.ko"))
	if err != nil {
		return err
	}
	slices.Sort(files)
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		err = unix.FinitModule(int(f.Fd()), "", 0)
		f.Close()
		// A module may be built into the kernel, or its device absent.
		if err != nil && !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.ENODEV) {
			fmt.Fprintf(os.Stderr, "tare-agent: init: module %s: %v\n", filepath.Base(name), err)
		}
	}
	return nil
}

type mount struct {
	source, target, fstype string
	flags                  uintptr
	data                   string
}

func (m mount) do() error {
	os.MkdirAll(m.target, 0o755) // fails on a read-only root, where it exists already
	if err := unix.Mount(m.source, m.target, m.fstype, m.flags, m.data); err != nil {
		return fmt.Errorf("mounting %s on %s: %w", m.source, m.target, err)
	}
	return nil
}

// mountRoot makes the shared userland the root, read-only, with the same writable directories as in
// every other arm.
func mountRoot(args map[string]string) error {
	const root = "/newroot"
	if err := waitFor("/dev/" + args["root"]); err != nil {
		return err
	}
	mounts := []mount{{"/dev/" + args["root"], root, "ext4", unix.MS_RDONLY, ""}}
	for _, dir := range []string{"/proc", "/sys", "/dev"} {
		mounts = append(mounts, mount{dir, root + dir, "", unix.MS_MOVE, ""})
	}
	for _, dir := range []string{"/tmp", "/run", "/dev/shm"} {
		mounts = append(mounts, mount{"tmpfs", root + dir, "tmpfs", 0, "mode=1777"})
	}
	for _, m := range mounts {
		if err := m.do(); err != nil {
			return err
		}
	}
	if data := args["data"]; data != "" {
		dev, fs, _ := strings.Cut(data, ":")
		// /dev has been moved by now.
		if err := waitFor(root + "/dev/" + dev); err != nil {
			return err
		}
		if err := mountData(root+"/dev/"+dev, root+"/data", fs); err != nil {
			return err
		}
	}
	if swap := args["swap"]; swap != "" {
		if err := waitFor(root + "/dev/" + swap); err != nil {
			return err
		}
		if err := swapOn(root + "/dev/" + swap); err != nil {
			return err
		}
	}
	for from, to := range map[string]string{"/proc/self/fd": "fd", "/proc/self/fd/0": "stdin", "/proc/self/fd/1": "stdout",
		"/proc/self/fd/2": "stderr"} {
		os.Symlink(from, root+"/dev/"+to)
	}
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("moving the root: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return err
	}
	return os.Chdir("/")
}

// mountData mounts the data volume on dir, or if it has no file system, a directory in memory with its device.
func mountData(device, dir, fs string) error {
	if fs != "none" { // model.NoFS, which would make the agent larger
		return mount{device, dir, fs, 0, ""}.do()
	}
	var st unix.Stat_t
	if err := unix.Stat(device, &st); err != nil {
		return fmt.Errorf("%s: %w", device, err)
	}
	if err := (mount{"tmpfs", dir, "tmpfs", 0, "size=16m,mode=755"}).do(); err != nil {
		return err
	}
	if err := unix.Mknod(filepath.Join(dir, "device"), unix.S_IFBLK|0o600, int(st.Rdev)); err != nil {
		return fmt.Errorf("a node of the data volume's device: %w", err)
	}
	return nil
}

func waitFor(path string) error {
	for end := time.Now().Add(deviceWait); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return nil
		} else if time.Now().After(end) {
			return fmt.Errorf("%s did not appear within %v", path, deviceWait)
		}
	}
}

// openPort opens the virtio-serial port with this name. Only one process can have a port open.
func openPort(name string) (*portConn, error) {
	for end := time.Now().Add(deviceWait); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		names, _ := filepath.Glob("/sys/class/virtio-ports/*/name")
		for _, file := range names {
			b, err := os.ReadFile(file)
			if err != nil || strings.TrimSpace(string(b)) != name {
				continue
			}
			f, err := os.OpenFile("/dev/"+filepath.Base(filepath.Dir(file)), os.O_RDWR, 0)
			if err != nil {
				return nil, err
			}
			return &portConn{f}, nil
		}
	}
	return nil, fmt.Errorf("no virtio-serial port %q", name)
}

// portConn makes a net.Conn of a character device.
type portConn struct{ *os.File }

func (portConn) LocalAddr() net.Addr  { return portAddr{} }
func (portConn) RemoteAddr() net.Addr { return portAddr{} }

type portAddr struct{}

func (portAddr) Network() string { return "virtio-serial" }
func (portAddr) String() string  { return "host" }
