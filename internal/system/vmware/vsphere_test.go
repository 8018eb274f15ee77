package vmware

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/porttest"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/systemtest"
)

const (
	template = "/DC0/vm/DC0_H0_VM0"
	inPlace  = "/DC0/vm/DC0_H0_VM1"
)

// vcsim is the vCenter simulator in this process. Its machines have power states but run nothing,
// so VMware Tools are replaced by programs on this host, which stop, continue and end with their
// machine.
type vcsim struct {
	t     *testing.T
	guest string // directory of the guests
	own   *client
}

func newVcsim(t *testing.T) *vcsim {
	t.Helper()
	log.SetOutput(io.Discard) // the server logs every rejected certificate
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	m := simulator.VPX()
	m.Autostart = false
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Remove)
	m.Service.TLS = new(tls.Config)
	s := m.Service.NewServer()
	t.Cleanup(s.Close)
	password, _ := s.URL.User.Password()
	t.Setenv("TARE_VMWARE_USER", s.URL.User.Username())
	t.Setenv("TARE_VMWARE_PASSWORD", password)
	t.Setenv("TARE_VMWARE_GUEST_PASSWORD", "secret")
	s.URL.User = nil
	t.Setenv(urlVar, s.URL.String())
	t.Setenv(thumbprintVar, "")

	// The simulator's certificate is self-signed; the remedy says what to do.
	st := VSphere{}.Check(t.Context(), nil)
	_, thumbprint, ok := strings.Cut(st.Remedy, thumbprintVar+"=")
	if st.Usable || !ok || !strings.Contains(st.Reason, "is not trusted") {
		t.Fatalf("%+v", st)
	}
	t.Setenv(thumbprintVar, thumbprint)
	v := &vcsim{t: t, guest: t.TempDir()}
	var err error
	if v.own, err = login(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.own.close)
	return v
}

// tools stand in for the VMware Tools of one machine.
type tools struct {
	sim *vcsim
	vm  *object.VirtualMachine

	mu       sync.Mutex
	sessions []int
}

func (v *vcsim) tools(vm *object.VirtualMachine, _, _ string) guestTools {
	t := &tools{sim: v, vm: object.NewVirtualMachine(v.own.Client, vm.Reference())}
	go t.follow()
	return t
}

// follow makes the programs follow the power state of their machine.
func (t *tools) follow() {
	last := types.VirtualMachinePowerStatePoweredOn
	for ; ; time.Sleep(20 * time.Millisecond) {
		state, err := t.vm.PowerState(context.Background())
		if err != nil { // destroyed
			state = types.VirtualMachinePowerStatePoweredOff
		}
		if state == last {
			continue
		}
		last = state
		switch state {
		case types.VirtualMachinePowerStateSuspended:
			t.signal(syscall.SIGSTOP)
		case types.VirtualMachinePowerStatePoweredOn:
			t.signal(syscall.SIGCONT)
		default:
			t.signal(syscall.SIGSTOP) // all of a machine stops at once: its agent does not report its programs' ends
			t.signal(syscall.SIGKILL)
			return
		}
	}
}

// signal signals all processes in the sessions of the machine's programs.
func (t *tools) signal(sig syscall.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		b, _ := os.ReadFile(p + "/stat")
		_, after, _ := strings.Cut(string(b), ") ")
		fields := strings.Fields(after)
		for _, s := range t.sessions {
			if len(fields) > 3 && fields[3] == strconv.Itoa(s) {
				pid, _ := strconv.Atoi(filepath.Base(p))
				syscall.Kill(pid, sig)
			}
		}
	}
}

func (t *tools) upload(_ context.Context, path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fault.Hostf("%w", err)
	}
	defer f.Close()
	_, err = f.Write(content)
	return err
}

func (t *tools) begin(program, arg string) (*exec.Cmd, error) {
	cmd := exec.Command(program, arg)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err := cmd.Start()
	if err == nil {
		t.mu.Lock()
		t.sessions = append(t.sessions, cmd.Process.Pid)
		t.mu.Unlock()
	}
	return cmd, err
}

func (t *tools) start(_ context.Context, program, arg string) error {
	cmd, err := t.begin(program, arg)
	if err == nil {
		go cmd.Wait()
	}
	return err
}

func (t *tools) run(_ context.Context, program, arg string) error {
	cmd, err := t.begin(program, arg)
	if err == nil {
		err = cmd.Wait()
	}
	return err
}

