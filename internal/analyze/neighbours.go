package analyze

import (
	"fmt"
	"strings"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
)

// idleNeighbour is the id of the finding about neighbours: the matrix claims nothing beside such ones.
const idleNeighbour = "idle-neighbour"

// Limits of the finding about neighbours.
const (
	idleCPUs     = 0.01 // CPUs: a neighbour that uses less loads nothing
	idleOfCap    = 0.1  // of the CPU cap of its flavor, where that is less
	idleTrials   = 0.25 // share of the trials above which nothing is claimed of the isolation
	feebleFactor = 10   // less work than the neighbour of the baseline, from which on it is said
)

// neighbourWork is what one neighbour of an arm did in the trials of a workload.
type neighbourWork struct {
	trials, failed, idle int
	first                dataset.Failure // of those that failed, by block
	rate                 float64         // CPUs, or for the disk B/s: the mean over trials; 0: not known
}

// findIdleNeighbours reports neighbours that failed or did no work: an arm that was not disturbed looks well isolated.
func findIdleNeighbours(a *analysis) (out []Finding) {
	for _, workload := range a.workloads() {
		for ai, arm := range a.in.Arms {
			if _, control := a.in.Controls[arm.Name]; control {
				continue
			}
			for i, resource := range arm.Neighbours {
				w := a.neighbourWork(workload, ai, i)
				if text, severity := w.trouble(resource); text != "" {
					out = append(out, Finding{Workload: workload, Arm: arm.Name, Severity: severity, Text: text,
						Score: float64(w.failed+w.idle) / float64(w.trials)})
					continue
				}
				if text := a.feeble(workload, arm, i, w); text != "" {
					out = append(out, Finding{Workload: workload, Arm: arm.Name, Severity: Warning, Text: text})
				}
			}
		}
	}
	return out
}

// neighbourWork finds what the i-th neighbour of an arm did. A trial that failed altogether is not the neighbour's.
func (a *analysis) neighbourWork(workload string, arm, i int) (w neighbourWork) {
	of := a.in.Arms[arm]
	number := of.FirstNeighbour + i
	for _, f := range a.in.NeighbourFailures {
		if f.Workload != workload || f.Arm != of.Name || f.Member != number ||
			a.failed[lostTrial{workload, of.Name, f.Block}] {
			continue
		}
		if w.failed++; w.failed == 1 || f.Block < w.first.Block {
			w.first = f
		}
	}
	did, least := model.ProbeNeighbourCPU, idleCPUs
	if of.Neighbours[i] == model.ResourceDisk {
		did, least = model.ProbeNeighbourBytes, 1
	} else if of.Size.CPUCap > 0 {
		least = min(least, idleOfCap*of.Size.CPUCap)
	}
	one := func(m int32) bool { return int(m) == number }
	times, work := common(a.probe(workload, model.ProbeNeighbourTime, arm).of(one), a.probe(workload, did, arm).of(one))
	w.trials = w.failed + len(times)
	for j := range min(len(times), len(work)) {
		if times[j].value <= 0 {
			continue
		}
		rate := work[j].value / times[j].value
		if rate < least {
			w.idle++
		}
		w.rate += rate / float64(len(times))
	}
	return w
}

// trouble says in how many trials a neighbour did nothing; "": it worked, or that is not known.
func (w neighbourWork) trouble(resource string) (text string, severity Severity) {
	if w.failed+w.idle == 0 {
		return "", ""
	}
	var parts []string
	if w.failed > 0 {
		parts = append(parts, fmt.Sprintf("in %d of them it failed; the first, in block %d: %s", w.failed,
			w.first.Block+1, w.first.Text))
	}
	if w.idle > 0 {
		what := fmt.Sprintf("used less than %v CPUs", idleCPUs)
		if resource == model.ResourceDisk {
			what = "wrote nothing"
		}
		parts = append(parts, fmt.Sprintf("in %d of them it %s", w.idle, what))
	}
	severity = Warning
	if float64(w.failed+w.idle) > idleTrials*float64(w.trials) {
		severity = Serious
	}
	return fmt.Sprintf("the neighbour that loads %s did not work in %d of %d trials: %s", resource, w.failed+w.idle,
		w.trials, strings.Join(parts, "; ")), severity
}

// feeble says that a neighbour did much less than the one beside the baseline; "": it did not.
func (a *analysis) feeble(workload string, arm dataset.Arm, i int, w neighbourWork) string {
	base, _ := a.in.BaselineOf(arm)
	if base == "" || w.rate == 0 {
		return ""
	}
	bi := a.arms[base]
	if b := a.in.Arms[bi]; i >= len(b.Neighbours) || b.Neighbours[i] != arm.Neighbours[i] {
		return ""
	}
	natively := a.neighbourWork(workload, bi, i).rate
	if w.rate*feebleFactor >= natively {
		return ""
	}
	did := func(rate float64) string { return fmt.Sprintf("used %.3g CPUs", rate) }
	if arm.Neighbours[i] == model.ResourceDisk {
		did = func(rate float64) string { return fmt.Sprintf("wrote %.3g MiB/s", rate/mebi) }
	}
	return fmt.Sprintf("the neighbour that loads %s %s; beside %s it %s", arm.Neighbours[i], did(w.rate), base,
		did(natively))
}
