package libvirt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/digitalocean/go-libvirt"
	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
)

// guest is a domain that tare has created.
type guest struct {
	driver    Driver
	use       *system.Use
	site      *system.Site
	libvirt   *libvirt.Libvirt
	domain    libvirt.Domain
	virsh     []string // the command of virsh that creates it, for the record
	conn      net.Conn
	exited    <-chan struct{}
	log       string // saved by Close
	partition func() error
	disown    func() error
	once      sync.Once
	err       error
}

// ReturnDelay is that of system.Returner: Linux begins to report free pages after two seconds.
func (g *guest) ReturnDelay() time.Duration {
	if !g.driver.container() && g.site.Setting(options, system.OptionBalloon) == system.Reporting {
		return 3 * time.Second
	}
	return 0
}

func (d Driver) Create(ctx context.Context, s *system.Site) (system.Guest, error) {
	return d.begin(ctx, s, "")
}

// begin creates a domain, or restores the one that was saved in a file.
func (d Driver) begin(ctx context.Context, s *system.Site, saved string) (system.Guest, error) {
	use, err := d.daemon.Acquire(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	g := &guest{driver: d, use: use, site: s}
	if err := g.start(ctx, use.Dir(), saved); err != nil {
		g.Close() // completes the log
		if g.log != "" {
			err = fmt.Errorf("%w; its log ends: %s", err, strings.TrimSpace(g.log))
		}
		return nil, err
	}
	return g, nil
}

func (g *guest) start(ctx context.Context, dir, saved string) (err error) {
	s, d := g.site, g.driver
	if err := os.WriteFile(logFile(s), nil, 0o644); err != nil {
		return fault.Hostf("%w", err)
	}
	l, err := s.ListenAgent()
	if err != nil {
		return err
	}
	defer l.Close()
	v, err := d.describe(s, l.Path)
	if err != nil {
		return err
	}
	if !d.container() {
		g.disown = v.disown
		if err := v.own(); err != nil {
			return err
		}
	}
	text, err := v.xml()
	if err != nil {
		return err
	}
	if g.libvirt, err = connect(dir, d.uri); err != nil {
		return err
	}
	flags := libvirt.DomainStartAutodestroy // libvirt destroys the domain with our connection
	if d.container() {
		root, err := lockRoot(s.Userland.Tree, unix.LOCK_SH)
		if err != nil {
			return err
		}
		defer root.Close()
		if g.partition, err = s.Group.Layout().Partition(s.ID + ".partition"); err != nil {
			return err
		}
	} else {
		flags |= libvirt.DomainStartPaused // until it is in its group
	}
	if saved != "" {
		g.virsh = []string{"restore", saved, "--paused"}
		err = g.restore(ctx, saved)
	} else {
		g.virsh = []string{"create", text}
		err = bounded(func() (err error) {
			g.domain, err = g.libvirt.DomainCreateXML(text, flags)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("starting the domain: %w", err)
	}
	pids, err := g.processes()
	if err != nil {
		return err
	}
	if g.exited, err = system.WatchProcess(pids[0]); err != nil {
		return err
	}
	for _, pid := range pids {
		if err := s.Group.Add(pid); err != nil {
			return err
		}
	}
	if !d.container() {
		if err := g.to(g.libvirt.DomainResume, libvirt.DomainRunning); err != nil {
			return err
		}
	}
	g.conn, err = l.Accept(ctx, g.exited)
	return err
}

// processes returns the domain's processes on the host just after its start. The domain ends when
// the first of them ends.
func (g *guest) processes() ([]int, error) {
	if !g.driver.container() {
		file := filepath.Join(g.driver.daemon.Root(), "run/libvirt/qemu", domainName(g.site)+".pid")
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fault.Hostf("the domain's QEMU: %w", err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			return nil, fault.Hostf("the domain's QEMU: %s: %w", file, err)
		}
		return []int{pid}, nil
	}
	controller := int(g.domain.ID)
	pids := []int{controller}
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", controller))
	for _, file := range files {
		b, _ := os.ReadFile(file)
		for _, word := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	if len(pids) < 2 {
		return nil, fault.Guestf("the container has ended at once")
	}
	return pids, nil
}

// CapIO has libvirt throttle a machine's data disk. A container's I/O is capped by its control group.
func (g *guest) CapIO(_ context.Context, c model.IOCaps) error {
	if g.driver.container() {
		return g.site.CapIO()
	}
	var params []libvirt.TypedParam
	for name, value := range map[string]int64{
		"read_bytes_sec": c.Read, "write_bytes_sec": c.Write, "read_iops_sec": c.ReadOps, "write_iops_sec": c.WriteOps,
	} {
		params = append(params, libvirt.TypedParam{Field: name, Value: *libvirt.NewTypedParamValueUllong(uint64(value))})
	}
	disk := buses[g.site.Setting(options, system.OptionDisk)].DataTarget
	return bounded(func() error {
		return g.libvirt.DomainSetBlockIOTune(g.domain, disk, params, uint32(libvirt.DomainAffectLive))
	})
}

func (g *guest) Conn() net.Conn          { return g.conn }
func (g *guest) Exited() <-chan struct{} { return g.exited }

func (g *guest) CommandLine() []string {
	return append(g.driver.daemon.CommandLine(), append([]string{"virsh", "-c", g.driver.uri}, g.virsh...)...)
}

// Freeze stops a machine's vCPUs, and with them its clocks. For a container, tare freezes the
// control group: libvirt uses the freezer of version 1, which makes frozen processes unkillable.
// libvirtd, which has nothing to do meanwhile, rests while the guest is frozen.
func (g *guest) Freeze(context.Context) error {
	if err := g.pause(); err != nil {
		return err
	}
	return g.use.Rest()
}

func (g *guest) pause() error {
	if g.driver.container() {
		return g.site.Group.Freeze()
	}
	return g.to(g.libvirt.DomainSuspend, libvirt.DomainPaused)
}

func (g *guest) Thaw(context.Context) error {
	if err := g.use.Wake(); err != nil {
		return err
	}
	if g.driver.container() {
		return g.site.Group.Thaw()
	}
	return g.to(g.libvirt.DomainResume, libvirt.DomainRunning)
}

// to changes the domain's state and checks that it has changed.
func (g *guest) to(change func(libvirt.Domain) error, want libvirt.DomainState) error {
	return changed(g.libvirt, g.domain, change, want)
}

// logBytes is how many bytes are kept of each log file.
const logBytes = 16 << 10

func (g *guest) Log() string {
	if g.log != "" {
		return g.log
	}
	kind := "qemu"
	if g.driver.container() {
		kind = "lxc"
	}
	var text strings.Builder
	for _, file := range []string{
		filepath.Join(g.driver.daemon.Root(), "var/log/libvirt", kind, domainName(g.site)+".log"), logFile(g.site),
	} {
		if b, err := os.ReadFile(file); err == nil {
			text.Write(b[max(0, len(b)-logBytes):])
		}
	}
	return text.String()
}

func (g *guest) Close() error {
	g.once.Do(func() {
		if g.conn != nil {
			g.conn.Close()
		}
		g.site.Group.Thaw() // otherwise its controller could not end
		awake := g.use.Wake()
		if g.libvirt != nil && awake == nil {
			// The domain may have ended by itself. The removal of the group kills the processes
			// that this leaves.
			bounded(func() error { return g.libvirt.DomainDestroy(g.domain) })
			bounded(g.libvirt.Disconnect)
		}
		g.log = g.Log()
		errs := []error{awake, g.site.Group.Remove()}
		if g.partition != nil {
			errs = append(errs, g.partition())
		}
		if g.disown != nil {
			errs = append(errs, g.disown())
		}
		if g.driver.container() {
			errs = append(errs, cleanRoot(g.site.Userland.Tree))
		}
		g.err = errors.Join(append(errs, g.use.Release())...)
	})
	return g.err
}
