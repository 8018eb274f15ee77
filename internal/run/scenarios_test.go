package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/agent/wire"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system/fake"
)

// several is a campaign with several guests at once: four, a neighbour, and two flavors.
var several = strings.Replace(strings.Replace(yaml, "blocks: 4", "blocks: 2", 1),
	"flavors: {s: {vcpus: 1, memory: 256MiB, disk: 64MiB}}",
	`flavors: {s: {vcpus: 1, memory: 256MiB, disk: 64MiB}, t: {vcpus: 1, memory: 256MiB, disk: 64MiB}}
scenarios: [solo, {name: four, guests: 4}, {name: noisy, neighbours: [cpu, disk]}, {name: mixed, mix: [{flavor: s, guests: 2}, {flavor: t}]}]`, 1)

// neighbourly runs a guest's commands; the load of a neighbour runs until it is
// stopped.
func neighbourly(argv []string) fake.Behaviour {
	if argv[0] == "stress-ng" {
		return fake.Behaviour{Took: time.Hour}
	}
	return good(argv)
}

// membersOfArm counts how the attempts of an arm ended, by member.
func (b *bench) membersOfArm(arm string) map[string]int {
	b.t.Helper()
	n := map[string]int{}
	for trial, err := range b.config.Store.Trials() {
		if err != nil {
			b.t.Fatal(err)
		}
		if trial.Arm == arm && trial.Status != store.Discarded && trial.Status != store.Repeat && trial.Status != store.Void {
			n[fmt.Sprintf("%d%s %s", trial.Member, trial.Role, trial.Status)]++
			if _, stresses := trial.Role.Stresses(); stresses != (trial.Probes[model.ProbeNeighbourTime] > 0) {
				b.t.Errorf("%+v", trial)
			}
			if trial.Role != model.Working || trial.Status != store.Done {
				continue
			}
			// Only guests that run at the same time have an agreed start instant.
			if _, agreed := trial.Probes[model.ProbeBarrierSkew]; trial.Metrics["time"] <= 0 ||
				agreed != strings.Contains(arm, "@") {
				b.t.Errorf("%+v", trial)
			}
		}
	}
	return n
}

// TestScenarios: every guest of a trial has its own attempt, and scenarios share guests.
func TestScenarios(t *testing.T) {
	b := newBench(t, several)
	b.native.Behave, b.other.Behave = neighbourly, neighbourly
	s, err := b.run(t.Context())
	if err != nil || !s.Complete || s.Failed != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	for arm, want := range map[string]map[string]int{
		"other":                {"0 done": 2},
		"other@four":           {"0 done": 2, "1 done": 2, "2 done": 2, "3 done": 2},
		"native-control@noisy": {"0 done": 2, "1cpu done": 2, "2disk done": 2},
		"other@mixed":          {"0 done": 2, "1 done": 2, "2 done": 2},
	} {
		if got := b.membersOfArm(arm); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", arm, got, want)
		}
	}
	guests, err := b.config.Store.Guests()
	if err != nil || len(guests) != 3*7 {
		t.Errorf("%d guests were made, %v", len(guests), err)
	}
	for _, g := range guests {
		if g.Flavor.Name == "t" && (g.Slot != 0 || g.Neighbour) {
			t.Errorf("guest %+v", g)
		}
	}
}

// TestLostMember: if one of four guests dies, that is a result, and the results
// of the others stay.
func TestLostMember(t *testing.T) {
	b := newBench(t, several)
	b.native.Behave = neighbourly
	var n atomic.Int32
	b.other.Behave = func(argv []string) fake.Behaviour {
		if argv[0] == "count" && n.Add(1)%4 == 2 {
			return fake.Behaviour{Trouble: fake.Dies}
		}
		return neighbourly(argv)
	}
	s, err := b.run(t.Context())
	if err != nil || !s.Complete || s.Failed == 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	failed, done := 0, 0
	for what, count := range b.membersOfArm("other@four") {
		if strings.HasSuffix(what, "failed") {
			failed += count
		} else if strings.HasSuffix(what, "done") {
			done += count
		}
	}
	if failed == 0 || done == 0 || failed+done != 8 {
		t.Errorf("%d failed and %d done: %v", failed, done, b.membersOfArm("other@four"))
	}
}

