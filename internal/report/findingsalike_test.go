package report

import (
	"slices"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
)

// TestAlikeFindings: what is said of several arms on a workload is one line, with ranges;
// failures are not put together.
func TestAlikeFindings(t *testing.T) {
	of := func(id string) Cause {
		f := func(workload, arm, text string) analyze.Finding {
			return analyze.Finding{ID: id, Workload: workload, Arm: arm, Text: text}
		}
		return Cause{Kind: analyze.KindOf(id), Findings: []analyze.Finding{
			f("cpu", "lxc", "took 0.3 s of 2 CPUs"), f("disk", "lxc", "took 5 s of 2 CPUs"),
			f("cpu", "runc", "took 1e-05 s of 2 CPUs"),
			f("cpu", "kvm", "took 12 s of 2 CPUs"), f("cpu", "uml", "took nothing"), f("cpu", "gvisor", "took 0.5 s of 2 CPUs"),
			f("disk", "runc", "took 7 s of 2 CPUs"),
		}}
	}
	said := func(c Cause) (out []string) {
		for _, f := range c.Alike() {
			out = append(out, when(f.Arm != "" || f.Workload != "", listed(f.Workload, f.Arm, f.Metric)+": ")+f.Text)
		}
		return out
	}
	want := []string{"cpu, lxc, runc, kvm and 1 more: took 1e-05 … 12 s of 2 CPUs", "disk, lxc: took 5 s of 2 CPUs",
		"cpu, uml: took nothing", "disk, runc: took 7 s of 2 CPUs"}
	if got := said(of("steal")); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := said(of(failed)); len(got) != 7 {
		t.Errorf("failures: %q", got)
	}
}
