package workload

import (
	"cmp"
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

// CheckParam returns an error of the kind fault.Campaign if the workload has no parameter of
// that name, or if the parameter does not accept value.
func (w *Workload) CheckParam(name, value string) error {
	var names []string
	for _, p := range w.Params {
		if p.Name == name {
			if err := p.Check(value); err != nil {
				return fault.Campaignf("%s: %w", w.Name, err)
			}
			return nil
		}
		names = append(names, p.Name)
	}
	hint := ""
	if near := nearest.Nearest(name, names); near != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", near)
	}
	return fault.Campaignf("%s has no parameter %s; it has %s%s", w.Name, tool.Quote(name),
		cmp.Or(strings.Join(names, ", "), "none"), hint)
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
	for _, p := range w.Params {
		value, ok := set[p.Name]
		if !ok {
			value = p.Default
		}
		all[p.Name] = value
	}
	for given, value := range set {
		if err := w.CheckParam(given, value); err != nil {
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
