package serve

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/store"
)

// row is the row of a run in a list.
func row(list, name string) string {
	_, rest, ok := strings.Cut(list, `<article id="run-`+name+`"`)
	if !ok {
		return ""
	}
	text, _, _ := strings.Cut(rest, "</article>")
	return text
}

// listServer serves a folder; the function that it returns makes requests.
func listServer(t *testing.T, dir string) (*Server, func(string, ...func(*http.Request)) *httptest.ResponseRecorder) {
	t.Helper()
	s := opened(t, dir, Options{})
	return s, reader(s)
}

// occupy takes all places in which runs are read, until free.
func occupy(s *Server) (free func()) {
	for range cap(s.work) {
		s.work <- struct{}{}
	}
	return func() {
		for range cap(s.work) {
			<-s.work
		}
	}
}

const environment = `{"version": 1, "cpu": {"model": "Some <CPU>", "threads": 8}, "kernel": {"release": "6.12-test"}, "virtualization": {"role": "bare-metal"}}`

// makeCostly writes a run in which lxc takes a fifth more time, and everything varies
// by a percent.
func makeCostly(t *testing.T, path string) *store.Run {
	return makeRunOf(t, path, 20, environment, func(block, arm int) float64 {
		return (1 + 0.2*float64(arm%2)) * (1 + 0.01*math.Sin(float64(7*block+3*arm)))
	})
}

// TestList: a row shows what was run, when, where, how it ended, and what it found.
func TestList(t *testing.T) {
	dir := t.TempDir()
	r := makeCostly(t, filepath.Join(dir, "a.tare"))
	sessions, err := r.Sessions()
	must(t, err)
	must(t, r.EndSession(1, "blocks"))
	bad := makeRun(t, filepath.Join(dir, "b.tare"), 2)
	addFailure(t, bad)
	makeRun(t, filepath.Join(dir, "c.tare"), 0)
	_, get := listServer(t, dir)
	list := settled(t, get)
	for name, wants := range map[string][]string{
		"a.tare": {"Campaign served, ", sessions[0].Began.Local().Format("2006-01-02 15:04"), ", complete<",
			"Some &lt;CPU&gt;, 8 CPUs, kernel 6.12-test, bare metal",
			"<li>lxc: &#43;", "no serious finding"},
		"b.tare": {"Not complete</span>: it was killed or is still running", "<li>lxc: ",
			`href="/run/b.tare#findings">1 serious finding</a>: `, "lxc on sysbench-cpu", "the guest &lt;crashed&gt;"},
		"c.tare": {"Campaign served, ", "Not complete</span>"},
	} {
		for _, want := range wants {
			if got := row(list, name); !strings.Contains(got, want) {
				t.Errorf("%s does not have %q: %s", name, want, got)
			}
		}
	}
}

// TestListIsQuick: while runs are being read the list says so, and after that
// it does not read them again until they change.
func TestListIsQuick(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.tare")
	r := makeRun(t, path, 2)
	must(t, r.EndSession(1, "blocks"))
	must(t, r.Close())
	s, get := listServer(t, dir)
	s.summaries.share = 0
	free := occupy(s) // as readers of pages do
	list := get("/").Body.String()
	if got := row(list, "a.tare"); !strings.Contains(got, "data-reading>") || !strings.Contains(got, "It is being read") ||
		!strings.Contains(list, "1 of these runs") {
		t.Errorf("a list that waits: %s", list)
	}
	free()
	if got := row(settled(t, get), "a.tare"); !strings.Contains(got, "lxc: ") {
		t.Errorf("a list that waited: %s", got)
	}
	// The same name, size and time: it is not read.
	st, err := os.Stat(path)
	must(t, err)
	must(t, os.WriteFile(path, bytes.Repeat([]byte("x"), int(st.Size())), 0o600))
	must(t, os.Chtimes(path, st.ModTime(), st.ModTime()))
	if got := row(get("/").Body.String(), "a.tare"); !strings.Contains(got, "lxc: ") {
		t.Errorf("an unchanged file was read again: %s", got)
	}
	// A later time: what was known is shown until it is read again.
	must(t, os.Chtimes(path, st.ModTime(), st.ModTime().Add(time.Second)))
	free = occupy(s)
	if got := row(get("/").Body.String(), "a.tare"); !strings.Contains(got, "lxc: ") ||
		!strings.Contains(got, "is being read again") {
		t.Errorf("a changed file: %s", got)
	}
	free()
	if got := row(settled(t, get), "a.tare"); strings.Contains(got, "lxc: ") ||
		!strings.Contains(got, "is not a run of tare") {
		t.Errorf("a file that is no run any more: %s", got)
	}
	// A file that was read is not read again at once, however often it changes.
	s.summaries.share = 1e6
	for second := range 2 {
		must(t, os.WriteFile(path, bytes.Repeat([]byte("x"), second), 0o600))
		must(t, os.Chtimes(path, st.ModTime(), st.ModTime().Add(time.Duration(2+second)*time.Second)))
		if got := row(settled(t, get), "a.tare"); !strings.Contains(got, "its run never began") {
			t.Errorf("a file that changes all the time: %s", got)
		}
	}
	must(t, os.Remove(path))
	settled(t, get)
	if len(s.summaries.of) != 0 {
		t.Error("a file that has gone is remembered")
	}
}

