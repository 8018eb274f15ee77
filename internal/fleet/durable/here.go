package durable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/files"
	"github.com/tare-bench/tare/internal/store"
)

// Here is the Machine that this process is on. It measures with "tare run" as a child, which ends with
// this process, however that ends. Below Dir, MACHINE/FLEET/RUN has a run: campaign.yaml, build,
// run.tare, log, over (the exit status of a complete run) and lock, which all processes of the run hold.
type Here struct {
	Program string   // tare
	Args    []string // before the command, such as --state
	Dir     string
	// Next returns the boot that the run at a path needs next; without a name: none.
	Next func(ctx context.Context, path string) (Boot, error)
	// Restart boots the host that way.
	Restart func(Boot) error
	// Import gets the userland image with this id from the collector, unless this machine has it. same is false if the
	// machine has another build of it.
	Import func(ctx context.Context, id string) (same bool, err error)
}

func (h *Here) dir(t Task) string { return filepath.Join(h.Dir, t.Machine, t.Fleet, t.Run) }

// RunFile is where the run's file is.
func (h *Here) RunFile(t Task) string { return filepath.Join(h.dir(t), "run.tare") }

// Doctor runs tare doctor, with the campaign if there is one.
func (h *Here) Doctor(ctx context.Context, campaign []byte) (report string, err error) {
	if campaign == nil {
		return h.output(ctx, nil, "doctor", "--json")
	}
	report, err = h.output(ctx, campaign, "doctor", "--json", "-")
	if report != "" { // it also says why this machine cannot measure the campaign
		return report, nil
	}
	return "", err
}

// Prepare writes the campaign, refuses a run that another campaign or another build has begun, and gets the image.
func (h *Here) Prepare(ctx context.Context, t Task) (note string, err error) {
	dir := h.dir(t)
	if err := h.register(dir, t); err != nil {
		return "", err
	}
	if t.Image != "" {
		same, err := h.Import(ctx, t.Image)
		if err != nil {
			return "", err
		}
		if !same {
			note = "the machine built the userland image itself, so versions of packages may differ"
		}
	}
	if _, err := os.Stat(h.RunFile(t)); err == nil {
		return note, nil
	}
	_, err = h.output(ctx, nil, append([]string{"run", filepath.Join(dir, "campaign.yaml"), "--dry-run"}, t.Args...)...)
	return note, err
}

// register writes what the run is in its directory, and refuses another one.
func (h *Here) register(dir string, t Task) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.Hostf("%w", err)
	}
	for name, want := range map[string][]byte{"campaign.yaml": t.Campaign, "build": []byte(t.Build)} {
		path := filepath.Join(dir, name)
		switch have, err := os.ReadFile(path); {
		case errors.Is(err, fs.ErrNotExist):
			if err := writeWhole(path, want); err != nil {
				return err
			}
		case err != nil:
			return fault.Hostf("%w", err)
		case !bytes.Equal(have, want):
			what := map[string]string{"campaign.yaml": "of another campaign", "build": "by another build of tare"}[name]
			return fault.WithRemedy(fault.Campaignf("%s: a run %s %s was begun there", t.Machine, t.Run, what),
				"choose another name with --run")
		}
	}
	return nil
}

// Measure begins or continues the run until it is complete or continues in another boot.
func (h *Here) Measure(ctx context.Context, t Task, progress func(Progress)) (out Outcome, err error) {
	dir := h.dir(t)
	lock, err := h.lock(ctx, dir)
	if err != nil {
		return out, err
	}
	defer lock.Close()
	over := filepath.Join(dir, "over")
	if text, err := os.ReadFile(over); err == nil {
		if _, err := fmt.Sscan(string(text), &out.Code); err != nil {
			return out, fault.Hostf("%s: %w", over, err)
		}
		p, err := h.progress(ctx, t)
		out.Trials = p.Trials
		return out, err
	}
	code, err := h.child(ctx, t, lock, progress)
	if err != nil {
		return out, err
	}
	out.Code = code
	// A run that could not begin has no file; the log says why.
	p, err := h.progress(context.WithoutCancel(ctx), t)
	if errors.Is(err, fs.ErrNotExist) && code != 0 {
		err = nil
	}
	if err != nil {
		return out, err
	}
	out.Trials = p.Trials
	progress(p)
	switch code {
	case fault.ExitOK, fault.ExitFailed:
		return out, writeWhole(over, []byte(fmt.Sprintln(code)))
	case fault.ExitOtherBoot:
		if out.Next, err = h.Next(ctx, h.RunFile(t)); err != nil {
			return out, err
		}
		out.Next.From, err = h.Booted()
		return out, err
	case fault.ExitCampaign:
		return out, fault.Campaignf("%s: %s", t.Machine, h.complaint(dir))
	case fault.ExitIncomplete:
		if err := ctx.Err(); err != nil {
			return out, err
		}
		return out, fault.Hostf("%s: the run was interrupted there", t.Machine)
	}
	return out, fault.Hostf("%s: tare ended with exit status %d: %s", t.Machine, code, h.complaint(dir))
}

