package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The measurements of the A/A part. A duel is a run with one workload and one arm that
// is identical to the baseline; hyperfine gets the same time for the same command. A
// crowd is a run with several such arms and all workloads.
const (
	duel            = "duel"
	crowd           = "crowd"
	hyperfineUsual  = "hyperfine"
	hyperfinePinned = "hyperfine pinned"
)

// twins is the number of arms in a crowd that are identical to the baseline.
const twins = 4

// aaSystems are the systems that the A/A part compares with themselves.
var aaSystems = []string{"native", "lxc"}

func aaPart(set *flag.FlagSet) func(*session) error {
	rounds := set.Int("rounds", 40, "`number` of rounds; each has a duel of native and of lxc, hyperfine in both modes, "+
		"and a crowd of each system")
	duelTime := set.Duration("duel", 15*time.Second, "budget of a duel, and the time for hyperfine; 0: no duels")
	crowdTime := set.Duration("crowd", 30*time.Second, "budget of a crowd; 0: none")
	list := set.String("workloads", "openssl-enc:45,sysbench-cpu",
		"workloads, each with a size or calibrated; duels take turns with them")
	return func(s *session) error {
		workloads, err := parseWorkloads(*list)
		if err != nil {
			return err
		}
		var jobs []job
		for round := 1; round <= *rounds; round++ {
			w := workloads[(round-1)%len(workloads)]
			add := func(what string, takes time.Duration, do func(what string) (Record, error)) {
				jobs = append(jobs, job{what, round, takes + startUp, func() (Record, error) { return do(what) }})
			}
			addRun := func(what, system string, arms int, workloads []workload, budget time.Duration) {
				add(what, budget, func(what string) (Record, error) {
					return s.measure(what, round, s.share(aaCampaign(system, s.cpu, arms, s.sized(workloads), budget)), 0)
				})
			}
			addHyperfine := func(kind string) {
				add(kind+" "+w.name, *duelTime, func(what string) (Record, error) {
					return s.hyperfineLike(what, w.name, kind == hyperfinePinned)
				})
			}
			if *duelTime > 0 {
				addRun(duelOf("native", w.name), "native", 1, []workload{w}, *duelTime)
				addHyperfine(hyperfineUsual)
				addRun(duelOf("lxc", w.name), "lxc", 1, []workload{w}, *duelTime)
				addHyperfine(hyperfinePinned)
			}
			if *crowdTime > 0 {
				for _, system := range aaSystems {
					addRun(crowd+" "+system, system, twins, workloads, *crowdTime)
				}
			}
		}
		return s.work(jobs)
	}
}

// duetShare is the share of duets in the runs of the parts that measure them.
const duetShare = "80%"

// share adds to a campaign which share of the time duets have, in the parts that measure them.
func (s *session) share(campaign string) string {
	if s.part == duets || s.part == duetsPower {
		campaign += "duets: " + duetShare + "\n"
	}
	return campaign
}

// startUp is the time that a run takes in addition to its budget.
const startUp = 2 * time.Second

func duelOf(system, workload string) string { return duel + " " + system + " " + workload }

// workload is one of tare's workloads and its size; 0: calibrated.
type workload struct {
	name string
	size int64
}

func parseWorkloads(list string) ([]workload, error) {
	var all []workload
	for entry := range strings.SplitSeq(list, ",") {
		name, size, sized := strings.Cut(entry, ":")
		w := workload{name: name}
		if sized {
			var err error
			if w.size, err = strconv.ParseInt(size, 10, 64); err != nil || w.size < 1 {
				return nil, fmt.Errorf("workload %s: %q is not a size", name, size)
			}
		}
		if name == "" {
			return nil, fmt.Errorf("a workload without a name in %q", list)
		}
		all = append(all, w)
	}
	return all, nil
}

// sized returns the workloads with the sizes that an earlier round calibrated, so that
// all rounds do the same work.
func (s *session) sized(workloads []workload) []workload {
	sized := slices.Clone(workloads)
	for i, w := range sized {
		for _, r := range s.records {
			if w.size == 0 && r.Part == s.part && r.Run != nil {
				sized[i].size = sizeOf(r, w.name)
			}
			if sized[i].size > 0 {
				break
			}
		}
	}
	return sized
}

// aaCampaign compares a system with itself, in arms in addition to the baseline and its
// control.
func aaCampaign(system string, cpu, arms int, workloads []workload, budget time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: aa\nflavors:\n  one: {vcpus: 1, memory: 512MiB, disk: 256MiB, cpuset: \"%d\"}\narms:\n"+
		"  - {name: first, system: %s}\n", cpu, system)
	for i := range arms {
		fmt.Fprintf(&b, "  - {name: again-%d, system: %s}\n", i+1, system)
	}
	b.WriteString("baseline: first\nworkloads:\n")
	for _, w := range workloads {
		if w.size == 0 {
			fmt.Fprintf(&b, "  - %s\n", w.name)
		} else {
			fmt.Fprintf(&b, "  - {name: %s, size: %d}\n", w.name, w.size)
		}
	}
	fmt.Fprintf(&b, "trial_time: 100ms\nblocks: {min: 3, max: 10000}\nbudget: %gs\n", budget.Seconds())
	return b.String()
}

// hyperfineLike runs the command of the last duel with the workload under hyperfine, for
// as long as that duel took.
func (s *session) hyperfineLike(what, workload string, pinned bool) (Record, error) {
	last := s.last(duelOf("native", workload))
	if last == nil {
		return Record{}, errors.New("no duel precedes it")
	}
	each := median(last.Run.arm("first", workload), "time")
	if before := s.last(what); before != nil {
		each = before.Seconds / float64(len(before.Pair.First)+len(before.Pair.Second))
	}
	if each <= 0 {
		return Record{}, fmt.Errorf("the duration of %s is not known", workload)
	}
	return s.hyperfine(last.Run, workload, time.Duration(last.Seconds*float64(time.Second)), each, pinned)
}

// last returns the latest record of a measurement of this part under the same load.
func (s *session) last(what string) *Record {
	for i := len(s.records) - 1; i >= 0; i-- {
		if r := &s.records[i]; r.Part == s.part && r.What == what && r.Load == s.load {
			return r
		}
	}
	return nil
}
