package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/ttrpc"
	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/agent/wire"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == LimitedMode {
		fmt.Fprintln(os.Stderr, ExecLimited(os.Args[2:]))
		os.Exit(1)
	}
	logrus.SetOutput(io.Discard)
	os.Exit(m.Run())
}

// host is the other end of a server in this process.
type host struct {
	wire.AgentClient
	rpc    *ttrpc.Client
	served chan error // receives the result of ServeAmong
}

func serveHere(t *testing.T) *host { return serveWith(t, ownChildren{}) }

func serveWith(t *testing.T, procs starter) *host {
	t.Helper()
	ours, theirs := socketPair(t)
	h := &host{rpc: ttrpc.NewClient(ours), served: make(chan error, 1)}
	h.AgentClient = wire.NewAgentClient(h.rpc)
	go func() { h.served <- serve(context.Background(), theirs, procs, DataDir, 0) }()
	t.Cleanup(h.hangUp)
	return h
}

func (h *host) hangUp() {
	h.rpc.Close()
	h.served <- <-h.served
}

func socketPair(t *testing.T) (net.Conn, net.Conn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var conns [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "socket")
		if conns[i], err = net.FileConn(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	return conns[0], conns[1]
}

// report is everything that one command's stream delivered.
type report struct {
	started        *wire.Started
	exited         *wire.Exited
	done           *wire.Done
	stdout, stderr []byte
	kinds          string // s, o, x, d in the order of arrival; repeated ones once
}

func (h *host) run(t testing.TB, r *wire.RunRequest) *report {
	t.Helper()
	if r.OutputLimit == 0 {
		r.OutputLimit = 1 << 20
	}
	stream, err := h.AgentClient.Run(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	p := &report{}
	for {
		e, err := stream.Recv()
		if err == io.EOF {
			return p
		}
		if err != nil {
			t.Errorf("%q: %v", r.Argv, err)
			return p
		}
		kind := ""
		switch e := e.Event.(type) {
		case *wire.RunEvent_Started:
			kind, p.started = "s", e.Started
		case *wire.RunEvent_Output:
			kind = "o"
			if e.Output.Stderr {
				p.stderr = append(p.stderr, e.Output.Data...)
			} else {
				p.stdout = append(p.stdout, e.Output.Data...)
			}
		case *wire.RunEvent_Exited:
			kind, p.exited = "x", e.Exited
		case *wire.RunEvent_Done:
			kind, p.done = "d", e.Done
		}
		if !strings.HasSuffix(p.kinds, kind) {
			p.kinds += kind
		}
	}
}

func sh(script string) *wire.RunRequest { return &wire.RunRequest{Argv: []string{"sh", "-c", script}} }

// restrict restricts a thread to one of the CPUs that it may use, until the test ends.
func restrict(t *testing.T, thread int) {
	t.Helper()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(thread, &all); err != nil {
		t.Fatal(err)
	}
	cpu := 0
	for !all.IsSet(cpu) {
		cpu++
	}
	one.Set(cpu)
	if err := unix.SchedSetaffinity(thread, &one); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.SchedSetaffinity(thread, &all); err != nil {
			t.Error(err)
		}
	})
}

func TestHelloAndNow(t *testing.T) {
	h := serveHere(t)
	hello, err := h.Hello(t.Context(), &wire.HelloRequest{Protocol: Protocol})
	if err != nil || hello.Protocol != Protocol || hello.Kernel == "" || hello.MemoryBytes == 0 ||
		int(hello.Cpus) != runtime.NumCPU() {
		t.Errorf("%v, %v", hello, err)
	}
	if hello.ClockReadNs != 0 || hello.CpuFlags != nil {
		t.Errorf("it told what nobody asked for: %v", hello)
	}
	facts, err := h.Hello(t.Context(), &wire.HelloRequest{Protocol: Protocol, Facts: true})
	if err != nil || facts.ClockReadNs <= 0 || len(facts.CpuFlags) == 0 || len(facts.Mitigations) == 0 {
		t.Errorf("%v, %v", facts, err)
	}
	restrict(t, os.Getpid())
	if hello, err := h.Hello(t.Context(), &wire.HelloRequest{Protocol: Protocol}); err != nil || hello.Cpus != 1 {
		t.Errorf("restricted to one CPU since its start: %v, %v", hello, err)
	}
	before := clock(unix.CLOCK_MONOTONIC)
	now, err := h.Now(t.Context(), &wire.NowRequest{})
	if err != nil || now.MonotonicNs < before || now.MonotonicNs > clock(unix.CLOCK_MONOTONIC) || now.RealtimeNs == 0 {
		t.Errorf("%v, %v", now, err)
	}
	if _, err := h.Signal(t.Context(), &wire.SignalRequest{Id: 99, Signal: 9}); err == nil {
		t.Error("signalled a command that does not run")
	}
}

