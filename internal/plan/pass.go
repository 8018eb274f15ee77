package plan

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/stats"
)

// Pass is one round through the workloads that need more blocks. A run records
// each pass before it begins.
type Pass struct {
	Number int `json:"-"` // from 0
	// Recreate lists the arms, without scenario, that re-create their guests
	// before the pass.
	Recreate []string `json:"recreate,omitempty"`
	Groups   []Group  `json:"groups"`
}

// Cell is one workload in one arm.
type Cell struct{ Workload, Arm string }

// State is what the next pass depends on: how long things took and how wide
// the intervals are. It does not contain whether an effect is significant.
type State struct {
	Pass     int                      // number of the next pass
	Spent    time.Duration            // by the run so far
	Emulated time.Duration            // the part of Spent by systems in Plan.Emulated
	Blocks   map[string]int           // blocks begun, by workload
	Last     map[Cell]int             // last block in which the arm took part; absent: none
	Trial    map[Cell]time.Duration   // mean duration of a trial, overhead included
	Start    map[string]time.Duration // to create all guests of an arm (without scenario)
	Made     map[string]int           // pass before which an arm's guests were last created
	Width    map[string]Width         // by workload
	Duets    map[string]int           // duets begun, by workload
	Duet     map[string]time.Duration // mean duration of a duet, overhead included, by workload
}

// Width is the width of the intervals of a workload's primary metric.
type Width struct {
	Half    float64 // largest half-width over arms, on the ln scale; 0: not known
	Reached bool    // the workload has reached the campaign's precision
}

// NewState returns the state of a run that has not begun.
func NewState() State {
	return State{Blocks: map[string]int{}, Last: map[Cell]int{}, Trial: map[Cell]time.Duration{},
		Start: map[string]time.Duration{}, Made: map[string]int{}, Width: map[string]Width{},
		Duets: map[string]int{}, Duet: map[string]time.Duration{}}
}

// Begin records in the state that a pass is made.
func (s *State) Begin(pass Pass) {
	s.Pass = pass.Number + 1
	for _, of := range pass.Recreate {
		s.Made[of] = pass.Number
	}
	for _, g := range pass.Groups {
		if g.Duet {
			s.Duets[g.Workload] = max(s.Duets[g.Workload], g.Block+1)
			continue
		}
		s.Blocks[g.Workload] = max(s.Blocks[g.Workload], g.Block+1)
		for _, a := range g.Arms {
			s.Last[Cell{g.Workload, a}] = g.Block
		}
	}
}

// StartTime is how long it takes to create the guests that a pass re-creates.
func (s State) StartTime(pass Pass) (sum time.Duration) {
	for _, of := range pass.Recreate {
		sum = plus(sum, s.Start[of])
	}
	return sum
}

const (
	// budgetPasses is the number of passes into which a budget is divided, so
	// that there are enough guests. longestPass bounds a pass, unless one block
	// takes longer.
	budgetPasses, longestPass = 2 * aimedGuests, time.Minute
	// mostGroups bounds the number of blocks of a pass.
	mostGroups = 100
	// fineHalf is the half-width below which narrowing an interval is worth
	// less: ±1 %.
	fineHalf = 0.01
	// slowFrom: an arm whose trials take this many times as long as the
	// baseline's skips blocks.
	slowFrom = 4
	// longTrial is the duration from which a trial needs no warm-up: the cost of
	// a start is small against it.
	longTrial = 5 * time.Second
	// repeatEvery: in every block of so many, one arm makes its trial twice.
	repeatEvery = 4
	// aimedGuests is the number of guests of each arm that a run aims at: from
	// 8 on, an interval over guests is hardly wider than one over blocks.
	// robustBlocks is the number of blocks that each guest should serve: the
	// location of fewer than 4 values cannot be robust against an outlier.
	aimedGuests, robustBlocks = 8, 4
	// startShare is the share of a run's time that re-creating guests may take.
	startShare = 0.1
	// precisionBlocks is how many blocks a run with a precision is expected to need.
	precisionBlocks = aimedGuests * robustBlocks
)

