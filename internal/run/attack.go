package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/workload"
)

const (
	// attackTimeout bounds the command of an attack, which itself ends after some seconds, on a slow host.
	attackTimeout = 30 * time.Second
	// attackAlone is for how long the guest beside an attack does its work before it, and attackLook the time between
	// two looks at the processes of the attacking guest.
	attackAlone, attackLook = 300 * time.Millisecond, 20 * time.Millisecond
	// attackShare is the share of a budget after which no attack begins.
	attackShare = 10
)

// attacks makes the attacks that the campaign asks for and that the run has not made
// yet: in every arm, one guest attacks its limits while another one works. It comes
// before all trials, when there are no other guests.
func (r *runner) attacks(ctx context.Context) error {
	if len(r.Campaign.Attacks) == 0 {
		return nil
	}
	made, err := r.Store.Attacks()
	if err != nil {
		return storeErr(err)
	}
	began, seen := time.Now(), map[string]bool{}
	late := func() bool { return r.Campaign.Budget > 0 && time.Since(began) > r.Campaign.Budget/attackShare }
	for _, arm := range r.Plan.Arms {
		caps := r.Drivers[arm.System].Capabilities()
		if seen[arm.Of] || arm.Control != "" || arm.Target != "" || caps.Emulated || caps.Remote {
			continue
		}
		seen[arm.Of] = true
		left := slices.DeleteFunc(slices.Clone(r.Campaign.Attacks), func(on string) bool {
			return slices.ContainsFunc(made, func(a model.Attack) bool { return a.Arm == arm.Of && a.On == on })
		})
		if len(left) > 0 {
			if err := r.attacksIn(ctx, arm, left, late); err != nil {
				return err
			}
		}
	}
	return nil
}

// attacksIn makes attacks in one arm until it is late. A guest that does not start is
// noted, and its arm has no attacks.
func (r *runner) attacksIn(ctx context.Context, arm campaign.PlannedArm, on []string, late func() bool) (err error) {
	if late() {
		r.note("missing", fmt.Sprintf("the budget leaves no time to attack the limits of %s", arm.Of))
		return nil
	}
	r.Progress(Event{Kind: Phase, Text: "attacking the limits of " + arm.Of})
	var attacker, beside *system.Machine
	end := func(m **system.Machine) (err error) {
		if *m != nil {
			err, *m = (*m).Close(), nil
		}
		return err
	}
	defer func() { err = errors.Join(err, end(&attacker), end(&beside)) }()
	if beside, err = r.attackGuest(ctx, arm, "beside", false); beside == nil {
		return err
	}
	alone, err := worksAlone(ctx, beside)
	if err != nil {
		return err
	}
	for i, what := range on {
		if slices.Contains(on[:i], what) {
			continue
		}
		if late() {
			r.note("missing", fmt.Sprintf("the budget leaves no time to attack the limit of %s of %s", what, arm.Of))
			continue
		}
		if attacker == nil {
			if attacker, err = r.attackGuest(ctx, arm, what, true); attacker == nil {
				return err
			}
		}
		a, err := attackOn(ctx, arm, what, attacker, beside)
		if err != nil {
			return err
		}
		a.Alone = alone
		text, err := json.Marshal(a)
		if err != nil {
			return err
		}
		if err := r.Store.AddEvent(r.session, 0, store.EventAttack, string(text)); err != nil {
			return storeErr(err)
		}
		if a.Died {
			if err := end(&attacker); err != nil {
				return err
			}
		}
		if a.Lost != "" {
			if err := end(&beside); err != nil {
				return err
			}
			if beside, err = r.attackGuest(ctx, arm, "beside-"+what, false); beside == nil {
				return err
			}
		}
	}
	return nil
}

// attackGuest creates a guest of an arm that takes part in no trial. apart: it has other
// CPUs than the arm's guests. If the guest does not start by its own fault, there is
// neither a machine nor an error.
func (r *runner) attackGuest(ctx context.Context, arm campaign.PlannedArm, name string,
	apart bool) (*system.Machine, error) {
	like := arm.Guests[0]
	like.Apart = apart
	driver, ask, err := r.request(&guest{PlannedGuest: like, arm: arm})
	if err != nil {
		return nil, err
	}
	m, err := system.Launch(ctx, driver, r.Host, fmt.Sprintf("attack-%d-%s", r.arms[arm.Name], name), ask)
	if err != nil && fault.KindOf(err) == fault.Guest && ctx.Err() == nil {
		r.note("no-start", err.Error())
		return nil, nil
	}
	return m, err
}

