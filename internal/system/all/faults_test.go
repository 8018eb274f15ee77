package all

import (
	"testing"

	"github.com/tare-bench/tare/internal/system/systemtest"
)

func TestMain(m *testing.M) { systemtest.Main(m) }

// TestFaults lets system calls fail while guests of each system start and end.
func TestFaults(t *testing.T) {
	for _, d := range Drivers() {
		t.Run(d.Name(), func(t *testing.T) {
			if caps := d.Capabilities(); caps.InMemory || caps.Remote {
				t.Skip("a machine that somebody else runs")
			}
			systemtest.Faults(t, d)
		})
	}
}
