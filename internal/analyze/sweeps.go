package analyze

import (
	"math"
	"slices"
	"strconv"

	"github.com/tare-bench/tare/internal/model"
)

// The parameters of curves that are no parameter of a workload: the size of a trial, and how many guests run at once.
const (
	BySize   = "size"
	ByGuests = "guests"
)

// sweptWorkload is one of several workloads that differ in one parameter alone.
type sweptWorkload struct {
	of, parameter string // the workload without the parameter
	at            float64
	workload      string
}

// sweptCurves are the curves whose points are several workloads, or several scenarios of a workload.
func (a *analysis) sweptCurves() ([]Curve, error) {
	var all []sweptWorkload
	for _, name := range a.workloads() {
		series := model.ParseSeries(name)
		for i, p := range series.Params {
			at, err := strconv.ParseFloat(p.Value, 64)
			if err != nil || !(at > 0) || math.IsInf(at, 0) {
				continue
			}
			rest := model.Series{Workload: series.Workload, Params: slices.Delete(slices.Clone(series.Params), i, i+1)}
			all = append(all, sweptWorkload{rest.String(), p.Name, at, name})
		}
	}
	type key struct{ of, parameter string }
	var out []Curve
	for k, of := range grouped(all, func(w sweptWorkload) key { return key{w.of, w.parameter} }) {
		if len(of) < 2 {
			continue
		}
		c := Curve{Workload: k.of, Parameter: k.parameter, In: a.sizeUnit(k.parameter, of[0].workload)}
		for mi, m := range a.in.Metrics[:a.cpuTime] {
			if m.Workload != of[0].workload {
				continue
			}
			metrics := make([]int, len(of)) // of each workload
			for i, w := range of {
				metrics[i] = a.metricNamed(w.workload, m.Name)
			}
			c.Name = m.Name
			for ai := range a.in.Arms {
				spots := []spot{{of[0].at, mi, ai}}
				for i := 1; i < len(of); i++ {
					if metrics[i] >= 0 {
						spots = append(spots, spot{of[i].at, metrics[i], ai})
					}
				}
				var err error
				if out, err = a.addCurve(out, c, spots, 2); err != nil {
					return nil, err
				}
			}
		}
	}
	return a.addByGuests(out)
}

// addByGuests adds the curves over the number of guests at once, of equal guests without neighbours, by the first
// metric of each workload.
func (a *analysis) addByGuests(out []Curve) ([]Curve, error) {
	for mi, m := range a.in.Metrics {
		if !m.Primary {
			continue
		}
		var all []spot
		for ai, arm := range a.in.Arms {
			if _, control := a.in.Controls[arm.Name]; !control && arm.Uniform() && !arm.Paired && len(arm.Neighbours) == 0 {
				all = append(all, spot{float64(max(len(arm.Members), 1)), mi, ai})
			}
		}
		type key struct{ of, flavor string }
		for k, spots := range grouped(all, func(s spot) key {
			arm := a.in.Arms[s.arm]
			return key{arm.Of, arm.Flavor}
		}) {
			c := Curve{Workload: m.Workload, Name: m.Name, Parameter: ByGuests, Arm: k.of}
			var err error
			if out, err = a.addCurve(out, c, spots, 3); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// addCurve adds a curve unless it has fewer than least points, or several at the same value.
func (a *analysis) addCurve(out []Curve, c Curve, spots []spot, least int) ([]Curve, error) {
	if len(spots) < least {
		return out, nil
	}
	if err := a.draw(&c, spots); err != nil {
		return nil, err
	}
	for i := 1; i < len(c.Points); i++ {
		if c.Points[i].At == c.Points[i-1].At {
			return out, nil
		}
	}
	if len(c.Points) >= least {
		out = append(out, c)
	}
	return out, nil
}

// metricNamed is the index of a workload's metric; -1: there is none.
func (a *analysis) metricNamed(workload, name string) int {
	for mi, m := range a.in.Metrics[:a.cpuTime] {
		if m.Workload == workload && m.Name == name {
			return mi
		}
	}
	return -1
}

// sizeUnit is the unit of a workload's sizes if they are the parameter.
func (a *analysis) sizeUnit(parameter, workload string) string {
	for _, s := range a.in.Sizes {
		if parameter == BySize && s.Workload == workload {
			return s.Unit
		}
	}
	return ""
}
