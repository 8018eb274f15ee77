package report

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/claim"
)

// TestFigures: every derived figure that is known has a row, in CSV and in
// Parquet alike, and one that is not known has none.
func TestFigures(t *testing.T) {
	r := makeRun(t, 6, "blocks")
	res := &analyze.Result{
		Comparisons: []analyze.Comparison{
			{Workload: "cpu", Metric: "time", Arm: "lxc", Baseline: "native", Estimate: claim.Between(1.02, 1.01, 1.03),
				MeanRatio: 1.05, MeanLow: 0.99, MeanHigh: 1.11, Verdict: analyze.Costs},
			{Workload: "cpu", Metric: "time", Arm: "native-control", Baseline: "native", Control: true,
				Estimate: claim.Between(0.99, 0, 0), Verdict: analyze.NotResolved},
			{Workload: "cpu", Metric: "time", Arm: "kvm", Baseline: "native"},
		},
		Tails: []analyze.Tail{{Workload: "cpu", Metric: "time", Arm: "lxc", Baseline: "native", N: 10, Share: 0,
			BaselineN: 20, BaselineShare: 0.05, Difference: -0.05, Low: -0.2, High: 0.1, BaselineSize: 2,
			P95: &analyze.Percentile{Value: 1.5, Low: 1.4, High: 1.7}}},
		TrialSpread: []analyze.TrialSpread{{Workload: "cpu", Metric: "time", Scenario: "solo", Percent: 12, Pairs: 24}},
		Rankings: []analyze.Ranking{{Workload: "cpu", Metric: "time", Scenario: "solo",
			Places: []analyze.Place{{Rank: 1, Arms: []string{"native", "lxc"}}}}},
		Isolation: []analyze.Isolation{{
			Comparison: analyze.Comparison{Workload: "cpu", Metric: "time", Arm: "lxc", Baseline: "lxc-alone",
				Estimate: claim.Between(2, 1.9, 2.1)},
			NativeArm: "native", Native: 1.8, NativeLow: 1.7, NativeHigh: 1.9, Excess: 1.1, Jain: 0.9, JainWorst: 0.8,
			Unfairness: 1.5, UnfairnessWorst: 2,
			Trials: 12, SkewP99: 0.001, Members: []analyze.MemberResult{{Member: 0, Flavor: "whole", Slowdown: 1.5},
				{Member: 1, Flavor: "quarter", Lost: 2}},
		}},
		CapAccuracy: []analyze.CapAccuracy{{Workload: "cpu", Metric: "time", Arm: "lxc", Flavor: "quarter", Against: "lxc",
			Reference: "whole", Ideal: 4, Estimate: claim.Between(3.9, 3.8, 4.1)}},
		RateCaps: []analyze.RateCap{{Workload: "cpu", Metric: "time", Arm: "lxc", Cap: "write", Limit: 100, Unit: "B/s",
			Estimate: claim.Between(1.5, 1.4, 1.6)},
			{Workload: "cpu", Metric: "time", Arm: "lxc", Cap: "read", Limit: 200, Unit: "B/s",
				Estimate: claim.Between(0.2, 0, 0), Untested: true}},
		Density: []analyze.Density{{Workload: "cpu", Metric: "time", Arm: "lxc", MemoryLimit: 1 << 30, Fits: 2, Breaks: 4,
			Broke: analyze.BrokeMemory}},
	}
	var table, columns bytes.Buffer
	must(t, FiguresCSV(&table, r, res))
	must(t, FiguresParquet(&columns, r, res))
	text := table.String()
	got, err := csv.NewReader(&table).ReadAll()
	must(t, err)
	for _, want := range []string{
		"cpu,time,lxc,lxc,solo,small,,native,,cost,1.02,1.01,1.03,costs",
		"cpu,time,native-control,native,solo,small,,native,,control,0.99,,,",
		"cpu,time,lxc,lxc,solo,small,,native,,mean-cost,1.05,0.99,1.11,",
		"cpu,time,lxc,lxc,solo,small,,native,,slow-share,0,,,",
		"cpu,time,lxc,lxc,solo,small,,native,,baseline-slow-share,0.05,,,",
		"cpu,time,lxc,lxc,solo,small,,native,,slow-share-difference,-0.05,-0.2,0.1,",
		"cpu,time,lxc,lxc,solo,small,,native,,baseline-slow-size,2,,,",
		"cpu,time,lxc,lxc,solo,small,,native,,p95,1.5,1.4,1.7,", "cpu,time,,,solo,,,,,trial-spread,12,,,",
		"cpu,time,native,native,solo,small,,,,rank,1,,,", "cpu,time,lxc,lxc,solo,small,,,,rank,1,,,",
		"cpu,time,lxc,lxc,solo,small,,lxc-alone,,slowdown,2,1.9,2.1,",
		"cpu,time,lxc,lxc,solo,small,,native,,native-slowdown,1.8,1.7,1.9,",
		"cpu,time,lxc,lxc,solo,small,,,,jain,0.9,,,", "cpu,time,lxc,lxc,solo,small,,,,unfairness-worst,2,,,",
		"cpu,time,lxc,lxc,solo,small,,,,lost,0,,,", "cpu,time,lxc,lxc,solo,small,,,,results,12,,,",
		"cpu,time,lxc,lxc,solo,whole,0,lxc-alone,,slowdown,1.5,,,", "cpu,time,lxc,lxc,solo,quarter,1,,,lost,2,,,",
		"cpu,time,lxc,lxc,solo,quarter,,lxc,whole,cap-ratio,3.9,3.8,4.1,",
		"cpu,time,lxc,lxc,solo,quarter,,lxc,whole,cap-ideal,4,,,",
		"cpu,time,lxc,lxc,solo,small,,,,rate-cap,1.5,1.4,1.6,write",
		"cpu,time,lxc,lxc,solo,small,,,,rate-cap-limit,100,,,write",
		"cpu,time,lxc,lxc,solo,small,,,,fits,2,,,", "cpu,time,lxc,lxc,solo,small,,,,breaks,4,,,memory",
	} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "kvm") {
		t.Errorf("a figure that is not known:\n%s", text)
	}
	rows, err := parquet.Read[figureRow](bytes.NewReader(columns.Bytes()), int64(columns.Len()))
	must(t, err)
	f, err := parquet.OpenFile(bytes.NewReader(columns.Bytes()), int64(columns.Len()))
	must(t, err)
	if len(rows) != len(got)-1 || len(f.Root().Columns()) != len(got[0]) {
		t.Fatalf("%d rows of %d columns, CSV has %d of %d", len(rows), len(f.Root().Columns()), len(got)-1, len(got[0]))
	}
	for i, row := range rows {
		line := got[i+1]
		if row.Arm != line[2] || row.Name != line[9] || number(row.Value) != line[10] ||
			(row.CILow == nil) != (line[11] == "") || (row.Member == nil) != (line[6] == "") {
			t.Errorf("%+v, CSV has %q", row, line)
		}
	}
	for i, c := range f.Root().Columns() {
		if c.Name() != got[0][i] {
			t.Errorf("column %s, CSV has %s", c.Name(), got[0][i])
		}
	}
}
