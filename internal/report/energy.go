package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
)

// EnergyText says what energy and power the host took for the trials of some arms on a workload; "" if
// that was not measured.
func EnergyText(res *analyze.Result, workload string, arm func(name string) bool) string {
	uses := slices.DeleteFunc(slices.Clone(res.Energy),
		func(u analyze.EnergyUse) bool { return u.Workload != workload || !arm(u.Arm) })
	var parts []string
	for _, u := range uses {
		text := Clean(u.Arm) + " " + InUnit("J", u.Joules, 4)
		if u.PerUnit > 0 {
			text += fmt.Sprintf(" (%s per unit of work)", InUnit("J", u.PerUnit, 4))
		}
		parts = append(parts, fmt.Sprintf("%s at %s W", text, Digits(u.Watts, 3)))
	}
	if parts == nil {
		return ""
	}
	text := "energy of all processors and memory in a trial: " + strings.Join(parts, ", ")
	if rest := uses[0].RestWatts; rest > 0 {
		text += fmt.Sprintf("; before the first guest the host took %s W", Digits(rest, 3))
	}
	return text
}
