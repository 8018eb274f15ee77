package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report/reporttest"
)

// TestTogether: a run with starts and fills has one table with a row for each system, and other runs have none.
func TestTogether(t *testing.T) {
	res := reporttest.Cases()
	res.Starts, res.Fills = nil, nil
	if Together(res) != nil {
		t.Error("a table without starts and fills")
	}
	p := func(v float64) *analyze.Percentile { return &analyze.Percentile{Value: v} }
	for _, arm := range []string{"native", "lxc"} {
		one := analyze.Start{Workload: "start[cache=warm]", Arm: arm, Guests: 1}
		one.P50, one.P95 = analyze.Percentile{Value: 0.030, Low: 0.029, High: 0.031}, p(0.055)
		eight := analyze.Start{Workload: "start[cache=warm]", Arm: arm + "@at-once", Guests: 8}
		eight.P50 = analyze.Percentile{Value: 0.5}
		cold := one
		cold.Workload, cold.Cold, cold.P95 = "start[cache=cold]", true, nil
		res.Starts = append(res.Starts, one, eight, cold)
		res.Fills = append(res.Fills, analyze.Fill{Workload: "fill", Arm: arm, N: 1, Fits: analyze.Percentile{Value: 24},
			Greatest: 24, Share: analyze.Range{N: 1, Mean: 5 << 20}})
	}
	rows := texts(Together(res))
	head := rows[0]
	want := map[string]string{"start": "30.0 / 55.0 ms", "start of 8 at once": "500 ms", "cold start": "30.0 ms",
		"fit": "24", "a guest takes": "5.00 MiB", "openssl-enc": "at most"}
	at := slices.IndexFunc(rows, func(r []string) bool { return r[0] == "lxc" })
	if at < 0 {
		t.Fatalf("no row of lxc: %q", rows)
	}
	for name, text := range want {
		i := slices.Index(head, name)
		if i < 0 || !strings.Contains(rows[at][i], text) && !(name == "openssl-enc" && rows[at][i] != "") {
			t.Errorf("%s: no %q in %q", name, text, rows[at])
		}
	}
	for _, r := range rows {
		if strings.Contains(r[0], "control") || len(r) != len(head) {
			t.Errorf("row %q", r)
		}
	}
}