func (t *tools) address(context.Context) (string, error) { return "127.0.0.1", nil }

// request adds the target and options of an arm on the simulator.
func (v *vcsim) request(f system.Request, target, clone string) system.Request {
	f.Target = target
	f.Options = map[string]string{"dir": v.guest, "port": porttest.Free(v.t), "clone": clone,
		"pool": "/DC0/host/DC0_H0/Resources"}
	return f
}

// onVcsim is the driver whose guests are all clones of one machine. Their programs read this host's
// clock, which does not stop.
type onVcsim struct {
	VSphere
	v *vcsim
}

func (d onVcsim) Capabilities() system.Capabilities {
	c := d.VSphere.Capabilities()
	c.StopsClock = false
	return c
}

// Create creates a machine whose Freeze returns only when the programs have stopped.
func (d onVcsim) Create(ctx context.Context, s *system.Site) (system.Guest, error) {
	s.Request = d.v.request(s.Request, template, "yes")
	g, err := VSphere{d.v.tools}.Create(ctx, s)
	if err != nil {
		return nil, err
	}
	return slowly{g.(*vsphereGuest)}, nil
}

type slowly struct{ *vsphereGuest }

func (g slowly) Freeze(ctx context.Context) error {
	defer time.Sleep(100 * time.Millisecond)
	return g.vsphereGuest.Freeze(ctx)
}

// machines lists the simulator's machines and their power states.
func (v *vcsim) machines() map[string]types.VirtualMachinePowerState {
	v.t.Helper()
	all, err := find.NewFinder(v.own.Client).VirtualMachineList(v.t.Context(), "/DC0/vm/*")
	if err != nil {
		v.t.Fatal(err)
	}
	found := map[string]types.VirtualMachinePowerState{}
	for _, vm := range all {
		if found[vm.Name()], err = vm.PowerState(v.t.Context()); err != nil {
			v.t.Fatal(err)
		}
	}
	return found
}

func (v *vcsim) nothingLeft() {
	v.t.Helper()
	for name, state := range v.machines() {
		if strings.HasPrefix(name, "tare-") || state != types.VirtualMachinePowerStatePoweredOff {
			v.t.Errorf("left: machine %s, %s", name, state)
		}
	}
	if found, _ := filepath.Glob(v.guest + "/*.wait"); found != nil {
		v.t.Errorf("left: %q", found)
	}
}

func TestVSphere(t *testing.T) {
	systemtest.Host(t) // or skip
	v := newVcsim(t)
	systemtest.Run(t, onVcsim{v: v})
	v.nothingLeft()
}

