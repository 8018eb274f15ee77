package vmware

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
)

// Workstation is the system "vmware-workstation": machines of VMware Workstation on this host,
// controlled with its program vmrun.
type Workstation struct{}

func (Workstation) Name() string { return "vmware-workstation" }

var workstationOptions = append([]system.Option{
	{Name: "clone", Values: []string{"no", "linked", "full"}, Default: "no",
		About: "Run a clone, which is deleted afterwards, not the machine itself."},
}, guestOptions...)

func (Workstation) Capabilities() system.Capabilities {
	return system.Capabilities{
		VerifiedOn:   system.NeedsProduct,
		Freeze:       "vmrun pause",
		StopsClock:   true,
		Memory:       "the machine's RAM, as its .vmx file says",
		DiskBackings: []string{"as its .vmx file says"},
		Networks:     []string{"as its .vmx file says"},
		IOCap:        system.RemoteCap,
		Swap:         system.RemoteCap,
		NetCap:       system.RemoteCap,
		Remote:       true,
		OwnUserland:  true,
		HostBoot:     "linux",
		Target:       "the machine's .vmx file; it must be powered off",
		Options:      workstationOptions,
	}
}

// CheckTarget returns an error unless target is the absolute path of a .vmx file.
func (Workstation) CheckTarget(target string) error {
	if !filepath.IsAbs(target) || filepath.Ext(target) != ".vmx" {
		return fault.Campaignf("target %q: want the absolute path of a .vmx file", target)
	}
	return nil
}

func (Workstation) Check(ctx context.Context, _ *system.Host) system.Status {
	path, err := exec.LookPath("vmrun")
	if err != nil {
		return system.Unusable("needs the product, VMware Workstation: its program vmrun is not installed", "")
	}
	out, err := vmrun(ctx, nil, "list")
	if err != nil {
		return system.Unusable(fmt.Sprintf("%s list: %v", path, err), "")
	}
	first, _, _ := strings.Cut(out, "\n")
	return system.Status{Usable: true, Proof: path + ": " + first}
}

// vmrunTimeout bounds commands that do not wait for the guest.
const vmrunTimeout = 2 * time.Minute

// vmrun runs a vmrun command and returns its output. vmrun reports errors on standard output, as
// "Error: …", with exit status 255. auth are the options with the guest's user and password; they
// are on the command line, since vmrun accepts them nowhere else.
func vmrun(ctx context.Context, auth []string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, vmrunTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "vmrun", slices.Concat([]string{"-T", "ws"}, auth, args)...)
	cmd.WaitDelay = time.Second // the machine's process may keep the output open
	b, err := cmd.CombinedOutput()
	out := strings.TrimSpace(string(b))
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	if err == nil {
		return out, nil
	}
	why := err.Error()
	if _, text, ok := strings.Cut(out, "Error: "); ok {
		why = text
	}
	return "", fault.Hostf("vmrun %s: %s", args[0], why)
}

func (w Workstation) Create(ctx context.Context, s *system.Site) (system.Guest, error) {
	if err := w.CheckTarget(s.Target); err != nil {
		return nil, err
	}
	user, password, err := guestLogin(workstationOptions, s.Request)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(s.Target); err != nil {
		return nil, fault.Campaignf("%w", err)
	}
	m := &workstation{vmx: s.Target, auth: []string{"-gu", user, "-gp", password}}
	if running, err := m.running(ctx); err != nil || running {
		if err == nil {
			err = fault.Campaignf("%s is already running; tare only uses a machine that is powered off", m.vmx)
		}
		return nil, err
	}
	if how := s.Setting(workstationOptions, "clone"); how != "no" {
		if err := m.clone(ctx, how, s.ID); err != nil {
			return nil, err
		}
	}
	g := &workstationGuest{machine: m, place: newPlace(m, workstationOptions, s), log: &system.Tail{}}
	if _, err := vmrun(ctx, nil, "start", m.vmx, "nogui"); err != nil {
		return nil, errors.Join(err, m.remove())
	}
	if g.conn, err = g.place.startAgent(ctx, s); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// workstation is one machine.
type workstation struct {
	vmx    string
	auth   []string
	cloned bool
}

// running reports whether the machine is in vmrun's list of running machines.
func (m *workstation) running(ctx context.Context) (bool, error) {
	out, err := vmrun(ctx, nil, "list")
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(out) {
		if strings.TrimSpace(line) == m.vmx {
			return true, nil
		}
	}
	return false, nil
}

// clone makes a clone in a new directory beside the machine's, under a name that marks it as
// tare's.
func (m *workstation) clone(ctx context.Context, how, id string) error {
	dir := filepath.Join(filepath.Dir(filepath.Dir(m.vmx)), "tare-"+id)
	to := filepath.Join(dir, "tare-"+id+".vmx")
	if _, err := vmrun(ctx, nil, "clone", m.vmx, to, how); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	m.vmx, m.cloned = to, true
	return nil
}

// remove deletes a clone.
func (m *workstation) remove() error {
	if !m.cloned {
		return nil
	}
	if _, err := vmrun(context.Background(), nil, "deleteVM", m.vmx); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Dir(m.vmx))
}

