package store

import (
	"database/sql"
	"fmt"
)

// Output returns the raw output of each step of an attempt, in the order of the
// steps, as far as the run kept it.
func (r *Run) Output(attempt int64) (stdout, stderr [][]byte, err error) {
	err = eachRow(r.ctx, r.db, "SELECT stdout, stderr FROM step WHERE attempt = ? ORDER BY position",
		func(rows *sql.Rows) error {
			var o, e []byte
			if err := rows.Scan(&o, &e); err != nil {
				return fmt.Errorf("output of attempt %d: %w", attempt, err)
			}
			stdout, stderr = append(stdout, o), append(stderr, e)
			return nil
		}, attempt)
	return stdout, stderr, r.explainRead(err)
}
