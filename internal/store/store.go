// Package store keeps a run in one SQLite file: the campaign, the environment,
// and the raw data of every trial. Nothing in it is ever overwritten. Analyses
// are not stored, but computed from it each time.
package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/tare-bench/tare/internal/fault"
)

// Format is the version of the file format. tare reads files of its own format
// and of older ones.
//
//	1  one guest per trial
//	2  several: attempts have a member, guests have a slot and values
//	3  passes are stored, blocks are counted per workload, groups begin with a discarded trial
//	4  trials have the histogram of their single latencies
//	5  trials may be duets, whose blocks are counted apart
const Format = 5

// applicationID marks a SQLite file as a run of tare: "tare" in ASCII.
const applicationID = 0x74617265

// Run is an open run file. Only one goroutine at a time may call its methods.
type Run struct {
	db     *sql.DB
	path   string
	format int             // of the file, as it is now
	ctx    context.Context // ends reading; never nil
}

// Names of the documents that every run has.
const (
	DocCampaign     = "campaign"      // JSON, resolved
	DocArms         = "arms"          // JSON: the campaign's planned arms; runs of versions before have none
	DocCampaignYAML = "campaign_yaml" // the campaign file as written by the user
	DocEnvironment  = "environment"   // JSON; of the boot in which the run began
	DocSystems      = "systems"       // JSON: status of every system
	DocUserland     = "userland"      // JSON: the image's manifest
	DocSeal         = "seal"          // what authenticates the others; runs of versions before have none
)

// Create creates a new run file with the documents, arms and metrics that describe the
// run. The file must not have Begun. After an error there is no file. The caller closes
// the run, and makes sure that no other process creates the same file.
func Create(path string, docs map[string][]byte, arms []Arm, metrics []Metric) (_ *Run, err error) {
	begun, err := Begun(path)
	if err != nil {
		return nil, err
	}
	if begun {
		return nil, fault.WithRemedy(fault.Campaignf("%s already exists, and runs are never overwritten", path),
			"choose another name with --out, or continue that run: tare resume %s", path)
	}
	// The journal first: SQLite would apply it to the next file of this name.
	for _, left := range []string{path + journal, path} {
		if err := os.Remove(left); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fault.Hostf("%w", err)
		}
	}
	r, err := open(path, "rwc")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.db.Close()
			os.Remove(path)
		}
	}()
	if err := r.prepareToWrite(); err != nil {
		return nil, err
	}
	tx, err := r.db.Begin()
	if err != nil {
		return nil, r.explain(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec(schema); err != nil {
		return nil, r.explain(err)
	}
	for name, body := range docs {
		if _, err := tx.Exec("INSERT INTO document VALUES (?, ?)", name, body); err != nil {
			return nil, r.explain(err)
		}
	}
	for i, a := range arms {
		flavor, err := json.Marshal(a.Flavor)
		if err != nil {
			return nil, err
		}
		if _, err := tx.Exec("INSERT INTO arm VALUES (?, ?, ?, ?, ?, ?, ?)", i, a.Name, a.System, string(flavor), a.Scenario,
			a.ControlOf, a.Emulated); err != nil {
			return nil, r.explain(err)
		}
	}
	for i, m := range metrics {
		if _, err := tx.Exec("INSERT INTO metric VALUES (?, ?, ?, ?, ?, ?, ?)", i, m.Workload, m.Name, m.Unit, m.Better,
			m.Primary, m.Probe); err != nil {
			return nil, r.explain(err)
		}
	}
	// These come last: without them, the file is not a run.
	if _, err := tx.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID,
		Format)); err != nil {
		return nil, r.explain(err)
	}
	r.format = Format
	if err := tx.Commit(); err != nil {
		return nil, r.explain(err)
	}
	return r, nil
}

// planned is the first format that stores passes.
const planned = 3

// singles is the first format that stores single latencies. A run of an older format
// that is continued goes on without them.
const singles = 4

