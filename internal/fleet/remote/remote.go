// Package remote measures on other machines over plain SSH: it copies tare there, starts a run that
// needs no connection, and fetches the run file. It uses OpenSSH's own client, so keys, agents, jump
// hosts and known hosts are as ~/.ssh/config has them.
//
// # What is on a machine
//
// Below a directory, bin/tare-SHA256 are the programs, each whole or not there, and runs/NAME is one
// run: campaign.yaml, run.tare, log, binary (the program that it is resumed with), started (the
// campaign's hash), pid, status (tare's exit status) and lock. Whatever belongs to the run holds the
// lock, from before the run is started until its last process is gone, so the lock tells whether it
// runs, whichever process id is in use again. A run that is started twice is one run.
package remote

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/files"
)

// DefaultDir is where tare keeps its files on a machine of a fleet.
const DefaultDir = "/var/lib/tare/fleet"

// ErrNoConnection is in the chain of an error if the machine could not be reached, or not any longer.
var ErrNoConnection = errors.New("no connection")

// Host is a machine to log in to, as root.
type Host struct {
	Destination string // as on ssh's command line
	Config      string // ssh's -F; "": its default
	Dir         string // on the machine; "": DefaultDir
}

// State is what became of a run on a machine.
type State string

const (
	Absent      State = "absent"      // it was never started
	Running     State = "running"     //
	Ended       State = "ended"       // tare ended; Status.Code says how
	Interrupted State = "interrupted" // killed, or the machine was rebooted: it can be resumed
)

// Status is a run on a machine.
type Status struct {
	State State
	Code  int    // tare's exit status, if State is Ended
	Log   string // last line of tare's output, or its last error
}

// Over reports whether nothing more will come by itself.
func (s Status) Over() bool { return s.State == Ended || s.State == Interrupted }

// Complete reports whether the run has all of its trials, though some may have failed in their guests.
func (s Status) Complete() bool {
	return s.State == Ended && (s.Code == fault.ExitOK || s.Code == fault.ExitFailed)
}

// Resumable reports whether tare can go on with the run. What was wrong with the host, such as another tare that was
// measuring, or what it lacked for the campaign, may have been put right since.
func (s Status) Resumable() bool {
	const killed = 128 // the shell's exit status, to which it adds the signal
	ended := s.Code == fault.ExitIncomplete || s.Code == fault.ExitHost || s.Code == fault.ExitCampaign || s.Code > killed
	return s.State == Interrupted || s.State == Ended && ended
}

// Program is a build of tare.
type Program struct {
	Path string // here
	Hash string // SHA-256 of its contents
}

// ProgramAt reads a program.
func ProgramAt(path string) (Program, error) {
	hash, err := files.Sum(path)
	if err != nil {
		return Program{}, fault.Hostf("%w", err)
	}
	return Program{path, hash}, nil
}

func (h Host) dir() string { return cmp.Or(h.Dir, DefaultDir) }

// program is where a program is on the machine.
func (h Host) program(p Program) string { return path.Join(h.dir(), "bin", "tare-"+p.Hash) }

func (h Host) run(name string) string { return path.Join(h.dir(), "runs", name) }

//go:embed install.sh
var installScript string

//go:embed start.sh
var startScript string

//go:embed status.sh
var statusScript string

//go:embed fetch.sh
var fetchScript string

//go:embed cancel.sh
var cancelScript string

// Install copies a program to the machine, unless it is there already. What arrives damaged is not
// installed.
func (h Host) Install(ctx context.Context, p Program) error {
	out, err := h.script(ctx, nil, installScript, h.program(p), p.Hash)
	if err != nil || strings.TrimSpace(out) == "there" {
		return err
	}
	f, err := os.Open(p.Path)
	if err != nil {
		return fault.Hostf("%w", err)
	}
	defer f.Close()
	_, err = h.script(ctx, f, installScript, h.program(p), p.Hash, "copy")
	return err
}

