package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
)

// guest is an agent on the machine, under a shell which makes the agent's directory, waits until
// the program has been copied there, and starts it. When the agent has ended, for whatever reason,
// the shell removes everything: also when the connection is cut or tare is killed.
type guest struct {
	system.Unmetered
	login   *loggedIn
	session *ssh.Session
	command string
	dir     string   // on the machine
	conn    net.Conn // to the agent
	theirs  net.Conn // the other end of conn
	log     *system.Tail
	exited  chan struct{}
	once    sync.Once
	err     error
}

// machines maps the architectures that tare's agent is built for to uname's names.
var machines = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

const dirMark = "tare-dir:" // marks the line, since login scripts may print, too

// script returns what the shell on the machine runs.
func script(dir, id string) string {
	return strings.Join([]string{
		`d=$(mktemp -d ` + quote(dir+"/tare-"+id+".XXXXXX") + `) || exit 1`,
		// A killed agent leaves its commands running: they are in this session, but not in this
		// shell's process group.
		`end() { read -r x </proc/$$/stat; set -- ${x##*) }; g=$3; s=$4; ` +
			`for p in /proc/[0-9]*; do read -r x <$p/stat && set -- ${x##*) } && [ "$4" = "$s" ] && [ "$3" != "$g" ] && kill -9 ${p#/proc/}; done 2>/dev/null; ` +
			`rm -rf "$d"; }`,
		`trap end EXIT`,
		`trap 'exit 1' HUP INT TERM`,
		`mkdir "$d/data" || exit 1`,
		`echo "` + dirMark + `$d"`,
		// The shell reads this line byte by byte, and leaves what follows to the agent.
		`IFS= read -r go && [ "$go" = go ] || exit 1`,
		`cd "$d/data" && "$d/tare-agent" stdio "$d/data"`,
	}, "; ")
}

// quote quotes s as one word for a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// shell returns the command line that runs a script, whatever the login shell.
func (l *loggedIn) shell(script string) string {
	c := "sh -c " + quote(script)
	if l.set.sudo {
		c = "sudo -n " + c
	}
	return c
}

// run runs a script and returns its output.
func (l *loggedIn) run(ctx context.Context, script string, stdin io.Reader) (string, error) {
	defer l.within(ctx)()
	s, err := l.open()
	if err != nil {
		return "", err
	}
	defer s.Close()
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	var out, errs bytes.Buffer
	s.Stdin, s.Stdout, s.Stderr = stdin, &out, &errs
	if err := s.Run(l.shell(script)); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fault.Hostf("%s: %w: %s", script, err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

// hangUpDelay is how long after the end of a context a session may take to end. A test shortens it.
var hangUpDelay = 10 * time.Second

// within cuts the connection a while after ctx has ended, unless the returned function is called before: a machine that
// hangs neither opens a session nor confirms its end.
func (l *loggedIn) within(ctx context.Context) (done func()) {
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-ended:
		case <-time.After(hangUpDelay):
			l.conn.Close()
		}
	})
	return func() {
		stop()
		close(ended)
	}
}

