package analyze

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/stats"
	"github.com/tare-bench/tare/internal/store"
)

// Limits of the findings from probes.
const (
	cachedShare   = 0.05  // of the bytes written or read, which may be missing at the device
	hiddenFactor  = 1.25  // CPU of the cgroup over CPU that the guest accounts for
	hiddenSeconds = 0.05  // and this much per trial at least, s
	minCapPeriods = 100   // of a CPU cap in a trial
	clockError    = 0.001 // s, assumed where no error was measured
	clockTrials   = 3     // with a difference beyond its error, at least
	clockPart     = 0.25  // of all trials, at least: late messages do not mean a wrong clock
	hiddenShare   = 0.25  // CPU outside of the cgroup, beyond the baseline's, over the cgroup's
	hiddenErrors  = 3     // and this many standard errors
	throttledMore = 0.2   // of the periods, beyond the baseline's share
	cpuSlack      = 0.05  // of wall time × CPUs, by which CPU time may exceed it
	cpuGrain      = 0.05  // s, allowed in addition: guests count CPU time in ticks
	ceilingCPU    = 0.5   // of one CPU: an arm that uses less was waiting
	ceilingSame   = 0.05  // largest relative difference of arms that wait for the same limit
	ceilingSteady = 0.05  // largest relative spread of trials that wait for a limit
	mebi          = 1 << 20
)

// flushedSuffix is package workload's suffix of a metric that includes the flush.
const flushedSuffix = "-flushed"

// eachProbe calls f with the series of each named probe, for every arm and
// workload that has values of the first.
func (a *analysis) eachProbe(f func(workload string, arm dataset.Arm, probes []series), names ...string) {
	for pi, first := range a.in.Probes {
		if first.Name != names[0] {
			continue
		}
		for ai, arm := range a.in.Arms {
			all := []series{a.probes.at(pi, ai)}
			if len(all[0]) == 0 {
				continue
			}
			for _, name := range names[1:] {
				all = append(all, a.probe(first.Workload, name, ai))
			}
			f(first.Workload, arm, all)
		}
	}
}

// probe returns the series of one probe by name; empty if there is none.
func (a *analysis) probe(workload, name string, arm int) series {
	for i, p := range a.in.Probes {
		if p.Workload == workload && p.Name == name {
			return a.probes.at(i, arm)
		}
	}
	return nil
}

func findCachedWrites(a *analysis) (out []Finding) {
	a.eachProbe(func(workload string, arm dataset.Arm, p []series) {
		said, reached := common(p[0], p[1])
		reached = slices.Clone(reached)
		for i := range min(len(said), len(reached)) {
			// Data that an earlier trial left in the cache must not make up for missing data.
			reached[i].value = min(reached[i].value, said[i].value)
		}
		share := 1 - reached.sum()/said.sum()
		if said.sum() > 0 && share > cachedShare {
			f := Finding{Workload: workload, Arm: arm.Name, Text: fmt.Sprintf(
				"%.3g %% of what the workload wrote never reached the device in its trial: %.4g of %.4g MiB did, the flush "+
					"included; "+
					"the rest was cached, so the time is not the disk's", 100*share, reached.sum()/mebi, said.sum()/mebi)}
			if arm.Size.MemoryBytes > int64(said.mean()) {
				f.Text += fmt.Sprintf("; the %.4g MiB of a trial fit into the guest's memory of %.4g MiB", said.mean()/mebi,
					float64(arm.Size.MemoryBytes)/mebi)
			}
			if both := a.withFlush(workload, arm.Name); both != "" {
				f.Text += "; " + both
			}
			out = append(out, f)
		}
	}, model.ProbeWorkloadBytes, model.ProbeDeviceBytes)
	return out
}

// findCachedReads compares what the workload read although no cache may have had it with what the device delivered.
func findCachedReads(a *analysis) (out []Finding) {
	a.eachProbe(func(workload string, arm dataset.Arm, p []series) {
		wanted, delivered := common(p[0], p[1])
		delivered = slices.Clone(delivered)
		for i := range min(len(wanted), len(delivered)) {
			// What one trial read twice, or ahead, must not make up for what another did not read.
			delivered[i].value = min(delivered[i].value, wanted[i].value)
		}
		if share := 1 - delivered.sum()/wanted.sum(); wanted.sum() > 0 && share > cachedShare {
			out = append(out, Finding{Workload: workload, Arm: arm.Name, Text: fmt.Sprintf(
				"%.3g %% of what the workload read did not come from the device: it delivered %.4g of %.4g MiB; a cache of the "+
					"host answered the rest, so the time is not the disk's",
				100*share, delivered.sum()/mebi, wanted.sum()/mebi)})
		}
	}, model.ProbeWorkloadRead, model.ProbeDeviceRead)
	return out
}

