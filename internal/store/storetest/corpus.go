package storetest

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Bad is text that must not reach a terminal, a page or a spreadsheet as it is:
// escapes, control characters of one and of two bytes, a change of direction, HTML,
// and the beginning of a formula.
const Bad = "=1+1\x1b[2J\x1b]0;x\x07\r\b\x7f\u0085\u009b31m\u202e<script>alert(1)</script>\"'&"

// Corpus writes hostile files into a directory, made from a whole run, and returns
// their paths by what is hostile about them.
func Corpus(t testing.TB, dir string, run []byte) map[string]string {
	t.Helper()
	files := map[string]string{}
	path := func(name string) string {
		files[name] = filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".tare")
		return files[name]
	}
	add := func(name string, text []byte) { must(t, os.WriteFile(path(name), text, 0o600)) }
	change := func(name, script string) { add(name, Changed(t, run, script)) }
	count := func(n int) string {
		return fmt.Sprintf("WITH RECURSIVE c(n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM c WHERE n < %d) ", 1000+n)
	}

	// Programs in place of tables.
	const endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) "
	for table, view := range map[string]string{
		"document": "(name, body) AS " + endless + "SELECT n, x'00' FROM c",
		"event":    "(id, session, attempt, at_unix_ns, kind, text) AS " + endless + "SELECT n, 1, NULL, n, 'ksm', '' FROM c",
		"value":    "(attempt, metric, value) AS " + endless + "SELECT 1, 0, 1.5 FROM c WHERE n < 0",
	} {
		change("endless view for "+table, "DROP TABLE "+table+"; CREATE VIEW "+table+view)
	}
	change("trigger", "CREATE TRIGGER t AFTER INSERT ON session BEGIN DELETE FROM value; END")
	change("generated column", "ALTER TABLE event ADD COLUMN g TEXT AS (upper(kind))")
	change("write-ahead log", "PRAGMA journal_mode = WAL")

	// Pages that are their own ancestors.
	add("endless schema", EndlessSchema(t, run))
	add("endless events", EndlessEvents(t, run))
	add("endless sessions", EndlessSessions(t, run))

	// Damage.
	add("truncated", run[:len(run)/2])
	add("only the header", run[:100])
	for i := range 8 {
		flipped := bytes.Clone(run)
		for at := 100 + 577*i; at < len(flipped); at += 8 * 577 {
			flipped[at] ^= 1 << (i % 8)
		}
		add(fmt.Sprintf("flipped bits %d", i), flipped)
	}

	// Sizes.
	const arms = "INSERT INTO arm %sSELECT n, 'arm' || n, 'lxc', '{}', 'solo', '', 0 FROM c;"
	change("a million arms", fmt.Sprintf(arms, count(1_000_000)))
	change("thousands of arms and metrics", fmt.Sprintf(arms, count(8000))+
		"INSERT INTO metric "+count(8000)+"SELECT n, 'w' || n, 'time', 's', 'lower', 1, 0 FROM c")
	change("many sessions", "INSERT INTO session "+count(200_000)+"SELECT n, n, '', '' FROM c")
	change("many events", "INSERT INTO event "+count(200_000)+"SELECT n, 1, NULL, n, 'ksm', 'x' FROM c")
	change("large texts", `UPDATE event SET text = hex(zeroblob(1000000)) WHERE id < 4;
		UPDATE outcome SET error = hex(zeroblob(1000000)), status = 'failed' WHERE attempt < 4;
		UPDATE step SET stdout = zeroblob(8000000) WHERE attempt < 4`)
	change("a large document", `UPDATE document SET body = CAST('"' || hex(zeroblob(50000000)) || '"' AS BLOB)
		WHERE name <> 'campaign'`)
	half := "replace(hex(zeroblob(500000)), '00', '%s')"
	deep := `'{"a":' || ` + fmt.Sprintf(half, "[") + " || '1' || " + fmt.Sprintf(half, "]") + " || '}'"
	change("deep JSON in documents", "UPDATE document SET body = CAST("+deep+" AS BLOB) WHERE name <> 'campaign'")
	change("a deep campaign", "UPDATE document SET body = CAST("+deep+" AS BLOB) WHERE name = 'campaign'")
	change("deep JSON in rows", "UPDATE arm SET flavor = "+deep+";"+
		"UPDATE guest SET hello = "+deep+" WHERE id < 5; UPDATE step SET argv = "+deep+" WHERE attempt < 5")

	// Numbers.
	change("infinities", `UPDATE value SET value = 9e999 WHERE attempt % 2 = 0;
		UPDATE value SET value = -9e999 WHERE attempt % 5 = 0; UPDATE guest_value SET value = 9e999`)
	change("extreme values", `UPDATE value SET value = 1.7e308 WHERE attempt % 2 = 0;
		UPDATE value SET value = 5e-324 WHERE attempt % 5 = 0; UPDATE value SET value = -1 WHERE attempt % 7 = 0`)
	change("zeros", "UPDATE value SET value = 0")
	marker := binary.BigEndian.AppendUint64(nil, math.Float64bits(1.2345678e99))
	nan := binary.BigEndian.AppendUint64(nil, math.Float64bits(math.NaN()))
	marked := Changed(t, run, "UPDATE value SET value = 1.2345678e99 WHERE attempt % 2 = 0")
	add("not numbers", bytes.ReplaceAll(marked, marker, nan))
	for name, n := range map[string]int64{
		"negative": -1, "smallest": math.MinInt64, "largest": math.MaxInt64, "large": 1 << 31,
	} {
		change(name+" integers", fmt.Sprintf(`
			UPDATE attempt SET position = %[1]d, epoch = %[1]d, size = %[1]d, began_unix_ns = %[1]d, member = %[1]d;
			UPDATE attempt SET block = %[1]d;
			UPDATE session SET began_unix_ns = %[1]d;
			UPDATE session_end SET ended_unix_ns = %[1]d;
			UPDATE event SET at_unix_ns = %[1]d;
			UPDATE outcome SET ended_unix_ns = %[1]d, offset_ns = %[1]d, delay_ns = %[1]d;
			UPDATE size SET size = %[1]d;
			UPDATE guest SET epoch = %[1]d, made_unix_ns = %[1]d, start_ns = %[1]d, slot = %[1]d;
			UPDATE step SET stdout_bytes = %[1]d, exit_code = %[1]d, signal = %[1]d;
			UPDATE step SET host_start_ns = %[1]d, guest_end_ns = %[1]d`, n))
		from := max(n, math.MinInt64+1<<20)
		change(name+" blocks", fmt.Sprintf("UPDATE attempt SET block = %d - block WHERE block > 2", from))
	}

	// References.
	change("controls in a circle", `UPDATE arm SET control =
		(SELECT b.name FROM arm b WHERE b.id = (arm.id + 1) % (SELECT count(*) FROM arm))`)
	change("its own control", "UPDATE arm SET control = name")
	change("nothing to refer to", `UPDATE attempt SET arm = 77, session = 78, guest = 79;
		UPDATE value SET metric = metric + 80; UPDATE event SET attempt = 81, session = 82`)
	change("no rows", "DELETE FROM arm; DELETE FROM metric; DELETE FROM session")
	change("no documents", "DELETE FROM document")
	change("ids from far away", "UPDATE arm SET id = id + 1000000000000; UPDATE metric SET id = id - 1000000000000")

	texts(t, run, change)

	// What is not a file.
	must(t, syscall.Mkfifo(path("a pipe"), 0o600))
	must(t, os.Mkdir(path("a folder"), 0o700))
	must(t, os.Symlink("/dev/zero", path("a link to a device")))
	loop := path("a link to itself")
	must(t, os.Symlink(loop, loop))
	add("sparse", run)
	must(t, os.Truncate(files["sparse"], 1<<40))
	promised := bytes.Clone(run)
	binary.BigEndian.PutUint32(promised[28:], 1<<25)
	add("sparse and promised", promised)
	must(t, os.Truncate(files["sparse and promised"], 1<<37))
	return files
}

