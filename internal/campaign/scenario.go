package campaign

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Solo is the name of the scenario in which one guest runs at a time.
const Solo = "solo"

// Resources are what a neighbour can stress.
var Resources = []string{"cpu", "memory", "disk", "fork"}

// maxGuests bounds the guests of one scenario.
const maxGuests = 1000

// Scenario says who runs at the same time. All other guests are frozen.
type Scenario struct {
	Name string
	// Guests is how many guests of an arm run the workload at once, each in a
	// guest of its own; 0: one.
	Guests int
	// Neighbours are guests like the arm's that run beside it, on the same
	// CPUs: each does nothing but stress one resource.
	Neighbours []string
	// Mix says who runs the workload at once, instead of guests of the arm's
	// flavor: guests of the arm's system in several flavors.
	Mix []Part

	times int // as in "4x": times the guests that fill the host's CPUs; 0 after Parse
}

// Part is the guests of one flavor in a mix.
type Part struct {
	Flavor string
	Guests int
}

// Alone reports whether one guest runs at a time, and no neighbour.
func (s Scenario) Alone() bool { return s.Guests <= 1 && len(s.Neighbours) == 0 && len(s.Mix) == 0 }

// ArmIn is what an arm is called in results under a scenario: "lxc@four".
func ArmIn(arm, scenario string) string {
	if scenario == Solo {
		return arm
	}
	return arm + "@" + scenario
}

var soloKind = oneOf(Solo)

var scenarioKeys = []key[Scenario]{
	need(field("name", "Name of the scenario. solo: one guest at a time, all others frozen.",
		nameKind, func(s *Scenario) *string { return &s.Name })),
	guestsKey,
	field("neighbours", "Guests like the arm's that run beside it on its CPUs and do nothing but stress one resource each.",
		list("neighbours", 20, oneOf(Resources...)), func(s *Scenario) *[]string { return &s.Neighbours }),
	field("mix", "Who runs the workload at once, instead of guests of the arm's flavor: guests of its system in several flavors.",
		list("parts", 20, object("a part of a mix", partKeys)), func(s *Scenario) *[]Part { return &s.Mix }),
}

var partKeys = []key[Part]{
	need(field("flavor", "Name of one of the flavors.", nameKind, func(p *Part) *string { return &p.Flavor })),
	fieldOr("guests", "How many.", whole[int](1, maxGuests), func(p *Part) *int { return &p.Guests }, 1),
}

// guestsKey is a number of guests, or "4x": four times those that fill the host.
var guestsKey = func() key[Scenario] {
	type count struct{ guests, times int }
	about := "How many guests of the arm run the workload at once, each in a guest of its own. 4x: four times as many as fill the CPUs, counted by the baseline's vcpus or cpu_cap."
	number := scalar("a number of guests, or 4x: four times those that fill the CPUs",
		schema{"anyOf": []schema{{"type": "integer", "minimum": 1, "maximum": maxGuests}, {"type": "string", "pattern": "^[0-9]{1,3}x$"}}},
		func(s string) (c count, err error) {
			digits, times := strings.CutSuffix(s, "x")
			n, err := strconv.Atoi(digits)
			if err != nil || n < 1 || n > maxGuests {
				return c, fmt.Errorf("%s is not one from 1 to %d", quote(s), maxGuests)
			}
			if times {
				return count{times: n}, nil
			}
			return count{guests: n}, nil
		},
		func(c count) any { return c.guests }, ast.IntegerType, ast.StringType)
	k := field("guests", about, number, func(*Scenario) *count { return new(count) })
	k.read = func(r *reader, v value, s *Scenario) {
		if c, ok := number.read(r, v); ok {
			s.Guests, s.times = c.guests, c.times
		}
	}
	k.write = func(s *Scenario) json.RawMessage {
		if s.Guests == 0 {
			return nil
		}
		return number.write(count{guests: s.Guests})
	}
	return k
}()

