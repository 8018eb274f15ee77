package plan

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/campaign"
)

var update = flag.Bool("update", false, "write the golden files anew")

// example is a plan of these arms and workloads.
func example(t testing.TB, seed uint64, arms, workloads, more string) *Plan {
	t.Helper()
	text := fmt.Sprintf("name: example\nseed: %d\narms: [%s]\nworkloads: [%s]\n%s\n", seed, arms, workloads, more)
	c, err := campaign.Parse("example.yaml", []byte(text), campaign.Known{})
	if err != nil {
		t.Fatal(err)
	}
	return New(c)
}

func TestArms(t *testing.T) {
	describe := func(arms []Arm) string {
		var words []string
		for _, a := range arms {
			w := a.Name + "/" + a.System + "/" + a.Flavor.Name
			if a.Baseline {
				w += "/baseline"
			}
			if a.Control != "" {
				w += "/control"
			}
			words = append(words, w)
		}
		return strings.Join(words, " ")
	}
	for _, test := range []struct{ arms, more, want string }{
		{"native, lxc", "", "native/native/default/baseline lxc/lxc/default native-control/native/default/control"},
		{"lxc, kvm", "baseline: kvm", "lxc/lxc/default kvm/kvm/default/baseline kvm-control/kvm/default/control"},
		{"native, {name: native-control, system: lxc}", "",
			"native/native/default/baseline native-control/lxc/default native-control-2/native/default/control"},
		{"native, {name: native-control, system: lxc, skip: broken}", "",
			"native/native/default/baseline native-control-2/native/default/control"},
		{"{system: lxc, flavor: b}, {system: native, flavor: a}", "flavors: {a: {}, b: {}}",
			"lxc/lxc/b native/native/a/baseline native-control/native/a/control"},
	} {
		if got := describe(example(t, 1, test.arms, "x", test.more).Arms); got != test.want {
			t.Errorf("%s: got  %s\nwant %s", test.arms, got, test.want)
		}
	}
	if got := Arms(&campaign.Campaign{}); got != nil {
		t.Errorf("arms of nothing: %v", got)
	}
}

// TestCrews: the scenarios of an arm share its guests, and its control has as
// many of its own.
func TestCrews(t *testing.T) {
	p := example(t, 1, "native, lxc", "x", `flavors: {whole: {}, quarter: {cpu_cap: 25%}}
scenarios: [solo, {name: four, guests: 4}, {name: noisy, neighbours: [cpu, disk]}, {name: mixed, mix: [{flavor: quarter, guests: 2}, {flavor: whole}]}]`)
	want := map[string]string{
		"native":               "native/whole/0",
		"lxc@four":             "lxc/whole/0 lxc/whole/1 lxc/whole/2 lxc/whole/3",
		"native-control@noisy": "native-control/whole/0 cpu:native-control/whole/0 disk:native-control/whole/1",
		"lxc@mixed":            "lxc/quarter/0 lxc/quarter/1 lxc/whole/0",
	}
	if len(p.Arms) != 12 || len(p.Guests()) != 3*(4+2+2) {
		t.Errorf("%d arms, %d guests", len(p.Arms), len(p.Guests()))
	}
	for _, a := range p.Arms {
		var seats []string
		for _, m := range a.Crew {
			seat := fmt.Sprintf("%s/%s/%d", m.Of, m.Seat.Flavor, m.Slot)
			if m.Neighbour != (m.Stress != "") {
				t.Errorf("%s: %+v", a.Name, m)
			}
			if m.Neighbour {
				seat = m.Stress + ":" + seat
			}
			seats = append(seats, seat)
		}
		if got := strings.Join(seats, " "); want[a.Name] != "" && got != want[a.Name] {
			t.Errorf("%s: %s, want %s", a.Name, got, want[a.Name])
		}
		if a.Of == "native-control" && a.Control != campaign.ArmIn("native", a.Scenario) || a.Baseline != (a.Of == "native") {
			t.Errorf("%+v", a)
		}
	}
}