func TestExit(t *testing.T) {
	h := serveHere(t)
	for script, want := range map[string]struct{ code, signal int32 }{
		"exit 0":        {},
		"exit 42":       {code: 42},
		"exit 255":      {code: 255},
		"kill -TERM $$": {signal: int32(unix.SIGTERM)},
		"kill -SEGV $$": {signal: int32(unix.SIGSEGV)},
	} {
		p := h.run(t, sh(script))
		if p.exited.Code != want.code || p.exited.Signal != want.signal || p.exited.SpawnError != "" {
			t.Errorf("%s: %v", script, p.exited)
		}
		if p.kinds != "sxd" || p.exited.MonotonicNs < p.started.MonotonicNs || p.exited.Rusage.GetMaxRssBytes() == 0 {
			t.Errorf("%s: %s, %v, %v", script, p.kinds, p.started, p.exited)
		}
	}
}

func TestCannotStart(t *testing.T) {
	h := serveHere(t)
	limit := []*wire.Rlimit{{Resource: unix.RLIMIT_NOFILE, Soft: 64, Hard: 64}}
	for want, r := range map[string]*wire.RunRequest{
		"no command":            {},
		"/no/such/program":      {Argv: []string{"/no/such/program"}},
		"/no/such/limited":      {Argv: []string{"/no/such/limited"}, Rlimits: limit},
		"not found in PATH=/no": {Argv: []string{"sh"}, Env: []string{"PATH=/no"}},
		"/etc: not a program":   {Argv: []string{"/etc"}},
		"working directory":     {Argv: []string{"true"}, Cwd: "/no/such/dir"},
		"exec format error":     {Argv: []string{notAProgram(t)}},
	} {
		p := h.run(t, r)
		if p.exited == nil || !strings.Contains(p.exited.SpawnError, want) || p.done == nil {
			t.Errorf("want %q: %s %v", want, p.kinds, p.exited)
		}
	}
}

