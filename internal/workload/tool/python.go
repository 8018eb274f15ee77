package tool

import (
	"regexp"

	"github.com/tare-bench/tare/internal/fault"
)

// readPython reads the table of python3 -X importtime.
func readPython(text string, r *Report) error {
	if err := lines(pythonLines)(text, r); err != nil || len(r.Figures) == 0 {
		return err
	}
	if len(r.All("site: self")) == 0 || len(r.All("_io: self")) == 0 {
		return fault.WithRemedy(fault.Guestf("the modules _io and site are missing: this is not the complete output of one "+
			"run of python3 -X importtime"), "run python3 without -S")
	}
	if n := len(r.All("site: self")); n > 1 {
		return fault.Guestf("the output is of %d starts of python3; save each in its own file", n)
	}
	imports, sum := len(r.Figures)/2, 0.0
	for i := 0; i < len(r.Figures); i += 2 {
		sum += r.Figures[i].Value
	}
	r.add("imports", float64(imports), "1", "")
	r.add("all imports", sum, "us", Lower)
	return nil
}

var pythonLines = lineTool{
	failed: regexp.MustCompile(`(?m)^(?:\w*(?:Error|Exception)\b.*|Traceback .*|python3?: .*|Fatal .*)$`),
	lines: []figureLine{row(`^import time: +(\d+) \| +(\d+) \| +(\S+)$`, column{"%3: self", "us", Lower},
		column{"%3: cumulative", "us", Lower}, label)},
}
