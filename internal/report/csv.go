package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"github.com/tare-bench/tare/internal/store"
)

// csvHeader names the columns; docs/export.md describes them.
var csvHeader = []string{
	"attempt", "block", "position", "workload", "arm", "system", "control_of", "epoch", "guest", "size", "began",
	"status", "error", "kind", "name", "unit", "better", "value", "scenario", "member", "stress",
}

// CSV writes a row for every value of every trial: the metrics and the probes,
// in the order of the trials. A trial without values, because it failed or was
// interrupted, has one row without kind, name, unit, direction and value.
func CSV(w io.Writer, r *store.Run) error {
	arms, err := r.Arms()
	if err != nil {
		return err
	}
	byName := map[string]store.Arm{}
	for _, a := range arms {
		byName[a.Name] = a
	}
	metrics, err := r.Metrics()
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	if err := out.Write(csvHeader); err != nil {
		return err
	}
	for t, err := range r.Trials() {
		if err != nil {
			return err
		}
		arm := byName[t.Arm]
		row := []string{
			strconv.FormatInt(t.Attempt, 10), strconv.Itoa(t.Block), strconv.Itoa(t.Position),
			cell(t.Workload), cell(t.Arm), cell(arm.System), cell(arm.ControlOf),
			strconv.Itoa(t.Epoch), strconv.FormatInt(t.Guest, 10), strconv.FormatInt(t.Size, 10),
			t.Began.Format(time.RFC3339Nano),
			cell(string(t.Status)), cell(t.Error),
		}
		scenario, stress := cell(arm.Scenario), cell(t.Role)
		member := strconv.Itoa(t.Member)
		written := false
		for _, m := range metrics {
			kind, values := "metric", t.Metrics
			if m.Probe {
				kind, values = "probe", t.Probes
			}
			v, ok := values[m.Name]
			if m.Workload != t.Workload || !ok {
				continue
			}
			written = true
			row := append(row, kind, cell(m.Name), cell(m.Unit), cell(m.Better), number(v), scenario, member, stress)
			if err := out.Write(row); err != nil {
				return err
			}
		}
		if !written {
			if err := out.Write(append(row, "", "", "", "", "", scenario, member, stress)); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// number formats v with all of its digits.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
