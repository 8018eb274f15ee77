package run

import (
	"errors"
	"fmt"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/store"
)

// weigh records what a guest that was just made, and did nothing yet, holds of
// the host's memory. available is what the host had before. That it cannot be
// measured costs no trial.
func (r *runner) weigh(st *station, available int64) error {
	values := map[string]int64{}
	left, err := host.AvailableMemory()
	if err == nil && available > 0 {
		values[store.MemoryHost] = available - left
	}
	m, e := st.machine.Memory()
	switch {
	case e == nil:
		values[store.MemoryPSS], values[store.MemoryCharged] = m.PSS, m.Charged
	case errors.Is(e, cgroup.ErrUnknown): // the arm says so itself: it is somebody else's machine
		delete(values, store.MemoryHost)
	default:
		err = errors.Join(err, e)
	}
	if err != nil {
		r.note("missing", fmt.Sprintf("how much memory %s takes: %v", st.name(), err))
	}
	for name, v := range values {
		if err := r.Store.AddGuestValue(st.id, name, "B", float64(v)); err != nil {
			return storeErr(err)
		}
	}
	return nil
}

// weighAtWork reads, once for each workload, what a guest that works alone
// holds of the host's memory, half a trial's time after the instant at which
// it begins. Once, since reading it takes the host some milliseconds. The
// caller stops it when the trial is over.
func (r *runner) weighAtWork(workers []*member, instant int64) (stop func()) {
	if len(workers) != 1 || !workers[0].weigh {
		return func() {}
	}
	m := workers[0]
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-over:
		case <-time.After(time.Duration(instant-agent.Monotonic()) + r.Campaign.TrialTime/2):
			// Where it fails, the guest has ended, or a later trial will tell.
			if held, err := m.st.machine.Memory(); err == nil {
				m.x.memory = held.PSS
			}
		}
	}()
	return func() {
		close(over)
		<-done
	}
}
