package analyze

import (
	"math"
	"slices"
	"testing"

	"github.com/tare-bench/tare/internal/model"
)

// TestPackets: rates, loss and CPU time for each packet of known trials.
func TestPackets(t *testing.T) {
	f := newFake(1, 0.01, 24)
	for _, arm := range []int{native, control} {
		f.packets(arm, 1, 0, 0)
		f.probes(model.ProbeHostCPU, arm, constant(0.01))
	}
	for _, arm := range []int{native, kvm} {
		f.probes(model.ProbeGuestGroupCPU, arm, constant(0.004))
		f.probes(model.ProbePeerCPU, arm, constant(0.004))
	}
	// Every other block of kvm loses a tenth, and the host works twice as long for each packet that arrives.
	lost := func(b int) float64 { return 200 * float64(b%2) }
	f.probes(model.ProbePacketsAsked, kvm, constant(0))
	f.probes(model.ProbePacketsTime, kvm, constant(2))
	f.probes(model.ProbePacketsSent, kvm, constant(2000))
	f.probes(model.ProbePacketsReceived, kvm, func(b int) float64 { return 2000 - lost(b) })
	f.probes(model.ProbePacketsLost, kvm, lost)
	f.probes(model.ProbeHostCPU, kvm, func(b int) float64 { return 1e-5 * (2000 - lost(b)) })
	r := analyzed(t, f.input())
	if len(r.Packets) != 3 {
		t.Fatalf("%d arms with packets, want 3: %+v", len(r.Packets), r.Packets)
	}
	p := r.Packets[0]
	if p.Arm != "native" || p.Sent != 1000 || p.Received != 1000 || p.Loss != 0 || p.LossHigh != 0 || *p.Socket != 0 ||
		math.Abs(p.GroupsCPU-4e-6) > 1e-12 || math.Abs(p.HostCPU-5e-6) > 1e-12 {
		t.Errorf("%+v", p)
	}
	p = r.Packets[2]
	if p.Arm != "kvm" || p.Received != 950 || p.Loss != 0.05 || p.LossLow >= 0.05 || p.LossHigh <= 0.05 ||
		p.LossHigh-p.LossLow > 0.05 || math.Abs(p.HostCPU-1e-5) > 1e-9 {
		t.Errorf("%+v", p)
	}
	i := slices.IndexFunc(r.Comparisons, func(c Comparison) bool {
		return c.Metric == HostCPUPerPacket && c.Arm == "kvm"
	})
	if i < 0 || math.Abs(r.Comparisons[i].Ratio-2) > 1e-6 || r.Comparisons[i].Unit != "s" {
		t.Fatalf("host CPU for each packet: %+v", r.Comparisons)
	}
}