// TestPairs: a pair is two of an arm's guests, and company for pairs is more pairs.
func TestPairs(t *testing.T) {
	p := example(t, 1, "native, lxc", "x", `flavors: {whole: {network: bridged}}
scenarios: [solo, {name: four, guests: 4}, {name: pair, pairs: 1}, {name: two, pairs: 2, neighbours: [cpu]}]`)
	if len(p.Guests()) != 3*(4+1) {
		t.Errorf("%d guests", len(p.Guests()))
	}
	for _, a := range p.Arms {
		var does []string
		for _, m := range a.Crew {
			does = append(does, fmt.Sprint(m.Slot, m.Stress))
		}
		want := map[string][2]string{
			"solo": {"0", ""}, "four": {"0 1 2 3", a.Of}, "pair": {"0 1serving", ""}, "two": {"0 1 2serving 3serving 0cpu", a.Of + "@pair"},
		}[a.Scenario]
		if got := [2]string{strings.Join(does, " "), a.Alone}; got != want {
			t.Errorf("%s: %q, want %q", a.Name, got, want)
		}
	}
}

// TestEnds: an end of a pair that is unlike the arm's guests has a seat of its
// own, and pairs are compared with one pair of the same kind.
func TestEnds(t *testing.T) {
	p := example(t, 1, "native, lxc", "{name: x, command: [x], server: [y]}", `flavors: {whole: {network: bridged}, quarter: {cpu_cap: 25%, network: bridged}}
scenarios: [{name: pair, pairs: 1}, {name: out, pairs: 1, server: host}, {name: outs, pairs: 2, server: host}, {name: in, pairs: 1, client: host},
  {name: small, pairs: 2, server: {flavor: quarter}}, {name: both, mix: [{flavor: whole, pairs: 1}, {flavor: quarter, pairs: 2}]}]`)
	want := map[string][2]string{
		"pair":  {"whole0 whole1-serving", ""},
		"out":   {"whole0 host/whole0-serving", ""},
		"outs":  {"whole0 whole1 host/whole0-serving host/whole1-serving", "lxc@out"},
		"in":    {"host/whole0 whole0-serving", ""},
		"small": {"whole0 whole1 partner/quarter0-serving partner/quarter1-serving", ""},
		"both":  {"whole0 quarter0 quarter1 whole1-serving quarter2-serving quarter3-serving", "lxc@pair"},
	}
	for _, a := range p.Arms {
		var does []string
		for _, m := range a.Crew {
			what := fmt.Sprint(m.Seat.Flavor, m.Slot)
			switch {
			case m.Host && m.Partner:
				what = "host/" + what
			case m.Partner:
				what = "partner/" + what
			}
			if m.Stress != "" {
				what += "-" + m.Stress
			}
			does = append(does, what)
		}
		if got := [2]string{strings.Join(does, " "), a.Alone}; a.Of == "lxc" && got != want[a.Scenario] {
			t.Errorf("%s: %q, want %q", a.Name, got, want[a.Scenario])
		}
	}
	if text := p.Text(p.Estimate(Costs{})); !strings.Contains(text, "scenario   outs: 2 pairs at once; the host serves\n") {
		t.Errorf("the plan says\n%s", text)
	}
}

// TestAnswering: a neighbour that stresses the network has somebody on the host
// to talk to, where it is on the bridge.
func TestAnswering(t *testing.T) {
	for network, want := range map[string]int{"bridged": 2, "nat": 2, "user": 0} {
		p := example(t, 1, "native, lxc", "x", "flavors: {whole: {network: "+network+"}}\nscenarios: [solo, {name: noisy, neighbours: [network, cpu, network]}]")
		for _, a := range p.Arms {
			answering := 0
			for _, m := range a.Crew {
				if m.Stress == Answering {
					answering++
					if !m.Host || !m.Neighbour {
						t.Errorf("%+v", m)
					}
				}
			}
			if a.Scenario == "noisy" && answering != want || a.Scenario == "solo" && answering != 0 {
				t.Errorf("%s on %s: %d answer", a.Name, network, answering)
			}
		}
	}
}

