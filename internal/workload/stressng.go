package workload

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// spawn runs its arguments as nobody if it runs as root: for root, stress-ng skips
// its exec stressor and still exits with status 0.
const spawn = `if [ "$(id -u)" = 0 ]; then
	exec setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"
fi
exec "$@"`

const stressDir = "tare-stress"

func stressExec() *Workload {
	steps := func(size int64) []Step {
		return []Step{
			{Name: "prepare", Argv: []string{"bash", "-c", "rm -rf " + stressDir + " && mkdir -m 1777 " + stressDir}},
			{Name: "exec", Timed: true, Argv: []string{"sh", "-c", spawn, "stress-ng-exec",
				// One process after the other, all started in the same way. With more
				// than --exec-max 1, stress-ng exceeds the requested number of operations.
				"stress-ng", "--exec", "1", "--exec-ops", strconv.FormatInt(size, 10), "--exec-max", "1",
				"--exec-method", "execve", "--exec-fork-method", "fork", "--exec-no-pthread",
				"--no-rand-seed", "--temp-path", stressDir, "--metrics"}},
			{Name: "clean", Argv: []string{"rm", "-rf", stressDir}},
		}
	}
	w := &Workload{
		Name:     "stress-ng-exec",
		Title:    "start processes, one after the other",
		Source:   "stress-ng --exec (stress-ng)",
		Tools:    []string{"bash", "id", "mkdir", "rm", "setpriv", "sh", "stress-ng"},
		Packages: []string{"bash", "coreutils", "dash", "stress-ng", "util-linux"},
		Metrics: []Metric{
			{Name: "time", Unit: "s", Better: Lower, Clock: HostClock, About: "starting all processes, and the start of stress-ng"},
			{Name: "rate", Unit: "1/s", Better: Higher, Clock: GuestClock, About: "processes per second of real time, as stress-ng prints it"},
			{Name: "time-guest", Unit: "s", Better: Lower, Clock: GuestClock, About: "processes / the rate that stress-ng prints"},
		},
		SizeUnit:    "processes",
		MinSize:     10,
		MaxSize:     10_000_000,
		DefaultSize: 1000,
		DiskBytes:   func(int64) int64 { return 1 << 20 },
		Steps:       steps,
	}
	return w.measuredBy("exec", func(text string) (reading, error) {
		row, err := stressor("exec", text)
		if err != nil {
			return reading{}, err
		}
		return reading{values: map[string]float64{"rate": row.rate, "time-guest": row.ops / row.rate}, did: row.ops}, nil
	})
}

// stressRow has stress-ng's figures of one stressor.
type stressRow struct {
	stressor        string
	ops, real, rate float64
	line            string
}

var (
	stressLine = regexp.MustCompile(`(?m)^stress-ng: (?:metrc|info): *\[\d+\] ([a-z][\w-]*) +(\d+) +(\d+\.\d+) +\d+\.\d+ +\d+\.\d+ +(\d+\.\d+) +\d+\.\d+.*$`)
	stressYAML = regexp.MustCompile(`(?m)^ +- stressor: (\S+)\n((?: +[\w-]+: .*\n)+)`)
	stressKey  = regexp.MustCompile(`(?m)^ +([\w-]+): (\d+(?:\.\d+)?)$`)
	stressDone = regexp.MustCompile(`(?m)^stress-ng: info: *\[\d+\] successful run completed`)
	stressBad  = regexp.MustCompile(`(?m)^stress-ng: (?:error|fail): .*$|^.*(?:unsuccessful run|must not run as root|aborting:|skipping the stressor).*$`)
)

// parseStressNG reads the metrics that stress-ng prints, or writes as YAML. Printed
// output must confirm that the run succeeded; YAML does not contain that.
func parseStressNG(text string) ([]stressRow, error) {
	if line := stressBad.FindString(grep(text, "stress-ng: ", "aborting:")); line != "" {
		return nil, fault.Guestf("stress-ng failed: %s", quote(line))
	}
	var rows []stressRow
	add := func(name, line, ops, real, rate string) error {
		f, err := numbers(ops, real, rate)
		if err != nil {
			return err
		}
		row := stressRow{stressor: name, ops: f[0], real: f[1], rate: f[2], line: line}
		if row.ops == 0 || row.rate == 0 {
			return fault.Guestf("stress-ng did nothing: %s", quote(line))
		}
		// In the text, both have two decimals.
		if math.Abs(row.real*row.rate-row.ops) > 0.006*row.rate+0.006*row.real+0.001*row.ops {
			return contradiction("rate × time is not the number of operations: %s", quote(line))
		}
		rows = append(rows, row)
		return nil
	}
	for _, m := range stressLine.FindAllStringSubmatch(grep(text, "stress-ng: "), -1) {
		if err := add(m[1], m[0], m[2], m[3], m[4]); err != nil {
			return nil, err
		}
	}
	if len(rows) > 0 && !stressDone.MatchString(grep(text, "successful")) {
		return nil, fault.Guestf("stress-ng does not report a successful run")
	}
	if len(rows) == 0 {
		for _, m := range stressYAML.FindAllStringSubmatch(grep(text, ":")+"\n", -1) {
			key := map[string]string{}
			for _, kv := range stressKey.FindAllStringSubmatch(m[2], -1) {
				key[kv[1]] = kv[2]
			}
			if err := add(m[1], m[0], key["bogo-ops"], key["wall-clock-time"], key["bogo-ops-per-second-real-time"]); err != nil {
				return nil, err
			}
		}
	}
	if len(rows) == 0 {
		if err := refused("stress-ng", text); err != nil {
			return nil, err
		}
		return nil, fault.WithRemedy(fault.Guestf("the output contains no stress-ng metrics"), "run stress-ng with --metrics")
	}
	return rows, nil
}

// stressor returns the figures of a stressor, which must be the only one.
func stressor(name, text string) (stressRow, error) {
	rows, err := parseStressNG(text)
	if err != nil {
		return stressRow{}, err
	}
	if len(rows) != 1 || rows[0].stressor != name {
		var names []string
		for _, r := range rows {
			names = append(names, r.stressor)
		}
		return stressRow{}, fault.Guestf("the output is of the stressors %s, not of %s alone: %s", quote(strings.Join(names, ", ")), name, quote(rows[0].line))
	}
	return rows[0], nil
}