// Doctor returns what the installed program's doctor --json says of the machine, and of the campaign there; nil: none.
func (h Host) Doctor(ctx context.Context, p Program, campaign []byte) (report string, err error) {
	args := []string{h.program(p), "doctor", "--json"}
	if campaign != nil {
		args = append(args, "-")
	}
	// If the machine cannot measure the campaign, there is a report, too, which says why.
	return h.script(ctx, bytes.NewReader(campaign), `out=$("$@") || [ -n "$out" ] && printf "%s\n" "$out"`, args...)
}

// Talk runs the installed program and lets talk write to its standard input and read its standard output. It returns
// what the program says when it fails, otherwise the error of talk.
func (h Host) Talk(ctx context.Context, p Program, talk func(w io.Writer, r io.Reader) error, args ...string) error {
	cmd, stderr := h.command(ctx, `exec "$@"`, append([]string{h.program(p)}, args...)...)
	w, err := cmd.StdinPipe()
	if err != nil {
		return fault.Hostf("%w", err)
	}
	r, err := cmd.StdoutPipe()
	if err != nil {
		return fault.Hostf("%w", err)
	}
	if err := cmd.Start(); err != nil {
		return h.failed(err, stderr)
	}
	talkErr := talk(w, r)
	w.Close()
	_, _ = io.Copy(io.Discard, r) // so that the program can end
	if err := cmd.Wait(); err != nil {
		return h.failed(err, stderr)
	}
	return talkErr
}

// Start starts "tare run" of a campaign's file with args. The run does not need the connection. If a
// run of that name is there, nothing is started, and it is an error if its campaign is another one.
func (h Host) Start(ctx context.Context, p Program, name string, campaign []byte, args ...string) (Status, error) {
	return h.start(ctx, p, name, campaign, "run", args)
}

// Resume continues a run that is Resumable, with the program that began it. One that was interrupted
// before it had a run file begins anew.
func (h Host) Resume(ctx context.Context, name string, campaign []byte, args ...string) (Status, error) {
	return h.start(ctx, Program{}, name, campaign, "resume", args)
}

func (h Host) start(ctx context.Context, p Program, name string, campaign []byte, mode string, args []string) (
	Status, error) {
	sum := sha256.Sum256(campaign)
	words := append([]string{h.run(name), mode, h.program(p), hex.EncodeToString(sum[:])}, args...)
	out, err := h.script(ctx, bytes.NewReader(campaign), startScript, words...)
	if err != nil {
		return Status{}, err
	}
	switch word := strings.TrimSpace(out); word {
	case "started", "running", "there":
		return h.Status(ctx, name)
	case "other":
		return Status{}, fault.WithRemedy(fault.Campaignf("%s: its run %s is of another campaign, or of an earlier version "+
			"of this one", h.Destination, name), "choose another name with --run")
	case "absent":
		return Status{State: Absent}, nil
	default:
		return Status{}, fault.Hostf("%s: unexpected answer %q", h.Destination, word)
	}
}

// Status returns what became of a run.
func (h Host) Status(ctx context.Context, name string) (s Status, err error) {
	out, err := h.script(ctx, nil, statusScript, h.run(name))
	if err != nil {
		return s, err
	}
	first, rest, _ := strings.Cut(out, "\n")
	s.Log = strings.TrimSpace(rest)
	switch _, err := fmt.Sscanf(first, "ended %d", &s.Code); {
	case err == nil:
		s.State = Ended
	case first == string(Absent), first == string(Running), first == string(Interrupted):
		s.State = State(first)
	default:
		return s, fault.Hostf("%s: unexpected answer %q", h.Destination, first)
	}
	return s, nil
}

// Runs returns the names of the runs on the machine.
func (h Host) Runs(ctx context.Context) ([]string, error) {
	out, err := h.script(ctx, nil, `cd "$1" 2>/dev/null || exit 0
for started in */started; do [ ! -e "$started" ] || echo "${started%/started}"; done`, h.run(""))
	if err != nil || out == "" {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(out, "\n"), "\n"), nil
}

// Fetch copies the file of a run that is over to path. It replaces the file there only if all of the
// new one has arrived with the right hash; fetched is false if the same file is there already.
func (h Host) Fetch(ctx context.Context, name, to string) (fetched bool, err error) {
	have := "none"
	if old, err := ProgramAt(to); err == nil {
		have = old.Hash
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return false, fault.Hostf("%w", err)
	}
	err = files.Replace(to, 0o644, func(part *os.File) error { return h.receive(ctx, name, have, part) })
	if errors.Is(err, errSame) {
		return false, nil
	}
	return err == nil, err
}

