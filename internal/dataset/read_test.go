package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
)

// TestRead: metrics and probes, which share one row of numbers in the
// store, come out each in its own, and only trials that are done count.
func TestRead(t *testing.T) {
	for _, test := range []struct {
		blocks, precision string
		planned           int
		half              float64
	}{{"12", "0%", 12, 0}, {"{min: 11, max: 40}", "3%", 0, 0.03}} {
		text := fmt.Sprintf("name: x\nseed: 1\nflavors: {f: {vcpus: 2, memory: 1GiB, cpu_cap: 50%%}}\narms: [native, kvm]\n"+
			"workloads: [cpu, disk]\nblocks: %s\ndelta: 5%%\n", test.blocks)
		if test.half > 0 {
			text += "precision: " + test.precision + "\n"
		}
		in := fromRun(t, text)
		if in.Baseline != "native" || !reflect.DeepEqual(in.Controls, map[string]string{"native-control": "native"}) ||
			in.Delta != 0.05 || in.Precision != test.half || in.Planned != test.planned {
			t.Errorf("%+v", in)
		}
		size := model.Flavor{Name: "f", VCPUs: 2, CPUCap: 0.5}
		if want := []Arm{{Name: "native", Of: "native", System: "native", Flavor: "f", Size: size, CapRatio: 0.25},
			{Name: "kvm", Of: "kvm", System: "kvm", Flavor: "f", Size: size, CapRatio: 0.25, Emulated: true},
			{Name: "native-control", Of: "native-control", System: "native", Flavor: "f", Size: size,
				CapRatio: 0.25}}; !reflect.DeepEqual(in.Arms, want) {
			t.Errorf("arms %+v", in.Arms)
		}
		if want := []Metric{{"cpu", "time", "s", "lower", true}, {"disk", "rate", "B/s", "higher", true}}; !reflect.DeepEqual(
			in.Metrics, want) {
			t.Errorf("metrics %+v", in.Metrics)
		}
		if want := []Probe{{"cpu", "host_cpu", "s"}, {"disk", "host_cpu", "s"}}; !reflect.DeepEqual(in.Probes, want) {
			t.Errorf("probes %+v", in.Probes)
		}
		if want := []Failure{{"disk", "kvm", 1, 0, fault.Guest, "crashed", store.EventWrongAnswer}}; !reflect.DeepEqual(
			in.Failures, want) {
			t.Errorf("failures %+v", in.Failures)
		}
		if want := []Event{{"kernel-oom", "Out of memory", "disk", "kvm"}}; !reflect.DeepEqual(in.Events, want) {
			t.Errorf("events %+v", in.Events)
		}
		if want := []Metric{{"cpu", "rate[length=64B]", "bit/s", "higher", false}}; !reflect.DeepEqual(in.Points, want) {
			t.Errorf("points %+v", in.Points)
		}
		for range 2 { // they can be read again
			var metrics, probes []Observation
			for o := range in.Observations {
				metrics = append(metrics, o)
			}
			for o := range in.ProbeObservations {
				probes = append(probes, o)
			}
			if want := []Observation{{Guest: 1, Value: 1.5}, {Metric: 1, Arm: 1, Guest: 2, Value: 2.5}}; !reflect.DeepEqual(
				metrics, want) {
				t.Errorf("observations %v", metrics)
			}
			if want := []Observation{{Guest: 1, Value: 10}, {Metric: 1, Arm: 1, Guest: 2, Value: 20}}; !reflect.DeepEqual(probes,
				want) {
				t.Errorf("probe observations %v", probes)
			}
			var points []Observation
			for o := range in.PointObservations {
				points = append(points, o)
			}
			if want := []Observation{{Guest: 1, Value: 7}}; !reflect.DeepEqual(points, want) {
				t.Errorf("points %v", points)
			}
		}
	}
}

