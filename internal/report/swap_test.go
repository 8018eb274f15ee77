package report

import (
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/host"
)

func TestSwap(t *testing.T) {
	use := func(trials, used int, most float64) analyze.SwapUse {
		return analyze.SwapUse{Trials: trials, Used: used, Most: most}
	}
	disks := []host.Swap{{Device: "/dev/sda2", Size: 8 << 30}, {Device: "file", Size: 1 << 30}}
	for _, c := range []struct {
		swap *analyze.Swapping
		of   []host.Swap
		want string
	}{
		{nil, disks, ""},
		{&analyze.Swapping{Host: use(30, 0, 0), Held: use(30, 0, 0)}, nil,
			"the host has none; not used (checked): by the host in none of 30 trials"},
		{&analyze.Swapping{Host: use(30, 0, 0), Guests: use(12, 0, 0)}, disks,
			"the host has 8.00 GiB on /dev/sda2 and 1.00 GiB on a file; not used (checked): by the host in none of 30 " +
				"trials, by the kernels of guests in none of 12 trials"},
		{&analyze.Swapping{Host: use(30, 0, 0), Guests: use(12, 3, 5<<20), Held: use(30, 1, 4096)}, disks[:1],
			"the host has 8.00 GiB on /dev/sda2; used: by the kernels of guests in 3 of 12 trials, at most 5.00 MiB, by the " +
				"host in none of 30 trials, memory of guests was in the host's swap at the end of 1 of 30 trials, at most " +
				"4.00 KiB"},
		{&analyze.Swapping{Held: use(30, 1, 4096)}, nil, "the host has none; used: memory of guests was in the host's " +
			"swap at the end of 1 of 30 trials, at most 4.00 KiB"},
	} {
		if got := Swap(c.swap, c.of); got != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", c.swap, got, c.want)
		}
	}
}
