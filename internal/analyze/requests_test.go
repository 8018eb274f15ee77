package analyze

import (
	"math"
	"testing"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
)

// TestRequests: the CPU time of each request is that of the guest's trials over their number of requests.
func TestRequests(t *testing.T) {
	f := newFake(1, 0.01, 12)
	for _, arm := range []int{native, control, kvm} {
		f.probes(model.ProbeStatedRate, arm, constant(200))
		f.probes(model.ProbeAchievedRate, arm, func(b int) float64 { return 199 - float64(b%2) })
	}
	f.probes(model.ProbeGuestGroupCPU, native, constant(0.5))
	f.probes(model.ProbeGuestGroupCPU, kvm, constant(0.75))
	in := f.input()
	in.Sizes = append(in.Sizes, store.Size{Workload: in.Metrics[0].Workload, Size: 1000, Unit: "requests"})
	r := analyzed(t, in)
	if len(r.Requests) != 3 {
		t.Fatalf("%d arms with requests, want 3: %+v", len(r.Requests), r.Requests)
	}
	for _, u := range r.Requests {
		want := map[string]float64{"native": 5e-4, "kvm": 7.5e-4}[u.Arm]
		if u.Due != 200 || u.Answered != 198.5 || u.N != 12 || math.Abs(u.CPU-want) > 1e-12 {
			t.Errorf("%+v", u)
		}
	}
}
