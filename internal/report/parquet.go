package report

import (
	"io"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/tare-bench/tare/internal/store"
)

// parquetRow is a value of a trial; the columns are those of CSV, and
// docs/export.md describes them. An empty value of an optional column is null.
type parquetRow struct {
	Attempt   int64     `parquet:"attempt,delta"`
	Block     int32     `parquet:"block,delta"`
	Position  int32     `parquet:"position,delta"`
	Workload  string    `parquet:"workload,dict"`
	Arm       string    `parquet:"arm,dict"`
	System    string    `parquet:"system,dict"`
	ControlOf string    `parquet:"control_of,dict,optional"`
	Epoch     int32     `parquet:"epoch,dict"`
	Guest     int64     `parquet:"guest,dict"`
	Size      int64     `parquet:"size,dict"`
	Began     time.Time `parquet:"began,timestamp(microsecond)"`
	Status    string    `parquet:"status,dict"`
	Error     string    `parquet:"error,dict,optional"`
	Kind      string    `parquet:"kind,dict,optional"`
	Name      string    `parquet:"name,dict,optional"`
	Unit      string    `parquet:"unit,dict,optional"`
	Better    string    `parquet:"better,dict,optional"`
	Value     *float64  `parquet:"value,optional"`
	Scenario  string    `parquet:"scenario,dict"`
	Member    int32     `parquet:"member,dict"`
	Role      string    `parquet:"stress,dict,optional"`
}

// parquetBatch is how many rows are written at once.
const parquetBatch = 4096

// Parquet writes the values of all trials in long format, the rows and columns
// of CSV, for notebooks. The metadata has the campaign under tare.campaign, so that
// the file itself says what was measured.
func Parquet(w io.Writer, r *store.Run) error {
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
	campaign, err := r.Document(store.DocCampaign)
	if err != nil {
		return err
	}
	out := parquet.NewGenericWriter[parquetRow](w, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(1<<20),
		parquet.KeyValueMetadata("tare.campaign", string(campaign)))
	rows := make([]parquetRow, 0, parquetBatch)
	flush := func() error {
		_, err := out.Write(rows)
		rows = rows[:0]
		return err
	}
	for t, err := range r.Trials() {
		if err != nil {
			return err
		}
		if rows = appendTrial(rows, t, byName[t.Arm], metrics); len(rows) >= parquetBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return out.Close()
}

// appendTrial appends a row for each value of a trial, or one row if it has none.
func appendTrial(rows []parquetRow, t *store.Trial, arm store.Arm, metrics []store.Metric) []parquetRow {
	row := parquetRow{
		Attempt: t.Attempt, Block: int32(t.Block), Position: int32(t.Position), Workload: t.Workload, Arm: t.Arm,
		System: arm.System, ControlOf: arm.ControlOf, Epoch: int32(t.Epoch), Guest: t.Guest, Size: t.Size, Began: t.Began,
		Status: string(t.Status), Error: t.Error, Scenario: arm.Scenario, Member: int32(t.Member), Role: t.Role,
	}
	n := len(rows)
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
	if len(rows) == n {
		rows = append(rows, row)
	}
	return rows
}
