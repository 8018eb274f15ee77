package tool

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
)

// readHyperfine reads the JSON of --export-json.
func readHyperfine(text string, r *Report) error {
	var doc struct {
		Results []struct {
			Command                        string
			Mean, Stddev, Median, Min, Max float64
			User, System                   float64
			Times                          []float64
			ExitCodes                      []int `json:"exit_codes"`
		}
	}
	objects, _, err := jsonObjects("hyperfine", text)
	if err == nil && len(objects) == 1 {
		err = json.Unmarshal([]byte(objects[0]), &doc)
	}
	if err != nil {
		return err
	}
	if len(objects) > 1 {
		return fault.Guestf("the output has %d results of hyperfine; save each run in its own file", len(objects))
	}
	if len(doc.Results) == 0 {
		return fault.WithRemedy(fault.Guestf("this is not hyperfine's JSON: %s", Quote(text)),
			"run hyperfine with --export-json")
	}
	for _, run := range doc.Results {
		if slices.ContainsFunc(run.ExitCodes, func(c int) bool { return c != 0 }) {
			return fault.Guestf("hyperfine ran a command that failed: %s", Quote(run.Command))
		}
		name := ""
		if len(doc.Results) > 1 {
			name = run.Command + ": "
		}
		r.seconds(name+"mean", run.Mean)
		r.seconds(name+"standard deviation", run.Stddev)
		r.seconds(name+"median", run.Median)
		r.seconds(name+"min", run.Min)
		r.seconds(name+"max", run.Max)
		r.seconds(name+"user", run.User)
		r.seconds(name+"system", run.System)
		for i, v := range run.Times {
			r.seconds(name+"run "+strconv.Itoa(i+1), v)
		}
	}
	return nil
}
