package tool

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// IopingRequest matches the end of the line of a request, in Perl as in Go: its number, time, unit of time, and what
// ioping notes of it, with a space before, such as " (slow)".
const IopingRequest = `: request=(\d+) time=(\d+(?:\.\d+)?) (\w+)((?: \([a-z ]+\))?)`

var (
	iopingRequest = regexp.MustCompile(`(?m)^.* (?:<<<|>>>|from|to) .*` + IopingRequest + `$`) // "from": before 1.0
	iopingCounted = line("requests completed",
		`^(\S+(?: [kMGT])?) requests completed in (\S+ \w+), (\S+ \w+)(?: (?:read|written))?, `+
			`(\S+(?: [kMGT])?) iops, (\S+ \w+/s)$`)
	// iopingOld is that of version 0.9 and before, which count all requests.
	iopingOld = line("requests completed", `^(\S+(?: [kMG])?) requests completed in (\S+ \w+), (?:(\S+ \w+)(?: (?:read|written))?, )?`+
		`(\S+(?: [kMGT])?) iops, (\S+ \w+/s)$`)
	iopingOldTimes = line("min/avg", `^min/avg/max/mdev = ([\d.]+)/([\d.]+)/([\d.]+)/([\d.]+) (\w+)$`)
	iopingMade     = line("generated", `^(?:(\S+(?: [kMGT])?) too fast, )?(?:(\S+(?: [kMGT])?) too slow, )?`+
		`generated (\S+(?: [kMGT])?) requests in (\S+ \w+), (\S+ \w+), (\S+(?: [kMGT])?) iops, (\S+ \w+/s)$`)
	iopingTimes  = line("min/avg", `^min/avg/max/mdev = (\S+ \w+) / (\S+ \w+) / (\S+ \w+) / (\S+ \w+)$`)
	iopingRaw    = regexp.MustCompile(`(?m)^\d+(?: \d+){9}$`)
	iopingPrefix = map[string]float64{"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
	// iopingOldUnits are those that versions before 0.9 write so.
	iopingOldUnits = map[string]string{"b": "B", "kb": "KiB", "mb": "MiB", "gb": "GiB", "b/s": "B/s", "kb/s": "KiB/s",
		"mb/s": "MiB/s",
		"gb/s": "GiB/s"}
	iopingLong = map[string]float64{"min": 60, "hour": 3600, "day": 86400}
)

// iopingRawColumns are those of a line of -B and -p, in its order. They are also the figures of ioping's JSON.
var iopingRawColumns = []column{{"requests counted", "1", ""}, {"time counted", "ns", ""},
	{"iops counted", "1/s", Higher}, {"rate counted", "B/s", Higher}, {"min", "ns", Lower}, {"avg", "ns", Lower},
	{"max", "ns", Lower}, {"mdev", "ns", Lower}, {"requests", "1", ""}, {"time", "ns", ""}}

// readIoping reads the requests, the final statistics, the lines of -B and -p, and the JSON of -J. The figures
// "counted" leave out the first request, and those that were too fast or too slow. readIoping says the "operation":
// read, write or both.
func readIoping(text string, r *Report) error {
	if err := r.refused(text); err != nil {
		return err
	}
	r.expect("requests", "generated … requests in")
	r.expect("requests counted", "requests completed in")
	if operation := iopingOperation(text); operation != "" {
		r.say("operation", operation)
	}
	if at := strings.Index("\n"+text, "\n["); at >= 0 {
		return readIopingJSON(text[at:], r)
	}
	raw := iopingRaw.FindAllString(text, -1)
	// With -q and -p, the lines of the intervals are all that ioping prints.
	if strings.Contains(text, "ioping statistics ---") || strings.Contains(text, "request=") || len(raw) == 0 {
		if err := iopingTotals(text, r); err != nil {
			return err
		}
	}
	if err := iopingIntervals(raw, r); err != nil {
		return err
	}
	return iopingRequests(text, r)
}

// iopingOperation is "" if the output does not say it: with -B and -p.
func iopingOperation(text string) string {
	read := strings.Contains(text, " read, ") || strings.Contains(text, " <<< ") || strings.Contains(text, " from ") ||
		strings.Contains(text, `"operation": "read"`)
	wrote := strings.Contains(text, " written, ") || strings.Contains(text, " >>> ") || strings.Contains(text,
		" bytes to ") || strings.Contains(text, " kb to ") ||
		strings.Contains(text, `"operation": "write"`)
	switch {
	case read && wrote, strings.Contains(text, " requests completed in ") && !read && !wrote:
		return "read and write"
	case wrote:
		return "write"
	case read:
		return "read"
	}
	return ""
}

// iopingIntervals adds the lines of -B and -p. Where nothing else is printed, several lines may be intervals of a run,
// or runs.
func iopingIntervals(raw []string, r *Report) error {
	of := "interval"
	if len(r.Figures) == 0 {
		of = "line"
	}
	for i, line := range raw {
		prefix := fmt.Sprintf("%s %d: ", of, i+1)
		if len(raw) == 1 && len(r.Figures) == 0 {
			prefix = ""
		}
		f := r.numbers(strings.Fields(line)...)
		for i, c := range iopingRawColumns {
			r.add(prefix+c.name, f[i], c.unit, c.better)
		}
		if err := r.doubt(iopingConsistent(f[0], f[4], f[5], f[6])); err != nil {
			return err
		}
	}
	return nil
}

// iopingRequests adds the single requests, of which there must be as many as the statistics count.
func iopingRequests(text string, r *Report) error {
	requests := iopingRequest.FindAllStringSubmatch(text, -1)
	if shown := strings.Count(text, "request="); shown != len(requests) || shown > 0 && len(r.All("requests")) > 0 &&
		float64(shown) != r.Value("requests") && shown < 1000 {
		return fault.Guestf("ioping reports %v requests, but the output has %d complete lines \"request=\": it is damaged",
			r.Value("requests"), len(requests))
	}
	for _, m := range requests {
		if err := addIoping(r, column{"request " + m[1] + m[4], "", Lower}, m[2]+" "+m[3]); err != nil {
			return err
		}
	}
	return nil
}

// iopingTotals adds the final statistics.
func iopingTotals(text string, r *Report) error {
	type kind struct {
		line    *pattern
		columns []column // a unit of "": as printed
	}
	kinds := []kind{
		{iopingCounted, []column{{"requests counted", "1", ""}, {"time counted", "", ""}, {"data counted", "", ""},
			{"iops counted", "1/s", Higher}, {"rate counted", "", Higher}}},
		{iopingTimes, []column{{"min", "", Lower}, {"avg", "", Lower}, {"max", "", Lower}, {"mdev", "", Lower}}},
		{iopingMade, []column{{"too fast", "1", ""}, {"too slow", "1", ""}, {"requests", "1", ""}, {"time", "", ""},
			{"data", "", ""}, {"iops", "1/s", Higher}, {"rate", "", Higher}}},
	}
	if iopingMade.first(text) == nil && iopingOld.first(text) != nil && iopingCounted.first(text) == nil ||
		strings.Contains(text, " from ") {
		r.Version = "0.9 or before"
		kinds[0].line, kinds = iopingOld, kinds[:2]
		if m := iopingOldTimes.first(text); m != nil {
			for i, c := range kinds[1].columns {
				if err := addIoping(r, c, m[i+1]+" "+m[5]); err != nil {
					return err
				}
			}
			kinds = kinds[:1]
		}
	}
	for _, kind := range kinds {
		m, err := kind.line.once("ioping", text)
		if err != nil {
			return err
		}
		for i, c := range kind.columns {
			if m[i+1] == "" {
				continue
			}
			if err := addIoping(r, c, m[i+1]); err != nil {
				return err
			}
		}
	}
	in := func(name string) float64 { return r.All(name)[0].In("s") }
	return r.doubt(iopingConsistent(r.Value("requests counted"), in("min"), in("avg"), in("max")))
}

// addIoping adds a number with a prefix or a unit, such as "24.8 k" or "1.63 ms".
func addIoping(r *Report, c column, text string) error {
	number, of, _ := strings.Cut(text, " ")
	v, err := Number(number)
	switch {
	case err != nil:
		return err
	case c.unit != "" && of != "":
		r.addScaled(c.name, number, " "+of, iopingPrefix[of], c.unit, c.better)
		return nil
	case c.unit == "" && iopingOldUnits[of] != "":
		r.addScaled(c.name, number, " "+of, 1, iopingOldUnits[of], c.better)
		return nil
	case c.unit == "" && iopingLong[of] > 0:
		r.addAs(iopingLong[of], c.name, v, of, c.better)
		return nil
	case c.unit == "" && units[of] == 0:
		return damaged("ioping", text)
	case c.unit == "":
		c.unit = of
	}
	r.add(c.name, v, c.unit, c.better)
	return nil
}

// readIopingJSON reads requests, the statistics of intervals, and the last ones, which are of all.
func readIopingJSON(text string, r *Report) error {
	type totals struct{ Count, Size, Time, IOPS, BPS, Min, Avg, Max, MDev float64 }
	var list []struct {
		IO *struct {
			Request int
			Time    float64
			Ignored bool
		}
		Stat, Load *totals
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(&list); err != nil {
		return fault.Guestf("ioping's JSON is damaged or cut off: %w", err)
	}
	if strings.Contains(text[decoder.InputOffset():], "[{") {
		return fault.Guestf("the output has several results of ioping; save each run in its own file")
	}
	intervals := 0
	for _, of := range list {
		if of.IO == nil {
			intervals++
		}
	}
	if intervals == 0 || list[len(list)-1].Stat == nil || list[len(list)-1].Load == nil {
		return fault.Guestf("ioping's JSON does not end with \"stat\" and \"load\": it is not the complete output of one run")
	}
	interval := 0
	for _, of := range list {
		switch {
		case of.IO != nil:
			name := "request " + strconv.Itoa(of.IO.Request)
			if of.IO.Ignored {
				name += " (ignored)"
			}
			r.add(name, of.IO.Time, "ns", Lower)
			continue
		case of.Stat == nil || of.Load == nil:
			return fault.Guestf("ioping's JSON has an entry without \"io\", \"stat\" and \"load\": it is damaged")
		}
		interval++
		prefix := ""
		if interval < intervals {
			prefix = fmt.Sprintf("interval %d: ", interval)
		}
		s, l := of.Stat, of.Load
		for i, v := range []float64{s.Count, s.Time, s.IOPS, s.BPS, s.Min, s.Avg, s.Max, s.MDev, l.Count, l.Time} {
			c := iopingRawColumns[i]
			r.add(prefix+c.name, v, c.unit, c.better)
		}
		r.add(prefix+"data counted", s.Size, "B", "")
		r.add(prefix+"data", l.Size, "B", "")
		r.add(prefix+"iops", l.IOPS, "1/s", Higher)
		r.add(prefix+"rate", l.BPS, "B/s", Higher)
		if err := r.doubt(iopingConsistent(s.Count, s.Min, s.Avg, s.Max)); err != nil {
			return err
		}
	}
	return nil
}

func iopingConsistent(counted, least, mean, most float64) error {
	const rounding = 1.001
	if counted == 0 || mean == 0 || least > mean*rounding || mean > most*rounding {
		return Contradiction("%.0f requests cannot have minimum %v, mean %v and maximum %v", counted, least, mean, most)
	}
	return nil
}
