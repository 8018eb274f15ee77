package report

import (
	"cmp"

	"github.com/tare-bench/tare/internal/analyze"
)

// packets writes what became of a workload's packets; the legend is below all tables.
func (t *table) packets(workload string) {
	for _, g := range packets(t.res, workload).Grids {
		t.table(g.Rows)
		t.counted = true
	}
}

// packets are what became of a workload's packets, if it counts them, without those of controls.
func packets(res *analyze.Result, workload string) Section {
	return sectionOf("Packets", packetLegend+".", rowsFor([]string{"packets", "sent", "arrived", "lost", "interval",
		"at socket", "guests' CPU", "host CPU"}, res.Packets, func(p analyze.Packets) []string {
		if p.Workload != workload || p.Control {
			return nil
		}
		return packetCells(p)
	}))
}

// packetLegend explains the headings.
const packetLegend = "lost: share of those sent, with its 95 % interval; " +
	"at socket: of those sent, the share that arrived and found the receiving program's socket full; " +
	"guests' CPU: CPU time of the control groups of both ends for each packet that arrived; " +
	"host CPU: the same for the whole host, with its kernel's work and everything else that ran"

// packetCells are the figures of an arm's packets, as in the table.
func packetCells(p analyze.Packets) []string {
	rate := func(v float64) string { return InUnit("1/s", v, 4) }
	percent := func(v float64) string { return Digits(100*v, 3) + " %" }
	cpu := func(v float64) string { return cmp.Or(ofUnit("s", v), "not known") }
	socket := "not known"
	if p.Socket != nil {
		socket = percent(*p.Socket)
	}
	return []string{Clean(p.Arm), rate(p.Sent), rate(p.Received), percent(p.Loss),
		when(p.LossHigh > 0, span(100*p.LossLow, 100*p.LossHigh)+" %"), socket,
		cpu(p.GroupsCPU), cpu(p.HostCPU)}
}
