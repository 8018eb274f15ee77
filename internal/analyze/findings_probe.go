package analyze

import (
	"fmt"
	"math"
)

// Limits of the findings that probes give.
const (
	cachedShare   = 0.05  // of the bytes written: what may be missing at the device
	hiddenFactor  = 1.25  // CPU of the cgroup over CPU that the guest accounts for
	hiddenSeconds = 0.05  // and so much a trial at least, s
	minCapPeriods = 100   // of a CPU cap in a trial
	clockError    = 0.001 // s, assumed where no error was measured
	mebi          = 1 << 20
)

// eachProbe calls f with the series of each named probe, for every arm and
// workload that has values of the first.
func (a *analysis) eachProbe(f func(workload string, arm Arm, probes []series), names ...string) {
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
	a.eachProbe(func(workload string, arm Arm, p []series) {
		said, reached := common(p[0], p[1])
		share := 1 - reached.sum()/said.sum()
		if said.sum() > 0 && share > cachedShare {
			out = append(out, Finding{Workload: workload, Arm: arm.Name, Text: fmt.Sprintf(
				"%.3g %% of what the workload wrote never reached the device in its trial: %.4g of %.4g MiB did, the flush included; "+
					"it was cached, and the time is not the disk's", 100*share, reached.sum()/mebi, said.sum()/mebi)})
		}
	}, ProbeWorkloadBytes, ProbeDeviceBytes)
	return out
}

// findClock holds each difference against the error of its own trial.
func findClock(a *analysis) (out []Finding) {
	a.eachProbe(func(workload string, arm Arm, p []series) {
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
		if beyond > 0 {
			out = append(out, Finding{Workload: workload, Arm: arm.Name, Text: fmt.Sprintf(
				"the guest's clock and the host's differ beyond the measured error (or 1 ms) in %d of %d trials, by %.3g s at worst and %+.3g s on average; "+
					"only the host's times count", beyond, len(diffs), diffs.worst(), diffs.sum()/float64(len(diffs)))})
		}
	}, ProbeClockDiff, ProbeClockError)
	return out
}

func findHiddenCPU(a *analysis) (out []Finding) {
	a.eachProbe(func(workload string, arm Arm, p []series) {
		whole, own := common(p[0], p[1])
		n := float64(len(whole))
		hidden := whole.sum() - own.sum()
		if n > 0 && whole.sum() > hiddenFactor*own.sum() && hidden/n > hiddenSeconds {
			out = append(out, Finding{Workload: workload, Arm: arm.Name, Text: fmt.Sprintf(
				"%.3g s of CPU a trial were burnt outside what the guest accounts for: its control group took %.3g s, the guest reports %.3g s",
				hidden/n, whole.sum()/n, own.sum()/n)})
		}
	}, ProbeGuestCgroupCPU, ProbeGuestCPU)
	return out
}

func findFewCapPeriods(a *analysis) (out []Finding) {
	a.eachProbe(func(workload string, arm Arm, p []series) {
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
				"%d of %d trials had less than %d periods of the CPU cap (%.0f at least): where a trial began within a period colours its time; make trials longer",
				few, len(p[0]), minCapPeriods, fewest)})
		}
	}, ProbeCapPeriods)
	return out
}

func findThrottled(a *analysis) (out []Finding) {
	a.eachProbe(func(workload string, arm Arm, p []series) {
		total := p[0].sum()
		if total <= 0 {
			return
		}
		f := Finding{Workload: workload, Arm: arm.Name, Text: fmt.Sprintf(
			"the CPU cap bit in %.4g periods a trial on average", total/float64(len(p[0])))}
		if periods, bitten := common(p[1], p[0]); periods.sum() > 0 {
			f.Text += fmt.Sprintf(", %.3g %% of them", 100*bitten.sum()/periods.sum())
		}
		if arm.CapRatio == 0 {
			f.Severity = Warning
			f.Text += ", and the flavor asks for none"
		}
		out = append(out, f)
	}, ProbeThrottled, ProbeCapPeriods)
	return out
}

func findSteal(a *analysis) (out []Finding) {
	a.eachProbe(func(workload string, arm Arm, p []series) {
		if total := p[0].sum(); total > 0 {
			out = append(out, Finding{Workload: workload, Arm: arm.Name, Text: fmt.Sprintf(
				"a hypervisor took %.3g s of CPU from the host a trial, %.3g s at worst (steal); it is shown, never subtracted",
				total/float64(len(p[0])), p[0].worst())})
		}
	}, ProbeSteal)
	return out
}
