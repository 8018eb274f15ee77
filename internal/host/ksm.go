package host

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
)

// KSM is how much memory kernel samepage merging saves on this host, and what it costs.
type KSM struct {
	// Saved is how many more bytes the host's processes would use without KSM.
	Saved int64
	// CPU is the CPU time of its thread since the host booted, with the resolution of the kernel's
	// ticks; KnownCPU: the thread is visible from here.
	CPU      time.Duration
	KnownCPU bool
}

// ReadKSM returns nil if the host has no KSM or it is off. proc is the host's own /proc.
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
