package host

import (
	"errors"
	"os"
)

// AvailableMemory returns how many bytes of memory the host can still give to processes without
// swapping: the kernel's estimate, MemAvailable.
func AvailableMemory() (int64, error) {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	n, ok := keyedKB(string(b))["MemAvailable"]
	if !ok {
		return 0, errors.New("/proc/meminfo has no MemAvailable")
	}
	return n, nil
}
