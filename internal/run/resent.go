package run

import (
	"context"

	"github.com/tare-bench/tare/internal/agent/wire"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
)

// resent is how many segments of TCP both ends of a member's pair have sent again so far; false if one of them does not
// say. They are asked between the timed steps and those around them.
func (m *member) resent(ctx context.Context) (segments int64, known bool) {
	for _, end := range []*guest{m.guest, m.server.guest} {
		n, ok := resentBy(ctx, end.machine)
		if !ok {
			return 0, false
		}
		segments += n
	}
	return segments, true
}

// resentBy reads the counter of one guest. A guest that cannot answer is found out by its next step.
func resentBy(ctx context.Context, machine *system.Machine) (segments int64, ok bool) {
	if machine == nil {
		return 0, false
	}
	counted, err := machine.Agent.Counters(ctx)
	segments, ok = counted[wire.Retransmitted]
	return segments, err == nil && ok
}

// countResent notes how many segments the ends of a pair have sent again since before.
func (m *member) countResent(ctx context.Context) {
	if !m.x.counts || m.x.readings.Values == nil {
		return
	}
	if now, known := m.resent(ctx); known && now >= m.x.resent {
		m.x.readings.Values[model.ProbeRetransmits] = float64(now - m.x.resent)
	}
}
