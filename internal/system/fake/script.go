package fake

import (
	"cmp"
	"context"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/agent/wire"
)

// scripted is an agent that runs nothing and reports what its driver's Behave returned.
type scripted struct {
	guest *guest

	mu      sync.Mutex
	running map[uint64]chan int32 // request id → signals
}

// now returns the guest's CLOCK_MONOTONIC in nanoseconds.
func (s *scripted) now() int64 {
	s.guest.mu.Lock()
	defer s.guest.mu.Unlock()
	return agent.Monotonic() + int64(s.guest.clock)
}

func (s *scripted) Hello(context.Context, *wire.HelloRequest) (*wire.HelloResponse, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, err
	}
	f := s.guest.site.Flavor
	return &wire.HelloResponse{
		Protocol: agent.Protocol, Kernel: "Linux " + unix.ByteSliceToString(u.Release[:]), Machine: "fake",
		Clocksource: "fake",
		Cpus:        uint32(f.VCPUs), MemoryBytes: uint64(f.MemoryBytes), CpuModel: "fake", DataFs: f.DiskFS,
		BeganNs: s.guest.began, ReadyNs: s.guest.began,
	}, nil
}

func (s *scripted) Now(context.Context, *wire.NowRequest) (*wire.NowResponse, error) {
	return &wire.NowResponse{MonotonicNs: s.now(), RealtimeNs: time.Now().UnixNano()}, nil
}

// Counters returns what Behaviour.Counts added up to.
func (s *scripted) Counters(context.Context, *wire.CountersRequest) (*wire.CountersResponse, error) {
	s.guest.mu.Lock()
	defer s.guest.mu.Unlock()
	return &wire.CountersResponse{Counts: maps.Clone(s.guest.counts)}, nil
}

func (s *scripted) Signal(_ context.Context, r *wire.SignalRequest) (*wire.SignalResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.running[r.Id]
	if ch == nil {
		return nil, os.ErrProcessDone
	}
	select {
	case ch <- r.Signal:
	default: // it is ending already
	}
	return &wire.SignalResponse{}, nil
}

// Took does nothing: a script's output is short, so it needs no flow control.
func (s *scripted) Took(context.Context, *wire.TookRequest) (*wire.TookResponse, error) {
	return &wire.TookResponse{}, nil
}

func (s *scripted) Run(ctx context.Context, r *wire.RunRequest, stream wire.Agent_RunServer) error {
	g := s.guest
	g.driver.event("run", g.site.ID, strings.Join(r.Argv, " "))
	b := g.driver.Behave(r.Argv)
	if b.Keeps {
		b.Stdout = string(r.Stdin) + b.Stdout
	}
	signals := make(chan int32, 1)
	s.mu.Lock()
	s.running[r.Id] = signals
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, r.Id)
	}()

	ex := &wire.Exited{Code: int32(b.ExitCode)}
	if r.StartAtNs != 0 {
		select {
		case <-time.After(time.Duration(r.StartAtNs - s.now())):
		case ex.Signal = <-signals:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	begin := s.now()
	if b.SpawnError != "" {
		return s.end(stream, &wire.Exited{MonotonicNs: begin, SpawnError: b.SpawnError}, &wire.Done{})
	}
	if err := stream.Send(&wire.RunEvent{Event: &wire.RunEvent_Started{
		Started: &wire.Started{MonotonicNs: begin, RealtimeNs: time.Now().UnixNano()},
	}}); err != nil {
		return err
	}
	said, err := s.await(ctx, r, stream, b, signals, ex)
	if err != nil {
		return err
	}
	ex.ExecNs, ex.MonotonicNs, ex.RealtimeNs = begin, s.now(), time.Now().UnixNano()
	switch {
	case ex.Signal == 0 && b.GuestTook != 0:
		ex.MonotonicNs = begin + int64(b.GuestTook)
	case ex.Signal != 0 && b.Keeps && !ex.TimedOut:
		ex.Signal = 0
	case ex.Signal != 0:
		ex.Code = 0
	}
	cpu := cmp.Or(b.CPU, time.Duration(ex.MonotonicNs-begin))
	ex.Rusage = &wire.Rusage{UserNs: int64(cpu), MaxRssBytes: 1 << 20}
	g.mu.Lock()
	g.cpu += cpu
	g.written += b.Written
	for name, n := range b.Counts {
		g.counts[name] += n
	}
	g.mu.Unlock()
	if err := s.trouble(ctx, b.Trouble, stream); err != nil {
		return err
	}
	for i, text := range []string{b.Stdout, b.Stderr} {
		if err := sendOutput(stream, i == 1, text[:min(int64(len(text)), r.OutputLimit)]); err != nil {
			return err
		}
	}
	return s.end(stream, ex, &wire.Done{StdoutBytes: uint64(said + len(b.Stdout)), StderrBytes: uint64(len(b.Stderr))})
}

// await waits for the end of a command that has started, and notes in ex what ended it, unless it ended by itself. It
// returns how many bytes the command has printed because it was asked to.
func (s *scripted) await(ctx context.Context, r *wire.RunRequest, stream wire.Agent_RunServer, b Behaviour,
	signals <-chan int32, ex *wire.Exited) (said int, err error) {
	var limit <-chan time.Time
	if r.TimeoutNs > 0 {
		limit = time.After(time.Duration(r.TimeoutNs))
	}
	for took := time.After(b.Took); ex.Signal == 0; {
		select {
		case <-took:
		case ex.Signal = <-signals:
		case <-limit:
			ex.TimedOut, ex.Signal = true, int32(unix.SIGKILL)
		case <-ctx.Done():
			return said, ctx.Err()
		}
		if b.Asked == nil || unix.Signal(ex.Signal) != unix.SIGUSR1 {
			break
		}
		ex.Signal = 0
		text := b.Asked()
		said += len(text)
		if err := sendOutput(stream, false, text); err != nil {
			return said, err
		}
	}
	return said, nil
}

// trouble makes the trouble; it returns nil when there is none.
func (s *scripted) trouble(ctx context.Context, what Trouble, stream wire.Agent_RunServer) error {
	switch what {
	case None:
		return nil
	case Dies:
		go s.guest.Kill()
	case Nonsense:
		stream.Send(&wire.RunEvent{})
	case Floods:
		for rubbish := strings.Repeat("flood\n", 5000); ; {
			if err := sendOutput(stream, false, rubbish); err != nil {
				return err
			}
		}
	}
	<-ctx.Done() // the host hangs up
	return ctx.Err()
}

func sendOutput(stream wire.Agent_RunServer, stderr bool, text string) error {
	for len(text) > 0 {
		n := min(len(text), 32<<10)
		if err := stream.Send(&wire.RunEvent{Event: &wire.RunEvent_Output{
			Output: &wire.Output{Stderr: stderr, Data: []byte(text[:n])},
		}}); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

func (s *scripted) end(stream wire.Agent_RunServer, ex *wire.Exited, done *wire.Done) error {
	if err := stream.Send(&wire.RunEvent{Event: &wire.RunEvent_Exited{Exited: ex}}); err != nil {
		return err
	}
	return stream.Send(&wire.RunEvent{Event: &wire.RunEvent_Done{Done: done}})
}
