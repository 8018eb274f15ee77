package campaign

import (
	"strings"
	"testing"
)

// The memory of Xen's domains is not part of dom0's.
func TestOwnMemory(t *testing.T) {
	text := []byte(`name: xen
flavors: {one: {vcpus: 1, memory: 512MiB, disk: 64MiB}}
arms: [native, pv, pvh]
workloads: [w]
`)
	parse := func(domain Limits) error {
		domain.Usable = true
		_, err := Parse("xen.yaml", text, Known{
			Host:    Host{Memory: 1 << 30},
			Systems: map[string]Limits{"native": {Usable: true, ReleasesMemory: true}, "pv": domain, "pvh": domain},
		})
		return err
	}
	if err := parse(Limits{}); err == nil || !strings.Contains(err.Error(), "1536MiB") {
		t.Errorf("three guests in 1 GiB: %v", err)
	}
	if err := parse(Limits{OwnMemory: true}); err != nil {
		t.Errorf("two of them are not in it: %v", err)
	}
}
