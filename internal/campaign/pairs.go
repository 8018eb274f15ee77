package campaign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/strict"
)

// OnHost says that an end of a pair is not a guest of the arm's system but processes
// of the host, in the userland of all guests and with the limits of a flavor, as
// native guests are.
const OnHost = "host"

// End says what the server in the pairs of a scenario is. Its zero value is a guest
// like the one that it serves.
type End struct {
	On     string // OnHost; "": a guest of the arm's system
	Flavor string // "": that of the guest that it serves
}

var hostKind = strict.OneOf(OnHost)

var endKeys = []strict.Key[End]{
	strict.Field("on", "host: processes of the host. Absent: a guest of the arm's system.", hostKind,
		func(e *End) *string { return &e.On }),
	strict.Field("flavor", "Name of one of the flavors. Absent: that of the guest that it serves.", strict.Name,
		func(e *End) *string { return &e.Flavor }),
}

var endKind = strict.Shorthand(strict.Object("an end of a pair", endKeys), hostKind,
	func(on string) End { return End{On: on} })

// pairKeys are the keys of a scenario in which guests communicate.
var pairKeys = []strict.Key[Scenario]{
	strict.Field("pairs", "Number of pairs of the arm's guests, instead of single ones: one of each pair is the server, "+
		"the other runs the workload against it over the network.",
		strict.Whole[int](1, maxGuests/2), func(s *Scenario) *int { return &s.Pairs }),
	strict.Field("server", "Server in pairs. host: processes of the host. {flavor: NAME}: a guest of another flavor. "+
		"Absent: a guest like the client.",
		endKind, func(s *Scenario) *End { return &s.Server }),
	strict.Field("client", "host: in pairs, processes of the host run the workload against a guest of the arm, which is "+
		"the server.",
		hostKind, func(s *Scenario) *string { return &s.Client }),
}

// Paired reports whether guests take part in pairs.
func (s Scenario) Paired() bool {
	return s.Pairs > 0 || slices.ContainsFunc(s.Mix, func(p Part) bool { return p.Pairs > 0 })
}

// OnePair reports whether the scenario is for pairs what solo is for guests.
func (s Scenario) OnePair() bool { return s.Pairs == 1 && len(s.Neighbours) == 0 }

// SameEnds reports whether the pairs of both scenarios are of the same kind.
func (s Scenario) SameEnds(o Scenario) bool { return s.Server == o.Server && s.Client == o.Client }

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
	case s.Client == OnHost:
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
	if s.Client == OnHost && s.Server != (End{}) {
		r.Fail(path+".client", "scenario %q: if the host runs the workload, a guest of the arm is the server; remove server",
			s.Name)
	}
	r.checkServer(c, s, path+".server", known.Systems)
	for _, a := range c.Active() {
		for _, f := range c.pairFlavors(a, s) {
			if a.Target == "" && !f.OnBridge() {
				r.Fail(at, "scenario %q: guests of arm %q cannot reach each other, because flavor %q has network %s; give it "+
					"network: bridged", s.Name, a.Name, f.Name, f.Network)
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
		if s.Server.On == OnHost {
			a.System = NativeSystem
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
