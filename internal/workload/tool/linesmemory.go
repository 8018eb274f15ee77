package tool

import (
	"math"
	"regexp"

	"github.com/tare-bench/tare/internal/fault"
)

// streamKernels are those of STREAM, with the number of arrays that each reads and writes.
var streamKernels = map[string]float64{"Copy": 2, "Scale": 2, "Add": 3, "Triad": 3}

// streamLines are those of STREAM 5. Its MB are 10^6 bytes.
var streamLines = lineTool{failed: regexp.MustCompile(`(?m)^(?:Failed Validation.*|AvgError:.*|.*[Kk]illed$|.*[Ss]egmentation.*)$`),
	lines: []figureLine{
		figures(`^This system uses (\d+) bytes per`, "element", "B", ""),
		figures(`^Array size = (\d+)`, "array", "elements", ""),
		figures(`^Total memory required = ([\d.]+) Mi?B`, "memory", "MiB", ""),
		figures(`^Memory per array = ([\d.]+) Mi?B`, "memory of an array", "MiB", ""),
		figures(`^Number of Threads (requested|counted) = (\d+)`, "threads %1", "1", ""),
		figures(`^Your clock granularity/precision appears to be (\d+) microseconds`, "clock granularity", "us", ""),
		figures(`^Each test below will take on the order of (\d+) microseconds`, "time of a test, about", "us", ""),
		row(`^(Copy|Scale|Add|Triad): +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)$`, label, column{"%1", "MB/s", Higher},
			column{"%1: mean time", "s", Lower}, column{"%1: min time", "s", Lower}, column{"%1: max time", "s", Lower}),
	}, check: func(r *Report) error {
		for _, kernel := range []string{"Copy", "Scale", "Add", "Triad"} {
			rate, err := r.One(kernel)
			if err != nil && len(r.Figures) > 0 {
				return fault.Guestf("this is not the complete output of one run of STREAM: %w", err)
			}
			// An element has 8 bytes.
			bytes, least := 8*streamKernels[kernel]*r.Value("array"), r.Value(kernel+": min time")
			if got := rate.Value * 1e6 * least; bytes > 0 && math.Abs(got-bytes) > 0.001*bytes+rate.Value*1e6*1e-6 {
				return Contradiction("rate × time is not the size of %s: %v MB/s × %v s, but %.0f bytes", kernel, rate.Value, least,
					bytes)
			}
		}
		return nil
	}}

// hdparmLines are those of hdparm -t and -T, whose MB are 2^20 bytes.
var hdparmLines = lineTool{lines: []figureLine{
	row(`^ *Timing ((?:O_DIRECT )?(?:cached|buffered disk|disk) reads)(?: \(offset \d+ GB\))?: +(\d+) MB in +([\d.]+) seconds = +([\d.]+) MB/sec$`,
		label, column{"%1: size", "MiB", ""}, column{"%1: time", "s", Lower}, column{"%1", "MiB/s", Higher}),
	row(`^ *Timing ((?:O_DIRECT )?(?:cached|buffered disk|disk) reads)(?: \(offset \d+ GB\))?: +(\d+) MB in +([\d.]+) seconds = +([\d.]+) kB/sec$`,
		label, column{"%1: size", "MiB", ""}, column{"%1: time", "s", Lower}, column{"%1", "KiB/s", Higher}),
}, check: func(r *Report) error {
	for _, rate := range r.Figures {
		sizes, times := r.All(rate.Name+": size"), r.All(rate.Name+": time")
		if len(sizes) != 1 || len(times) != 1 || len(r.All(rate.Name)) != 1 {
			continue
		}
		perSecond, want := rate.In("B/s"), sizes[0].In("B")
		if math.Abs(perSecond*times[0].Value-want) > 0.001*want+0.006*perSecond {
			return Contradiction("rate × time is not the size of %s: %v %s, %v s, %v MiB", rate.Name, rate.Value, rate.Unit,
				times[0].Value, sizes[0].Value)
		}
	}
	return nil
}}

const sevenZipSide = ` +(\d+) +(\d+) +(\d+) +(\d+)`

// sevenZipLines are those of 7z b: for each size of the dictionary, and for all.
var sevenZipLines = lineTool{lines: []figureLine{
	figures(`RAM size: +(\d+) MB`, "RAM size", "MB", ""),
	figures(`# CPU hardware threads: +(\d+)`, "CPU hardware threads", "1", ""),
	figures(`RAM usage: +(\d+) MB`, "RAM usage", "MB", ""),
	figures(`# Benchmark threads: +(\d+)`, "benchmark threads", "1", ""),
	row(`^ *(\d\d):`+sevenZipSide+` +\|`+sevenZipSide+`$`, sevenZipColumns("dictionary 2^%1: ")...),
	row(`^Avr: +(\d+) +(\d+) +(\d+) +\| +(\d+) +(\d+) +(\d+)$`, sevenZipMeans()...),
	row(`^Avr:`+sevenZipSide+` +\|`+sevenZipSide+`$`, sevenZipColumns("")[1:]...),
	row(`^Tot: +(?:\d+ +)?(\d+) +(\d+) +(\d+)$`, column{"total: usage", "%", ""}, column{"total: R/U", "MIPS", Higher},
		column{"total: rating", "MIPS", Higher}),
}, check: func(r *Report) error {
	if _, err := r.One("total: rating"); err != nil && len(r.Figures) > 0 {
		return fault.Guestf("this is not the complete output of one run of 7z b: %w", err)
	}
	return nil
}}

// sevenZipColumns are the columns of a row, after that of the dictionary.
func sevenZipColumns(prefix string) []column {
	columns := []column{label}
	for _, side := range []string{"compressing", "decompressing"} {
		columns = append(columns, column{prefix + side + ": speed", "KiB/s", Higher},
			column{prefix + side + ": usage", "%", ""}, column{prefix + side + ": R/U", "MIPS", Higher},
			column{prefix + side + ": rating", "MIPS", Higher})
	}
	return columns
}

// sevenZipMeans are the columns of the means, which have no speed.
func sevenZipMeans() []column {
	all := sevenZipColumns("")
	return append(append([]column{}, all[2:5]...), all[6:]...)
}
