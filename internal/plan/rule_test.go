package plan

import (
	"math"
	"os"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
)

func TestRule(t *testing.T) {
	const s = time.Second
	fixed := Rule{Blocks: campaign.Blocks{Min: 10, Max: 10}}
	stein := Rule{Blocks: campaign.Blocks{Min: 10, Max: 100}, Precision: 2}
	timed := Rule{Blocks: campaign.Blocks{Min: 3, Max: 20}, Budget: 100 * s}
	both := Rule{Blocks: campaign.Blocks{Min: 10, Max: 100}, Precision: 2, Budget: 100 * s}
	for _, test := range []struct {
		name          string
		rule          Rule
		done, stein   int
		elapsed, mean time.Duration
		reason        Reason // "": more
	}{
		{"fixed, begun", fixed, 0, 0, 0, 0, ""},
		{"fixed, one to go", fixed, 9, 0, 900 * s, 100 * s, ""},
		{"fixed, done", fixed, 10, 0, 0, 0, ReasonBlocks},
		{"fixed pays no heed to Stein", fixed, 10, 50, 0, 0, ReasonBlocks},
		{"first stage", stein, 9, 0, 0, 0, ""},
		{"first stage suffices", stein, 10, 7, 0, 0, ReasonPrecision},
		{"no more called for", stein, 10, 0, 0, 0, ReasonPrecision},
		{"second stage", stein, 10, 37, 0, 0, ""},
		{"second stage done", stein, 37, 37, 0, 0, ReasonPrecision},
		{"too precise, going on", stein, 99, 4000, 0, 0, ""},
		{"too precise", stein, 100, 4000, 0, 0, ReasonMax},
		{"room", timed, 4, 0, 80 * s, 20 * s, ""},
		{"no room", timed, 4, 0, 81 * s, 20 * s, ReasonBudget},
		{"no room, and fewer than min", timed, 1, 0, 90 * s, 90 * s, ReasonBudget},
		{"the first block always", timed, 0, 0, 500 * s, 0, ""},
		{"as many as allowed", timed, 20, 0, 20 * s, s, ReasonBlocks},
		{"the budget ends the second stage", both, 30, 60, 99 * s, 3 * s, ReasonBudget},
		{"precision before the budget", both, 60, 60, 99 * s, 3 * s, ReasonPrecision},
	} {
		more, reason := test.rule.More(test.done, test.stein, test.elapsed, test.mean)
		if more != (test.reason == "") || reason != test.reason {
			t.Errorf("%s: %v, %q", test.name, more, reason)
		}
	}
}

// quick is the built-in campaign where lxc and emulation are usable.
func quick(t *testing.T) *Plan {
	t.Helper()
	text, err := campaign.Builtin("quick")
	if err != nil {
		t.Fatal(err)
	}
	limits := campaign.Limits{Usable: true}
	c, err := campaign.Parse("quick", text, campaign.Known{
		Systems: map[string]campaign.Limits{
			"native": limits, "lxc": limits, "qemu-tcg": limits, "runc": limits, "kvm": {Why: "there is no /dev/kvm"},
		},
		NewSeed: func() uint64 { return 7 },
	})
	if err != nil {
		t.Fatal(err)
	}
	// The sizes of quick change with what is found to be quick; the sums do not.
	c.TrialTime, c.Budget = 250*time.Millisecond, 4*time.Minute
	return New(c)
}

var guesses = Costs{
	Slowdown:  map[string]float64{"qemu-tcg": 15},
	Overhead:  200 * time.Millisecond,
	Create:    map[string]time.Duration{"lxc": time.Second, "runc": time.Second, "qemu-tcg": 15 * time.Second},
	Calibrate: 2 * time.Second,
}

func TestEstimate(t *testing.T) {
	p := quick(t)
	e := p.Estimate(guesses)
	// Four arms at 0.25 s + 0.2 s and one at 3.75 s + 0.2 s, seven workloads.
	if want := 7 * (4*450 + 3950) * time.Millisecond; e.Block != want {
		t.Errorf("a block of %v, want %v", e.Block, want)
	}
	if want := 17 * time.Second; e.Create != want || e.Calibrate != 14*time.Second {
		t.Errorf("create %v, want %v; calibrate %v", e.Create, want, e.Calibrate)
	}
	// 31 s + 40.25 s a block: five fit into 240 s.
	if e.Blocks != 5 || e.BlocksMax != 5 || e.Total != 31*time.Second+5*e.Block || e.TotalMax != e.Total {
		t.Errorf("%+v", e)
	}

	p.Rule = Rule{Blocks: campaign.Blocks{Min: 10, Max: 12}, Precision: 2}
	p.RecreateEvery = 5
	e = p.Estimate(guesses)
	if e.Blocks != 10 || e.BlocksMax != 12 ||
		e.Total != 14*time.Second+2*17*time.Second+10*e.Block || e.TotalMax != 14*time.Second+3*17*time.Second+12*e.Block {
		t.Errorf("%+v", e)
	}

	p.Rule = Rule{Blocks: campaign.Blocks{Min: 3, Max: 20}, Budget: time.Second}
	if e = p.Estimate(guesses); e.Blocks != 1 {
		t.Errorf("a tiny budget: %+v", e)
	}

	p.Rule = Rule{Blocks: campaign.Blocks{Min: 100_000, Max: 100_000}}
	p.TrialTime = 10_000 * time.Hour
	if e = p.Estimate(guesses); e.Total != math.MaxInt64 {
		t.Errorf("a campaign of more than 292 years: %+v", e)
	}
}

func TestText(t *testing.T) {
	p := quick(t)
	texts := p.Text(p.Estimate(guesses))
	p.RecreateEvery = 5
	p.Rule = Rule{Blocks: campaign.Blocks{Min: 10, Max: 100}, Precision: 2}
	texts += "\n" + p.Text(p.Estimate(guesses))
	p.Rule = Rule{Blocks: campaign.Blocks{Min: 10, Max: 10}, Budget: time.Minute}
	texts += "\n" + p.Text(p.Estimate(guesses))
	const path = "testdata/text.txt"
	if *update {
		if err := os.WriteFile(path, []byte(texts), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if texts != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", texts, want)
	}
}
