package paper

import (
	"slices"
	"strings"
)

const (
	nativeSystem = "native"
	dom0System   = "xen-dom0"
)

// repetition defines how to measure an article again.
type repetition struct {
	article   string
	baseline  string // the article's system
	relatives []relative
	stages    []stage
	figures   []figure // the first that matches a row applies
	extras    []Extra
	notes     []string // other differences from the article
}

// relative lists the systems that may take the place of one of the article's, best
// first.
type relative struct {
	system string
	as     []string
	part   string // its flavor in a mix
	why    string // the difference, or why there is no such system
}

// stage is a campaign: workloads, and the scenarios in which all of them run.
type stage struct {
	name    string
	company []string
	series  []string
	// sizes are the article's, in the workload's unit. A trial does the share of it
	// that the user asks for, or else scale; 0: tare calibrates the size.
	sizes map[string]int64
	scale float64
	heavy float64 // its share of the time, 0: by its number of trials
	wired bool    // its guests are on a network
}

func (s stage) weight() float64 {
	if s.heavy > 0 {
		return s.heavy
	}
	return float64(len(s.series) * len(s.company))
}

// figure defines the measurement that repeats some figures of the article. An empty
// word matches any; table and unit match as prefixes, the others as substrings.
type figure struct {
	table, workload, scenario, statistic, unit string

	stage, series, metric, company string

	factor float64 // from the metric's unit to the article's
	higher bool    // more is better
	parts  bool    // in a mix of flavors, only guests of the row's flavor count
	ratio  bool    // mean of the guests with a quarter CPU / mean of those with a whole CPU
	whole  bool    // not compared with the baseline
	change bool    // the article prints only the change against the baseline
	added  bool    // the difference to native
	why    string  // why no measurement repeats them
}

func (r *repetition) figure(row *Row) *figure {
	for i := range r.figures {
		f := &r.figures[i]
		if strings.HasPrefix(row.Table, f.table) && strings.Contains(row.Workload, f.workload) && strings.Contains(row.Scenario, f.scenario) &&
			strings.Contains(row.Statistic, f.statistic) && strings.HasPrefix(row.Unit, f.unit) {
			return f
		}
	}
	return nil
}

// wired reports whether the guests of a stage are on a network.
func (r *repetition) wired(name string) bool {
	return slices.ContainsFunc(r.stages, func(s stage) bool { return s.name == name && s.wired })
}

func repetitionOf(article string) *repetition {
	for _, r := range repetitions() {
		if r.article == article {
			return r
		}
	}
	return nil
}

func repetitions() []*repetition {
	return []*repetition{repeatAbclinuxu(), repeatHabr(), repeatLatgrid(), repeatPlatov(), repeatYunweiku()}
}
