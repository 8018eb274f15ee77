package report

import (
	"github.com/tare-bench/tare/internal/analyze"
)

// packets writes what became of a workload's packets, if it counts them.
func (t *table) packets(workload string) {
	rows := [][]string{PacketHeadings()}
	for _, p := range PacketsOf(t.res, workload) {
		rows = append(rows, PacketCells(p))
	}
	if len(rows) > 1 {
		t.line("")
		t.grid(rows)
		t.counted = true
	}
}

// PacketsOf are the packets of a workload, without those of controls.
func PacketsOf(res *analyze.Result, workload string) (of []analyze.Packets) {
	for _, p := range res.Packets {
		if p.Workload == workload && !p.Control {
			of = append(of, p)
		}
	}
	return of
}

// PacketHeadings are those of PacketCells.
func PacketHeadings() []string {
	return []string{"packets", "sent", "arrived", "lost", "interval", "at socket", "guests' CPU", "host CPU"}
}

// PacketLegend explains the headings.
const PacketLegend = "lost: share of those sent, with its 95 % interval; " +
	"at socket: of those sent, the share that arrived and found the receiving program's socket full; " +
	"guests' CPU: CPU time of the control groups of both ends for each packet that arrived; " +
	"host CPU: the same of the whole host, with its kernel's work and all else that ran"

// PacketCells are the figures of an arm's packets, as in the table.
func PacketCells(p analyze.Packets) []string {
	rate := func(v float64) string { return scaleFor("1/s", v).with(v) }
	percent := func(v float64) string { return digits(100*v, 3) + " %" }
	cpu := func(v float64) string {
		if v == 0 {
			return "not known"
		}
		sc := scaleFor("s", v)
		return digits(v*sc.factor, 3) + " " + sc.unit
	}
	interval, socket := "", "not known"
	if p.LossHigh > 0 {
		interval = digits(100*p.LossLow, 3) + " … " + percent(p.LossHigh)
	}
	if p.Socket != nil {
		socket = percent(*p.Socket)
	}
	return []string{Clean(p.Arm), rate(p.Sent), rate(p.Received), percent(p.Loss), interval, socket,
		cpu(p.GroupsCPU), cpu(p.HostCPU)}
}