// errSame is returned by receive if the file is here already.
var errSame = errors.New("the file is the same")

// receive writes the file of a run, unless it has the hash that the file here has.
func (h Host) receive(ctx context.Context, name, have string, part *os.File) error {
	cmd, stderr := h.command(ctx, fetchScript, h.run(name), have)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return fault.Hostf("%w", err)
	}
	if err := cmd.Start(); err != nil {
		return h.failed(err, stderr)
	}
	in := bufio.NewReader(pipe)
	want, readErr := in.ReadString('\n')
	sum := sha256.New()
	_, copyErr := io.Copy(io.MultiWriter(part, sum), in)
	if err := cmd.Wait(); err != nil {
		return h.failed(err, stderr)
	}
	if err := errors.Join(readErr, copyErr); err != nil {
		return fault.Hostf("%s: %w", h.Destination, err)
	}
	want = strings.TrimSpace(want)
	if want == "same" {
		return errSame
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fault.WithRemedy(fault.Hostf("%s: the run file arrived damaged: its hash is %s, not %s",
			h.Destination, got, want), "fetch it again")
	}
	if err := part.Sync(); err != nil {
		return fault.Hostf("%w", err)
	}
	return nil
}

// Cancel asks a run to end, as Ctrl-C does. It can be resumed.
func (h Host) Cancel(ctx context.Context, name string) (Status, error) {
	if _, err := h.script(ctx, nil, cancelScript, h.run(name)); err != nil {
		return Status{}, err
	}
	return h.Status(ctx, name)
}

// script runs a shell script on the machine and returns what it prints.
func (h Host) script(ctx context.Context, stdin io.Reader, script string, args ...string) (string, error) {
	cmd, stderr := h.command(ctx, script, args...)
	cmd.Stdin = stdin
	out, err := cmd.Output()
	if err != nil {
		return "", h.failed(err, stderr)
	}
	return string(out), nil
}

func (h Host) command(ctx context.Context, script string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	// A dead connection is noticed in a minute; nobody is there to answer a question.
	argv := []string{"-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=15",
		"-o", "ServerAliveCountMax=4"}
	if h.Config != "" {
		argv = append(argv, "-F", h.Config)
	}
	words := append([]string{"sh", "-c", script, "tare"}, args...)
	for i, w := range words {
		words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	cmd := exec.CommandContext(ctx, "ssh", append(argv, "--", h.Destination, strings.Join(words, " "))...)
	cmd.WaitDelay = 10 * time.Second
	stderr := &bytes.Buffer{}
	cmd.Stderr = stderr
	return cmd, stderr
}

// refused reports whether ssh says that there is a machine which it cannot log in to, which time will not change.
func refused(said string) bool {
	return strings.Contains(said, "Permission denied") || strings.Contains(said, "Host key verification failed")
}

// failed words the failure of a script: what it or ssh says.
func (h Host) failed(err error, stderr *bytes.Buffer) error {
	const noConnection = 255 // ssh's exit status
	var exit *exec.ExitError
	said := strings.ReplaceAll(strings.TrimSpace(stderr.String()), "\r", "") // ssh ends its lines for terminals
	said = strings.ReplaceAll(said, "\n", "\n  ")
	login := "ssh " + h.Destination
	if h.Config != "" {
		login = "ssh -F " + h.Config + " " + h.Destination
	}
	switch {
	case !errors.As(err, &exit):
		return fault.Hostf("ssh %s: %w", h.Destination, err)
	case exit.ExitCode() == noConnection && refused(said):
		return fault.WithRemedy(fault.Hostf("cannot log in to %s: %s", h.Destination, said),
			"%s must work without a question", login)
	case exit.ExitCode() == noConnection:
		return fault.WithRemedy(fault.Hostf("%w to %s: %s", ErrNoConnection, h.Destination, said),
			"%s must work without a question", login)
	case said == "":
		return fault.Hostf("%s: %w", h.Destination, err)
	}
	return fault.Hostf("%s: %s", h.Destination, said)
}
