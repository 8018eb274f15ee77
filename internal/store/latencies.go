package store

import (
	"database/sql/driver"
	"fmt"
	"iter"

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
				var n [7]int64
				for i := range n {
					v, ok := row[i].(int64)
					if !ok || i > 0 && v != int64(int32(v)) {
						return false
					}
					n[i] = v
				}
				encoded, ok := row[7].([]byte)
				ordered := n[0] > last // otherwise, pages might never end
				last = n[0]
				page = append(page, Latencies{int32(n[1]), int32(n[2]), int32(n[3]), int32(n[4]), int32(n[5]),
					int32(n[6]), append([]byte(nil), encoded...)})
				return ok && ordered
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
