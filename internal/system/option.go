package system

import (
	"context"
	"strconv"
	"time"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

// Option is a setting of a system, beside the flavor, that an arm may choose.
type Option struct {
	Name   string   `json:"name"`
	About  string   `json:"about"`            // what it does, in a sentence
	Values []string `json:"values,omitempty"` // the only ones allowed; nil: any
	// UpToVCPUs: the value is a whole number from 1 to the guest's virtual CPUs.
	UpToVCPUs bool   `json:"up_to_vcpus,omitempty"`
	Default   string `json:"default,omitempty"` // the value when it is not set
}

// OptionQueues is the option of systems with a TapPort whose virtual network cards can have several queues.
const OptionQueues = "queues"

// Setting returns the value that r sets an option to, or else the option's default.
func (r Request) Setting(options []Option, name string) string {
	if v, ok := r.Options[name]; ok {
		return v
	}
	for _, o := range options {
		if o.Name == name {
			return o.Default
		}
	}
	return ""
}

// queues is how many queues a guest's tap has.
func (r Request) queues(options []Option) (int, error) {
	text := r.Setting(options, OptionQueues)
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > r.VCPUs {
		return 0, fault.Campaignf("option %s is %q, not a number from 1 to the %d of vcpus", OptionQueues, text, r.VCPUs)
	}
	return n, nil
}

// TargetChecker is implemented by drivers that can reject an impossible target from its text alone.
type TargetChecker interface{ CheckTarget(target string) error }

// OptionsChecker is implemented by drivers whose options exclude each other. CheckOptions returns why these values,
// without defaults, do.
type OptionsChecker interface {
	CheckOptions(options map[string]string) error
}

// Capper is implemented by guests that enforce a CPU cap by other means than their control group.
// Cap takes CPUs' worth of time; 0 removes the cap.
type Capper interface {
	Cap(ctx context.Context, cpus float64) error
}

// IOCapper is implemented by guests whose VMM enforces the caps of I/O, not their control group.
type IOCapper interface {
	CapIO(ctx context.Context, caps model.IOCaps) error
}

// Returner is implemented by guests that return freed memory to the host with a delay, during
// which they must run. ReturnDelay is that delay; 0: this guest does not return memory.
type Returner interface{ ReturnDelay() time.Duration }

// Placed is implemented by guests whose data is elsewhere than at /data.
type Placed interface{ DataDir() string }

// Equipped is implemented by guests to which tare has brought its own programs besides the agent, into this directory.
type Equipped interface{ ProgramDir() string }

// Unmetered is the Meter of guests whose cost cannot be measured on this host.
type Unmetered struct{}

func (Unmetered) Usage() (cgroup.Usage, error) { return cgroup.Usage{}, cgroup.ErrUnknown }
func (Unmetered) Written() (int64, error)      { return 0, cgroup.ErrUnknown }
