package analyze

import (
	"fmt"
	"slices"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/stats"
)

// HostCPUPerPacket is a metric of workloads that count packets: the seconds of CPU that the whole host used for each
// packet which arrived, from ProbeHostCPU. It includes the work of the host's kernel that no control group is charged
// for, and everything else that ran on the host.
const HostCPUPerPacket = "host-cpu-per-packet"

// Packets are those of an arm on a workload that counts them, in all of its trials.
type Packets struct {
	Workload string `json:"workload"`
	Arm      string `json:"arm"`
	Control  bool   `json:"control,omitempty"`
	Scenario string `json:"scenario"`
	Trials   int    `json:"trials"`

	Asked    float64 `json:"asked,omitempty"` // 1/s that the sender was told to send; 0: as many as it can
	Sent     float64 `json:"sent"`            // 1/s, by the guest's clock
	Received float64 `json:"received"`        // 1/s of the time in which they were sent
	// Loss is the share of the sent packets that were lost, 0..1, with an interval over guests (over trials if there are
	// fewer than four guests); absent with one of them.
	Loss     float64 `json:"loss"`
	LossLow  float64 `json:"loss_low,omitempty"`
	LossHigh float64 `json:"loss_high,omitempty"`
	// Socket is the share of the sent packets that found the receiving program's socket full; absent if not known.
	Socket *float64 `json:"loss_at_socket,omitempty"`
	// GroupsCPU is the CPU time of the guests' control groups for each packet that arrived, in seconds, and HostCPU that
	// of the whole host; 0: not known.
	GroupsCPU float64 `json:"groups_cpu_per_packet,omitempty"`
	HostCPU   float64 `json:"host_cpu_per_packet,omitempty"`
}

// addPacketCPU makes a metric of the CPU time of the whole host for each packet.
func (a *analysis) addPacketCPU() {
	for _, p := range a.in.Probes {
		if p.Name != model.ProbePacketsReceived {
			continue
		}
		of := make([]series, len(a.in.Arms))
		for ai := range a.in.Arms {
			cpu, received := a.probe(p.Workload, model.ProbeHostCPU, ai), a.probe(p.Workload, model.ProbePacketsReceived, ai)
			of[ai] = cpu.over(received)
		}
		a.addMetric(p.Workload, HostCPUPerPacket, "s", of)
	}
}

// over divides the values of s by those of the same guests in the same trials; nil if one of them is not positive. Of a
// trial with several guests, each is divided by the sum of all: what the host did, it did for all of them.
func (s series) over(by series) series {
	out, with := common(s, by)
	out = slices.Clone(out)
	sums := map[int32]float64{}
	for _, p := range with {
		sums[p.block] += p.value
	}
	for i := range out {
		if out[i].value <= 0 || sums[out[i].block] <= 0 {
			return nil
		}
		out[i].value /= sums[out[i].block]
	}
	return out
}

// packets describes the packets of every arm that counts them.
func (a *analysis) packets() (out []Packets) {
	a.eachProbe(func(workload string, arm dataset.Arm, p []series) {
		sent, seconds := common(p[0], p[1])
		if sent.sum() <= 0 || seconds.sum() <= 0 {
			return
		}
		ai := a.arms[arm.Name]
		_, control := a.in.Controls[arm.Name]
		of := Packets{Workload: workload, Arm: arm.Name, Control: control, Scenario: arm.Scenario, Trials: len(sent),
			Asked: p[4].mean(), Sent: sent.sum() / seconds.sum(), Received: p[2].sum() / seconds.sum(),
			Loss: p[3].sum() / sent.sum()}
		of.LossLow, of.LossHigh = lossInterval(p[3], sent)
		if socket := a.probe(workload, model.ProbePacketsSocket, ai); len(socket) == len(sent) {
			share := socket.sum() / sent.sum()
			of.Socket = &share
		}
		if group := a.probe(workload, model.ProbeGuestGroupCPU, ai); len(group) == len(sent) && p[2].sum() > 0 {
			of.GroupsCPU = (group.sum() + a.probe(workload, model.ProbePeerCPU, ai).sum()) / p[2].sum()
		}
		if host := a.probe(workload, model.ProbeHostCPU, ai).over(p[2]); len(host) > 0 {
			of.HostCPU = host.mean()
		}
		out = append(out, of)
	}, model.ProbePacketsSent, model.ProbePacketsTime, model.ProbePacketsReceived, model.ProbePacketsLost,
		model.ProbePacketsAsked)
	return out
}

