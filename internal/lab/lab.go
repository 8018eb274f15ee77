// Package lab boots a whole machine under QEMU, with the CPU emulated in software, on which tare
// runs as on any other machine: as Xen's dom0, as a Linux host with KVM, or as plain Linux. Thus
// every driver can run against the real hypervisor on a host that has none. Times in the lab say
// nothing about hardware; tare detects that it runs in one and says so.
//
// The machine's first process is tare's agent. Programs get in, and results out, through the agent
// and through a directory that both sides see. A lab is one QEMU process and one directory, and
// touches nothing else on the host. Each state directory can have one lab at a time.
package lab

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/image"
)

// Exchange is the path in the lab of the directory that both sides see.
const Exchange = "/run/exchange"

// Scratch is a directory on the lab's own disk.
const Scratch = "/data"

const (
	bootTimeout  = 5 * time.Minute // takes ten seconds on an idle machine
	setupTimeout = 3 * time.Minute
)

//go:embed setup.sh
var setupScript string

// Config describes the lab to boot.
type Config struct {
	Kind        Kind
	CPUs        int
	MemoryBytes int64
	DiskBytes   int64 // size of the lab's own disk, a sparse file
	StateDir    string
	Host        *image.Image // built from Recipe
	Userland    *image.Image // the image that guests run
	Agent       []byte
	Outlives    bool // the lab can be kept: QEMU does not end with this process
}

// Lab is a running lab.
type Lab struct {
	config Config
	dir    string
	pid    int
	exited chan struct{} // closed when QEMU has ended; nil if QEMU is not our child
	lock   *os.File
}

// Start boots a lab and sets it up. The caller closes it; or, if the lab outlives this process, calls Keep. If it
// does neither, the lab ends with this process, or Sweep ends it.
func Start(ctx context.Context, c Config) (*Lab, error) {
	l := &Lab{config: c, dir: dirOf(c.StateDir)}
	if err := l.take(); err != nil {
		return nil, err
	}
	if err := l.start(ctx); err != nil {
		err = fmt.Errorf("the lab (%s) does not start: %w%s", c.Kind, err, l.lastWords())
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Lab) start(ctx context.Context) error {
	files, err := l.prepare(ctx)
	if err != nil {
		return err
	}
	if err := l.launch(l.commandLine(files)); err != nil {
		return err
	}
	if err := l.save(false); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	r, err := l.Run(ctx, agent.Command{
		Argv: []string{"sh", "-s", string(l.config.Kind), filepath.Base(l.config.Userland.Dir)}, Stdin: []byte(setupScript),
		Env: Env, Timeout: setupTimeout,
	})
	if err != nil {
		return err
	}
	if out := strings.TrimSpace(string(r.Stdout)); r.ExitCode != 0 || !strings.HasSuffix(out, "ready") {
		return fault.Hostf("its setup ended with status %d: %s %s", r.ExitCode, out, strings.TrimSpace(string(r.Stderr)))
	}
	return nil
}

// launch starts QEMU.
func (l *Lab) launch(argv []string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	log, err := os.Create(l.path(qemuLog))
	if err != nil {
		return fault.Hostf("%w", err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	// QEMU holds the lock from now on, even if this process releases it.
	cmd.ExtraFiles = []*os.File{l.lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if !l.config.Outlives {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	started, exited := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // Pdeathsig is sent when the forking thread ends, not the process
		defer runtime.UnlockOSThread()
		started <- cmd.Start()
		cmd.Wait()
		close(exited)
	}()
	if err := <-started; errors.Is(err, exec.ErrNotFound) {
		return fault.WithRemedy(fault.Hostf("QEMU is not installed: %w", err), "apt-get install qemu-system-x86")
	} else if err != nil {
		return fault.Hostf("%w", err)
	}
	l.pid, l.exited = cmd.Process.Pid, exited
	return nil
}

// Env is the environment of commands in a lab.
var Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8"}

// Run runs a command in the lab, in a new session.
func (l *Lab) Run(ctx context.Context, c agent.Command) (*agent.Result, error) {
	client, err := l.Connect(ctx)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if c.Env == nil {
		c.Env = Env
	}
	return client.Run(ctx, c)
}

// Connect begins a session, which the caller closes. Only one session is possible at a time;
// Connect waits for the end of another one, which the lab notices with a short delay, and for the
// end of the boot.
func (l *Lab) Connect(ctx context.Context) (*agent.Client, error) {
	for {
		client, err := l.tryConnect(ctx)
		if err == nil {
			return client, nil
		}
		select {
		case <-ctx.Done():
			return nil, fault.Hostf("its agent does not answer: %w", err)
		case <-l.exited:
			return nil, fault.Hostf("QEMU has ended")
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// greetTimeout is how long an agent may take to answer before Connect connects again: leftover
// bytes of an earlier session may have confused it.
const greetTimeout = 20 * time.Second

func (l *Lab) tryConnect(ctx context.Context) (*agent.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", l.path(agentPort))
	if err != nil {
		return nil, err
	}
	client, _, err := agent.Connect(ctx, conn)
	return client, err
}

// Kind is the kind that the lab was booted as.
func (l *Lab) Kind() Kind { return l.config.Kind }

// ExchangeDir is the path on the host of the directory that both sides see.
func (l *Lab) ExchangeDir() string { return l.path(exchangeDir) }

// Close ends the lab and removes its directory. Later calls do nothing.
func (l *Lab) Close() error {
	if l.dir == "" {
		return nil
	}
	err := l.kill()
	if err == nil {
		err = os.RemoveAll(l.dir)
	}
	if l.lock != nil {
		l.lock.Close()
	}
	l.dir = ""
	if err != nil {
		return fault.Hostf("ending the lab: %w", err)
	}
	return nil
}

// lastWords returns the ends of QEMU's and the machine's output.
func (l *Lab) lastWords() string {
	var said strings.Builder
	for _, file := range []string{qemuLog, consoleFile} {
		b, _ := os.ReadFile(l.path(file))
		if text := strings.TrimSpace(string(b)); text != "" {
			lines := strings.Split(strings.ReplaceAll(text, "\r", ""), "\n")
			fmt.Fprintf(&said, "\n%s ends:\n%s", file, strings.Join(lines[max(0, len(lines)-15):], "\n"))
		}
	}
	return said.String()
}
