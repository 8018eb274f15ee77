package system

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/sandbox"
	"github.com/tare-bench/tare/internal/tools"
)

// AgentFD is the descriptor number of the agent's end of its stream, in a process started on a
// site.
const AgentFD = 3

// AgentEnv is the environment of agents, and therefore of workloads.
var AgentEnv = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "HOME=/tmp"}

// Process is a guest's first process on the host: the agent itself, a
// container runtime, a VMM.
type Process struct {
	cmd    *exec.Cmd
	argv   []string
	conn   net.Conn
	log    *Tail
	exited chan struct{}

	forked int64
	mark   atomic.Pointer[sandbox.Mark]
}

// Command is a guest's first process on the host, before it starts.
type Command struct {
	Root string        // new root directory, or ""
	Hide []string      // host directories that it must not see; it sees empty ones in memory instead
	Dir  string        // working directory, inside Root; "": unchanged, or / in a new root
	PIDs bool          // run in a new PID namespace: processes that it started end with it
	IPC  bool          // run in a new IPC namespace: System V memory that it leaves ends with it
	Net  string        // path of the network namespace to enter, or ""
	Jail *sandbox.Jail // where it is confined; nil: nowhere
	// Drop are capabilities that the process and its children can never have.
	Drop []capability.Cap
	// Lend are those that the process has, but nothing that it executes.
	Lend []capability.Cap
	Argv []string // without Root, the program is looked up by tools.Find
	// For is the program that decides whose programs these are, if Argv[0] only starts it; "": Argv[0].
	For   string
	Env   []string   // in addition to AgentEnv
	Files []*os.File // descriptors after AgentFD
	// Stdio: the agent's stream is standard input and output, as two pipes, and Files begin at AgentFD.
	Stdio bool

	programs      string   // whose, as tools.Find takes it
	stdin, stdout *os.File // nil: no input, and output to the log
}

// Start starts a process in the site's control group, with the agent's stream at AgentFD. Its log
// keeps the end of its output.
func (s *Site) Start(c Command) (*Process, error) {
	var conn net.Conn
	if c.Stdio {
		ours, stdin, stdout, err := stdioPair()
		if err != nil {
			return nil, err
		}
		defer stdin.Close()
		defer stdout.Close()
		conn, c.stdin, c.stdout = ours, stdin, stdout
	} else {
		ours, theirs, err := StreamPair()
		if err != nil {
			return nil, err
		}
		defer theirs.Close()
		conn, c.Files = ours, append([]*os.File{theirs}, c.Files...)
	}
	c.programs = s.Flavor.Programs
	p, err := c.start(s.Group)
	if err != nil {
		conn.Close()
		return nil, err
	}
	p.conn = conn
	return p, nil
}

// start starts the process in this control group.
func (c Command) start(in *cgroup.Group) (*Process, error) {
	argv := c.Argv
	program := tools.Program{Path: argv[0]}
	if c.Root == "" {
		var err error
		if program, err = c.find(); err != nil {
			return nil, err
		}
	}
	executed, marks, err := os.Pipe()
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	defer marks.Close()
	files := append(slices.Clip(c.Files), marks)
	cmd := sandbox.Enter{
		Mark: AgentFD + len(c.Files),
		Hide: c.Hide, PIDs: c.PIDs, IPC: c.IPC, Net: c.Net, Jail: c.Jail, Tree: program.Tree, Root: c.Root, Dir: c.Dir,
		Drop: c.Drop, Lend: c.Lend, Path: program.Path, Argv: argv, Env: slices.Concat(AgentEnv, c.Env),
	}.Command(context.Background())
	p := &Process{cmd: cmd, argv: argv, log: &Tail{}, exited: make(chan struct{}), forked: agent.Monotonic()}
	cmd.ExtraFiles = files
	cmd.Stdout, cmd.Stderr = p.log, p.log
	if c.stdin != nil {
		cmd.Stdin, cmd.Stdout = c.stdin, c.stdout
	}
	cmd.WaitDelay = time.Second // a child may keep the log open
	if err := in.Start(cmd); err != nil {
		executed.Close()
		return nil, fault.Hostf("starting %s: %w", argv[0], err)
	}
	go func() {
		defer executed.Close()
		if m, err := sandbox.ReadMark(executed); err == nil {
			p.mark.Store(&m)
		}
	}()
	go func() {
		defer close(p.exited)
		if err := cmd.Wait(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
			fmt.Fprintf(p.log, "%s: %v\n", argv[0], err)
		}
	}()
	return p, nil
}

