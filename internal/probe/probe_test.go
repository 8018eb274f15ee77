package probe

import (
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/model"
)

// elsewhere is a guest that this host cannot measure.
type elsewhere struct{}

func (elsewhere) Usage() (cgroup.Usage, error) { return cgroup.Usage{}, cgroup.ErrUnknown }
func (elsewhere) Written() (int64, error)      { return 0, cgroup.ErrUnknown }
func (elsewhere) IOCaps() model.IOCaps         { return model.IOCaps{Read: 1} }
func (elsewhere) Traffic() (model.Traffic, error) {
	return model.Traffic{}, cgroup.ErrUnknown
}

type idle struct{}

func (idle) Usage() (cgroup.Usage, error) { return cgroup.Usage{CPU: time.Second}, nil }
func (idle) Written() (int64, error)      { return 4096, nil }
func (idle) IOCaps() model.IOCaps         { return model.IOCaps{} }
func (idle) Traffic() (model.Traffic, error) {
	return model.Traffic{Reads: 1, Writes: 1, Read: 4096, Written: 4096}, nil
}

func TestUnknownIsNotZero(t *testing.T) {
	w := Start()
	defer w.Close()
	for _, c := range []struct {
		target Target
		there  bool
	}{{elsewhere{}, false}, {idle{}, true}} {
		window, err := w.Begin(c.target)
		if err != nil {
			t.Fatal(err)
		}
		r, err := window.End()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{model.ProbeGuestGroupCPU, model.ProbeDeviceBytes} {
			if v, there := r.Values[name]; there != c.there || v != 0 {
				t.Errorf("%T: %s is %v, there %v", c.target, name, v, there)
			}
		}
		if _, there := r.Values[model.ProbeHostCPU]; !there {
			t.Errorf("%T: no %s", c.target, model.ProbeHostCPU)
		}
	}
}
