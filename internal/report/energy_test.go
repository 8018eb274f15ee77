package report

import (
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report/reporttest"
)

// TestEnergy: energy is a column beside CPU time, with the power below; a run that could not measure it
// says so once.
func TestEnergy(t *testing.T) {
	res := reporttest.Cases()
	for _, c := range res.Comparisons {
		if c.Workload == "openssl-enc" && c.Metric == analyze.CPUTime && c.Arm == "lxc" {
			c.Metric, c.Unit, c.Family, c.Verdict, c.OverheadPercent = analyze.Energy, "J", analyze.FamilyEnergy, analyze.Costs,
				3.25
			res.Comparisons = append(res.Comparisons, c)
		}
	}
	for i, a := range res.Arms {
		if a.Workload == "openssl-enc" && a.Scenario == "solo" {
			res.Arms[i].Metrics = append(a.Metrics, analyze.SeriesSummary{Name: analyze.Energy, Unit: "J", N: 24, Mean: 1.5})
			res.Energy = append(res.Energy, analyze.EnergyUse{Workload: a.Workload, Arm: a.Arm, N: 24, Joules: 1.5,
				PerUnit: 0.00375, SizeUnit: "events", Watts: 45.12, RestWatts: 20.4})
		}
	}
	text := strings.Join(strings.Fields(tableOf(t, res, Context{Campaign: "cases", Width: 200})), " ")
	for _, want := range []string{"CPU time energy host CPU", "1.500 J 0.119 s", "+1.7 % at once +3.2 % 0.119 s",
		"energy of all processors and memory in a trial: native 1.500 J (3.750 mJ per unit of work) at 45.1 W, lxc 1.500 J",
		"before the first guest the host took 20.4 W"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "native-control 1.500 J") {
		t.Error("the control's energy is shown, which is in no table")
	}
	const why = "no processor has an energy counter"
	text = tableOf(t, reporttest.Cases(), Context{Campaign: "cases", NoEnergy: why, Width: 200})
	if strings.Count(text, "not measured: "+why) != 1 {
		t.Errorf("why there is no energy is not said once:\n%s", text)
	}
}
