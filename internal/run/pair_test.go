package run

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/agent/wire"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/fake"
	"github.com/tare-bench/tare/internal/workload"
)

// pairs is a campaign with pairs of guests.
var pairs = strings.Replace(strings.Replace(yaml, "blocks: 4", "blocks: 2", 1),
	"disk: 64MiB}", "disk: 64MiB, network: bridged}", 1) +
	"scenarios: [solo, {name: pair, pairs: 1}, {name: two, pairs: 2}]\n"

// newPairs is a bench of pairs with a workload that needs a server.
func newPairs(t *testing.T) *bench { return newPairsOf(t, pairs) }

func newPairsOf(t *testing.T, text string) *bench {
	b := newBench(t, text)
	w := served()
	serve := w.Serve
	w.Serve = func(size int64) []workload.Step {
		return append(serve(size), workload.Step{Name: "clean", Argv: []string{"clean"}, ServersEnded: true})
	}
	w.Steps = func(int64) []workload.Step {
		return []workload.Step{{Name: "run", Argv: []string{"count", "1", workload.ServerAddress}, Timed: true}}
	}
	w.Evaluate = func(_ int64, results []workload.StepResult) (map[string]float64, error) {
		by := map[string]workload.StepResult{}
		for _, r := range results {
			by[r.Name] = r
			if r.ExitCode != 0 && !r.Stopped {
				return nil, fault.Guestf("step %s failed", r.Name)
			}
		}
		if !by["server"].Stopped || len(by) != len(results) || len(by) != 4 {
			return nil, fault.Guestf("results %+v", results)
		}
		return map[string]float64{"time": by["run"].Wall.Seconds()}, nil
	}
	b.config.Workloads["count"] = w
	b.native.Behave, b.other.Behave = serves, serves
	return b
}

func serves(argv []string) fake.Behaviour {
	if argv[0] == "serve" {
		return fake.Behaviour{Took: time.Hour}
	}
	return good(argv)
}

// TestPairs: one guest of each pair serves, and the other gets its address.
func TestPairs(t *testing.T) {
	b := newPairs(t)
	var mu sync.Mutex
	did := map[string]int{}
	b.other.Behave = func(argv []string) fake.Behaviour {
		mu.Lock()
		defer mu.Unlock()
		did[argv[0]]++
		if argv[0] == "count" || argv[0] == "serve" {
			did[argv[0]+" "+argv[len(argv)-1]]++
		}
		return serves(argv)
	}
	s, err := b.run(t.Context())
	if err != nil || !s.Complete || s.Failed != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	for arm, want := range map[string]map[string]int{
		"other":              {"0 done": 2},
		"other@pair":         {"0 done": 2, "1serving done": 2},
		"native-control@two": {"0 done": 2, "1 done": 2, "2serving done": 2, "3serving done": 2},
	} {
		if got := b.membersOfArm(arm); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", arm, got, want)
		}
	}
	// Solo, one pair and two pairs, twice each; the guests have the addresses
	// .1 to .4 in the order of their creation.
	extras := 0 // warm-ups and repeats, which are solo; trials repeated because of a busy host
	for status, n := range b.statuses("other") {
		if status == store.Discarded || status == store.Repeat || status == store.Void {
			extras += n
		}
	}
	want := map[string]int{}
	for _, what := range []string{"prepare", "serve", "ready", "count", "clean"} {
		want[what] = 8 + extras
	}
	for _, what := range []string{"count", "serve"} {
		want[what+" "+ownAddress], want[what+" 192.0.2.2"], want[what+" 192.0.2.3"], want[what+" 192.0.2.4"] = 2+extras, 2, 2,
			2
	}
	delete(did, wire.Self) // the cleaning of guests that served
	delete(did, "cat")     // of the counters of what is sent again
	if !maps.Equal(did, want) {
		t.Errorf("%v, want %v", did, want)
	}
}

// TestPairFails: if either guest fails, the trial fails, and the next one is not
// affected.
func TestPairFails(t *testing.T) {
	for _, tc := range []struct {
		name, step string
		behaves    fake.Behaviour
		want       map[string]int
		says       string
	}{
		{"the server's guest dies", "serve", fake.Behaviour{Trouble: fake.Dies},
			map[string]int{"0 failed": 1, "0 done": 1, "1serving failed": 1, "1serving done": 1}, "the guest that serves"},
		{"the server ends", "serve", fake.Behaviour{ExitCode: 1},
			map[string]int{"0 failed": 1, "0 done": 1, "1serving done": 2}, "step server failed"},
		{"no data", "prepare", fake.Behaviour{ExitCode: 1}, map[string]int{"0 failed": 1, "0 done": 1, "1serving failed": 1,
			"1serving done": 1}, "step data failed"},
		{"the client's guest dies", "count", fake.Behaviour{Trouble: fake.Dies},
			map[string]int{"0 failed": 1, "0 done": 1, "1serving done": 2}, "died"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newPairs(t)
			var n atomic.Int32
			var during atomic.Bool
			b.other.Behave = func(argv []string) fake.Behaviour {
				if argv[0] == tc.step && during.Load() && n.Add(1) == 1 {
					return tc.behaves
				}
				return serves(argv)
			}
			b.config.Progress = func(e Event) { during.Store(e.Kind == TrialBegin && e.Trial.Arm == "other@pair") }
			if _, err := b.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := b.membersOfArm("other@pair"); !maps.Equal(got, tc.want) {
				t.Errorf("%v, want %v", got, tc.want)
			}
			for trial, err := range b.config.Store.Trials() {
				if err != nil {
					t.Fatal(err)
				}
				if trial.Arm == "other@pair" && trial.Role == model.Working && trial.Status == store.Failed &&
					!strings.Contains(trial.Error, tc.says) {
					t.Errorf("error %q, want %q", trial.Error, tc.says)
				}
			}
		})
	}
}

