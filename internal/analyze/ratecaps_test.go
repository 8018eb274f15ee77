package analyze

import (
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
)

// TestRateCaps: what guests got of a cap is the mean over blocks, with an interval; a network's cap is
// compared only where data leave the guest.
func TestRateCaps(t *testing.T) {
	f := &fake{Set: dataset.Set{
		Baseline: "native@pair", Controls: map[string]string{"native-control@pair": "native@pair"},
		Arms: []dataset.Arm{
			{Name: "native@pair", System: "native", Scenario: "pair", Paired: true},
			{Name: "native-control@pair", System: "native", Scenario: "pair", Paired: true},
			{Name: "lxc@pair", System: "lxc", Scenario: "pair", Paired: true},
			{Name: "native", System: "native", Scenario: model.Solo, Baseline: "native"},
		},
		Metrics: []dataset.Metric{{Workload: "net", Name: "bandwidth", Unit: "bit/s", Better: "higher", Primary: true}},
	}}
	for i := range f.Arms {
		f.Arms[i].Flavor, f.Arms[i].Size.Net.Rate = "wired", 100e6
	}
	for b := range 6 {
		for arm, got := range []float64{95e6, 96e6, 300e6, 9e9} {
			f.obs = append(f.obs, dataset.Observation{
				Arm: int32(arm), Block: int32(b), Guest: int32(b), Value: got * (1 + 0.002*float64(b%2)),
			})
		}
	}
	r, err := Analyze(f.input())
	if err != nil || len(r.RateCaps) != 2 {
		t.Fatalf("%+v, %v", r.RateCaps, err)
	}
	for i, want := range []RateCap{{Arm: "native@pair", Estimate: claim.Between(0.951, 0, 0)},
		{Arm: "lxc@pair", Estimate: claim.Between(3.003, 0, 0)}} {
		got := r.RateCaps[i]
		if got.Arm != want.Arm || got.Cap != "net" || got.Metric != "bandwidth" || got.Limit != 100e6 ||
			got.Unit != "bit/s" || got.N != 6 || !near(got.Ratio, want.Ratio, 1e-3) ||
			got.CILow > got.Ratio || got.CIHigh < got.Ratio || got.CILow <= 0 {
			t.Errorf("%+v", got)
		}
	}
	var leaks []string
	for _, f := range r.Findings {
		if f.ID == "cap-leaks" {
			leaks = append(leaks, f.Arm)
		}
	}
	if len(leaks) != 1 || leaks[0] != "lxc@pair" {
		t.Errorf("leaks of %q", leaks)
	}
}

// TestPacketCaps: packets count when they arrive, not when they are sent, over the time in which they were sent. Alone,
// they leave no guest. A leak is found.
func TestPacketCaps(t *testing.T) {
	f := newFake(5, 0.01, 12)
	for arm := range costs {
		got := 1980.0
		if arm == kvm {
			got = 6000
		}
		f.Arms[arm].Flavor, f.Arms[arm].Size.Net.Packets, f.Arms[arm].Paired = "capped", 2000, arm != lxc
		f.probes(model.ProbePacketsAsked, arm, constant(0))
		f.probes(model.ProbePacketsSent, arm, constant(50_000))
		f.probes(model.ProbePacketsTime, arm, constant(2.5))
		f.probes(model.ProbePacketsLost, arm, constant(50_000-2.5*got))
		f.probes(model.ProbePacketsReceived, arm, func(b int) float64 { return 2.5 * got * (1 + 0.002*float64(b%3)) })
	}
	res := analyze(t, f)
	want := map[string]float64{"native": 0.992, "jail": 0.992, "kvm": 3.006}
	for _, c := range res.RateCaps {
		if c.Cap != "packets" || c.Unit != "1/s" || c.Limit != 2000 || c.Metric != "time" ||
			!near(c.Ratio, want[c.Arm], 2e-3) || c.CILow > c.Ratio || c.CIHigh < c.Ratio || c.CILow <= 0 {
			t.Errorf("%+v", c)
		}
	}
	if len(res.RateCaps) != len(want) {
		t.Errorf("%+v", res.RateCaps)
	}
	var leaks []Finding
	for _, f := range res.Findings {
		if f.ID == "cap-leaks" {
			leaks = append(leaks, f)
		}
	}
	if len(leaks) != 1 || leaks[0].Arm != "kvm" ||
		!strings.Contains(leaks[0].Text, "received packets at 3.01 times the cap of its flavor") {
		t.Errorf("leaks %+v", leaks)
	}
}

// TestCapPeaks: the fastest second has its own ratio to the cap, with an interval; runs that did not measure it have
// none.
func TestCapPeaks(t *testing.T) {
	f := newFake(5, 0.01, 12)
	for arm := range costs {
		f.Arms[arm].Flavor, f.Arms[arm].Size.IO.WriteOps = "capped", 500
		f.probes(model.ProbeWriteOps, arm, func(b int) float64 { return 495 * (1 + 0.002*float64(b%3)) })
		if arm != lxc {
			f.probes(model.ProbeWriteOpsPeak, arm, func(b int) float64 { return 600 * (1 + 0.002*float64(b%3)) })
		}
	}
	res := analyze(t, f)
	if len(res.RateCaps) != len(costs)-1 {
		t.Fatalf("%+v", res.RateCaps)
	}
	for _, c := range res.RateCaps {
		if !near(c.Ratio, 0.992, 2e-3) {
			t.Errorf("%+v", c)
		}
		if c.Arm == "lxc" {
			if c.Peak != 0 || c.PeakHigh != 0 {
				t.Errorf("a peak that was not measured: %+v", c)
			}
		} else if !near(c.Peak, 1.2024, 2e-3) || c.PeakLow > c.Peak || c.PeakHigh < c.Peak || c.PeakLow < 1.19 ||
			c.PeakHigh > 1.22 {
			t.Errorf("%+v", c)
		}
	}
}
