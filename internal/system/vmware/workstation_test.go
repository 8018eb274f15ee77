package vmware

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/porttest"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/systemtest"
)

func TestMain(m *testing.M) { systemtest.Main(m) }

// product stands in for VMware Workstation; the programs of its machines run on this host.
type product struct {
	state, vmx, guest string
}

func standIn(t *testing.T) *product {
	t.Helper()
	systemtest.Host(t) // or skip
	bin, err := filepath.Abs("testdata/bin")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := &product{filepath.Join(dir, "state"), filepath.Join(dir, "machines/debian/debian.vmx"),
		filepath.Join(dir, "guest")}
	for _, d := range []string{p.state, filepath.Dir(p.vmx), p.guest} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(p.vmx, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("VMRUN_STATE", p.state)
	t.Setenv("TARE_VMWARE_GUEST_PASSWORD", "secret")
	return p
}

func (p *product) request(t *testing.T, f system.Request, clone string) system.Request {
	f.Target = p.vmx
	f.Options = map[string]string{"dir": p.guest, "port": porttest.Free(t), "clone": clone}
	return f
}

// onProduct is the driver whose guests are all clones of one machine. Their programs read this
// host's clock, which does not stop.
type onProduct struct {
	Workstation
	t *testing.T
	p *product
}

func (d onProduct) Capabilities() system.Capabilities {
	c := d.Workstation.Capabilities()
	c.StopsClock = false
	return c
}

func (d onProduct) Create(ctx context.Context, s *system.Site) (system.Guest, error) {
	s.Request = d.p.request(d.t, s.Request, "linked")
	return d.Workstation.Create(ctx, s)
}

// nothingLeft checks that no files in the guest, clones or running machines are left.
func (p *product) nothingLeft(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{p.guest + "/*", filepath.Dir(filepath.Dir(p.vmx)) + "/tare-*", p.state + "/on*"} {
		if found, _ := filepath.Glob(pattern); found != nil {
			t.Errorf("left: %q", found)
		}
	}
}

func TestWorkstation(t *testing.T) {
	p := standIn(t)
	systemtest.Run(t, onProduct{t: t, p: p})
}

// TestWorkstationInPlace: a machine that is not a clone is unchanged afterwards.
func TestWorkstationInPlace(t *testing.T) {
	p := standIn(t)
	if err := os.WriteFile(filepath.Join(p.state, "tools-start"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		m, err := system.Launch(t.Context(), Workstation{}, systemtest.Host(t), "a", p.request(t, systemtest.Request(), "no"))
		if err != nil {
			t.Fatal(err)
		}
		again, err := system.Launch(t.Context(), Workstation{}, systemtest.Host(t), "b",
			p.request(t, systemtest.Request(), "no"))
		if err == nil {
			again.Close()
		}
		if fault.KindOf(err) != fault.Campaign || !strings.Contains(err.Error(), "already running") {
			t.Errorf("the machine is taken: %v", err)
		}
		if err := m.Freeze(t.Context()); err != nil {
			t.Error(err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		p.nothingLeft(t)
	}
	if _, err := os.Stat(p.vmx); err != nil {
		t.Error(err)
	}
}

// TestWorkstationOffMeanwhile: a machine that powers itself off while it is being removed is removed without an error.
func TestWorkstationOffMeanwhile(t *testing.T) {
	p := standIn(t)
	if err := os.WriteFile(filepath.Join(p.state, "off-meanwhile"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := system.Launch(t.Context(), Workstation{}, systemtest.Host(t), "a",
		p.request(t, systemtest.Request(), "linked"))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	// A clone's files go with its disk, however it ended; the stand-in's are on this host.
	if err := os.RemoveAll(p.guest); err != nil {
		t.Error(err)
	}
	p.nothingLeft(t)
}

func TestWorkstationRefusals(t *testing.T) {
	p := standIn(t)
	for name, c := range map[string]struct {
		change func(*system.Request)
		kind   fault.Kind
		want   string
	}{
		"target": {func(f *system.Request) { f.Target = "debian" }, fault.Campaign, "absolute path of a .vmx"},
		"none":   {func(f *system.Request) { f.Target = "/no/such.vmx" }, fault.Campaign, "no such file"},
		"password": {func(f *system.Request) { f.Options["guest_password_env"] = "TARE_NO_SUCH" }, fault.Campaign,
			"TARE_NO_SUCH"},
		"user": {func(f *system.Request) { f.Options["guest_user"] = "nobody" }, fault.Host,
			"Invalid user name or password"},
		"dir": {func(f *system.Request) { f.Options["dir"] = "/no/such/dir" }, fault.Host, "CopyFileFromHostToGuest"},
	} {
		t.Run(name, func(t *testing.T) {
			f := p.request(t, systemtest.Request(), "full")
			c.change(&f)
			m, err := system.Launch(t.Context(), Workstation{}, systemtest.Host(t), "a", f)
			if err == nil {
				m.Close()
				t.Fatal("it was accepted")
			}
			if fault.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v's fault: %v", fault.KindOf(err), err)
			}
			p.nothingLeft(t)
		})
	}
}

func TestWorkstationCheck(t *testing.T) {
	standIn(t)
	if st := (Workstation{}).Check(t.Context(), nil); !st.Usable || !strings.Contains(st.Proof, "Total running VMs: 0") {
		t.Errorf("%+v", st)
	}
	t.Setenv("PATH", t.TempDir())
	if st := (Workstation{}).Check(t.Context(), nil); st.Usable || !strings.Contains(st.Reason, "needs the product") {
		t.Errorf("%+v", st)
	}
}
