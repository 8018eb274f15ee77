package report

import (
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/model"
)

// filled is a result with two arms that filled the host: one broke limits, the other reached the most.
func filled() *analyze.Result {
	least := 70.0
	return &analyze.Result{Fills: []analyze.Fill{
		{Workload: "fill", Arm: "native", N: 30, Fits: analyze.Percentile{Value: 500, Low: 490, High: 500}, Fewest: 480,
			Greatest: 500, Ended: 20, Least: &least, Broke: []analyze.FillBroke{{Limit: model.LimitSlowdown, Fills: 10}}},
		{Workload: "fill", Arm: "kvm", Baseline: "native", Emulated: true, N: 5, Fits: analyze.Percentile{Value: 92.5},
			Fewest: 80, Greatest: 110, Ratio: &analyze.Percentile{Value: 0.2, Low: 0.15, High: 0.25},
			Broke: []analyze.FillBroke{{Limit: model.LimitLost, Fills: 1}, {Limit: model.LimitMemory, Fills: 4},
				{Limit: model.LimitServing, Fills: 1}}, Serving: analyze.Range{N: 5, Mean: 0.025},
			Slowdown: analyze.Range{N: 5, Mean: 1.234, Min: 1, Max: 2}, Own: analyze.Range{N: 5, Max: 92 << 20},
			Share: analyze.Range{N: 5, Mean: 64 << 20}},
	}}
}

func TestFillRows(t *testing.T) {
	rows := texts(fills(filled(), "fill"))
	if len(rows) != 3 || len(fills(filled(), "start").Rows) > 0 {
		t.Fatalf("%q", rows)
	}
	for _, r := range rows {
		if len(r) != len(rows[0]) {
			t.Errorf("%d cells under %d headings: %q", len(r), len(rows[0]), r)
		}
	}
	for i, want := range []string{
		1: "native|30|≥ 500 (490 … ≥ 500)||70|480 … ≥ 500|slowdown 10, nothing 20|||||||",
		2: "kvm*|5|92.5|0.200× (0.150 … 0.250)||80 … 110|guest lost 1, memory 4, serving p99 1|1.23×||25.0 ms|||" +
			"64.0 MiB|92.0 MiB",
	} {
		if got := strings.Join(rows[i], "|"); i > 0 && got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestFillFigures: each figure of a fill is in the list of figures.
func TestFillFigures(t *testing.T) {
	l := &figureList{}
	for _, f := range filled().Fills {
		l.fill(figureRow{Arm: f.Arm}, f)
	}
	have := map[string]figureRow{}
	for _, r := range l.rows {
		have[r.Arm+" "+r.Name] = r
	}
	for name, want := range map[string]float64{
		"native fill-fits": 500, "native fill-least": 70, "native fill-ended": 20, "native fill-broke-slowdown": 10,
		"kvm fill-fits": 92.5, "kvm fill-broke-lost": 1, "kvm fill-broke-memory": 4, "kvm fill-fits-ratio": 0.2,
		"kvm fill-own-memory": 92 << 20, "kvm fill-serving-p99": 0.025, "kvm fill-broke-serving": 1,
		"kvm fill-guest-share": 64 << 20,
	} {
		if have[name].Value != want {
			t.Errorf("%s is %v, not %v", name, have[name].Value, want)
		}
	}
	if have["native fill-fits"].Text != "at least" || have["kvm fill-fits"].Text != "" ||
		have["kvm fill-fits-ratio"].Against != "native" {
		t.Errorf("%+v", have)
	}
}
