package storetest

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Values puts hostile values into a run, also those that the schema forbids: it takes the constraints away, changes
// rows, and puts them back.
type Values struct {
	run     []byte            // without constraints
	schema  map[string]string // of each table
	columns []column
	path    string
}

type column struct{ table, key, name string }

// hostile are SQL expressions of values that a reader might not expect. The text or blob of a change is another.
var hostile = []string{
	"NULL", "''", "x''", "x'c328ff00'", "CAST(x'c328ff00' AS TEXT)", "0", "-1", "1", "2147483648", "9223372036854775807",
	"-9223372036854775808", "0.5", "-0.0", "5e-324", "1.7e308", "9e999", "-9e999", "'NaN'", "'Inf'", "'null'", "'{}'",
	"'[]'", "'[null]'",
	"'{\"\":null}'", "'1e999'", "'\"\"'", "hex(zeroblob(100000))", "zeroblob(3000000)",
	"replace(hex(zeroblob(30000)), '00', '[')",
	"replace(hex(zeroblob(30000)), '00', '{\"a\":')", "char(27, 91, 50, 74, 0)",
}

// NewValues prepares a run. Its files are below dir, which only one goroutine may use at a time.
func NewValues(t testing.TB, dir string, run []byte) *Values {
	t.Helper()
	v := &Values{schema: map[string]string{}, path: filepath.Join(dir, "values.tare")}
	db := v.open(t, run)
	rows, err := db.Query(`SELECT m.name, m.sql, c.name, (SELECT name FROM pragma_table_info(m.name) LIMIT 1)
		FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.cid`)
	must(t, err)
	for rows.Next() {
		var c column
		var text string
		must(t, rows.Scan(&c.table, &text, &c.name, &c.key))
		v.columns, v.schema[c.table] = append(v.columns, c), text
	}
	must(t, rows.Err())
	loose := strings.NewReplacer(" INTEGER PRIMARY KEY", " INTEGER PRIMARY KEY", " INTEGER", " BLOB", " TEXT", " BLOB",
		" REAL", " BLOB",
		" NOT NULL", "", ") STRICT, WITHOUT ROWID", ") WITHOUT ROWID", ") STRICT", ")")
	for table, text := range v.schema {
		_, err := db.Exec("UPDATE sqlite_schema SET sql = ? WHERE name = ?", loose.Replace(text), table)
		must(t, err)
	}
	v.run = v.close(t, db)
	return v
}

// Changed returns the run with changes. Each takes three bytes: a column, a row (0: all), and a value; the value 255 is
// followed by the length of a text, and the text.
func (v *Values) Changed(t testing.TB, changes []byte) []byte {
	t.Helper()
	db := v.open(t, v.run)
	for len(changes) >= 3 {
		c, row, what := v.columns[int(changes[0])%len(v.columns)], int(changes[1]), int(changes[2])
		changes = changes[3:]
		value := hostile[what%len(hostile)]
		if what == 255 && len(changes) > 0 {
			n := min(int(changes[0]), len(changes)-1)
			value, changes = fmt.Sprintf("CAST(x'%x' AS TEXT)", changes[1:1+n]), changes[1+n:]
		}
		where := ""
		if row > 0 {
			where = fmt.Sprintf(" WHERE %[1]s = (SELECT %[1]s FROM %[2]s ORDER BY 1 LIMIT 1 OFFSET %[3]d)", c.key, c.table,
				row-1)
		}
		// A change that a key forbids is left out.
		_, _ = db.Exec(fmt.Sprintf("UPDATE OR IGNORE %s SET %s = %s%s", c.table, c.name, value, where))
	}
	for table, text := range v.schema {
		_, err := db.Exec("UPDATE sqlite_schema SET sql = ? WHERE name = ?", text, table)
		must(t, err)
	}
	return v.close(t, db)
}

func (v *Values) open(t testing.TB, run []byte) *sql.DB {
	t.Helper()
	must(t, os.WriteFile(v.path, run, 0o600))
	db, err := sql.Open("sqlite", "file:"+v.path)
	must(t, err)
	db.SetMaxOpenConns(1)
	_, err = db.Exec("PRAGMA synchronous = off; PRAGMA journal_mode = memory; PRAGMA writable_schema = 1; PRAGMA " +
		"foreign_keys = 0")
	must(t, err)
	return db
}

func (v *Values) close(t testing.TB, db *sql.DB) []byte {
	t.Helper()
	must(t, db.Close())
	run, err := os.ReadFile(v.path)
	must(t, err)
	return run
}