func TestEveryArmOncePerWorkload(t *testing.T) {
	p := example(t, 3, "native, lxc, runc, qemu-tcg", "a, b, c", "")
	for b := range 200 {
		trials := p.Block(b)
		if len(trials) != p.Trials() || len(trials) != 15 {
			t.Fatalf("%d trials", len(trials))
		}
		seen := map[ID]bool{}
		for i, trial := range trials {
			if trial.Position != i || trial.ID.Block != b || seen[trial.ID] {
				t.Fatalf("block %d has %+v at %d", b, trial, i)
			}
			seen[trial.ID] = true
			if group := trials[i/5*5]; group.Workload != trial.Workload {
				t.Fatalf("block %d: the arms of %s are not together", b, trial.Workload)
			}
		}
		for _, w := range p.Workloads {
			for _, a := range p.Arms {
				if !seen[ID{b, w, a.Name}] {
					t.Fatalf("block %d lacks %s on %s", b, w, a.Name)
				}
			}
		}
	}
}

// TestOrderUniform: chi-square tests that every order is equally likely. The
// seeds are fixed, so a failure is a defect and not chance. The critical
// values are those of p = 0.001.
func TestOrderUniform(t *testing.T) {
	const blocks = 12000
	chi2 := func(counts map[string]int, cells int) float64 {
		expected := float64(blocks) / float64(cells)
		sum := float64(cells-len(counts)) * expected // of the empty cells
		for _, n := range counts {
			sum += (float64(n) - expected) * (float64(n) - expected) / expected
		}
		return sum
	}
	for seed := range uint64(3) {
		p := example(t, seed, "native, lxc, kvm", "a, b, c", "")
		arms, workloads, pairs := map[string]int{}, map[string]int{}, map[string]int{}
		for b := range blocks {
			trials := p.Block(b)
			order := func(from, step, n int, word func(Trial) string) string {
				var words []string
				for i := range n {
					words = append(words, word(trials[from+i*step]))
				}
				return strings.Join(words, " ")
			}
			arm := func(t Trial) string { return t.Arm }
			first := order(0, 1, 4, arm)
			arms[first]++
			workloads[order(0, 4, 3, func(t Trial) string { return t.Workload })]++
			// The order of the first arm of one workload and of the next.
			pairs[order(0, 4, 2, arm)]++
		}
		for _, c := range []struct {
			name     string
			counts   map[string]int
			cells    int
			critical float64
		}{
			{"orders of 4 arms", arms, 24, 49.73},
			{"orders of 3 workloads", workloads, 6, 20.52},
			{"first arms of two workloads", pairs, 16, 37.70},
		} {
			if x := chi2(c.counts, c.cells); x > c.critical {
				t.Errorf("seed %d, %s: chi-square %.1f is over %.1f: %v", seed, c.name, x, c.critical, c.counts)
			}
		}
	}
}

func TestSeedsDiffer(t *testing.T) {
	schedules := map[string]uint64{}
	for seed := range uint64(200) {
		p := example(t, seed, "native, lxc, runc, kvm, xen-pv", "a, b, c, d, e, f", "")
		text := fmt.Sprint(p.Block(0))
		if other, ok := schedules[text]; ok {
			t.Errorf("seeds %d and %d give the same block", seed, other)
		}
		schedules[text] = seed
	}
}

// TestOrderIsOfNamesAlone: neither the order of the file nor other blocks matter.
func TestOrderIsOfNamesAlone(t *testing.T) {
	p := example(t, 5, "native, lxc, kvm", "a, b, c", "")
	q := example(t, 5, "kvm, native, lxc", "c, a, b", "blocks: 77")
	for _, b := range []int{9, 0, 4, 99999} {
		if !slices.Equal(p.Block(b), q.Block(b)) {
			t.Errorf("block %d differs", b)
		}
	}
}

// TestOrderIsStable holds the order between versions: runs are resumed by it.
// So -update leaves this golden file alone; a new order needs a new name in newDraw and
// a record of that name in each run.
func TestOrderIsStable(t *testing.T) {
	p := example(t, 1, "native, lxc, kvm", "openssl-enc, dd-write, sysbench-cpu", "")
	var b strings.Builder
	for _, block := range []int{0, 1, 2, 1000} {
		for _, trial := range p.Block(block) {
			fmt.Fprintln(&b, trial.ID.Block, trial.Position, trial.Workload, trial.Arm)
		}
	}
	const path = "testdata/order-seed-1.txt"
	want, err := os.ReadFile(path) // not written by -update
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the order has changed:\n%s", b.String())
	}
}

