package tool

import (
	"math"
	"regexp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	stressLine = line("stress-ng: ", `^stress-ng: (?:metrc|info): *\[\d+\] ([a-z][\w-]*) +(\d+) +(\d+\.\d+) +\d+\.\d+ +\d+\.\d+ +(\d+\.\d+) +\d+\.\d+.*$`)
	stressYAML = regexp.MustCompile(`(?m)^ +- stressor: (\S+)\n((?: +[\w-]+: .*\n)+)`)
	stressKey  = regexp.MustCompile(`(?m)^ +([\w-]+): (\d+(?:\.\d+)?)$`)
	stressDone = regexp.MustCompile(`(?m)^stress-ng: info: *\[\d+\] successful run completed`)
	stressBad  = regexp.MustCompile(`(?m)^stress-ng: (?:error|fail): .*$|^.*(?:unsuccessful run|must not run as root|aborting:|skipping the stressor).*$`)
)

// readStressNG reads the metrics that stress-ng prints, or writes as YAML. Printed output must confirm
// that the run succeeded; YAML does not contain that. It says the names of the "stressors".
func readStressNG(text string, r *Report) error {
	if line := stressBad.FindString(Grep(text, "stress-ng: ", "aborting:")); line != "" {
		return fault.Guestf("stress-ng failed: %s", Quote(line))
	}
	var names []string
	add := func(name, line, ops, real, rate string) error {
		f, err := Numbers(ops, real, rate)
		if err != nil {
			return err
		}
		ran, seconds, perSecond := f[0], f[1], f[2]
		if ran == 0 || perSecond == 0 {
			return fault.Guestf("stress-ng did nothing: %s", Quote(line))
		}
		// In the text, both have two decimals.
		if math.Abs(seconds*perSecond-ran) > 0.006*perSecond+0.006*seconds+0.001*ran {
			return Contradiction("rate × time is not the number of operations: %s", Quote(line))
		}
		names = append(names, name)
		r.add(name+" bogo ops", ran, "1", "")
		r.seconds(name+" real time", seconds)
		r.add(name+" bogo ops per real second", perSecond, "1/s", Higher)
		return nil
	}
	for _, m := range stressLine.all(text) {
		if err := add(m[1], m[0], m[2], m[3], m[4]); err != nil {
			return err
		}
	}
	if len(names) > 0 && !stressDone.MatchString(Grep(text, "successful")) {
		return fault.Guestf("stress-ng does not report a successful run")
	}
	if len(names) == 0 {
		for _, m := range stressYAML.FindAllStringSubmatch(Grep(text, ":")+"\n", -1) {
			key := map[string]string{}
			for _, kv := range stressKey.FindAllStringSubmatch(m[2], -1) {
				key[kv[1]] = kv[2]
			}
			if err := add(m[1], m[0], key["bogo-ops"], key["wall-clock-time"],
				key["bogo-ops-per-second-real-time"]); err != nil {
				return err
			}
		}
	}
	if len(names) == 0 {
		if err := refused("stress-ng", text); err != nil {
			return err
		}
		return fault.WithRemedy(fault.Guestf("the output contains no stress-ng metrics"), "run stress-ng with --metrics")
	}
	r.say("stressors", strings.Join(names, ", "))
	return nil
}
