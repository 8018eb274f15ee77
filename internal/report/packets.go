package report

import (
	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/view"
)

// packets are what became of a workload's packets, if it counts them, without those of controls.
func packets(res *analyze.Result, workload string) *view.Table {
	t := tableFor("packets", "Packets", []string{"sent", "arrived", "lost", "interval", "at socket", "guests' CPU",
		"host CPU"}, res.Packets, func(p analyze.Packets) []view.Cell {
		if p.Workload != workload || p.Control {
			return nil
		}
		return packetCells(p)
	})
	t.Legend = packetLegend
	return t
}

// packetLegend explains the headings.
const packetLegend = "lost: share of those sent, with its 95 % interval; " +
	"at socket: of those sent, the share that arrived and found the receiving program's socket full; " +
	"guests' CPU: CPU time of the control groups of both ends for each packet that arrived; " +
	"host CPU: the same for the whole host, with its kernel's work and everything else that ran"

// packetCells are the figures of an arm's packets.
func packetCells(p analyze.Packets) []view.Cell {
	rate := func(v float64) view.Cell { return view.Number(InUnit("1/s", v, 4), v, "1/s") }
	percent := func(v float64) view.Cell { return view.Number(Digits(100*v, 3)+" %", 100*v, "%") }
	cpu := func(v float64) view.Cell {
		if v == 0 {
			return view.Text("not known")
		}
		return ofUnit("s", v)
	}
	lost, interval, socket := percent(p.Loss), view.Cell{}, view.Text("not known")
	if p.LossHigh > 0 {
		lost.Figure.Low, lost.Figure.High = 100*p.LossLow, 100*p.LossHigh
		interval = view.Text(span(100*p.LossLow, 100*p.LossHigh) + " %")
	}
	if p.Socket != nil {
		socket = percent(*p.Socket)
	}
	return []view.Cell{view.Text(p.Arm), rate(p.Sent), rate(p.Received), lost, interval, socket, cpu(p.GroupsCPU),
		cpu(p.HostCPU)}
}
