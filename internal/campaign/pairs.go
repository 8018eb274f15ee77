package campaign

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/strict"
)

// OnHost says that an end of a pair is not a guest of the arm's system but processes
// of the host, in the userland of all guests and with the limits of a flavor, as
// native guests are.
const OnHost = "host"

// End says what an end of the pairs of a scenario is. Its zero value is a guest of the arm, as the other end is.
type End struct {
	// On is OnHost, or the machine to log in to, in the form of the system "ssh"; "": a guest of the arm's system.
	On     string
	Flavor string // of a server; "": that of the guest that it serves
	// Address is where guests reach the other machine over the uplink, and Options are those of the system "ssh".
	Address string
	Options []model.Setting
}

// Far is the name of the system that logs in to other machines.
const Far = "ssh"

// Elsewhere reports whether the end is another machine.
func (e End) Elsewhere() bool { return e.On != "" && e.On != OnHost }

// Given reports whether the end is anything but a guest like the other one.
func (e End) Given() bool { return !e.same(End{}) }

func (e End) same(o End) bool {
	return e.On == o.On && e.Flavor == o.Flavor && e.Address == o.Address && slices.Equal(e.Options, o.Options)
}

var onKind = strict.Verbatim("host, or a machine to log in to such as ssh://root@192.0.2.7",
	strict.Schema{"type": "string", "pattern": "^(host$|ssh://)"},
	strict.Rule(func(s string) bool { return s == OnHost || strings.HasPrefix(s, "ssh://") },
		"host or ssh://USER@HOST:PORT"),
	strict.Text)

var endKeys = []strict.Key[End]{
	strict.Field("on", "host: processes of the host. ssh://USER@HOST:PORT: another machine, which guests reach over "+
		"the uplink; tare brings its agent there, and the machine has the workload's programs. Absent: a guest of the "+
		"arm's system.", onKind,
		func(e *End) *string { return &e.On }),
	strict.Field("flavor", "Name of one of the flavors. Absent: that of the guest at the other end.", strict.Name,
		func(e *End) *string { return &e.Flavor }),
	strict.Field("address", "With ssh://, the machine's IPv4 address on the network of the uplink.", addressKind,
		func(e *End) *string { return &e.Address }),
	strict.Field("options", "With ssh://, options of the system ssh, such as key and known_hosts.",
		strict.Named("options", 50, settingKind, func(s *model.Setting) *string { return &s.Name }),
		func(e *End) *[]model.Setting { return &e.Options }),
}

var endKind = strict.Shorthand(strict.Object("an end of a pair", endKeys), onKind,
	func(on string) End { return End{On: on} })

// pairKeys are the keys of a scenario in which guests communicate.
var pairKeys = []strict.Key[Scenario]{
	strict.Field("pairs", "Number of pairs of the arm's guests, instead of single ones: one of each pair is the server, "+
		"the other runs the workload against it over the network.",
		strict.Whole[int](1, maxGuests/2), func(s *Scenario) *int { return &s.Pairs }),
	strict.Field("server", "Server in pairs. host: processes of the host. {on: ssh://…}: another machine. {flavor: "+
		"NAME}: a guest of another flavor. Absent: a guest like the client.",
		endKind, func(s *Scenario) *End { return &s.Server }),
	strict.Field("client", "What runs the workload in pairs, against a guest of the arm, which is the server. host: "+
		"processes of the host. {on: ssh://…}: another machine.",
		endKind, func(s *Scenario) *End { return &s.Client }),
}

// Uplink is an interface of the host over which bridged guests, and those with NAT, reach other machines.
type Uplink struct {
	Interface string
	// Address is the host's end on that network, such as 10.9.0.100/24; guests have the addresses that follow.
	Address netip.Prefix
}

// leadsTo reports whether an address is on the network of the uplink.
func (u Uplink) leadsTo(address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && u.Address.Contains(a)
}

var addressKind = strict.Verbatim("an IPv4 address", strict.Schema{"type": "string", "format": "ipv4"},
	strict.Rule(func(s string) bool {
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is4()
	}, "four numbers with dots"),
	strict.Text, strict.Float)

