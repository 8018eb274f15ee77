package tool

import (
	"math"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	mbwLine = line("Method:", `^(\d+|AVG)\tMethod: (MEMCPY|DUMB|MCBLOCK)\tElapsed: (\d+\.\d+)\tMiB: (\d+\.\d+)\tCopy: (\d+\.\d+) MiB/s\r?$`)
	// mbwMethods are mbw's ways to copy.
	mbwMethods = []string{"MEMCPY", "DUMB", "MCBLOCK"}
)

// readMbw reads the means of all methods, of which mbw makes the same number of runs.
func readMbw(text string, r *Report) error {
	if err := refused("mbw", text); err != nil {
		return err
	}
	rates, runs := map[string]float64{}, map[string]float64{}
	for _, m := range mbwLine.all(text) {
		f, err := Numbers(m[3:]...)
		if err != nil {
			return err
		}
		// Seconds have a resolution of 10 µs.
		if seconds, mib, rate := f[0], f[1], f[2]; rate == 0 || math.Abs(mib/rate-seconds) > 0.00001+0.001*seconds {
			return Contradiction("rate × time is not the size: %s", Quote(m[0]))
		}
		method := m[2]
		if m[1] != "AVG" {
			runs[method]++
		} else if rates[method] != 0 {
			return fault.Guestf("the output contains two means of %s; save each run in its own file", method)
		} else {
			rates[method] = f[2]
		}
	}
	for _, method := range mbwMethods {
		if rates[method] == 0 || runs[method] != runs["MEMCPY"] {
			return fault.Guestf("mbw printed no mean of %s, or another number of runs than for the other methods: "+
				"this is not the complete output of one run", method)
		}
		r.add(method+" bandwidth", rates[method], "MiB/s", Higher)
	}
	r.add("runs of each method", runs["MEMCPY"], "1", "")
	return nil
}