// TestVSphereClone checks what the server was asked for.
func TestVSphereClone(t *testing.T) {
	h := systemtest.Host(t)
	v := newVcsim(t)
	f := v.request(systemtest.Request(), template, "yes")
	f.VCPUs, f.MemoryBytes, f.CPUCap = 3, 768<<20, 0.25
	m, err := system.Launch(t.Context(), VSphere{v.tools}, h, "a", f)
	if err != nil {
		t.Fatal(err)
	}
	g := m.Guest.(*vsphereGuest)
	var p mo.VirtualMachine
	if err := g.vm.Properties(t.Context(), g.vm.Reference(), []string{"name", "config"}, &p); err != nil {
		t.Fatal(err)
	}
	if p.Name != "tare-"+m.Site.ID || p.Config.Hardware.NumCPU != 3 || p.Config.Hardware.MemoryMB != 768 {
		t.Errorf("%s has %d CPUs and %d MiB", p.Name, p.Config.Hardware.NumCPU, p.Config.Hardware.MemoryMB)
	}
	if l := p.Config.CpuAllocation.Limit; l == nil || *l < 100 || *l > 2000 { // a quarter of the simulator's 2294 MHz
		t.Errorf("CPU limit %v", l)
	}
	if err := m.Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := v.machines()[p.Name]; got != types.VirtualMachinePowerStateSuspended {
		t.Errorf("frozen, it is %s", got)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	v.nothingLeft()
}

// TestVSphereInPlace: a machine that is not a clone is unchanged afterwards.
func TestVSphereInPlace(t *testing.T) {
	h := systemtest.Host(t)
	v := newVcsim(t)
	f := v.request(systemtest.Request(), inPlace, "no")
	f.CPUCap = 0.25
	vm, err := find.NewFinder(v.own.Client).VirtualMachine(t.Context(), inPlace)
	if err != nil {
		t.Fatal(err)
	}
	const limit = 1777 // MHz, set by the user
	if err := reconfigure(t.Context(), vm, "a limit",
		types.VirtualMachineConfigSpec{
			CpuAllocation: &types.ResourceAllocationInfo{Limit: types.NewInt64(limit)}}); err != nil {
		t.Fatal(err)
	}
	limitNow := func() int64 {
		var p mo.VirtualMachine
		if err := vm.Properties(t.Context(), vm.Reference(), []string{"config.cpuAllocation"}, &p); err != nil {
			t.Fatal(err)
		}
		return *p.Config.CpuAllocation.Limit
	}
	m, err := system.Launch(t.Context(), VSphere{v.tools}, h, "a", f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := system.Launch(t.Context(), VSphere{v.tools}, h, "b", f); fault.KindOf(err) != fault.Campaign ||
		!strings.Contains(err.Error(), "poweredOn") {
		t.Errorf("the machine is taken: %v", err)
	}
	if got := limitNow(); got == limit || got <= 0 {
		t.Errorf("capped, its limit is %d MHz", got)
	}
	if err := m.Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if got := limitNow(); got != limit {
		t.Errorf("afterwards its limit is %d MHz, not %d", got, limit)
	}
	v.nothingLeft()
	if found, _ := filepath.Glob(v.guest + "/*"); found != nil {
		t.Errorf("left in the guest: %q", found)
	}
}

// meanwhile does something before each request that powers a machine off.
type meanwhile struct {
	soap.RoundTripper
	do func()
}

func (m meanwhile) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	if _, ok := req.(*methods.PowerOffVM_TaskBody); ok {
		m.do()
	}
	return m.RoundTripper.RoundTrip(ctx, req, res)
}

// TestVSphereOffMeanwhile: a machine that powers itself off while it is being removed is removed without an error.
func TestVSphereOffMeanwhile(t *testing.T) {
	h := systemtest.Host(t)
	v := newVcsim(t)
	m, err := system.Launch(t.Context(), VSphere{v.tools}, h, "a", v.request(systemtest.Request(), template, "yes"))
	if err != nil {
		t.Fatal(err)
	}
	g := m.Guest.(*vsphereGuest)
	vm := object.NewVirtualMachine(v.own.Client, g.vm.Reference())
	g.client.RoundTripper = meanwhile{g.client.RoundTripper, func() {
		if err := done(t.Context(), "powering it off", vm.PowerOff); err != nil {
			t.Error(err)
		}
	}}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	v.nothingLeft()
}

func TestVSphereRefusals(t *testing.T) {
	h := systemtest.Host(t)
	v := newVcsim(t)
	vm, err := find.NewFinder(v.own.Client).VirtualMachine(t.Context(), inPlace)
	if err != nil {
		t.Fatal(err)
	}
	if err := vm.MarkAsTemplate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		target, clone, option, value string
		want                         string
	}{
		"target":   {"/DC0/vm/none", "yes", "", "", "not found"},
		"template": {inPlace, "no", "", "", "is a template"},
		"pool":     {template, "yes", "pool", "/DC0/none", "option pool"},
		"password": {template, "yes", "guest_password_env", "TARE_NO_SUCH", "TARE_NO_SUCH"},
	} {
		t.Run(name, func(t *testing.T) {
			f := v.request(systemtest.Request(), c.target, c.clone)
			f.Options[c.option] = c.value
			m, err := system.Launch(t.Context(), VSphere{v.tools}, h, "a", f)
			if err == nil {
				m.Close()
				t.Fatal("it was accepted")
			}
			if fault.KindOf(err) != fault.Campaign || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v's fault: %v", fault.KindOf(err), err)
			}
		})
	}
	v.nothingLeft()
	m, err := system.Launch(t.Context(), VSphere{v.tools}, h, "a", v.request(systemtest.Request(), inPlace, "yes"))
	if err != nil {
		t.Fatalf("a clone of a template: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	v.nothingLeft()
	t.Setenv("TARE_VMWARE_PASSWORD", "")
	t.Setenv("TARE_VMWARE_USER", "")
	if st := (VSphere{}).Check(t.Context(), nil); st.Usable || !strings.Contains(st.Remedy, "TARE_VMWARE_USER") {
		t.Errorf("without a login: %+v", st)
	}
	t.Setenv(urlVar, "")
	if st := (VSphere{}).Check(t.Context(), nil); st.Usable || !strings.Contains(st.Reason, "needs the product") {
		t.Errorf("without a server: %+v", st)
	}
}