// TestListOfKilledRun: a run whose writer was killed is read without rolling back what
// the writer had begun.
func TestListOfKilledRun(t *testing.T) {
	dir := t.TempDir()
	must(t, makeRun(t, filepath.Join(dir, "a.tare"), 2).EndSession(1, "blocks"))
	journal := filepath.Join(dir, "a.tare-journal")
	must(t, os.WriteFile(journal, []byte("x"), 0o600))
	_, get := listServer(t, dir)
	if got := row(settled(t, get), "a.tare"); !strings.Contains(got, "lxc: ") {
		t.Errorf("with a journal: %s", got)
	}
	if text, err := os.ReadFile(journal); err != nil || string(text) != "x" {
		t.Errorf("the journal changed: %q, %v", text, err)
	}
}

// TestListOfHostileRuns: no content of a file stops the server or breaks or floods
// the list.
func TestListOfHostileRuns(t *testing.T) {
	dir := t.TempDir()
	change := func(name, statements string) {
		t.Helper()
		path := filepath.Join(dir, name)
		must(t, makeRun(t, path, 2).Close())
		db, err := sql.Open("sqlite", "file:"+path)
		must(t, err)
		_, err = db.Exec(statements)
		must(t, err)
		must(t, db.Close())
	}
	count := func(n int) string {
		return fmt.Sprintf("WITH RECURSIVE c(n) AS (SELECT 10 UNION ALL SELECT n + 1 FROM c WHERE n < %d) ", n)
	}
	change("many.tare", "INSERT INTO arm "+count(3000)+"SELECT n, 'arm' || n, 'lxc', '{}', 'solo', '', 0 FROM c; "+
		"INSERT INTO metric "+count(1000)+"SELECT n, 'w' || n, 'time', 's', 'lower', 1, 0 FROM c")
	change("long.tare", `UPDATE document SET body = CAST('{"cpu": {"model": "' || hex(zeroblob(1000000)) || '"}}' AS BLOB) WHERE name = 'environment'`)
	whole, err := os.ReadFile(filepath.Join(dir, "long.tare"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "short.tare"), whole[:len(whole)/2], 0o600))
	change("text.tare", "UPDATE document SET body = CAST('no JSON' AS BLOB)")
	must(t, makeRun(t, filepath.Join(dir, "whole.tare"), 2).EndSession(1, "blocks"))
	_, get := listServer(t, dir)
	list := settled(t, get)
	if len(list) > 50_000 {
		t.Errorf("the list has %d bytes", len(list))
	}
	for name, want := range map[string]string{"many.tare": "cannot be analyzed: it has", "long.tare": "000 …",
		"text.tare":  "problem",
		"short.tare": `<p class="problem">short.tare is cut short:`, "whole.tare": "lxc: "} {
		if got := row(list, name); !strings.Contains(got, want) {
			t.Errorf("%s does not say %q: %s", name, want, got)
		}
	}
}

// TestSummaries: reading that never ends stops with the server, and a crash while
// reading is reported.
func TestSummaries(t *testing.T) {
	var s summaries
	s.start(func(ctx context.Context, f file) summary {
		<-ctx.Done()
		return summary{Problem: ctx.Err().Error()}
	})
	files := []file{{Name: "a"}, {Name: "b"}}
	list := s.look(t.Context(), files, time.Millisecond)
	if len(list) != 2 || !list[0].Reading || !list[1].Reading {
		t.Errorf("%+v", list)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	s.look(gone, files, time.Hour) // returns, as nobody waits any more
	s.stop()
	s.look(t.Context(), files, time.Millisecond)
	if s.running {
		t.Error("reading begins after the end")
	}

	server, _ := listServer(t, t.TempDir())
	server.dir = nil // as good as any bug
	if sum := server.summarize(t.Context(), file{Name: "a.tare"}); !strings.Contains(sum.Problem, "tare cannot read it") {
		t.Errorf("%+v", sum)
	}
	var err error
	server.dir, err = os.OpenRoot(server.path)
	must(t, err)
}
