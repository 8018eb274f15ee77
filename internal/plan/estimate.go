package plan

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/model"
)

// Costs is the caller's guess of how long things take.
type Costs struct {
	// Slowdown is, by system, the duration of a trial as a multiple of the
	// baseline's. Missing systems count as 1.
	Slowdown map[string]float64
	// Overhead is the time of a trial besides its timed steps: thawing,
	// preparing, collecting, flushing, freezing.
	Overhead time.Duration
	// Create is, by system, how long it takes to create and boot one guest.
	Create map[string]time.Duration
	// Calibrate is how long it takes to find the size of one workload.
	Calibrate time.Duration
	// CPUs is the number of CPUs that guests share, for scenarios which
	// oversubscribe them; 0: not known.
	CPUs int
}

// Estimate is how long a run is expected to take.
type Estimate struct {
	Calibrate time.Duration // all workloads, once per run
	Create    time.Duration // to create all guests once
	Pass      time.Duration // mean of a pass through the workloads
	// With a precision, the number of blocks is not known beforehand. In each of these
	// pairs, the first figure assumes that the precision is reached as early as possible,
	// and the second that it is never reached.
	Passes, PassesMax int
	Blocks, BlocksMax map[string]int // by workload
	Trials, TrialsMax int            // including discarded ones
	Total, TotalMax   time.Duration
	Share             map[string]float64 // by arm, of the time of all trials; of the longer run
}

// mostWalked is after how many passes an estimate extrapolates.
const mostWalked = 300

// Estimate simulates the run with guessed costs. It assumes that trials of a
// fixed size take as long as calibrated ones.
func (p *Plan) Estimate(costs Costs) Estimate {
	e := Estimate{Calibrate: times(float64(len(p.Workloads)), costs.Calibrate)}
	least, most := p.walk(costs, e.Calibrate, true), p.walk(costs, e.Calibrate, false)
	e.Create = most.create
	e.Passes, e.PassesMax, e.Blocks, e.BlocksMax = least.passes, most.passes, least.blocks, most.blocks
	e.Trials, e.TrialsMax, e.Total, e.TotalMax = least.trials, most.trials, least.total, most.total
	e.Pass = (most.total - e.Calibrate) / time.Duration(max(most.passes, 1))
	e.Share = map[string]float64{}
	var all time.Duration
	for _, d := range most.arms {
		all = plus(all, d)
	}
	for arm, d := range most.arms {
		e.Share[arm] = float64(d) / float64(max(all, 1))
	}
	return e
}

// walked is the result of a simulated run.
type walked struct {
	passes, trials int
	blocks         map[string]int
	create, total  time.Duration
	arms           map[string]time.Duration
}

// walk simulates all passes. If reached is true, every workload reaches the
// precision as early as possible.
func (p *Plan) walk(costs Costs, spent time.Duration, reached bool) walked {
	s := NewState()
	w := walked{blocks: s.Blocks, arms: map[string]time.Duration{}}
	starts := p.starts(costs)
	for of, d := range starts {
		w.create = plus(w.create, d)
		s.Start[of] = d
	}
	for _, a := range p.Arms {
		if p.Emulated[a.System] && a.Scenario == p.Scenarios[0].Name {
			s.Emulated = plus(s.Emulated, starts[a.Of])
		}
	}
	if len(p.Boots) > 0 {
		return p.walkBoots(costs, w, spent)
	}
	s.Spent = plus(spent, w.create)
	for _, series := range p.Workloads {
		s.Width[series] = Width{Reached: reached && p.Rule.Precision > 0}
	}
	begin := s.Spent
	for {
		pass, _ := p.NextPass(s)
		if len(pass.Groups) == 0 {
			break
		}
		over, start := false, s.StartTime(pass)
		before := Group{}
		for i, g := range pass.Groups {
			g, before = g.After(before), g
			cost := p.cost(costs, s, g)
			if s.Pass > 0 && !p.Rule.Fits(s.Spent, plus(start, cost)) {
				pass.Groups, over = pass.Groups[:i], true
				break
			}
			s.Spent = plus(s.Spent, plus(start, cost))
			start = 0
			w.trials += g.Size()
			for _, a := range g.Arms {
				d := s.Trial[Cell{g.Workload, a}]
				w.arms[a] = plus(w.arms[a], d)
				if p.Emulated[p.arm(a).System] {
					s.Emulated += d
				}
			}
		}
		s.Begin(pass)
		if over {
			break
		}
		if s.Pass == mostWalked && p.Rule.Budget == 0 {
			p.extrapolate(&s, &w, begin, reached)
			break
		}
	}
	w.passes, w.total = s.Pass, s.Spent
	return w
}

