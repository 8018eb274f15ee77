package report

import (
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report/reporttest"
)

// TestRequests: the CPU time of a request is below the table of its workload, without that of the control.
func TestRequests(t *testing.T) {
	res := reporttest.Cases()
	for i, arm := range []string{"native", "native-control", "lxc", "runc"} {
		res.Requests = append(res.Requests, analyze.RequestUse{Workload: "openssl-enc", Arm: arm, N: 24, Due: 200,
			CPU: []float64{0.0005, 0.0005, 0.000625, 0}[i]})
	}
	text := strings.Join(strings.Fields(tableOf(t, res, Context{Campaign: "cases", Width: 200})), " ")
	const want = "CPU time of the guest for each request: native 500 µs, lxc 625 µs"
	if strings.Count(text, want) != 1 || strings.Contains(text, want+",") {
		t.Errorf("no %q in:\n%s", want, text)
	}
}
