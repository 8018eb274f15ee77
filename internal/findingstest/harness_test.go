package findingstest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/agentbin"
	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/experiment"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/image"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/run"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/systemtest"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/builtin"
)

func TestMain(m *testing.M) { systemtest.Main(m) }

// drivers by system, each unchanged or with a planted problem.
type drivers map[string]system.Driver

// measure runs a campaign with real guests and analyzes it. It skips the test if a system is not
// usable.
func measure(t *testing.T, text string, of drivers, workloads ...*workload.Workload) *analyze.Result {
	t.Helper()
	host := withPrograms(t, systemtest.Host(t), workloads)
	for _, d := range of {
		if st := d.Check(t.Context(), host); !st.Usable {
			t.Skipf("%s: %s", d.Name(), st.Reason)
		}
	}
	c, err := campaign.Parse("planted.yaml", []byte("name: planted\nseed: 1\n"+text), campaign.Known{})
	must(t, err)
	p := plan.New(c, c.Planned())
	byName := map[string]*workload.Workload{}
	for _, w := range workloads {
		byName[w.Name] = w
	}
	arms, err := experiment.Arms(p, of, false)
	must(t, err)
	s, err := store.Create(filepath.Join(t.TempDir(), "planted.tare"), map[string][]byte{store.DocCampaign: c.Resolved()},
		arms, experiment.Metrics(p, byName))
	must(t, err)
	defer s.Close()
	// Guests' faults are results, and may be expected.
	if _, err := run.Run(t.Context(), run.Config{Campaign: c, Plan: p, Store: s, Host: host, Drivers: of,
		Workloads: byName}); err != nil {
		t.Fatal(err)
	}
	in, err := dataset.Read(s)
	must(t, err)
	r, err := analyze.Analyze(in)
	must(t, err)
	for _, a := range r.Arms {
		for _, p := range a.Probes {
			t.Logf("%s on %s: %s %.4g … %.4g %s", a.Workload, a.Arm, p.Name, p.Min, p.Max, p.Unit)
		}
	}
	for _, f := range r.Findings {
		t.Logf("%s %s %s %s: %s", f.Severity, f.ID, f.Workload, f.Arm, f.Text)
	}
	return r
}

// withPrograms returns the host with a userland that has the programs of the workloads. Most are in every userland.
func withPrograms(t *testing.T, host *system.Host, workloads []*workload.Workload) *system.Host {
	t.Helper()
	var packages []string
	for _, w := range workloads {
		packages = append(packages, w.Packages...)
	}
	recipe, err := image.Base().With(image.Needs{Packages: packages})
	must(t, err)
	if recipe.Key() == image.Base().Key() {
		return host
	}
	img, err := experiment.BuildImage(t.Context(), host.StateDir, experiment.Source{Recipe: recipe},
		func(step string) { t.Log(step) })
	must(t, err)
	program, err := agentbin.Program()
	must(t, err)
	with := *host
	with.Userland, err = system.NewUserland(img, program, t.TempDir())
	must(t, err)
	return &with
}

// want is an expected finding: its id, workload and arm, "" for any.
type want struct{ id, workload, arm string }

// expect checks that these findings, and no others of their kinds, are found.
func expect(t *testing.T, r *analyze.Result, all ...want) {
	t.Helper()
	for _, w := range all {
		if !slices.ContainsFunc(r.Findings, w.is) {
			t.Errorf("not found: %s, %s, %s", w.id, w.workload, w.arm)
		}
	}
	for _, f := range r.Findings {
		planted := slices.ContainsFunc(all, func(w want) bool { return w.id == f.ID })
		if planted && !slices.ContainsFunc(all, func(w want) bool { return w.is(f) }) {
			t.Errorf("found where nothing was planted: %s, %s, %s: %s", f.ID, f.Workload, f.Arm, f.Text)
		}
	}
}

func (w want) is(f analyze.Finding) bool {
	return w.id == f.ID && (w.workload == "" || w.workload == f.Workload) && (w.arm == "" || w.arm == f.Arm)
}

// timed is a workload of one timed shell command, with commands before and after it.
func timed(name, before, command, after string) *workload.Workload {
	shell := func(line string) []string { return []string{"sh", "-c", line} }
	steps := []workload.Step{{Name: "run", Argv: shell(command), Timed: true}}
	if before != "" {
		steps = slices.Insert(steps, 0, workload.Step{Name: "before", Argv: shell(before)})
	}
	if after != "" {
		steps = append(steps, workload.Step{Name: "after", Argv: shell(after)})
	}
	return &workload.Workload{
		Name: name, SizeUnit: "times", MinSize: 1, MaxSize: 1, DefaultSize: 1,
		Metrics: []workload.Metric{{Name: "time", Unit: "s", Better: workload.Lower}},
		Steps:   func(int64) []workload.Step { return steps },
		Evaluate: func(_ int64, results []workload.StepResult) (map[string]float64, error) {
			var took float64
			for _, r := range results {
				if r.ExitCode != 0 || r.Signal != "" || r.TimedOut {
					return nil, fault.Guestf("step %s: exit status %d, signal %q: %s", r.Name, r.ExitCode, r.Signal, r.Stderr)
				}
				if r.Name == "run" {
					took = r.Wall.Seconds()
				}
			}
			return map[string]float64{"time": took}, nil
		},
	}
}

// real is one of tare's own workloads.
func real(t *testing.T, name string) *workload.Workload {
	t.Helper()
	w, err := builtin.Get(name)
	must(t, err)
	return w
}

// flavors of the campaigns.
const flavors = `flavors:
  one: {vcpus: 1, memory: 256MiB, disk: 192MiB}
  quarter: {vcpus: 1, memory: 256MiB, disk: 192MiB, cpu_cap: 25%}
  small: {vcpus: 1, memory: 64MiB, disk: 192MiB}
`

// sized writes the campaign's list of workloads.
func sized(of map[string]int) string {
	var list []string
	for name, size := range of {
		list = append(list, fmt.Sprintf("{name: %s, size: %d}", name, size))
	}
	slices.Sort(list)
	return "workloads: [" + strings.Join(list, ", ") + "]\n"
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
