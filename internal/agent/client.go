// Package agent is the host's client for the agent, the small program in each guest that runs
// commands. Guests are not trusted: everything that they send is bounded and checked, and an error
// in it is the guest's fault.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/containerd/ttrpc"
	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent/wire"
	"github.com/tare-bench/tare/internal/fault"
)

// Protocol is the version of the wire protocol that this client speaks.
const Protocol = 2

func init() {
	// ttRPC logs every unexpected message, and a hostile guest can send any number of them.
	logrus.SetOutput(io.Discard)
}

// Hello is a guest's description of itself.
type Hello struct {
	Kernel      string `json:"kernel"` // uname: sysname, release, version
	Machine     string `json:"machine"`
	Clocksource string `json:"clocksource,omitempty"`
	CPUs        int    `json:"cpus"`
	MemoryBytes uint64 `json:"memory_bytes"`
	CPUModel    string `json:"cpu_model,omitempty"`
	DataFS      string `json:"data_fs,omitempty"`
	// Began is when the agent's program began and Ready when it could answer the host, on the guest's
	// CLOCK_MONOTONIC in ns; 0: not known.
	Began int64 `json:"-"`
	Ready int64 `json:"-"`

	// The rest only Describe asks for. CPUFlags are those of the guest's first CPU, Mitigations what its kernel does about
	// each vulnerability, and ClockReadNS is how long a reading of its CLOCK_MONOTONIC takes at best.
	CPUFlags    []string          `json:"cpu_flags,omitempty"`
	Mitigations map[string]string `json:"mitigations,omitempty"`
	ClockReadNS float64           `json:"clock_read_ns,omitempty"`
}

// Bounds of what a guest may say of its CPU.
const (
	maxFlags       = 1024
	maxMitigations = 100
)

// Client talks to the agent of one guest. Its methods, including Run, may be called from several
// goroutines.
//
// The client hangs up on a guest that hangs or sends nonsense, so that the guest costs the host
// nothing more; later calls then fail.
type Client struct {
	rpc    *ttrpc.Client
	guard  *guard
	moves  *Handover
	agent  wire.AgentClient
	nextID atomic.Uint64
}

// Connect greets the agent at the other end of conn. The client owns conn from then on; if Connect
// fails, it closes conn.
func Connect(ctx context.Context, conn net.Conn) (*Client, Hello, error) {
	moves := NewHandover(conn)
	g := newGuard(moves)
	rpc := ttrpc.NewClient(g)
	c := &Client{rpc: rpc, guard: g, moves: moves, agent: wire.NewAgentClient(rpc)}
	h, err := c.Hello(ctx)
	if err != nil {
		c.Close()
		return nil, Hello{}, fmt.Errorf("greeting the agent: %w", err)
	}
	return c, h, nil
}

// Hello asks the guest what it is now: the host may have restricted it since it connected.
func (c *Client) Hello(ctx context.Context) (Hello, error) { return c.hello(ctx, false) }

// Describe is Hello with everything that the agent can find out about its guest, which takes some milliseconds.
func (c *Client) Describe(ctx context.Context) (Hello, error) { return c.hello(ctx, true) }

func (c *Client) hello(ctx context.Context, facts bool) (Hello, error) {
	h, err := c.agent.Hello(ctx, &wire.HelloRequest{Protocol: Protocol, Facts: facts})
	if err == nil && h.Protocol != Protocol {
		err = fmt.Errorf("its agent speaks protocol %d, this version of tare %d", h.Protocol, Protocol)
	}
	if err != nil {
		return Hello{}, c.guestError(ctx, err)
	}
	hello := Hello{
		Kernel: clip(h.Kernel), Machine: clip(h.Machine), Clocksource: clip(h.Clocksource), CPUs: int(h.Cpus),
		MemoryBytes: h.MemoryBytes, CPUModel: clip(h.CpuModel), DataFS: clip(h.DataFs),
		Began: h.BeganNs, Ready: h.ReadyNs,
	}
	for _, flag := range h.CpuFlags[:min(len(h.CpuFlags), maxFlags)] {
		hello.CPUFlags = append(hello.CPUFlags, clip(flag))
	}
	if len(h.Mitigations) > 0 && len(h.Mitigations) <= maxMitigations {
		hello.Mitigations = map[string]string{}
		for name, does := range h.Mitigations {
			hello.Mitigations[clip(name)] = clip(does)
		}
	}
	if h.ClockReadNs > 0 && !math.IsInf(h.ClockReadNs, 0) {
		hello.ClockReadNS = h.ClockReadNs
	}
	return hello, nil
}

