package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/store/storetest"
)

// changed returns the path of a run with 3 trials that a program has changed with SQL.
func changed(t *testing.T, script string) string {
	t.Helper()
	return write(t, t.TempDir(), storetest.Changed(t, wholeRun(t, 3, 10), script))
}

// TestForeignSchema: a file whose schema is not tare's is refused, whatever else is
// in it.
func TestForeignSchema(t *testing.T) {
	endless := func(table, columns, values string) string {
		return "DROP TABLE " + table + "; CREATE VIEW " + table + "(" + columns + ") AS " +
			"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT " + values + " FROM c"
	}
	redefine := func(old, new string) string {
		return "UPDATE sqlite_schema SET sql = replace(sql, '" + old + "', '" + new + "')"
	}
	for name, script := range map[string]string{
		"endless documents": endless("document", "name, body", "n, x'00'"),
		"endless events":    endless("event", "id, session, attempt, at_unix_ns, kind, text", "n, 1, NULL, n, 'ksm', ''"),
		"no row at all":     endless("value", "attempt, metric, value", "1, 0, 1.5") + " WHERE n < 0",
		"trigger":           "CREATE TRIGGER t AFTER INSERT ON session BEGIN DELETE FROM value; END",
		"other table":       "CREATE TABLE other (x)",
		"index":             "CREATE INDEX i ON attempt (session)",
		"expression index":  "CREATE INDEX i ON attempt (hex(zeroblob(session)))",
		"virtual table":     "CREATE VIRTUAL TABLE v USING fts5(x)",
		"statistics":        "ANALYZE",
		"generated column":  "ALTER TABLE event ADD COLUMN g TEXT AS (hex(zeroblob(1000000000)))",
		"not strict":        redefine(") STRICT", ")"),
		"other type":        redefine("at_unix_ns INTEGER NOT NULL", "at_unix_ns ANY NOT NULL"),
		"default":           redefine("DEFAULT 0", "DEFAULT (1)"),
		"no-break space":    redefine("TEXT NOT NULL", "TEXT\u00a0NOT NULL"),
		"hidden in a quote": redefine("reason        TEXT NOT NULL", "reason TEXT NOT NULL DEFAULT \"--\""),
		"long":              redefine(") STRICT", strings.Repeat(" ", 10_000)+") STRICT, WITHOUT ROWID"),
		"a table less":      "DROP TABLE event",
	} {
		path := changed(t, script)
		for _, open := range openers {
			r, err := open(t.Context(), path)
			if err == nil {
				r.Close()
			}
			if fault.KindOf(err) != fault.Campaign {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	// Other comments and white space are those of another version of tare.
	path := changed(t, redefine("-- of the host", "   -- whose?")+";"+redefine("-- JSON", "-- text"))
	if n, err := readAll(path); n != 3 || err != nil {
		t.Errorf("other comments: %d trials, %v", n, err)
	}
}

// TestTreeOfItself: a file with pages that have several parents is refused, or the
// reading ends with the context, even if the schema is such a tree.
func TestTreeOfItself(t *testing.T) {
	whole := wholeRun(t, 3, 10)
	bombs := map[string][]byte{
		"sqlite_schema": storetest.EndlessSchema(t, whole),
		"event":         storetest.EndlessEvents(t, whole),
		"session_end":   storetest.EndlessSessions(t, whole),
	}
	for table, text := range bombs {
		path := write(t, t.TempDir(), text)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		r, err := Open(ctx, path)
		cancel()
		if err == nil {
			t.Errorf("%s: opened", table)
			r.Close()
		}
		t.Logf("%s: %v", table, err)
	}
}

// TestReadingWritesNothing: even if a writer was killed and left a journal, reading
// changes neither the run nor the files beside it.
func TestReadingWritesNothing(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, wholeRun(t, 3, 10))
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=cache_spill(1)&_pragma=cache_size(1)")
	must(t, err)
	db.SetMaxOpenConns(1)
	_, err = db.Exec("BEGIN; DELETE FROM value; UPDATE document SET body = zeroblob(1000000)")
	must(t, err)
	killed := t.TempDir() // as the files are when the writer is killed now
	for _, suffix := range []string{"", journal} {
		text, err := os.ReadFile(path + suffix)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(killed, "run.tare"+suffix), text, 0o644))
	}
	must(t, db.Close())
	path = filepath.Join(killed, "run.tare")
	before := contents(t, killed)
	if n, err := readAll(path); n != 3 || err != nil {
		t.Errorf("%d trials, %v", n, err)
	}
	if after := contents(t, killed); after != before {
		t.Error("reading changed the directory")
	}

	// A journal could name any file, for SQLite to delete.
	victim := filepath.Join(t.TempDir(), "victim")
	must(t, os.WriteFile(victim, nil, 0o600))
	text, err := os.ReadFile(path + journal)
	must(t, err)
	sum := uint32(0)
	for _, c := range []byte(victim) {
		sum += uint32(int8(c))
	}
	text = binary.BigEndian.AppendUint32(text, uint32(0x40000000/storetest.PageSize+1))
	text = append(text, victim...)
	text = binary.BigEndian.AppendUint32(text, uint32(len(victim)))
	text = binary.BigEndian.AppendUint32(text, sum)
	text = append(text, "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"...)
	must(t, os.WriteFile(path+journal, text, 0o644))
	for _, open := range openers {
		if _, err := open(t.Context(), path); fault.KindOf(err) != fault.Campaign {
			t.Errorf("a journal that names another file: %v", err)
		}
	}
	if _, err := os.Stat(victim); err != nil {
		t.Errorf("the file that a journal names: %v", err)
	}

	// A write-ahead log would be created beside it.
	wal := changed(t, "PRAGMA journal_mode = WAL")
	before = contents(t, filepath.Dir(wal))
	for _, open := range openers {
		if _, err := open(t.Context(), wal); fault.KindOf(err) != fault.Campaign {
			t.Errorf("with a write-ahead log: %v", err)
		}
	}
	if contents(t, filepath.Dir(wal)) != before {
		t.Error("reading a file with a write-ahead log changed the directory")
	}
}

// contents are the names and contents of the files in a directory.
func contents(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var all strings.Builder
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		all.WriteString(e.Name() + "\n" + string(text) + "\n")
	}
	return all.String()
}

// TestSpecialFiles: what is not a file is refused at once, also if opening it would
// wait for somebody.
func TestSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo.tare")
	must(t, syscall.Mkfifo(fifo, 0o600))
	sparse := write(t, t.TempDir(), wholeRun(t, 1, 1))
	must(t, os.Truncate(sparse, 1<<40))
	loop := filepath.Join(dir, "loop.tare")
	must(t, os.Symlink(loop, loop))
	for _, path := range []string{fifo, dir, sparse, loop, "/dev/zero", "/dev/null", "/proc/self/mem"} {
		for _, open := range openers {
			if r, err := open(t.Context(), path); err == nil {
				t.Errorf("%s was opened", path)
				r.Close()
			} else if fault.KindOf(err) == fault.Internal {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	// A journal that is a pipe.
	path := write(t, t.TempDir(), wholeRun(t, 1, 1))
	must(t, syscall.Mkfifo(path+journal, 0o600))
	if _, err := Continue(t.Context(), path); err == nil {
		t.Error("a run was opened whose journal is a pipe")
	}
}