func notAProgram(t *testing.T) string {
	file := t.TempDir() + "/rubbish"
	if err := os.WriteFile(file, []byte{0, 1, 2}, 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestOutput(t *testing.T) {
	h := serveHere(t)
	const size = 8 << 20
	script := fmt.Sprintf("yes 0123456789abcde | head -c %d; echo end >&2", size)
	want := bytes.Repeat([]byte("0123456789abcde\n"), size/16)
	r := sh(script)
	r.OutputLimit = size
	if p := h.run(t, r); !bytes.Equal(p.stdout, want) || p.done.StdoutBytes != size || string(p.stderr) != "end\n" {
		t.Errorf("%d bytes of %d came, stderr %q", len(p.stdout), size, p.stderr)
	}
	r = sh(script)
	r.OutputLimit = 1001
	if p := h.run(t, r); !bytes.Equal(p.stdout, want[:1001]) || p.done.StdoutBytes != size {
		t.Errorf("cut: %d bytes came, %d counted", len(p.stdout), p.done.StdoutBytes)
	}
}

func TestInputEnvironmentAndLimits(t *testing.T) {
	h := serveHere(t)
	dir := t.TempDir()
	r := sh(`pwd; echo "$A"; cat; ulimit -n`)
	r.Cwd, r.Env, r.Stdin = dir, []string{"A=b c", "PATH=/usr/bin:/bin"}, bytes.Repeat([]byte("x"), 300000)
	r.Rlimits = []*wire.Rlimit{{Resource: unix.RLIMIT_NOFILE, Soft: 77, Hard: 78}}
	p := h.run(t, r)
	if want := dir + "\nb c\n" + string(r.Stdin) + "77\n"; string(p.stdout) != want {
		t.Errorf("%d bytes, want %d; stderr %q", len(p.stdout), len(want), p.stderr)
	}
	// A command that does not read its input ends nevertheless.
	r = sh("exit 7")
	r.Stdin = make([]byte, 1<<20)
	if p := h.run(t, r); p.exited.Code != 7 {
		t.Errorf("%v", p.exited)
	}
}

func TestTimeLimitKillsTheGroup(t *testing.T) {
	h := serveHere(t)
	r := sh("sleep 1000 & echo $!; sleep 1000")
	r.TimeoutNs = int64(200 * time.Millisecond)
	p := h.run(t, r)
	if !p.exited.TimedOut || p.exited.Signal != int32(unix.SIGKILL) {
		t.Errorf("%v", p.exited)
	}
	gone(t, string(p.stdout))
}

// gone waits until the process with this ID has ended.
func gone(t *testing.T, pid string) {
	t.Helper()
	pid = strings.TrimSpace(pid)
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %s still runs", pid)
}

func TestChildThatOutlivesTheCommand(t *testing.T) {
	h := serveHere(t)
	// In its own session the child escapes the group's kill and keeps the pipes open.
	p := h.run(t, sh("setsid sleep 30 & sleep 0.2; echo $!; exit 3"))
	if p.exited.Code != 3 || p.done == nil {
		t.Errorf("%s %v", p.kinds, p.exited)
	}
	// Its exit is noted before the wait for the child's output, which lasts this long at least.
	if after := clock(unix.CLOCK_MONOTONIC) - p.exited.MonotonicNs; after < int64(drainGrace) {
		t.Errorf("the child's life counted as the command's: it exited %v before the end", time.Duration(after))
	}
	h.run(t, sh("kill -9 "+strings.TrimSpace(string(p.stdout))))
	// A child in its group is killed with it.
	p = h.run(t, sh("sleep 1000 & echo $!"))
	gone(t, string(p.stdout))
}

func TestInstant(t *testing.T) {
	h := serveHere(t)
	r := sh("true")
	r.StartAtNs = clock(unix.CLOCK_MONOTONIC) + int64(150*time.Millisecond)
	if p := h.run(t, r); p.started.MonotonicNs < r.StartAtNs {
		t.Errorf("started %v early", time.Duration(r.StartAtNs-p.started.MonotonicNs))
	}
}

// TestNothingLeaks runs many commands, sequentially and in parallel, and hangs up while one runs
// and another waits for its start time.
func TestNothingLeaks(t *testing.T) {
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	h := serveHere(t)
	for i := range 200 {
		if p := h.run(t, sh(fmt.Sprint("exit ", i%256))); int(p.exited.Code) != i%256 {
			t.Fatalf("command %d: %v", i, p.exited)
		}
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 5 {
				r := sh(fmt.Sprintf("echo %d; sleep 0.01; exit %d", i, i))
				r.Id = uint64(i)
				if p := h.run(t, r); int(p.exited.Code) != i || string(p.stdout) != fmt.Sprintln(i) {
					t.Errorf("command %d: %v %q", i, p.exited, p.stdout)
				}
			}
		})
	}
	all.Wait()

	running, err := h.AgentClient.Run(context.Background(), &wire.RunRequest{
		Id: 1, Argv: []string{"sh", "-c", "echo $$; yes & sleep 1000"}, OutputLimit: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	later := sh("true")
	later.StartAtNs = clock(unix.CLOCK_MONOTONIC) + int64(time.Hour)
	if _, err := h.AgentClient.Run(context.Background(), later); err != nil {
		t.Fatal(err)
	}
	var pid []byte
	for pid == nil {
		e, err := running.Recv()
		if err != nil {
			t.Fatal(err)
		}
		pid = e.GetOutput().GetData()
	}
	h.hangUp()
	first, _, _ := strings.Cut(string(pid), "\n")
	gone(t, first)
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		if runtime.NumGoroutine() <= goroutines && openFiles(t) <= files {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("goroutines %d → %d, files %d → %d\n%s", goroutines, runtime.NumGoroutine(), files, openFiles(t),
		stacks[:runtime.Stack(stacks, true)])
}

func openFiles(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}

// TestHostThatDoesNotRead: such a host must not keep an agent from ending.
func TestHostThatDoesNotRead(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- ServeAmong(ctx, theirs) }()
	ours.Write(frame(1, 1, 1, runRequest(t, &wire.RunRequest{Argv: []string{"yes"}, OutputLimit: 1 << 40})))
	time.Sleep(50 * time.Millisecond)
	cancel()
	select {
	case <-served:
	case <-time.After(time.Minute):
		t.Fatal("it still serves")
	}
}

// TestWindow: the agent sends no more output ahead than the host has asked for.
func TestWindow(t *testing.T) { testWindow(t, serveHere(t)) }

// TestWindowEarly: the host may take output before the agent has noted that the command runs.
func TestWindowEarly(t *testing.T) { testWindow(t, serveWith(t, lateStarter{})) }

// TestSignalEarly: the host may send a signal before the agent has noted that the command runs.
func TestSignalEarly(t *testing.T) {
	h := serveWith(t, lateStarter{})
	stream, err := h.AgentClient.Run(context.Background(), &wire.RunRequest{
		Id: 7, Argv: []string{"sh", "-c", "echo begun; exec sleep 1000"}, OutputLimit: 100,
	})
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if e.GetOutput() != nil {
			if _, err := h.Signal(t.Context(), &wire.SignalRequest{Id: 7, Signal: int32(unix.SIGTERM)}); err != nil {
				t.Fatal(err)
			}
		}
		if x := e.GetExited(); x != nil {
			if x.Signal != int32(unix.SIGTERM) {
				t.Errorf("ended with %v", x)
			}
			return
		}
	}
}

// lateStarter returns from start long after the command has begun to print.
type lateStarter struct{ ownChildren }

func (l lateStarter) start(path string, argv []string, attr *syscall.ProcAttr) (int, <-chan exitStatus, error) {
	defer time.Sleep(300 * time.Millisecond)
	return l.ownChildren.start(path, argv, attr)
}

func testWindow(t *testing.T, h *host) {
	stream, err := h.AgentClient.Run(context.Background(), &wire.RunRequest{
		Id: 7, Argv: []string{"head", "-c", "1000000", "/dev/zero"}, OutputLimit: 1 << 20, Window: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan *wire.RunEvent, 1000)
	go func() {
		defer close(events)
		for {
			e, err := stream.Recv()
			if err != nil {
				return
			}
			events <- e
		}
	}()
	bytes, messages := 0, 0
	for {
		select {
		case e, more := <-events:
			if !more {
				if bytes != 1000000 {
					t.Errorf("%d bytes came", bytes)
				}
				return
			}
			if e.GetOutput() == nil {
				continue
			}
			bytes += len(e.GetOutput().Data)
			if messages++; messages > 2 {
				t.Fatal("more messages came than the window has")
			}
		case <-time.After(50 * time.Millisecond):
			if _, err := h.Took(t.Context(), &wire.TookRequest{Id: 7, Messages: uint32(messages)}); err != nil {
				t.Fatal(err)
			}
			messages = 0
		}
	}
}

// outputAhead is how many bytes the agent sends ahead to a host that reads nothing: 32 messages of
// 32 KiB.
const outputAhead = 32 * 32 << 10

// TestLateHost: a host that does not read for longer than ttRPC tolerates still gets all of the
// output, even if the command ends in the meantime.
func TestLateHost(t *testing.T) {
	ours, theirs := socketPair(t)
	served := make(chan error, 1)
	go func() { served <- ServeAmong(context.Background(), theirs) }()
	c, _, err := agent.Connect(t.Context(), ours)
	if err != nil {
		t.Fatal(err)
	}
	// The end of it stays in the pipe for longer than drainGrace.
	const size = outputAhead + pipeSize
	r, err := c.Run(t.Context(), agent.Command{
		Argv: []string{"dd", "if=/dev/zero", "bs=32k", "count=" + strconv.Itoa(size>>15)}, OutputLimit: size,
		OnStart: func(uint64) { time.Sleep(drainGrace + time.Second) },
	})
	if err != nil || len(r.Stdout) != size || r.Truncated {
		t.Errorf("%v; %d bytes came", err, len(r.Stdout))
	}
	c.Close()
	<-served
}
