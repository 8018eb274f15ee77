package analyze

import (
	"reflect"
	"testing"

	"github.com/tare-bench/tare/internal/claim"
)

func TestRankIsolation(t *testing.T) {
	of := func(arm string, ratio, low, high float64) Isolation {
		return Isolation{Comparison: Comparison{Workload: "cpu", Metric: "time", Primary: true, Arm: arm + "@noisy",
			Baseline: arm, Estimate: claim.Between(ratio, low, high)}, Scenario: "noisy"}
	}
	died, tcg, once := of("gvisor", 1.5, 1.4, 1.6), of("qemu-tcg", 1.4, 1.3, 1.5), of("kvm", 1.2, 0, 0)
	died.Lost = 1
	tcg.Family = FamilyEmulated
	second := of("lxc", 1.1, 1, 1.2)
	second.Primary = false
	lone := of("lxc", 2, 1.9, 2.1)
	lone.Scenario = "alone there"
	got := RankIsolation([]Isolation{of("uml", 2.5, 2.4, 2.6), of("lxc", 1.95, 1.9, 2), died,
		of("native", 1.93, 1.88, 1.98), tcg, once, second, lone, of("runc", 1.99, 1.97, 2.01)})
	want := []Ranking{{Workload: "cpu", Metric: "time", Scenario: "noisy",
		Places: []Place{{1, []string{"native", "lxc", "runc"}}, {4, []string{"uml"}}}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestRankMemory(t *testing.T) {
	of := func(arm, flavor string, v float64) Memory {
		return Memory{Arm: arm, Flavor: flavor, Guests: 1, Idle: Range{N: 1, Min: v, Mean: v, Max: v}}
	}
	got, unknown := RankMemory([]Memory{of("lxc", "small", 5.34), of("lxc", "quarter", 1), of("native", "small", 5.26),
		of("kvm", "small", 200), {Arm: "ssh"}})
	want := Ranking{Places: []Place{{1, []string{"native", "lxc"}}, {3, []string{"kvm"}}}}
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(unknown, []string{"ssh"}) {
		t.Errorf("got %+v and %v", got, unknown)
	}
}
