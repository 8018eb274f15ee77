package builtin

import (
	"strconv"

	"github.com/tare-bench/tare/internal/workload"
)

// bash returns the command line of a script for bash, with what the script gets as $0, $1 and so on.
func bash(script string, args ...string) []string {
	return append([]string{"bash", "-c", script}, args...)
}

// sh returns the same for sh.
func sh(script string, args ...string) []string { return append([]string{"sh", "-c", script}, args...) }

// decimal is a number as an argument.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// timed returns the steps of a workload with one command.
func timed(name string, command func(size int64) []string) func(size int64) []workload.Step {
	return func(size int64) []workload.Step {
		return []workload.Step{{Name: name, Timed: true, Argv: command(size)}}
	}
}

// untilFlushed returns the time of a step, and that with the flush of what it wrote.
func untilFlushed(by map[string]workload.StepResult, step string) map[string]float64 {
	t := by[step].Wall.Seconds()
	return map[string]float64{"time": t, "time-flushed": t + by["flush"].Wall.Seconds()}
}

// absent is a script that removes what an interrupted trial left at path. The trials before it flushed what they did,
// so that there is nothing to flush otherwise.
func absent(path string) string {
	return "{ [ ! -e " + path + " ] || { rm -rf " + path + " && sync -f .; }; }"
}
