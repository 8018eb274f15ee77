package run

import (
	"context"
	"encoding/json"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/plan"
)

// passes completes the recorded passes, then makes new ones until the plan has
// no more.
func (r *runner) passes(ctx context.Context) error {
	recorded, err := r.readPasses()
	if err != nil {
		return err
	}
	for _, pass := range recorded {
		over, err := r.pass(ctx, pass)
		if err != nil || over {
			return err
		}
	}
	for {
		if err := r.look(); err != nil {
			return err
		}
		r.state.Spent = r.spent()
		pass, reason := r.Plan.NextPass(r.state)
		if len(pass.Groups) == 0 {
			r.summary.Reason, r.summary.Complete = reason, true
			return nil
		}
		body, err := json.Marshal(pass)
		if err != nil {
			return err
		}
		if err := r.Store.AddPass(pass.Number, body); err != nil {
			return storeErr(err)
		}
		r.state.Begin(pass)
		if over, err := r.pass(ctx, pass); err != nil || over {
			return err
		}
	}
}

// readPasses reads the passes that earlier sessions began and returns all of
// them; pass skips the trials that are done.
func (r *runner) readPasses() (left []plan.Pass, err error) {
	r.state, r.count, r.generations = plan.NewState(), map[plan.Cell]int{}, map[string]int{}
	r.duets = map[string]int{}
	bodies, err := r.Store.Passes()
	if err != nil {
		return nil, err
	}
	for i, body := range bodies {
		pass := plan.Pass{Number: i}
		if err := json.Unmarshal(body, &pass); err != nil {
			return nil, fault.Campaignf("%s is damaged: pass %d: %w", r.Store.Path(), i, err)
		}
		r.state.Begin(pass)
		left = append(left, pass)
	}
	r.summary.Passes = len(left)
	if len(bodies) > 0 { // guests are created when a trial needs them
		for _, a := range r.Plan.Arms {
			r.state.Made[a.Of] = r.state.Pass - 1
		}
	}
	return left, r.readCosts()
}

// readCosts reads how long trials took in earlier sessions.
func (r *runner) readCosts() error {
	spents, err := r.Store.Spents()
	if err != nil {
		return err
	}
	for _, s := range spents {
		if s.Duet { // the arms of a duet are journaled together
			r.state.Duet[s.Workload], r.duets[s.Workload] = s.Mean, s.N
			continue
		}
		cell := plan.Cell{Workload: s.Workload, Arm: s.Arm}
		r.state.Trial[cell], r.count[cell] = s.Mean, s.N
		if a, ok := r.arms[s.Arm]; ok && r.Plan.Emulated[r.Plan.Arms[a].System] {
			r.state.Emulated += time.Duration(s.N) * s.Mean
		}
	}
	return nil
}

// pass makes the remaining trials of a pass; over reports that the budget is
// used up.
func (r *runner) pass(ctx context.Context, pass plan.Pass) (over bool, err error) {
	for _, of := range pass.Recreate {
		r.generations[of]++
	}
	var groups []plan.Group
	for _, g := range pass.Groups {
		if g = g.Remaining(r.isDone); len(g.Arms) > 0 {
			groups = append(groups, g)
		}
	}
	if len(groups) == 0 {
		return false, nil
	}
	begin := time.Now()
	before := plan.Group{}
	for i, g := range groups {
		g, before = g.After(before), g
		took := r.groupTime(g)
		if i == 0 {
			took += r.state.StartTime(pass)
		}
		// Every workload gets one block, whatever the budget.
		if (g.Block > 0 || g.Duet) && !r.Plan.Rule.Fits(r.spent(), took) {
			r.summary.Reason, r.summary.Complete = plan.ReasonBudget, true
			return true, nil
		}
		if i == 0 {
			if err := r.giveWay(ctx); err != nil {
				return false, err
			}
			if err := r.prepare(ctx, groups, func(g *guest) int { return r.generations[g.Of] }); err != nil {
				return false, err
			}
			defer r.watchLoad()()
		}
		passes := r.expected(pass.Number)
		if err := r.group(ctx, g,
			Event{Pass: pass.Number, Passes: passes, Left: r.left(passes, pass.Number, i, len(groups))}); err != nil {
			return false, err
		}
	}
	r.summary.Passes = pass.Number + 1
	r.Progress(Event{Kind: PassDone, Pass: pass.Number, Passes: r.expected(pass.Number + 1), Took: time.Since(begin)})
	return false, nil
}

