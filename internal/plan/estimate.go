package plan

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
)

// Costs is what the caller guesses of how long things take.
type Costs struct {
	// Slowdown is how many times longer than the baseline a trial takes, by
	// system; 1 for systems that it lacks.
	Slowdown map[string]float64
	// Overhead is what a trial takes besides its timed steps: thawing,
	// preparing, collecting, flushing, freezing.
	Overhead time.Duration
	// Create is how long making and booting one guest takes, by system.
	Create map[string]time.Duration
	// Calibrate is how long finding the size of one workload takes.
	Calibrate time.Duration
	// CPUs that guests share, for scenarios in which they are too many; 0: not known.
	CPUs int
}

// Estimate is how long a run is expected to take.
type Estimate struct {
	Calibrate time.Duration // once
	Create    time.Duration // all guests once
	Block     time.Duration // the trials of one block
	Blocks    int           // the fewest; with a budget, those that fit
	BlocksMax int           // the most
	Total     time.Duration // with Blocks
	TotalMax  time.Duration // with BlocksMax
}

// Estimate computes how long the run takes. Trials of a fixed size are taken
// to last as long as calibrated ones. With a precision the number of
// blocks is not known beforehand, so there are two totals.
func (p *Plan) Estimate(costs Costs) Estimate {
	workloads := float64(len(p.Workloads))
	e := Estimate{Calibrate: times(workloads, costs.Calibrate)}
	seated := map[Seat]bool{}
	for _, a := range p.Arms {
		slowdown, ok := costs.Slowdown[a.System]
		if !ok {
			slowdown = 1
		}
		slowdown *= a.crowding(costs.CPUs)
		e.Block = plus(e.Block, times(workloads, plus(times(slowdown, p.TrialTime), times(float64(len(a.Crew)), costs.Overhead))))
		for _, m := range a.Crew {
			system := a.System
			if m.Host {
				system = campaign.NativeSystem
			}
			switch {
			case a.MemoryLeft > 0: // made for each trial, as others are ended for it
				e.Block = plus(e.Block, times(workloads, costs.Create[system]))
			case !seated[m.Seat]:
				seated[m.Seat] = true
				e.Create = plus(e.Create, costs.Create[system])
			}
		}
	}
	total := func(n int) time.Duration {
		return plus(e.Calibrate, plus(times(float64(p.Epochs(n)), e.Create), times(float64(n), e.Block)))
	}
	fit := p.Rule.Max
	if p.Rule.Budget > 0 {
		for fit = 1; fit < p.Rule.Max && total(fit+1) <= p.Rule.Budget; {
			fit++
		}
	}
	e.BlocksMax = fit
	e.Blocks = fit
	if p.Rule.Precision > 0 {
		e.Blocks = min(p.Rule.Min, fit)
	}
	e.Total, e.TotalMax = total(e.Blocks), total(e.BlocksMax)
	return e
}

// crowding is how much longer the crew takes because it shares the CPUs.
func (a Arm) crowding(cpus int) float64 {
	var wanted float64
	for _, m := range a.Crew {
		if m.Flavor.CPUCap > 0 {
			wanted += m.Flavor.CPUCap.Fraction()
		} else {
			wanted += float64(m.Flavor.VCPUs)
		}
	}
	if cpus == 0 || wanted <= float64(cpus) {
		return 1
	}
	return wanted / float64(cpus)
}

// times multiplies, and stops at the longest duration there is: a campaign may
// ask for more than that.
func times(n float64, d time.Duration) time.Duration {
	if product := n * float64(d); product < math.MaxInt64 {
		return time.Duration(product)
	}
	return math.MaxInt64
}

// plus adds, and stops where times does.
func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Text describes the plan and how long it takes, for --dry-run.
func (p *Plan) Text(e Estimate) string {
	var b strings.Builder
	row := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "  %-10s %s\n", label, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "campaign %s, seed %d\n", p.Campaign, p.Seed)
	arms := make([]string, len(p.Arms))
	for i, a := range p.Arms {
		arms[i] = a.Name
		switch {
		case a.Baseline:
			arms[i] += " (baseline)"
		case a.Control != "":
			arms[i] += " (A/A control)"
		}
	}
	row("arms", "%d: %s", len(arms), strings.Join(arms, ", "))
	for _, a := range p.Skipped {
		row("left out", "%s: %s", a.Name, a.Skip)
	}
	for _, s := range p.Scenarios {
		if s.Name != campaign.Solo {
			row("scenario", "%s: %s", s.Name, s.Text())
		}
	}
	row("workloads", "%d: %s", len(p.Workloads), strings.Join(p.Workloads, ", "))
	row("blocks", "%s", p.blocksText())
	row("trials", "%s", spread(e.Blocks*p.Trials(), e.BlocksMax*p.Trials(), strconv.Itoa)+fmt.Sprintf(", %d in a block", p.Trials()))
	for _, boot := range p.Boots {
		var names []string
		for _, a := range p.InBoot(boot.Name) {
			names = append(names, a.Name)
		}
		row("boot", "%s, %d times: %s", boot.Name, p.Epochs(p.Rule.Max), strings.Join(names, ", "))
	}
	guests := ""
	if n := len(p.Guests()); n != len(p.Arms) {
		guests = fmt.Sprintf("%d, ", n)
	}
	fills := slices.ContainsFunc(p.Arms, func(a Arm) bool { return a.MemoryLeft > 0 })
	switch {
	case fills:
		row("guests", "%screated for each trial: where memory_left is asked for, there are no others", guests)
	case p.RecreateEvery > 0:
		row("guests", "%screated anew every %d blocks", guests, p.RecreateEvery)
	default:
		row("guests", "%screated once", guests)
	}
	row("expected", "%s: blocks %s, of %s each", spread(e.Total, e.TotalMax, rough),
		spread(e.Blocks, e.BlocksMax, strconv.Itoa), rough(e.Block))
	if e.Blocks < p.Rule.Min {
		row("", "The budget leaves room for fewer blocks than the %d asked for.", p.Rule.Min)
	}
	return b.String()
}

func (p *Plan) blocksText() string {
	r := p.Rule
	text := fmt.Sprintf("%d to %d", r.Min, r.Max)
	if r.Fixed() {
		text = fmt.Sprint(r.Max)
	}
	if r.Precision > 0 {
		text += fmt.Sprintf(", as a precision of %s needs", r.Precision)
	}
	if r.Budget > 0 {
		text += fmt.Sprintf(", within %s", rough(r.Budget))
	}
	return text
}

// spread writes a range, or one value where both ends read the same.
func spread[V any](low, high V, write func(V) string) string {
	ends := slices.Compact([]string{write(low), write(high)})
	return strings.Join(ends, " to ")
}

// rough writes a duration as people say it: to two figures or so.
func rough(d time.Duration) string {
	switch {
	case d >= 10*time.Minute:
		d = d.Round(time.Minute)
	case d >= 10*time.Second:
		d = d.Round(time.Second)
	default:
		d = d.Round(100 * time.Millisecond)
	}
	return campaign.FormatDuration(d)
}
