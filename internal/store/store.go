// Package store keeps a run in one SQLite file: the campaign, the environment,
// and the raw data of every trial. Nothing in it is ever overwritten. Analyses
// are not stored, but computed from it each time.
package store

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"time"

	"golang.org/x/sys/unix"
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
const Format = 3

// applicationID marks a SQLite file as a run of tare: "tare" in ASCII.
const applicationID = 0x74617265

//go:embed schema.sql
var schema string

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
)

// Create creates a new run file, which must not exist yet, with the documents,
// arms and metrics that describe the run. After an error there is no file. The
// caller closes the run.
func Create(path string, docs map[string][]byte, arms []Arm, metrics []Metric) (_ *Run, err error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, fault.WithRemedy(fault.Campaignf("%s already exists, and runs are never overwritten", path), "choose another name with --out, or continue that run: tare resume %s", path)
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
		if _, err := tx.Exec("INSERT INTO arm VALUES (?, ?, ?, ?, ?, ?, ?)", i, a.Name, a.System, string(flavor), a.Scenario, a.ControlOf, a.Emulated); err != nil {
			return nil, r.explain(err)
		}
	}
	for i, m := range metrics {
		if _, err := tx.Exec("INSERT INTO metric VALUES (?, ?, ?, ?, ?, ?, ?)", i, m.Workload, m.Name, m.Unit, m.Better, m.Primary, m.Probe); err != nil {
			return nil, r.explain(err)
		}
	}
	// These come last: without them, the file is not a run.
	if _, err := tx.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, Format)); err != nil {
		return nil, r.explain(err)
	}
	r.format = Format
	return r, r.explain(tx.Commit())
}

// planned is the first format that stores passes.
const planned = 3

// since returns column if the file's format has it, that is, from format on, and
// otherwise the expression that replaces it in older files.
func (r *Run) since(format int, column, otherwise string) string {
	if r.format >= format {
		return column
	}
	return otherwise
}

// Open opens a run for reading and, if write is set, for continuing it. A run of
// an older tare cannot be continued. The caller closes the run.
func Open(path string, write bool) (*Run, error) {
	return openRun(context.Background(), path, write)
}

// OpenContext opens a run for reading until ctx ends; any reading then returns
// the error of ctx. This bounds the reading of malicious files, which may be
// endless. The caller closes the run.
func OpenContext(ctx context.Context, path string) (*Run, error) {
	return openRun(ctx, path, false)
}

func openRun(ctx context.Context, path string, write bool) (*Run, error) {
	if hasJournal(path) {
		rollBack(path) // where it fails, what follows says why
	}
	format, err := checkHeader(path)
	if err != nil {
		return nil, err
	}
	if write && format < planned {
		return nil, fault.WithRemedy(fault.Campaignf("%s was begun by an older tare, which planned its trials in another way", path),
			"this tare can only show and compare it; continue it with the older tare, or start a new run: tare run --like %s", path)
	}
	if write {
		// SQLite would silently open a file read-only that it cannot write.
		if err := unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS); err != nil {
			return nil, fault.WithRemedy(fault.Hostf("%s cannot be written: %w", path, err), "use a copy of it, or run tare as its owner")
		}
	}
	mode := "ro"
	if write || hasJournal(path) {
		// The journal of a killed writer must be rolled back, which needs write
		// access.
		mode = "rw"
	}
	r, err := open(path, mode)
	if err != nil {
		return nil, err
	}
	r.format, r.ctx = format, ctx
	// The first statement shows whether the file can be read or written.
	first := "SELECT count(*) FROM document"
	if write {
		first = "BEGIN IMMEDIATE; " + first + "; ROLLBACK"
	} else {
		first += "; PRAGMA query_only = 1"
	}
	if _, err := r.db.ExecContext(ctx, first); err != nil {
		r.db.Close()
		return nil, r.explainRead(err)
	}
	return r, nil
}