// start copies the agent and starts it.
func start(ctx context.Context, l *loggedIn, s *system.Site) (*guest, error) {
	out, err := l.run(ctx, "echo tare-uname:$(uname -sm)", nil)
	if err != nil {
		return nil, err
	}
	_, after, _ := strings.Cut(out, "tare-uname:")
	kind, _, _ := strings.Cut(after, "\n")
	if want := "Linux " + machines[runtime.GOARCH]; kind != want {
		return nil, fault.Campaignf("the machine is %q, and the agent of this tare runs on %s only", kind, want)
	}
	defer l.within(ctx)()
	session, err := l.open()
	if err != nil {
		return nil, err
	}
	g := &guest{login: l, session: session, command: l.shell(script(l.set.dir, s.ID)), log: &system.Tail{},
		exited: make(chan struct{})}
	session.Stderr = g.log
	stdin, err1 := session.StdinPipe()
	stdout, err2 := session.StdoutPipe()
	if err := errors.Join(err1, err2, session.Start(g.command)); err != nil {
		return nil, fault.Guestf("starting a shell: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { session.Close() })
	defer stop()
	if err := g.place(ctx, s, stdin, stdout); err != nil {
		stdin.Close() // makes the shell remove what is there
		ended := make(chan struct{})
		go func() { session.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(closeTimeout):
		}
		if text := strings.TrimSpace(g.log.String()); text != "" {
			err = fmt.Errorf("%w: %s", err, text)
		}
		return nil, err
	}
	return g, g.connect(stdin, stdout)
}

// place copies the program to the shell's directory and tells the shell to start it.
func (g *guest) place(ctx context.Context, s *system.Site, stdin io.Writer, stdout io.Reader) error {
	for g.dir == "" {
		line, err := readLine(stdout)
		if err != nil {
			return fault.Hostf("no directory for the agent can be made in %s", g.login.set.dir)
		}
		if _, dir, ok := strings.Cut(line, dirMark); ok {
			g.dir = dir
		}
	}
	if err := g.copy(ctx, s.Userland.Agent, "tare-agent"); err != nil {
		return fmt.Errorf("copying the agent: %w", err)
	}
	own, err := filepath.Glob(filepath.Join(s.Userland.Tree, ownPrograms))
	if err != nil {
		return err
	}
	for _, program := range own { // no package of the machine has them
		if err := g.copy(ctx, program, filepath.Base(program)); err != nil {
			return fmt.Errorf("copying %s: %w", filepath.Base(program), err)
		}
	}
	if _, err := io.WriteString(stdin, "go\n"); err != nil {
		return fault.Guestf("starting the agent: %w", err)
	}
	return nil
}

// ownPrograms are tare's own programs in the userland: the load generators.
const ownPrograms = "usr/local/bin/tare-*"

// copy copies a program to the guest's directory on the machine.
func (g *guest) copy(ctx context.Context, from, name string) error {
	program, err := os.Open(from)
	if err != nil {
		return fault.Hostf("%w", err)
	}
	defer program.Close()
	to := quote(g.dir + "/" + name)
	_, err = g.login.run(ctx, "cat >"+to+" && chmod 700 "+to, program)
	return err
}

// readLine reads a line and nothing beyond it.
func readLine(r io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); len(line) < 4096; {
		if _, err := io.ReadFull(r, b); err != nil {
			return "", err
		}
		if b[0] == '\n' {
			return string(line), nil
		}
		line = append(line, b[0])
	}
	return "", fmt.Errorf("a line without end")
}

// connect turns the session's pipes into the agent's stream.
func (g *guest) connect(stdin io.WriteCloser, stdout io.Reader) error {
	ours, theirs, err := system.ConnPair()
	if err != nil {
		return err
	}
	g.conn, g.theirs = ours, theirs
	go func() {
		io.Copy(stdin, theirs)
		stdin.Close() // our end was closed: makes the agent end
	}()
	go func() {
		io.Copy(theirs, stdout)
		theirs.Close()
		io.Copy(io.Discard, stdout) // otherwise the session's Wait would not return
	}()
	go func() {
		defer close(g.exited)
		if err := g.session.Wait(); err != nil {
			fmt.Fprintf(g.log, "the session ended: %v\n", err)
		}
	}()
	return nil
}

func (g *guest) Conn() net.Conn          { return g.conn }
func (g *guest) Exited() <-chan struct{} { return g.exited }
func (g *guest) Log() string             { return g.log.String() }
func (g *guest) DataDir() string         { return g.dir + "/data" }
func (g *guest) ProgramDir() string      { return g.dir }

func (g *guest) CommandLine() []string {
	t := g.login.set.target
	return []string{"ssh", "-p", t.port, t.user + "@" + t.host, g.command}
}

// Freeze and Thaw are never called, since the driver's capabilities exclude it.
func (g *guest) Freeze(context.Context) error { return errFreeze }
func (g *guest) Thaw(context.Context) error   { return errFreeze }

var errFreeze = errors.New("ssh cannot freeze")

// Kill cuts the connection, as a crash of the machine or of the network would.
func (g *guest) Kill() error { return g.login.conn.Close() }

// closeTimeout is how long a machine may take to remove the agent and its data.
const closeTimeout = 15 * time.Second

// endTimeout is how long an agent may take to end. A test with one that hangs shortens it.
var endTimeout = closeTimeout

// Close ends the agent and waits until the machine has removed the agent and its data. A machine
// which is no longer reachable removes them when it notices that the connection is cut; Close does
// not wait for that.
func (g *guest) Close() error {
	g.once.Do(func() {
		g.conn.Close()
		defer g.theirs.Close()
		select {
		case <-g.exited:
		case <-time.After(endTimeout):
		}
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		defer g.login.Close()
		_, err := g.login.run(ctx, removal(g.dir), nil)
		if err != nil { // the connection was cut, or the directory cannot be removed
			again, e := login(ctx, g.login.set)
			if e != nil {
				fmt.Fprintf(g.log, "%s must remove %s by itself, because tare cannot log in again: %v\n", g.login.set.target,
					g.dir, e)
				return
			}
			defer again.Close()
			_, err = again.run(ctx, removal(g.dir), nil)
		}
		if err != nil {
			g.err = fault.Hostf("%s: %s cannot be removed: %w", g.login.set.target, g.dir, err)
		}
	})
	return g.err
}

// removal waits until the shell has removed its directory. After three seconds it kills the agent,
// and after three more it removes the directory itself.
func removal(dir string) string {
	d := quote(dir)
	wait := `i=0; while [ -e ` + d + ` ] && [ $i -lt 30 ]; do i=$((i+1)); sleep 0.1; done; `
	return wait + `if [ -e ` + d + ` ]; then for p in /proc/[0-9]*; do case $(readlink $p/exe) in ` + d +
		`/*) kill -9 ${p#/proc/};; esac; done; ` +
		wait + `rm -rf ` + d + `; fi; [ ! -e ` + d + ` ]`
}
