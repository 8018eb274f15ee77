package paper

import (
	"slices"
	"strings"
)

const (
	nativeSystem = "native"
	dom0System   = "xen-dom0"
)

// repetition says how an article is measured again.
type repetition struct {
	article   string
	baseline  string // the article's system
	relatives []relative
	stages    []stage
	figures   []figure // of a row, the first that fits
	extras    []Extra
	notes     []string // what else is not as in the article
}

// relative is what may repeat one of the article's systems, the best first.
type relative struct {
	system string
	as     []string
	part   string // the flavor that it is, in a mix
	why    string // why it is nothing, or what differs
}

// stage is a campaign: workloads, and the scenarios that all of them run under.
type stage struct {
	name    string
	company []string
	series  []string
	// sizes are the article's, in the workload's unit, of which a trial does the
	// share that the user asks for, or else scale; 0: its size is calibrated.
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

// figure says which measurement repeats some figures of the article. An empty
// word fits any; table and unit fit what begins with them, the others what
// they are part of.
type figure struct {
	table, workload, scenario, statistic, unit string

	stage, series, metric, company string

	factor float64 // from the metric's unit to the article's
	higher bool    // more is better
	parts  bool    // of guests of different flavors, those of the row's
	ratio  bool    // mean of the quarters over mean of the whole ones
	whole  bool    // not to be compared with the baseline
	change bool    // the article prints the change against the baseline alone
	added  bool    // it is what there is more than natively
	why    string  // why nothing repeats them
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