func init() {
	// POSIX locks, SQLite's default, are lost when anything in this process, such
	// as checkHeader, closes the same file. If the kernel has no OFD locks, POSIX
	// locks stay in use.
	sqlite.OFDLocking(true)
}

func open(path, mode string) (*Run, error) {
	// Use the rollback journal and not the write-ahead log, so that the whole run
	// is in one file after every trial. "extra" syncs the directory after the journal
	// is removed: with "full", a power loss could bring the journal back, and it would
	// undo a trial that was reported as done.
	q := url.Values{"mode": {mode}, "_pragma": {"busy_timeout(5000)", "foreign_keys(1)", "synchronous(extra)", "cache_size(-16384)"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, fault.Hostf("%s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	return &Run{db: db, path: path, ctx: context.Background()}, nil
}

// hasJournal reports whether a writer of the file has not finished, or was killed.
func hasJournal(path string) bool {
	_, err := os.Stat(path + "-journal")
	return err == nil
}

// rollBack lets SQLite undo what a killed writer left half done. A power loss may
// have damaged even the header, so this cannot wait until the file is known to be a
// run.
func rollBack(path string) {
	if r, err := open(path, "rw"); err == nil {
		r.db.Exec("SELECT count(*) FROM sqlite_schema")
		r.db.Close()
	}
}

// checkHeader returns the format of a run, or an error if the file is not a
// complete run of this format or an older one.
func checkHeader(path string) (format int, err error) {
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return 0, fault.Campaignf("%s: there is no such run", path)
		}
		return 0, fault.Hostf("%w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return 0, fault.Hostf("%w", err)
	}
	var h [100]byte // the header of SQLite's file format
	if _, err := io.ReadFull(f, h[:]); err != nil || string(h[:16]) != "SQLite format 3\x00" {
		if st.Size() == 0 {
			return 0, fault.Campaignf("%s is empty: its run never began", path)
		}
		return 0, fault.Campaignf("%s is not a run of tare", path)
	}
	if id := binary.BigEndian.Uint32(h[68:]); id != applicationID {
		return 0, fault.Campaignf("%s is a SQLite file, but not a run of tare", path)
	}
	format = int(binary.BigEndian.Uint32(h[60:]))
	if format > Format {
		return 0, fault.WithRemedy(fault.Campaignf("%s is of format %d; this tare reads up to %d", path, format, Format), "use a newer tare")
	}
	page := int64(binary.BigEndian.Uint16(h[16:]))
	if page == 1 {
		page = 65536
	}
	// A hot journal may still restore the file after a writer was killed.
	if want := page * int64(binary.BigEndian.Uint32(h[28:])); st.Size() < want && !hasJournal(path) {
		return 0, fault.WithRemedy(fault.Campaignf("%s is cut short: it has %d of %d bytes", path, st.Size(), want), "copy it again from the original")
	}
	return format, nil
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
		return fault.WithRemedy(fault.Hostf("%s: the disk is full; all trials before this one are safe", r.path), "free space, then: tare resume %s", r.path)
	case sqlite3.SQLITE_IOERR:
		return fault.WithRemedy(fault.Hostf("%s: %w; all trials before this one are safe", r.path, err), "see the kernel log for the device's error; then: tare resume %s", r.path)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fault.WithRemedy(fault.Campaignf("%s is damaged: %w", r.path, err), "copy it again from the original; sqlite3's .recover saves what can be saved")
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fault.Hostf("%s: another program writes to it", r.path)
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

// Document returns a document of the run.
func (r *Run) Document(name string) ([]byte, error) {
	var b []byte
	err := r.db.QueryRowContext(r.ctx, "SELECT body FROM document WHERE name = ?", name).Scan(&b)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.Campaignf("%s does not contain %s", r.path, name)
	}
	return b, r.explainRead(err)
}

func unixNano(t time.Time) int64 { return t.UnixNano() }
