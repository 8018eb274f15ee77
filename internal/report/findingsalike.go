package report

import (
	"regexp"
	"strconv"

	"github.com/tare-bench/tare/internal/analyze"
)

// findingFigure is a number in the text of a finding.
var findingFigure = regexp.MustCompile(`[-+]?\d+(\.\d+)?(e[-+]\d+)?`)

// fewAlike is the number of findings from which on those that say the same are put together.
const fewAlike = 3

// Alike returns the findings, as one where several say the same of arms on one workload, except for figures: a cause
// such as steal concerns all of them. Its Arm names them, and its Text has ranges of the figures. Of failures, each is
// told.
func (c Cause) Alike() (out []analyze.Finding) {
	type same struct{ workload, metric, text string }
	of := map[same][]analyze.Finding{}
	key := func(f analyze.Finding) same {
		return same{f.Workload, f.Metric, findingFigure.ReplaceAllString(f.Text, "\x00")}
	}
	for _, f := range c.Findings {
		of[key(f)] = append(of[key(f)], f)
	}
	for _, f := range c.Findings {
		switch all := of[key(f)]; {
		case c.Kind.ID == failed || len(all) < fewAlike:
			out = append(out, f)
		case all[0] == f:
			out = append(out, merged(all))
		}
	}
	return out
}

// merged is one finding for several of Cause.Alike: the figures that differ are ranges.
func merged(of []analyze.Finding) analyze.Finding {
	first := of[0]
	arms := make([]string, len(of))
	numbers := make([][]string, len(of))
	for i, f := range of {
		arms[i], numbers[i] = f.Arm, findingFigure.FindAllString(f.Text, -1)
	}
	n := 0
	first.Text = findingFigure.ReplaceAllStringFunc(first.Text, func(string) string {
		least, most := numbers[0][n], numbers[0][n]
		for _, these := range numbers {
			if valueOf(these[n]) < valueOf(least) {
				least = these[n]
			}
			if valueOf(these[n]) > valueOf(most) {
				most = these[n]
			}
		}
		n++
		return least + when(least != most, " … "+most)
	})
	first.Arm = some(arms)
	return first
}

// valueOf is the value of a number of findingFigure.
func valueOf(figure string) float64 {
	v, _ := strconv.ParseFloat(figure, 64)
	return v
}
