package campaign

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/strict"
)

// Resources are the resources that a neighbour can stress.
var Resources = []string{"cpu", "memory", "memory-bandwidth", "page-cache", model.ResourceDisk, "dirty-pages",
	"fork", model.ResourceNetwork}

const (
	maxGuests   = 1000 // of one scenario
	maxCounts   = 20   // numbers of guests in one entry
	maxSlowdown = 1000
)

// Scenario says which guests run at the same time. All other guests are frozen.
type Scenario struct {
	Name string
	// Guests is how many guests of an arm run the workload at once; 0: one.
	Guests int
	// Neighbours are guests like the arm's that run beside it: each only stresses one
	// resource. Apart: they have other CPUs than it.
	Neighbours []string
	Apart      bool
	// Mix are the guests that run the workload at once, instead of guests of the arm's
	// flavor: guests of the arm's system in several flavors.
	Mix []Part
	// Slowdown is the limit that decides how many guests fit: as many as are at most so
	// many times slower at once than one alone; 0: no such limit.
	Slowdown float64
	// MemoryLeft is a limit, too: the memory that the host must have available while
	// the guests are at work; 0: no such limit.
	MemoryLeft Bytes
	// Pairs is how many pairs of guests of an arm take part, instead of guests that
	// each run the whole workload: one of each pair is the server, and the other runs
	// the workload against it over the network.
	Pairs int
	// Server is the server in pairs, and Client runs the workload. At least one of them is a guest of the arm.
	Server, Client End

	// Workloads are those that run in the scenario; none: all of them.
	Workloads []string
	// Every: the scenario takes part in one of so many blocks of a workload; 0: in all.
	Every int

	counts []count // Guests as in the file; nil after Parse
}

// Runs reports whether a workload of that name runs in the scenario.
func (s Scenario) Runs(workload string) bool {
	return len(s.Workloads) == 0 || slices.Contains(s.Workloads, workload)
}

// count is a number of guests, or a multiple of those that fill the host's CPUs.
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
		if resource == model.ResourceNetwork {
			n++
		}
	}
	return n
}

var soloKind = strict.OneOf(model.Solo)

var scenarioKeys = append([]strict.Key[Scenario]{
	strict.Required(strict.Field("name", "Name of the scenario. solo: one guest at a time, all others frozen.",
		strict.Name, func(s *Scenario) *string { return &s.Name })),
	guestsKey,
	strict.Field("neighbours", "Resources that neighbours stress: for each, a guest like the arm's runs beside it and "+
		"only stresses that resource, on the same CPUs unless apart is set.",
		strict.List("neighbours", 20, strict.OneOf(Resources...)), func(s *Scenario) *[]string { return &s.Neighbours }),
	strict.Field("apart", "The neighbours run on other CPUs than the guest: they share memory, devices and the rest of "+
		"the host with it, but no CPU time.",
		boolKind, func(s *Scenario) *bool { return &s.Apart }),
	strict.Field("mix", "Guests of the arm's system in several flavors that run the workload at once, instead of guests "+
		"of the arm's flavor.",
		strict.List("parts", 20, strict.Object("a part of a mix", partKeys)), func(s *Scenario) *[]Part { return &s.Mix }),
	strict.Field("slowdown", "Limit that decides how many guests fit: they are at most so many times slower than one "+
		"alone. For several numbers of guests.",
		slowdownKind, func(s *Scenario) *float64 { return &s.Slowdown }),
	strict.Field("memory_left", "Limit that decides how many guests fit: they leave the host at least this much "+
		"available memory. For several numbers of guests. tare creates no guest beyond it, and removes all other guests "+
		"before such a trial.",
		sizeKind, func(s *Scenario) *Bytes { return &s.MemoryLeft }),
	strict.Field("workloads", "Names of the workloads that run in this scenario. Absent: all.",
		strict.List("workloads", 100, strict.Name), func(s *Scenario) *[]string { return &s.Workloads }),
	strict.Field("every", "The scenario takes part in one of this many blocks of a workload. Absent: in every block.",
		strict.Whole[int](1, maxBlocks), func(s *Scenario) *int { return &s.Every }),
}, pairKeys...)

var partKeys = []strict.Key[Part]{
	strict.Required(strict.Field("flavor", "Name of one of the flavors.", strict.Name,
		func(p *Part) *string { return &p.Flavor })),
	strict.Field("guests", "Number of guests. Absent: one, or none if there are pairs.", strict.Whole[int](1, maxGuests),
		func(p *Part) *int { return &p.Guests }),
	strict.Field("pairs", "Number of pairs, instead of single guests: one of each pair is the server, the other runs "+
		"the workload against it over the network. Either all parts have pairs, or none.",
		strict.Whole[int](1, maxGuests/2), func(p *Part) *int { return &p.Pairs }),
}

