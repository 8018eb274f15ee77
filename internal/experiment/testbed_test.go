package experiment

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/tare-bench/tare/internal/system"
)

// counted is a system that counts how often it is checked.
type counted struct {
	system.Driver
	checks *atomic.Int32
}

func (c counted) Check(context.Context, *system.Host) system.Status {
	c.checks.Add(1)
	return system.Status{Usable: true}
}

// TestCheckOnce: a system that is named several times is checked once. Its checks would
// boot guests of the same name at the same time.
func TestCheckOnce(t *testing.T) {
	var uml, kvm atomic.Int32
	bed := Testbed{Drivers: map[string]system.Driver{"uml": counted{checks: &uml}, "kvm": counted{checks: &kvm}}}
	status := bed.Check(t.Context(), []string{"uml", "kvm", "vax", "uml", "uml"})
	if len(status) != 2 || !status["uml"].Usable || uml.Load() != 1 || kvm.Load() != 1 {
		t.Errorf("%d checks of uml, %d of kvm: %v", uml.Load(), kvm.Load(), status)
	}
}
