package vmware

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
)

// VSphere is the system "vmware": machines of ESXi or vCenter. The server at TARE_VMWARE_URL runs
// them; TARE_VMWARE_USER and TARE_VMWARE_PASSWORD are the login.
type VSphere struct {
	// tools replaces VMware Tools in tests: the simulator's machines have none.
	tools func(vm *object.VirtualMachine, user, password string) guestTools
}

func (VSphere) Name() string { return "vmware" }

var vsphereOptions = append([]system.Option{
	{Name: "clone", Values: []string{"yes", "no"}, Default: "yes",
		About: "Run a clone of the flavor's size, which is destroyed afterwards; no: the machine itself, as large as it " +
			"is. ESXi without vCenter cannot clone."},
	{Name: "pool", About: "Inventory path of the resource pool for clones. Absent: the machine's own, or the only one."},
}, guestOptions...)

func (VSphere) Capabilities() system.Capabilities {
	return system.Capabilities{
		VerifiedOn:   system.Simulator,
		Freeze:       "suspend to disk",
		StopsClock:   true,
		CPUCap:       "the machine's CPU limit, in MHz of its host",
		Memory:       "the machine's RAM",
		DiskBackings: []string{"as the machine has it"},
		Networks:     []string{"as the machine has it"},
		IOCap:        system.RemoteCap,
		Swap:         system.RemoteCap,
		NetCap:       system.RemoteCap,
		Remote:       true,
		OwnUserland:  true,
		Target:       "the inventory path of a template, or of a machine that is powered off: /DC0/vm/debian",
		Options:      vsphereOptions,
	}
}

func (VSphere) Check(ctx context.Context, _ *system.Host) system.Status {
	if os.Getenv(urlVar) == "" {
		return system.Unusable("needs the product, VMware ESXi or vCenter: "+urlVar+" is not set",
			urlVar+"=https://HOST/sdk, TARE_VMWARE_USER and TARE_VMWARE_PASSWORD in the environment")
	}
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	c, err := login(ctx)
	if err != nil {
		var e *fault.Error
		if errors.As(err, &e) {
			return system.Unusable(e.Err.Error(), e.Remedy)
		}
		return system.Unusable(err.Error(), "")
	}
	defer c.close()
	a := c.ServiceContent.About
	return system.Status{Usable: true, Proof: "logged in to " + a.FullName,
		Versions: map[string]string{"vmware": a.Version + " build " + a.Build}}
}

const (
	urlVar        = "TARE_VMWARE_URL"
	thumbprintVar = "TARE_VMWARE_THUMBPRINT"
	loginTimeout  = 30 * time.Second
)

// client is a session with the server.
type client struct {
	*vim25.Client
	session *session.Manager
}

func (c *client) close() {
	ctx, cancel := context.WithTimeout(context.Background(), loginTimeout)
	defer cancel()
	c.session.Logout(ctx) // otherwise the session expires by itself
	c.CloseIdleConnections()
}

// login opens a session, which the caller closes. A certificate that no authority signed is
// accepted only if the user gives its thumbprint.
func login(ctx context.Context) (*client, error) {
	u, err := soap.ParseURL(os.Getenv(urlVar))
	if err != nil || u == nil {
		return nil, fault.Campaignf("%s is not an address: want https://HOST/sdk", urlVar)
	}
	sc := soap.NewClient(u, false)
	sc.SetThumbprint(u.Host, os.Getenv(thumbprintVar))
	vc, err := vim25.NewClient(ctx, sc)
	if err != nil {
		return nil, distrust(u, err)
	}
	c := &client{vc, session.NewManager(vc)}
	user := url.UserPassword(os.Getenv("TARE_VMWARE_USER"), os.Getenv("TARE_VMWARE_PASSWORD"))
	if err := c.session.Login(ctx, user); err != nil {
		return nil, fault.WithRemedy(fault.Hostf("%s refuses the login: %w", u.Host, err),
			"set TARE_VMWARE_USER and TARE_VMWARE_PASSWORD")
	}
	return c, nil
}