// find returns the program to execute, with the root directory to execute it in.
func (c Command) find() (tools.Program, error) {
	p, err := tools.Find(cmp.Or(c.For, c.Argv[0]), c.programs)
	if err != nil || c.For == "" {
		return p, err
	}
	return p.Beside(c.Argv[0])
}

// StreamPair returns the two ends of a stream: a connection to keep and a file to pass on. The
// caller closes both.
func StreamPair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fault.Hostf("a stream to the guest: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "agent"), os.NewFile(uintptr(fds[1]), "agent")
	defer ours.Close() // FileConn has its own copy
	conn, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, fault.Hostf("a stream to the guest: %w", err)
	}
	return conn, theirs, nil
}

// ConnPair is StreamPair with a connection at both ends.
func ConnPair() (ours, theirs net.Conn, err error) {
	ours, file, err := StreamPair()
	if err != nil {
		return nil, nil, err
	}
	defer file.Close() // FileConn has its own copy
	if theirs, err = net.FileConn(file); err != nil {
		ours.Close()
		return nil, nil, fault.Hostf("a stream to the guest: %w", err)
	}
	return ours, theirs, nil
}

// stdioPair returns a connection and the standard input and output of a process at its other end. The caller
// closes all three.
func stdioPair() (ours net.Conn, stdin, stdout *os.File, err error) {
	stdin, to, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, fault.Hostf("a stream to the guest: %w", err)
	}
	from, stdout, err := os.Pipe()
	if err != nil {
		stdin.Close()
		to.Close()
		return nil, nil, nil, fault.Hostf("a stream to the guest: %w", err)
	}
	return pipes{from, to}, stdin, stdout, nil
}

// pipes is the connection of two pipes.
type pipes struct {
	*os.File          // to read from
	to       *os.File // to write to
}

func (p pipes) Write(b []byte) (int, error)        { return p.to.Write(b) }
func (p pipes) Close() error                       { return errors.Join(p.to.Close(), p.File.Close()) }
func (p pipes) LocalAddr() net.Addr                { return addr("tare") }
func (p pipes) RemoteAddr() net.Addr               { return addr("guest") }
func (p pipes) SetWriteDeadline(t time.Time) error { return p.to.SetWriteDeadline(t) }
func (p pipes) SetDeadline(t time.Time) error {
	return errors.Join(p.SetReadDeadline(t), p.SetWriteDeadline(t))
}

// Conn, Exited, Log and CommandLine are those of Guest.
func (p *Process) Conn() net.Conn          { return p.conn }
func (p *Process) Exited() <-chan struct{} { return p.exited }
func (p *Process) Log() string             { return p.log.String() }
func (p *Process) CommandLine() []string   { return p.argv }

// Executed is that of Marked.
func (p *Process) Executed() (forked, executed int64, own time.Duration) {
	m := p.mark.Load()
	if m == nil {
		return 0, 0, 0
	}
	return min(p.forked, m.At), m.At, m.CPU
}

// endTimeout is how long a process may take to end by itself.
const endTimeout = 30 * time.Second

// WaitEnd waits for the process to end by itself, as a runtime does after it has saved its guest, and closes what
// Kill closes.
func (p *Process) WaitEnd(ctx context.Context) error {
	select {
	case <-p.exited:
		return p.Kill()
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(endTimeout):
		return fault.Guestf("%s does not end by itself", p.argv[0])
	}
}

// Kill kills the process and returns when it has ended.
func (p *Process) Kill() error {
	if p.conn != nil { // a daemon has none
		p.conn.Close()
	}
	p.cmd.Process.Kill() // an error means that it has already ended
	select {
	case <-p.exited:
		return nil
	case <-time.After(30 * time.Second):
		return fault.Hostf("%s (pid %d) does not end after SIGKILL", p.argv[0], p.cmd.Process.Pid)
	}
}

// tailBytes bounds how much of a log is kept; a guest may print gigabytes.
const tailBytes = 64 << 10

// Tail is a writer that keeps the end of its input.
type Tail struct {
	mu  sync.Mutex
	buf []byte
	cut bool
}

var _ io.Writer = (*Tail)(nil)

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-tailBytes):]...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
		t.cut = true
	}
	return len(p), nil
}

func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut {
		return "[…]" + string(t.buf)
	}
	return string(t.buf)
}