// TestNeighbourDies: the failure is recorded, and the trial counts.
func TestNeighbourDies(t *testing.T) {
	b := newBench(t, several)
	b.native.Behave = neighbourly
	b.other.Behave = func(argv []string) fake.Behaviour {
		if argv[0] == "stress-ng" && slices.Contains(argv, "--cpu") {
			return fake.Behaviour{ExitCode: 1, Took: time.Millisecond}
		}
		return neighbourly(argv)
	}
	s, err := b.run(t.Context())
	if err != nil || !s.Complete || s.Failed != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	want := map[string]int{"0 done": 2, "1cpu failed": 2, "2disk done": 2}
	if got := b.membersOfArm("other@noisy"); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestUnwritten: the files of a neighbour that leaves data in memory are removed at the end of its trial, before the
// next one, and those of other neighbours when their guest is used again.
func TestUnwritten(t *testing.T) {
	b := newBench(t, strings.Replace(several, "[cpu, disk]", "[disk, dirty-pages]", 1))
	var mu sync.Mutex
	var order []string
	behave := func(argv []string) fake.Behaviour {
		switch argv[0] {
		case "bash", wire.Self:
			mu.Lock()
			defer mu.Unlock()
			order = append(order, argv[0])
			if argv[0] == "bash" {
				return fake.Behaviour{Took: time.Hour}
			}
		}
		return neighbourly(argv)
	}
	b.native.Behave, b.other.Behave = behave, behave
	if s, err := b.run(t.Context()); err != nil || !s.Complete || s.Failed != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	for i, what := range order {
		if what == "bash" && (i+1 == len(order) || order[i+1] != wire.Self) {
			t.Errorf("%d of %q: the data stays in memory", i, order)
		}
	}
	if !slices.Contains(order, "bash") {
		t.Error(order)
	}
}

// TestOneDoesNotStart: a trial that lacks a guest is skipped and fails for all members.
func TestOneDoesNotStart(t *testing.T) {
	b := newBench(t, several)
	b.native.Behave, b.other.Behave = neighbourly, neighbourly
	b.other.OnCreate = func(n int) error {
		if n > 3 {
			return fake.ErrDiesBooting
		}
		return nil
	}
	s, err := b.run(t.Context())
	if err != nil || !s.Complete || s.Failed == 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	want := map[string]int{"0 failed": 2, "1 failed": 2, "2 failed": 2, "3 failed": 2}
	if got := b.membersOfArm("other@four"); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := b.membersOfArm("other"); got["0 done"] != 2 {
		t.Errorf("alone: %v", got)
	}
}

// interrupted runs until the run is complete. It interrupts each attempt after a random time of least ms or more, up to
// more ms longer.
func (b *bench) interrupted(least, more int) {
	b.t.Helper()
	for n := 0; ; n++ {
		// Longer each time, so that a slow machine comes through, too.
		ctx, cancel := context.WithTimeout(b.t.Context(), time.Duration(least+rand.IntN(more)+100*n)*time.Millisecond)
		_, err := b.run(ctx)
		cancel()
		if err == nil {
			return
		}
		if !errors.Is(err, context.DeadlineExceeded) || n > 100 {
			b.t.Fatal(n, err)
		}
	}
}

// TestScenarioInterrupted: with several guests at once, too, every trial ends up
// done exactly once.
func TestScenarioInterrupted(t *testing.T) {
	b := newBench(t, several)
	b.native.Behave, b.other.Behave = neighbourly, neighbourly
	b.interrupted(500, 1500)
	got := b.membersOfArm("native@four")
	for i := range 4 {
		if got[fmt.Sprintf("%d done", i)] != 2 || got[fmt.Sprintf("%d failed", i)] != 0 {
			t.Errorf("%v", got)
		}
	}
}

// TestMemoryLimit: guests for which the host has too little memory are not
// created, which is a result and not a failure of the run. No other arm's guests
// exist during the test of the limit.
func TestMemoryLimit(t *testing.T) {
	b := newBench(t, strings.Replace(strings.Replace(yaml, "blocks: 4", "blocks: 2", 1), "arms:",
		"scenarios: [solo, {name: room, guests: [2, 3], memory_left: 1KiB}, {name: none, guests: 4, memory_left: "+
			"1000TiB}]\narms:", 1))
	var most atomic.Int32
	behave := func(argv []string) fake.Behaviour {
		if n := int32(len(b.native.Live()) + len(b.other.Live())); n > most.Load() {
			most.Store(n)
		}
		return good(argv)
	}
	b.native.Behave, b.other.Behave = behave, behave
	s, err := b.run(t.Context())
	if err != nil || !s.Complete || s.Failed != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	for arm, want := range map[string]map[string]int{
		"other":               {"0 done": 2},
		"native@room-2":       {"0 done": 2, "1 done": 2},
		"other@room-3":        {"0 done": 2, "1 done": 2, "2 done": 2},
		"other@none":          {"0 failed": 2, "1 failed": 2, "2 failed": 2, "3 failed": 2},
		"native-control@none": {"0 failed": 2, "1 failed": 2, "2 failed": 2, "3 failed": 2},
	} {
		if got := b.membersOfArm(arm); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", arm, got, want)
		}
	}
	for trial, err := range b.config.Store.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(trial.Arm, "@room") != (trial.Probes[model.ProbeMemoryLeft] > 1<<20) {
			t.Errorf("%s: %v", trial.Arm, trial.Probes)
		}
	}
	events, err := b.config.Store.Events()
	if err != nil {
		t.Fatal(err)
	}
	limits := 0
	for _, e := range events {
		if e.Kind == store.EventMemoryLimit && strings.Contains(e.Text, "not created") {
			limits++
		}
	}
	// Three arms, two blocks, four guests.
	if limits != 24 || most.Load() > 5 {
		t.Errorf("%d events, %d guests at once", limits, most.Load())
	}
}

