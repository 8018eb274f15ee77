package store

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/tare-bench/tare/internal/fault"
)

// Observation is one value of one attempt with the status Done, Repeat or Duet.
type Observation struct {
	Metric, Arm, Block int32
	Guest              int32 // id of the guest
	Generation         int32 // counts the re-creations of the arm's guests
	Member             int32 // number of the guest in the trial
	Position           int32 // in the group; before format 3, in the block
	Status             Status
	Value              float64
}

// obsPage is how many attempts are read at once.
const obsPage = 8192

// Observations yields the values of all attempts with the status Done, Repeat or Duet,
// in the order of the trials. The caller may call other methods meanwhile. An
// error ends the sequence.
//
// A run may have millions of values. Observations therefore reads attempts and
// values separately and joins them itself, which is twice as fast as a join in
// SQL, and bypasses database/sql: its Scan takes longer than SQLite itself.
func (r *Run) Observations() iter.Seq2[Observation, error] {
	return func(yield func(Observation, error) bool) {
		var attempts []attemptRow
		var page []Observation
		for last := int64(0); ; last = attempts[len(attempts)-1].id {
			var err error
			if attempts, err = r.attemptRows(attempts[:0], last); err == nil {
				page, err = r.valuesOf(page[:0], attempts)
			}
			if err != nil {
				yield(Observation{}, err)
				return
			}
			for _, o := range page {
				if !yield(o, nil) {
					return
				}
			}
			if len(attempts) < obsPage {
				return
			}
		}
	}
}

// attemptRow is the columns that all values of an attempt share.
type attemptRow struct {
	id                                              int64
	arm, block, guest, generation, member, position int32
	status                                          Status
}

// attemptRows appends the next page of attempts that are done, repeated or duets, after id last.
func (r *Run) attemptRows(to []attemptRow, last int64) ([]attemptRow, error) {
	query := fmt.Sprintf(`SELECT a.id, a.arm, a.block, coalesce(a.guest, 0), a.epoch, %s, a.position, CASE o.status WHEN 'repeat' THEN 1 WHEN 'duet' THEN 2 ELSE 0 END FROM attempt a JOIN outcome o ON o.attempt = a.id
		WHERE a.id > %d AND o.status IN ('done', 'repeat', 'duet') ORDER BY a.id LIMIT %d`, r.since(2, "a.member", "0"), last,
		obsPage)
	err := r.scanFast(query, func(row []driver.Value) bool {
		var a attemptRow
		var status int32
		ok := integers(row, &a.id, &a.arm, &a.block, &a.guest, &a.generation, &a.member, &a.position, &status)
		a.status = []Status{Done, Repeat, Duet}[status]
		ordered := a.id > last // otherwise, pages might never end
		last = a.id
		to = append(to, a)
		return ok && ordered
	})
	return to, err
}

// integers reads the first columns of a row: an id, and integers of 32 bits. It returns false if the row has others.
func integers(row []driver.Value, id *int64, to ...*int32) (ok bool) {
	*id, ok = row[0].(int64)
	for i, p := range to {
		n, integer := row[i+1].(int64)
		*p = int32(n)
		ok = ok && integer && n == int64(*p)
	}
	return ok
}

// valuesOf appends the values of a page of attempts, which are sorted by id.
func (r *Run) valuesOf(to []Observation, attempts []attemptRow) ([]Observation, error) {
	if len(attempts) == 0 {
		return to, nil
	}
	query := fmt.Sprintf("SELECT attempt, metric, value FROM value WHERE attempt BETWEEN %d AND %d ORDER BY "+
		"attempt, metric",
		attempts[0].id, attempts[len(attempts)-1].id)
	i := 0
	err := r.scanFast(query, func(row []driver.Value) bool {
		id, ok0 := row[0].(int64)
		metric, ok1 := row[1].(int64)
		value, ok2 := row[2].(float64)
		for i < len(attempts) && attempts[i].id < id {
			i++
		}
		if i < len(attempts) && attempts[i].id == id { // otherwise, the attempt is not done
			a := attempts[i]
			to = append(to, Observation{int32(metric), a.arm, a.block, a.guest, a.generation, a.member, a.position,
				a.status, value})
		}
		return ok0 && ok1 && ok2 && metric == int64(int32(metric))
	})
	return to, err
}

// scanFast calls each with every row of a query. each returns false if the row
// does not match the schema.
func (r *Run) scanFast(query string, each func(row []driver.Value) bool) error {
	conn, err := r.db.Conn(r.ctx)
	if err != nil {
		return r.explainRead(err)
	}
	defer conn.Close()
	return r.explainRead(conn.Raw(func(c any) error {
		rows, err := c.(driver.QueryerContext).QueryContext(r.ctx, query, nil)
		if err != nil {
			return err
		}
		defer rows.Close()
		row := make([]driver.Value, len(rows.Columns()))
		for {
			if err := r.ctx.Err(); err != nil {
				return err
			}
			if err := rows.Next(row); err != nil {
				if errors.Is(err, io.EOF) {
					return nil
				}
				return err
			}
			if !each(row) {
				return fault.Campaignf("%s is damaged: a row is out of order, or a value is out of range or of another type",
					r.path)
			}
		}
	}))
}
