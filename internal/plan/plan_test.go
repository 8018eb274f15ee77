package plan

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/model"
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
	return New(c, c.Planned())
}

func TestArms(t *testing.T) {
	describe := func(arms []campaign.PlannedArm) string {
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
	if got := (&campaign.Campaign{}).Planned(); got != nil {
		t.Errorf("arms of nothing: %v", got)
	}
}

// TestGuests: the scenarios of an arm share its guests; the control has as many
// guests of its own.
func TestGuests(t *testing.T) {
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
		var guests []string
		for _, m := range a.Guests {
			guest := fmt.Sprintf("%s/%s/%d", m.Of, m.FlavorName, m.Slot)
			if m.Neighbour != (m.Role != model.Working) {
				t.Errorf("%s: %+v", a.Name, m)
			}
			if m.Neighbour {
				guest = string(m.Role) + ":" + guest
			}
			guests = append(guests, guest)
		}
		if got := strings.Join(guests, " "); want[a.Name] != "" && got != want[a.Name] {
			t.Errorf("%s: %s, want %s", a.Name, got, want[a.Name])
		}
		if a.Of == "native-control" && a.Control != (model.ArmName{Of: "native", Scenario: a.Scenario}).String() ||
			a.Baseline != (a.Of == "native") {
			t.Errorf("%+v", a)
		}
	}
}

// TestPairs: a pair is two of an arm's guests; several pairs are compared with one.
func TestPairs(t *testing.T) {
	p := example(t, 1, "native, lxc", "x", `flavors: {whole: {network: bridged}}
scenarios: [solo, {name: four, guests: 4}, {name: pair, pairs: 1}, {name: two, pairs: 2, neighbours: [cpu]}]`)
	if len(p.Guests()) != 3*(4+1) {
		t.Errorf("%d guests", len(p.Guests()))
	}
	for _, a := range p.Arms {
		var does []string
		for _, m := range a.Guests {
			does = append(does, fmt.Sprint(m.Slot, m.Role))
		}
		want := map[string][2]string{
			"solo": {"0", ""}, "four": {"0 1 2 3", a.Of}, "pair": {"0 1serving", ""},
			"two": {"0 1 2serving 3serving 0cpu", a.Of + "@pair"},
		}[a.Scenario]
		if got := [2]string{strings.Join(does, " "), a.Alone}; got != want {
			t.Errorf("%s: %q, want %q", a.Name, got, want)
		}
	}
}

