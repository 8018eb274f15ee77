package analyze

import (
	"fmt"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
)

// Swapping is how much memory was moved to swap and back during the trials of a run.
type Swapping struct {
	Host   SwapUse `json:"host"`   // by the host
	Guests SwapUse `json:"guests"` // by the kernels of guests that have their own
	Held   SwapUse `json:"held"`   // of guests' memory, which was in the host's swap at the end of the trial
}

// SwapUse is what was read from a swap and written there in trials, or what was there.
type SwapUse struct {
	Trials int     `json:"trials"` // of which it is known, each guest of a trial counted
	Used   int     `json:"used"`   // of those, in which it was more than nothing
	Most   float64 `json:"most"`   // B in one trial
}

// swapLimit is how many bytes a trial may move to swap and back without a finding: a kernel moves some pages that
// nobody has used for long.
const swapLimit = 1 << 20

// swaps are the parts of a Swapping, and the probes whose sum each is.
var swaps = []struct {
	part   func(*Swapping) *SwapUse
	probes []string
	did    string
	// intended reports whether swapping is what the arm's flavor asks for.
	intended func(flavor model.Flavor, ownKernel bool) bool
}{
	{func(s *Swapping) *SwapUse { return &s.Host }, []string{model.ProbeHostSwapIn, model.ProbeHostSwapOut},
		"the host moved memory to its swap or back", inHostsSwap},
	{func(s *Swapping) *SwapUse { return &s.Guests }, []string{model.ProbeGuestSwapIn, model.ProbeGuestSwapOut},
		"the guest's kernel moved memory to its swap or back", func(f model.Flavor, _ bool) bool { return f.SwapBytes > 0 }},
	{func(s *Swapping) *SwapUse { return &s.Held }, []string{model.ProbeSwapped},
		"memory of the guest was in the host's swap at the end", inHostsSwap},
}

// inHostsSwap reports whether the flavor lets the host swap the guest's memory: a guest with its own kernel has a swap
// volume instead.
func inHostsSwap(f model.Flavor, ownKernel bool) bool { return f.SwapBytes > 0 && !ownKernel }

// add counts the trials in which the sum of these series is more than nothing.
func (u *SwapUse) add(of []series) {
	for i := range of[0] {
		moved := 0.0
		for _, s := range of {
			if i < len(s) { // always in files that tare wrote
				moved += s[i].value
			}
		}
		u.Trials++
		if moved > 0 {
			u.Used++
		}
		u.Most = max(u.Most, moved)
	}
}

// swapping is nil for a run of an older tare, which did not look.
func (a *analysis) swapping() *Swapping {
	var s Swapping
	for _, of := range swaps {
		a.eachProbe(func(_ string, _ dataset.Arm, p []series) { of.part(&s).add(p) }, of.probes...)
	}
	if s == (Swapping{}) {
		return nil
	}
	return &s
}

// findSwapped reports trials in which memory was swapped although the flavor does not ask for that.
func findSwapped(a *analysis) (out []Finding) {
	for _, of := range swaps {
		a.eachProbe(func(workload string, arm dataset.Arm, p []series) {
			var use SwapUse
			ownKernel := len(a.probe(workload, model.ProbeGuestSwapIn, a.arms[arm.Name])) > 0
			if use.add(p); use.Most > swapLimit && !of.intended(arm.Size, ownKernel) {
				out = append(out, Finding{Workload: workload, Arm: arm.Name, Text: fmt.Sprintf(
					"in %d of %d trials (%.3g %%) %s: %.4g MiB in the trial with most",
					use.Used, use.Trials, 100*float64(use.Used)/float64(use.Trials), of.did, use.Most/mebi)})
			}
		}, of.probes...)
	}
	return out
}
