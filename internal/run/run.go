// Package run walks a plan: it makes the guests, thaws one at a time, runs a
// trial in it, freezes it again, and journals each trial before and after. It
// does not know how a guest is made, nor what the numbers mean.
package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/probe"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/workload"
)

// Config is what a run needs. Nothing of it is closed by the runner.
type Config struct {
	Campaign  *campaign.Campaign
	Plan      *plan.Plan
	Store     *store.Run
	Host      *system.Host
	Drivers   map[string]system.Driver      // by system
	Workloads map[string]*workload.Workload // by series, which is their name
	BootID    string
	Boot      string // how the host is booted: campaign.BootLinux or BootXen
	Version   string
	// Widths returns by workload how wide intervals are, from what the store
	// holds. Called only when a precision or a budget is asked for.
	Widths func() (map[string]plan.Width, error)
	// Progress is told what goes on; nil: nobody is.
	Progress func(Event)
}

// Event is something that a watcher of the run wants to know. Fields that do
// not belong to its kind are zero.
type Event struct {
	Kind   EventKind
	Text   string
	Trial  plan.ID
	Pass   int           // through the workloads, from 0
	Passes int           // as many as are expected by now, 0: unknown
	Values Values        // of a trial that is done
	Took   time.Duration // a trial with all that belongs to it, or a pass
	Left   time.Duration // until the run's end, as far as that is known
}

// Values are a trial's metrics by name.
type Values map[string]float64

// EventKind says what happened.
type EventKind int

const (
	Phase      EventKind = iota // Text: what is being prepared
	Notice                      // Text: something that the reader must know
	TrialBegin                  // Trial
	TrialDone                   // Trial, Values
	TrialLost                   // Trial, Text: why it has no result
	PassDone                    // Pass, Took
)

// Summary is how a run ended.
type Summary struct {
	Passes   int // through the workloads; with boots, blocks
	Reason   plan.Reason
	Failed   int // trials without a result, by guests' fault, in this session
	Complete bool
}

// hostRetries is how often a trial that failed by the host's fault is made
// again before the run gives up.
const hostRetries = 2

type runner struct {
	Config
	session  int64
	watch    *probe.Watch
	arms     map[string]int // plan arm → id
	metrics  map[string]map[string]int
	probes   map[string]map[string]int
	sizes    map[string]int64
	stations map[plan.Seat]*station
	inOrder  []*station // the same, in the order to make them
	probing  sync.Mutex
	finished map[plan.ID]bool
	state    plan.State
	count    map[plan.Cell]int // trials behind state.Trial
	looked   int               // passes when the widths were asked for last
	epochs   map[string]int    // incarnation of the guests of each arm, without its scenario
	awake    bool              // the guest of the last trial was not frozen, as it is to be repeated
	summary  Summary

	elapsed time.Duration // of earlier sessions
	began   time.Time

	loads map[string]float64 // CPUs by who used them beside the guests, as far as journaled
}

// Run runs the plan from where the store says that it is until its rule is
// met, ctx ends, the host fails, or what is left needs another boot of the host
// (the error is then *OtherBoot). When it returns, no guest is left. An error
// loses nothing: the run can be resumed.
func Run(ctx context.Context, c Config) (Summary, error) {
	r := &runner{Config: c, began: time.Now()}
	if r.Progress == nil {
		r.Progress = func(Event) {}
	}
	r.stations, r.inOrder = stationsOf(c.Plan)
	if err := r.open(); err != nil {
		return r.summary, err
	}
	r.watch = probe.Start()
	defer r.watch.Close()
	for _, m := range r.watch.Missing {
		r.note("missing", m)
	}
	walk := r.passes
	if len(r.Plan.Boots) > 0 {
		walk = r.rounds
	}
	endKSM := r.watchKSM()
	err := walk(ctx)
	if other := (*OtherBoot)(nil); err == nil || errors.As(err, &other) {
		if e := r.weighLast(ctx, r.inOrder); e != nil {
			err = e
		}
	}
	endKSM()
	if e := r.closeGuests(); e != nil && err == nil {
		err = e
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	reason := string(r.summary.Reason)
	switch {
	case errors.Is(err, context.Canceled):
		reason = "it was interrupted"
	case err != nil:
		reason = err.Error()
	}
	if e := r.Store.EndSession(r.session, reason); e != nil && err == nil {
		err = e
	}
	return r.summary, err
}

// open reads what earlier sessions have done.
func (r *runner) open() error {
	var err error
	if r.elapsed, err = r.Store.Elapsed(); err != nil {
		return err
	}
	if r.session, err = r.Store.BeginSession(r.BootID, r.Version); err != nil {
		return err
	}
	finished, err := r.Store.Finished()
	if err != nil {
		return err
	}
	r.finished = map[plan.ID]bool{}
	for id := range finished {
		r.finished[plan.ID(id)] = true
	}
	sizes, err := r.Store.Sizes()
	if err != nil {
		return err
	}
	r.sizes = map[string]int64{}
	for _, s := range sizes {
		r.sizes[s.Workload] = s.Size
	}
	arms, err := r.Store.Arms()
	if err != nil {
		return err
	}
	r.arms = map[string]int{}
	for i, a := range arms {
		r.arms[a.Name] = i
	}
	metrics, err := r.Store.Metrics()
	if err != nil {
		return err
	}
	r.metrics, r.probes = map[string]map[string]int{}, map[string]map[string]int{}
	for i, m := range metrics {
		into := r.metrics
		if m.Probe {
			into = r.probes
		}
		if into[m.Workload] == nil {
			into[m.Workload] = map[string]int{}
		}
		into[m.Workload][m.Name] = i
	}
	return nil
}

func (r *runner) isDone(id plan.ID) bool { return r.finished[id] }

// spent is the time that the run has taken over all sessions.
func (r *runner) spent() time.Duration { return r.elapsed + time.Since(r.began) }

// trialWithRetries makes a trial again that failed by the host's fault.
func (r *runner) trialWithRetries(ctx context.Context, t trial) error {
	for try := 0; ; try++ {
		t.try = try
		err := r.trial(ctx, t)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if fault.KindOf(err) != fault.Host || try == hostRetries || errors.Is(err, errStore) {
			return err
		}
		r.note("retry", fmt.Sprintf("block %d, %s on %s is made again: %v", t.Block+1, t.Workload, t.Arm, err))
		if errors.Is(err, errLate) {
			continue
		}
		for _, m := range r.Plan.Arms[r.arms[t.Arm]].Crew {
			if err := r.stations[m.Seat].drop(); err != nil {
				return err
			}
		}
	}
}

// errStore marks errors of the run file: making the trial again does not mend them.
var errStore = errors.New("the run file")

func storeErr(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w %w", errStore, err)
}

// note records something in the run and tells the watcher.
func (r *runner) note(kind, text string) {
	r.Progress(Event{Kind: Notice, Text: text})
	// Where the file cannot be written, the next trial will say so.
	_ = r.Store.AddEvent(r.session, 0, kind, text)
}
