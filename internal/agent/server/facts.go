package server

import (
	"os"
	"strconv"
	"strings"
)

// readLine returns the first line of a small file, or "" if it cannot be read: a guest without /sys
// must work, too.
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

// cpuInfo returns what the kernel says of the first CPU under a key of /proc/cpuinfo; "" if nothing.
func cpuInfo(key string) string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// mitigations returns what the kernel does about each vulnerability of the CPU, by its name.
func mitigations() map[string]string {
	const dir = "/sys/devices/system/cpu/vulnerabilities/"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	found := map[string]string{}
	for _, e := range entries {
		if line := readLine(dir + e.Name()); line != "" {
			found[e.Name()] = line
		}
	}
	return found
}

// fsType returns the type of the file system that holds dir; of several mounts on the same
// directory, the last counts. DataDir must itself be a mount point.
func fsType(dir string) string {
	b, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return ""
	}
	found, longest := "", 0
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		at := strings.TrimSuffix(f[1], "/")
		if dir == f[1] || dir != DataDir && len(at) >= longest && strings.HasPrefix(dir, at+"/") {
			found, longest = f[2], len(at)
		}
	}
	return found
}
