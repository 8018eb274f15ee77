package report

import (
	"fmt"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/view"
)

// Swap says which swap the host has, and whether memory was moved there and back during trials; "" for a run of an
// older tare, which did not look.
func Swap(s *analyze.Swapping, of []host.Swap) string {
	if s == nil {
		return ""
	}
	var used, unused []string
	add := func(u analyze.SwapUse, who string) {
		switch {
		case u.Used > 0:
			used = append(used, fmt.Sprintf("%s in %d of %d trials, at most %s", who, u.Used, u.Trials, InUnit("B", u.Most, 3)))
		case u.Trials > 0:
			unused = append(unused, fmt.Sprintf("%s in none of %d trials", who, u.Trials))
		}
	}
	add(s.Host, "by the host")
	add(s.Guests, "by the kernels of guests")
	held := when(s.Held.Used > 0, fmt.Sprintf("memory of guests was in the host's swap at the end of %d of %d trials, at "+
		"most %s", s.Held.Used, s.Held.Trials, InUnit("B", s.Held.Most, 3)))
	text := "not used (checked): "
	if used != nil || held != "" {
		text = "used: "
	}
	return hostSwap(of) + "; " + text + listed(append(append(used, unused...), held)...)
}

// hostSwap says how much swap the host has, and on what.
func hostSwap(of []host.Swap) string {
	var all []string
	for _, s := range of {
		on := view.Clean(s.Device)
		if on == "file" {
			on = "a file"
		}
		all = append(all, InUnit("B", float64(s.Size), 3)+" on "+on)
	}
	if all == nil {
		return "the host has none"
	}
	return "the host has " + view.And(all)
}
