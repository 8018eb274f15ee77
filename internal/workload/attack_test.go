package workload

import (
	"os"
	"os/exec"
	"testing"

	"github.com/tare-bench/tare/internal/model"
)

// TestAttacks runs the attacks where nothing stops them, with limits that harm nobody: they end at twice the limit.
func TestAttacks(t *testing.T) {
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("perl is not installed")
	}
	for on, tc := range map[string]struct {
		limit int64
		most  float64
	}{
		model.AttackMemory: {4 << 20, 8}, model.AttackProcesses: {5, 10}, model.AttackDisk: {3 << 20, 6 << 20},
	} {
		argv := Attack(on, tc.limit)
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", on, err, out)
		}
		got, stopped, err := AttackGot(string(out))
		// On a slow host it may end before.
		if err != nil || stopped || got <= 0 || got > tc.most {
			t.Errorf("%s: got %v of %v, stopped %v, %v: %s", on, got, tc.most, stopped, err, out)
		}
		if left, err := os.ReadDir(cmd.Dir); err != nil || len(left) > 0 {
			t.Errorf("%s left %v, %v", on, left, err)
		}
	}
	// What the kernel refuses stops the attack.
	for on, limit := range map[string]string{
		model.AttackMemory: "ulimit -v 60000", model.AttackDisk: "ulimit -f 1024; trap '' XFSZ",
	} {
		argv := Attack(on, 1<<30)
		cmd := exec.Command("bash", append([]string{"-c", limit + `; exec "$@"`, "bash"}, argv...)...)
		cmd.Dir = t.TempDir()
		out, _ := cmd.CombinedOutput()
		if got, stopped, err := AttackGot(string(out)); err != nil || !stopped || got <= 0 {
			t.Errorf("%s: got %v, stopped %v, %v: %s", on, got, stopped, err, out)
		}
	}
	if _, _, err := AttackGot("Killed\n"); err == nil {
		t.Error("an attack that says nothing was read")
	}
}
