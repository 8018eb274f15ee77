// Package store keeps a run in one SQLite file: the campaign, the environment,
// and every trial raw. Nothing in it is ever overwritten; analysis is computed
// from it each time.
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

// Format is the version of the file's form. A tare reads files of its own
// format and older ones.
//
//	1  one guest a trial
//	2  several: attempts have a member, guests a slot, and values of their own
//	3  passes are kept, blocks are counted for each workload, and a group begins with a discarded trial
const Format = 3

// applicationID marks a SQLite file as a run of tare: "tare" in ASCII.
const applicationID = 0x74617265

//go:embed schema.sql
var schema string

// Run is an open run file. Its methods may be called from one goroutine at a time.
type Run struct {
	db     *sql.DB
	path   string
	format int             // of the file, as it is now
	ctx    context.Context // bounds reading; never nil
}

// Documents that every run has.
const (
	DocCampaign     = "campaign"      // JSON, resolved
	DocCampaignYAML = "campaign_yaml" // as it was written
	DocEnvironment  = "environment"   // JSON; of the boot in which the run began
	DocSystems      = "systems"       // JSON: status of every system
	DocUserland     = "userland"      // JSON: the image's manifest
)

// Create makes a new run file; it must not exist. The documents and tables
// that describe the run are in it, or it is not there.
func Create(path string, docs map[string][]byte, arms []Arm, metrics []Metric) (_ *Run, err error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, fault.WithRemedy(fault.Campaignf("%s exists already; a run is never overwritten", path), "choose another name with --out, or go on with it: tare resume %s", path)
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
	// Last: a file without them is not a run yet.
	if _, err := tx.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, Format)); err != nil {
		return nil, r.explain(err)
	}
	r.format = Format
	return r, r.explain(tx.Commit())
}

// planned is the format from which a run keeps its passes.
const planned = 3

// since returns a column that files have from a format on, or what stands for
// it in older ones.
func (r *Run) since(format int, column, otherwise string) string {
	if r.format >= format {
		return column
	}
	return otherwise
}

// Open opens a run to read it and, if write is set, to go on with it, which an
// older tare's run cannot.
func Open(path string, write bool) (*Run, error) {
	return openRun(context.Background(), path, write)
}

// OpenContext opens a run to read it for as long as ctx goes on: whatever still
// reads then ends with ctx's error. A file can be made so that reading it has
// no end.
func OpenContext(ctx context.Context, path string) (*Run, error) {
	return openRun(ctx, path, false)
}

func openRun(ctx context.Context, path string, write bool) (*Run, error) {
	format, err := checkHeader(path)
	if err != nil {
		return nil, err
	}
	if write && format < planned {
		return nil, fault.WithRemedy(fault.Campaignf("%s was begun by an older tare, which planned its trials in another way", path),
			"this tare shows and compares it as it is; go on with that older tare, or begin anew: tare run --like %s", path)
	}
	if write {
		// SQLite would silently take a file that it cannot write for one to read.
		if err := unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS); err != nil {
			return nil, fault.WithRemedy(fault.Hostf("%s cannot be written: %w", path, err), "go on with a copy of it, or as its owner")
		}
	}
	mode := "ro"
	if _, err := os.Stat(path + "-journal"); write || err == nil {
		// The journal of a writer that was killed is there to be rolled back,
		// by whoever comes next.
		mode = "rw"
	}
	r, err := open(path, mode)
	if err != nil {
		return nil, err
	}
	r.format, r.ctx = format, ctx
	// What reads or writes first finds out whether it may.
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
	// The usual locks of SQLite are lost when anything in this process, such
	// as checkHeader, closes the same file. Where the kernel does not have the
	// better ones, the usual ones stay.
	sqlite.OFDLocking(true)
}

func open(path, mode string) (*Run, error) {
	// The rollback journal, not the write-ahead log: after every trial all of
	// the run is in the one file.
	q := url.Values{"mode": {mode}, "_pragma": {"busy_timeout(5000)", "foreign_keys(1)", "synchronous(full)", "cache_size(-16384)"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, fault.Hostf("%s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	return &Run{db: db, path: path, ctx: context.Background()}, nil
}

// checkHeader returns the format of a run, or says what is wrong with a file
// that is not a whole run of this format or an older one.
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
	// A hot journal may still restore what a killed writer left half done.
	_, journal := os.Stat(path + "-journal")
	if want := page * int64(binary.BigEndian.Uint32(h[28:])); st.Size() < want && journal != nil {
		return 0, fault.WithRemedy(fault.Campaignf("%s is cut short: %d bytes of %d are there", path, st.Size(), want), "copy it again from where it is whole")
	}
	return format, nil
}

// Path is the file's name as it was opened.
func (r *Run) Path() string { return r.path }

// Close closes the file.
func (r *Run) Close() error { return r.explain(r.db.Close()) }

// explain types SQLite's errors by whose fault they are.
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
		return fault.WithRemedy(fault.Campaignf("%s is damaged: %w", r.path, err), "copy it again from where it is whole; sqlite3's .recover saves what can be saved")
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fault.Hostf("%s: another program writes to it", r.path)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return fault.Hostf("%s: %w", r.path, err)
	}
	return fmt.Errorf("%s: %w", r.path, err)
}

// explainRead is explain for what only reads: an error that has no better
// explanation means that the file does not hold what it should.
func (r *Run) explainRead(err error) error {
	if err != nil && r.ctx.Err() != nil {
		return fmt.Errorf("%s: %w", r.path, r.ctx.Err())
	}
	if err = r.explain(err); err != nil && fault.KindOf(err) == fault.Internal {
		return fault.WithRemedy(fault.Campaignf("this run is damaged: %w", err), "copy it again from where it is whole")
	}
	return err
}

// Document returns a document of the run.
func (r *Run) Document(name string) ([]byte, error) {
	var b []byte
	err := r.db.QueryRowContext(r.ctx, "SELECT body FROM document WHERE name = ?", name).Scan(&b)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.Campaignf("%s has no %s in it", r.path, name)
	}
	return b, r.explainRead(err)
}

func unixNano(t time.Time) int64 { return t.UnixNano() }