func (m *workstation) upload(ctx context.Context, path string, content []byte) error {
	f, err := os.CreateTemp("", "tare-upload-*")
	if err != nil {
		return fault.Hostf("%w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err := errors.Join(err, f.Close()); err != nil {
		return fault.Hostf("%w", err)
	}
	return m.retry(ctx, func() error {
		_, err := vmrun(ctx, m.auth, "CopyFileFromHostToGuest", m.vmx, f.Name(), path)
		return err
	})
}

// retry retries f until VMware Tools run, some time after the machine has started.
func (m *workstation) retry(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil || !strings.Contains(err.Error(), "VMware Tools are not running") {
			return err
		}
		select {
		case <-ctx.Done():
			return fault.WithRemedy(fault.Guestf("VMware Tools do not start in the guest: %w", err),
				"install open-vm-tools in it")
		case <-time.After(time.Second):
		}
	}
}

func (m *workstation) start(ctx context.Context, program, arg string) error {
	_, err := vmrun(ctx, m.auth, "runProgramInGuest", m.vmx, "-noWait", program, arg)
	return err
}

func (m *workstation) run(ctx context.Context, program, arg string) error {
	_, err := vmrun(ctx, m.auth, "runProgramInGuest", m.vmx, program, arg)
	return err
}

func (m *workstation) address(ctx context.Context) (string, error) {
	return vmrun(ctx, nil, "getGuestIPAddress", m.vmx, "-wait")
}

// workstationGuest is a running machine with its agent.
type workstationGuest struct {
	system.Unmetered
	machine *workstation
	place   place
	conn    *conn
	log     *system.Tail
	frozen  bool
	once    sync.Once
	err     error
}

func (g *workstationGuest) Conn() net.Conn          { return g.conn }
func (g *workstationGuest) Exited() <-chan struct{} { return g.conn.gone }
func (g *workstationGuest) Log() string             { return g.log.String() }
func (g *workstationGuest) DataDir() string         { return g.place.dataDir() }

func (g *workstationGuest) CommandLine() []string {
	return []string{"vmrun", "-T", "ws", "start", g.machine.vmx, "nogui"}
}

func (g *workstationGuest) Freeze(ctx context.Context) error {
	_, err := vmrun(ctx, nil, "pause", g.machine.vmx)
	g.frozen = err == nil
	return err
}

func (g *workstationGuest) Thaw(ctx context.Context) error {
	_, err := vmrun(ctx, nil, "unpause", g.machine.vmx)
	g.frozen = g.frozen && err != nil
	return err
}

// Kill powers the machine off without a shutdown.
func (g *workstationGuest) Kill() error {
	_, err := vmrun(context.Background(), nil, "stop", g.machine.vmx, "hard")
	return err
}

// Close powers the machine off. A machine that is not a clone first removes the agent and its data.
// If it cannot, Close powers it off nevertheless, and the error says what is left in the machine.
func (g *workstationGuest) Close() error {
	g.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), vmrunTimeout)
		defer cancel()
		if g.frozen {
			g.err = g.Thaw(ctx)
		}
		if g.conn != nil {
			g.conn.Close()
		}
		running, err := g.machine.running(ctx)
		g.err = errors.Join(g.err, err)
		if running {
			if !g.machine.cloned {
				if err := g.place.removed(ctx); err != nil {
					g.err = errors.Join(g.err, fmt.Errorf("%s* may be left in %s: %w", g.place.base, g.machine.vmx, err))
				}
			}
			g.err = errors.Join(g.err, unlessOff(g.Kill(), func() (bool, error) { return g.machine.running(ctx) }))
		}
		g.err = errors.Join(g.err, g.machine.remove())
	})
	return g.err
}
