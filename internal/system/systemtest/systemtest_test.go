package systemtest

import (
	"runtime"
	"slices"
	"testing"
)

// TestPlaces: guests of tests that run beside each other have different CPUs.
func TestPlaces(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("this host has one CPU")
	}
	var cpus []int
	for _, place := range []string{"", "0", "1"} {
		t.Setenv("TARE_PLACE", place)
		cpus = append(cpus, Request().CPUs...)
	}
	if last := runtime.NumCPU() - 1; !slices.Equal(cpus, []int{last, last, last - 1}) {
		t.Errorf("they have CPUs %v", cpus)
	}
}