// NextPass returns the next pass, or the reason why there is none. A pass has
// one block of each workload that still needs blocks, workloads in random order;
// with a budget, it has the blocks that narrow intervals most for their time, those
// of a workload one after the other.
func (p *Plan) NextPass(s State) (Pass, Reason) {
	var active []string
	reason := ReasonBlocks
	if p.Rule.Precision > 0 {
		reason = ReasonPrecision
	}
	for _, w := range p.Workloads {
		switch {
		case s.Width[w].Reached && s.Blocks[w] >= p.Rule.Min:
		case s.Blocks[w] < p.Rule.Max:
			active = append(active, w)
		case p.Rule.Precision > 0:
			reason = ReasonMax
		}
	}
	if len(active) == 0 {
		return Pass{}, reason
	}
	pass := Pass{Number: s.Pass, Recreate: p.recreate(s)}
	next := map[string]int{}
	s.Last = maps.Clone(s.Last)  // this pass adds its own blocks
	unknown := map[string]bool{} // emulated arms that run for the first time
	for _, w := range p.order(s, active) {
		block := s.Blocks[w] + next[w]
		if block >= p.Rule.Max {
			continue
		}
		next[w]++
		var arms []string
		for _, a := range p.ArmsOf(w) {
			if p.takesPart(&s, w, block, a, unknown) {
				arms = append(arms, a.Name)
				s.Last[Cell{w, a.Name}] = block
			}
		}
		pass.Groups = append(pass.Groups, p.withExtras(s, p.group(w, block, arms)))
	}
	return p.addDuets(s, pass, active), ""
}

// order is the workloads of a pass in random order, each as often in a row as the
// pass has blocks of it: only the first of them needs a warm-up.
func (p *Plan) order(s State, active []string) (all []string) {
	names := slices.Sorted(slices.Values(active))
	blocks := map[string]int{}
	if p.Rule.Budget > 0 && s.Pass > 0 {
		blocks = p.worthMost(s, names)
		names = slices.DeleteFunc(names, func(w string) bool { return blocks[w] == 0 })
	}
	shuffle(newDraw(p.Seed, "tare pass 1\x00", s.Pass), names)
	for _, w := range names {
		all = append(all, slices.Repeat([]string{w}, max(1, blocks[w]))...)
	}
	return all
}

// worthMost fills a pass with the blocks that are worth most for their time, and
// returns how many of each workload: first those that a workload needs to reach
// Rule.Min, then those that narrow an interval most in proportion to its width.
func (p *Plan) worthMost(s State, names []string) map[string]int {
	chosen := map[string]int{}
	pass := min(p.Rule.Budget/budgetPasses, longestPass)
	if slices.ContainsFunc(names, func(w string) bool { return p.duetArms(s, w) != nil }) {
		pass = times(1-p.DuetShare, pass)
	}
	for left := pass; left > 0; {
		best, most, took := "", 0.0, time.Duration(0)
		for _, w := range names {
			cost := max(p.groupCost(s, w), pass/mostGroups)
			if worth := p.worth(s, w, s.Blocks[w]+chosen[w]) / cost.Seconds(); worth > most {
				best, most, took = w, worth, cost
			}
		}
		if best == "" {
			break
		}
		left -= took + p.besideCost(s, best)
		if chosen[best] == 0 {
			left -= s.Trial[Cell{best, p.baseline().Name}] // the warm-up
		}
		chosen[best]++
	}
	return chosen
}

// worth is the value of one more block to a workload that has n of them: by how
// much it lowers Σ ln(h + fineHalf) over the half-widths h ∝ 1/√n. Narrowing
// ±5 % to ±4 % is worth about as much as narrowing ±50 % to ±40 %; narrowing an
// interval near fineHalf or below is worth less.
func (p *Plan) worth(s State, workload string, n int) float64 {
	switch {
	case n >= p.Rule.Max:
		return 0
	case n < p.Rule.Min:
		return math.MaxFloat32
	}
	wide := 1.0 // while the half-width is not known
	if half := s.Width[workload].Half; half > 0 {
		half *= math.Sqrt(float64(s.Blocks[workload]) / float64(n))
		wide = half / (half + fineHalf)
	}
	return wide / float64(n)
}