// TestResume: whatever is done, what remains is the rest, in the same order.
func TestResume(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := example(t, 11, "native, lxc, runc", "a, b, c", "")
	for range 500 {
		done := map[ID]bool{}
		share := r.Float64()
		const blocks = 4
		for b := range blocks {
			for _, trial := range p.Block(b) {
				if r.Float64() < share {
					done[trial.ID] = true
				}
			}
		}
		isDone := func(id ID) bool { return done[id] }
		first := blocks
		for b := range blocks {
			var want []Trial
			for _, trial := range p.Block(b) {
				if !done[trial.ID] {
					want = append(want, trial)
				}
			}
			got := p.Remaining(b, isDone)
			if !slices.Equal(got, want) {
				t.Fatalf("block %d: remaining %v, want %v", b, got, want)
			}
			if len(want) > 0 && first == blocks {
				first = b
			}
		}
		b, left := p.Resume(blocks, isDone)
		if b != first || !slices.Equal(left, p.Remaining(b, isDone)) && b < blocks {
			t.Fatalf("resumes at %d with %v, want %d", b, left, first)
		}
	}
	// A run that crashes after every single trial still does each one once.
	var order []Trial
	done := map[ID]bool{}
	for {
		_, left := p.Resume(3, func(id ID) bool { return done[id] })
		if len(left) == 0 {
			break
		}
		order = append(order, left[0])
		done[left[0].ID] = true
	}
	if want := slices.Concat(p.Block(0), p.Block(1), p.Block(2)); !slices.Equal(order, want) {
		t.Errorf("crashing changed the order")
	}
}

func TestEpoch(t *testing.T) {
	p := &Plan{RecreateEvery: 5}
	for b, want := range map[int]int{0: 0, 4: 0, 5: 1, 9: 1, 10: 2} {
		if got := p.Epoch(b); got != want {
			t.Errorf("block %d is in epoch %d, want %d", b, got, want)
		}
	}
	for n, want := range map[int]int{0: 0, 1: 1, 5: 1, 6: 2, 10: 2, 11: 3} {
		if got := p.Epochs(n); got != want {
			t.Errorf("%d blocks have %d epochs, want %d", n, got, want)
		}
	}
	p.RecreateEvery = 0
	if p.Epoch(1000) != 0 || p.Epochs(1000) != 1 {
		t.Error("guests that are never created anew have more than one epoch")
	}
}

// TestBoots walks a plan with boots: every trial once, in rounds, the host
// booted no more often than each boot once a round.
func TestBoots(t *testing.T) {
	p := example(t, 7, "native, lxc, {system: xen-pv, boot: xen}", "x, y", "boots: {linux: {}, xen: {entry: Xen}}\nblocks: 7\nrecreate_every: 2")
	done := map[ID]bool{}
	isDone := func(id ID) bool { return done[id] }
	var boots []string
	rounds := map[string]int{} // boot, round → stretches
	for n := 0; ; n++ {
		b, boot, left := p.Next(isDone)
		if len(left) == 0 {
			if b != 7 {
				t.Errorf("ended at block %d", b)
			}
			break
		}
		if len(boots) == 0 || boots[len(boots)-1] != boot.Name {
			boots = append(boots, boot.Name)
			rounds[fmt.Sprint(boot.Name, b/2)]++
		}
		for _, trial := range left {
			if (trial.Arm == "xen-pv") != (boot.Name == "xen") {
				t.Errorf("%s in boot %s", trial.Arm, boot.Name)
			}
		}
		done[left[n%len(left)].ID] = true // crashes after every trial
	}
	if want := 7 * p.Trials(); len(done) != want {
		t.Errorf("%d trials of %d", len(done), want)
	}
	if boots[0] != "linux" {
		t.Errorf("the first boot is %s, where no size is known", boots[0])
	}
	if len(boots) > 8 {
		t.Errorf("%d boots for 4 rounds: %v", len(boots), boots)
	}
	orders := map[string]bool{}
	for round := 1; round < 20; round++ {
		orders[fmt.Sprint(p.bootOrder(round))] = true
	}
	if len(orders) != 2 {
		t.Errorf("boots are not in random order: %v", orders)
	}
}
