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
var Resources = []string{"cpu", "memory", "disk", "fork", network}

// network is the resource that only guests on a network can stress.
const network = "network"

const (
	maxGuests   = 1000 // of one scenario
	maxCounts   = 20   // numbers of guests that one entry has
	maxSlowdown = 1000
)

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
	// Slowdown is the limit that says how many guests fit: as many as are, at
	// once, at most so many times slower than one alone; 0: none is asked for.
	Slowdown float64
	// MemoryLeft is a limit, too: the memory that the host must have available
	// while the guests are at work; 0: none is asked for.
	MemoryLeft Bytes
	// Pairs is how many pairs of guests of an arm take part, instead of guests
	// that each run all of the workload: one of each pair serves, and the other
	// runs the workload against it over the network.
	Pairs int
	// Server is what serves in pairs, and Client, where it is OnHost, what runs
	// the workload; otherwise these are guests of the arm.
	Server End
	Client string

	// Workloads are those that run under the scenario; none: all of them.
	Workloads []string
	// Every is in how many blocks of a workload the scenario takes part once; 0: in all.
	Every int

	counts []count // as the file has Guests; nil after Parse
}

// Runs reports whether a workload of that name runs under the scenario.
func (s Scenario) Runs(workload string) bool {
	return len(s.Workloads) == 0 || slices.Contains(s.Workloads, workload)
}

// count is a number of guests, or times the guests that fill the host's CPUs.
type count struct{ guests, times int }

// Part is the guests of one flavor in a mix, or pairs of them.
type Part struct {
	Flavor string
	Guests int // 0: they are pairs
	Pairs  int
}

// Alone reports whether one guest runs at a time, and no neighbour.
func (s Scenario) Alone() bool {
	return s.Guests <= 1 && len(s.Neighbours) == 0 && len(s.Mix) == 0 && s.Pairs == 0
}

// Talking is how many of the neighbours stress the network.
func (s Scenario) Talking() (n int) {
	for _, resource := range s.Neighbours {
		if resource == network {
			n++
		}
	}
	return n
}

// ArmIn is what an arm is called in results under a scenario: "lxc@four".
func ArmIn(arm, scenario string) string {
	if scenario == Solo {
		return arm
	}
	return arm + "@" + scenario
}

var soloKind = oneOf(Solo)

var scenarioKeys = append([]key[Scenario]{
	need(field("name", "Name of the scenario. solo: one guest at a time, all others frozen.",
		nameKind, func(s *Scenario) *string { return &s.Name })),
	guestsKey,
	field("neighbours", "Guests like the arm's that run beside it on its CPUs and do nothing but stress one resource each.",
		list("neighbours", 20, oneOf(Resources...)), func(s *Scenario) *[]string { return &s.Neighbours }),
	field("mix", "Who runs the workload at once, instead of guests of the arm's flavor: guests of its system in several flavors.",
		list("parts", 20, object("a part of a mix", partKeys)), func(s *Scenario) *[]Part { return &s.Mix }),
	field("slowdown", "A limit: how many guests fit is how many are at most so many times slower than one alone. With several numbers of guests.",
		slowdownKind, func(s *Scenario) *float64 { return &s.Slowdown }),
	field("memory_left", "A limit: how many guests fit is how many leave the host so much memory available. With several numbers of guests. No guest is made beyond it, and all others are ended before such a trial.",
		sizeKind, func(s *Scenario) *Bytes { return &s.MemoryLeft }),
	field("workloads", "Names of the workloads that run under this scenario. Absent: all.",
		list("workloads", 100, nameKind), func(s *Scenario) *[]string { return &s.Workloads }),
	field("every", "The scenario takes part in one of so many blocks of a workload. Absent: in each.",
		whole[int](1, maxBlocks), func(s *Scenario) *int { return &s.Every }),
}, pairKeys...)

