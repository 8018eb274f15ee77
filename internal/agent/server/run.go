package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent/wire"
)

const (
	// drainGrace is how long children that outlive the command may still produce output before
	// it is cut off.
	drainGrace = 2 * time.Second
	// pipeSize is the capacity of a pipe in bytes, the most that a command can leave in it.
	pipeSize = 64 << 10
)

// Run starts a command at the requested time and streams its events. The time limit counts from the
// start.
func (s *service) Run(ctx context.Context, r *wire.RunRequest, stream wire.Agent_RunServer) error {
	if !s.begin() {
		return context.Canceled
	}
	defer s.runs.Done()
	// Only one goroutine at a time may write to a ttRPC stream.
	var sending sync.Mutex
	send := func(e *wire.RunEvent) error {
		sending.Lock()
		defer sending.Unlock()
		return stream.Send(e)
	}
	refuse := func(why string) error { // the command does not start
		if err := send(exited(&wire.Exited{MonotonicNs: clock(unix.CLOCK_MONOTONIC), SpawnError: why})); err != nil {
			return err
		}
		return send(done(0, 0))
	}
	cmd, err := prepare(r)
	if err != nil {
		return refuse(err.Error())
	}
	defer cmd.closeChildEnds()

	// Prepare as much as possible before the start: what the agent does later takes CPU time from
	// the command if the guest has only one CPU.
	ahead := newWindow(r.Window)
	run := &running{window: ahead, decided: make(chan struct{})}
	s.track(r.Id, run) // the host may take output, and send signals, before start returns
	defer s.untrack(r.Id)
	defer run.decide(0)
	var counts [2]uint64
	var output sync.WaitGroup
	defer output.Wait()
	defer cmd.close() // deferred last, so it runs before the wait and ends the reading
	for i, pipe := range []*os.File{cmd.stdout, cmd.stderr} {
		output.Go(func() {
			counts[i] = copyOutput(pipe, r.OutputLimit, func(data []byte) error {
				if err := ahead.enter(ctx); err != nil {
					return err
				}
				return send(&wire.RunEvent{Event: &wire.RunEvent_Output{Output: &wire.Output{Stderr: i == 1, Data: data}}})
			})
		})
	}
	go func() { // a command that does not read its input must not block Run
		cmd.stdin.Write(r.Stdin)
		cmd.stdin.Close()
	}()
	runtime.Gosched() // lets those goroutines run until the pipes are full or empty

	relax := func() {}
	if r.StartAtNs != 0 {
		if relax, err = waitUntil(ctx, r.StartAtNs); err != nil {
			return err
		}
		relax = sync.OnceFunc(relax)
		defer relax()
	}
	started := &wire.Started{MonotonicNs: clock(unix.CLOCK_MONOTONIC), RealtimeNs: clock(unix.CLOCK_REALTIME)}
	if err := send(&wire.RunEvent{Event: &wire.RunEvent_Started{Started: started}}); err != nil {
		return err
	}
	// Another goroutine writes to the connection. Let it run now: on a single CPU the report of the
	// start would otherwise wait for the fork and be late by milliseconds.
	runtime.Gosched()
	relax() // before the fork, as others also wait for this CPU to start
	pid, ended, err := s.procs.start(cmd.path, cmd.argv, cmd.attr)
	if err != nil {
		return refuse(fmt.Sprintf("%s: %v", cmd.path, err))
	}
	// The fork returns when the kernel has closed what closes on exec, so the program is there.
	ex := &wire.Exited{ExecNs: clock(unix.CLOCK_MONOTONIC)}
	run.decide(pid)

	var timeout <-chan time.Time
	if r.TimeoutNs > 0 {
		timeout = time.After(time.Duration(r.TimeoutNs))
	}
	var status exitStatus
	for waiting := true; waiting; {
		select {
		case status = <-ended:
			waiting = false
		case <-timeout:
			ex.TimedOut = true
			timeout = nil
			unix.Kill(-pid, unix.SIGKILL)
		case <-ctx.Done():
			unix.Kill(-pid, unix.SIGKILL)
			<-ended
			return ctx.Err()
		}
	}
	ex.MonotonicNs, ex.RealtimeNs = status.monotonic, status.realtime
	ex.Rusage = status.usage
	if status.wait.Signaled() {
		ex.Signal = int32(status.wait.Signal())
	} else {
		ex.Code = int32(status.wait.ExitStatus())
	}
	// Report the exit immediately: reading output that is still in the pipes must not count as the
	// command's time.
	if err := send(exited(ex)); err != nil {
		return err
	}
	unix.Kill(-pid, unix.SIGKILL) // processes left in its group
	cmd.closeChildEnds()          // so that the output reaches its end
	stop := time.AfterFunc(drainGrace, cmd.endOutput)
	output.Wait()
	stop.Stop()
	return send(done(counts[0], counts[1]))
}

