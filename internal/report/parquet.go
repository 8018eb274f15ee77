package report

import (
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/tare-bench/tare/internal/store"
)

// parquetBatch is how many rows are written at once.
const parquetBatch = 4096

// Parquet writes the values of all trials in long format, the rows and columns
// of CSV, for notebooks. The metadata has the campaign under tare.campaign, so that
// the file itself says what was measured.
func Parquet(w io.Writer, r *store.Run) error {
	campaign, err := r.Document(store.DocCampaign)
	if err != nil {
		return err
	}
	out := parquet.NewGenericWriter[longRow](w, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(1<<20),
		parquet.KeyValueMetadata("tare.campaign", string(campaign)))
	batch := make([]longRow, 0, parquetBatch)
	for row, err := range longRows(r) {
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
