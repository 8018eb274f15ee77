package plan

import (
	"math"
	"os"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
)

// quick is the built-in campaign on a host where lxc and emulation are usable.
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
			"gvisor": {Why: "there is no runsc"}, "uml": {Why: "there is no linux.uml"},
		},
		NewSeed: func() uint64 { return 7 },
	})
	if err != nil {
		t.Fatal(err)
	}
	// The settings of quick may change; this test does not depend on them.
	c.TrialTime, c.Budget = 250*time.Millisecond, 4*time.Minute
	p := New(c, c.Planned())
	p.Emulated = map[string]bool{"qemu-tcg": true}
	return p
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
	// A guest of each arm, and a neighbour on another CPU.
	if want := 2 * 17 * time.Second; e.Create != want || e.Calibrate != 14*time.Second {
		t.Errorf("create %v, want %v; calibrate %v", e.Create, want, e.Calibrate)
	}
	if e.Total != e.TotalMax || e.Total > p.Rule.Budget || e.Total < p.Rule.Budget*9/10 {
		t.Errorf("%v to %v, of a budget of %v", e.Total, e.TotalMax, p.Rule.Budget)
	}
	if share := e.Share["qemu-tcg"]; share <= 0 || share > 0.1 {
		t.Errorf("the emulated arm has %.2f of the time", share)
	}

	p.Emulated = nil
	p.Rule = Rule{Blocks: campaign.Blocks{Min: 10, Max: 12}, Precision: 2}
	p.RecreateEvery = 5
	e = p.Estimate(guesses)
	if e.Passes != 10 || e.PassesMax != 12 || e.Blocks["dd-write"] != 10 || e.BlocksMax["dd-write"] != 12 ||
		e.TotalMax <= e.Total {
		t.Errorf("%+v", e)
	}

	p.Rule = Rule{Blocks: campaign.Blocks{Min: 3, Max: 20}, Budget: time.Second}
	if e = p.Estimate(guesses); e.BlocksMax["dd-write"] != 1 {
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