// running is a command from its request to its end.
type running struct {
	window  window
	once    sync.Once
	decided chan struct{} // closed when it is known whether the command has started
	pgid    int           // 0: it did not start; to be read when decided is closed
}

// decide notes that the command has started as this process group; 0: that it never will. Only the
// first call counts.
func (r *running) decide(pgid int) {
	r.once.Do(func() {
		r.pgid = pgid
		close(r.decided)
	})
}

func (s *service) track(id uint64, r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[id] = r
}

func (s *service) find(id uint64) (r *running, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok = s.running[id]
	return r, ok
}

func (s *service) untrack(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, id)
}

// window holds output back until the host is ready for it; a token is a message that may be sent.
// A nil window holds nothing back.
type window chan struct{}

// maxWindow bounds the size of a window, in messages.
const maxWindow = 1 << 10

func newWindow(messages uint32) window {
	if messages == 0 {
		return nil
	}
	w := make(window, min(messages, maxWindow))
	w.open(uint32(cap(w)))
	return w
}

// open lets this many more messages through, up to the size of the window.
func (w window) open(messages uint32) {
	for range min(messages, uint32(cap(w))) {
		select {
		case w <- struct{}{}:
		default:
			return
		}
	}
}

// enter waits until a message may be sent, and returns an error if the host hangs up.
func (w window) enter(ctx context.Context) error {
	if w == nil {
		return nil
	}
	select {
	case <-w:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func exited(e *wire.Exited) *wire.RunEvent {
	return &wire.RunEvent{Event: &wire.RunEvent_Exited{Exited: e}}
}

func done(stdout, stderr uint64) *wire.RunEvent {
	return &wire.RunEvent{Event: &wire.RunEvent_Done{Done: &wire.Done{StdoutBytes: stdout, StderrBytes: stderr}}}
}

// copyOutput sends up to limit bytes from pipe. It reads and counts the rest, so that the command
// does not block on a full pipe.
func copyOutput(pipe *os.File, limit int64, send func([]byte) error) (total uint64) {
	buf := make([]byte, 32<<10)
	broken := false
	rest := -1 // not cut off yet
	for {
		n, err := pipe.Read(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) && rest < 0 {
			rest = pipeSize
		}
		if rest > 0 {
			n, err = readNow(pipe, buf[:min(len(buf), rest)])
			rest -= n
		}
		keep := min(int64(n), max(limit-int64(total), 0))
		total += uint64(n)
		if keep > 0 && !broken {
			broken = send(buf[:keep]) != nil
		}
		if err != nil || rest == 0 {
			return total
		}
	}
}

// readNow reads what is in the pipe without waiting, and returns io.EOF if it is empty.
func readNow(pipe *os.File, buf []byte) (n int, err error) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	read := func(fd uintptr) {
		for n, err = unix.Read(int(fd), buf); err == unix.EINTR; {
			n, err = unix.Read(int(fd), buf)
		}
	}
	if e := raw.Control(read); e != nil {
		return 0, e
	}
	if n <= 0 && err == nil {
		err = io.EOF
	}
	return max(n, 0), err
}

// command is a command that is ready to start.
type command struct {
	path                  string
	argv                  []string
	attr                  *syscall.ProcAttr
	stdin, stdout, stderr *os.File  // our ends
	childEnds             []uintptr // descriptors
}

func prepare(r *wire.RunRequest) (*command, error) {
	if len(r.Argv) == 0 || r.Argv[0] == "" {
		return nil, errors.New("no command given")
	}
	if err := own(r.Account); err != nil {
		return nil, err
	}
	path, err := lookPath(r.Argv[0], r.Cwd, r.Env)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(r.Cwd); r.Cwd != "" && err != nil { // the fork's error would not say which path
		return nil, fmt.Errorf("working directory: %w", err)
	}
	c := &command{path: path, argv: r.Argv}
	if len(r.Rlimits) > 0 {
		// Go cannot set limits between fork and exec, so the agent's own program sets them and then
		// executes the command.
		c.path = "/proc/self/exe"
		c.argv = limitedArgv(r.Rlimits, path, r.Argv)
	}
	pipe := func(childReads bool) (*os.File, error) {
		var ends [2]int // read end, write end
		if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
			return nil, err
		}
		ours, theirs := ends[0], ends[1]
		if childReads {
			ours, theirs = theirs, ours
		}
		c.childEnds = append(c.childEnds, uintptr(theirs))
		err := unix.SetNonblock(ours, true) // before NewFile, or its reads cannot be interrupted
		return os.NewFile(uintptr(ours), "pipe"), err
	}
	if c.stdin, err = pipe(true); err == nil {
		if c.stdout, err = pipe(false); err == nil {
			c.stderr, err = pipe(false)
		}
	}
	if err != nil {
		c.closeChildEnds()
		c.close()
		return nil, err
	}
	c.attr = &syscall.ProcAttr{Dir: r.Cwd, Env: r.Env, Files: c.childEnds, Sys: &syscall.SysProcAttr{Setpgid: true}}
	if a := r.Account; a != nil {
		c.attr.Sys.Credential = &syscall.Credential{Uid: a.Uid, Gid: a.Gid, Groups: a.Groups}
	}
	return c, nil
}

