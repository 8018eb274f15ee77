package run

import (
	"context"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
)

// snmpFile is where Linux counts what a network namespace sends and receives.
const snmpFile = "/proc/net/snmp"

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
	res, err := machine.Agent.Run(ctx, agent.Command{Argv: []string{"cat", snmpFile}, Env: system.AgentEnv,
		Dir: machine.DataDir(), Timeout: quickTimeout, OutputLimit: 64 << 10})
	if err != nil || res.ExitCode != 0 {
		return 0, false
	}
	return retransmitted(string(res.Stdout))
}

// retransmitted finds the number of segments that were sent again in the text of snmpFile: a line of names, then one of
// their values.
func retransmitted(text string) (segments int64, ok bool) {
	var names []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "Tcp:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, name := range names {
			if name == "RetransSegs" && i < len(fields) {
				n, err := strconv.ParseInt(fields[i], 10, 64)
				return n, err == nil && n >= 0
			}
		}
	}
	return 0, false
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
