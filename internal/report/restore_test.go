package report

import (
	"slices"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
)

// TestRestoreRows: restorations are called so, and arms whose guests were not saved are not in the table of those.
func TestRestoreRows(t *testing.T) {
	ms := func(v float64) analyze.Percentile { return analyze.Percentile{Value: v / 1e3} }
	saved := &analyze.Restored{
		Save: ms(100), Flushed: ms(150), Size: analyze.Percentile{Value: 64 << 20}, Fresh: ms(200),
		First: ms(8), Second: analyze.Percentile{Value: 0.002, Low: 0.001, High: 0.003},
		TimesFresh: &analyze.Percentile{Value: 0.25, Low: 0.2, High: 0.3},
	}
	res := &analyze.Result{Starts: []analyze.Start{
		{Workload: "restore", Arm: "qemu-tcg", Emulated: true, N: 3, StartPercentiles: analyze.StartPercentiles{P50: ms(50)},
			Restored: saved},
		{Workload: "start", Arm: "native", N: 3, StartPercentiles: analyze.StartPercentiles{P50: ms(5)}},
	}}
	rows := restoreRows(res.Starts)
	want := []string{"qemu-tcg*", "100.0 ms", "150.0 ms", "64.00 MiB", "200.0 ms", "0.250× (0.200 … 0.300)", "8.000 ms",
		"2.000 ms (1.000 … 3.000)", ""}
	if len(rows) != 2 || len(rows[0]) != len(want) || !slices.Equal(rows[1], want) {
		t.Errorf("%q", rows)
	}
	if s := starts(res, "restore"); s.Grids[0].Rows[0][0] != "restoration" || len(s.Grids) != 4 {
		t.Errorf("%+v", s)
	}
	if s := starts(res, "start"); s.Grids[0].Rows[0][0] != "start" || len(s.Grids) != 3 {
		t.Errorf("%+v", s)
	}
}
