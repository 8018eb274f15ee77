package experiment

import (
	"context"
	"errors"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/files"
	"github.com/tare-bench/tare/internal/instance"
	"github.com/tare-bench/tare/internal/system/xen"
)

// Collect removes what dead tare processes left on this host.
func Collect(stateDir string, layout cgroup.Layout) error {
	files.Clean(ImageDir(stateDir)) // copies of container images
	found, err := Leftovers(stateDir, layout)
	return errors.Join(err, instance.Remove(found))
}

// Leftovers lists what dead tare processes left behind, including Xen domains,
// which no kernel removes when their creator dies. It returns an error as well if
// it cannot find out whether the owner of something is dead.
func Leftovers(stateDir string, layout cgroup.Layout) ([]instance.Leftover, error) {
	domains, err := domains()
	if err != nil {
		return nil, err
	}
	return instance.Leftovers(stateDir, layout, domains...)
}

// domains lists all Xen domains on this host, also those that tare did not create.
func domains() ([]instance.Foreign, error) {
	names, err := xen.Names()
	if err != nil {
		return nil, err
	}
	var domains []instance.Foreign
	for _, name := range names {
		remove := func() error { return xen.Destroy(context.Background(), name) }
		domains = append(domains, instance.Foreign{What: "Xen domain", Name: name, Remove: remove})
	}
	return domains, nil
}