// lossInterval is Student's 95 % interval of the share of lost packets: over guests if there are four or more, since
// losses come in bursts and guests differ; else over trials. It is 0 … 0 with one of them, and ends at 0 and 1.
func lossInterval(lost, sent series) (low, high float64) {
	type guest struct{ guest, member int32 }
	each := func(key func(point) guest) (shares []float64) {
		var keys []guest
		sums := map[guest][2]float64{}
		for i := range min(len(lost), len(sent)) {
			k := key(sent[i])
			if _, seen := sums[k]; !seen {
				keys = append(keys, k)
			}
			s := sums[k]
			sums[k] = [2]float64{s[0] + lost[i].value, s[1] + sent[i].value}
		}
		for _, k := range keys {
			if s := sums[k]; s[1] > 0 {
				shares = append(shares, s[0]/s[1])
			}
		}
		return shares
	}
	shares := each(func(p point) guest { return guest{p.guest, p.member} })
	if len(shares) < minGuests {
		shares = each(func(p point) guest { return guest{p.block, p.member} })
	}
	interval, err := stats.MeanT(shares, 0.05)
	if err != nil {
		return 0, 0
	}
	return max(0, interval.Low), min(1, interval.High)
}

// Limits of the findings on packets.
const (
	askedShare    = 0.95 // of the stated rate that a sender must reach
	socketMost    = 0.5  // of the lost packets
	socketLoss    = 0.01 // of the sent packets, at least
	roundTripLoss = 0.001
)

// findSlowSender reports arms whose sender did not send as many packets as it was asked to: the loss is that at a
// lower rate.
func findSlowSender(a *analysis) (out []Finding) {
	for _, p := range a.packets() {
		if p.Asked > 0 && p.Sent < askedShare*p.Asked {
			out = append(out, Finding{Workload: p.Workload, Arm: p.Arm, Text: fmt.Sprintf(
				"%.6g packets a second were due, but the sender managed only %.4g: the loss of %.3g %% is that at the lower "+
					"rate", p.Asked, p.Sent, 100*p.Loss)})
		}
	}
	return out
}

// findFullSocket reports arms in which most of the lost packets had arrived.
func findFullSocket(a *analysis) (out []Finding) {
	for _, p := range a.packets() {
		if p.Socket != nil && p.Loss > socketLoss && *p.Socket > socketMost*p.Loss {
			out = append(out, Finding{Workload: p.Workload, Arm: p.Arm, Text: fmt.Sprintf(
				"%.3g %% of the packets were lost, and most of these (%.3g %% of all) had arrived in the guest: the receiving "+
					"program did not read them in time", 100*p.Loss, 100**p.Socket)})
		}
	}
	return out
}

// findLostRoundTrips reports arms with round trips whose messages were lost: their latencies are not among the others.
func findLostRoundTrips(a *analysis) (out []Finding) {
	for _, p := range a.packets() {
		of := func(k metricOf) bool { return a.in.Metrics[k.metric].Workload == p.Workload && k.arm == a.arms[p.Arm] }
		timed := false
		for k := range a.singles {
			timed = timed || of(k)
		}
		if timed && p.Loss > roundTripLoss {
			out = append(out, Finding{Workload: p.Workload, Arm: p.Arm, Text: fmt.Sprintf(
				"%.3g %% of the messages got no answer; they are in none of the percentiles", 100*p.Loss)})
		}
	}
	return out
}
