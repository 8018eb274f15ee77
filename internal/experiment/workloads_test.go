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
	cw := campaign.Workload{Name: "restore"}
	if err := bed.checkRestores(c, cw); err != nil {
		t.Error(err)
	}
	c.Arms = append(c.Arms, campaign.Arm{Name: "container", System: "runc"})
	err := bed.checkRestores(c, cw)
	const why = "arm container: runc cannot be saved and restored: CRIU"
	if fault.KindOf(err) != fault.Campaign || !strings.Contains(err.Error(), why) {
		t.Errorf("%v", err)
	}
}