// clip makes text from a guest safe for a log: it shortens the text and replaces characters that
// would control a terminal.
func clip(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, s[:min(len(s), 300)])
}

// Close hangs up; the agent then kills the commands that still run.
func (c *Client) Close() error { return c.rpc.Close() }

// Clock relates a guest's CLOCK_MONOTONIC to the host's.
type Clock struct {
	Offset time.Duration // guest's clock minus the host's
	Delay  time.Duration // round trip of the best exchange; Offset is wrong by at most half of it
}

// GuestTime converts a time on the host's clock to the guest's clock, in ns.
func (k Clock) GuestTime(host int64) int64 { return host + int64(k.Offset) }

// HostTime converts a time on the guest's clock to the host's, in ns.
func (k Clock) HostTime(guest int64) int64 { return guest - int64(k.Offset) }

// callTimeout bounds a call for which a guest has nothing to do but answer.
const callTimeout = 30 * time.Second

// Clock estimates the offset from the exchange with the least delay among n.
func (c *Client) Clock(ctx context.Context, n int) (Clock, error) {
	defer c.guard.begin(idleBudget)()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	best := Clock{Delay: -1}
	for range n {
		t0 := Monotonic()
		now, err := c.agent.Now(ctx, &wire.NowRequest{})
		t1 := Monotonic()
		if err != nil {
			return Clock{}, fmt.Errorf("reading the guest's clock: %w", c.guestError(ctx, err))
		}
		if d := time.Duration(t1 - t0); best.Delay < 0 || d < best.Delay {
			best = Clock{Offset: time.Duration(now.MonotonicNs - (t0 + (t1-t0)/2)), Delay: d}
		}
	}
	return best, nil
}

// Monotonic reads the host's CLOCK_MONOTONIC in ns.
func Monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err) // the vDSO's clocks do not fail
	}
	return ts.Nano()
}

// Counters reads what the guest's kernel has counted since the guest booted, by package wire's names. What it does not
// count is absent; no count is negative.
func (c *Client) Counters(ctx context.Context) (map[string]int64, error) {
	defer c.guard.begin(idleBudget)()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := c.agent.Counters(ctx, &wire.CountersRequest{})
	if err != nil {
		return nil, fmt.Errorf("reading the guest's counters: %w", c.guestError(ctx, err))
	}
	counts := map[string]int64{}
	for name, n := range r.Counts {
		if n >= 0 {
			counts[name] = n
		}
	}
	return counts, nil
}

// Signal sends a signal to the process group of the command with this id.
func (c *Client) Signal(ctx context.Context, id uint64, sig unix.Signal) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := c.agent.Signal(ctx, &wire.SignalRequest{Id: id, Signal: int32(sig)}); err != nil {
		return fmt.Errorf("sending %v: %w", sig, c.guestError(ctx, err))
	}
	return nil
}

// guestError turns an error of a call into one that says what went wrong and whose fault it is.
func (c *Client) guestError(ctx context.Context, err error) error {
	switch why := c.guard.reason(); {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case why != nil:
		return fault.Guestf("hung up on the guest: %w", why)
	case ctx.Err() != nil:
		return fault.Guestf("the guest hangs: it did not answer in time")
	case errors.Is(err, ttrpc.ErrClosed), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, net.ErrClosed):
		return fault.Guestf("the guest died or hung up")
	case errors.Is(err, ttrpc.ErrStreamFull):
		return fault.Guestf("nonsense from the guest: it sends more output ahead than it may")
	}
	// The text may be from the guest.
	return fault.Guestf("the guest answers with an error or nonsense: %s", clip(err.Error()))
}
