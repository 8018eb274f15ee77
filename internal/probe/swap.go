package probe

import (
	"os"

	"github.com/tare-bench/tare/internal/host/procfs"
	"github.com/tare-bench/tare/internal/model"
)

// swapTraffic is what the host has read from its swap and written there since it was booted, in bytes.
type swapTraffic struct {
	in, out int64
	known   bool
}

func readSwapTraffic() swapTraffic {
	b, _ := os.ReadFile("/proc/vmstat") // a kernel without the file counts nothing
	return swapTrafficOf(string(b), int64(os.Getpagesize()))
}

// swapTrafficOf reads a /proc/vmstat of a kernel with pages of this size.
func swapTrafficOf(vmstat string, page int64) swapTraffic {
	counters := procfs.Counters(vmstat)
	in, known := counters["pswpin"]
	return swapTraffic{in: in * page, out: counters["pswpout"] * page, known: known}
}

// add adds the host's swapping since then to the values of a trial.
func (before swapTraffic) add(values map[string]float64) {
	if now := readSwapTraffic(); before.known && now.known {
		values[model.ProbeHostSwapIn] = float64(now.in - before.in)
		values[model.ProbeHostSwapOut] = float64(now.out - before.out)
	}
}
