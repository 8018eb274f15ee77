package watch

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/host/procfs"
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

// ReadKSM returns nil if the host has no KSM or it is off. proc is the host's own /proc. Errors are
// the host's fault.
func ReadKSM(proc string) (*KSM, error) { return readKSM(procfs.Host(proc)) }

func readKSM(files procfs.FS) (*KSM, error) {
	const dir = "/sys/kernel/mm/ksm"
	run, err := files.ReadFile(dir + "/run")
	if err != nil || strings.TrimSpace(string(run)) != "1" {
		return nil, nil
	}
	b, err := files.ReadFile(dir + "/pages_sharing")
	if err != nil {
		return nil, fault.Hostf("KSM: %w", err)
	}
	pages, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 48)
	if err != nil {
		return nil, fault.Hostf("KSM: pages_sharing: %w", err)
	}
	k := &KSM{Saved: pages * int64(os.Getpagesize())}
	for _, p := range files.Processes() {
		if p.Kernel && p.Name == "ksmd" {
			k.CPU, k.KnownCPU = time.Duration(p.Seconds*float64(time.Second)), true
		}
	}
	return k, nil
}

// AvailableMemory returns how many bytes of memory the host can still give to processes without
// swapping: the kernel's estimate, MemAvailable.
func AvailableMemory() (int64, error) { return sizeIn("/proc/meminfo", "MemAvailable") }

// FreeSwap returns how many bytes of the host's swap are free; 0 without swap.
func FreeSwap() (int64, error) { return sizeIn("/proc/meminfo", "SwapFree") }

// OwnMemory returns how many bytes of memory this process holds: its resident set.
func OwnMemory() (int64, error) { return sizeIn("/proc/self/status", "VmRSS") }

func sizeIn(file, key string) (int64, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	n, ok := procfs.Sizes(string(b))[key]
	if !ok {
		return 0, fmt.Errorf("%s has no %s", file, key)
	}
	return n, nil
}
