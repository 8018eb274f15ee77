package agent

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent/wire"
	"github.com/tare-bench/tare/internal/fault"
)

// Rlimit is a resource limit of a command, as setrlimit(2) has it.
type Rlimit struct {
	Resource   int // unix.RLIMIT_*
	Soft, Hard uint64
}

// Command is what to run in a guest.
type Command struct {
	Argv    []string
	Env     []string
	Dir     string
	Stdin   []byte
	Rlimits []Rlimit
	// StartAt is an instant of the guest's CLOCK_MONOTONIC in ns; 0 starts at once.
	StartAt int64
	// Timeout counts from the start; then the command's process group is
	// killed. 0 means none.
	Timeout time.Duration
	// OutputLimit is how many bytes are kept of each of stdout and stderr.
	OutputLimit int64
	// OnStart, if not nil, is called when the guest says that the command
	// starts, with the id that Signal takes.
	OnStart func(id uint64)
}

// Result is how a command ended. All of it but the host's clock is the guest's word.
type Result struct {
	Stdout, Stderr []byte
	// StdoutBytes and StderrBytes count what was produced, kept or not.
	StdoutBytes, StderrBytes uint64
	Truncated                bool
	ExitCode                 int
	Signal                   unix.Signal // 0: it exited by itself
	TimedOut                 bool
	Usage                    Usage

	// HostStart and HostEnd are the host's CLOCK_MONOTONIC, in ns, when the
	// start and the exit were reported; the way there takes both equally long.
	HostStart, HostEnd int64
	// GuestStart and GuestEnd are the guest's CLOCK_MONOTONIC in ns.
	GuestStart, GuestEnd int64
	// GuestRealStart and GuestRealEnd are the guest's CLOCK_REALTIME in ns.
	GuestRealStart, GuestRealEnd int64
}

// Usage is the rusage of the command and of the children that it waited for.
type Usage struct {
	User                time.Duration `json:"user_ns"`
	System              time.Duration `json:"system_ns"`
	MaxRSS              int64         `json:"max_rss_bytes"`
	MinorFaults         int64         `json:"minor_faults"`
	MajorFaults         int64         `json:"major_faults"`
	InBlocks            int64         `json:"in_blocks"`
	OutBlocks           int64         `json:"out_blocks"`
	VoluntarySwitches   int64         `json:"voluntary_switches"`
	InvoluntarySwitches int64         `json:"involuntary_switches"`
}

// HostWall is the time between the reports of start and exit on the host's clock.
func (r *Result) HostWall() time.Duration { return time.Duration(r.HostEnd - r.HostStart) }

// GuestWall is the time between start and exit on the guest's own clock.
func (r *Result) GuestWall() time.Duration { return time.Duration(r.GuestEnd - r.GuestStart) }

const (
	// defaultOutputLimit is what is kept of a stream when the caller sets nothing.
	defaultOutputLimit = 16 << 20
	// hangGrace is how long after a command's time limit the guest may still
	// take to report the end before it is held for hung.
	hangGrace = 15 * time.Second
	// maxEvents bounds the messages of one command beyond those that carry output.
	maxEvents = 8
)

// Run runs a command in the guest and returns when it has ended and all of its
// output has come. A command that fails is a Result, not an error; an error
// means that the guest did not do what an agent does, or that ctx ended.
func (c *Client) Run(ctx context.Context, cmd Command) (*Result, error) {
	if cmd.OutputLimit <= 0 {
		cmd.OutputLimit = defaultOutputLimit
	}
	req := &wire.RunRequest{
		Id: c.nextID.Add(1), Argv: cmd.Argv, Env: cmd.Env, Cwd: cmd.Dir, Stdin: cmd.Stdin,
		StartAtNs: cmd.StartAt, TimeoutNs: int64(cmd.Timeout), OutputLimit: cmd.OutputLimit,
	}
	for _, l := range cmd.Rlimits {
		req.Rlimits = append(req.Rlimits, &wire.Rlimit{Resource: uint32(l.Resource), Soft: l.Soft, Hard: l.Hard})
	}
	// The stream must not inherit a deadline: ttRPC would hand it to the
	// agent, and the agent's time limit is the command's.
	stream, err := c.agent.Run(context.WithoutCancel(ctx), req)
	if err != nil {
		return nil, guestError(ctx, err)
	}
	if cmd.Timeout > 0 {
		// A start in the future is at most a moment away; the grace covers it.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cmd.Timeout+hangGrace)
		defer cancel()
	}
	type message struct {
		event *wire.RunEvent
		at    int64
		err   error
	}
	messages := make(chan message, 64)
	quit := make(chan struct{})
	defer close(quit)
	go func() {
		for {
			e, err := stream.Recv()
			select {
			case messages <- message{e, Monotonic(), err}:
			case <-quit:
				return
			}
			if err != nil {
				return
			}
		}
	}()

	t := transcript{limit: cmd.OutputLimit}
	for {
		select {
		case <-ctx.Done():
			// What still runs in there would disturb everything that follows.
			kill, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			c.agent.Signal(kill, &wire.SignalRequest{Id: req.Id, Signal: int32(unix.SIGKILL)})
			return nil, guestError(ctx, ctx.Err())
		case m := <-messages:
			if m.err != nil {
				return nil, guestError(ctx, m.err)
			}
			done, err := t.add(m.event, m.at)
			if err != nil {
				return nil, fault.Guestf("nonsense from the guest: %w", err)
			}
			if done {
				return &t.Result, t.spawnError(cmd.Argv)
			}
			if m.event.GetStarted() != nil && cmd.OnStart != nil {
				cmd.OnStart(req.Id)
			}
		}
	}
}