// together is the first format whose passes may have duets.
const together = 5

// Duets reports whether the run may have duets: one that an older version of tare began goes on without them.
func (r *Run) Duets() bool { return r.format >= together }

// since returns column if the file's format has it, that is, from format on, and
// otherwise the expression that replaces it in older files.
func (r *Run) since(format int, column, otherwise string) string {
	if r.format >= format {
		return column
	}
	return otherwise
}

// Path is the path under which the file was opened.
func (r *Run) Path() string { return r.path }

// Close closes the file.
func (r *Run) Close() error { return r.explain(r.db.Close()) }

// explain gives SQLite's errors a fault.Kind, a message and a remedy.
func (r *Run) explain(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		if err == nil {
			return nil
		}
		return fmt.Errorf("%s: %w", r.path, err)
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return fault.WithRemedy(fault.Hostf("%s: the disk is full; all trials before this one are safe", r.path),
			"free space, then: tare resume %s", r.path)
	case sqlite3.SQLITE_IOERR:
		return fault.WithRemedy(fault.Hostf("%s: %w; all trials before this one are safe", r.path, err),
			"see the kernel log for the device's error; then: tare resume %s", r.path)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fault.WithRemedy(fault.Campaignf("%s is damaged: %w", r.path, err), remedyDamaged)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fault.Hostf("%s: another program is writing to it", r.path)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return fault.Hostf("%s: %w", r.path, err)
	}
	return fmt.Errorf("%s: %w", r.path, err)
}

// explainRead is explain for methods that only read: an error of no other kind
// means that the contents of the file are wrong.
func (r *Run) explainRead(err error) error {
	if err != nil && r.ctx.Err() != nil {
		return fmt.Errorf("%s: %w", r.path, r.ctx.Err())
	}
	if err = r.explain(err); err != nil && fault.KindOf(err) == fault.Internal {
		return fault.WithRemedy(fault.Campaignf("this run is damaged: %w", err), "copy it again from the original")
	}
	return err
}

// HasDocument reports whether the run has a document of that name.
func (r *Run) HasDocument(name string) (has bool, err error) {
	err = r.db.QueryRowContext(r.ctx, "SELECT EXISTS (SELECT 1 FROM document WHERE name = ?)", name).Scan(&has)
	return has, r.explainRead(err)
}

// maxDocument bounds what has to be parsed; documents have ten thousands of bytes.
const maxDocument = 16 << 20

// Document returns a document of the run.
func (r *Run) Document(name string) ([]byte, error) {
	const query = `SELECT length(body), CASE WHEN length(body) <= ?1 THEN body ELSE x'' END
		FROM document WHERE name = ?2`
	var b []byte
	var length int64
	err := r.db.QueryRowContext(r.ctx, query, maxDocument, name).Scan(&length, &b)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.Campaignf("%s does not contain %s", r.path, name)
	}
	if length > maxDocument {
		return nil, fault.Campaignf("%s: %s has %d bytes; tare reads up to %d", r.path, name, length, maxDocument)
	}
	return b, r.explainRead(err)
}

// Decode reads a document of the run that is JSON into v.
func (r *Run) Decode(name string, v any) error {
	body, err := r.Document(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fault.Campaignf("%s is damaged: %s: %w", r.path, name, err)
	}
	return nil
}

// DecodeIfAny is Decode, but leaves v as it is if the run does not contain the document.
func (r *Run) DecodeIfAny(name string, v any) error {
	if has, err := r.HasDocument(name); err != nil || !has {
		return err
	}
	return r.Decode(name, v)
}

// began is when this process began to work, and since tells how long ago that was, by
// the monotonic clock. Tests replace since.
var (
	began = time.Now()
	since = time.Since
)

// unixNano is the time of what happens now. When somebody sets the host's clock, it
// goes on as before: the time that a run has taken is the difference of two of them.
func unixNano() int64 { return began.Add(since(began)).UnixNano() }
