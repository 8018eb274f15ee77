package tool

import (
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	mbwLine = line("Method:",
		`^(\d+|AVG)[ \t]+Method: (MEMCPY|DUMB|MCBLOCK)[ \t]+Elapsed: (\d+\.\d+)[ \t]+MiB: (\d+\.\d+)[ \t]+Copy: (\d+\.\d+) MiB/s$`)
	mbwPlan = line("Doing", `Doing (\d+) runs per test\.$`)
	// mbwMethods are mbw's ways to copy.
	mbwMethods = []string{"MEMCPY", "DUMB", "MCBLOCK"}
)

// readMbw reads the runs and means of all methods, of which mbw makes the same number of runs. Output of -a and -t,
// without means or some methods, could also have been cut off.
func readMbw(text string, r *Report) error {
	if err := r.refused(text); err != nil {
		return err
	}
	means, runs := map[string]int{}, map[string]float64{}
	var order []string
	for _, m := range mbwLine.all(text) {
		f := r.numbers(m[3:]...)
		// Seconds have a resolution of 10 µs.
		if seconds, mib, rate := f[0], f[1], f[2]; rate == 0 || math.Abs(mib/rate-seconds) > 0.00001+0.001*seconds {
			if err := r.doubt(Contradiction("rate × time is not the size: %s", Quote(m[0]))); err != nil {
				return err
			}
		}
		method := m[2]
		if !slices.Contains(order, method) {
			order = append(order, method)
		}
		name := method + " "
		if m[1] == "AVG" {
			if means[method]++; means[method] > 1 {
				return fault.Guestf("the output contains two means of %s; save each run in its own file", method)
			}
		} else {
			name += "run " + m[1] + " "
			runs[method]++
		}
		r.add(name+"bandwidth", f[2], "MiB/s", Higher)
		r.seconds(name+"time", f[0])
		r.add(name+"size", f[1], "MiB", "")
	}
	if len(order) == 0 {
		return nil
	}
	for _, method := range mbwMethods {
		if means[method] == 0 || runs[method] != runs[order[0]] {
			return mbwCut(method)
		}
	}
	if plan := mbwPlan.first(text); plan != nil {
		if n, err := Number(plan[1]); err != nil || n != runs[order[0]] {
			return mbwCut(order[0])
		}
	}
	r.add("runs of each method", runs[order[0]], "1", "")
	return nil
}

// mbwCut is the error for output without all lines of a method.
func mbwCut(method string) error {
	return fault.Guestf("mbw printed no mean of %s, or another number of runs than for the other methods: "+
		"this is not the complete output of one run", method)
}
