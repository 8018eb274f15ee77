// Package server is the agent's side of the wire protocol: it runs commands in the guest for the
// host. It knows nothing of what is measured.
package server

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/containerd/ttrpc"
	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent/wire"
	"github.com/tare-bench/tare/internal/clockcost"
)

// Protocol is the version of the wire protocol that this agent speaks.
const Protocol = 2

// began is when this program began, by CLOCK_MONOTONIC in ns.
var began = clock(unix.CLOCK_MONOTONIC)

// DataDir is the path of a guest's data volume unless the driver sets another.
const DataDir = "/data"

// Serve answers the host on conn until the host hangs up or ctx ends. It closes conn, and returns
// when the commands that still ran have been killed. From the call on, it reaps every child of this
// process. data is the directory of the data volume.
func Serve(ctx context.Context, conn net.Conn, data string) error {
	return serve(ctx, conn, startReaper(), data, began)
}

// ServeAmong is Serve for a process that has other children. It does not reap the processes that
// commands leave behind.
func ServeAmong(ctx context.Context, conn net.Conn) error {
	return serve(ctx, conn, ownChildren{}, DataDir, clock(unix.CLOCK_MONOTONIC))
}

func serve(ctx context.Context, conn net.Conn, procs starter, data string, began int64) error {
	s := &service{procs: procs, data: data, began: began, ready: clock(unix.CLOCK_MONOTONIC),
		running: map[uint64]*running{}}
	err := Answer(ctx, conn, s)
	s.finish()
	return err
}

// Answer is Serve for any implementation of the agent, for tests. Calls may still be in progress
// when it returns; their contexts have ended.
func Answer(ctx context.Context, conn net.Conn, agent wire.AgentService) error {
	srv, err := ttrpc.NewServer()
	if err != nil {
		conn.Close()
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &oneConn{conn: conn, done: make(chan struct{})}
	wire.RegisterAgentService(srv, agent)
	go func() {
		select {
		case <-l.done: // the host hung up
		case <-ctx.Done():
		}
		srv.Close()
		conn.Close() // ends writes to a host that does not read
	}()
	err = srv.Serve(ctx, l)
	if errors.Is(err, ttrpc.ErrServerClosed) {
		err = nil
	}
	return err
}

// oneConn is a listener that accepts only the one given connection.
type oneConn struct {
	conn net.Conn
	gave atomic.Bool
	once sync.Once
	done chan struct{} // closed with the connection
}

func (l *oneConn) Accept() (net.Conn, error) {
	if !l.gave.Swap(true) {
		return &watchedConn{Conn: l.conn, l: l}, nil
	}
	<-l.done
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }

type watchedConn struct {
	net.Conn
	l *oneConn
}

// Read also treats errors after which ttRPC would continue as the end of the connection.
func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.l.Close()
	}
	return n, err
}

func (c *watchedConn) Close() error {
	c.l.Close()
	return c.Conn.Close()
}

type service struct {
	procs starter
	data  string // directory of the data volume
	// When the agent began and when it was ready, by CLOCK_MONOTONIC in ns.
	began, ready int64
	runs         sync.WaitGroup

	mu       sync.Mutex
	running  map[uint64]*running // by request id
	finished bool
}

// begin reports whether a command may still start; if so, the caller must call runs.Done.
func (s *service) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished {
		return false
	}
	s.runs.Add(1)
	return true
}

// finish prevents further commands from starting and waits for those that run.
func (s *service) finish() {
	s.mu.Lock()
	s.finished = true
	s.mu.Unlock()
	s.runs.Wait()
}

func (s *service) Hello(_ context.Context, r *wire.HelloRequest) (*wire.HelloResponse, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, err
	}
	text := unix.ByteSliceToString
	hello := &wire.HelloResponse{
		Protocol:    Protocol,
		Kernel:      text(u.Sysname[:]) + " " + text(u.Release[:]) + " " + text(u.Version[:]),
		Machine:     text(u.Machine[:]),
		Clocksource: readLine("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
		Cpus:        uint32(allowedCPUs()),
		MemoryBytes: memTotal(),
		CpuModel:    cpuInfo("model name"),
		DataFs:      fsType(s.data),
		BeganNs:     s.began,
		ReadyNs:     s.ready,
	}
	if r.Facts {
		hello.CpuFlags = strings.Fields(cmp.Or(cpuInfo("flags"), cpuInfo("Features")))
		hello.Mitigations = mitigations()
		hello.ClockReadNs = clockcost.Reading()
	}
	return hello, nil
}

// allowedCPUs is the number of CPUs that the agent may use now. runtime.NumCPU would be their number when the agent
// started, which may have been before the host restricted it.
func allowedCPUs() int {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &allowed); err != nil {
		return runtime.NumCPU()
	}
	return allowed.Count()
}

func (s *service) Now(context.Context, *wire.NowRequest) (*wire.NowResponse, error) {
	return &wire.NowResponse{MonotonicNs: clock(unix.CLOCK_MONOTONIC), RealtimeNs: clock(unix.CLOCK_REALTIME)}, nil
}

// Signal may arrive before the command has started; then it waits for that.
func (s *service) Signal(ctx context.Context, r *wire.SignalRequest) (*wire.SignalResponse, error) {
	run, ok := s.find(r.Id)
	if !ok {
		return nil, os.ErrProcessDone
	}
	select {
	case <-run.decided:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if run.pgid == 0 {
		return nil, os.ErrProcessDone
	}
	return &wire.SignalResponse{}, unix.Kill(-run.pgid, unix.Signal(r.Signal))
}

// Took may arrive after the command has ended; then it has no effect.
func (s *service) Took(_ context.Context, r *wire.TookRequest) (*wire.TookResponse, error) {
	if run, ok := s.find(r.Id); ok {
		run.window.open(r.Messages)
	}
	return &wire.TookResponse{}, nil
}

func clock(id int32) int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		return 0
	}
	return ts.Nano()
}