var uplinkKeys = []strict.Key[Uplink]{
	strict.Required(strict.Field("interface", "Name of a network interface of the host that has no address. It belongs "+
		"to the run until the end.",
		strict.Verbatim("the name of an interface", strict.Schema{"type": "string", "pattern": "^[^/ ]{1,15}$"},
			strict.Rule(func(s string) bool { return len(s) <= 15 && !strings.ContainsAny(s, "/ ") }, "at most 15 letters"),
			strict.Text), func(u *Uplink) *string { return &u.Interface })),
	strict.Required(strict.Field("address", "Free address on that network for the host's end of the run, with the length "+
		"of the prefix, such as 10.9.0.100/24. Guests get the addresses that follow; nothing else may have them.",
		strict.Scalar("an IPv4 address with the length of its prefix, such as 10.9.0.100/24", strict.Schema{"type": "string"},
			func(s string) (netip.Prefix, error) {
				p, err := netip.ParsePrefix(s)
				if err != nil || !p.Addr().Is4() || p.Bits() < 8 || p.Bits() > 30 || p.Addr() == p.Masked().Addr() {
					return netip.Prefix{}, fmt.Errorf("%s is not one", strict.Quote(s))
				}
				return p, nil
			},
			func(p netip.Prefix) any { return p.String() }, strict.Text),
		func(u *Uplink) *netip.Prefix { return &u.Address })),
}

// Paired reports whether guests take part in pairs.
func (s Scenario) Paired() bool {
	return s.Pairs > 0 || slices.ContainsFunc(s.Mix, func(p Part) bool { return p.Pairs > 0 })
}

// OnePair reports whether the scenario is for pairs what solo is for guests.
func (s Scenario) OnePair() bool { return s.Pairs == 1 && len(s.Neighbours) == 0 }

// Away is the end of its pairs that is another machine; the zero value if none is.
func (s Scenario) Away() End {
	for _, e := range []End{s.Server, s.Client} {
		if e.Elsewhere() {
			return e
		}
	}
	return End{}
}

// SameEnds reports whether the pairs of both scenarios are of the same kind.
func (s Scenario) SameEnds(o Scenario) bool {
	return s.Server.same(o.Server) && s.Client.same(o.Client)
}

// Text says in a line which guests run at the same time.
func (s Scenario) Text() string {
	several := func(n int, what string) string {
		if n != 1 {
			what += "s"
		}
		return fmt.Sprintf("%d %s", n, what)
	}
	var parts []string
	switch {
	case len(s.Mix) > 0:
		for _, p := range s.Mix {
			part := several(p.Guests, "guest")
			if p.Pairs > 0 {
				part = several(p.Pairs, "pair")
			}
			parts = append(parts, part+" of "+p.Flavor)
		}
	case s.Pairs > 0:
		parts = append(parts, several(s.Pairs, "pair"))
	default:
		parts = append(parts, several(max(s.Guests, 1), "guest"))
	}
	text := strings.Join(parts, " and ")
	if !s.Alone() && !s.OnePair() && (s.Guests > 1 || len(s.Mix) > 0 || s.Pairs > 1) {
		text += " at once"
	}
	switch {
	case s.Client.Elsewhere():
		text += "; " + s.Client.On + " runs the workload against the guest"
	case s.Server.Elsewhere():
		text += "; " + s.Server.On + " serves"
	case s.Client.On == OnHost:
		text += "; the host runs the workload against the guest"
	case s.Server.On == OnHost && s.Server.Flavor != "":
		text += "; the host serves, limited as " + s.Server.Flavor
	case s.Server.On == OnHost:
		text += "; the host serves"
	case s.Server.Flavor != "":
		text += "; a guest of " + s.Server.Flavor + " serves"
	}
	if s.MemoryLeft > 0 {
		text += fmt.Sprintf("; with %s of the host's memory left, and no other guests", s.MemoryLeft)
	}
	if len(s.Neighbours) > 0 {
		text += "; neighbours" + map[bool]string{true: " on other CPUs"}[s.Apart] + ": " + strings.Join(s.Neighbours, ", ")
	}
	if len(s.Workloads) > 0 {
		text += "; only " + strings.Join(s.Workloads, ", ")
	}
	if s.Every > 1 {
		text += fmt.Sprintf("; in one of %d blocks", s.Every)
	}
	return text
}

// checkPairs checks that both ends of pairs are possible and can reach each other,
// and that every workload has a server.
func (r *checker) checkPairs(c *Campaign, s Scenario, path string, known Known) {
	if !s.Paired() {
		for _, k := range []string{"server", "client"} {
			if r.Has(path + "." + k) {
				r.Fail(path+"."+k, "scenario %q has no pairs, so it can have no %s; give it pairs: 1", s.Name, k)
			}
		}
		return
	}
	at := path + ".pairs"
	if len(s.Mix) > 0 {
		at = path + ".mix"
	}
	if s.Client.Given() && s.Server.Given() {
		r.Fail(path+".client", "scenario %q: if another end runs the workload, a guest of the arm is the server; remove "+
			"server",
			s.Name)
	}
	if s.Client.Flavor != "" || s.Client.Given() && s.Client.On == "" {
		r.Fail(path+".client", "scenario %q: a client has the flavor of the guest that serves it; give it on: host, or "+
			"on: ssh://USER@HOST", s.Name)
	}
	r.checkServer(c, s, path+".server", known.Systems)
	r.checkAway(c, s, path, known.Systems)
	for _, a := range c.Active() {
		for _, f := range c.pairFlavors(a, s) {
			if a.Target == "" {
				r.checkReach(a, f, s, at)
			}
		}
	}
	for _, w := range c.Workloads {
		if !s.Runs(w.Name) {
			continue
		}
		sizes, ok := known.Workloads[w.Name]
		if !w.Custom() && ok && !sizes.Serves || w.Custom() && w.Own.Server == nil {
			r.Fail(at, "scenario %q: workload %q has no server that another guest can use; compare it in a campaign "+
				"without pairs", s.Name, w.Name)
		}
	}
}