// extrapolate assumes that the remaining passes are like those so far.
func (p *Plan) extrapolate(s *State, w *walked, begin time.Duration, reached bool) {
	all := p.Rule.Max
	if reached && p.Rule.Precision > 0 {
		all = max(p.Rule.Min, s.Pass)
	}
	more := float64(all) / float64(s.Pass)
	s.Spent = plus(begin, times(more, s.Spent-begin))
	w.trials = int(more * float64(w.trials))
	for series, n := range s.Blocks {
		s.Blocks[series] = int(more * float64(n))
	}
	for arm, d := range w.arms {
		w.arms[arm] = times(more, d)
	}
	s.Pass = all
}

// walkBoots simulates a plan with boots, which has a fixed number of blocks.
func (p *Plan) walkBoots(costs Costs, w walked, spent time.Duration) walked {
	s := NewState()
	for b := range p.Rule.Max {
		for _, boot := range p.Boots {
			for _, g := range p.inBoot(boot.Name, b, func(model.TrialID) bool { return false }) {
				spent = plus(spent, p.cost(costs, s, g))
				w.trials += g.Size()
				w.blocks[g.Workload] = b + 1
				for _, a := range g.Arms {
					w.arms[a] = plus(w.arms[a], s.Trial[Cell{g.Workload, a}])
				}
			}
		}
	}
	w.passes, w.total = p.Rule.Max, plus(spent, times(float64(p.Rounds()), w.create))
	return w
}

// Size is the number of trials of a group, including those that do not count.
func (g Group) Size() int {
	n := len(g.Arms)
	if g.Warmup != "" {
		n++
	}
	if g.Repeat != "" {
		n++
	}
	return n
}

// cost guesses how long a group takes, and stores the time of each trial in s.
func (p *Plan) cost(costs Costs, s State, g Group) (sum time.Duration) {
	trial := func(name string) time.Duration {
		a := p.arm(name)
		slowdown, ok := costs.Slowdown[a.System]
		if !ok {
			slowdown = 1
		}
		d := plus(times(slowdown*crowding(a, costs.CPUs), p.TrialTime), times(float64(len(a.Guests)), costs.Overhead))
		if a.MemoryLeft > 0 { // guests are created for each trial, as other arms' trials end them
			for _, m := range a.Guests {
				d = plus(d, costs.Create[systemOf(a, m)])
			}
		}
		return d
	}
	for _, name := range g.Arms {
		d := trial(name)
		s.Trial[Cell{g.Workload, name}] = d
		sum = plus(sum, d)
	}
	for _, name := range []string{g.Warmup, g.Repeat} {
		if name != "" {
			sum = plus(sum, trial(name))
		}
	}
	return sum
}

// starts guesses how long it takes to create all guests of each arm.
func (p *Plan) starts(costs Costs) map[string]time.Duration {
	all := map[string]time.Duration{}
	seen := map[model.GuestID]bool{}
	for _, a := range p.Arms {
		for _, m := range a.Guests {
			if !seen[m.GuestID] && a.MemoryLeft == 0 {
				seen[m.GuestID] = true
				all[a.Of] = plus(all[a.Of], costs.Create[systemOf(a, m)])
			}
		}
	}
	return all
}

// systemOf is the system of one guest of an arm.
func systemOf(a campaign.PlannedArm, m campaign.PlannedGuest) string {
	switch {
	case m.Host:
		return campaign.NativeSystem
	case m.Machine != "":
		return campaign.Far
	}
	return a.System
}

// crowding is the factor by which the guests of an arm take longer because they
// share the CPUs.
func crowding(a campaign.PlannedArm, cpus int) float64 {
	var wanted float64
	for _, m := range a.Guests {
		if m.Machine == "" {
			wanted += m.Flavor.Share()
		}
	}
	if cpus == 0 || wanted <= float64(cpus) {
		return 1
	}
	return wanted / float64(cpus)
}

// times multiplies, and returns the largest Duration on overflow: a campaign may
// ask for more.
func times(n float64, d time.Duration) time.Duration {
	if product := n * float64(d); product < math.MaxInt64 {
		return time.Duration(product)
	}
	return math.MaxInt64
}

