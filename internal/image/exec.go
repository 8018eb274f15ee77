package image

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/tare-bench/tare/internal/fault"
)

// tailLines is how many lines of a failed command's output its error contains.
const tailLines = 15

// command is a program to run as part of a build.
type command struct {
	name string
	args []string
	env  []string   // added to the environment
	keep []*os.File // open files that the command keeps open as long as it runs
}

// run runs c and sends its output to log line by line. What c mounts is in a mount namespace of its own, so it is
// never seen outside, and it is gone when c ends, however it ends. If it fails, the error is the host's fault
// and contains the end of the output. Cancelling ctx stops the command and its children, and so
// does the end of this process.
func run(ctx context.Context, log func(string), c command) error {
	runtime.LockOSThread() // the parent-death signal is tied to the thread
	defer runtime.UnlockOSThread()

	r, w, err := os.Pipe()
	if err != nil {
		return fault.Hostf("%s: %w", c.name, err)
	}
	defer r.Close()
	cmd := exec.CommandContext(ctx, c.name, c.args...)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = w, w, c.keep
	cmd.Env = append(append(os.Environ(), "LC_ALL=C.UTF-8"), c.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if os.Geteuid() == 0 { // others cannot mount anything
		cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Start()
	w.Close()
	if err != nil {
		return fault.Hostf("%s: %w", c.name, err)
	}

	tail := make(chan []string, 1)
	go func() { tail <- readLines(r, log) }()
	err = cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // children that it left running
	last := <-tail
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return explain(fmt.Errorf("%s: %w", c.name, err), last)
	}
	return nil
}

// readLines reads r to its end and returns its last lines.
func readLines(r io.Reader, log func(string)) []string {
	var tail []string
	br := bufio.NewReader(r)
	for {
		line, err := br.ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			log(line)
			if tail = append(tail, line); len(tail) > tailLines {
				tail = tail[1:]
			}
		}
		if err != nil {
			return tail
		}
	}
}

const offline = "connect this machine to its Debian mirror (or set apt's proxy), or bring an image from another " +
	"machine: tare image export, then tare image import"

// causes are causes of failed builds outside tare, recognized by the tools' messages. The first
// match is reported.
var causes = []struct{ text, what, remedy string }{
	{"No space left on device", "the disk is full", "free some space, or put the image cache on another disk"},
	{"Could not resolve", "the package mirror's name cannot be resolved", offline},
	{"Temporary failure resolving", "the package mirror's name cannot be resolved", offline},
	{"Could not connect", "the package mirror cannot be reached", offline},
	{"Unable to connect", "the package mirror cannot be reached", offline},
	{"Cannot initiate the connection", "the package mirror cannot be reached", offline},
	{"is not valid yet", "this machine's clock is behind the package mirror's", "set the clock"},
	{"is expired", "the package mirror's index is expired", "set the clock, or use a mirror that is kept up to date"},
	{"NO_PUBKEY", "the package mirror's signature cannot be checked", "apt-get install debian-archive-keyring"},
	{"Unable to locate package", "the package mirror lacks a package", "use a complete Debian mirror in apt's sources"},
	{"Failed to fetch", "packages could not be downloaded",
		"make sure that apt-get update works on this machine, and try again"},
	{"Operation not permitted", "root lacks a permission here that the build needs",
		"run on the host itself, or in a container with CAP_SYS_ADMIN and CAP_MKNOD"},
}

// explain adds the cause and its fix to a failed command's error.
func explain(err error, tail []string) error {
	text := strings.Join(tail, "\n")
	if errors.Is(err, syscall.ENOSPC) {
		text += "\nNo space left on device"
	}
	for _, c := range causes {
		if strings.Contains(text, c.text) {
			return fault.WithRemedy(fault.Hostf("%s: %w%s", c.what, err, quoteTail(tail)), "%s", c.remedy)
		}
	}
	return fault.Hostf("%w%s", err, quoteTail(tail))
}

func quoteTail(tail []string) string {
	if len(tail) == 0 {
		return ""
	}
	return "\n  its last lines:\n    " + strings.Join(tail, "\n    ")
}

// ErrNoBuild is in the chain of Build's error if the host lacks programs that build images.
var ErrNoBuild = errors.New("this host cannot build images")

// needTools returns an error if the host lacks programs that the build runs.
func needTools() error {
	var missing, packages []string
	for _, t := range []struct{ tool, pkg string }{
		{"mmdebstrap", "mmdebstrap"}, {"apt-get", "apt"}, {"dpkg-deb", "dpkg"}, {"xz", "xz-utils"}, {"mke2fs", "e2fsprogs"},
	} {
		if _, err := lookTool(t.tool); err != nil {
			missing, packages = append(missing, t.tool), append(packages, t.pkg)
		}
	}
	if len(missing) > 0 {
		return fault.WithRemedy(fault.Hostf("%w: there is no %s", ErrNoBuild, strings.Join(missing, ", ")),
			"apt-get install %s; or bring the image from another machine: tare image export, then tare image import",
			strings.Join(packages, " "))
	}
	return nil
}

// lookTool also finds programs in directories that are often not in a user's PATH.
func lookTool(name string) (string, error) {
	p, err := exec.LookPath(name)
	if err == nil {
		return p, nil
	}
	for _, dir := range []string{"/usr/sbin", "/sbin"} {
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return p, nil
		}
	}
	return "", err
}

// output is a command's standard output. The caller reads it to its end and closes it; Close
// returns the command's failure.
type output struct {
	io.Reader
	cmd    *exec.Cmd
	stop   context.CancelFunc
	stderr *strings.Builder
	closed bool
	eof    bool
}

// pipe starts a command and returns its standard output.
func pipe(ctx context.Context, stdin io.Reader, name string, args ...string) (*output, error) {
	ctx, stop := context.WithCancel(ctx)
	o := &output{cmd: exec.CommandContext(ctx, name, args...), stop: stop, stderr: new(strings.Builder)}
	o.cmd.Stdin, o.cmd.Stderr = stdin, o.stderr
	r, err := o.cmd.StdoutPipe()
	if err == nil {
		o.Reader = r
		err = o.cmd.Start()
	}
	if err != nil {
		stop()
		return nil, fault.Hostf("%s: %w", name, err)
	}
	return o, nil
}

func (o *output) Read(b []byte) (int, error) {
	n, err := o.Reader.Read(b)
	o.eof = o.eof || err == io.EOF
	return n, err
}

// Close waits for the command. If the output was not read to its end, it stops the command, which
// is not a failure.
func (o *output) Close() error {
	if o.closed {
		return nil
	}
	o.closed = true
	if !o.eof {
		o.stop()
	}
	err := o.cmd.Wait()
	o.stop()
	if err != nil && o.eof {
		return explain(fmt.Errorf("%s: %w", o.cmd.Path, err), strings.Split(strings.TrimSpace(o.stderr.String()), "\n"))
	}
	return nil
}