var partKeys = []key[Part]{
	need(field("flavor", "Name of one of the flavors.", nameKind, func(p *Part) *string { return &p.Flavor })),
	field("guests", "How many. Absent: one, or none where there are pairs.", whole[int](1, maxGuests), func(p *Part) *int { return &p.Guests }),
	field("pairs", "How many pairs, instead of single guests: one of each serves, the other runs the workload against it over the network. All parts have pairs, or none.",
		whole[int](1, maxGuests/2), func(p *Part) *int { return &p.Pairs }),
}

// guestsKey is a number of guests, or "4x": four times those that fill the
// host. Several of them make as many scenarios.
var guestsKey = func() key[Scenario] {
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
	k := field("guests", "How many guests of the arm run the workload at once, each in a guest of its own. 4x: four times as many as fill the CPUs, counted by the baseline's vcpus or cpu_cap. Several, [2, 4, 8], make as many scenarios: NAME-2 and so on.",
		shorthand(list("numbers", maxCounts, number), number, func(c count) []count { return []count{c} }),
		func(s *Scenario) *[]count { return &s.counts })
	k.write = func(s *Scenario) json.RawMessage {
		if s.Guests == 0 {
			return nil
		}
		return number.write(count{guests: s.Guests})
	}
	return k
}()

// slowdownKind is a limit of a slowdown: two and a half is 2.5.
var slowdownKind = scalar("how many times slower: a number above 1", schema{"type": "number", "exclusiveMinimum": 1, "maximum": maxSlowdown},
	func(s string) (float64, error) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || !(v > 1 && v <= maxSlowdown) {
			return 0, fmt.Errorf("%s is not one above 1 and up to %d", quote(s), maxSlowdown)
		}
		return v, nil
	},
	func(v float64) any { return v }, ast.IntegerType, ast.FloatType)

// checkScenarios fills in and checks who runs at the same time.
func (r *reader) checkScenarios(c *Campaign, known Known) {
	if !r.sound("scenarios") {
		return
	}
	var all []Scenario
	lines := map[string]string{} // path of each by name
	for i, entry := range c.Scenarios {
		path := fmt.Sprintf("scenarios[%d]", i)
		oneOfEach(entry.Mix)
		r.checkScenario(c, entry, path, known)
		for _, s := range r.numbers(c, entry, path, known.Host) {
			if first, twice := lines[s.Name]; twice {
				r.fail(path, "scenario %q is here twice, first in line %d", s.Name, r.at(first).line)
			}
			lines[s.Name] = path
			all = append(all, s)
		}
	}
	c.Scenarios = all
	if !slices.ContainsFunc(c.Scenarios, func(s Scenario) bool { return s.Name == Solo }) {
		r.warn("scenarios", "solo is not among the scenarios, so nothing tells how guests did alone: there will be no figures of isolation")
	}
	r.checkTargets(c)
}

// checkScenario checks what an entry of the file says by itself.
func (r *reader) checkScenario(c *Campaign, s Scenario, path string, known Known) {
	company := len(s.counts) > 1 || len(s.counts) == 1 && s.counts[0] != (count{guests: 1}) || !s.Alone()
	switch {
	case s.Name == Solo && company:
		r.fail(path, "solo is one guest at a time; give this scenario another name")
	case s.Name != Solo && !company:
		r.fail(path, "scenario %q is what solo is: it needs guests, neighbours, a mix or pairs", s.Name)
	case len(s.counts) > 0 && len(s.Mix) > 0:
		r.fail(path, "scenario %q: a mix says itself how many guests there are; leave guests out", s.Name)
	case s.Pairs > 0 && (len(s.counts) > 0 || len(s.Mix) > 0):
		r.fail(path, "scenario %q: pairs say themselves how many guests there are; leave guests and mix out", s.Name)
	case s.Slowdown > 0:
		r.checkFits(s, path+".slowdown")
	}
	r.checkPart(c, s, path)
	r.checkMemoryLeft(c, s, path, known)
	r.checkMix(c, s, path, known.Systems)
	r.checkPairs(c, s, path, known)
	if slices.Contains(s.Neighbours, network) {
		for _, a := range c.Active() {
			if f, ok := c.Flavor(a.Flavor); ok && a.Target == "" && (f.Network == "" || f.Network == noNetwork) {
				r.fail(path+".neighbours", "scenario %q: a neighbour that stresses the network needs one, and flavor %q of arm %q has none; give it network: bridged", s.Name, f.Name, a.Name)
				return
			}
		}
	}
}

