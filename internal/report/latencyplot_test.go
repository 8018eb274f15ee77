package report

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/claim"
)

// TestLatencyView: a curve for each arm that is alone, none for a control, and others beside other guests.
func TestLatencyView(t *testing.T) {
	res := &analyze.Result{
		Baseline: "native",
		Arms:     []analyze.ArmResult{{Arm: "native", Scenario: "solo", Workload: "web"}},
	}
	for _, arm := range []string{"native", "native-control", "<lxc>", "native@noisy", "<lxc>@noisy"} {
		_, scenario, shared := strings.Cut(arm, "@")
		if !shared {
			scenario = "solo"
		}
		c := analyze.LatencyCurve{Workload: "web", Metric: "latency", Arm: arm, Control: arm == "native-control",
			Scenario: scenario, Count: 1000}
		for _, share := range []float64{0.01, 0.5, 0.9, 0.99} {
			c.Points = append(c.Points, analyze.LatencyPoint{Share: share, Seconds: 1e-4 / (1 - share)})
		}
		res.LatencyCurves = append(res.LatencyCurves, c)
		baseline, family := "native", analyze.FamilyTails
		if shared {
			baseline, family = strings.TrimSuffix(arm, "@noisy"), analyze.FamilyIsolation
		}
		res.Latencies = append(res.Latencies, analyze.Latency{Percentile: 0.99, Value: 0.01, BaselineValue: 0.01,
			Comparison: analyze.Comparison{Workload: "web", Arm: arm, Baseline: baseline, Family: family,
				Control: arm == "native-control", N: 8, Estimate: claim.Between(1, 0.9, 1.1)}})
	}
	alone, beside := latencies(res, "web")
	if len(alone.Rows) != 2 || len(beside.Rows) != 2 {
		t.Fatalf("%+v, %+v", alone, beside)
	}
	for where, of := range map[string]bool{"alone": true, "beside others": false} {
		html := string(latencyPlot(res, "l", "web", of).SVG())
		if n := strings.Count(html, `class="curve`); n != 2 || strings.Contains(html, "control") || strings.Contains(html,
			"<lxc") {
			t.Errorf("%s: %d curves in %s", where, n, html)
		}
		if err := xml.Unmarshal([]byte(html), new(struct{})); err != nil {
			t.Errorf("%s: %v", where, err)
		}
		for _, label := range []string{"50 %", "99 %", "1 ms"} {
			if !strings.Contains(html, ">"+label+"<") {
				t.Errorf("%s: no mark at %s", where, label)
			}
		}
	}
	if alone, _ := latencies(res, "other"); len(alone.Rows) > 0 || latencyPlot(res, "l", "other", true) != nil {
		t.Errorf("of a workload without latencies: %+v", alone)
	}
}
