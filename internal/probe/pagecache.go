package probe

import (
	"errors"
	"io/fs"
	"os"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/host/procfs"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/pagecache"
)

// PageCache is what the host's page cache held at an instant, and what its disks had read until then.
type PageCache struct {
	share   float64 // of some files, 0..1
	known   bool
	read    int64 // bytes
	counted bool
}

// ReadPageCache looks which share of these files is in the page cache. Files that do not exist do not count.
func ReadPageCache(files []string) (c PageCache, err error) {
	var cached, all int64
	for _, file := range files {
		n, size, err := residentOf(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return c, fault.Hostf("what the page cache holds of %s: %w", file, err)
		}
		cached, all = cached+n, all+size
	}
	if all > 0 {
		c.share, c.known = float64(cached)/float64(all), true
	}
	c.read, c.counted = diskRead()
	return c, nil
}

// Add adds the probes about the page cache to the values of a trial that began then and is over.
func (c PageCache) Add(v map[string]float64) {
	if c.known {
		v[model.ProbeCached] = c.share
	}
	if now, ok := diskRead(); ok && c.counted {
		v[model.ProbeDiskRead] = float64(now - c.read)
	}
}

// diskRead is how much the host has read from its disks since it was booted, in bytes.
func diskRead() (bytes int64, ok bool) {
	b, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return 0, false
	}
	kib, ok := procfs.Counters(string(b))["pgpgin"]
	return kib << 10, ok
}

func residentOf(path string) (cached, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	return pagecache.Resident(f)
}