// groupCost is the time of the counted trials of one block for the arms of the
// first scenario that are not emulated.
func (p *Plan) groupCost(s State, workload string) (sum time.Duration) {
	for _, a := range p.ArmsOf(workload) {
		if a.Scenario == p.Scenarios[0].Name && !p.Emulated[a.System] {
			sum += s.Trial[Cell{workload, a.Name}]
		}
	}
	return sum
}

// besideCost is the mean time of the rest of a block but for its warm-up: the
// repeated trial, and the other scenarios.
func (p *Plan) besideCost(s State, workload string) time.Duration {
	sum := times(1.0/repeatEvery, s.Trial[Cell{workload, p.baseline().Name}])
	for _, a := range p.ArmsOf(workload) {
		if a.Scenario != p.Scenarios[0].Name && !p.Emulated[a.System] {
			sum += s.Trial[Cell{workload, a.Name}] / time.Duration(p.every(a))
		}
	}
	return sum
}

// takesPart reports whether an arm takes part in a block of a workload, and adds
// the time of emulated arms to the state.
//
// With a fixed number of blocks, every arm takes part in all of them. Otherwise,
// an arm whose trials take c times as long as the baseline's takes part in every
// √c-th block, which makes its interval narrowest for a given time. Emulated arms
// take part while their share of the time lasts, first with one trial of each
// workload in the first scenario. Until the duration of an emulated arm is known,
// it makes only one trial.
func (p *Plan) takesPart(s *State, workload string, block int, a campaign.PlannedArm, unknown map[string]bool) bool {
	if block%p.every(a) != 0 {
		return false
	}
	if p.Rule.Precision == 0 && p.Rule.Budget == 0 {
		return true
	}
	last, ran := s.Last[Cell{workload, a.Name}]
	if !p.Emulated[a.System] {
		return !ran || block-last >= p.stride(*s, workload, a)
	}
	alone := a.Scenario == p.Scenarios[0].Name
	cost, known := p.guess(*s, workload, a)
	switch {
	case !known:
		if !alone || unknown[a.Name] {
			return false
		}
		unknown[a.Name] = true
	case !p.affords(*s, cost) || (ran || !alone) && p.lacks(*s, a.Of):
		return false
	}
	s.Emulated += cost
	return true
}

// lacks reports whether an emulated arm can afford a trial, in the first scenario,
// of a workload that it has not run yet.
func (p *Plan) lacks(s State, of string) bool {
	a := p.arm(model.ArmName{Of: of, Scenario: p.Scenarios[0].Name}.String())
	return slices.ContainsFunc(p.Workloads, func(w string) bool {
		_, ran := s.Last[Cell{w, a.Name}]
		cost, _ := p.guess(s, w, a)
		return !ran && p.Scenarios[0].Runs(p.programs[w]) && p.affords(s, cost)
	})
}

// guess is the expected duration of a trial of an arm: its mean so far; else the
// arm's mean in the first scenario times the number of guests; else the baseline's
// mean times the arm's slowdown in other workloads and the number of guests.
func (p *Plan) guess(s State, workload string, a campaign.PlannedArm) (d time.Duration, known bool) {
	if d, known = s.Trial[Cell{workload, a.Name}]; known {
		return d, true
	}
	alone := model.ArmName{Of: a.Of, Scenario: p.Scenarios[0].Name}.String()
	if d, known = s.Trial[Cell{workload, alone}]; known {
		return times(float64(len(a.Guests)), d), true
	}
	var own, base time.Duration
	for _, w := range p.Workloads {
		if d, ran := s.Trial[Cell{w, alone}]; ran {
			own += d
			base += s.Trial[Cell{w, p.baseline().Name}]
		}
	}
	if own == 0 || base == 0 {
		return 0, false
	}
	slower := float64(len(a.Guests)) * float64(own) / float64(base)
	return times(slower, s.Trial[Cell{workload, p.baseline().Name}]), true
}

