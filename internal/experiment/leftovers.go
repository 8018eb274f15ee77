package experiment

import (
	"context"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/instance"
	"github.com/tare-bench/tare/internal/system/xen"
)

// Collect removes what dead tare processes left on this host.
func Collect(stateDir string, layout cgroup.Layout) error {
	found, err := Leftovers(stateDir, layout)
	if err != nil {
		return err
	}
	return instance.Remove(found)
}

// Leftovers lists what dead tare processes left behind, including Xen domains,
// which no kernel removes when their creator dies.
func Leftovers(stateDir string, layout cgroup.Layout) ([]instance.Leftover, error) {
	names, err := xen.Names()
	if err != nil {
		return nil, err
	}
	var domains []instance.Foreign
	for _, name := range names {
		remove := func() error { return xen.Destroy(context.Background(), name) }
		domains = append(domains, instance.Foreign{What: "Xen domain", Name: name, Remove: remove})
	}
	return instance.Leftovers(stateDir, layout, domains...), nil
}
