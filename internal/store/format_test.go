package store

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
)

// older creates a file of format 1 with three trials: one done, one failed and
// one interrupted.
func older(t *testing.T) string {
	t.Helper()
	schema, err := os.ReadFile("testdata/format-1.sql")
	must(t, err)
	path := filepath.Join(t.TempDir(), "old.tare")
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	_, err = db.Exec(string(schema) + fmt.Sprintf(`
		INSERT INTO document VALUES ('campaign', x'7b7d');
		INSERT INTO session VALUES (1, 5, 'boot', 'old');
		INSERT INTO arm VALUES (0, 'native', 'native', '{"name": "small", "vcpus": 2}', 'solo', '', 0);
		INSERT INTO metric VALUES (0, 'cpu', 'time', 's', 'lower', 1, 0);
		INSERT INTO guest VALUES (1, 1, 0, 0, 6, 7, '{"cpus": 2}', '["vmm"]');
		INSERT INTO attempt VALUES (1, 1, 1, 0, 0, 'cpu', 0, 0, 10, 8), (2, 1, 1, 1, 0, 'cpu', 0, 0, 10, 9), (3, 1, 1, 2, 0, 'cpu', 0, 0, 10, 10);
		INSERT INTO outcome VALUES (1, 'done', '', 8, 0, 0, ''), (2, 'failed', 'crashed', 9, 0, 0, '');
		INSERT INTO value VALUES (1, 0, 1.5);
		PRAGMA application_id = %d; PRAGMA user_version = 1`, applicationID))
	must(t, err)
	return path
}

// TestOlderFormat: a run of format 1 can be read, without changing the file, but
// not continued.
func TestOlderFormat(t *testing.T) {
	path := older(t)
	before, err := os.ReadFile(path)
	must(t, err)
	check := func() *Run {
		t.Helper()
		r, err := Open(t.Context(), path)
		must(t, err)
		t.Cleanup(func() { r.Close() })
		all := trials(t, r)
		if len(all) != 3 || all[0].Metrics["time"] != 1.5 || all[0].Member != 0 || all[1].Status != Failed ||
			all[2].Status != Interrupted {
			t.Errorf("trials %+v", all)
		}
		guests, err := r.Guests()
		must(t, err)
		if len(guests) != 1 || guests[0].Flavor.Name != "small" || guests[0].Slot != 0 || guests[0].Values != nil {
			t.Errorf("guests %+v", guests)
		}
		failures, err := r.Failures()
		must(t, err)
		if len(failures) != 1 || failures[0].Error != "crashed" || failures[0].Guest != 1 {
			t.Errorf("failures %+v", failures)
		}
		finished, err := r.Finished()
		must(t, err)
		if len(finished) != 2 || len(observations(t, r)) != 1 {
			t.Errorf("finished %v", finished)
		}
		far, err := r.Progress()
		must(t, err)
		if far != (Progress{Trials: 2, Block: 3, Attempts: 3}) {
			t.Errorf("progress %+v", far)
		}
		return r
	}
	must(t, check().Close())
	after, err := os.ReadFile(path)
	must(t, err)
	if string(after) != string(before) {
		t.Error("reading changed the file")
	}
	if _, err := Continue(t.Context(), path); fault.KindOf(err) != fault.Campaign ||
		!strings.Contains(err.Error(), "older version of tare") {
		t.Errorf("going on with it: %v", err)
	}
}