// plus adds, and returns the largest Duration on overflow.
func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Text describes the plan and its expected duration, for --dry-run.
func (p *Plan) Text(e Estimate) string {
	var b strings.Builder
	row := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "  %-10s %s\n", label, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "campaign %s, seed %d\n", p.Campaign, p.Seed)
	var arms []string
	for _, a := range p.Arms {
		if a.Scenario != p.Scenarios[0].Name {
			continue
		}
		switch {
		case a.Baseline:
			arms = append(arms, a.Name+" (baseline)")
		case a.Control != "":
			arms = append(arms, a.Name+" (A/A control)")
		default:
			arms = append(arms, a.Name)
		}
	}
	row("arms", "%d: %s", len(arms), strings.Join(arms, ", "))
	for _, a := range p.Skipped {
		row("left out", "%s: %s", a.Name, a.Skip)
	}
	for _, s := range p.Scenarios {
		if s.Name != model.Solo {
			row("scenario", "%s: %s", s.Name, s.Text())
		}
	}
	row("workloads", "%d: %s", len(p.Workloads), strings.Join(p.Workloads, ", "))
	row("blocks", "%s", p.blocksText())
	if together := p.duetsText(); together != "" {
		row("duets", "%s", together)
	}
	if least, most := counts(e.Blocks), counts(e.BlocksMax); p.Rule.Budget > 0 {
		row("", "expected of each workload: %s", spread(least[0], most[len(most)-1], strconv.Itoa))
	}
	row("trials", "%s", spread(e.Trials, e.TrialsMax, strconv.Itoa))
	for _, boot := range p.Boots {
		var names []string
		for _, a := range p.InBoot(boot.Name) {
			names = append(names, a.Name)
		}
		row("boot", "%s, %d times: %s", boot.Name, p.Rounds(), strings.Join(names, ", "))
	}
	row("guests", "%s", p.guestsText())
	row("expected", "%s: passes through the workloads %s, of %s each", spread(e.Total, e.TotalMax, rough),
		spread(e.Passes, e.PassesMax, strconv.Itoa), rough(e.Pass))
	if p.Rule.Precision > 0 || p.Rule.Budget > 0 {
		row("time", "of the trials: %s", p.sharesText(e))
	}
	if least := counts(e.BlocksMax)[0]; least < p.Rule.Min {
		row("", "The budget leaves room for fewer blocks than the %d asked for.", p.Rule.Min)
	}
	return b.String()
}

// duetsText says which workloads have duets, and how much of the time they take; "": none.
func (p *Plan) duetsText() string {
	names := slices.DeleteFunc(slices.Clone(p.Workloads), func(w string) bool { return !p.DuetsPossible(w) })
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%.2g %% of the time, for arms that take less than %d times as long as the baseline: %s",
		100*p.DuetShare, duetLimit, strings.Join(names, ", "))
}

// guestsText is how many guests there are, if not one for each arm, and when they are re-created.
func (p *Plan) guestsText() string {
	guests := ""
	if n := len(p.Guests()); n != len(p.Arms) {
		guests = fmt.Sprintf("%d, ", n)
	}
	fills := slices.ContainsFunc(p.Arms, func(a campaign.PlannedArm) bool { return a.MemoryLeft > 0 })
	switch {
	case fills:
		return guests + "created for each trial: memory_left is tested without other guests"
	case p.RecreateEvery == campaign.Auto:
		return guests + "re-created as often as is best for the precision, those that start slowly less often"
	case p.RecreateEvery > 0:
		return fmt.Sprintf("%sre-created every %d passes", guests, p.RecreateEvery)
	}
	return guests + "created once"
}

// sharesText is how much of the time each arm of the first scenario takes, and each of the other scenarios.
func (p *Plan) sharesText(e Estimate) string {
	var parts []string
	shares := map[string]float64{}
	for _, a := range p.Arms {
		part := a.Name
		if a.Scenario != p.Scenarios[0].Name {
			part = a.Scenario
		}
		if shares[part] == 0 && e.Share[a.Name] > 0 {
			parts = append(parts, part)
		}
		shares[part] += e.Share[a.Name]
	}
	for i, part := range parts {
		parts[i] = fmt.Sprintf("%s %.2g %%", part, 100*shares[part])
	}
	return strings.Join(parts, ", ")
}

// counts is the numbers of blocks of all workloads, sorted.
func counts(blocks map[string]int) []int {
	if len(blocks) == 0 {
		return []int{0}
	}
	return slices.Sorted(maps.Values(blocks))
}

func (p *Plan) blocksText() string {
	r := p.Rule
	text := fmt.Sprintf("%d to %d", r.Min, r.Max)
	if r.Fixed() {
		text = fmt.Sprint(r.Max)
	}
	if r.Precision > 0 {
		text += fmt.Sprintf(" of each workload, until its intervals are within ±%s", r.Precision)
	}
	if r.Budget > 0 {
		text += fmt.Sprintf(", within %s", rough(r.Budget))
	}
	return text
}

// spread writes a range, or one value if both ends have the same text.
func spread[V any](low, high V, write func(V) string) string {
	ends := slices.Compact([]string{write(low), write(high)})
	return strings.Join(ends, " to ")
}

// rough writes a duration rounded to about two significant digits.
func rough(d time.Duration) string {
	switch {
	case d >= 10*time.Minute:
		d = d.Round(time.Minute)
	case d >= 10*time.Second:
		d = d.Round(time.Second)
	default:
		d = d.Round(100 * time.Millisecond)
	}
	return campaign.FormatDuration(d)
}
