package main

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/store"
)

// spentTime is how the time of the trials of one workload was spent.
type spentTime struct {
	trials       int
	whole, timed time.Duration
}

// sharesPart prints which share of a trial is timed, overhead included: what surrounds the work costs precision.
func sharesPart(set *flag.FlagSet) func(*session) error {
	file := set.String("run", "", "run `file`")
	return func(s *session) error {
		if *file == "" {
			return errors.New("shares needs a run file: -run FILE")
		}
		r, err := store.Open(s.ctx, *file)
		if err != nil {
			return err
		}
		defer r.Close()
		var names []string
		of := map[string]*spentTime{}
		var before *store.Trial
		for t, err := range r.Trials() {
			if err != nil {
				return err
			}
			// A trial takes until the next one of its group begins. The last of a group is followed by other work,
			// and the trials of duets overlap.
			if before != nil && before.Status != store.Duet && t.Status != store.Duet &&
				before.Workload == t.Workload && before.Block == t.Block &&
				before.Generation == t.Generation && !strings.Contains(before.Arm+t.Arm, "@") {
				if of[t.Workload] == nil {
					names, of[t.Workload] = append(names, t.Workload), &spentTime{}
				}
				of[t.Workload].add(before, t.Began)
			}
			before = t
		}
		fmt.Fprintln(s.out, "| workload | trials | ms each | timed |\n|---|---|---|---|")
		for _, name := range names {
			fmt.Fprintln(s.out, of[name].row(name))
		}
		return nil
	}
}

// add counts a trial after which the next one began at that time.
func (h *spentTime) add(t *store.Trial, next time.Time) {
	h.trials++
	h.whole += next.Sub(t.Began)
	for _, step := range t.Steps {
		if step.Timed {
			h.timed += time.Duration(step.HostEndNS - step.HostStartNS)
		}
	}
}

func (h *spentTime) row(name string) string {
	return fmt.Sprintf("| %s | %d | %.0f | %.0f %% |", name, h.trials,
		h.whole.Seconds()*1000/float64(h.trials), 100*h.timed.Seconds()/h.whole.Seconds())
}
