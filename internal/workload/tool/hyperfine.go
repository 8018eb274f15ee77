package tool

import (
	"encoding/csv"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	hyperfineStart = regexp.MustCompile(`^Benchmark #?\d+: (.*)$`)
	hyperfineTime  = row(`^  Time \(mean ± σ\): +([\d.]+) (\S+) ± +([\d.]+) (\S+) +\[User: ([\d.]+) (\S+), System: ([\d.]+) (\S+)\]$`,
		column{"mean", "%2", Lower}, label, column{"standard deviation", "%4", Lower}, label, column{"user", "%6", Lower},
		label, column{"system", "%8", Lower}, label)
	hyperfineOnce = row(`^  Time \(abs ≡\): +([\d.]+) (\S+) +\[User: ([\d.]+) (\S+), System: ([\d.]+) (\S+)\]$`,
		column{"mean", "%2", Lower}, label, column{"user", "%4", Lower}, label, column{"system", "%6", Lower}, label)
	hyperfineRange = row(`^  Range \(min … max\): +([\d.]+) (\S+) … +([\d.]+) (\S+) +(\d+) runs$`,
		column{"min", "%2", Lower}, label, column{"max", "%4", Lower}, label, column{"runs", "1", ""})
	hyperfineFaster = row(`^ +([\d.]+) ± ([\d.]+) times (?:faster|slower) than (.*)$`,
		column{"times faster than %3", "1", ""},
		column{"times faster than %3: standard deviation", "1", ""}, label)
	hyperfineHead = regexp.MustCompile(`(?m)^\| Command \| Mean \[(\w+)\] \| Min \[\w+\] \| Max \[\w+\] \| Relative \|$`)
	hyperfineRow  = regexp.MustCompile(
		`^\| (.*) \| ([\d.]+)(?: ± ([\d.]+))? \| ([\d.]+) \| ([\d.]+) \| ([\d.]+)(?: ± ([\d.]+))? \|$`)
	hyperfineCSV = regexp.MustCompile(`(?ms)^command,mean,stddev,median,user,system,min,max(?:,parameter_[^\n]*)?\n.*`)
)

// readHyperfineText reads what hyperfine prints on a terminal. Names begin with the command if there are several.
func readHyperfineText(text string, r *Report) error {
	if strings.Contains(text, "Ignoring non-zero exit code") {
		if err := r.doubt(fault.Guestf("hyperfine ran a command that failed")); err != nil {
			return err
		}
	}
	prefix, several := "", strings.Count("\n"+text, "\nBenchmark ") > 1
	complete := true
	for line := range strings.SplitSeq(text, "\n") {
		if m := hyperfineStart.FindStringSubmatch(line); m != nil {
			if !complete {
				break
			}
			complete = false
			if several {
				prefix = quoteless(m[1]) + ": "
			}
			continue
		}
		one := &Report{}
		if err := addFigures(one, line,
			[]figureLine{hyperfineTime, hyperfineOnce, hyperfineRange, hyperfineFaster}); err != nil {
			return err
		}
		if hyperfineFaster.line.MatchString(line) {
			r.include("", one)
		} else {
			r.include(prefix, one)
		}
		complete = complete || hyperfineOnce.line.MatchString(line) || hyperfineRange.line.MatchString(line)
	}
	if !complete || several && !strings.Contains(text, " times ") {
		return fault.Guestf("hyperfine's text has a benchmark without \"Range (min … max):\", or no summary: it is cut off")
	}
	return nil
}

// readHyperfineTable reads the table of --export-markdown, or of --export-csv, whose times are in seconds.
func readHyperfineTable(text string, r *Report) error {
	add := func(command string, several bool, unit string, names, words []string) {
		for i, word := range words {
			if word == "" {
				continue
			}
			name, of := names[i], unit
			if strings.HasPrefix(name, "relative") {
				of = "1"
			}
			if several {
				name = quoteless(command) + ": " + name
			}
			r.add(name, r.number(word), of, Lower)
		}
	}
	if head := hyperfineHead.FindStringSubmatch(text); head != nil {
		several := strings.Count("\n"+text, "\n| ") > 2
		for line := range strings.SplitSeq(text, "\n") {
			if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Command ") {
				continue
			}
			m := hyperfineRow.FindStringSubmatch(line)
			if m == nil {
				return damaged("hyperfine", line)
			}
			add(strings.Trim(m[1], "`"), several, head[1],
				[]string{"mean", "standard deviation", "min", "max", "relative", "relative: standard deviation"}, m[2:])
		}
		return nil
	}
	rows, err := csv.NewReader(strings.NewReader(hyperfineCSV.FindString(text))).ReadAll()
	if err != nil {
		return fault.Guestf("hyperfine's CSV is damaged or cut off: %w", err)
	}
	for _, row := range rows[1:] {
		add(row[0], len(rows) > 2, "s",
			[]string{"mean", "standard deviation", "median", "user", "system", "min", "max"}, row[1:8])
	}
	return nil
}

// readHyperfine reads the JSON of --export-json, the other tables that hyperfine exports, or its text.
func readHyperfine(text string, r *Report) error {
	switch {
	case hyperfineHead.MatchString(text), hyperfineCSV.MatchString(text):
		return readHyperfineTable(text, r)
	case jsonAt(text) < 0 && strings.Contains(text, "Benchmark "):
		return readHyperfineText(text, r)
	}
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
			if err := r.doubt(fault.Guestf("hyperfine ran a command that failed: %s", Quote(run.Command))); err != nil {
				return err
			}
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
