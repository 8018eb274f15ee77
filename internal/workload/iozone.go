package workload

import (
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// iozone runs all of iozone's tests on one file, with each record size.
func iozone() *Workload {
	w := &Workload{
		Name: "iozone", Title: "iozone: a file written and read in thirteen ways, with records of 4 KiB to 16 MiB",
		ArticleIDs: []string{"A7-iozone", "L3-iozone"}, Source: "iozone -a -z (iozone3)",
		Packages: []string{"iozone3"}, NonFree: true, Tools: []string{"iozone"},
		Metrics:  []Metric{wallMetric("all tests, as in the articles")},
		SizeUnit: "MiB, the size of the file", MinSize: 16, MaxSize: 1 << 20, DefaultSize: 512,
		DiskBytes: func(size int64) int64 { return size << 20 },
	}
	for _, test := range iozoneTests {
		w.Metrics = append(w.Metrics, rateMetric(iozoneMetric(test), "B/s", "iozone's "+test+", all record sizes together: bytes / the sum of the times"))
	}
	w.Steps = func(size int64) []Step {
		return []Step{{Name: "iozone", Timed: true, Argv: []string{"iozone", "-a", "-z", "-s", strconv.FormatInt(size, 10) + "m", "-f", "iozone.tmp"}}}
	}
	return w.measuredBy("iozone", func(text string) (reading, error) {
		cells, err := parseIozone(text)
		if err != nil {
			return reading{}, err
		}
		// Each record size moves the whole file, so the mean of the rates is harmonic.
		n, times := map[string]int{}, map[string]float64{}
		for _, c := range cells {
			n[c.test]++
			times[c.test] += 1 / (c.rate * 1024)
		}
		r := reading{values: map[string]float64{}}
		for test, t := range times {
			r.values[iozoneMetric(test)] = float64(n[test]) / t
		}
		r.check = func(size int64) error {
			for _, c := range cells {
				if c.size != float64(size<<10) {
					return fault.Guestf("iozone's file has %.0f KiB instead of %d", c.size, size<<10)
				}
			}
			for _, test := range iozoneTests {
				if n[test] != n[iozoneTests[0]] {
					return fault.Guestf("iozone ran %s with %d record sizes, but %s with %d", test, n[test], iozoneTests[0], n[iozoneTests[0]])
				}
			}
			return nil
		}
		return r, nil
	})
}

func iozoneMetric(test string) string { return strings.ReplaceAll(test, " ", "-") }
