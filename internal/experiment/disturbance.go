package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/run"
)

// Disturbance is the most that measuring takes from those who live on the host.
type Disturbance struct {
	Residents []host.Resident
	CPUs      model.CPUList  // on which guests run
	Memory    campaign.Bytes // of all guests together
	Disk      campaign.Bytes // of all data volumes together, in the state directory
	Drops     bool           // the caches of the whole host are dropped
	Time      time.Duration  // 0: not known
}

// Disturbance says what the experiment takes from the host. An error is the campaign's fault.
func (e *Experiment) Disturbance() (Disturbance, error) {
	d := Disturbance{Residents: e.env.Residents, Time: e.Estimate().TotalMax}
	has := HostOf(e.env).Memory
	used := map[int]bool{}
	for _, g := range e.Plan.Guests() {
		f, err := run.Placed(g)
		if err != nil {
			return d, err
		}
		for _, cpu := range f.CPUs {
			used[cpu] = true
		}
		d.Memory += campaign.Bytes(f.MemoryBytes)
		d.Disk += campaign.Bytes(f.DiskBytes)
	}
	d.CPUs = slices.Sorted(maps.Keys(used))
	for _, cw := range e.Campaign.Workloads {
		w, _, err := workloadOf(cw)
		if err != nil {
			return d, err
		}
		d.Drops = d.Drops || w.DropsHost()
		if w.Fill != nil {
			d.Memory, d.CPUs = has, model.FirstCPUs(e.env.CPU.Threads)
		}
	}
	if has > 0 {
		d.Memory = min(d.Memory, has)
	}
	return d, nil
}

// Who says who is disturbed, in several lines.
func (d Disturbance) Who() string {
	var b strings.Builder
	b.WriteString("This machine works for others, and measuring disturbs them:\n")
	for _, r := range d.Residents {
		fmt.Fprintf(&b, "  %s\n", r)
	}
	return b.String()
}

// String says who is disturbed, and by how much.
func (d Disturbance) String() string {
	var b strings.Builder
	b.WriteString(d.Who())
	b.WriteString("The run takes from them, at most:\n")
	row := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "  %-7s %s\n", what, fmt.Sprintf(format, args...))
	}
	row("CPUs", "%s for guests, and a part of another for tare", d.CPUs)
	row("memory", "%s", d.Memory)
	row("disk", "%s, written to and read again and again", d.Disk)
	if d.Drops {
		row("caches", "of the whole host are dropped again and again: all files are read from the disks anew")
	}
	if d.Time > 0 {
		row("time", "%s", d.Time.Round(time.Second))
	}
	return b.String()
}
