package tool

import (
	"regexp"

	"github.com/tare-bench/tare/internal/fault"
)

// pythonFinished is the last module that the interpreter imports before the program, unless it runs with -S.
const pythonFinished = "site"

var pythonLines = lineTool{
	failed: regexp.MustCompile(`(?m)^(?:\w*(?:Error|Exception)\b.*|Traceback .*|python3?: .*|Fatal .*)$`),
	lines: []figureLine{
		row(`^import time: +(\d+) \| +(\d+) \| +(\S+)$`, column{"%3: self", "us", Lower}, column{"%3: cumulative", "us", Lower},
			label),
	}, check: func(r *Report) error {
		if len(r.Figures) > 0 && len(r.All(pythonFinished+": self")) == 0 {
			return fault.WithRemedy(fault.Guestf("the module %s is missing: this is not the complete output of one run of "+
				"python3 -X importtime", pythonFinished), "run python3 without -S")
		}
		sum := 0.0
		for _, f := range r.Figures {
			sum += f.Value
		}
		return nil
	}}
