package store

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tare-bench/tare/internal/fault"
)

// schema is that of Format.
//
//go:embed schema.sql
var schema string

// undo takes back, for each format from the second on, what it added to the format before.
var undo = [Format - 1]string{
	`DROP TABLE guest_value; ALTER TABLE guest DROP COLUMN flavor; ALTER TABLE guest DROP COLUMN slot;
		ALTER TABLE guest DROP COLUMN neighbour; ALTER TABLE attempt DROP COLUMN member;
		ALTER TABLE attempt DROP COLUMN stress`,
	"DROP TABLE pass",
	"DROP TABLE latency",
	"", // only a further status
}

// object is an entry of sqlite_schema.
type object struct{ kind, name, table, sql string }

// schemas has the objects of each format as SQLite lists them, by format less one.
var schemas = sync.OnceValues(func() (all [Format][]object, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return all, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err = db.Exec(schema); err != nil {
		return all, err
	}
	for i := Format - 1; i >= 0; i-- {
		if all[i], err = objects(context.Background(), db, -1); err != nil {
			return all, err
		}
		if i > 0 {
			if _, err = db.Exec(undo[i-1]); err != nil {
				return all, err
			}
		}
	}
	return all, nil
})

// checkSchema refuses a file whose schema is not exactly what tare creates in its
// format, except for comments and white space. Views, triggers and generated columns
// are programs, and would run when tare reads or continues the run.
func (r *Run) checkSchema() error {
	all, err := schemas()
	if err != nil {
		return err
	}
	want := all[r.format-1]
	have, err := objects(r.ctx, r.db, len(want)+1)
	if err != nil {
		return r.explainRead(err)
	}
	const remedy = "tare cannot read it; if a tool has changed it, use the original"
	for _, o := range have {
		if !slices.Contains(want, o) {
			err := fault.Campaignf("%s is not a run of tare: its %s %q is not one that tare creates", r.path, o.kind, o.name)
			return fault.WithRemedy(err, remedy)
		}
	}
	for _, o := range want {
		if !slices.Contains(have, o) {
			err := fault.Campaignf("%s is not a run of tare: it has no %s %s", r.path, o.kind, o.name)
			return fault.WithRemedy(err, remedy)
		}
	}
	return nil
}

// objects lists the tables, indexes, views and triggers of a file, most at most; -1:
// all.
func objects(ctx context.Context, db *sql.DB, most int) (all []object, err error) {
	const query = `SELECT substr(type, 1, 100), substr(name, 1, 100), substr(tbl_name, 1, 100),
		CASE WHEN length(sql) > 10000 THEN 'too long' ELSE coalesce(sql, '') END FROM sqlite_schema LIMIT ?`
	err = eachRow(ctx, db, query, func(rows *sql.Rows) error {
		var o object
		if err := rows.Scan(&o.kind, &o.name, &o.table, &o.sql); err != nil {
			return fmt.Errorf("sqlite_schema: %w", err)
		}
		o.sql = plainSQL(o.sql)
		all = append(all, o)
		return nil
	}, most)
	return all, err
}

// plainSQL returns a statement of tare's schema without comments and with single spaces, but none before ")". Other
// versions of tare have other comments, and SQLite removes the space when it drops a table's last column.
func plainSQL(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		code, _, _ := strings.Cut(line, "--")
		b.WriteString(code)
		b.WriteByte(' ')
	}
	// Not all that Go takes for white space is white space to SQLite.
	words := strings.FieldsFunc(b.String(), func(r rune) bool { return strings.ContainsRune(" \t\r\n", r) })
	return strings.ReplaceAll(strings.Join(words, " "), " )", ")")
}
