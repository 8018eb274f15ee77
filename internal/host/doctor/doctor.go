// Package doctor names the noise sources of a host, what on it disturbs measurements, with their
// remedies. It knows the host from what package host describes and package watch sampled, and reads
// nothing itself.
package doctor

import (
	"fmt"
	"slices"

	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/host/watch"
)

// Severity says how much a noise source matters.
type Severity string

// The severities, worst first.
const (
	Spoils   Severity = "spoils"   // numbers would be wrong, or trials fail
	Disturbs Severity = "disturbs" // numbers would be noisier, or hold for fewer cases than they seem to
	Note     Severity = "note"     // worth knowing when numbers are compared
)

// NoiseSource is something on the host that disturbs measurements.
type NoiseSource struct {
	ID       string   `json:"id"` // stable: "cpu-governor"
	Severity Severity `json:"severity"`
	What     string   `json:"what"`   // the evidence, with its number
	Why      string   `json:"why"`    // one line
	Remedy   string   `json:"remedy"` // a command or advice; commands need root
}

// Needs is what the campaign needs of the host; zero fields have defaults.
type Needs struct {
	DiskBytes   int64 // on the data path; default 5 GiB
	MemoryBytes int64 // for all guests at once; default a tenth of all memory
	// CPUs is the list of CPUs that guests run on. The default is the last half of the host's
	// CPUs, because guests get the last ones first.
	CPUs string
}

// view is the input of a rule. The sample is never nil: if none was taken it is all zero, and
// rules find nothing in it.
type view struct {
	*host.Environment
	sample *watch.Sample
	needs  Needs
}

// rule finds one noise source; a nil result means that there is none or that tare cannot tell. The
// rule fills in Severity, What and Remedy.
type rule struct {
	id   string
	find func(v view) *NoiseSource
	why  string
}

// rules in the order in which noise sources of one severity are shown.
var rules = slices.Concat(loadRules, cpuRules, virtRules, memoryRules, kernelRules, housekeepingRules, placeRules)

// NoiseSources returns the host's noise sources, worst first. s is a sample taken while tare did
// nothing else, or nil if none was taken.
func NoiseSources(env *host.Environment, s *watch.Sample, needs Needs) []NoiseSource {
	if s == nil {
		s = &watch.Sample{}
	}
	v := view{Environment: env, sample: s, needs: needs}
	var out []NoiseSource
	for _, r := range rules {
		if f := r.find(v); f != nil {
			f.ID, f.Why = r.id, r.why
			out = append(out, *f)
		}
	}
	rank := []Severity{Spoils, Disturbs, Note}
	slices.SortStableFunc(out, func(a, b NoiseSource) int {
		return slices.Index(rank, a.Severity) - slices.Index(rank, b.Severity)
	})
	return out
}

// found makes the result of a rule.
func found(s Severity, remedy, what string, args ...any) *NoiseSource {
	return &NoiseSource{Severity: s, What: fmt.Sprintf(what, args...), Remedy: remedy}
}

// value returns the value that p points to, and whether it is known.
func value[T any](p *T) (v T, known bool) {
	if p == nil {
		return v, false
	}
	return *p, true
}

// is reports whether p is known and equal to want.
func is[T comparable](p *T, want T) bool { return p != nil && *p == want }

// size formats a number of bytes.
func size(n int64) string {
	const units = "KMGTPE"
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	x, i := float64(n)/1024, 0
	for x >= 1024 && i < len(units)-1 {
		x, i = x/1024, i+1
	}
	return fmt.Sprintf("%.1f %ciB", x, units[i])
}
