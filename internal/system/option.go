package system

import (
	"context"
	"time"

	"github.com/tare-bench/tare/internal/cgroup"
)

// Option is something that an arm may set of its system, beside its flavor.
type Option struct {
	Name    string   `json:"name"`
	About   string   `json:"about"`             // what it does, in a sentence
	Values  []string `json:"values,omitempty"`  // the only ones allowed; nil: any
	Default string   `json:"default,omitempty"` // what holds when it is not set
}

// Setting is what a flavor sets an option to, or the option's default.
func Setting(options []Option, f Flavor, name string) string {
	if v, ok := f.Options[name]; ok {
		return v
	}
	for _, o := range options {
		if o.Name == name {
			return o.Default
		}
	}
	return ""
}

// TargetChecker is implemented by drivers that can tell a target that cannot
// be from its text alone.
type TargetChecker interface{ CheckTarget(target string) error }

// Capper is implemented by guests that are held to a CPU cap by other means
// than their control group. It is in CPUs' worth of time; 0 takes it away.
type Capper interface {
	Cap(ctx context.Context, cpus float64) error
}

// Returner is implemented by guests that give memory back to the host some time
// after they freed it, in which they must run. ReturnDelay is that time; 0: this
// one does not.
type Returner interface{ ReturnDelay() time.Duration }

// Placed is implemented by guests that have their data somewhere else than on
// /data.
type Placed interface{ DataDir() string }

// Unmetered is the Meter of guests that nothing on this host can measure.
type Unmetered struct{}

func (Unmetered) Usage() (cgroup.Usage, error) { return cgroup.Usage{}, cgroup.ErrUnknown }
func (Unmetered) Written() (int64, error)      { return 0, cgroup.ErrUnknown }