// guestsKey is a number of guests, or "4x": four times as many as fill the CPUs. Each
// of several numbers makes a scenario.
var guestsKey = func() strict.Key[Scenario] {
	number := strict.Scalar("a number of guests, or a multiple such as 4x of those that fill the CPUs",
		strict.Schema{"anyOf": []strict.Schema{{"type": "integer", "minimum": 1, "maximum": maxGuests},
			{"type": "string", "pattern": "^[0-9]{1,3}x$"}}},
		func(s string) (c count, err error) {
			digits, times := strings.CutSuffix(s, "x")
			n, err := strconv.Atoi(digits)
			if err != nil || n < 1 || n > maxGuests {
				return c, fmt.Errorf("%s is not one from 1 to %d", strict.Quote(s), maxGuests)
			}
			if times {
				return count{times: n}, nil
			}
			return count{guests: n}, nil
		},
		func(c count) any { return c.guests }, strict.Integer, strict.Text)
	k := strict.Field("guests", "Number of guests of the arm that run the workload at once. 4x: four times as many as "+
		"fill the CPUs, by the baseline's vcpus or cpu_cap. Each of several numbers, such as [2, 4, 8], makes a scenario: "+
		"NAME-2 and so on.",
		strict.Shorthand(strict.List("numbers", maxCounts, number), number, func(c count) []count { return []count{c} }),
		func(s *Scenario) *[]count { return &s.counts })
	k.Write = func(s *Scenario, full bool) json.RawMessage {
		if s.Guests == 0 {
			return nil
		}
		return number.Write(count{guests: s.Guests}, full)
	}
	return k
}()

// slowdownKind is a limit of a slowdown: two and a half is 2.5.
var slowdownKind = strict.Scalar("a factor above 1",
	strict.Schema{"type": "number", "exclusiveMinimum": 1, "maximum": maxSlowdown},
	func(s string) (float64, error) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || !(v > 1 && v <= maxSlowdown) {
			return 0, fmt.Errorf("%s is not above 1 and at most %d", strict.Quote(s), maxSlowdown)
		}
		return v, nil
	},
	func(v float64) any { return v }, strict.Integer, strict.Float)

// checkScenarios fills in and checks which guests run at the same time.
func (r *checker) checkScenarios(c *Campaign, known Known) {
	if !r.Sound("scenarios") {
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
				r.Fail(path, "scenario %q appears twice, first in line %d", s.Name, r.Line(first))
			}
			lines[s.Name] = path
			all = append(all, s)
		}
	}
	c.Scenarios = all
	if !slices.ContainsFunc(c.Scenarios, func(s Scenario) bool { return s.Name == model.Solo }) {
		r.Warn("scenarios", "solo is not among the scenarios, so guests are not measured alone: there will be no isolation "+
			"figures")
	}
	r.checkTargets(c)
}

// checkScenario checks an entry of the file by itself.
func (r *checker) checkScenario(c *Campaign, s Scenario, path string, known Known) {
	several := len(s.counts) > 1 || len(s.counts) == 1 && s.counts[0] != (count{guests: 1}) || !s.Alone()
	switch {
	case s.Name == model.Solo && several:
		r.Fail(path, "solo is one guest at a time; give this scenario another name")
	case s.Name != model.Solo && !several:
		r.Fail(path, "scenario %q is the same as solo: it needs guests, neighbours, a mix or pairs", s.Name)
	case len(s.counts) > 0 && len(s.Mix) > 0:
		r.Fail(path, "scenario %q: a mix itself defines the number of guests; remove guests", s.Name)
	case s.Pairs > 0 && (len(s.counts) > 0 || len(s.Mix) > 0):
		r.Fail(path, "scenario %q: pairs themselves define the number of guests; remove guests and mix", s.Name)
	case s.Slowdown > 0:
		r.checkFits(s, path+".slowdown")
	}
	r.checkPart(c, s, path)
	r.checkMemoryLeft(c, s, path, known)
	r.checkMix(c, s, path, known.Systems)
	r.checkPairs(c, s, path, known)
	r.checkApart(c, s, path, known)
	if slices.Contains(s.Neighbours, model.ResourceNetwork) {
		for _, a := range c.Active() {
			if f, ok := c.Flavor(a.Flavor); ok && a.Target == "" && (f.Network == "" || f.Network == model.NetworkNone) {
				r.Fail(path+".neighbours", "scenario %q: a neighbour that stresses the network needs one, but flavor %q of arm "+
					"%q has none; give it network: bridged", s.Name, f.Name, a.Name)
				return
			}
		}
	}
}

// checkApart checks that neighbours can have CPUs of their own.
func (r *checker) checkApart(c *Campaign, s Scenario, path string, known Known) {
	if !s.Apart {
		return
	}
	if len(s.Neighbours) == 0 {
		r.Fail(path+".apart", "scenario %q: apart is about neighbours, but the scenario has none", s.Name)
		return
	}
	for _, a := range c.Active() {
		f, ok := c.Flavor(a.Flavor)
		switch cpus := len(known.Host.CPUs); {
		case !ok:
		case len(f.CPUs) > 0:
			r.Fail(path+".apart", "scenario %q: flavor %q of arm %q has a cpuset, which neighbours share; remove it, or apart",
				s.Name, f.Name, a.Name)
			return
		case cpus > 0 && 2*f.VCPUs > cpus:
			r.Warn(path+".apart", "scenario %q: the host has %d CPUs, too few for guests of flavor %q and neighbours with "+
				"CPUs of their own: they share some", s.Name, cpus, f.Name)
			return
		}
	}
}