// TestHostsEnd: if the host is the client or the server of a pair, a native guest
// takes that part.
func TestHostsEnd(t *testing.T) {
	b := newPairsOf(t, strings.Replace(pairs, "scenarios: [solo, {name: pair, pairs: 1}, {name: two, pairs: 2}]",
		"scenarios: [{name: out, pairs: 1, server: host}, {name: in, pairs: 1, client: host}]", 1))
	s, err := b.run(t.Context())
	if err != nil || !s.Complete || s.Failed != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	did := map[string]int{}
	for _, event := range b.other.Events() {
		if words := strings.Fields(event); words[0] == "run" {
			for _, what := range []string{"serve", "count"} {
				if slices.Contains(words, what) {
					did[what]++
				}
			}
		}
	}
	// In each of two blocks it is the client once and the server once.
	if want := map[string]int{"serve": 2, "count": 2}; !maps.Equal(did, want) {
		t.Errorf("%v, want %v", did, want)
	}
	for _, arm := range []string{"other@out", "other@in", "native@out"} {
		if got := b.membersOfArm(arm); !maps.Equal(got, map[string]int{"0 done": 2, "1serving done": 2}) {
			t.Errorf("%s: %v", arm, got)
		}
	}
	guests, err := b.config.Store.Guests()
	if err != nil {
		t.Fatal(err)
	}
	ends := map[string]int{}
	for _, g := range guests {
		ends[g.Arm+" "+g.Flavor.System]++
	}
	if ends["other@out "] != 1 || ends["other@out native"] != 1 || len(guests) != 6 {
		t.Errorf("%v", ends)
	}
}

// TestOtherMachine: another machine is the client or the server of a pair; it has its own address, and no guest's size.
func TestOtherMachine(t *testing.T) {
	away := "{on: 'ssh://root@far', address: 198.51.100.7, options: {key: mine}}"
	b := newPairsOf(t, strings.Replace(pairs, "scenarios: [solo, {name: pair, pairs: 1}, {name: two, pairs: 2}]",
		"uplink: {interface: eth7, address: 198.51.100.9/24}\nscenarios: [{name: out, pairs: 1, server: "+away+
			"}, {name: in, pairs: 1, client: "+away+"}]", 1))
	var mu sync.Mutex
	served := map[string]int{} // addresses
	b.other.Behave = func(argv []string) fake.Behaviour {
		mu.Lock()
		defer mu.Unlock()
		if argv[0] == "count" {
			served[argv[len(argv)-1]]++
		}
		return serves(argv)
	}
	far := &fake.Driver{System: "ssh", Behave: b.other.Behave, Change: func(c *system.Capabilities) {
		c.Remote, c.SameKernel, c.HostMount, c.Freeze = true, false, false, ""
	}}
	b.config.Drivers["ssh"] = far
	s, err := b.run(t.Context())
	if err != nil || !s.Complete || s.Failed != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	if served["198.51.100.7"] < 2 { // the guest as the client; a busy host repeats trials
		t.Errorf("%v", served)
	}
	for _, arm := range []string{"other@out", "other@in", "native@out", "native-control@in"} {
		if got := b.membersOfArm(arm); !maps.Equal(got, map[string]int{"0 done": 2, "1serving done": 2}) {
			t.Errorf("%s: %v", arm, got)
		}
	}
	guests, err := b.config.Store.Guests()
	if err != nil {
		t.Fatal(err)
	}
	ends := map[string]int{}
	for _, g := range guests {
		ends[g.Flavor.System]++
	}
	if ends["ssh"] != 3 || len(guests) != 6 { // one machine, to which each arm logs in
		t.Errorf("%v", ends)
	}
}

// TestPairsCalibrated: the guest that serves the host finds the size, in a campaign where no guest is ever alone.
func TestPairsCalibrated(t *testing.T) {
	text, _, _ := strings.Cut(pairs, "scenarios:")
	text = strings.Replace(text, "{name: count, size: 1}", "count", 1)
	b := newPairsOf(t, text+"scenarios: [{name: in, pairs: 1, client: host}]\n")
	s, err := b.run(t.Context())
	if err != nil || !s.Complete || s.Failed != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
}