// distrust adds a remedy to the error if it is due to the server's certificate.
func distrust(u *url.URL, err error) error {
	if !soap.IsCertificateUntrusted(err) {
		return fault.Hostf("%s: %w", u.Host, err)
	}
	var info object.HostCertificateInfo
	if e := info.FromURL(u, &tls.Config{}); info.ThumbprintSHA1 == "" {
		return fault.Hostf("%s: %w", u.Host, errors.Join(err, e))
	}
	return fault.WithRemedy(fault.Hostf("the certificate of %s is not trusted; its thumbprint is %s", u.Host,
		info.ThumbprintSHA1),
		"compare it with the one on its console, then: %s=%s", thumbprintVar, info.ThumbprintSHA1)
}

func (d VSphere) Create(ctx context.Context, s *system.Site) (_ system.Guest, err error) {
	user, password, err := guestLogin(vsphereOptions, s.Request)
	if err != nil {
		return nil, err
	}
	c, err := login(ctx)
	if err != nil {
		return nil, err
	}
	g := &vsphereGuest{client: c, log: &system.Tail{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Close())
		}
	}()
	if g.vm, g.cloned, err = machine(ctx, c, s); err != nil {
		return nil, err
	}
	if err := done(ctx, "powering it on", g.vm.PowerOn); err != nil {
		return nil, err
	}
	g.on = true
	tools := d.tools
	if tools == nil {
		tools = newTools
	}
	g.place = newPlace(tools(g.vm, user, password), vsphereOptions, s)
	if g.conn, err = g.place.startAgent(ctx, s); err != nil {
		return nil, err
	}
	return g, nil
}

// machine finds the arm's machine, or makes a clone of it. The clone may exist even if machine
// returns an error.
func machine(ctx context.Context, c *client, s *system.Site) (vm *object.VirtualMachine, cloned bool, err error) {
	finder := find.NewFinder(c.Client)
	original, err := finder.VirtualMachine(ctx, s.Target)
	if err != nil {
		return nil, false, fault.Campaignf("target %s: %w", s.Target, err)
	}
	var p mo.VirtualMachine
	if err := original.Properties(ctx, original.Reference(), []string{"config.template", "runtime.powerState", "parent",
		"resourcePool"}, &p); err != nil {
		return nil, false, fault.Hostf("%s: %w", s.Target, err)
	}
	if p.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
		return nil, false, fault.Campaignf("%s is %s; tare only uses a machine that is powered off", s.Target,
			p.Runtime.PowerState)
	}
	if s.Setting(vsphereOptions, "clone") == "no" {
		if p.Config != nil && p.Config.Template {
			return nil, false, fault.Campaignf("%s is a template: it cannot run itself; leave out clone: no", s.Target)
		}
		return original, false, nil
	}
	pool := p.ResourcePool // a template has none
	if path := s.Setting(vsphereOptions, "pool"); path != "" || pool == nil {
		rp, err := finder.ResourcePoolOrDefault(ctx, path)
		if err != nil {
			return nil, false, fault.Campaignf("option pool of vmware: %w", err)
		}
		ref := rp.Reference()
		pool = &ref
	}
	if p.Parent == nil {
		return nil, false, fault.Hostf("%s is in no folder", s.Target)
	}
	spec := types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: pool}}
	name := "tare-" + s.ID
	task, err := original.Clone(ctx, object.NewFolder(c.Client, *p.Parent), name, spec)
	if err != nil {
		return nil, false, fault.Hostf("cloning %s: %w", s.Target, err)
	}
	info, err := task.WaitForResult(ctx)
	if err != nil {
		return nil, false, fault.Hostf("cloning %s into %s: %w", s.Target, name, err)
	}
	vm = object.NewVirtualMachine(c.Client, info.Result.(types.ManagedObjectReference))
	return vm, true, reconfigure(ctx, vm, "giving it the flavor's size", types.VirtualMachineConfigSpec{
		NumCPUs: int32(s.Flavor.VCPUs), MemoryMB: s.Flavor.MemoryBytes >> 20, Annotation: "made by tare, which destroys it",
	})
}

func reconfigure(ctx context.Context, vm *object.VirtualMachine, what string,
	spec types.VirtualMachineConfigSpec) error {
	return done(ctx, what, func(ctx context.Context) (*object.Task, error) { return vm.Reconfigure(ctx, spec) })
}

// done starts a task and waits for its end.
func done(ctx context.Context, what string, start func(context.Context) (*object.Task, error)) error {
	task, err := start(ctx)
	if err == nil {
		err = task.Wait(ctx)
	}
	if err != nil {
		return fault.Hostf("%s: %w", what, err)
	}
	return nil
}