// withFlush says what the costs are if the flush counts.
func (a *analysis) withFlush(workload, arm string) string {
	var parts []string
	for _, c := range a.comparisons {
		if c.Workload != workload || c.Arm != arm || c.N == 0 {
			continue
		}
		for _, d := range a.comparisons {
			if d.Workload == workload && d.Arm == arm && d.N > 0 && d.Metric == c.Metric+flushedSuffix {
				parts = append(parts, fmt.Sprintf("%s costs %+.3g %%, with the flush %+.3g %%", c.Metric, c.OverheadPercent,
					d.OverheadPercent))
			}
		}
	}
	return strings.Join(parts, "; ")
}

// findClock compares each difference with the error of its own trial.
func findClock(a *analysis) (out []Finding) {
	a.eachProbe(func(workload string, arm dataset.Arm, p []series) {
		diffs, errors := common(p[0], p[1])
		if len(diffs) != len(errors) || len(diffs) == 0 {
			diffs, errors = p[0], nil
		}
		var beyond int
		limit := clockError
		for i, x := range diffs {
			if errors != nil {
				limit = math.Abs(errors[i].value)
			}
			if math.Abs(x.value) > limit {
				beyond++
			}
		}
		if beyond >= clockTrials && float64(beyond) >= clockPart*float64(len(diffs)) {
			out = append(out, Finding{Workload: workload, Arm: arm.Name, Text: fmt.Sprintf(
				"the guest's clock and the host's differ by more than the measurement error (or 1 ms) in %d of %d trials: %.3g s "+
					"at worst, %+.3g s on average; "+
					"use only the host's times", beyond, len(diffs), diffs.worst(), diffs.sum()/float64(len(diffs)))})
		}
	}, model.ProbeClockDiff, model.ProbeClockError)
	return out
}

func findHiddenCPU(a *analysis) (out []Finding) {
	a.eachProbe(func(workload string, arm dataset.Arm, p []series) {
		whole, own := common(p[0], p[1])
		n := float64(len(whole))
		hidden := whole.sum() - own.sum()
		if n > 0 && whole.sum() > hiddenFactor*own.sum() && hidden/n > hiddenSeconds {
			out = append(out, Finding{Workload: workload, Arm: arm.Name, Text: fmt.Sprintf(
				"the guest does not account for %.3g s of CPU time per trial: its control group took %.3g s, the guest "+
					"reports %.3g s",
				hidden/n, whole.sum()/n, own.sum()/n)})
		}
	}, model.ProbeGuestGroupCPU, model.ProbeGuestCPU)
	for ai, arm := range a.in.Arms {
		base, isBase := a.baselineArm(arm)
		if isBase || !arm.Solo() || !base.Solo() {
			continue
		}
		for _, workload := range a.workloads() {
			if cpus, limit := a.otherLoad(workload, a.arms[base.Name]); cpus > limit {
				continue // the CPU time cannot be attributed
			}
			// Background activity grows with the time of a trial.
			more := combine(func(v []float64) float64 { return v[0] - v[1]*v[2]/v[3] },
				a.outsideGroup(workload, ai), a.outsideGroup(workload, a.arms[base.Name]),
				a.probe(workload, model.ProbeTimed, ai), a.probe(workload, model.ProbeTimed, a.arms[base.Name]))
			group := a.probe(workload, model.ProbeGuestGroupCPU, ai)
			if len(more) == 0 || more.mean() < max(hiddenSeconds, hiddenShare*group.mean(), hiddenErrors*more.stdErr()) {
				continue
			}
			text := fmt.Sprintf(
				"the host spent %.3g s of CPU time per trial outside this guest's control group, beyond what it spends there for "+
					"%s; the group itself took %.3g s",
				more.mean(), base.Name, group.mean())
			if dom0 := a.probe(workload, model.ProbeDom0CPU, ai); len(dom0) > 0 {
				text += fmt.Sprintf(", and Xen's dom0 %.3g s", dom0.mean())
			}
			out = append(out, Finding{Workload: workload, Arm: arm.Name, Text: text})
		}
	}
	return out
}

