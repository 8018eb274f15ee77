package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/image"
	"github.com/tare-bench/tare/internal/system/all"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/builtin"
)

// TestMissingTool: an image without a workload's program is refused before
// anything runs.
func TestMissingTool(t *testing.T) {
	tree := t.TempDir()
	bin := filepath.Join(tree, "usr", "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	bed := &Testbed{Image: &image.Image{Dir: tree, Tree: tree}}
	c := &campaign.Campaign{Workloads: []campaign.Workload{{Name: "sysbench-cpu"}}}
	_, err := bed.workloads(c)
	if err == nil || fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "no [sysbench") {
		t.Errorf("%v", err)
	}
	w, err := builtin.Get("sysbench-cpu")
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range w.Programs {
		if err := os.WriteFile(filepath.Join(bin, tool), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := bed.workloads(c); err != nil {
		t.Errorf("with the tool there: %v", err)
	}
}

// TestCannotBeSaved: a campaign that restores guests of a system which cannot save them is refused, with the reason.
func TestCannotBeSaved(t *testing.T) {
	bed := &Testbed{Drivers: all.ByName()}
	c := &campaign.Campaign{Arms: []campaign.Arm{{Name: "tcg", System: "qemu-tcg"}, {Name: "box", System: "gvisor"}}}
	c.Workloads = []campaign.Workload{{Name: "restore"}}
	if err := bed.checkArms(c); err != nil {
		t.Error(err)
	}
	c.Arms = append(c.Arms, campaign.Arm{Name: "container", System: "crun"})
	err := bed.checkArms(c)
	const why = "arm container: crun cannot be saved and restored: CRIU"
	if fault.KindOf(err) != fault.Campaign || !strings.Contains(err.Error(), why) {
		t.Errorf("%v", err)
	}
}

// TestFillRefused: what a workload that fills the host cannot be combined with.
func TestFillRefused(t *testing.T) {
	w := campaign.Workload{Name: "fill"}
	c := func(system string, s campaign.Scenario) *campaign.Campaign {
		return &campaign.Campaign{Arms: []campaign.Arm{{Name: "a", System: system}}, Workloads: []campaign.Workload{w},
			Scenarios: []campaign.Scenario{s}}
	}
	four := campaign.Scenario{Name: "four", Guests: 4}
	mixed := campaign.Scenario{Name: "m", Mix: []campaign.Part{{}}}
	bed := &Testbed{Drivers: all.ByName()}
	for name, tc := range map[string]struct {
		c    *campaign.Campaign
		want string
	}{
		"alone":                     {c("lxc", campaign.Scenario{Name: "solo"}), ""},
		"several guests":            {c("lxc", four), "four has several guests"},
		"several guests of another": {c("lxc", campaign.Scenario{Name: "f", Guests: 4, Workloads: []string{"start"}}), ""},
		"a mix":                     {c("lxc", mixed), "m has several guests"},
		"memory outside dom0":       {c("xen-pv", campaign.Scenario{Name: "solo"}), "arm a's guests is not part"},
	} {
		err := bed.checkFill(tc.c, w, &workload.Fill{Step: 1, Most: 1000})
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || fault.KindOf(err) != fault.Campaign ||
			!strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestServingRefused: a limit of the latency of guests that serve needs such guests, and not too many steps.
func TestServingRefused(t *testing.T) {
	fill, err := builtin.Get("fill")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		set  map[string]string
		want string
	}{
		{map[string]string{"serving": "0"}, ""},
		{map[string]string{"serving_p99": "20", "step": "5", "most": "500"}, ""},
		{map[string]string{"serving_p99": "20", "serving": "0"}, "but serving is 0"},
		{map[string]string{"serving_p99": "20", "step": "5", "most": "501"},
			"at most 100 steps, but 501 guests in steps of 5 are 101"},
	} {
		w, err := fill.With("fill", tc.set)
		if err != nil {
			t.Fatal(err)
		}
		err = checkServing(campaign.Workload{Name: "fill"}, w.Fill)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || fault.KindOf(err) != fault.Campaign ||
			!strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%v: %v", tc.set, err)
		}
	}
}
