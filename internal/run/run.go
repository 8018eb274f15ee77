// Package run executes a plan: it creates the guests, thaws those of one arm
// at a time, runs a trial in them and freezes them again. It writes each trial
// to the journal before and after. It does not know how a guest is created or
// what the numbers mean.
package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/probe"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/workload"
)

// Config is what a run needs. Run closes none of it.
type Config struct {
	Campaign  *campaign.Campaign
	Plan      *plan.Plan
	Store     *store.Run
	Host      *system.Host
	Drivers   map[string]system.Driver      // by system
	Workloads map[string]*workload.Workload // by series, which is the name of the workload
	BootID    string
	Boot      string // how the host was booted: model.BootLinux or model.BootXen
	Version   string
	// Changed is what has changed since the run began and may affect its results.
	Changed []string
	// Widths returns the width of the intervals of each workload, computed from
	// the store. Run calls it only if the campaign sets a precision or a budget.
	Widths func() (map[string]plan.Width, error)
	// Progress receives the events of the run; nil: they are dropped.
	Progress func(Event)
}

// Event reports the progress of a run. Fields that do not belong to its kind
// are zero.
type Event struct {
	Kind   EventKind
	Text   string
	Trial  model.TrialID
	Pass   int           // number of the pass through the workloads, from 0
	Passes int           // expected number of passes; 0: unknown
	Values Values        // results of a trial that is done
	Took   time.Duration // duration of a trial with its overhead, or of a pass
	Left   time.Duration // estimated time until the end of the run; 0: unknown
}

// Values are a trial's metrics by name.
type Values map[string]float64

// EventKind is the kind of an Event.
type EventKind int

const (
	Phase      EventKind = iota // Text: what is being prepared
	Notice                      // Text: something that the user must know
	TrialBegin                  // Trial
	TrialDone                   // Trial, Values
	TrialLost                   // Trial, Text: why the trial has no result
	PassDone                    // Pass, Took
)

// Summary describes how a run ended.
type Summary struct {
	Passes   int // passes through the workloads; with boots, blocks
	Reason   plan.Reason
	Failed   int // trials of this session that guests failed
	Complete bool
}

// hostRetries is how often the run repeats a trial that the host failed before
// it gives up.
const hostRetries = 2

type runner struct {
	Config
	session     int64
	watch       *probe.Watch
	arms        map[string]int // plan arm → id
	metrics     map[string]map[string]int
	probes      map[string]map[string]int
	sizes       map[string]int64
	guests      map[model.GuestID]*guest
	inOrder     []*guest // the same guests, in the order of their creation
	probing     sync.Mutex
	finished    map[model.TrialID]bool
	state       plan.State
	count       map[plan.Cell]int // number of trials that state.Trial averages
	duets       map[string]int    // number of duets that state.Duet averages, by workload
	looked      int               // number of passes at the last call of Widths
	generations map[string]int    // by arm without scenario: how often its guests were re-created
	awake       bool              // the guest of the last trial stays thawed, for the repetition
	summary     Summary
	starts      int                    // guests that trials have created
	warm        map[string]bool        // arms that have started a guest since the page cache was dropped
	kept        map[string]system.Keep // daemons that trials start guests with, by arm without scenario

	elapsed time.Duration // of earlier sessions
	began   time.Time

	loads           map[string]float64 // journaled loads beside the guests: process to CPUs
	killedElsewhere bool               // the kernel's last message about a memory limit was not about a guest
}

// Run continues the plan from the state in the store. It ends when the plan's
// rule is met, ctx ends, the host fails, or the remaining trials need another
// boot of the host (the error is then *OtherBoot). When it returns, no guest is
// left. After any error, the run can be resumed without loss.
func Run(ctx context.Context, c Config) (Summary, error) {
	r := &runner{Config: c, began: time.Now(), warm: map[string]bool{}, kept: map[string]system.Keep{}}
	if r.Progress == nil {
		r.Progress = func(Event) {}
	}
	r.guests, r.inOrder = guestsOf(c.Plan)
	if err := r.open(); err != nil {
		return r.summary, err
	}
	r.watch = probe.Start()
	defer r.watch.Close()
	for _, m := range r.watch.Missing {
		r.note("missing", m)
	}
	r.measureRest(ctx)
	walk := r.passes
	if len(r.Plan.Boots) > 0 {
		walk = r.rounds
	}
	endKSM := r.watchKSM()
	err := r.attacks(ctx)
	if err == nil {
		err = walk(ctx)
	}
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

// open reads the results of earlier sessions and begins a new one.
func (r *runner) open() error {
	var err error
	if r.elapsed, err = r.Store.Elapsed(); err != nil {
		return err
	}
	if r.session, err = r.Store.BeginSession(r.BootID, r.Version); err != nil {
		return err
	}
	for _, change := range r.Changed {
		if err := r.Store.AddEvent(r.session, 0, store.EventChanged, change); err != nil {
			return err
		}
	}
	finished, err := r.Store.Finished()
	if err != nil {
		return err
	}
	r.finished = map[model.TrialID]bool{}
	for id := range finished {
		r.finished[id] = true
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

func (r *runner) isDone(id model.TrialID) bool { return r.finished[id] }

// spent is the duration of the run over all its sessions.
func (r *runner) spent() time.Duration { return r.elapsed + time.Since(r.began) }

// trialWithRetries makes a trial, and repeats it if the host failed.
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
		r.note("retry", fmt.Sprintf("block %d: %s on %s is repeated: %v", t.Block+1, t.Workload, t.Arm, err))
		if errors.Is(err, errLate) {
			continue
		}
		for _, m := range r.Plan.Arms[r.arms[t.Arm]].Guests {
			if err := r.guests[m.GuestID].drop(); err != nil {
				return err
			}
		}
		if err := r.endDaemon(r.Plan.Arms[r.arms[t.Arm]].Of); err != nil {
			return err
		}
	}
}

// errStore marks errors of the run file, which repeating the trial cannot fix.
var errStore = errors.New("the run file")

func storeErr(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w %w", errStore, err)
}

// restTime is how long the power of the host is measured before there are guests.
const restTime = time.Second

// measureRest journals what power the host takes before there are guests, if it has energy counters.
func (r *runner) measureRest(ctx context.Context) {
	text, err := r.watch.AtRest(ctx, restTime)
	switch {
	case err != nil && ctx.Err() == nil:
		r.note("missing", fmt.Sprintf("the power of the host at rest is not known: %v", err))
	case text != "":
		r.note(store.EventPower, text)
	}
}

// note records an event in the run file and reports it as a Notice.
func (r *runner) note(kind, text string) {
	r.Progress(Event{Kind: Notice, Text: text})
	// If the file cannot be written, the next trial reports the error.
	_ = r.Store.AddEvent(r.session, 0, kind, text)
}
