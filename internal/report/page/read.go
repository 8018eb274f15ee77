package page

import (
	"cmp"
	"slices"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/view"
)

// key names one arm on one workload.
type key struct{ workload, arm string }

// strip is every trial of one arm on one workload, in the order of the run.
type strip struct {
	key
	points []view.Trial // values of the primary metric
	lost   []view.Trial // trials without a value: failed, void, interrupted
}

// data is what the page needs of the trials.
type data struct {
	arms     []store.Arm
	metrics  []store.Metric
	guests   []store.Guest
	sessions []store.Session
	events   []store.Event
	sizes    map[string]store.Size

	strips    map[key]*strip
	count     map[store.Status]int
	trials    int            // those that measure something
	attempts  int            // those, and the trials of neighbours
	first     []*store.Trial // the first completed one of each arm and workload
	failed    []*store.Trial // the first maxFailed that were not completed
	notShown  int            // the rest of those
	others    []*store.Trial // the first maxPackedCount of neither
	workloads []string       // in the order of the metrics
}

// maxFailed is how many trials that were not completed the page shows one by one.
const maxFailed = 40

// read reads the trials once, and keeps a few bytes of most of them.
func read(r *store.Run) (*data, error) {
	d := &data{strips: map[key]*strip{}, count: map[store.Status]int{}, sizes: map[string]store.Size{}}
	var errs [6]error
	var sizes []store.Size
	d.arms, errs[0] = r.Arms()
	d.metrics, errs[1] = r.Metrics()
	d.guests, errs[2] = r.Guests()
	d.sessions, errs[3] = r.Sessions()
	d.events, errs[4] = r.Events()
	sizes, errs[5] = r.Sizes()
	if err := cmp.Or(errs[:]...); err != nil {
		return nil, err
	}
	for _, s := range sizes {
		d.sizes[s.Workload] = s
	}
	primary := map[string]string{}
	for _, m := range d.metrics {
		if m.Primary {
			primary[m.Workload] = m.Name
		}
		if !slices.Contains(d.workloads, m.Workload) {
			d.workloads = append(d.workloads, m.Workload)
		}
	}
	for t, err := range r.Trials() {
		if err != nil {
			return nil, err
		}
		d.add(t, primary[t.Workload])
	}
	return d, nil
}

func (d *data) add(t *store.Trial, metric string) {
	d.attempts++
	if shown := d.show(t, metric); !shown && len(d.others) < maxPackedCount {
		d.others = append(d.others, t)
	}
}

// show notes what the page shows of a trial, and reports whether it is among first or failed.
func (d *data) show(t *store.Trial, metric string) bool {
	if t.Role != model.Working { // a neighbour only disturbs; it has no value
		return t.Status == store.Failed && d.fail(t)
	}
	k := key{t.Workload, t.Arm}
	s := d.strips[k]
	if s == nil {
		s = &strip{key: k}
		d.strips[k] = s
	}
	p := view.Trial{At: int32(d.trials), Block: int32(t.Block), Number: t.Attempt}
	d.trials++
	d.count[t.Status]++
	v, ok := t.Metrics[metric]
	switch {
	case t.Status == store.Done && ok:
		p.Value = v
		s.points = append(s.points, p)
		if len(s.points) == 1 {
			d.first = append(d.first, t)
			return true
		}
	case slices.Contains(lacking, t.Status):
		s.lost = append(s.lost, p)
		return d.fail(t)
	}
	return false
}

// lacking are the states of trials that should have a value. Warm-up trials, and
// those repeated to see what a thaw costs, are not results.
var lacking = []store.Status{store.Done, store.Failed, store.Void, store.Interrupted}

func (d *data) fail(t *store.Trial) (shown bool) {
	if len(d.failed) == maxFailed {
		d.notShown++
		return false
	}
	d.failed = append(d.failed, t)
	return true
}
