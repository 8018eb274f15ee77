package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/view"
)

// EnergyText says what energy and power the host took for the trials of some arms on a workload; "" if
// that was not measured.
func EnergyText(res *analyze.Result, workload string, arm func(name string) bool) string {
	uses := slices.DeleteFunc(slices.Clone(res.Energy),
		func(u analyze.EnergyUse) bool { return u.Workload != workload || !arm(u.Arm) })
	var parts []string
	for _, u := range uses {
		parts = append(parts, fmt.Sprintf("%s %s%s at %s W", view.Clean(u.Arm), InUnit("J", u.Joules, 4),
			when(u.PerUnit > 0, " ("+InUnit("J", u.PerUnit, 4)+" per unit of work)"), Digits(u.Watts, 3)))
	}
	if parts == nil {
		return ""
	}
	rest := uses[0].RestWatts
	return "energy of all processors and memory in a trial: " + strings.Join(parts, ", ") +
		when(rest > 0, "; before the first guest the host took "+Digits(rest, 3)+" W")
}
