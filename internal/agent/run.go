package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/containerd/ttrpc"
	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent/wire"
	"github.com/tare-bench/tare/internal/fault"
)

// Rlimit is a resource limit of a command, as in setrlimit(2).
type Rlimit struct {
	Resource   int // unix.RLIMIT_*
	Soft, Hard uint64
}

// Account is who runs a command.
type Account struct {
	UID, GID uint32
	Groups   []uint32 // supplementary ones
	// Dirs are directories on the data volume that the command may write to. The guest's agent makes
	// those that are missing, and gives them to the account.
	Dirs []string
}

// Command is a command to run in a guest.
type Command struct {
	Argv    []string
	Env     []string
	Dir     string
	Stdin   []byte
	Rlimits []Rlimit
	Account *Account // nil: the agent's own
	// StartAt is when to start, on the guest's CLOCK_MONOTONIC in ns; 0: immediately.
	StartAt int64
	// Timeout counts from the start; when it is over, the command's process group is killed.
	// 0 means none.
	Timeout time.Duration
	// HangGrace is how long after Timeout the guest may still take to report the end before Run
	// considers it hung; 0 means 15 s.
	HangGrace time.Duration
	// OutputLimit is how many bytes are kept of stdout and of stderr; 0 means 1 MiB.
	OutputLimit int64
	// OnStart, if not nil, is called when the guest reports that the command starts, with the id
	// that Signal takes. It must not block, since the guest's output waits for it.
	OnStart func(id uint64)
	// OnOutput, if not nil, is called with each piece of output as it arrives; the Result keeps
	// it, too. The guest's output waits for it, and so does Run: neither function is called after
	// Run has returned.
	OnOutput func(stderr bool, data []byte)
}

// listener calls the caller's functions until the caller leaves.
type listener struct {
	onStart  func(id uint64)
	onOutput func(stderr bool, data []byte)

	mu   sync.Mutex // held during a call
	gone bool
}

func (l *listener) started(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.onStart != nil && !l.gone {
		l.onStart(id)
	}
}

func (l *listener) output(stderr bool, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.onOutput != nil && !l.gone {
		l.onOutput(stderr, data)
	}
}

// leave waits for a call that is in progress, and prevents further ones.
func (l *listener) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
}

