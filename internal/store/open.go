package store

import (
	"context"
	"database/sql"
	"encoding/binary"
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

// A run file may come from anybody. Before anything of it is believed, its header,
// its schema and the structure of all its pages are checked. After that, no query
// costs more than the size of the file suggests: SQLite itself would follow a page
// that is its own parent, or a thousand rows that share one large value, for as long
// as the file asks for.

// maxFile bounds the memory for checking a file's pages, which is a bit for each.
const maxFile = 256 << 30

// Open opens a run for reading until ctx ends; after that, reads return the error of ctx.
// It writes neither to the file nor beside it. The caller closes the run.
func Open(ctx context.Context, path string) (*Run, error) {
	format, err := checkHeader(path)
	if err != nil {
		// A power loss may have damaged even the header, which the journal then restores.
		if r, copied := openCopy(ctx, path); copied == nil {
			return r, nil
		}
		return nil, err
	}
	r, err := openChecked(ctx, path, "ro", format)
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code() == sqlite3.SQLITE_READONLY_ROLLBACK {
		return openCopy(ctx, path)
	}
	return r, err
}

// Continue opens a run to continue it. A run of an older version of tare cannot be
// continued. ctx bounds the checks of the file. The caller closes the run.
func Continue(ctx context.Context, path string) (*Run, error) {
	if err := checkJournal(path + journal); err != nil {
		return nil, err
	}
	format, err := checkHeader(path)
	if err != nil && hasJournal(path) {
		if rollBack(ctx, path) == nil { // as in Open
			format, err = checkHeader(path)
		}
	}
	if err != nil {
		return nil, err
	}
	if format < planned {
		err := fault.Campaignf("%s was begun by an older version of tare, which planned trials differently", path)
		return nil, fault.WithRemedy(err, "this version can only show and compare it; "+
			"resume it with the older version, or start a new run: tare run --like %s", path)
	}
	// SQLite would silently open a file read-only that it cannot write.
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS); err != nil {
		err := fault.Hostf("%s cannot be written: %w", path, err)
		return nil, fault.WithRemedy(err, "use a copy of it, or run tare as its owner")
	}
	r, err := openChecked(ctx, path, "rw", format)
	if err != nil {
		return nil, err
	}
	r.ctx = context.Background()
	if err := r.prepareToWrite(); err != nil {
		r.db.Close()
		return nil, err
	}
	return r, nil
}

// prepareToWrite makes a writer wait longer than readers of this run take to check a
// large file, since they must not fail it, and sync the directory after the journal is
// removed: a power loss could otherwise bring the journal back, and it would undo a
// trial that was reported as done.
func (r *Run) prepareToWrite() error {
	_, err := r.db.Exec("PRAGMA busy_timeout = 60000; PRAGMA synchronous = EXTRA")
	return r.explain(err)
}

// hasJournal reports whether a writer of the file has not finished, or was killed.
func hasJournal(path string) bool {
	_, err := os.Stat(path + journal)
	return err == nil
}

// rollBack lets SQLite undo what a killed writer left half done.
func rollBack(ctx context.Context, path string) error {
	r, err := open(path, "rw")
	if err != nil {
		return err
	}
	defer r.db.Close()
	r.ctx = ctx
	return r.load("PRAGMA query_only = 0; SELECT count(*) FROM sqlite_schema")
}

func openChecked(ctx context.Context, path, mode string, format int) (_ *Run, err error) {
	r, err := open(path, mode)
	if err != nil {
		return nil, err
	}
	r.format, r.ctx = format, ctx
	defer func() {
		if err != nil {
			r.db.Close()
		}
	}()
	first := "PRAGMA query_only = 1; PRAGMA cache_size = -16384"
	if mode == "rw" { // shows whether it can be written
		first = "PRAGMA query_only = 0; BEGIN IMMEDIATE; ROLLBACK; PRAGMA cache_size = -16384"
	}
	if err := r.load(first); err != nil {
		return nil, err
	}
	if err := r.checkSchema(); err != nil {
		return nil, err
	}
	var damage string
	if err := r.db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&damage); err != nil {
		return nil, r.explainRead(err)
	}
	if damage != "ok" {
		return nil, fault.WithRemedy(fault.Campaignf("%s is damaged: %q", path, damage), remedyDamaged)
	}
	var arms, metrics int
	const sizes = "SELECT (SELECT count(*) FROM arm), (SELECT count(*) FROM metric)"
	if err := r.db.QueryRowContext(ctx, sizes).Scan(&arms, &metrics); err != nil {
		return nil, r.explainRead(err)
	}
	if arms > maxArms || metrics > maxMetrics {
		return nil, fault.Campaignf("%s has %d arms, and %d metrics and probes; tare reads runs with up to %d and %d",
			path, arms, metrics, maxArms, maxMetrics)
	}
	return r, nil
}

// Every reader keeps all arms and metrics of a run in memory. Large campaigns have
// hundreds of arms and ten thousands of metrics and probes.
const (
	maxArms    = 10_000
	maxMetrics = 100_000
)