// lock waits until no process of an earlier attempt is left.
func (h *Here) lock(ctx context.Context, dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, fault.Hostf("%s: %w", f.Name(), err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// child runs tare until it ends, and returns its exit status.
func (h *Here) child(ctx context.Context, t Task, lock *os.File, progress func(Progress)) (code int, err error) {
	dir := h.dir(t)
	args := append([]string{"run", filepath.Join(dir, "campaign.yaml"), "--out", h.RunFile(t), "--resume", "--yes",
		"--patience", longest.String()}, t.Args...)
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, fault.Hostf("%w", err)
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, h.Program, append(append([]string{}, h.Args...), args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = dir, log, log, []*os.File{lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	// tare ends its trial and removes its guests.
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	cmd.WaitDelay = stopTime
	runtime.LockOSThread() // Pdeathsig is sent when the forking thread ends, not the process
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return 0, fault.Hostf("%w", err)
	}
	ended, told := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		h.tell(ctx, t, ended, progress)
	}()
	err = cmd.Wait()
	close(ended)
	<-told
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode(), nil
	case cmd.ProcessState != nil && cmd.ProcessState.Success():
		return 0, nil
	}
	return 0, fault.Hostf("%s: tare: %w", t.Machine, err)
}

// tell says how far the run is until it ended.
func (h *Here) tell(ctx context.Context, t Task, ended <-chan struct{}, progress func(Progress)) {
	for {
		select {
		case <-ended:
			return
		case <-time.After(10 * time.Second): // rarely: reading the file must not disturb the trials
		}
		// Without a file yet, the log says what is being prepared, or which other run is waited for.
		if p, err := h.progress(ctx, t); err == nil || errors.Is(err, fs.ErrNotExist) {
			progress(p)
		}
	}
}

// progress is how far the run is, as its file and its log say.
func (h *Here) progress(ctx context.Context, t Task) (p Progress, err error) {
	p.Log = lastLine(filepath.Join(h.dir(t), "log"))
	if _, err := os.Stat(h.RunFile(t)); err != nil {
		return p, fault.Hostf("%w", err)
	}
	s, err := store.Open(ctx, h.RunFile(t))
	if err != nil {
		return p, err
	}
	defer s.Close()
	far, err := s.Progress()
	p.Trials, p.Block, p.Attempts = far.Trials, far.Block, far.Attempts
	return p, err
}

// Booted is the kernel's id of this boot.
func (h *Here) Booted() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fault.Hostf("%w", err)
	}
	return strings.TrimSpace(string(id)), nil
}

// Reboot boots the host into what the run needs next.
func (h *Here) Reboot(_ context.Context, t Task) error {
	return h.Restart(t.Boot)
}

// output runs a command of tare that measures nothing, and returns what it printed, even if it refused a campaign.
func (h *Here) output(ctx context.Context, stdin []byte, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, h.Program, append(append([]string{}, h.Args...), args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	cmd.WaitDelay = time.Minute
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(stdin), &stderr
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	out, err := cmd.Output()
	var exit *exec.ExitError
	said := strings.TrimPrefix(strings.TrimSpace(stderr.String()), "tare: ")
	switch {
	case err == nil:
		return string(out), nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &exit) && exit.ExitCode() == fault.ExitCampaign:
		return string(out), fault.Campaignf("%s", said)
	}
	return "", fault.Hostf("tare %s: %w: %s", args[0], err, said)
}

// complaint is the last error in a run's log.
func (h *Here) complaint(dir string) string {
	text := tail(filepath.Join(dir, "log"))
	if i := strings.LastIndex(text, "tare: "); i >= 0 {
		return strings.TrimSpace(text[i+len("tare: "):])
	}
	return strings.TrimSpace(text)
}

func lastLine(path string) string {
	text := strings.TrimSpace(tail(path))
	return text[strings.LastIndexAny(text, "\n\r")+1:]
}

// tail is the end of a file, "" if it cannot be read.
func tail(path string) string {
	const much = 2000 // bytes
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > much {
		if _, err := f.Seek(-much, io.SeekEnd); err != nil {
			return ""
		}
	}
	text, _ := io.ReadAll(f)
	return string(text)
}

// writeWhole writes a file so that it has all of the contents or does not exist, even if the power is lost.
func writeWhole(path string, contents []byte) error {
	return files.Replace(path, 0o600, func(f *os.File) error {
		_, err := f.Write(contents)
		if err = errors.Join(err, f.Sync()); err != nil {
			return fault.Hostf("%w", err)
		}
		return nil
	})
}
