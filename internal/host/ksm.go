package host

import (
	"fmt"
	"io/fs"
	"os"
	"path"
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
	return readKSM(os.DirFS("/sys/kernel/mm/ksm"), os.DirFS(proc))
}

func readKSM(ksm, proc fs.FS) (*KSM, error) {
	run, err := fs.ReadFile(ksm, "run")
	if err != nil || strings.TrimSpace(string(run)) != "1" {
		return nil, nil
	}
	b, err := fs.ReadFile(ksm, "pages_sharing")
	if err != nil {
		return nil, fault.Hostf("KSM: %w", err)
	}
	pages, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 48)
	if err != nil {
		return nil, fault.Hostf("KSM: pages_sharing: %w", err)
	}
	k := &KSM{Saved: pages * int64(os.Getpagesize())}
	stats, err := fs.Glob(proc, "[1-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("KSM: %w", err)
	}
	for _, name := range stats {
		b, err := fs.ReadFile(proc, name)
		if err != nil {
			continue // it has ended
		}
		p, err := parseProcStat(string(b))
		if err != nil || p.name != "ksmd" {
			continue
		}
		if line, err := fs.ReadFile(proc, path.Dir(name)+"/cmdline"); err == nil && len(line) == 0 { // a thread of the kernel
			k.CPU, k.KnownCPU = time.Duration(p.seconds*float64(time.Second)), true
			break
		}
	}
	return k, nil
}
