package system

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/sandbox"
	"github.com/tare-bench/tare/internal/volume"
)

// startTimeout is how long a guest may take until its agent answers. An emulated machine boots in
// about ten seconds on an idle host.
const startTimeout = 3 * time.Minute

// Machine is a guest with everything that was created for it.
type Machine struct {
	Driver Driver
	Site   *Site
	Guest  Guest
	Agent  *agent.Client
	Hello  agent.Hello
	// StartTime is the time from the start of Create until the agent answered.
	StartTime time.Duration
	// Requested is when Create began and Answered when the agent had answered, on the host's
	// CLOCK_MONOTONIC in ns.
	Requested, Answered int64
	// Restored: Guest is the saved one, restored, and Requested and Answered are those of the restoration.
	Restored bool
	// StopTime is how long Close took until nothing of the guest ran any more.
	StopTime time.Duration
	// Confinement is how the host's kernel confines the guest; nil: not known, or not by the kernel.
	Confinement *model.Confinement

	frozen  bool
	closed  bool
	capped  float64 // CPU cap in force; 0: none
	savedIn string  // where Save puts the guest's state
}

// Launch creates the guest that ask describes, with its control group and its data volume, and waits for
// its agent. The caller closes the machine.
func Launch(ctx context.Context, d Driver, h *Host, name string, ask Request) (*Machine, error) {
	m, err := Prepare(ctx, d, h, name, ask)
	if err != nil {
		return nil, err
	}
	if err = m.Start(ctx); err == nil {
		err = m.Settle(ctx)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Prepare makes what a guest is created on: its control group, its data volume and its port on the
// network. The caller starts the machine, or closes it.
func Prepare(ctx context.Context, d Driver, h *Host, name string, ask Request) (*Machine, error) {
	if h.Userland == nil && !d.Capabilities().InMemory {
		return nil, fault.Hostf("the userland image is not built")
	}
	m := &Machine{Driver: d, Site: &Site{ID: h.RunID + "-" + name, User: newUser(), Userland: h.Userland, Request: ask}}
	if err := m.prepare(ctx, h); err != nil {
		return nil, m.giveUp(ctx, "starting", err)
	}
	return m, nil
}

// Start creates the guest of a prepared machine and waits for its agent. After an error the machine
// is closed.
func (m *Machine) Start(ctx context.Context) error { return m.giveUp(ctx, "starting", m.start(ctx)) }

// Settle reads how a started guest is confined, and applies what its control group gets only now: a
// capped boot takes minutes on some systems and measures nothing. After an error the machine is
// closed.
func (m *Machine) Settle(ctx context.Context) error { return m.giveUp(ctx, "starting", m.settle(ctx)) }

// giveUp closes a machine that failed in doing this, and returns why with the end of its log. It does nothing if err
// is nil.
func (m *Machine) giveUp(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	left := m.Close()
	log := ""
	if m.Guest != nil { // closed above, so its log is complete
		if log = strings.TrimSpace(m.Guest.Log()); log != "" {
			log = "\nits log ends:\n" + lastLines(log, 15)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// %w keeps the kind of fault.
	err = fmt.Errorf("%s %s guest %s: %w%s", doing, m.Driver.Name(), m.Site.ID, err, log)
	if left != nil {
		err = fmt.Errorf("%w\nand what was created for it could not be removed: %v", err, left)
	}
	return err
}

func (m *Machine) prepare(ctx context.Context, h *Host) error {
	s, caps := m.Site, m.Driver.Capabilities()
	s.Dir = filepath.Join(h.Dir, "guests", s.ID)
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return fault.Hostf("%w", err)
	}
	m.savedIn = filepath.Join(s.Dir, "saved")
	if caps.Bare() {
		return nil
	}
	m.savedIn = filepath.Join(h.Volumes(), s.ID+".saved") // on a disk
	return s.prepare(ctx, h, caps)
}

func (m *Machine) start(ctx context.Context) (err error) {
	m.Requested = agent.Monotonic()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if m.Guest, err = m.Driver.Create(ctx, m.Site); err != nil {
		return err
	}
	if err := m.greet(ctx); err != nil {
		return err
	}
	m.Answered = agent.Monotonic()
	m.StartTime = time.Duration(m.Answered - m.Requested)
	return nil
}

func (m *Machine) settle(ctx context.Context) (err error) {
	s, f := m.Site, m.Site.Flavor
	if m.Confinement, err = m.confinement(); err != nil {
		return err
	}
	if s.Group != nil {
		if err := s.Group.Confine(f.CPUs.String()); err != nil {
			return err
		}
	}
	// Some systems start the agent before it is in the group, where it counts other CPUs.
	if m.Hello, err = m.Agent.Describe(ctx); err != nil {
		return err
	}
	if err := m.capIO(ctx); err != nil {
		return err
	}
	if f.Net != (model.NetCap{}) && s.Port != nil {
		if err := s.Port.Limit(f.Net); err != nil {
			return err
		}
	}
	if f.CPUCap > 0 {
		return m.Cap(ctx, f.CPUCap)
	}
	return nil
}

// capIO applies the flavor's caps of I/O, if it has any, by the guest's VMM or by its control group.
func (m *Machine) capIO(ctx context.Context) error {
	if m.Site.Flavor.IO == (model.IOCaps{}) {
		return nil
	}
	if c, ok := m.Guest.(IOCapper); ok {
		return c.CapIO(ctx, m.Site.Flavor.IO)
	}
	return m.Site.CapIO()
}

// Cap limits the guest to this many CPUs' worth of time, by the guest's own mechanism or by its
// control group; it does nothing for a guest that has neither.
func (m *Machine) Cap(ctx context.Context, cpus float64) error {
	m.capped = cpus
	if c, ok := m.Guest.(Capper); ok {
		return c.Cap(ctx, cpus)
	}
	if m.Site.Group == nil {
		return nil
	}
	return m.Site.Group.Update(cgroup.Limits{CPUCap: cpus})
}

// greet connects to the agent. It returns early if the guest ends first.
func (m *Machine) greet(ctx context.Context) (err error) {
	m.Hello, err = m.answer(ctx, func(ctx context.Context) (hello agent.Hello, err error) {
		m.Agent, hello, err = agent.Connect(ctx, m.Guest.Conn())
		return hello, err
	})
	return err
}

// Usage returns the CPU time that the guest has cost the host: its own and that of every process
// that runs on its behalf.
func (m *Machine) Usage() (cgroup.Usage, error) {
	if g, ok := m.Guest.(Meter); ok {
		return g.Usage()
	}
	if m.Site.Group == nil { // a guest in memory that is not created yet
		return cgroup.Usage{}, cgroup.ErrUnknown
	}
	return m.Site.Group.Usage()
}

// Written returns the number of bytes written to the guest's data volume so far.
func (m *Machine) Written() (int64, error) {
	if g, ok := m.Guest.(Meter); ok {
		return g.Written()
	}
	if m.Site.Volume == nil {
		return 0, cgroup.ErrUnknown
	}
	n, err := m.Site.Volume.Written()
	if errors.Is(err, volume.ErrNotCounted) {
		return 0, cgroup.ErrUnknown
	}
	return n, err
}

// IOCaps are those of the guest's flavor.
func (m *Machine) IOCaps() model.IOCaps { return m.Site.Flavor.IO }

// Traffic returns what has passed between the guest and its data volume's device so far. Its requests are those that
// a cap of operations counts.
func (m *Machine) Traffic() (model.Traffic, error) {
	if m.Site.Volume == nil {
		return model.Traffic{}, cgroup.ErrUnknown
	}
	t, err := m.Site.Volume.Traffic()
	if errors.Is(err, volume.ErrNotCounted) {
		return model.Traffic{}, cgroup.ErrUnknown
	}
	if m.Driver.Capabilities().IOCap != GroupIOCap {
		t.Writes -= t.Flushes // a VMM flushes without data, which it does not throttle
	}
	return t, err
}

// Memory returns how much of the host's memory the guest and the processes that serve it hold.
func (m *Machine) Memory() (cgroup.Memory, error) {
	if g, ok := m.Guest.(MemoryMeter); ok {
		return g.Memory()
	}
	if _, ok := m.Guest.(Meter); ok {
		return cgroup.Memory{}, cgroup.ErrUnknown
	}
	return m.Site.Group.Memory()
}

// PeakMemory is the most memory in bytes that the control group of the guest has been charged with so
// far, page cache included; cgroup.ErrUnknown where no group holds the guest or the kernel does not say.
func (m *Machine) PeakMemory() (int64, error) {
	if _, ok := m.Guest.(Meter); ok || m.Site.Group == nil {
		return 0, cgroup.ErrUnknown
	}
	return m.Site.Group.PeakMemory()
}

// SharesClock reports whether the guest reads the host's monotonic clock. CRIU gives a restored guest one of its own,
// which continues from when the guest was saved.
func (m *Machine) SharesClock() bool { return m.Driver.Capabilities().SameKernel && !m.Restored }

// AllowRealTime lets the guest's agent wake at a precise time; see cgroup.Group.
func (m *Machine) AllowRealTime(budget time.Duration) {
	if m.Site.Group != nil {
		m.Site.Group.AllowRealTime(budget)
	}
}

// DataDir is the path of the data volume in the guest.
func (m *Machine) DataDir() string {
	if g, ok := m.Guest.(Placed); ok {
		return g.DataDir()
	}
	if m.Driver.Capabilities().InMemory {
		return m.Site.Dir
	}
	return "/data"
}

// Env is the environment of commands in the guest.
func (m *Machine) Env() []string {
	g, ok := m.Guest.(Equipped)
	if !ok {
		return AgentEnv
	}
	path, rest := AgentEnv[0], AgentEnv[1:]
	return append([]string{path + ":" + g.ProgramDir()}, rest...)
}

// Address is the address at which other guests on the run's network and the host reach the guest;
// invalid when they cannot.
func (m *Machine) Address() netip.Addr {
	if m.Site.Port == nil {
		return netip.Addr{}
	}
	return m.Site.Port.Address.Addr()
}

// HostAddress is the address at which the guest reaches the host (see network.Bridge.OnHost);
// invalid when it cannot.
func (m *Machine) HostAddress() netip.Addr {
	if m.Site.Port == nil {
		return netip.Addr{}
	}
	return m.Site.Port.Host
}

// Freeze freezes the guest. It does nothing if the guest is frozen already or cannot be frozen.
func (m *Machine) Freeze(ctx context.Context) error {
	if m.frozen || m.Driver.Capabilities().Freeze == "" {
		return nil
	}
	if err := m.Guest.Freeze(ctx); err != nil {
		return err
	}
	m.frozen = true
	return nil
}

// Thaw resumes a frozen guest.
func (m *Machine) Thaw(ctx context.Context) error {
	if !m.frozen {
		return nil
	}
	if err := m.Guest.Thaw(ctx); err != nil {
		return err
	}
	m.frozen = false
	return nil
}

// Close ends the guest and removes everything that was created for it. Later calls do nothing.
func (m *Machine) Close() error {
	if m.closed {
		return nil
	}
	m.closed = true
	var errs []error
	begin := time.Now()
	if m.Agent != nil {
		m.Agent.Close()
	}
	if m.Guest != nil {
		errs = append(errs, m.Guest.Close())
	}
	s := m.Site
	if s.Group != nil {
		errs = append(errs, s.Group.Remove())
	}
	m.StopTime = time.Since(begin)
	if s.Port != nil {
		errs = append(errs, s.Port.Close())
	}
	if s.DataDir != "" {
		errs = append(errs, Unmount(s.DataDir))
	}
	for _, v := range []*volume.Volume{s.Volume, s.Swap} {
		if v != nil {
			errs = append(errs, v.Close())
		}
	}
	errs = append(errs, os.RemoveAll(m.savedIn))
	if s.Dir != "" {
		// A runtime that failed at the wrong moment leaves mounts, whose files are not the guest's to remove.
		var err error
		if !m.Driver.Capabilities().Bare() {
			err = sandbox.UnmountBelow(s.Dir)
		}
		if err == nil {
			err = os.RemoveAll(s.Dir)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Unmount unmounts dir. It retries for two seconds while dir is busy, since a process that is
// ending may still use it.
func Unmount(dir string) error {
	var err error
	for range 200 {
		if err = unix.Unmount(dir, 0); err == nil || errors.Is(err, unix.EINVAL) {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fault.Hostf("unmounting %s: %w", dir, err)
}

func lastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