// group makes the trials of one block of one workload.
func (r *runner) group(ctx context.Context, g plan.Group, at Event) error {
	if err := r.giveWay(ctx); err != nil {
		return err
	}
	if g.Duet {
		return r.duetWithRetries(ctx, g, at)
	}
	if g.Warmup != "" && r.Workloads[g.Workload].Fill == nil { // a fill warms up its probe itself
		if err := r.trialWithRetries(ctx, trial{TrialID: model.TrialID{Block: g.Block, Workload: g.Workload, Arm: g.Warmup},
			purpose: warmup, position: -1}); err != nil {
			return err
		}
	}
	for i, id := range g.Trials() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i > 0 {
			if err := r.giveWay(ctx); err != nil {
				return err
			}
		}
		at.Kind, at.Trial = TrialBegin, id
		r.Progress(at)
		t := trial{TrialID: id, position: i}
		if id.Arm == g.Repeat {
			t.purpose = beforeRepeat
		}
		if err := r.trialWithRetries(ctx, t); err != nil {
			return err
		}
		if r.awake {
			t.purpose = repeated
			if err := r.trialWithRetries(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// groupTime is how long a group is expected to take.
func (r *runner) groupTime(g plan.Group) (sum time.Duration) {
	if took, known := r.state.Duet[g.Workload]; known && g.Duet {
		return took
	}
	for _, name := range append([]string{g.Warmup, g.Repeat}, g.Arms...) {
		sum += r.state.Trial[plan.Cell{Workload: g.Workload, Arm: name}]
	}
	return sum
}

// took adds the duration of a trial, overhead included, to the averages that
// the planner uses.
func (r *runner) took(id model.TrialID, d time.Duration) {
	cell := plan.Cell{Workload: id.Workload, Arm: id.Arm}
	r.count[cell]++
	r.state.Trial[cell] += (d - r.state.Trial[cell]) / time.Duration(r.count[cell])
	if r.Plan.Emulated[r.Plan.Arms[r.arms[id.Arm]].System] {
		r.state.Emulated += d
	}
}

// look updates the widths of the intervals if the rule uses them: after each
// pass, and in long runs whenever the number of passes has grown by 5 %.
func (r *runner) look() error {
	rule := r.Plan.Rule
	if rule.Precision == 0 && rule.Budget == 0 || r.state.Pass < 2 || r.state.Pass-r.looked < max(1, r.state.Pass/20) {
		return nil
	}
	widths, err := r.Widths()
	if err != nil {
		return err
	}
	r.state.Width, r.looked = widths, r.state.Pass
	return nil
}

// expected estimates the total number of passes when done of them are made; 0:
// not known.
func (r *runner) expected(done int) int {
	if r.Plan.Rule.Precision > 0 {
		return 0
	}
	if mean := r.passTime(done); r.Plan.Rule.Budget > 0 && mean > 0 {
		return min(r.Plan.Rule.Max, done+max(1, int((r.Plan.Rule.Budget-r.spent())/mean)))
	}
	if r.Plan.Rule.Budget > 0 {
		return 0
	}
	return r.Plan.Rule.Max
}

// passTime is the mean duration of the passes so far.
func (r *runner) passTime(done int) time.Duration {
	if done == 0 {
		return 0
	}
	return r.spent() / time.Duration(done)
}

// left estimates the time until the end of the run; 0: not known.
func (r *runner) left(passes, pass, group, groups int) time.Duration {
	if budget := r.Plan.Rule.Budget; budget > 0 {
		return max(budget-r.spent(), 0)
	}
	mean := r.passTime(pass)
	if mean == 0 || passes == 0 {
		return 0
	}
	return time.Duration((float64(passes-pass) - float64(group)/float64(groups)) * float64(mean))
}
