package experiment

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/model"
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

// sized is a system of which only the capabilities count.
type sized struct {
	system.Driver
	caps system.Capabilities
}

func (s sized) Capabilities() system.Capabilities { return s.caps }

// TestLacks: a campaign whose data volumes need a program that is not there cannot be measured, unless all of its
// guests are elsewhere.
func TestLacks(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	remote := sized{caps: system.Capabilities{Remote: true}}
	bed := Testbed{Drivers: map[string]system.Driver{"here": sized{}, "ssh": remote}}
	f := model.Flavor{Network: model.NetworkNone, DiskFS: "xfs", Backing: model.BackingQCOW2}
	c := campaign.Campaign{Flavors: []model.Flavor{f}}
	for systems, want := range map[string]int{"ssh": 0, "here": 2, "ssh here": 2} {
		c.Arms = nil
		for _, name := range strings.Fields(systems) {
			c.Arms = append(c.Arms, campaign.Arm{System: name})
		}
		if why := bed.Lacks(&c); len(why) != want || want > 0 && (!strings.Contains(why["xfs"], "mkfs.xfs") ||
			!strings.Contains(why["qcow2"], "qemu-img")) {
			t.Errorf("%s: %v", systems, why)
		}
	}
}
