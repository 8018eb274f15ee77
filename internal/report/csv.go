package report

import (
	"encoding/csv"
	"io"
	"iter"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/view"
)

// CSV writes the values of all trials in long format, a row for each.
func CSV(w io.Writer, r *store.Run) error { return WriteCSV(w, longRows(r)) }

// Parquet writes the rows and columns of CSV, for notebooks. The metadata has the campaign under tare.campaign, so that
// the file itself says what was measured.
func Parquet(w io.Writer, r *store.Run) error { return runParquet(w, r, longRows(r)) }

func runParquet[T any](w io.Writer, r *store.Run, rows iter.Seq2[T, error]) error {
	campaign, err := r.Document(store.DocCampaign)
	if err != nil {
		return err
	}
	return WriteParquet(w, rows, "tare.campaign", string(campaign))
}

// Each are rows that are already there, for WriteCSV and WriteParquet.
func Each[T any](rows []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// WriteCSV writes rows; the columns have the names that they have in Parquet.
func WriteCSV[T any](w io.Writer, rows iter.Seq2[T, error]) error {
	columns := reflect.TypeFor[T]()
	line := make([]string, columns.NumField())
	for i := range line {
		line[i], _, _ = strings.Cut(columns.Field(i).Tag.Get("parquet"), ",")
	}
	out := csv.NewWriter(w)
	if err := out.Write(line); err != nil {
		return err
	}
	for row, err := range rows {
		if err != nil {
			return err
		}
		of := reflect.ValueOf(row)
		for i := range line {
			line[i] = csvCell(of.Field(i))
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// csvCell formats a column with all of its digits; empty if it is nil.
func csvCell(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Float64:
		return number(v.Float())
	case reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Struct:
		return v.Interface().(time.Time).Format(time.RFC3339Nano)
	}
	return view.CSVCell(v.String())
}

// number formats v with all of its digits.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// parquetBatch is how many rows are written at once.
const parquetBatch = 4096

// WriteParquet writes rows, and a text of the file's metadata.
func WriteParquet[T any](w io.Writer, rows iter.Seq2[T, error], key, text string) error {
	out := parquet.NewGenericWriter[T](w, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(1<<20),
		parquet.KeyValueMetadata(key, text))
	batch := make([]T, 0, parquetBatch)
	for row, err := range rows {
		if err != nil {
			return err
		}
		if batch = append(batch, row); len(batch) == parquetBatch {
			if _, err := out.Write(batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if _, err := out.Write(batch); err != nil {
		return err
	}
	return out.Close()
}
