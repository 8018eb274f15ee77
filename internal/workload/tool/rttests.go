package tool

import (
	"encoding/json"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	hackbenchAny   = line("", `^(?:Time: |Each sender will pass |Running in \w+ mode )`)
	hackbenchTime  = line("Time:", `^Time: (\d+\.\d+)$`)
	hackbenchLoops = line("Each sender", `^Each sender will pass (\d+) messages of \d+ bytes$`)
	hackbenchTasks = line("Running in", `^Running in \w+ mode with \d+ groups using \d+ file descriptors each \(== (\d+) tasks\)$`)
	cyclictestLine = line("T:", `^T: *\d+ \( *\d+\) P: *\d+ I: *\d+ C: *(\d+) Min: *(\d+) Act: *\d+ Avg: *(\d+) Max: *(\d+)\r?$`)
)

// readRTTests reads the output of hackbench and of cyclictest.
func readRTTests(text string, r *Report) error {
	if err := refused("rt-tests", text); err != nil {
		return err
	}
	if hackbenchAny.find(Grep(text, "Time:", "Each sender", "Running in")) == "" {
		return readCyclictest(text, r)
	}
	var tasks, messages, seconds float64
	err := takeOnce("hackbench", text, pick{hackbenchTasks, []*float64{&tasks}},
		pick{hackbenchLoops, []*float64{&messages}},
		pick{hackbenchTime, []*float64{&seconds}})
	r.seconds("time", seconds)
	r.add("tasks", tasks, "1", "")
	r.add("messages of each sender", messages, "1", "")
	return err
}

// readCyclictest reads the line of one thread, or the JSON of --json.
func readCyclictest(text string, r *Report) error {
	var cycles, least, mean, most float64
	if at := jsonAt(text); at >= 0 {
		var doc struct {
			Status  float64 `json:"return_code"`
			Threads map[string]struct {
				Cycles, Min, Avg, Max float64
			} `json:"thread"`
		}
		if err := json.NewDecoder(strings.NewReader(text[at:])).Decode(&doc); err != nil {
			return fault.Guestf("cyclictest's JSON is damaged or cut off: %w", err)
		}
		t, one := doc.Threads["0"]
		if !one || len(doc.Threads) != 1 || doc.Status != 0 {
			return fault.Guestf("cyclictest's JSON has %d threads and return code %v; expected one thread and return code 0",
				len(doc.Threads), doc.Status)
		}
		cycles, least, mean, most = t.Cycles, t.Min, t.Avg, t.Max
	} else if cyclictestLine.find(text) == "" {
		return fault.Guestf("the output has neither the line %q of hackbench nor the line %q of cyclictest: %s", "Time:",
			"T:", Quote(text))
	} else if err := takeOnce("cyclictest", text,
		pick{cyclictestLine, []*float64{&cycles, &least, &mean, &most}}); err != nil {
		return err
	}
	if cycles == 0 || least > mean || mean > most {
		return Contradiction("%.0f wake-ups cannot have minimum %v, mean %v and maximum %v µs", cycles, least, mean, most)
	}
	r.add("wake-ups", cycles, "1", "")
	r.add("min wake-up latency", least, "us", Lower)
	r.add("mean wake-up latency", mean, "us", Lower)
	r.add("max wake-up latency", most, "us", Lower)
	return nil
}