// transcript checks the order and the bounds of a command's events.
type transcript struct {
	Result
	limit           int64
	started, exited bool
	failed          string // why the command could not be started
	events          int
}

// add takes one event that came at the host's instant at; it returns true with the last.
func (t *transcript) add(e *wire.RunEvent, at int64) (done bool, err error) {
	if e.GetOutput() == nil {
		if t.events++; t.events > maxEvents {
			return false, fmt.Errorf("more than %d events for one command", maxEvents)
		}
	}
	switch e := e.GetEvent().(type) {
	case *wire.RunEvent_Started:
		if t.started {
			return false, fmt.Errorf("the command started twice")
		}
		t.started = true
		t.HostStart, t.GuestStart, t.GuestRealStart = at, e.Started.GetMonotonicNs(), e.Started.GetRealtimeNs()
	case *wire.RunEvent_Output:
		if !t.started {
			return false, fmt.Errorf("output before the start")
		}
		stream := &t.Stdout
		if e.Output.GetStderr() {
			stream = &t.Stderr
		}
		if int64(len(*stream)+len(e.Output.GetData())) > t.limit {
			return false, fmt.Errorf("more output than the %d bytes that were allowed", t.limit)
		}
		*stream = append(*stream, e.Output.GetData()...)
	case *wire.RunEvent_Exited:
		x := e.Exited
		if t.exited {
			return false, fmt.Errorf("the command exited twice")
		}
		t.exited = true
		t.HostEnd, t.GuestEnd, t.GuestRealEnd = at, x.GetMonotonicNs(), x.GetRealtimeNs()
		t.failed = clip(x.GetSpawnError())
		if !t.started && t.failed == "" {
			return false, fmt.Errorf("the command exited before it started")
		}
		if t.started && t.GuestEnd < t.GuestStart {
			return false, fmt.Errorf("the guest's monotonic clock ran backwards by %v", t.GuestWall())
		}
		t.ExitCode, t.Signal, t.TimedOut = int(x.GetCode()), unix.Signal(x.GetSignal()), x.GetTimedOut()
		t.Usage = usage(x.GetRusage())
	case *wire.RunEvent_Done:
		if !t.exited {
			return false, fmt.Errorf("the stream ended before the command")
		}
		t.StdoutBytes, t.StderrBytes = e.Done.GetStdoutBytes(), e.Done.GetStderrBytes()
		t.Truncated = t.StdoutBytes > uint64(len(t.Stdout)) || t.StderrBytes > uint64(len(t.Stderr))
		return true, nil
	default:
		return false, fmt.Errorf("an event of unknown kind")
	}
	return false, nil
}

func (t *transcript) spawnError(argv []string) error {
	if t.failed == "" {
		return nil
	}
	return fault.Guestf("cannot start %q in the guest: %s", argv, t.failed)
}

func usage(u *wire.Rusage) Usage {
	return Usage{
		User: time.Duration(u.GetUserNs()), System: time.Duration(u.GetSystemNs()), MaxRSS: u.GetMaxRssBytes(),
		MinorFaults: u.GetMinorFaults(), MajorFaults: u.GetMajorFaults(),
		InBlocks: u.GetInBlocks(), OutBlocks: u.GetOutBlocks(),
		VoluntarySwitches: u.GetVoluntarySwitches(), InvoluntarySwitches: u.GetInvoluntarySwitches(),
	}
}
