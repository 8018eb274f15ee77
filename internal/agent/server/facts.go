package server

import (
	"os"
	"strconv"
	"strings"
)

// readLine returns the first line of a small file, or "" when it can't be read:
// a guest without /sys is still a guest.
func readLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line)
}

func memTotal() uint64 {
	fields := strings.Fields(readLine("/proc/meminfo")) // MemTotal: N kB
	if len(fields) < 2 {
		return 0
	}
	kb, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return kb << 10
}

func cpuModel() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// fsType returns the type of the file system mounted at dir, the last mount winning.
func fsType(dir string) string {
	b, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return ""
	}
	found := ""
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 2 && f[1] == dir {
			found = f[2]
		}
	}
	return found
}
