package run

import (
	"context"

	"github.com/tare-bench/tare/internal/agent/wire"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
)

// kernelCounts are the counts of a guest's kernel whose change during the timed steps is a probe.
var kernelCounts = []struct {
	count, probe string
}{
	{wire.SwappedIn, model.ProbeGuestSwapIn}, {wire.SwappedOut, model.ProbeGuestSwapOut},
}

// counts reads the counters of a guest's kernel; nil: it runs on the host's, whose counters tell nothing of it.
func counts(ctx context.Context, m *system.Machine) (map[string]int64, error) {
	if m.Driver.Capabilities().SameKernel {
		return nil, nil
	}
	return m.Agent.Counters(ctx)
}

// count adds to the readings what the guest's kernel has counted since the timed steps began, unless one of them
// failed.
func (m *member) count(ctx context.Context) error {
	if m.x.over {
		return nil
	}
	now, err := counts(ctx, m.watched())
	addCounts(m.x.readings.Values, m.x.counted, now)
	return err
}

// addCounts adds what a guest's kernel counted between two readings. A count that went backwards, as that of a guest
// which was restored may, tells nothing.
func addCounts(values map[string]float64, before, after map[string]int64) {
	for _, c := range kernelCounts {
		was, known := before[c.count]
		if is, still := after[c.count]; known && still && is >= was {
			values[c.probe] = float64(is - was)
		}
	}
}
