// Package fake is a system in memory: the reference implementation of the contract, and a stand-in
// for guests in tests. It needs neither root nor a userland, and its guests follow a script:
//
//	d := &fake.Driver{Behave: func(argv []string) fake.Behaviour {
//		if argv[0] == "fio" {
//			return fake.Behaviour{Trouble: fake.Dies}
//		}
//		return fake.Behaviour{Took: time.Millisecond, Stdout: "42\n"}
//	}}
//	m, err := system.Launch(ctx, d, fake.Host(t), "a", flavor)
package fake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/agent/server"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/network"
	"github.com/tare-bench/tare/internal/system"
)

// Trouble is what a guest does instead of reporting the end of a command.
type Trouble int

const (
	None     Trouble = iota
	Dies             // it ends
	Hangs            // it sends nothing more
	Nonsense         // it sends something that no agent sends
	Floods           // it sends output without end
)

// Behaviour is a guest's reaction to one command.
type Behaviour struct {
	Took           time.Duration // by the host's clock, from start to end or trouble
	GuestTook      time.Duration // by the guest's clock; 0: the same
	Stdout, Stderr string
	ExitCode       int
	CPU            time.Duration // cost, as Meter reports it; 0: Took
	Written        int64
	Counts         map[string]int64 // what the guest's kernel counts meanwhile, by package wire's names
	SpawnError     string           // not "": the command cannot be started
	Trouble        Trouble
	// Asked, if not nil, is what the command prints when it gets SIGUSR1, which does not end it then.
	Asked func() string
	// Keeps: the command prints its input before Stdout, and a signal ends it without killing it.
	Keeps bool
}

// ErrDiesBooting, returned by Driver.OnCreate, makes a guest that ends before its agent answers.
var ErrDiesBooting = errors.New("ends before its agent answers")

// Driver creates guests in this process. Its fields must be set before it is used.
type Driver struct {
	System string // name; "" is "fake"
	// Behave scripts every command. It is called from several goroutines. If it is nil, guests
	// run real commands on this host, in their site's directory.
	Behave func(argv []string) Behaviour
	// OnCreate, if not nil, is called before the n-th guest is created; n starts at 1.
	OnCreate func(n int) error
	// Unusable, if not "", makes Check fail with this reason.
	Unusable string
	// Change, if not nil, changes the capabilities.
	Change func(*system.Capabilities)
	// ClockOffset is a scripted guest's clock minus the host's.
	ClockOffset time.Duration
	// Anew: the driver starts new guests instead of restoring saved ones.
	Anew bool

	mu      sync.Mutex
	saved   []*guest
	created int
	events  []string
	live    []string
}

// Host returns a host for guests of this driver.
func Host(t testing.TB) *system.Host {
	return &system.Host{RunID: "fake", StateDir: t.TempDir(), Dir: t.TempDir()}
}

func (d *Driver) Name() string { return cmp.Or(d.System, "fake") }

func (d *Driver) Check(context.Context, *system.Host) system.Status {
	if d.Unusable != "" {
		return system.Unusable(d.Unusable, "")
	}
	return system.Status{Usable: true, Proof: "in memory"}
}

func (d *Driver) Capabilities() system.Capabilities {
	c := system.Capabilities{
		SameKernel: true, HostMount: true, Freeze: "in memory", Save: "in memory", Memory: "nothing", MemoryInGroup: true,
		HostBoot: "linux", InMemory: true,
	}
	if d.Change != nil {
		d.Change(&c)
	}
	return c
}

func (d *Driver) Create(_ context.Context, s *system.Site) (system.Guest, error) {
	d.mu.Lock()
	d.created++
	n := d.created
	d.mu.Unlock()
	var err error
	if d.OnCreate != nil {
		err = d.OnCreate(n)
	}
	if err != nil && !errors.Is(err, ErrDiesBooting) {
		d.event("cannot create", s.ID)
		return nil, err
	}
	ours, theirs, pairErr := system.ConnPair()
	if pairErr != nil {
		return nil, pairErr
	}
	if s.Flavor.Network == model.NetworkBridged {
		s.Port = &network.Port{Address: netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(n)}), 24)}
	}
	g := newGuest(d, s, ours, theirs)
	d.mu.Lock()
	d.live = append(d.live, s.ID)
	d.mu.Unlock()
	d.event("create", s.ID)
	if err != nil {
		close(g.exited)
		g.wire.Close()
		return g, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	g.stop = cancel
	go func() {
		defer close(g.exited)
		defer cancel()
		if d.Behave == nil {
			server.ServeAmong(ctx, g.wire)
		} else {
			server.Answer(ctx, g.wire, &scripted{guest: g, running: map[uint64]chan int32{}})
		}
	}()
	return g, nil
}

// Events returns the requests to the guests, in order: "create", "cannot create", "run", "freeze",
// "thaw", "save", "restore", "close", and "talked to while frozen". Each is followed by the guest's site, and "run"
// also by the words of the command.
func (d *Driver) Events() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.events)
}

// Live returns the sites of the guests that are not closed.
func (d *Driver) Live() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.live)
}

func (d *Driver) event(what ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	line := fmt.Sprintln(what...)
	d.events = append(d.events, line[:len(line)-1])
}
