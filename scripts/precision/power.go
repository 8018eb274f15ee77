package main

import (
	"cmp"
	"flag"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// goals are the costs that tare should find in 9 of 10 runs of that budget, duetGoals those that duets should find.
// Each round measures them first.
const (
	goals     = "5@30s,2@2m,1@5m"
	duetGoals = "1@30s,0.5@2m,0.25@5m"
)

// curve are the other points of the curve.
const curve = "10@15s,5@15s,3@15s,10@30s,3@30s,2@30s,5@1m,3@1m,2@1m,1@1m,3@2m,1@2m,2@5m"

func powerPart(set *flag.FlagSet) func(*session) error {
	rounds := set.Int("rounds", 10, "`number` of runs of each cell")
	list := set.String("cells", "", "costs in percent and budgets of a run; empty: the goals, and without duets the "+
		"other points of the curve")
	truth := set.Duration("truth", time.Minute, "budget of each round's run that measures the cost of the planted work; "+
		"0: none")
	return func(s *session) error {
		cells, err := parseCells(cmp.Or(*list, s.cells()))
		if err != nil {
			return err
		}
		var jobs []job
		for round := 1; round <= *rounds; round++ {
			all := cells
			if *truth > 0 {
				// Alternate between 100 % and 50 % more work. If both give the same cost per
				// percent, the cost is proportional to the work.
				percent := 100.0
				if round%2 == 0 {
					percent = 50
				}
				all = append([]cell{{percent, *truth}}, cells...)
			}
			for _, c := range all {
				jobs = append(jobs, job{c.String(), round, c.budget + startUp, func() (Record, error) { return s.plant(c, round) }})
			}
		}
		return s.work(jobs)
	}
}

// cells returns the cells of the part.
func (s *session) cells() string {
	if s.part == duetsPower {
		return duetGoals
	}
	return goals + "," + curve
}

// cell is a planted cost and the budget for finding it.
type cell struct {
	percent float64
	budget  time.Duration
}

// String formats the cell as in the flag, with its budget in seconds: "5@30s".
func (c cell) String() string { return fmt.Sprintf("%g@%gs", c.percent, c.budget.Seconds()) }

func parseCell(text string) (cell, error) {
	percent, budget, _ := strings.Cut(text, "@")
	p, err := strconv.ParseFloat(percent, 64)
	d, err2 := time.ParseDuration(budget)
	if err != nil || err2 != nil || !(p > 0 && p <= 1000) || d < time.Second {
		return cell{}, fmt.Errorf("%q is not a cost in percent and a time, such as 5@30s", text)
	}
	return cell{p, d}, nil
}

func parseCells(list string) ([]cell, error) {
	var cells []cell
	for text := range strings.SplitSeq(list, ",") {
		c, err := parseCell(text)
		if err != nil {
			return nil, err
		}
		cells = append(cells, c)
	}
	return cells, nil
}

// planted is the name of the arm that does more work, and cipherName that of the
// workload.
const (
	planted    = "planted"
	cipherName = "cipher"
)

// plainBytes is the work of a trial without the planted part: 45 MiB, adjusted so that
// each tenth of a percent is a whole number of bytes.
const plainBytes = 47_186_000

func plantedBytes(percent float64) int64 {
	return plainBytes + int64(plainBytes/100*percent+0.5)
}

// powerCampaign is a campaign in which one arm does more of the same work. Each guest
// determines the amount once, before the timed part, from the size of its volume. That
// arm's volume is larger, which has no other effect.
func powerCampaign(c cell, cpu int) string {
	return fmt.Sprintf(`name: power
flavors:
  less: {vcpus: 1, memory: 512MiB, disk: 256MiB, cpuset: "%[1]d"}
  more: {vcpus: 1, memory: 512MiB, disk: 512MiB, cpuset: "%[1]d"}
allow_unequal: true # in the size of the volume, which says who has more to do
arms:
  - native
  - {name: %[2]s, system: native, flavor: more}
workloads:
  - name: %[3]s
    packages: [bash, coreutils, openssl]
    prepare: if [ ! -s bytes ]; then if [ $(($(stat -f -c '%%b*%%S' .))) -gt 400000000 ]; then echo %[4]d; else echo %[5]d; fi >bytes; fi
    command:
      - bash
      - -c
      - |
        set -o pipefail
        read bytes <bytes
        dd if=/dev/zero bs=1M iflag=count_bytes count=$bytes |
          openssl enc -aes-256-cbc -K 603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4 -iv 000102030405060708090a0b0c0d0e0f >/dev/null
    expect: '^(%[4]d|%[5]d) bytes'
trial_time: 100ms
blocks: {min: 3, max: 10000}
budget: %[6]gs
`, cpu, planted, cipherName, plantedBytes(c.percent), plainBytes, c.budget.Seconds())
}

// plant runs a cell and checks that each arm did its own amount of work.
func (s *session) plant(c cell, round int) (Record, error) {
	r, err := s.measure(c.String(), round, s.share(powerCampaign(c, s.cpu)), 0)
	if err != nil {
		return r, err
	}
	for arm, want := range map[string]int64{"native": plainBytes, "native-control": plainBytes,
		planted: plantedBytes(c.percent)} {
		out, err := s.outputOf(r.Run.File, arm)
		if err != nil {
			return r, err
		}
		if got := bytesDone(out); got != want {
			return r, fmt.Errorf("%s: %s encrypted %d bytes instead of %d", r.Run.File, arm, got, want)
		}
	}
	return r, nil
}

var bytesPattern = regexp.MustCompile(`(?m)^(\d+) bytes`)

// bytesDone returns how many bytes dd copied according to its output; 0: not printed.
func bytesDone(output string) int64 {
	m := bytesPattern.FindStringSubmatch(output)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