// load executes the first script on a file, during which SQLite reads the schema: that may take for ever. The first
// statement must be one that does not need the schema. The end of r.ctx interrupts the script, but not at once: SQLite
// forgets an interrupt that comes before it has begun to read.
func (r *Run) load(script string) error {
	ctx, interrupt := context.WithCancel(context.WithoutCancel(r.ctx))
	defer interrupt()
	defer context.AfterFunc(r.ctx, func() { time.AfterFunc(interruptAfter, interrupt) })()
	if err := r.ctx.Err(); err != nil {
		return r.explainRead(err)
	}
	_, err := r.db.ExecContext(ctx, script)
	return r.explainRead(err)
}

// interruptAfter is longer than SQLite takes from the call of a script to its first read of the schema.
const interruptAfter = 2 * time.Second

const remedyDamaged = "copy it again from the original; sqlite3's .recover saves what can be saved"

func init() {
	// POSIX locks, SQLite's default, are lost when anything in this process, such
	// as checkHeader, closes the same file. If the kernel has no OFD locks, POSIX
	// locks stay in use.
	sqlite.OFDLocking(true)
}

// open opens a file in a mode of SQLite: ro, rw or rwc. None of the settings may need
// the schema, which is not known to be harmless yet.
func open(path, mode string) (*Run, error) {
	// Use the rollback journal and not the write-ahead log, so that the whole run
	// is in one file after every trial.
	q := url.Values{"mode": {mode}, "_defensive": {"1"}, "_pragma": {
		"busy_timeout(5000)", "foreign_keys(1)", "trusted_schema(0)", "cell_size_check(1)", "mmap_size(0)"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, fault.Hostf("%s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	return &Run{db: db, path: path, ctx: context.Background()}, nil
}

// journal is what SQLite adds to the name of a file for that of its journal.
const journal = "-journal"

// journalMagic is how a journal begins that must be rolled back, by SQLite's file format.
const journalMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"

// Begun reports whether there is a file at path that Create must not replace, such as a run. There is none if the file
// is empty, or was empty according to its journal: a tare process that was killed while it created the run left it.
func Begun(path string) (bool, error) {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fault.Hostf("%w", err)
	case !st.Mode().IsRegular():
		return true, nil
	case st.Size() == 0:
		return false, nil
	}
	f, err := openRegular(path + journal)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return true, fault.Hostf("%w", err)
	}
	defer f.Close()
	var h [20]byte // magic, records, nonce, pages of the file before
	if _, err := io.ReadFull(f, h[:]); err != nil {
		return true, nil // SQLite ignores such a journal
	}
	return string(h[:len(journalMagic)]) != journalMagic || binary.BigEndian.Uint32(h[16:]) != 0, nil
}

// checkJournal refuses a journal that names a super-journal: SQLite would delete the
// file of that name, whatever it is. tare writes no such journals.
func checkJournal(path string) error {
	f, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.Hostf("%w", err)
	}
	defer f.Close()
	var end [len(journalMagic)]byte
	st, err := f.Stat()
	if err != nil || st.Size() < int64(len(end)) {
		return err
	}
	if _, err := f.ReadAt(end[:], st.Size()-int64(len(end))); err != nil {
		return fault.Hostf("%w", err)
	}
	if string(end[:]) == journalMagic {
		err := fault.Campaignf("%s is not a journal of tare: it names another file, which SQLite would delete", path)
		return fault.WithRemedy(err, "delete it")
	}
	return nil
}

// openRegular opens a file for reading. It refuses anything else, without waiting for
// the other end of a pipe.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// checkHeader returns the format of a run, or an error if the file is not a
// complete run of this format or an older one.
func checkHeader(path string) (format int, err error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, fault.Campaignf("%s: there is no such run", path)
	case err != nil:
		return 0, fault.Hostf("%w", err)
	case !st.Mode().IsRegular():
		return 0, fault.Campaignf("%s is not a file, so not a run of tare", path)
	}
	f, err := openRegular(path)
	if err != nil {
		return 0, fault.Hostf("%w", err)
	}
	defer f.Close()
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
	number := binary.BigEndian.Uint32(h[60:])
	if number > Format {
		err := fault.Campaignf("%s has format %d; this version of tare reads up to format %d", path, number, Format)
		return 0, fault.WithRemedy(err, "use a newer version of tare")
	}
	if number == 0 {
		return 0, fault.Campaignf("%s is a SQLite file, but not a run of tare", path)
	}
	if h[18] != 1 || h[19] != 1 {
		err := fault.Campaignf("%s has a write-ahead log, which tare does not use: reading creates files beside it", path)
		return 0, fault.WithRemedy(err, "if you trust the file: sqlite3 %s 'PRAGMA journal_mode = DELETE'", path)
	}
	page := int64(binary.BigEndian.Uint16(h[16:]))
	if page == 1 {
		page = 65536
	}
	if st.Size() > maxFile {
		return 0, fault.Campaignf("%s has %d GiB; tare reads runs of up to %d GiB", path, st.Size()>>30, maxFile>>30)
	}
	// A hot journal may still restore the file after a writer was killed.
	if want := page * int64(binary.BigEndian.Uint32(h[28:])); st.Size() < want && !hasJournal(path) {
		err := fault.Campaignf("%s is cut short: it has %d of %d bytes", path, st.Size(), want)
		return 0, fault.WithRemedy(err, "copy it again from the original")
	}
	return int(number), nil
}
