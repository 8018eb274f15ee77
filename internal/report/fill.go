package report

import (
	"fmt"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/view"
)

// limitNames say what a broken limit is.
var limitNames = map[string]string{
	model.LimitLost: "guest lost", model.LimitMemory: "memory", model.LimitStart: "start",
	model.LimitSlowdown: "slowdown", model.LimitP99: "p99", model.LimitServing: "serving p99",
}

// fills are how many guests fit, for a workload that fills the host.
func fills(res *analyze.Result, workload string) *view.Table {
	t := tableFor(
		"fill",
		"How many fit",
		[]string{"fills", "fit", "× baseline", "90 % fit", "fewest … most", "broke first",
			"slowdown", "p99", "serving p99", "start", "memory left", "a guest takes", "tare holds"},
		res.Fills,
		func(f analyze.Fill) []view.Cell {
			if f.Workload != workload {
				return nil
			}
			var least view.Cell
			if f.Least != nil {
				least = view.Number(numberOf(f, *f.Least), *f.Least, "")
			}
			fits := view.Cell{Text: fitsText(f), Figure: &view.Figure{Value: f.Fits.Value, Low: f.Fits.Low, High: f.Fits.High}}
			return []view.Cell{armCell(f.Arm, f.Emulated), count(f.N), fits, percentile("", f.Ratio), least,
				view.Text(fmt.Sprintf("%.0f … %s", f.Fewest, numberOf(f, f.Greatest))), view.Text(brokeText(f)),
				timesCell(f.Slowdown.Mean), timesCell(f.P99.Mean), ofUnit("s", f.Serving.Mean), ofUnit("s", f.Start.Mean),
				ofUnit("B", f.Left.Mean), ofUnit("B", max(0, f.Share.Mean)), ofUnit("B", f.Own.Max)}
		},
	)
	t.Legend = fillLegend
	return t
}

// numberOf is a number of guests, with ≥ if it is only a lower bound.
func numberOf(f analyze.Fill, guests float64) string {
	text := strings.TrimSuffix(fmt.Sprintf("%.1f", guests), ".0")
	if f.AtLeast(guests) {
		return "≥ " + text
	}
	return text
}

// fitsText is how many guests fit, with the interval if there is one.
func fitsText(f analyze.Fill) string {
	if f.Fits.High == 0 {
		return numberOf(f, f.Fits.Value)
	}
	return fmt.Sprintf("%s (%s … %s)", numberOf(f, f.Fits.Value), numberOf(f, f.Fits.Low), numberOf(f, f.Fits.High))
}

// brokeText names the limits that broke first, with the number of fills.
func brokeText(f analyze.Fill) string {
	var all []string
	for _, b := range f.Broke {
		all = append(all, fmt.Sprintf("%s %d", limitNames[b.Limit], b.Fills))
	}
	if f.Ended > 0 {
		all = append(all, fmt.Sprintf("nothing %d", f.Ended))
	}
	return strings.Join(all, ", ")
}

// fillLegend explains the table of fills.
const fillLegend = "fit: median number of guests that kept the service level, over fills, the probe guest included, " +
	"with its interval by order statistics (6 fills or more); ≥: fills ended there with every limit kept; " +
	"× baseline: conservative, from both intervals at half the error each; " +
	"90 % fit: with 95 % confidence, 90 % of fills fit so many (29 fills or more); " +
	"broke first: the limits, with the number of fills; " +
	"slowdown and p99 (of the probe), serving p99 (of requests to the guests that serve), start, memory left: means at " +
	"the number of guests that broke the level; " +
	"a guest takes: mean decrease of the host's available memory per guest, whoever took it; " +
	"tare holds: the most memory that tare itself used"
