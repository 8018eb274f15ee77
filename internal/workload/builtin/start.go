package builtin

import (
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
)

// startParams: the page cache of the host when the start is requested.
var startParams = []workload.Param{{
	Name: "cache", Default: "warm", Values: []string{"warm", "cold"},
	About: "warm: the same system has started a guest since the host's page cache was last dropped; cold: the host's " +
		"page cache is dropped before each start",
}}

// start creates a guest in every trial. How long a trial takes is known only to the code that asks
// for the guest, so package run gives the time of the step, and the metrics other than the first.
func start() *workload.Workload {
	return workload.WithParams(startParams, func(set workload.Settings) *workload.Workload {
		w := &workload.Workload{
			Name: "start", Title: "create a guest, run a program in it, remove it",
			Source: "tare; the program is true (coreutils)", Programs: []string{"true"},
			Packages: []string{"coreutils"},
			Metrics: []workload.Metric{
				workload.Time("from the request for a guest to the first instruction of the user's program in it, " +
					"without the time in which tare confines the process that it starts"),
				workload.HostTime(workload.StopTime, "from the request to end the guest until nothing of it runs any more"),
				workload.HostTime(workload.RemoveTime,
					"from the same request until nothing of the guest is left on the host: no mount, device, group or file"),
				{Name: workload.StartMemory, Unit: "B", Better: workload.Lower, Clock: workload.HostClock,
					About: "the most memory that the guest's control group was charged with until the program had ended"},
			},
			SizeUnit: "start", MinSize: 1, MaxSize: 1, DefaultSize: 1,
			Sparse:  true,
			Creates: true,
			Cold:    set["cache"] == "cold",
			Steps:   timed("program", func(int64) []string { return []string{"true"} }),
			Parse:   noOutput("start"),
		}
		return w.EvaluatedBy(func(_ int64, by map[string]workload.StepResult) (map[string]float64, error) {
			return map[string]float64{"time": by["program"].Wall.Seconds()}, nil
		})
	})
}

// noOutput is the Parse of a workload whose figures are not in the output of its program.
func noOutput(name string) func([]byte) (map[string]float64, error) {
	return func([]byte) (map[string]float64, error) {
		return nil, fault.Guestf("%s has no output to read: run it in a campaign", name)
	}
}
