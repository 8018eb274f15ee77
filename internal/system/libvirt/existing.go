package libvirt

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/digitalocean/go-libvirt"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/ssh"
)

// Existing is the system "libvirt": a domain of the user's, of any hypervisor. libvirt starts and
// freezes the domain and reports what it costs the host. The agent gets into the domain over SSH,
// the only way that works for all hypervisors.
type Existing struct{}

// Name is the system's name in campaigns.
func (Existing) Name() string { return "libvirt" }

const (
	loginOption = "login"
	startOption = "start"
)

var existingOptions = append([]system.Option{
	{Name: loginOption, About: "How to log in to the domain: ssh://USER@HOST:PORT, with the options of the system ssh."},
	{Name: startOption, Values: []string{"no", "yes"}, Default: "no",
		About: "Start the domain if it is shut off, and shut it down again afterwards."},
}, ssh.Driver{}.Capabilities().Options...)

// Capabilities are those of virtual machines; a container's clock continues while it is frozen.
func (Existing) Capabilities() system.Capabilities {
	return system.Capabilities{
		VerifiedOn:   system.Live,
		Freeze:       "virsh suspend",
		StopsClock:   true,
		Memory:       "the domain's, as it is defined",
		DiskBackings: []string{"as the domain is defined"},
		Networks:     []string{"as the domain is defined"},
		IOCap:        system.RemoteCap,
		Swap:         system.RemoteCap,
		NetCap:       system.RemoteCap,
		Remote:       true,
		OwnUserland:  true,
		Target: "libvirt's address and the domain's name: qemu:///system#NAME, xen:///system#NAME, " +
			"lxc:///system#NAME, qemu+tcp://HOST/system#NAME",
		Options: existingOptions,
	}
}

// Check cannot check domains: each arm's target names its own.
func (Existing) Check(context.Context, *system.Host) system.Status {
	return system.Status{Usable: true, Proof: "needs nothing here; an arm's target names the domain: target: " +
		"qemu:///system#NAME"}
}

// CheckTarget returns an error if text is not a valid target.
func (Existing) CheckTarget(text string) error {
	_, _, err := parseTarget(text)
	return err
}

func parseTarget(text string) (uri *url.URL, name string, err error) {
	fail := func(why string) (*url.URL, string, error) {
		return nil, "", fault.Campaignf("target %q: %s; want libvirt's address and the domain's name: qemu:///system#NAME",
			text, why)
	}
	uri, err = url.Parse(text)
	if err != nil || uri.Scheme == "" || uri.Opaque != "" {
		return fail("it is not an address")
	}
	if name = uri.Fragment; name == "" {
		return fail("it names no domain")
	}
	if _, secret := uri.User.Password(); secret {
		text = uri.Redacted()
		return fail("a password must not be in a file")
	}
	uri.Fragment, uri.RawFragment = "", ""
	return uri, name, nil
}

// Create starts the domain if necessary and allowed, and logs in to it.
func (e Existing) Create(ctx context.Context, s *system.Site) (system.Guest, error) {
	uri, name, err := parseTarget(s.Target)
	if err != nil {
		return nil, err
	}
	inside := *s
	inside.Target = s.Setting(existingOptions, loginOption)
	inside.Options = maps.Clone(s.Options)
	delete(inside.Options, loginOption)
	delete(inside.Options, startOption)
	if inside.Target == "" {
		return nil, fault.WithRemedy(fault.Campaignf("no login is given for domain %s", name),
			"options: {login: ssh://root@ADDRESS}")
	}
	g := &existing{uri: uri.String()}
	err = bounded(func() (err error) {
		if g.libvirt, err = libvirt.ConnectToURI(uri); err == nil {
			g.domain, err = g.libvirt.DomainLookupByName(name)
		}
		return err
	})
	if err == nil {
		err = g.run(s.Setting(existingOptions, startOption) == "yes")
	}
	if err == nil {
		g.Guest, err = g.login(ctx, &inside)
	}
	if err == nil {
		err = g.readDisks()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s, domain %s: %w", uri, name, err), g.Close())
	}
	return g, nil
}

// existing is a running domain with an agent in it.
type existing struct {
	system.Guest // the agent's, over SSH; nil before the login
	uri          string
	libvirt      *libvirt.Libvirt
	domain       libvirt.Domain
	disks        []string
	started      bool // by tare
	once         sync.Once
	err          error
}

