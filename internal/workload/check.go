package workload

import (
	"fmt"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload/tool"
)

// ErrContradiction is wrapped by errors about figures that contradict each other,
// such as a rate that is not size / time.
var ErrContradiction = tool.ErrContradiction

// Ran returns the results by the steps' names if every step has one and
// succeeded: it ended in time, by itself, with exit status 0, and its output is
// complete.
func Ran(steps []Step, results []StepResult) (map[string]StepResult, error) {
	by := make(map[string]StepResult, len(results))
	for _, r := range results {
		if err := succeeded(r); err != nil {
			return nil, err
		}
		if _, twice := by[r.Name]; twice {
			return nil, fmt.Errorf("step %s has two results", r.Name)
		}
		by[r.Name] = r
	}
	for _, s := range steps {
		r, ok := by[s.Name]
		if !ok {
			return nil, fault.Guestf("step %s was not run", s.Name)
		}
		if s.Timed && r.Wall <= 0 {
			return nil, fmt.Errorf("step %s took %v by the host's clock", s.Name, r.Wall)
		}
	}
	if len(results) != len(steps) {
		return nil, fmt.Errorf("%d results for %d steps", len(results), len(steps))
	}
	return by, nil
}

func succeeded(r StepResult) error {
	var what string
	switch {
	case r.Stopped: // its exit status does not matter
		return nil
	case r.TimedOut:
		what = fmt.Sprintf("did not finish in time and was stopped after %v", r.Wall.Round(time.Millisecond))
	case r.Signal != "":
		what = fmt.Sprintf("was killed by %s after %v", r.Signal, r.Wall.Round(time.Millisecond))
	case r.ExitCode != 0:
		what = fmt.Sprintf("failed with exit status %d after %v", r.ExitCode, r.Wall.Round(time.Millisecond))
	case r.Truncated:
		what = "wrote more output than tare keeps, so the trial cannot be checked"
	default:
		return nil
	}
	return fault.Guestf("step %s %s%s", r.Name, what, r.Said())
}

// Said returns the end of a step's stderr, or of its stdout, for an error message.
func (r StepResult) Said() string {
	const keep = 3
	out, where := r.Stderr, "stderr"
	if len(strings.TrimSpace(string(out))) == 0 {
		out, where = r.Stdout, "stdout"
	}
	const tail = 4096
	if len(out) > tail {
		out = out[len(out)-tail:]
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) > keep {
		lines = lines[len(lines)-keep:]
	}
	for i := range lines {
		lines[i] = tool.Quote(lines[i])
	}
	if len(lines) == 1 && lines[0] == `""` {
		return "; it wrote no output"
	}
	return "; " + where + ": " + strings.Join(lines, ", ")
}

// EvaluatedBy completes a workload whose values are computed from the steps of a trial after all of them have
// succeeded.
func (w *Workload) EvaluatedBy(values func(size int64, by map[string]StepResult) (map[string]float64,
	error)) *Workload {
	w.Evaluate = func(size int64, results []StepResult) (map[string]float64, error) {
		by, err := Ran(w.Steps(size), results)
		if err != nil {
			return nil, err
		}
		m, err := values(size, by)
		if err != nil {
			return nil, err
		}
		return Sane(m)
	}
	return w
}

// InStep adds the step's name to an error of its parser.
func InStep(name string, err error) error {
	return fault.Guestf("step %s: %w", name, err)
}

// Output is everything that a step wrote.
func (r StepResult) Output() string { return string(r.Stdout) + "\n" + string(r.Stderr) }
