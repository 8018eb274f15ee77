package host

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
)

// KSM is what kernel samepage merging does for this host, and what it costs.
type KSM struct {
	// Saved is how many bytes more the host's processes would hold without it.
	Saved int64
	// CPU is the time that its thread used since the host booted, with the
	// grain of the kernel's ticks; KnownCPU: such a thread can be seen from here.
	CPU      time.Duration
	KnownCPU bool
}

// ReadKSM returns nil where the host has no KSM, or has not switched it on.
// proc is the host's own /proc.
func ReadKSM(proc string) (*KSM, error) {
	return readKSM(&reader{fsys: os.DirFS("/"), proc: proc})
}

func readKSM(r *reader) (*KSM, error) {
	const dir = "/sys/kernel/mm/ksm"
	run, err := r.raw(dir + "/run")
	if err != nil || strings.TrimSpace(string(run)) != "1" {
		return nil, nil
	}
	b, err := r.raw(dir + "/pages_sharing")
	if err != nil {
		return nil, fault.Hostf("KSM: %w", err)
	}
	pages, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 48)
	if err != nil {
		return nil, fault.Hostf("KSM: pages_sharing: %w", err)
	}
	k := &KSM{Saved: pages * int64(os.Getpagesize())}
	for _, p := range r.processes() {
		if p.kernel && p.name == "ksmd" {
			k.CPU, k.KnownCPU = time.Duration(p.seconds*float64(time.Second)), true
		}
	}
	return k, nil
}
