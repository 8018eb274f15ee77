package server

import (
	"context"
	"os"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/agent/wire"
)

func (s *service) Counters(context.Context, *wire.CountersRequest) (*wire.CountersResponse, error) {
	read := func(path string) string {
		b, _ := os.ReadFile(path) // a guest without the file does not count this
		return string(b)
	}
	counts := map[string]int64{}
	swapCounts(counts, read("/proc/vmstat"), int64(os.Getpagesize()))
	segmentCounts(counts, read("/proc/net/snmp"))
	return &wire.CountersResponse{Counts: counts}, nil
}

// swapCounts adds the counts of a /proc/vmstat, whose unit is the page.
func swapCounts(counts map[string]int64, vmstat string, page int64) {
	for line := range strings.Lines(vmstat) {
		name := map[string]string{"pswpin": wire.SwappedIn, "pswpout": wire.SwappedOut}
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(value, 10, 50); err == nil && name[key] != "" {
			counts[name[key]] = n * page
		}
	}
}

// segmentCounts adds the count of a /proc/net/snmp, which has two lines for each protocol: names and values.
func segmentCounts(counts map[string]int64, snmp string) {
	var names []string
	for line := range strings.Lines(snmp) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != "Tcp:" {
			continue
		}
		if names == nil {
			names = f
			continue
		}
		for i, name := range names[:min(len(names), len(f))] {
			if n, err := strconv.ParseInt(f[i], 10, 64); err == nil && n >= 0 && name == "RetransSegs" {
				counts[wire.Retransmitted] = n
			}
		}
	}
}
