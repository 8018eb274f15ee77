package analyze

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
)

// Limits of the findings about the host, in seconds unless noted otherwise.
const (
	stealShare  = 0.02 // of the CPU time that the host wanted: info
	stealMuch   = 0.10 // the same: warning
	lagLimit    = 0.1  // by which the host wakes a task too late
	forkLimit   = 0.25 // to start a process
	othersLimit = 0.25 // CPUs that were busy with something other than the run's guests
	kernelEvent = "kernel-"
)

// lost are the kinds of kernel messages that make figures of that time unusable.
var lost = []string{"soft-lockup", "hard-lockup", "hung-task", "rcu-stall", "oops", "oom", "machine-check", "io-error",
	"fs-error"}

// outOfMemory is the kind of kernel message about a guest at its own limit.
const outOfMemory = kernelEvent + "oom-cgroup"

// findDistress groups the kernel's messages by kind, and adds the trials in which the host itself
// was slow.
func findDistress(a *analysis) (out []Finding) {
	for kind, events := range a.eventsByKind(func(kind string) bool {
		return strings.HasPrefix(kind, kernelEvent) && kind != outOfMemory && kind != "kernel-log"
	}) {
		f := kernelSaid("reported "+strings.TrimPrefix(kind, kernelEvent), events)
		if slices.Contains(lost, strings.TrimPrefix(kind, kernelEvent)) {
			f.Severity = Serious
		}
		out = append(out, f)
	}
	slow := func(probe string, limit float64, what string) {
		a.eachProbe(func(workload string, arm dataset.Arm, p []series) {
			n := 0
			for _, x := range p[0] {
				if x.value > limit {
					n++
				}
			}
			if n > 0 {
				out = append(out, Finding{Workload: workload, Arm: arm.Name, Text: fmt.Sprintf(
					"in %d of %d trials %s, %.3g s at worst (limit %.3g s)", n, len(p[0]), what, p[0].worst(), limit)})
			}
		}, probe)
	}
	slow(model.ProbeLagMax, lagLimit, "the host woke a waiting task too late")
	slow(model.ProbeForkMax, forkLimit, "the host was slow to start a process")
	return out
}

func findOutOfMemory(a *analysis) (out []Finding) {
	for _, events := range a.eventsByKind(func(kind string) bool { return kind == outOfMemory }) {
		out = append(out, kernelSaid("killed processes at the memory limit of their control group", events))
	}
	return out
}

// eventsByKind yields the events of each kind that is wanted.
func (a *analysis) eventsByKind(want func(kind string) bool) iter.Seq2[string, []dataset.Event] {
	wanted := slices.DeleteFunc(slices.Clone(a.in.Events), func(e dataset.Event) bool { return !want(e.Kind) })
	return grouped(wanted, func(e dataset.Event) string { return e.Kind })
}

// kernelSaid makes a finding of messages. It names the workload and the arm if all of them have the same.
func kernelSaid(what string, events []dataset.Event) Finding {
	first := events[0]
	f := Finding{Workload: first.Workload, Arm: first.Arm}
	for _, e := range events {
		if e.Workload != f.Workload {
			f.Workload = ""
		}
		if e.Arm != f.Arm {
			f.Arm = ""
		}
	}
	when := "before or between trials"
	if first.Workload != "" {
		when = fmt.Sprintf("during %s on %s", first.Workload, first.Arm)
	}
	f.Text = fmt.Sprintf("the host's kernel %s: %d %s, the first %s: %s", what, len(events),
		plural(len(events), "message"), when, first.Text)
	return f
}

// findOtherLoad looks at baselines only: CPU time outside a guest's control group may be a cost of
// its system, but native has no such cost.
func findOtherLoad(a *analysis) (out []Finding) {
	who := a.otherLoads() // of the whole run: the first finding names them
	for ai, arm := range a.in.Arms {
		if !a.isBaseline(arm) || !arm.Solo() {
			continue
		}
		for _, workload := range a.workloads() {
			if cpus, limit := a.otherLoad(workload, ai); cpus > limit {
				out = append(out, Finding{Workload: workload, Text: fmt.Sprintf(
					"during the trials of %s, %.2f CPUs of the host were busy with something else on average (limit %.3g)%s",
					arm.Name, cpus, limit, who)})
				who = ""
			}
		}
	}
	return out
}

// namedLoads bounds how many processes a finding names.
const namedLoads = 3

