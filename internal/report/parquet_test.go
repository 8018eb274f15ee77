package report

import (
	"github.com/tare-bench/tare/internal/view"

	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

// TestParquetIsCSV: both formats have the same columns, rows and values.
func TestParquetIsCSV(t *testing.T) {
	r := makeRun(t, 6, "")
	var table, columns bytes.Buffer
	must(t, CSV(&table, r))
	must(t, Parquet(&columns, r))
	want, err := csv.NewReader(&table).ReadAll()
	must(t, err)
	f, err := parquet.OpenFile(bytes.NewReader(columns.Bytes()), int64(columns.Len()))
	must(t, err)
	var names []string
	for _, c := range f.Root().Columns() {
		names = append(names, c.Name())
	}
	if !slices.Equal(names, want[0]) {
		t.Errorf("columns %q, those of CSV are %q", names, want[0])
	}
	if text, ok := f.Lookup("tare.campaign"); !ok || !bytes.Contains([]byte(text), []byte("example")) {
		t.Errorf("the campaign is not in it: %q", text)
	}
	rows, err := parquet.Read[longRow](bytes.NewReader(columns.Bytes()), int64(columns.Len()))
	must(t, err)
	if len(rows) != len(want)-1 {
		t.Fatalf("%d rows, CSV has %d", len(rows), len(want)-1)
	}
	for i, row := range rows {
		value := ""
		if row.Value != nil {
			value = number(*row.Value)
		}
		got := []string{
			strconv.FormatInt(row.Attempt, 10), strconv.Itoa(int(row.Block)), strconv.Itoa(int(row.Position)), row.Workload,
			row.Arm, row.System, row.ControlOf,
			strconv.Itoa(int(row.Generation)), strconv.FormatInt(row.Guest, 10), strconv.FormatInt(row.Size, 10),
			row.Began.UTC().Format(time.RFC3339Nano),
			row.Status, view.CSVCell(row.Error), row.Kind, row.Name, row.Unit, row.Better, value,
			row.Scenario, strconv.Itoa(int(row.Member)), row.Role,
		}
		began, err := time.Parse(time.RFC3339Nano, want[i+1][10])
		must(t, err)
		want[i+1][10] = began.Truncate(time.Microsecond).Format(time.RFC3339Nano)
		if !slices.Equal(got, want[i+1]) {
			t.Fatalf("row %d:\n%q\nCSV has\n%q", i, got, want[i+1])
		}
	}
}
