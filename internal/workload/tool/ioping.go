package tool

import (
	"encoding/json"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// iopingReport has times in seconds. requests includes the first one, which ioping
// leaves out of counted.
type iopingReport struct{ requests, counted, min, mean, max, dev float64 }

var (
	iopingCounted = line("requests completed", `^(\d+(?:\.\d+)?)( [kMG])? requests completed in `)
	iopingMade    = line("generated", `^generated (\d+(?:\.\d+)?)( [kMG])? requests in `)
	iopingTimes   = line("min/avg",
		`^min/avg/max/mdev = (\d+(?:\.\d+)?) (ns|us|ms|s|min) / (\d+(?:\.\d+)?) (ns|us|ms|s|min) / (\d+(?:\.\d+)?) (ns`+
			`|us|ms|s|min) / (\d+(?:\.\d+)?) (ns|us|ms|s|min)\r?$`)
	iopingUnit = map[string]float64{"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "": 1, " k": 1e3, " M": 1e6,
		" G": 1e9}
)

// parseIoping reads ioping's final statistics, or the JSON of -J.
func parseIoping(text string) (iopingReport, error) {
	var p iopingReport
	if err := refused("ioping", text); err != nil {
		return p, err
	}
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		return parseIopingJSON(text)
	}
	for _, want := range []pick{
		{iopingCounted, []*float64{&p.counted}},
		{iopingMade, []*float64{&p.requests}},
		{iopingTimes, []*float64{&p.min, &p.mean, &p.max, &p.dev}},
	} {
		m := want.line.all(text)
		if len(m) != 1 {
			return p, fault.Guestf("%d lines with %q instead of one: this is not the complete output of one run of ioping",
				len(m), want.line.word)
		}
		for i, to := range want.to {
			f, err := Number(m[0][1+2*i])
			if err != nil {
				return p, err
			}
			*to = f * iopingUnit[m[0][2+2*i]]
		}
	}
	return p, p.consistent()
}

func parseIopingJSON(text string) (iopingReport, error) {
	var p iopingReport
	var list []struct {
		IO struct {
			Time    float64 `json:"time"`
			Ignored bool    `json:"ignored"`
		} `json:"io"`
	}
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&list); err != nil {
		return p, fault.Guestf("ioping's JSON is damaged or cut off: %w", err)
	}
	for _, r := range list {
		p.requests++
		if r.IO.Ignored {
			continue
		}
		s := r.IO.Time / 1e9
		if p.counted == 0 || s < p.min {
			p.min = s
		}
		p.counted++
		p.mean += s
		p.max = max(p.max, s)
	}
	if p.counted > 0 {
		p.mean /= p.counted
	}
	return p, p.consistent()
}

func (p iopingReport) consistent() error {
	const rounding = 1.001
	if p.counted == 0 || p.mean == 0 || p.min > p.mean*rounding || p.mean > p.max*rounding {
		return Contradiction("%.0f requests cannot have minimum %v, mean %v and maximum %v s", p.counted, p.min, p.mean,
			p.max)
	}
	return nil
}

// readIoping says the "operation", read or write.
func readIoping(text string, r *Report) error {
	p, err := parseIoping(text)
	if err != nil {
		return err
	}
	if strings.Contains(text, ` written, `) || strings.Contains(text, `"operation": "write"`) {
		r.say("operation", "write")
	} else {
		r.say("operation", "read")
	}
	r.add("requests counted", p.counted, "1", "")
	r.add("min", p.min*1e6, "us", Lower)
	r.add("avg", p.mean*1e6, "us", Lower)
	r.add("max", p.max*1e6, "us", Lower)
	r.add("mdev", p.dev*1e6, "us", Lower)
	r.add("requests", p.requests, "1", "")
	return nil
}
