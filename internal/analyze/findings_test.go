package analyze

import (
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
)

func constant(v float64) func(int) float64 { return func(int) float64 { return v } }

// Each case makes one thing wrong with a run that gives no other findings than
// "faster-than-baseline", and says what must be found.
func TestFindings(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*fake)
		id       string // "" for nothing
		severity Severity
		text     string
	}{
		{"nothing wrong", func(*fake) {}, "", "", ""},
		{"emulated", func(f *fake) { f.Arms[kvm].Emulated = true }, "emulated", Serious, "nothing about real hardware"},
		{"guest crashed", func(f *fake) {
			f.Failures = []Failure{{"cpu", "kvm", 7, fault.Guest, "soft lockup"}, {"cpu", "kvm", 3, fault.Guest, "panic"}}
		}, "did-not-finish", Serious, "2 trials did not finish, by fault of the guest (a result of its own); the first, in block 4: panic"},
		{"host failed", func(f *fake) {
			f.Failures = []Failure{{"cpu", "kvm", 7, fault.Host, "no space"}}
		}, "did-not-finish", Warning, "1 trial did not finish, by fault of the host"},
		{"dropped", func(f *fake) {
			f.drop(func(o Observation) bool { return o.Metric == 0 && o.Arm == kvm && o.Block < 3 })
		}, "dropped-pairs", Warning, "3 of 30 blocks were dropped"},
		{"no control", func(f *fake) {
			f.drop(func(o Observation) bool { return o.Metric == 0 && o.Arm == control })
		}, "no-control", Warning, "no cost or gain is claimed"},
		{"control differs", func(f *fake) {
			f.each(0, control, func(o *Observation) { o.Value *= 1.02 })
		}, "control-differs", Serious, "this host was not steady"},
		{"step", func(f *fake) {
			for arm := range costs {
				f.each(0, arm, func(o *Observation) {
					if o.Block >= 18 {
						o.Value *= 1.2
					}
				})
			}
		}, "no-steady-state", Warning, "the level changed at measured block 19 of 30"},
		{"trend", func(f *fake) {
			for arm := range costs {
				f.each(0, arm, func(o *Observation) { o.Value *= 1 + float64(o.Block)/50 })
			}
		}, "no-steady-state", Warning, "a trend over 30 blocks (Mann-Kendall"},
		{"spread", func(f *fake) {
			f.each(0, kvm, func(o *Observation) {
				if o.Block == 4 {
					o.Value *= 50
				}
			})
		}, "spread", Serious, "so the mean is withheld"},
		{"zero", func(f *fake) {
			f.each(0, kvm, func(o *Observation) {
				if o.Block == 4 {
					o.Value = 0
				}
			})
		}, "not-positive", Serious, "no ratio to estimate"},
		{"no variation", func(f *fake) {
			for _, arm := range []int{native, control, kvm, lxc, jail} {
				f.each(0, arm, func(o *Observation) { o.Value = 2 })
			}
		}, "no-variation", Warning, "all 30 pairs gave the same ratio, +0 %"},
		{"two different guests", func(f *fake) {
			f.each(0, kvm, func(o *Observation) { o.Epoch = o.Block / 15; o.Value *= 1 + 0.02*float64(o.Epoch) })
		}, "incarnations-differ", Warning, "too narrow for others; re-create the guests 3 times at least"},
		{"six different guests", func(f *fake) {
			f.each(0, kvm, func(o *Observation) { o.Epoch = o.Block / 5; o.Value *= 1 + 0.02*float64(o.Epoch%3) })
		}, "incarnations-differ", Info, "the interval is over their means"},
		{"six equal guests", func(f *fake) { f.each(0, kvm, func(o *Observation) { o.Epoch = o.Block / 5 }) }, "", "", ""},
		{"cached", func(f *fake) {
			f.probes(ProbeWorkloadBytes, kvm, constant(1e9))
			f.probes(ProbeDeviceBytes, kvm, constant(4e8))
		}, "cached-writes", Serious, "60 % of what the workload wrote never reached the device"},
		{"all written", func(f *fake) {
			f.probes(ProbeWorkloadBytes, kvm, constant(1e9))
			f.probes(ProbeDeviceBytes, kvm, constant(1.01e9))
		}, "", "", ""},
		{"bytes at the device not known", func(f *fake) { f.probes(ProbeWorkloadBytes, kvm, constant(1e9)) }, "", "", ""},
		{"clock", func(f *fake) {
			f.probes(ProbeClockDiff, kvm, func(b int) float64 { return -0.01 * float64(b%2) })
			f.probes(ProbeClockError, kvm, constant(0.002))
		}, "guest-clock", Serious, "in 15 of 30 trials, by 0.01 s at worst and -0.005 s on average"},
		{"clock within its error", func(f *fake) {
			f.probes(ProbeClockDiff, kvm, constant(0.01))
			f.probes(ProbeClockError, kvm, constant(0.02))
		}, "", "", ""},
		{"clock without an error", func(f *fake) { f.probes(ProbeClockDiff, kvm, constant(0.01)) },
			"guest-clock", Serious, "in 30 of 30 trials"},
		{"hidden CPU", func(f *fake) {
			f.probes(ProbeGuestCgroupCPU, kvm, constant(3.02))
			f.probes(ProbeGuestCPU, kvm, constant(0.17))
		}, "hidden-cpu", Warning, "its control group took 3.02 s, the guest reports 0.17 s"},
		{"CPU accounted for", func(f *fake) {
			f.probes(ProbeGuestCgroupCPU, kvm, constant(3.1))
			f.probes(ProbeGuestCPU, kvm, constant(3.0))
		}, "", "", ""},
		{"cap periods", func(f *fake) {
			f.Arms[kvm].CapRatio = 0.25
			f.probes(ProbeCapPeriods, kvm, func(b int) float64 { return float64(95 + b) })
		}, "few-cap-periods", Warning, "5 of 30 trials had less than 100 periods of the CPU cap (95 at least)"},
		{"throttled by its cap", func(f *fake) {
			f.Arms[kvm].CapRatio = 0.25
			f.probes(ProbeThrottled, kvm, constant(150))
			f.probes(ProbeCapPeriods, kvm, constant(200))
		}, "throttled", Info, "in 150 periods a trial on average, 75 % of them"},
		{"throttled without a cap", func(f *fake) { f.probes(ProbeThrottled, kvm, constant(3)) },
			"throttled", Warning, "the flavor asks for none"},
		{"steal", func(f *fake) { f.probes(ProbeSteal, kvm, func(b int) float64 { return 0.1 * float64(b%2) }) },
			"steal", Info, "took 0.05 s of CPU from the host a trial, 0.1 s at worst"},
		{"no steal", func(f *fake) { f.probes(ProbeSteal, kvm, constant(0)) }, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(11, 0.005, 30)
			c.change(f)
			r := analyze(t, f)
			var got []Finding
			for _, found := range r.Findings {
				if found.ID != "faster-than-baseline" {
					got = append(got, found)
				}
			}
			switch {
			case c.id == "" && len(got) > 0:
				t.Errorf("findings %+v, want none", got)
			case c.id == "":
			case !slices.Equal(ids(got), []string{c.id}):
				t.Errorf("findings %+v, want %s only", got, c.id)
			case got[0].Severity != c.severity || !strings.Contains(got[0].Text, c.text):
				t.Errorf("finding %+v, want %s, %q", got[0], c.severity, c.text)
			default:
				if metric := r.find("time", "kvm"); !slices.Contains(metric.Findings, c.id) {
					t.Errorf("not noted at the comparison: %v", metric.Findings)
				}
			}
		})
	}
}

// Where the mean is withheld nothing is claimed, and the percentiles are there.
func TestSpreadWithholds(t *testing.T) {
	f := newFake(12, 0.005, 30)
	f.each(0, kvm, func(o *Observation) {
		if o.Block%2 == 0 {
			o.Value *= 50
		}
	})
	r := analyze(t, f)
	c := r.find("time", "kvm")
	if !c.MeanWithheld || c.ArmMean != 0 || c.BaselineMean == 0 && !c.MeanWithheld || c.Verdict != NotResolved {
		t.Errorf("%+v", c)
	}
	for _, arm := range r.Arms {
		if arm.Arm == "kvm" && (!arm.Metrics[0].MeanWithheld || arm.Metrics[0].P95 < 400) {
			t.Errorf("%+v", arm.Metrics[0])
		}
	}
}
