package store

import (
	"database/sql/driver"
	"fmt"
	"iter"
	"slices"

	"github.com/tare-bench/tare/internal/histogram"
)

// Latencies are the single latencies of one attempt with the status Done.
type Latencies struct {
	Metric, Arm, Block int32
	Guest, Generation  int32 // as in Observation
	Member             int32
	Encoded            []byte // see package histogram; not checked yet
}

// Latencies yields the single latencies of all attempts with the status Done, in the
// order of the trials. An error ends the sequence.
func (r *Run) Latencies() iter.Seq2[Latencies, error] {
	return func(yield func(Latencies, error) bool) {
		if r.format < singles {
			return
		}
		const pageLength = 256
		for last := int64(0); ; {
			var page []Latencies
			query := fmt.Sprintf(`SELECT a.id, l.metric, a.arm, a.block, coalesce(a.guest, 0), a.epoch, a.member,
				substr(l.histogram, 1, %d) FROM latency l JOIN attempt a ON a.id = l.attempt
				JOIN outcome o ON o.attempt = a.id WHERE l.attempt > %d AND o.status = 'done'
				ORDER BY l.attempt LIMIT %d`, histogram.MaxEncoded+1, last, pageLength)
			err := r.scanFast(query, func(row []driver.Value) bool {
				var l Latencies
				var id int64
				ok := integers(row, &id, &l.Metric, &l.Arm, &l.Block, &l.Guest, &l.Generation, &l.Member)
				encoded, blob := row[7].([]byte)
				l.Encoded = slices.Clone(encoded)
				ordered := id > last // otherwise, pages might never end
				last = id
				page = append(page, l)
				return ok && blob && ordered
			})
			if err != nil {
				yield(Latencies{}, err)
				return
			}
			for _, l := range page {
				if !yield(l, nil) {
					return
				}
			}
			if len(page) < pageLength {
				return
			}
		}
	}
}
