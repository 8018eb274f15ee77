package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/nearest"
	"github.com/tare-bench/tare/internal/workload/tool"
)

// Param is a parameter of a workload that a campaign may set, such as its number
// of threads. Each of several values makes a workload of its own.
type Param struct {
	Name    string   `json:"name"`
	Default string   `json:"default"`
	Values  []string `json:"values,omitempty"` // the permitted ones; nil: integers from Min to Max
	Min     int64    `json:"min,omitempty"`
	Max     int64    `json:"max,omitempty"`
	About   string   `json:"about"` // one line
}

// Check returns an error of the kind fault.Campaign if the parameter does not
// accept value.
func (p Param) Check(value string) error {
	if p.Values != nil {
		if slices.Contains(p.Values, value) {
			return nil
		}
		return fault.Campaignf("%s must be one of %s, not %s", p.Name, strings.Join(p.Values, ", "), tool.Quote(value))
	}
	if n, err := strconv.ParseInt(value, 10, 64); err != nil || n < p.Min || n > p.Max {
		return fault.Campaignf("%s must be a whole number from %d to %d, not %s", p.Name, p.Min, p.Max, tool.Quote(value))
	}
	return nil
}

// Settings has a value for each of a workload's parameters, by name.
type Settings map[string]string

// Int is the value of a parameter that is a whole number.
func (s Settings) Int(name string) int {
	n, err := strconv.Atoi(s[name])
	if err != nil {
		panic(fmt.Sprintf("workload: parameter %s is %q", name, s[name])) // checked by With
	}
	return n
}

// WithParams returns a workload with parameters, at their defaults. build returns
// the workload for any settings that the parameters accept.
func WithParams(params []Param, build func(Settings) *Workload) *Workload {
	defaults := Settings{}
	for _, p := range params {
		defaults[p.Name] = p.Default
	}
	w := build(defaults)
	w.Params, w.build, w.Settings = params, build, defaults
	return w
}

// With returns the workload with some of its parameters set, and the others at
// their defaults. name is its name in results: "sysbench-cpu[threads=4]".
func (w *Workload) With(name string, set map[string]string) (*Workload, error) {
	all := Settings{}
	var names []string
	for _, p := range w.Params {
		value, ok := set[p.Name]
		if !ok {
			value = p.Default
		}
		if err := p.Check(value); err != nil {
			return nil, err
		}
		all[p.Name] = value
		names = append(names, p.Name)
	}
	for given := range set {
		if !slices.Contains(names, given) {
			err := fault.Campaignf("%s has no parameter %s", w.Name, tool.Quote(given))
			if n := nearest.Nearest(given, names); n != "" {
				return nil, fault.WithRemedy(err, "did you mean %q?", n)
			}
			return nil, err
		}
	}
	copied := *w
	if w.build != nil {
		copied = *w.build(all)
		copied.Params, copied.build, copied.Settings = w.Params, w.build, all
	}
	copied.Name = name
	return &copied, nil
}