func findFewCapPeriods(a *analysis) (out []Finding) {
	a.eachProbe(func(workload string, arm dataset.Arm, p []series) {
		var few int
		fewest := p[0][0].value
		for _, x := range p[0] {
			fewest = min(fewest, x.value)
			if x.value < minCapPeriods {
				few++
			}
		}
		if arm.CapRatio > 0 && few > 0 {
			out = append(out, Finding{Workload: workload, Arm: arm.Name, Text: fmt.Sprintf(
				"%d of %d trials had fewer than %d periods of the CPU cap (the shortest %.0f): their time depends on where in a "+
					"period they began; make trials longer",
				few, len(p[0]), minCapPeriods, fewest)})
		}
	}, model.ProbeCapPeriods)
	return out
}

// findThrottled reports caps that explain part of a cost: a cap that the flavor does not have, a
// cap other than the baseline's, and the same cap with a different effect (a VMM's own threads may
// be under it, too).
func findThrottled(a *analysis) (out []Finding) {
	a.eachProbe(func(workload string, arm dataset.Arm, p []series) {
		periods, bitten := common(p[1], p[0])
		if bitten.sum() <= 0 || periods.sum() <= 0 {
			return
		}
		share := bitten.sum() / periods.sum()
		f := Finding{Workload: workload, Arm: arm.Name, Text: fmt.Sprintf(
			"the CPU cap stopped the guest in %.4g periods per trial on average, %.3g %% of them", bitten.mean(), 100*share)}
		base, isBase := a.baselineArm(arm)
		switch {
		case !arm.Uniform():
			return // a mix of flavors, some with a cap
		case arm.CapRatio == 0:
			f.Severity = Warning
			f.Text += ", but the flavor has no cap"
		case isBase:
			return
		case base.CapRatio != arm.CapRatio:
			f.Text += fmt.Sprintf("; %s does not have the same cap, so part of this arm's cost is the cap's", base.Name)
		default:
			bp, bb := common(a.probe(workload, model.ProbeCapPeriods, a.arms[base.Name]),
				a.probe(workload, model.ProbeThrottled, a.arms[base.Name]))
			if bp.sum() <= 0 || share-bb.sum()/bp.sum() <= throttledMore {
				return
			}
			f.Severity = Warning
			f.Text += fmt.Sprintf(", but %s in only %.3g %%: other parts of this system are under its cap, too, which is part "+
				"of its cost",
				base.Name, 100*bb.sum()/bp.sum())
		}
		out = append(out, f)
	}, model.ProbeThrottled, model.ProbeCapPeriods)
	return out
}

// findImpossible reports figures that cannot all be true.
func findImpossible(a *analysis) (out []Finding) {
	out = a.failuresBy(func(f dataset.Failure) bool { return f.Cause == store.EventContradiction }, Serious,
		"gave figures that contradict each other")
	a.eachProbe(func(workload string, arm dataset.Arm, p []series) {
		over, worst, limit := 0, 0.0, 0.0
		cpus := float64(arm.Size.VCPUs)
		cpu, timed := common(p[0], p[1])
		for i := range min(len(cpu), len(timed)) {
			if most := timed[i].value*cpus*(1+cpuSlack) + cpuGrain; cpu[i].value > most {
				over++
				if cpu[i].value/most > worst {
					worst, limit = cpu[i].value, timed[i].value*cpus
				}
			}
		}
		if cpus > 0 && over > 0 {
			out = append(out, Finding{Workload: workload, Arm: arm.Name, Text: fmt.Sprintf(
				"in %d of %d trials the guest reports more CPU time than there was: %.3g s, but its %d %s had only %.3g s",
				over, len(cpu), worst, arm.Size.VCPUs, plural(arm.Size.VCPUs, "CPU"), limit)})
		}
	}, model.ProbeGuestCPU, model.ProbeTimed)
	a.eachProbe(func(workload string, arm dataset.Arm, p []series) {
		own, group := common(p[0], p[1])
		if n := float64(len(own)); n > 0 && own.sum() > hiddenFactor*group.sum()+n*cpuGrain {
			out = append(out, Finding{Workload: workload, Arm: arm.Name, Severity: Warning, Text: fmt.Sprintf(
				"the guest reports %.3g s of CPU time per trial, but its control group took only %.3g s: the guest counts time "+
					"in which it did not run",
				own.sum()/n, group.sum()/n)})
		}
	}, model.ProbeGuestCPU, model.ProbeGuestGroupCPU)
	return out
}

