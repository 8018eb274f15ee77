package report

import (
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/view"
)

// RequestText says what CPU time some arms took for each request of a workload; "": it makes none, or that is not
// known.
func RequestText(res *analyze.Result, workload string, arm func(name string) bool) string {
	var parts []string
	for _, u := range res.Requests {
		if u.Workload == workload && arm(u.Arm) && u.CPU > 0 {
			parts = append(parts, view.Clean(u.Arm)+" "+InUnit("s", u.CPU, 3))
		}
	}
	if parts == nil {
		return ""
	}
	return "CPU time of the guest for each request: " + strings.Join(parts, ", ")
}