// own makes the directories of an account that are missing, and gives them to it.
func own(a *wire.Account) error {
	for _, dir := range a.GetDirs() {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("directory of the command: %w", err)
		}
		if err := os.Lchown(dir, int(a.Uid), int(a.Gid)); err != nil {
			return fmt.Errorf("directory of the command: %w", err)
		}
	}
	return nil
}

// closeChildEnds closes the ends of the pipes that the command has copies of.
func (c *command) closeChildEnds() {
	for _, fd := range c.childEnds {
		unix.Close(int(fd))
	}
	c.childEnds = nil
}

// endOutput ends the output after what is in the pipes now.
func (c *command) endOutput() {
	c.stdout.SetReadDeadline(time.Now())
	c.stderr.SetReadDeadline(time.Now())
}

func (c *command) close() {
	for _, f := range []*os.File{c.stdin, c.stdout, c.stderr} {
		if f != nil {
			f.Close()
		}
	}
}

// lookPath finds the program in the PATH of the environment that it will get. It checks that the
// program is executable, since otherwise LimitedMode would fail later and look like the command.
func lookPath(name, cwd string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		at := name
		if !filepath.IsAbs(name) {
			at = filepath.Join(cwd, name)
		}
		return name, executable(at)
	}
	path := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if p := filepath.Join(dir, name); executable(p) == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("%s: not found in PATH=%s", name, path)
}

func executable(path string) error {
	st, err := os.Stat(path)
	if err == nil && (st.IsDir() || st.Mode()&0o111 == 0) {
		err = fmt.Errorf("%s: not a program", path)
	}
	return err
}
