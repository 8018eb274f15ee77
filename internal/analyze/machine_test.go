package analyze

import (
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/builtin"
)

// TestFlagsUsed: the workloads of which the flags are known exist, and findings compare these flags.
func TestFlagsUsed(t *testing.T) {
	for name, flags := range usedFlags {
		if !slices.ContainsFunc(builtin.All(), func(w *workload.Workload) bool {
			return strings.HasPrefix(w.Name, name)
		}) {
			t.Errorf("no workload is called %s…", name)
		}
		if rest := without(flags, programFlags); len(rest) > 0 {
			t.Errorf("%s: %v are never compared", name, rest)
		}
	}
}
