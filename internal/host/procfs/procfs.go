// Package procfs reads what the kernel shows in /proc: the CPU time of the host and of its
// processes, interrupts, and memory. It has no state: to learn what changed, read
// twice.
package procfs

import (
	"cmp"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// maxFile bounds how much of a file is read.
const maxFile = 4 << 20

// FS is a tree of files that contains /proc and /sys. All paths are absolute.
type FS struct {
	Root fs.FS
	// Proc is the /proc of the host: in a PID namespace, /proc shows neither the host's processes
	// nor the kernel threads.
	Proc string
}

// Host is this machine's tree. proc is the host's own /proc; "": it is /proc.
func Host(proc string) FS { return FS{Root: os.DirFS("/"), Proc: cmp.Or(proc, "/proc")} }

func rel(path string) string { return strings.TrimPrefix(path, "/") }

// ReadFile returns the first 4 MiB of a file.
func (f FS) ReadFile(path string) ([]byte, error) {
	file, err := f.Root.Open(rel(path))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxFile))
}

// ReadLink returns the target of a symbolic link.
func (f FS) ReadLink(path string) (string, error) { return fs.ReadLink(f.Root, rel(path)) }

// Exists reports whether there is a file or directory.
func (f FS) Exists(path string) bool {
	_, err := fs.Stat(f.Root, rel(path))
	return err == nil
}

// Names returns the sorted entries of a directory; none if it cannot be read.
func (f FS) Names(dir string) []string {
	entries, err := fs.ReadDir(f.Root, rel(dir))
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// Sizes reads the format of /proc/meminfo, "Key:   123 kB", in bytes. A line without a unit is a
// count. It ignores lines in another format.
func Sizes(text string) map[string]int64 {
	sizes := map[string]int64{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		f := strings.Fields(value)
		if !ok || len(f) == 0 {
			continue
		}
		n, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil || n < 0 {
			continue
		}
		if len(f) > 1 && f[1] == "kB" {
			if n > 1<<52 {
				continue
			}
			n <<= 10
		}
		sizes[strings.TrimSpace(key)] = n
	}
	return sizes
}

// Counters reads the format of /proc/vmstat, "key 123". It ignores lines in another format.
func Counters(text string) map[string]int64 {
	counters := map[string]int64{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			counters[key] = n
		}
	}
	return counters
}