// TestEnds: an end of a pair that differs from the arm's guests is a guest
// of its own, and several pairs are compared with one pair of the same kind.
func TestEnds(t *testing.T) {
	p := example(t, 1, "native, lxc", "{name: x, command: [x], server: [y]}",
		`flavors: {whole: {network: bridged}, quarter: {cpu_cap: 25%, network: bridged}}
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
		for _, m := range a.Guests {
			what := fmt.Sprint(m.FlavorName, m.Slot)
			switch {
			case m.Host && m.Partner:
				what = "host/" + what
			case m.Partner:
				what = "partner/" + what
			}
			if m.Role != model.Working {
				what += "-" + string(m.Role)
			}
			does = append(does, what)
		}
		if got := [2]string{strings.Join(does, " "), a.Alone}; a.Of == "lxc" && got != want[a.Scenario] {
			t.Errorf("%s: %q, want %q", a.Name, got, want[a.Scenario])
		}
	}
	if text := p.Text(p.Estimate(Costs{})); !strings.Contains(text,
		"scenario   outs: 2 pairs at once; the host serves\n") {
		t.Errorf("the plan says\n%s", text)
	}
}

// TestAnswering: each neighbour that loads the network has a host's end that
// answers, if the arm's guests are on the bridge.
func TestAnswering(t *testing.T) {
	for network, want := range map[string]int{"bridged": 2, "nat": 2, "user": 0} {
		p := example(t, 1, "native, lxc", "x", "flavors: {whole: {network: "+network+
			"}}\nscenarios: [solo, {name: noisy, neighbours: [network, cpu, network]}]")
		for _, a := range p.Arms {
			answering := 0
			for _, m := range a.Guests {
				if m.Role == model.Answering {
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

// everyone lets all arms take part.
func everyone(campaign.PlannedArm) bool { return true }

func TestEveryArmOncePerWorkload(t *testing.T) {
	p := example(t, 3, "native, lxc, runc, qemu-tcg", "a, b, c", "")
	for b := range 200 {
		groups := p.Whole(b, everyone)
		seen := map[model.TrialID]bool{}
		for _, g := range groups {
			for _, id := range g.Trials() {
				if id.Block != b || id.Workload != g.Workload || seen[id] {
					t.Fatalf("block %d has %+v", b, id)
				}
				seen[id] = true
			}
		}
		for _, w := range p.Workloads {
			for _, a := range p.Arms {
				if !seen[model.TrialID{Block: b, Workload: w, Arm: a.Name}] {
					t.Fatalf("block %d lacks %s on %s", b, w, a.Name)
				}
			}
		}
		if len(groups) != 3 || len(seen) != 15 {
			t.Fatalf("%d trials in %d groups", len(seen), len(groups))
		}
	}
}

// TestOrderUniform tests with chi-square that all orders are equally likely. The
// seeds are fixed, so a failure is a defect and not chance. The critical values
// are those for p = 0.001.
func TestOrderUniform(t *testing.T) {
	const blocks = 12000
	chi2 := func(counts map[string]int, cells int) float64 {
		expected := float64(blocks) / float64(cells)
		sum := float64(cells-len(counts)) * expected // the contribution of empty cells
		for _, n := range counts {
			sum += (float64(n) - expected) * (float64(n) - expected) / expected
		}
		return sum
	}
	for seed := range uint64(3) {
		p := example(t, seed, "native, lxc, kvm", "a, b, c", "")
		arms, workloads, pairs := map[string]int{}, map[string]int{}, map[string]int{}
		for b := range blocks {
			groups := p.Whole(b, everyone)
			arms[strings.Join(groups[0].Arms, " ")]++
			workloads[groups[0].Workload+groups[1].Workload+groups[2].Workload]++
			// The first arms of two successive workloads.
			pairs[groups[0].Arms[0]+" "+groups[1].Arms[0]]++
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
		text := fmt.Sprint(p.Whole(0, everyone))
		if other, ok := schedules[text]; ok {
			t.Errorf("seeds %d and %d give the same block", seed, other)
		}
		schedules[text] = seed
	}
}

// TestOrderIsOfNamesAlone: the order depends neither on the order in the campaign
// file nor on other blocks.
func TestOrderIsOfNamesAlone(t *testing.T) {
	p := example(t, 5, "native, lxc, kvm", "a, b, c", "")
	q := example(t, 5, "kvm, native, lxc", "c, a, b", "blocks: 77")
	for _, b := range []int{9, 0, 4, 99999} {
		if got, want := fmt.Sprint(p.Whole(b, everyone)), fmt.Sprint(q.Whole(b, everyone)); got != want {
			t.Errorf("block %d differs: %s and %s", b, got, want)
		}
	}
}

// TestOrderIsStable keeps the order the same between versions, since resumed runs
// with boots depend on it. Therefore -update does not write this golden file. A
// new order needs a new name in newDraw, and that name recorded in each run.
func TestOrderIsStable(t *testing.T) {
	p := example(t, 1, "native, lxc, kvm", "openssl-enc, dd-write, sysbench-cpu", "")
	var b strings.Builder
	for _, block := range []int{0, 1, 2, 1000} {
		for _, g := range p.Whole(block, everyone) {
			fmt.Fprintln(&b, g.Block, g.Workload, strings.Join(g.Arms, " "))
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

// TestBoots walks a plan with boots: it makes every trial once, in rounds, and
// boots the host in each way at most once a round.
func TestBoots(t *testing.T) {
	p := example(t, 7, "native, lxc, {system: xen-pv, boot: xen}", "x, y",
		"boots: {linux: {}, xen: {entry: Xen}}\nblocks: 7\nrecreate_every: 2")
	done := map[model.TrialID]bool{}
	isDone := func(id model.TrialID) bool { return done[id] }
	var boots []string
	rounds := map[string]int{} // boot and round: number of separate periods
	for n := 0; ; n++ {
		b, boot, left := p.NextInBoots(isDone)
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
		for _, g := range left {
			for _, arm := range g.Arms {
				if (arm == "xen-pv") != (boot.Name == "xen") {
					t.Errorf("%s in boot %s", arm, boot.Name)
				}
			}
		}
		g := left[n%len(left)]
		done[g.Trials()[n%len(g.Arms)]] = true // as if it crashed after every trial
	}
	if want := 7 * 2 * 4; len(done) != want {
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
