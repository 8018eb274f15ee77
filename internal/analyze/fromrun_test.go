package analyze

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/store"
)

// TestFromRun: metrics and probes, which share one row of numbers in the
// store, come out each in its own, and only trials that are done count.
func TestFromRun(t *testing.T) {
	for _, test := range []struct {
		blocks, precision string
		planned           int
		half              float64
	}{{"12", "0%", 12, 0}, {"{min: 11, max: 40}", "3%", 0, 0.03}} {
		text := fmt.Sprintf("name: x\nseed: 1\nflavors: {f: {vcpus: 2, memory: 1GiB, cpu_cap: 50%%}}\narms: [native, kvm]\nworkloads: [cpu, disk]\nblocks: %s\ndelta: 5%%\n", test.blocks)
		if test.half > 0 {
			text += "precision: " + test.precision + "\n"
		}
		in := fromRun(t, text)
		if in.Baseline != "native" || !reflect.DeepEqual(in.Controls, map[string]string{"native-control": "native"}) ||
			in.Delta != 0.05 || in.Precision != test.half || in.Planned != test.planned {
			t.Errorf("%+v", in)
		}
		size := store.Flavor{Name: "f", VCPUs: 2, CPUCap: 0.5}
		if want := []Arm{{Name: "native", System: "native", Flavor: "f", Size: size, CapRatio: 0.25}, {Name: "kvm", System: "kvm", Flavor: "f", Size: size, CapRatio: 0.25, Emulated: true},
			{Name: "native-control", System: "native", Flavor: "f", Size: size, CapRatio: 0.25}}; !reflect.DeepEqual(in.Arms, want) {
			t.Errorf("arms %+v", in.Arms)
		}
		if want := []Metric{{"cpu", "time", "s", "lower", true}, {"disk", "rate", "B/s", "higher", true}}; !reflect.DeepEqual(in.Metrics, want) {
			t.Errorf("metrics %+v", in.Metrics)
		}
		if want := []Probe{{"cpu", "host_cpu", "s"}, {"disk", "host_cpu", "s"}}; !reflect.DeepEqual(in.Probes, want) {
			t.Errorf("probes %+v", in.Probes)
		}
		if want := []Failure{{"disk", "kvm", 1, 0, fault.Guest, "crashed", causeWrong}}; !reflect.DeepEqual(in.Failures, want) {
			t.Errorf("failures %+v", in.Failures)
		}
		if want := []Event{{"kernel-oom", "Out of memory", "disk", "kvm"}}; !reflect.DeepEqual(in.Events, want) {
			t.Errorf("events %+v", in.Events)
		}
		for range 2 { // they can be read again
			var metrics, probes []Observation
			for o := range in.Observations {
				metrics = append(metrics, o)
			}
			for o := range in.ProbeObservations {
				probes = append(probes, o)
			}
			if want := []Observation{{Epoch: 1, Value: 1.5}, {Metric: 1, Arm: 1, Epoch: 2, Value: 2.5}}; !reflect.DeepEqual(metrics, want) {
				t.Errorf("observations %v", metrics)
			}
			if want := []Observation{{Epoch: 1, Value: 10}, {Metric: 1, Arm: 1, Epoch: 2, Value: 20}}; !reflect.DeepEqual(probes, want) {
				t.Errorf("probe observations %v", probes)
			}
		}
		if _, err := Analyze(in); err != nil {
			t.Error(err)
		}
	}
}

// fromRun makes a run of a campaign with two trials that are done and one of
// each other kind, and reads it.
func fromRun(t *testing.T, text string) Input {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := campaign.Parse("x.yaml", []byte(text), campaign.Known{})
	must(err)
	f := store.Flavor{Name: "f", VCPUs: 2, CPUCap: 0.5}
	r, err := store.Create(filepath.Join(t.TempDir(), "x.tare"), map[string][]byte{store.DocCampaign: c.Resolved()},
		[]store.Arm{{Name: "native", System: "native", Flavor: f}, {Name: "kvm", System: "kvm", Flavor: f, Emulated: true}, {Name: "native-control", System: "native", Flavor: f, ControlOf: "native"}},
		[]store.Metric{{Workload: "cpu", Name: "host_cpu", Unit: "s", Probe: true}, {Workload: "cpu", Name: "time", Unit: "s", Better: "lower", Primary: true},
			{Workload: "disk", Name: "rate", Unit: "B/s", Better: "higher", Primary: true}, {Workload: "disk", Name: "host_cpu", Unit: "s", Probe: true}})
	must(err)
	defer r.Close()
	session, err := r.BeginSession("b", "1")
	must(err)
	for arm := range 3 {
		_, err := r.AddGuest(session, arm, 0, store.Seat{}, 0, agent.Hello{}, nil)
		must(err)
	}
	for _, trial := range []struct {
		workload   string
		arm, block int
		o          store.Outcome
	}{
		{"cpu", 0, 0, store.Outcome{Status: store.Done, Values: map[int]float64{1: 1.5, 0: 10}}},
		{"disk", 1, 0, store.Outcome{Status: store.Done, Values: map[int]float64{2: 2.5, 3: 20}}},
		{"disk", 1, 1, store.Outcome{Status: store.Failed, Error: "crashed", Values: map[int]float64{3: 99}}},
		{"disk", 0, 1, store.Outcome{Status: store.Void, Values: map[int]float64{3: 99}}},
	} {
		id, err := r.Begin(store.Attempt{Session: session, Guest: int64(trial.arm + 1), Workload: trial.workload, Arm: trial.arm, Block: trial.block})
		must(err)
		must(r.Finish(id, trial.o))
		if trial.o.Status == store.Failed {
			must(r.AddEvent(session, id, store.EventWrongAnswer, "crashed"))
			must(r.AddEvent(session, id, "kernel-oom", "Out of memory"))
		}
	}
	in, err := FromRun(r)
	must(err)
	return in
}

// TestFromBulk: chunks of more than one series, whole and in order.
func TestFromBulk(t *testing.T) {
	const blocks = chunkLen + 100
	r, err := store.Open(bulkRun(t, 3, 1, blocks), false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	in, err := FromRun(r)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for o := range in.Observations {
		if int(o.Block) != n%blocks || int(o.Arm) != n/blocks {
			t.Fatalf("observation %d: %+v", n, o)
		}
		n++
	}
	for range in.ProbeObservations {
		n++
	}
	if n != 4*3*blocks {
		t.Errorf("%d values, want %d", n, 4*3*blocks)
	}
}
