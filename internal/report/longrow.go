package report

import (
	"iter"
	"time"

	"github.com/tare-bench/tare/internal/store"
)

// longRow is a value of a trial, a row of the exports in long format: CSV has these columns in this order, and
// docs/export.md describes them. In Parquet, an empty value of an optional column is null.
type longRow struct {
	Attempt    int64     `parquet:"attempt,delta"`
	Block      int32     `parquet:"block,delta"`
	Position   int32     `parquet:"position,delta"`
	Workload   string    `parquet:"workload,dict"`
	Arm        string    `parquet:"arm,dict"`
	System     string    `parquet:"system,dict"`
	ControlOf  string    `parquet:"control_of,dict,optional"`
	Generation int32     `parquet:"generation,dict"`
	Guest      int64     `parquet:"guest,dict"`
	Size       int64     `parquet:"size,dict"`
	Began      time.Time `parquet:"began,timestamp(microsecond)"`
	Status     string    `parquet:"status,dict"`
	Error      string    `parquet:"error,dict,optional"`
	Kind       string    `parquet:"kind,dict,optional"`
	Name       string    `parquet:"name,dict,optional"`
	Unit       string    `parquet:"unit,dict,optional"`
	Better     string    `parquet:"better,dict,optional"`
	Value      *float64  `parquet:"value,optional"`
	Scenario   string    `parquet:"scenario,dict"`
	Member     int32     `parquet:"member,dict"`
	Role       string    `parquet:"stress,dict,optional"`
}

// longRows returns a row for every value of every trial: the metrics and the probes, in the order of the trials. A
// trial without values, because it failed or was interrupted, has one row without kind, name, unit, direction and
// value.
func longRows(r *store.Run) iter.Seq2[longRow, error] {
	return func(yield func(longRow, error) bool) {
		arms, err := r.Arms()
		if err != nil {
			yield(longRow{}, err)
			return
		}
		byName := map[string]store.Arm{}
		for _, a := range arms {
			byName[a.Name] = a
		}
		metrics, err := r.Metrics()
		if err != nil {
			yield(longRow{}, err)
			return
		}
		for t, err := range r.Trials() {
			if err != nil {
				yield(longRow{}, err)
				return
			}
			for _, row := range rowsOf(t, byName[t.Arm], metrics) {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

func rowsOf(t *store.Trial, arm store.Arm, metrics []store.Metric) (rows []longRow) {
	row := longRow{
		Attempt: t.Attempt, Block: int32(t.Block), Position: int32(t.Position), Workload: t.Workload, Arm: t.Arm,
		System: arm.System, ControlOf: arm.ControlOf, Generation: int32(t.Generation),
		Guest: t.Guest, Size: t.Size, Began: t.Began, Status: string(t.Status), Error: t.Error, Scenario: arm.Scenario,
		Member: int32(t.Member), Role: string(t.Role),
	}
	for _, m := range metrics {
		kind, values := "metric", t.Metrics
		if m.Probe {
			kind, values = "probe", t.Probes
		}
		if v, ok := values[m.Name]; ok && m.Workload == t.Workload {
			row.Kind, row.Name, row.Unit, row.Better, row.Value = kind, m.Name, m.Unit, m.Better, &v
			rows = append(rows, row)
		}
	}
	if rows == nil {
		rows = append(rows, row)
	}
	return rows
}