// checkReach checks that a guest of the flavor and the other end of its pair can reach each other.
func (r *checker) checkReach(a Arm, f model.Flavor, s Scenario, at string) {
	switch out := s.Server.On != ""; {
	case f.Network == model.NetworkUser && out, f.OnBridge() && (out || s.Client.On != ""):
	case f.Network == model.NetworkUser:
		r.Fail(at, "scenario %q: nothing reaches the guests of arm %q, because flavor %q has network %s: they can only be "+
			"clients; give the scenario server: host", s.Name, a.Name, f.Name, f.Network)
	case !f.OnBridge():
		r.Fail(at, "scenario %q: guests of arm %q cannot reach each other, because flavor %q has network %s; give it "+
			"network: bridged", s.Name, a.Name, f.Name, f.Network)
	case f.Network == model.NetworkNAT:
		r.Warn(at, "scenario %q: both ends of the pairs of arm %q are behind the NAT, and reach each other without it; "+
			"server: host or client: host crosses it", s.Name, a.Name)
	}
}

// checkAway checks the end that is another machine.
func (r *checker) checkAway(c *Campaign, s Scenario, path string, systems map[string]Limits) {
	for key, e := range map[string]End{"server": s.Server, "client": s.Client} {
		at := path + "." + key
		switch {
		case !e.Elsewhere():
			for _, k := range []string{"address", "options"} {
				if r.Has(at + "." + k) {
					r.Fail(at+"."+k, "scenario %q: %s is for another machine; give %s on: ssh://USER@HOST", s.Name, k, key)
				}
			}
			continue
		case c.Uplink.Interface == "":
			r.Fail(at, "scenario %q: no network leads from guests to %s; give the campaign uplink: {interface: NAME, "+
				"address: ADDRESS/LENGTH}", s.Name, e.On)
		case e.Address == "" && key == "server":
			r.Fail(at, "scenario %q: at which address do guests reach %s? give %s address: ADDRESS", s.Name, e.On, key)
		case e.Address != "" && !c.Uplink.leadsTo(e.Address):
			r.Fail(at+".address", "scenario %q: %s is not in the network of the uplink, %s", s.Name, e.Address,
				c.Uplink.Address.Masked())
		}
		if s.Pairs != 1 {
			r.Fail(at, "scenario %q: another machine is the end of one pair at a time; give the scenario pairs: 1", s.Name)
		}
		if limits, ok := systems[Far]; ok {
			r.checkOptions(at, &Arm{Name: s.Name, System: Far, Target: e.On, Options: e.Options}, limits)
		}
	}
}

// checkServer checks that the server in pairs can have its flavor.
func (r *checker) checkServer(c *Campaign, s Scenario, path string, systems map[string]Limits) {
	if s.Server.Flavor == "" {
		return
	}
	f, ok := c.Flavor(s.Server.Flavor)
	if !ok {
		r.unknownFlavor(c, path+".flavor", s.Server.Flavor)
		return
	}
	for _, a := range c.Active() {
		switch {
		case s.Server.Elsewhere():
			r.Fail(path+".flavor", "scenario %q: another machine keeps the size that it has; remove flavor", s.Name)
			return
		case s.Server.On == OnHost:
			a.System, f.Network = NativeSystem, model.NetworkBridged
		}
		if limits, known := systems[a.System]; known && a.Target == "" {
			r.checkLimits(path, a, f, limits)
		}
	}
}

// pairFlavors are the flavors of an arm's pairs, each once.
func (c *Campaign) pairFlavors(a Arm, s Scenario) (all []model.Flavor) {
	names := []string{s.Server.Flavor}
	if len(s.Mix) == 0 {
		names = append(names, a.Flavor)
	}
	for _, p := range s.Mix {
		if p.Pairs > 0 {
			names = append(names, p.Flavor)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if f, ok := c.Flavor(name); ok {
			all = append(all, f)
		}
	}
	return all
}