// texts adds runs whose texts are hostile: all of a table's texts for each table, then
// invalid UTF-8 in all of them, then all strings in the documents.
func texts(t testing.TB, run []byte, change func(name, script string)) {
	t.Helper()
	columns, documents := describe(t, run)
	invalid := ""
	for _, table := range slices.Sorted(maps.Keys(columns)) {
		script := ""
		for _, column := range columns[table] {
			script += fmt.Sprintf("UPDATE %s SET %[2]s = %[3]s || %[2]s;", table, column, quoted(Bad))
			invalid += fmt.Sprintf("UPDATE %s SET %[2]s = %[2]s || CAST(x'c328ff00fe' AS TEXT);", table, column)
		}
		change("bad texts in "+table, script)
	}
	change("invalid UTF-8", invalid)
	// What refers to a name still does.
	names := ""
	for c := range strings.FieldsSeq(`attempt.workload metric.workload size.workload arm.name arm.control arm.system
		arm.scenario metric.name metric.unit size.unit outcome.error outcome.log event.text event.kind session_end.reason
		session.boot_id session.version step.name`) {
		table, column, _ := strings.Cut(c, ".")
		names += fmt.Sprintf("UPDATE %s SET %[2]s = %[2]s || %[3]s WHERE %[2]s <> '';", table, column, quoted(Bad))
	}
	bad := quoted(Bad)
	names += "UPDATE step SET stdout = CAST(stdout || " + bad + " AS BLOB), stderr = CAST(" + bad + " AS BLOB);"
	change("bad names", names)
	change("bad output", "UPDATE outcome SET status = 'failed', error = "+bad+" WHERE attempt % 3 = 0;"+
		"UPDATE outcome SET log = "+bad+"; UPDATE event SET text = "+bad+";"+
		"INSERT INTO event SELECT 1000 + id, session, id, 1, 'wrong-answer', "+bad+" FROM attempt")
	all := ""
	for name, body := range documents {
		var v any
		if json.Unmarshal(body, &v) != nil {
			continue
		}
		bad, err := json.Marshal(spoil(v))
		must(t, err)
		script := "UPDATE document SET body = CAST(" + quoted(string(bad)) + " AS BLOB) WHERE name = '" + name + "';"
		change("bad document "+name, script)
		if name != "campaign" {
			all += script
		}
	}
	change("bad texts everywhere", names+all)
}

// describe lists the text columns of each table and the documents of a run.
func describe(t testing.TB, run []byte) (columns map[string][]string, documents map[string][]byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "described")
	must(t, os.WriteFile(path, run, 0o600))
	db, err := sql.Open("sqlite", "file:"+path)
	must(t, err)
	defer db.Close()
	columns, documents = map[string][]string{}, map[string][]byte{}
	rows, err := db.Query(`SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND c.type = 'TEXT'`)
	must(t, err)
	for rows.Next() {
		var table, column string
		must(t, rows.Scan(&table, &column))
		columns[table] = append(columns[table], column)
	}
	rows, err = db.Query("SELECT name, body FROM document")
	must(t, err)
	for rows.Next() {
		var name string
		var body []byte
		must(t, rows.Scan(&name, &body))
		documents[name] = body
	}
	return columns, documents
}

// spoil makes all strings of a JSON value bad, but for its keys.
func spoil(v any) any {
	switch v := v.(type) {
	case string:
		return Bad + v
	case []any:
		for i := range v {
			v[i] = spoil(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = spoil(v[k])
		}
	}
	return v
}

// quoted is a text as an expression of SQL.
func quoted(text string) string { return fmt.Sprintf("CAST(x'%x' AS TEXT)", text) }
