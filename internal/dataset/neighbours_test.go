package dataset

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
)

// TestNeighbours: which guests of a trial disturb it, what they did, and which of them failed is read apart from what
// the arm did.
func TestNeighbours(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := campaign.Parse("x.yaml", []byte("name: x\narms: [native, kvm]\nworkloads: [cpu]\n"+
		"scenarios: [solo, {name: noisy, guests: 2, neighbours: [disk, cpu]}]\n"), campaign.Known{})
	must(err)
	var arms []store.Arm
	noisy := -1
	for i, a := range c.Planned() {
		arms = append(arms, store.Arm{Name: a.Name, System: a.System, Scenario: a.Scenario, ControlOf: a.Control})
		if a.Name == "kvm@noisy" {
			noisy = i
		}
	}
	r, err := store.Create(filepath.Join(t.TempDir(), "x.tare"), map[string][]byte{store.DocCampaign: c.Resolved()}, arms,
		[]store.Metric{{Workload: "cpu", Name: "time", Unit: "s", Better: "lower", Primary: true},
			{Workload: "cpu", Name: model.ProbeNeighbourCPU, Unit: "s", Probe: true}})
	must(err)
	defer r.Close()
	session, err := r.BeginSession("b", "1")
	must(err)
	guest, err := r.AddGuest(session, noisy, store.Guest{})
	must(err)
	for member, of := range []struct {
		role model.Role
		o    store.Outcome
	}{
		{"", store.Outcome{Status: store.Done, Values: map[int]float64{0: 1.5}}},
		{"", store.Outcome{Status: store.Failed, Error: "killed"}},
		{"disk", store.Outcome{Status: store.Failed, Error: "no space"}},
		{"cpu", store.Outcome{Status: store.Done, Values: map[int]float64{1: 0.7}}},
	} {
		id, err := r.Begin(store.Attempt{Session: session, Guest: guest, Workload: "cpu", Arm: noisy, Member: member,
			Role: of.role})
		must(err)
		must(r.Finish(id, of.o))
	}
	in, err := Read(r)
	must(err)
	a := in.Arms[noisy]
	if len(a.Members) != 2 || a.FirstNeighbour != 2 || !slices.Equal(a.Neighbours, []string{"disk", "cpu"}) {
		t.Errorf("%+v", a)
	}
	if f := in.NeighbourFailures; len(f) != 1 || f[0].Member != 2 || f[0].Arm != "kvm@noisy" || f[0].Text != "no space" {
		t.Errorf("%+v", f)
	}
	if f := in.Failures; len(f) != 1 || f[0].Member != 1 || f[0].Text != "killed" {
		t.Errorf("%+v", f)
	}
	n := 0
	for o, err := range in.ProbeObservations {
		must(err)
		if n++; o.Member != 3 || o.Value != 0.7 {
			t.Errorf("%+v", o)
		}
	}
	if n != 1 {
		t.Errorf("%d values of neighbours", n)
	}
}