// affords reports whether emulated arms may take that much more time.
func (p *Plan) affords(s State, more time.Duration) bool {
	return float64(s.Emulated+more) <= p.EmulatedShare*float64(max(p.Rule.Budget, s.Spent))
}

// stride is n if an arm, being slow, takes part in every n-th block.
func (p *Plan) stride(s State, workload string, a campaign.PlannedArm) int {
	base := s.Trial[Cell{workload, model.ArmName{Of: p.baseline().Of, Scenario: a.Scenario}.String()}]
	if base <= 0 {
		return 1
	}
	if c := float64(s.Trial[Cell{workload, a.Name}]) / float64(base); c >= slowFrom {
		return int(math.Sqrt(c))
	}
	return 1
}

// withExtras chooses the arms of the discarded and the repeated trial of a group.
func (p *Plan) withExtras(s State, g Group) Group {
	if s.Trial[Cell{g.Workload, p.baseline().Name}] > longTrial || p.TrialTime > longTrial || len(g.Arms) < 2 {
		return g
	}
	var quick []string
	for _, name := range g.Arms {
		a := p.arm(name)
		if a.Scenario == p.Scenarios[0].Name && len(a.Guests) == 1 && !p.Emulated[a.System] &&
			p.stride(s, g.Workload, a) == 1 {
			quick = append(quick, name)
		}
	}
	if len(quick) == 0 {
		return g
	}
	g.Warmup = quick[len(quick)-1]
	if g.Block%repeatEvery == 1 {
		g.Repeat = quick[0]
	}
	return g
}

// recreate returns the arms that are due to re-create their guests.
func (p *Plan) recreate(s State) (due []string) {
	if s.Pass == 0 {
		return nil // there are no guests yet
	}
	// Units must share no guest, so arms re-create guests only when the baseline does.
	base := p.baseline().Of
	if life := p.life(s, base); life == 0 || s.Pass-s.Made[base] < life {
		return nil
	}
	for _, a := range p.Arms {
		if slices.Contains(due, a.Of) || p.Emulated[a.System] && !p.affords(s, s.Start[a.Of]) {
			continue
		}
		if s.Pass-s.Made[a.Of] >= p.life(s, a.Of) {
			due = append(due, a.Of)
		}
	}
	return due
}

// life is the number of passes that guests of an arm serve; 0: the whole run.
//
// If the campaign does not set it, it is the number that reaches a precision at
// the lowest cost [Kalibera & Jones, ISMM 2013], but at least robustBlocks. If
// guests start fast, it is small enough for the run to have aimedGuests guests
// of each arm.
func (p *Plan) life(s State, of string) int {
	if p.RecreateEvery != campaign.Auto {
		return p.RecreateEvery
	}
	var trials time.Duration // time of the arm's trials in a pass
	for _, a := range p.Arms {
		if a.Of == of {
			for _, w := range p.Workloads {
				blocks := float64(s.Blocks[w]) / float64(max(s.Pass, 1))
				trials += times(blocks/float64(p.every(a)), s.Trial[Cell{w, a.Name}])
			}
		}
	}
	start := s.Start[of]
	best := robustBlocks
	if trials > 0 && start > 0 {
		if reps, err := stats.OptimalReps([]float64{trials.Seconds(), start.Seconds()},
			[]float64{stats.TrialVariance, 1}); err == nil {
			best = max(best, reps[0])
		}
	}
	passes, each := p.expected(s)
	for _, guests := range []int{aimedGuests, aimedGuests / 2} {
		if float64(guests)*start.Seconds() <= startShare*float64(passes)*each.Seconds() || each == 0 {
			return min(best, max(1, passes/guests))
		}
	}
	return best
}

// expected is the expected number of passes of the run, and the mean duration of
// one so far.
func (p *Plan) expected(s State) (passes int, each time.Duration) {
	if s.Pass > 0 {
		each = s.Spent / time.Duration(s.Pass)
	}
	passes = p.Rule.Max
	if p.Rule.Precision > 0 {
		passes = min(passes, max(p.Rule.Min, precisionBlocks))
	}
	if p.Rule.Budget > 0 && each > 0 {
		passes = min(passes, int(p.Rule.Budget/each))
	}
	return passes, each
}
