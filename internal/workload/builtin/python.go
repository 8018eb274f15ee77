package builtin

import (
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/tool"
)

// pythonStarts starts the interpreter $1 times, which prints the result of a multiplication.
const pythonStarts = `i=0; while [ $i -lt "$1" ]; do python3 -c 'print(6 * 7)' || exit; i=$((i + 1)); done`

// pythonStart starts Python's interpreter again and again.
func pythonStart() *workload.Workload {
	w := &workload.Workload{
		Name: "python-start", Title: "start Python, one interpreter after the other: files, memory and processes",
		Source: "Python 3 (python3)", Programs: []string{"python3", "sh"}, Packages: []string{"dash", "python3"},
		Metrics: []workload.Metric{
			workload.Time("all starts, with a program of one line, and the ends"),
			workload.Latency("imports", "all imports",
				"the imports of one start before those, as -X importtime prints them"),
		},
		SizeUnit: "starts", MinSize: 5, MaxSize: 1_000_000, DefaultSize: 100,
		Steps: func(size int64) []workload.Step {
			return []workload.Step{
				// The first start after others reads files that are not in the page cache.
				{Name: "warm", Argv: []string{"python3", "-c", "pass"}},
				{Name: "imports", Argv: []string{"python3", "-X", "importtime", "-c", "pass"}},
				{Name: "start", Timed: true, Argv: sh(pythonStarts, "sh", decimal(size))},
			}
		},
	}
	w.MeasuredBy(workload.Measurement{Step: "imports", Tool: "python"})
	return alsoMeasuring(w, func(size int64, by map[string]workload.StepResult, m map[string]float64) error {
		if got := string(by["start"].Stdout); got != strings.Repeat("42\n", int(size)) {
			return fault.Guestf("step start: %d of %d starts printed the result: %s", strings.Count(got, "42\n"), size,
				tool.Quote(got))
		}
		m["time"] = by["start"].Wall.Seconds()
		return nil
	})
}