// checkPart checks which workloads run under a scenario, and how often.
func (r *reader) checkPart(c *Campaign, s Scenario, path string) {
	if path == "scenarios[0]" {
		for _, key := range []string{"workloads", "every"} {
			if r.has(path + "." + key) {
				r.fail(path+"."+key, "scenario %q is the first one: every workload runs under it, in each block", s.Name)
			}
		}
	}
	names := make([]string, len(c.Workloads))
	for i, w := range c.Workloads {
		names[i] = w.Name
	}
	for i, name := range s.Workloads {
		if !slices.Contains(names, name) && r.sound("workloads") {
			r.failWord(fmt.Sprintf("%s.workloads[%d]", path, i), name, names, "scenario %q: %q is none of the campaign's workloads", s.Name, name)
		}
	}
}

// numbers makes the scenarios that an entry of the file stands for: one for
// each number of guests, with "4x" turned into a number: so many times the
// guests that fill the CPUs.
func (r *reader) numbers(c *Campaign, entry Scenario, path string, host Host) []Scenario {
	counts := entry.counts
	entry.counts = nil
	if len(counts) == 0 {
		return []Scenario{entry}
	}
	var all []Scenario
	for _, n := range counts {
		s := entry
		if s.Guests = n.guests; n.times > 0 {
			s.Guests = c.fill(n.times, host)
		}
		if s.Guests > maxGuests {
			r.fail(path+".guests", "that is %d guests; %d is the most", s.Guests, maxGuests)
		}
		if len(counts) > 1 {
			s.Name = fmt.Sprintf("%s-%d", entry.Name, s.Guests)
			if s.Guests == 0 { // on a host of which nothing is known
				s.Name = fmt.Sprintf("%s-%dx", entry.Name, n.times)
			}
			if !isName(s.Name) {
				r.fail(path+".name", "%q is too long for several numbers of guests", entry.Name)
			}
		}
		all = append(all, s)
	}
	return all
}

// fill is how many guests are so many times those that fill the CPUs; 0: that
// is not known here, or something is wrong that was reported already.
func (c *Campaign) fill(times int, host Host) int {
	base, ok := c.Arm(c.Baseline)
	f, okFlavor := c.Flavor(base.Flavor)
	cpus := len(f.CPUSet)
	if cpus == 0 {
		cpus = len(host.CPUs)
	}
	if !ok || !okFlavor || cpus == 0 {
		return 0
	}
	each := float64(f.VCPUs)
	if f.CPUCap > 0 {
		each = f.CPUCap.Fraction()
	}
	return max(1, int(float64(times*cpus)/each))
}

// checkFits checks that a limit is asked of numbers of guests alone; it reports
// whether that is so.
func (r *reader) checkFits(s Scenario, path string) bool {
	fits := len(s.counts) > 0 && len(s.Neighbours) == 0
	if !fits {
		r.fail(path, "scenario %q: how many guests fit is asked of numbers of guests without neighbours; give it guests: [2, 4, 8]", s.Name)
	}
	return fits
}

// oneOfEach is the number of guests in the parts of a mix that have none.
func oneOfEach(mix []Part) {
	for i := range mix {
		if mix[i].Guests == 0 && mix[i].Pairs == 0 {
			mix[i].Guests = 1
		}
	}
}

// checkMix checks that every arm can have the flavors of a mix.
func (r *reader) checkMix(c *Campaign, s Scenario, path string, systems map[string]Limits) {
	names := c.flavorNames()
	for i, part := range s.Mix {
		if one := fmt.Sprintf("%s.mix[%d]", path, i); r.sound(one) && (part.Pairs > 0) != s.Paired() {
			r.fail(one, "scenario %q: all parts of a mix are pairs, or none is", s.Name)
		} else if part.Pairs > 0 && part.Guests > 0 {
			r.fail(one, "scenario %q: a part of a mix has guests or pairs, not both", s.Name)
		}
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