// findCeiling reports arms with equal times because both wait for the same limit: such times do
// not show what the system costs. A guest that runs beside others also waits for them, and proves
// no limit by that.
func findCeiling(a *analysis) (out []Finding) {
	for _, c := range a.comparisons {
		written := a.probe(c.Workload, model.ProbeWorkloadBytes, c.arm)
		if !c.Primary || c.Control || c.N < 3 || written.sum() <= 0 || !a.in.Arms[c.arm].Solo() ||
			math.Abs(c.est.Estimate) > ceilingSame {
			continue
		}
		arm, ok := a.waiting(c.Workload, c.metric, c.arm)
		base, ok2 := a.waiting(c.Workload, c.metric, c.base)
		if !ok || !ok2 {
			continue
		}
		out = append(out, c.about("%s and %s both wrote %.4g MB/s, mostly within %.2g %%, and used %.2g and %.2g of a CPU: "+
			"both waited for the same limit, such as the device's, so the time does not show what the system costs",
			c.Arm, c.Baseline, written.mean()/arm.timed/1e6, 100*max(arm.spread, base.spread), arm.cpu, base.cpu))
	}
	return out
}

// pace describes an arm's trials: their median time in seconds, the relative spread of their times or of the
// metric, whichever is wider, and the CPUs used.
type pace struct{ timed, spread, cpu float64 }

// waiting reports whether an arm's trials were steady and mostly idle. The metric must be steady, too: it may be of
// a part of the trial, as a bandwidth is that the program measured, while the time is mostly that of its start.
func (a *analysis) waiting(workload string, metric, arm int) (p pace, ok bool) {
	timed, cpu := common(a.probe(workload, model.ProbeTimed, arm), a.probe(workload, model.ProbeGuestGroupCPU, arm))
	if len(timed) < 3 {
		return p, false
	}
	middle, spread := spreadOf(timed.values())
	_, ofMetric := spreadOf(a.metrics.at(metric, arm).values())
	p = pace{middle, max(spread, ofMetric), cpu.sum() / timed.sum()}
	return p, p.spread < ceilingSteady && p.cpu < ceilingCPU
}

// spreadOf returns the median of positive values, and their relative spread about it: 1.4826 times the median
// absolute deviation (the standard deviation for Gaussian noise), so that a delayed trial does not hide a limit. The
// spread is infinite if there is no such median.
func spreadOf(values []float64) (middle, spread float64) {
	middle, err := stats.Quantile(values, 0.5)
	if err != nil || middle <= 0 {
		return 0, math.Inf(1)
	}
	for i, v := range values {
		values[i] = math.Abs(v - middle)
	}
	deviation, err := stats.Quantile(values, 0.5)
	if err != nil {
		return middle, math.Inf(1)
	}
	return middle, 1.4826 * deviation / middle
}

// baselineArm returns the arm that an arm is compared with; self: the arm is a baseline or the
// control of one.
func (a *analysis) baselineArm(arm dataset.Arm) (base dataset.Arm, self bool) {
	name, control := a.in.BaselineOf(arm)
	if name == "" {
		return arm, true
	}
	return a.in.Arms[a.arms[name]], control
}

// isBaseline reports whether any arm is compared with this one.
func (a *analysis) isBaseline(arm dataset.Arm) bool {
	return slices.ContainsFunc(a.in.Arms, func(other dataset.Arm) bool {
		name, _ := a.in.BaselineOf(other)
		return name == arm.Name
	})
}

// workloads lists the workloads in the order of the metrics.
func (a *analysis) workloads() (all []string) {
	for _, m := range a.in.Metrics {
		if !slices.Contains(all, m.Workload) {
			all = append(all, m.Workload)
		}
	}
	return all
}