// vsphereGuest is a running machine with its agent.
type vsphereGuest struct {
	system.Unmetered
	client *client
	vm     *object.VirtualMachine
	cloned bool
	on     bool
	frozen bool
	limit  *types.ResourceAllocationInfo // the CPU limit before Cap; nil: Cap was not called
	place  place
	conn   *conn
	log    *system.Tail
	once   sync.Once
	err    error
}

func (g *vsphereGuest) Conn() net.Conn          { return g.conn }
func (g *vsphereGuest) Exited() <-chan struct{} { return g.conn.gone }
func (g *vsphereGuest) Log() string             { return g.log.String() }
func (g *vsphereGuest) DataDir() string         { return g.place.dataDir() }

func (g *vsphereGuest) CommandLine() []string {
	return []string{"vmware", g.client.URL().Host, g.vm.Reference().Value}
}

// Freeze suspends the machine.
func (g *vsphereGuest) Freeze(ctx context.Context) error {
	err := done(ctx, "suspending it", g.vm.Suspend)
	g.frozen = err == nil
	return err
}

func (g *vsphereGuest) Thaw(ctx context.Context) error {
	err := done(ctx, "resuming it", g.vm.PowerOn)
	g.frozen = g.frozen && err != nil
	return err
}

// Cap sets the machine's CPU limit, which VMware gives in MHz of its host.
func (g *vsphereGuest) Cap(ctx context.Context, cpus float64) error {
	if g.limit == nil {
		var p mo.VirtualMachine
		if err := g.vm.Properties(ctx, g.vm.Reference(), []string{"config.cpuAllocation"}, &p); err != nil {
			return fault.Hostf("the machine's CPU limit: %w", err)
		}
		g.limit = &types.ResourceAllocationInfo{Limit: types.NewInt64(-1)}
		if p.Config != nil && p.Config.CpuAllocation != nil && p.Config.CpuAllocation.Limit != nil {
			g.limit.Limit = p.Config.CpuAllocation.Limit
		}
	}
	limit := int64(-1) // none
	if cpus > 0 {
		h, err := g.vm.HostSystem(ctx)
		if err != nil {
			return fault.Hostf("the machine's host: %w", err)
		}
		var p mo.HostSystem
		if err := h.Properties(ctx, h.Reference(), []string{"summary.hardware"}, &p); err != nil ||
			p.Summary.Hardware == nil {
			return fault.Hostf("the speed of the machine's host: %w",
				errors.Join(err, errors.New("the server does not report it")))
		}
		limit = int64(math.Round(cpus * float64(p.Summary.Hardware.CpuMhz)))
	}
	return reconfigure(ctx, g.vm, "setting its CPU limit",
		types.VirtualMachineConfigSpec{CpuAllocation: &types.ResourceAllocationInfo{Limit: &limit}})
}

// Kill powers the machine off without a shutdown.
func (g *vsphereGuest) Kill() error {
	g.on = false
	return done(context.Background(), "powering it off", g.vm.PowerOff)
}

// closeTimeout bounds all requests of Close together.
const closeTimeout = 2 * time.Minute

// Close powers the machine off and destroys a clone. A machine that is not a clone first removes
// the agent and its data, and gets its previous CPU limit back.
func (g *vsphereGuest) Close() error {
	g.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		defer g.client.close()
		fail := func(err error) { g.err = errors.Join(g.err, err) }
		if g.conn != nil {
			g.conn.Close()
		}
		if g.vm == nil {
			return
		}
		if g.on && !g.cloned {
			if g.frozen {
				fail(g.Thaw(ctx))
			}
			if g.conn != nil {
				if err := g.place.removed(ctx); err != nil {
					fail(fmt.Errorf("%s* may be left in the guest: %w", g.place.base, err))
				}
			}
			if g.limit != nil {
				fail(reconfigure(ctx, g.vm, "restoring its CPU limit", types.VirtualMachineConfigSpec{CpuAllocation: g.limit}))
			}
		}
		state, err := g.vm.PowerState(ctx)
		fail(err)
		if state != types.VirtualMachinePowerStatePoweredOff {
			fail(unlessOff(done(ctx, "powering it off", g.vm.PowerOff), func() (bool, error) {
				state, err := g.vm.PowerState(ctx)
				return state != types.VirtualMachinePowerStatePoweredOff, err
			}))
		}
		if g.cloned {
			fail(done(ctx, "destroying the clone", g.vm.Destroy))
		}
	})
	return g.err
}