// attackOn makes one attack. Its error is the host's or tare's.
func attackOn(ctx context.Context, arm campaign.PlannedArm, on string,
	attacker, beside *system.Machine) (model.Attack, error) {
	a := model.Attack{Arm: arm.Of, System: arm.System, On: on}
	switch on {
	case model.AttackMemory:
		a.Limit = float64(arm.Flavor.MemoryBytes)
	case model.AttackProcesses:
		a.Limit = system.MaxProcesses
	case model.AttackDisk:
		a.Limit = float64(arm.Flavor.DiskBytes)
	}
	attacks, stop := context.WithCancel(ctx)
	defer stop()
	var both sync.WaitGroup
	var most int
	both.Go(func() { most = mostProcesses(attacks, attacker) })
	var did []time.Duration
	var besideErr error
	both.Go(func() { did, a.Lost, besideErr = besides(ctx, attacks, beside) })
	res, err := attacker.Agent.Run(ctx, agent.Command{
		Argv: workload.Attack(on, int64(a.Limit)), Env: system.AgentEnv, Dir: attacker.DataDir(),
		Timeout: attackTimeout, OutputLimit: leastOutput,
	})
	stop()
	both.Wait()
	if err != nil && fault.KindOf(err) != fault.Guest {
		return a, err
	}
	if besideErr != nil {
		return a, besideErr
	}
	if len(did) > 0 {
		a.Beside = median(did)
	}
	return a, judgeAttack(ctx, &a, attacker, res, err, most)
}

// judgeAttack fills in what became of an attack: res and failed are those of its command,
// and most is how many processes the guest had on the host.
func judgeAttack(ctx context.Context, a *model.Attack, m *system.Machine, res *agent.Result, failed error,
	most int) error {
	got := 0.0
	switch {
	case failed != nil:
		a.Said = failed.Error()
	case res.Signal != 0:
		a.Stopped, a.Said = !res.TimedOut, "killed by a signal"
	default:
		a.Said = lastBytes(append(res.Stdout, res.Stderr...))
		var err error
		if got, a.Stopped, err = workload.AttackGot(a.Said); err != nil {
			got, a.Stopped = 0, false
		}
	}
	quick, cancel := context.WithTimeout(ctx, attackTimeout)
	defer cancel()
	alive, err := m.Agent.Run(quick, agent.Command{Argv: []string{"true"}, Env: system.AgentEnv, Timeout: attackTimeout,
		OutputLimit: leastOutput})
	if err != nil && fault.KindOf(err) != fault.Guest {
		return err
	}
	a.Died = err != nil || alive.ExitCode != 0 || alive.Signal != 0
	switch {
	case a.On == model.AttackDisk:
		a.Took = got
	case m.Site.Group == nil: // nobody on this host counts
	case a.On == model.AttackProcesses:
		a.Took = float64(most)
	default:
		peak, err := m.Site.Group.PeakMemory()
		if err != nil && !errors.Is(err, cgroup.ErrUnknown) {
			return err
		}
		a.Took = float64(peak)
	}
	return nil
}

// worksAlone returns how long the work of workload.Beside takes in a guest before an attack, in s; 0: it fails.
func worksAlone(ctx context.Context, m *system.Machine) (float64, error) {
	until, cancel := context.WithTimeout(ctx, attackAlone)
	defer cancel()
	took, lost, err := besides(ctx, until, m)
	if err != nil || lost != "" {
		return 0, err
	}
	return median(took), nil
}

// besides has a guest do the work of workload.Beside once, and again until the second
// context ends. It returns how long each took, and why the guest did not finish; "": it did.
func besides(ctx, until context.Context, m *system.Machine) (took []time.Duration, lost string, err error) {
	for {
		res, err := m.Agent.Run(ctx, agent.Command{
			Argv: workload.Beside(), Env: system.AgentEnv, Dir: m.DataDir(), Timeout: attackTimeout,
			OutputLimit: leastOutput,
		})
		switch {
		case err != nil && (fault.KindOf(err) != fault.Guest || ctx.Err() != nil):
			return nil, "", err
		case err != nil:
			return took, err.Error(), nil
		case res.TimedOut:
			return took, fmt.Sprintf("its work took more than %v", attackTimeout), nil
		case res.ExitCode != 0 || res.Signal != 0:
			return took, fmt.Sprintf("its work failed: %s", lastBytes(append(res.Stdout, res.Stderr...))), nil
		}
		took = append(took, res.HostWall())
		if until.Err() != nil {
			return took, "", nil
		}
	}
}

// mostProcesses looks at the processes of a guest until ctx ends, and returns the most that it had on the host.
func mostProcesses(ctx context.Context, m *system.Machine) (most int) {
	for m.Site.Group != nil && ctx.Err() == nil {
		pids, _ := m.Site.Group.Processes() // a group that cannot be read just now is read again
		most = max(most, len(pids))
		select {
		case <-ctx.Done():
		case <-time.After(attackLook):
		}
	}
	return most
}

// median returns the median in seconds.
func median(of []time.Duration) float64 {
	of = slices.Clone(of)
	slices.Sort(of)
	return of[len(of)/2].Seconds()
}