// TestAnswering: the host's end answers a neighbour that floods the network, and
// starts before it.
func TestAnswering(t *testing.T) {
	b := newBench(t, strings.Replace(strings.Replace(yaml, "blocks: 4", "blocks: 1", 1), "disk: 64MiB}",
		"disk: 64MiB, network: bridged}", 1)+
		"scenarios: [solo, {name: noisy, neighbours: [network]}]\n")
	var order []string
	var mu sync.Mutex
	behave := func(argv []string) fake.Behaviour {
		mu.Lock()
		defer mu.Unlock()
		switch argv[0] {
		case "perl", "bash":
			order = append(order, argv[0]+" "+argv[len(argv)-2])
			return fake.Behaviour{Took: time.Hour}
		}
		return good(argv)
	}
	b.native.Behave, b.other.Behave = behave, behave
	s, err := b.run(t.Context())
	if err != nil || !s.Complete || s.Failed != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	if len(order) != 6 {
		t.Fatalf("%q", order)
	}
	for i := 0; i < len(order); i += 2 { // both get the address at which the host's end answers
		if address, ok := strings.CutPrefix(order[i], "perl "); !ok || order[i+1] != "bash "+address {
			t.Errorf("%q", order[i:i+2])
		}
	}
	if got := b.membersOfArm("other@noisy"); !maps.Equal(got, map[string]int{"0 done": 1, "1network done": 1,
		"2answering done": 1}) {
		t.Errorf("%v", got)
	}
}