// Result is how a command ended. All of it except the host's clock was reported by the guest.
type Result struct {
	Stdout, Stderr []byte
	// StdoutBytes and StderrBytes count the whole output, whether kept or not.
	StdoutBytes, StderrBytes uint64
	Truncated                bool
	ExitCode                 int
	Signal                   unix.Signal // 0: it exited by itself
	TimedOut                 bool
	Usage                    Usage

	// HostStart and HostEnd are when the reports of start and exit arrived, on the host's
	// CLOCK_MONOTONIC in ns. Both reports take equally long, so the difference is right.
	HostStart, HostEnd int64
	// GuestStart and GuestEnd are the guest's CLOCK_MONOTONIC in ns.
	GuestStart, GuestEnd int64
	// GuestExec is when the program had replaced the forked child, on the same clock: its first
	// instruction was next. 0: not known.
	GuestExec int64
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

// HostWall is the time between the reports of start and exit, on the host's clock.
func (r *Result) HostWall() time.Duration { return time.Duration(r.HostEnd - r.HostStart) }

// GuestWall is the time between start and exit, on the guest's own clock.
func (r *Result) GuestWall() time.Duration { return time.Duration(r.GuestEnd - r.GuestStart) }

const (
	// defaultOutputLimit is how many bytes are kept of a stream if the caller sets no limit. Many
	// guests may send that much at the same time.
	defaultOutputLimit = 1 << 20
	defaultHangGrace   = 15 * time.Second
	// killTimeout is how long a guest may take to kill a command that was cancelled; a guest on a
	// busy host is slow, and hanging up on it would make it useless.
	killTimeout = 5 * time.Second
	// outputWindow is how many messages of output the agent may send before the host confirms
	// them. Together with maxEvents it is below the 64 messages that ttRPC buffers for a slow
	// reader; ttRPC gives up on a stream with more.
	outputWindow = 32
	// tookEvery is the number of messages that the host confirms at once.
	tookEvery = outputWindow / 2
	// maxEvents bounds the messages of one command that carry no output.
	maxEvents = 8
)

// Run runs a command in the guest and returns when it has ended and all of its output has arrived.
// A command that fails is a Result, not an error. An error means that the guest did not behave like
// an agent or could not start the command, that the command and its input are too long, or that ctx
// ended. After an error nothing of the command runs any more, or the client has hung up.
func (c *Client) Run(ctx context.Context, cmd Command) (*Result, error) {
	if cmd.OutputLimit <= 0 {
		cmd.OutputLimit = defaultOutputLimit
	}
	if cmd.HangGrace <= 0 {
		cmd.HangGrace = defaultHangGrace
	}
	req := &wire.RunRequest{
		Id: c.nextID.Add(1), Argv: cmd.Argv, Env: cmd.Env, Cwd: cmd.Dir, Stdin: cmd.Stdin,
		StartAtNs: cmd.StartAt, TimeoutNs: int64(cmd.Timeout), OutputLimit: cmd.OutputLimit,
		Window: outputWindow,
	}
	for _, l := range cmd.Rlimits {
		req.Rlimits = append(req.Rlimits, &wire.Rlimit{Resource: uint32(l.Resource), Soft: l.Soft, Hard: l.Hard})
	}
	if a := cmd.Account; a != nil {
		req.Account = &wire.Account{Uid: a.UID, Gid: a.GID, Groups: a.Groups, Dirs: a.Dirs}
	}
	if cmd.Timeout > 0 {
		// A start in the future is at most a moment away, so HangGrace covers it.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cmd.Timeout+cmd.HangGrace)
		defer cancel()
	}
	t := transcript{limit: cmd.OutputLimit}
	caller := listener{onStart: cmd.OnStart, onOutput: cmd.OnOutput}
	ended := make(chan error, 1)
	go func() { ended <- c.receive(ctx, req, &t, &caller) }()
	select {
	case <-ctx.Done():
		c.abandon(ctx, req.Id)
		caller.leave()
		return nil, c.guestError(ctx, ctx.Err())
	case err := <-ended:
		if err != nil {
			return nil, err
		}
		return &t.Result, t.spawnError(cmd.Argv)
	}
}

// receive starts the command and reads the guest's messages about it until the stream ends. After
// ctx has ended it continues until the guest or the client hangs up, since unread messages would
// stall the connection.
func (c *Client) receive(ctx context.Context, req *wire.RunRequest, t *transcript, caller *listener) error {
	defer c.guard.begin(2*outputOverhead*min(t.limit, 1<<40) + idleBudget)()
	// The stream must not inherit a deadline: ttRPC would pass it on to the agent, whose time
	// limit is the command's.
	stream, err := c.agent.Run(context.WithoutCancel(ctx), req)
	if tooLong := (*ttrpc.OversizedMessageErr)(nil); errors.As(err, &tooLong) {
		return fault.Campaignf("the command and its input are too long: %w", err)
	}
	took, stop := c.acknowledge(ctx, req.Id)
	defer stop()
	for err == nil {
		var e *wire.RunEvent
		if e, err = stream.Recv(); err != nil {
			break
		}
		at := Monotonic()
		if err := t.add(e, at); err != nil {
			c.guard.hangUp(err)
			return fault.Guestf("nonsense from the guest: %w", err)
		}
		if out := e.GetOutput(); out != nil {
			caller.output(out.GetStderr(), out.GetData())
			took()
		}
		if e.GetStarted() != nil {
			caller.started(req.Id)
		}
	}
	if t.done && errors.Is(err, io.EOF) {
		return nil
	}
	err = c.guestError(ctx, err)
	c.Close()
	return err
}

// acknowledge confirms messages to the agent from a goroutine of its own. took must be called for
// each message of output and never blocks; stop ends the goroutine.
func (c *Client) acknowledge(ctx context.Context, id uint64) (took, stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	due := make(chan struct{}, outputWindow)
	go func() {
		for {
			select {
			case <-due:
				// Ignore errors: the stream shows if the guest has hung up.
				_, _ = c.agent.Took(ctx, &wire.TookRequest{Id: id, Messages: tookEvery})
			case <-ctx.Done():
				return
			}
		}
	}()
	n := 0
	return func() {
		if n++; n%tookEvery == 0 {
			select {
			case due <- struct{}{}:
			default: // the agent sent more than its window: let it wait
			}
		}
	}, cancel
}

// abandon prevents a command that nobody waits for from disturbing later ones: it kills the
// command, or else hangs up, and then the agent kills it.
func (c *Client) abandon(ctx context.Context, id uint64) {
	if errors.Is(ctx.Err(), context.Canceled) {
		killed := make(chan error, 1)
		go func() { // blocks if the guest does not read
			_, err := c.agent.Signal(context.WithoutCancel(ctx), &wire.SignalRequest{Id: id, Signal: int32(unix.SIGKILL)})
			killed <- err
		}()
		select {
		case err := <-killed:
			if err == nil {
				return
			}
		case <-time.After(killTimeout):
		}
	}
	c.Close()
}

// transcript checks the order and the bounds of a command's events.
type transcript struct {
	Result
	limit           int64
	started, exited bool
	done            bool   // everything has arrived
	failed          string // why the command could not be started
	events          int
}

// add adds one event, which arrived when the host's clock was at.
func (t *transcript) add(e *wire.RunEvent, at int64) error {
	if t.done {
		return fmt.Errorf("an event after the last")
	}
	if e.GetOutput() == nil {
		if t.events++; t.events > maxEvents {
			return fmt.Errorf("more than %d events for one command", maxEvents)
		}
	}
	switch e := e.GetEvent().(type) {
	case *wire.RunEvent_Started:
		if t.started {
			return fmt.Errorf("the command started twice")
		}
		t.started = true
		t.HostStart, t.GuestStart, t.GuestRealStart = at, e.Started.GetMonotonicNs(), e.Started.GetRealtimeNs()
	case *wire.RunEvent_Output:
		if !t.started {
			return fmt.Errorf("output before the start")
		}
		stream := &t.Stdout
		if e.Output.GetStderr() {
			stream = &t.Stderr
		}
		if len(e.Output.GetData()) == 0 {
			return fmt.Errorf("output of nothing")
		}
		if int64(len(*stream)+len(e.Output.GetData())) > t.limit {
			return fmt.Errorf("more output than the %d bytes that were allowed", t.limit)
		}
		*stream = append(*stream, e.Output.GetData()...)
	case *wire.RunEvent_Exited:
		x := e.Exited
		if t.exited {
			return fmt.Errorf("the command exited twice")
		}
		t.exited = true
		t.HostEnd, t.GuestEnd, t.GuestRealEnd = at, x.GetMonotonicNs(), x.GetRealtimeNs()
		t.GuestExec = x.GetExecNs()
		t.failed = clip(x.GetSpawnError())
		if !t.started && t.failed == "" {
			return fmt.Errorf("the command exited before it started")
		}
		if t.started && (t.GuestEnd < t.GuestStart || t.GuestWall() < 0) { // or wrapped
			return fmt.Errorf("the guest's monotonic clock went from %d to %d", t.GuestStart, t.GuestEnd)
		}
		t.ExitCode, t.Signal, t.TimedOut = int(x.GetCode()), unix.Signal(x.GetSignal()), x.GetTimedOut()
		t.Usage = usage(x.GetRusage())
	case *wire.RunEvent_Done:
		if !t.exited {
			return fmt.Errorf("the stream ended before the command")
		}
		t.StdoutBytes, t.StderrBytes = e.Done.GetStdoutBytes(), e.Done.GetStderrBytes()
		t.Truncated = t.StdoutBytes > uint64(len(t.Stdout)) || t.StderrBytes > uint64(len(t.Stderr))
		if t.StdoutBytes < uint64(len(t.Stdout)) || t.StderrBytes < uint64(len(t.Stderr)) {
			return fmt.Errorf("less output than came")
		}
		t.done = true
	default:
		return fmt.Errorf("an event of unknown kind")
	}
	return nil
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