// fromRun makes a run of a campaign with two trials that are done and one of
// each other kind, and reads it.
func fromRun(t *testing.T, text string) Set {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := campaign.Parse("x.yaml", []byte(text), campaign.Known{})
	must(err)
	f := model.Flavor{Name: "f", VCPUs: 2, CPUCap: 0.5}
	r, err := store.Create(filepath.Join(t.TempDir(), "x.tare"), map[string][]byte{store.DocCampaign: c.Resolved()},
		[]store.Arm{{Name: "native", System: "native", Flavor: f}, {Name: "kvm", System: "kvm", Flavor: f, Emulated: true},
			{Name: "native-control", System: "native", Flavor: f, ControlOf: "native"}},
		[]store.Metric{{Workload: "cpu", Name: "host_cpu", Unit: "s", Probe: true},
			{Workload: "cpu", Name: "time", Unit: "s", Better: "lower", Primary: true},
			{Workload: "disk", Name: "rate", Unit: "B/s", Better: "higher", Primary: true},
			{Workload: "disk", Name: "host_cpu", Unit: "s", Probe: true},
			{Workload: "cpu", Name: "rate[length=64B]", Unit: "bit/s", Better: "higher"}})
	must(err)
	defer r.Close()
	session, err := r.BeginSession("b", "1")
	must(err)
	for arm := range 3 {
		_, err := r.AddGuest(session, arm, store.Guest{})
		must(err)
	}
	for _, trial := range []struct {
		workload   string
		arm, block int
		o          store.Outcome
	}{
		{"cpu", 0, 0, store.Outcome{Status: store.Done, Values: map[int]float64{1: 1.5, 0: 10, 4: 7}}},
		{"cpu", 0, 0, store.Outcome{Status: store.Repeat, Values: map[int]float64{4: 8}}},
		{"disk", 1, 0, store.Outcome{Status: store.Done, Values: map[int]float64{2: 2.5, 3: 20}}},
		{"disk", 1, 1, store.Outcome{Status: store.Failed, Error: "crashed", Values: map[int]float64{3: 99}}},
		{"disk", 0, 1, store.Outcome{Status: store.Void, Values: map[int]float64{3: 99}}},
	} {
		id, err := r.Begin(store.Attempt{Session: session, Guest: int64(trial.arm + 1), Workload: trial.workload,
			Arm: trial.arm, Block: trial.block})
		must(err)
		must(r.Finish(id, trial.o))
		if trial.o.Status == store.Failed {
			must(r.AddEvent(session, id, store.EventWrongAnswer, "crashed"))
			must(r.AddEvent(session, id, "kernel-oom", "Out of memory"))
		}
	}
	in, err := Read(r)
	must(err)
	return in
}

// A run says itself who took part, whatever this version of tare would plan; a run
// file of a version that did not store it is read as planned today.
func TestArmsOf(t *testing.T) {
	c, err := campaign.Parse("x.yaml", []byte("name: x\narms: [native, kvm]\nworkloads: [cpu]\n"), campaign.Known{})
	if err != nil {
		t.Fatal(err)
	}
	arms := c.Planned()
	arms[1].Guests = append(arms[1].Guests, campaign.PlannedGuest{GuestID: arms[1].Guests[0].GuestID,
		Flavor: arms[1].Flavor, Role: "disk"})
	text, err := json.Marshal(arms)
	if err != nil {
		t.Fatal(err)
	}
	for name, docs := range map[string]map[string][]byte{
		"stored": {store.DocArms: text}, "older": {}, "damaged": {store.DocArms: []byte("{")},
	} {
		docs[store.DocCampaign] = c.Resolved()
		r, err := store.Create(filepath.Join(t.TempDir(), "x.tare"), docs, []store.Arm{{Name: "native"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ArmsOf(r, c)
		r.Close()
		switch {
		case name == "damaged":
			if fault.KindOf(err) != fault.Campaign {
				t.Errorf("damaged: %v", err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case name == "stored" && !reflect.DeepEqual(got, arms) || name == "older" && !reflect.DeepEqual(got, c.Planned()):
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestOlderArms: run files of versions that did not store their arms are read with the arms that those versions
// planned. testdata/older has a campaign and its arms as the last of these versions wrote and planned them: if
// this test fails, the planner has changed, and needs the older rule for such files.
func TestOlderArms(t *testing.T) {
	resolved, err1 := os.ReadFile("testdata/older/campaign.json")
	planned, err2 := os.ReadFile("testdata/older/arms.json")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	r, err := store.Create(filepath.Join(t.TempDir(), "x.tare"), map[string][]byte{store.DocCampaign: resolved}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c, err := CampaignOf(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ArmsOf(r, c)
	if err != nil {
		t.Fatal(err)
	}
	want, err := c.ReadPlanned(planned)
	if err != nil {
		t.Fatal(err)
	}
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("there is no arm %s", want[i].Name)
		case i >= len(want):
			t.Errorf("arm %s was not planned", got[i].Name)
		case !reflect.DeepEqual(got[i], want[i]):
			t.Errorf("arm %d is read as\n%+v, and was planned as\n%+v", i, got[i], want[i])
		}
	}
}