// otherLoads names the processes that used most CPU time besides the guests of the run, from the
// events of the run; "" if there are none.
func (a *analysis) otherLoads() string {
	most := map[string]float64{} // CPUs
	for _, e := range a.in.Events {
		load, who, named := strings.Cut(e.Text, ": ")
		number, _, _ := strings.Cut(load, " ")
		if cpus, err := strconv.ParseFloat(number, 64); e.Kind == store.EventOtherLoad && named && err == nil {
			most[who] = max(most[who], cpus)
		}
	}
	names := slices.SortedFunc(maps.Keys(most), func(x, y string) int {
		return cmp.Or(cmp.Compare(most[y], most[x]), strings.Compare(x, y))
	})
	if len(names) == 0 {
		return ""
	}
	for i, who := range names {
		names[i] = fmt.Sprintf("%s kept up to %.2f CPUs busy", who, most[who])
	}
	return "; besides the run's guests, " + strings.Join(names[:min(len(names), namedLoads)], ", ")
}

// otherLoad is how many CPUs were busy during a baseline's trials with neither its guest nor tare,
// and the limit for that.
func (a *analysis) otherLoad(workload string, arm int) (cpus, limit float64) {
	// Writing keeps kernel threads busy, which is no other load.
	limit = othersLimit
	if a.probe(workload, model.ProbeWorkloadBytes, arm).sum() > 0 {
		limit += 1
	}
	others, timed := common(a.outsideGroup(workload, arm), a.probe(workload, model.ProbeTimed, arm))
	if timed.sum() <= 0 {
		return 0, limit
	}
	return others.sum() / timed.sum(), limit
}

// outsideGroup is the host's CPU time, by block, outside the guest's control group and tare.
func (a *analysis) outsideGroup(workload string, arm int) series {
	return combine(func(v []float64) float64 { return v[0] - v[1] - v[2] },
		a.probe(workload, model.ProbeHostCPU, arm), a.probe(workload, model.ProbeGuestGroupCPU, arm),
		a.probe(workload, model.ProbeOwnCPU, arm))
}

// combine computes a value for each block that all series have. If a series has several values in
// a block, their mean counts.
func combine(f func(values []float64) float64, of ...series) series {
	var out series
	for block := range of[0].byBlock() {
		values := []float64{block.mean()}
		for _, other := range of[1:] {
			i, found := slices.BinarySearchFunc(other, block[0].block,
				func(p point, b int32) int { return int(p.block) - int(b) })
			if !found {
				break
			}
			j := i
			for j < len(other) && other[j].block == block[0].block {
				j++
			}
			values = append(values, other[i:j].mean())
		}
		if len(values) == len(of) {
			out = append(out, point{block: block[0].block, guest: block[0].guest, value: f(values)})
		}
	}
	return out
}

// mean of a series, which must not be empty.
func (s series) mean() float64 { return s.sum() / float64(len(s)) }

// stdErr is the standard error of the mean.
func (s series) stdErr() float64 {
	if len(s) < 2 {
		return math.Inf(1)
	}
	var ss float64
	m := s.mean()
	for _, p := range s {
		ss += (p.value - m) * (p.value - m)
	}
	n := float64(len(s))
	return math.Sqrt(ss / (n - 1) / n)
}

// findSteal compares the stolen CPU time with all that the host wanted (stolen and busy).
func findSteal(a *analysis) (out []Finding) {
	a.eachProbe(func(workload string, arm dataset.Arm, p []series) {
		stolen, busy := common(p[0], p[1])
		share := stolen.sum() / (stolen.sum() + busy.sum())
		if !(share > stealShare) {
			return
		}
		f := Finding{Workload: workload, Arm: arm.Name, Text: fmt.Sprintf(
			"a hypervisor took %.3g s of CPU time from the host per trial, %.3g s at worst (steal), which is %.2g %% of what "+
				"the host wanted; tare does not subtract it",
			stolen.mean(), stolen.worst(), 100*share)}
		if share > stealMuch {
			f.Severity = Warning
		}
		out = append(out, f)
	}, model.ProbeSteal, model.ProbeHostCPU)
	return out
}

// findChanged reports once what had changed when the run was resumed, however often it was.
func findChanged(a *analysis) (out []Finding) {
	for _, e := range a.in.Events {
		f := Finding{Text: "when the run was resumed, this had changed: " + e.Text}
		if e.Kind == store.EventChanged && !slices.ContainsFunc(out, func(o Finding) bool { return o.Text == f.Text }) {
			out = append(out, f)
		}
	}
	return out
}