// run starts the domain if it is shut off and start is true. It returns an error if the domain
// does not run otherwise.
func (g *existing) run(start bool) error {
	return bounded(func() error {
		state, _, err := g.libvirt.DomainGetState(g.domain, 0)
		switch {
		case err != nil:
			return err
		case libvirt.DomainState(state) == libvirt.DomainRunning:
			return nil
		case libvirt.DomainState(state) == libvirt.DomainShutoff && start:
			g.started = true
			return g.libvirt.DomainCreate(g.domain)
		}
		return errors.New("it is not running: start it, or, if it is shut off, set the option start: yes")
	})
}

// login starts an agent in the domain. It retries if the domain was just started, since booting
// takes time.
func (g *existing) login(ctx context.Context, s *system.Site) (system.Guest, error) {
	for {
		in, err := ssh.Driver{}.Create(ctx, s)
		if err == nil || !g.started || fault.KindOf(err) == fault.Campaign {
			return in, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(time.Second):
		}
	}
}

// readDisks finds the domain's disks, for Written.
func (g *existing) readDisks() error {
	return bounded(func() error {
		text, err := g.libvirt.DomainGetXMLDesc(g.domain, 0)
		if err == nil {
			g.disks, err = disks(text)
		}
		return err
	})
}

// disks returns the target names of a domain's disks from its XML description.
func disks(text string) ([]string, error) {
	var d struct {
		Disks []struct {
			Device string `xml:"device,attr"`
			Target struct {
				Dev string `xml:"dev,attr"`
			} `xml:"target"`
		} `xml:"devices>disk"`
	}
	if err := xml.Unmarshal([]byte(text), &d); err != nil {
		return nil, fmt.Errorf("the domain's description: %w", err)
	}
	var names []string
	for _, disk := range d.Disks {
		if (disk.Device == "" || disk.Device == "disk") && disk.Target.Dev != "" {
			names = append(names, disk.Target.Dev)
		}
	}
	return names, nil
}

// Usage is the CPU time that the domain has cost its host, as counted by libvirt.
func (g *existing) Usage() (u cgroup.Usage, err error) {
	err = bounded(func() error {
		_, _, _, _, cpu, err := g.libvirt.DomainGetInfo(g.domain)
		u.CPU = time.Duration(cpu)
		return err
	})
	return u, err
}

// Written is the number of bytes that the domain has written to all its disks.
func (g *existing) Written() (sum int64, err error) {
	if len(g.disks) == 0 {
		return 0, cgroup.ErrUnknown
	}
	err = bounded(func() error {
		for _, disk := range g.disks {
			_, _, _, bytes, _, err := g.libvirt.DomainBlockStats(g.domain, disk)
			if err != nil {
				return err
			}
			sum += bytes
		}
		return nil
	})
	return sum, err
}

func (g *existing) DataDir() string { return g.Guest.(system.Placed).DataDir() }

// Kill cuts the SSH connection.
func (g *existing) Kill() error { return g.Guest.(interface{ Kill() error }).Kill() }

func (g *existing) CommandLine() []string {
	return slices.Concat([]string{"virsh", "-c", g.uri, "domstate", g.domain.Name, ";"}, g.Guest.CommandLine())
}

func (g *existing) Freeze(context.Context) error {
	return changed(g.libvirt, g.domain, g.libvirt.DomainSuspend, libvirt.DomainPaused)
}

func (g *existing) Thaw(context.Context) error {
	return changed(g.libvirt, g.domain, g.libvirt.DomainResume, libvirt.DomainRunning)
}

// Close removes the agent, and shuts the domain down if tare started it. Otherwise it leaves the
// domain running, thawed.
func (g *existing) Close() error {
	g.once.Do(func() {
		if g.libvirt == nil {
			return
		}
		if g.Guest != nil {
			bounded(func() error { return g.libvirt.DomainResume(g.domain) }) // an error means that it already runs
			g.err = g.Guest.Close()
		}
		if g.started {
			g.err = errors.Join(g.err, g.shutDown())
		}
		bounded(g.libvirt.Disconnect)
	})
	return g.err
}

// shutdownTimeout is how long the domain's operating system may take to shut down.
const shutdownTimeout = 2 * time.Minute

func (g *existing) shutDown() error {
	if err := bounded(func() error { return g.libvirt.DomainShutdown(g.domain) }); err != nil {
		return err
	}
	for end := time.Now().Add(shutdownTimeout); time.Now().Before(end); time.Sleep(time.Second) {
		var state int32
		err := bounded(func() (err error) {
			state, _, err = g.libvirt.DomainGetState(g.domain, 0)
			return err
		})
		if err == nil && libvirt.DomainState(state) == libvirt.DomainShutoff {
			return nil
		}
	}
	return fault.Guestf("domain %s, which tare started, does not shut down", g.domain.Name)
}