// checkPart checks which workloads run in a scenario, and how often.
func (r *checker) checkPart(c *Campaign, s Scenario, path string) {
	if path == "scenarios[0]" {
		for _, key := range []string{"workloads", "every"} {
			if r.Has(path + "." + key) {
				r.Fail(path+"."+key, "scenario %q is the first one: every workload runs in it, in every block", s.Name)
			}
		}
	}
	names := make([]string, len(c.Workloads))
	for i, w := range c.Workloads {
		names[i] = w.Name
	}
	for i, name := range s.Workloads {
		if !slices.Contains(names, name) && r.Sound("workloads") {
			r.FailWord(fmt.Sprintf("%s.workloads[%d]", path, i), name, names,
				"scenario %q: %q is not one of the campaign's workloads", s.Name, name)
		}
	}
}

// numbers returns the scenarios of an entry of the file: one for each number of
// guests, with "4x" converted to a number.
func (r *checker) numbers(c *Campaign, entry Scenario, path string, host Host) []Scenario {
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
			r.Fail(path+".guests", "that makes %d guests; the maximum is %d", s.Guests, maxGuests)
		}
		if len(counts) > 1 {
			s.Name = fmt.Sprintf("%s-%d", entry.Name, s.Guests)
			if s.Guests == 0 { // on an unknown host
				s.Name = fmt.Sprintf("%s-%dx", entry.Name, n.times)
			}
			if !strict.IsName(s.Name) {
				r.Fail(path+".name", "%q is too long for a scenario with several numbers of guests", entry.Name)
			}
		}
		all = append(all, s)
	}
	return all
}

// fill is how many guests are so many times those that fill the CPUs; 0 if that is
// not known here, or if something is wrong that was already reported.
func (c *Campaign) fill(times int, host Host) int {
	base, ok := c.Arm(c.Baseline)
	f, okFlavor := c.Flavor(base.Flavor)
	cpus := len(f.CPUs)
	if cpus == 0 {
		cpus = len(host.CPUs)
	}
	if !ok || !okFlavor || cpus == 0 {
		return 0
	}
	return max(1, int(float64(times*cpus)/f.Share()))
}

// checkFits checks that a limit is used with numbers of guests only; it reports
// whether that is so.
func (r *checker) checkFits(s Scenario, path string) bool {
	fits := len(s.counts) > 0 && len(s.Neighbours) == 0
	if !fits {
		r.Fail(path, "scenario %q: a limit needs numbers of guests and no neighbours; give it guests: [2, 4, 8]", s.Name)
	}
	return fits
}

// oneOfEach gives one guest to the parts of a mix that have no number.
func oneOfEach(mix []Part) {
	for i := range mix {
		if mix[i].Guests == 0 && mix[i].Pairs == 0 {
			mix[i].Guests = 1
		}
	}
}

// checkMix checks that every arm can have the flavors of a mix.
func (r *checker) checkMix(c *Campaign, s Scenario, path string, systems map[string]Limits) {
	for i, part := range s.Mix {
		if one := fmt.Sprintf("%s.mix[%d]", path, i); r.Sound(one) && (part.Pairs > 0) != s.Paired() {
			r.Fail(one, "scenario %q: either all parts of a mix are pairs, or none", s.Name)
		} else if part.Pairs > 0 && part.Guests > 0 {
			r.Fail(one, "scenario %q: a part of a mix has guests or pairs, not both", s.Name)
		}
		at := fmt.Sprintf("%s.mix[%d].flavor", path, i)
		flavor, ok := c.Flavor(part.Flavor)
		if !ok {
			r.unknownFlavor(c, at, part.Flavor)
		}
		if slices.ContainsFunc(s.Mix[:i], func(p Part) bool { return p.Flavor == part.Flavor }) {
			r.Fail(at, "flavor %q appears twice in the mix", part.Flavor)
		}
		for _, a := range c.Active() {
			if limits, known := systems[a.System]; ok && known {
				r.checkLimits(at, a, flavor, limits)
			}
		}
	}
}

// checkTargets warns that arms whose machines tare does not create run alone only:
// there is one machine.
func (r *checker) checkTargets(c *Campaign) {
	for i, a := range c.Arms {
		if a.Target != "" && a.Skip == "" && slices.ContainsFunc(c.Scenarios, func(s Scenario) bool { return !s.Alone() }) {
			r.Warn(fmt.Sprintf("arms[%d]", i), "arm %q is a single machine that tare does not create, so it takes part in "+
				"solo only", a.Name)
		}
	}
}
