package store

import "fmt"

// Output returns the raw output of each step of an attempt, in the order of the
// steps, as far as the run kept it.
func (r *Run) Output(attempt int64) (stdout, stderr [][]byte, err error) {
	rows, err := r.db.QueryContext(r.ctx, "SELECT stdout, stderr FROM step WHERE attempt = ? ORDER BY position", attempt)
	if err != nil {
		return nil, nil, r.explainRead(err)
	}
	defer rows.Close()
	for rows.Next() {
		var o, e []byte
		if err := rows.Scan(&o, &e); err != nil {
			return nil, nil, r.explainRead(fmt.Errorf("output of attempt %d: %w", attempt, err))
		}
		stdout, stderr = append(stdout, o), append(stderr, e)
	}
	return stdout, stderr, r.explainRead(rows.Err())
}
