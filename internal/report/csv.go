package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/tare-bench/tare/internal/store"
)

// CSV writes the values of all trials in long format, a row for each.
func CSV(w io.Writer, r *store.Run) error {
	var header []string
	for _, column := range parquet.SchemaOf(longRow{}).Fields() {
		header = append(header, column.Name())
	}
	out := csv.NewWriter(w)
	if err := out.Write(header); err != nil {
		return err
	}
	for row, err := range longRows(r) {
		if err != nil {
			return err
		}
		if err := out.Write(row.cells()); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// cells returns the row as CSV.
func (r longRow) cells() []string {
	value := ""
	if r.Value != nil {
		value = number(*r.Value)
	}
	integer := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []string{
		integer(r.Attempt), integer(int64(r.Block)), integer(int64(r.Position)), cell(r.Workload), cell(r.Arm),
		cell(r.System), cell(r.ControlOf), integer(int64(r.Epoch)), integer(r.Guest), integer(r.Size),
		r.Began.Format(time.RFC3339Nano), cell(r.Status), cell(r.Error), r.Kind, cell(r.Name), cell(r.Unit),
		cell(r.Better), value, cell(r.Scenario), integer(int64(r.Member)), cell(r.Role),
	}
}