// checkScenarios fills in and checks who runs at the same time.
func (r *reader) checkScenarios(c *Campaign, known Known) {
	if !r.sound("scenarios") {
		return
	}
	for i := range c.Scenarios {
		s, path := &c.Scenarios[i], fmt.Sprintf("scenarios[%d]", i)
		for j, other := range c.Scenarios[:i] {
			if other.Name == s.Name {
				r.fail(path, "scenario %q is here twice, first in line %d", s.Name, r.at(fmt.Sprintf("scenarios[%d]", j)).line)
			}
		}
		if s.times > 0 {
			r.fill(c, s, path, known.Host)
		}
		company := s.Guests > 1 || s.times > 0 || len(s.Neighbours) > 0 || len(s.Mix) > 0
		switch {
		case s.Name == Solo && company:
			r.fail(path, "solo is one guest at a time; give this scenario another name")
		case s.Name != Solo && !company:
			r.fail(path, "scenario %q is what solo is: it needs guests, neighbours or a mix", s.Name)
		case s.Guests > 0 && len(s.Mix) > 0:
			r.fail(path, "scenario %q: a mix says itself how many guests there are; leave guests out", s.Name)
		}
		r.checkMix(c, *s, path, known.Systems)
	}
	if !slices.ContainsFunc(c.Scenarios, func(s Scenario) bool { return s.Name == Solo }) {
		r.warn("scenarios", "solo is not among the scenarios, so nothing tells how guests did alone: there will be no figures of isolation")
	}
	r.checkTargets(c)
}

// fill turns "4x" into a number: so many times the guests that fill the CPUs.
func (r *reader) fill(c *Campaign, s *Scenario, path string, host Host) {
	base, ok := c.Arm(c.Baseline)
	f, okFlavor := c.Flavor(base.Flavor)
	cpus := len(f.CPUSet)
	if cpus == 0 {
		cpus = len(host.CPUs)
	}
	if !ok || !okFlavor || cpus == 0 { // reported already, or not known here
		return
	}
	each := float64(f.VCPUs)
	if f.CPUCap > 0 {
		each = f.CPUCap.Fraction()
	}
	s.Guests, s.times = max(1, int(float64(s.times*cpus)/each)), 0
	if s.Guests > maxGuests {
		r.fail(path+".guests", "that is %d guests; %d is the most", s.Guests, maxGuests)
	}
}

// checkMix checks that every arm can have the flavors of a mix.
func (r *reader) checkMix(c *Campaign, s Scenario, path string, systems map[string]Limits) {
	names := make([]string, len(c.Flavors))
	for i, f := range c.Flavors {
		names[i] = f.Name
	}
	for i, part := range s.Mix {
		at := fmt.Sprintf("%s.mix[%d].flavor", path, i)
		flavor, ok := c.Flavor(part.Flavor)
		if !ok && r.sound("flavors") {
			r.failWord(at, part.Flavor, names, "unknown flavor %q; the file has %s", part.Flavor, strings.Join(names, ", "))
		}
		if slices.ContainsFunc(s.Mix[:i], func(p Part) bool { return p.Flavor == part.Flavor }) {
			r.fail(at, "flavor %q is in the mix twice", part.Flavor)
		}
		for _, a := range c.Active() {
			if limits, known := systems[a.System]; ok && known {
				r.checkLimits(at, a, flavor, limits)
			}
		}
	}
}

// checkTargets says of arms whose machines are somebody else's that they have
// no company: there is one machine.
func (r *reader) checkTargets(c *Campaign) {
	for i, a := range c.Arms {
		if a.Target != "" && a.Skip == "" && slices.ContainsFunc(c.Scenarios, func(s Scenario) bool { return !s.Alone() }) {
			r.warn(fmt.Sprintf("arms[%d]", i), "arm %q is one machine that tare does not make, so it takes part in solo alone", a.Name)
		}
	}
}
