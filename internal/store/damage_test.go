package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
)

// wholeRun returns the bytes of a run with n trials.
func wholeRun(t testing.TB, n, printed int) []byte {
	t.Helper()
	r, path := create(t)
	for b := range n {
		must(t, r.Finish(begin(t, r, b, b%3), outcome(float64(b+1), printed)))
	}
	must(t, r.Close())
	text, err := os.ReadFile(path)
	must(t, err)
	return text
}

func write(t testing.TB, dir string, text []byte) string {
	t.Helper()
	path := filepath.Join(dir, "run.tare")
	must(t, os.WriteFile(path, text, 0o644))
	return path
}

// openers are the ways to open a run.
var openers = []func(context.Context, string) (*Run, error){Open, Continue}

// readAll reads everything in a run and returns the number of trials.
func readAll(path string) (n int, err error) {
	r, err := Open(context.Background(), path)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for _, read := range []func() error{
		func() error { _, err := r.Document(DocCampaign); return err },
		func() error { _, err := r.Arms(); return err },
		func() error { _, err := r.Metrics(); return err },
		func() error { _, err := r.Sizes(); return err },
		func() error { _, err := r.Finished(); return err },
		func() error { _, err := r.Progress(); return err },
		func() error { _, err := r.Elapsed(); return err },
		func() error { _, err := r.Events(); return err },
		func() error { _, err := r.Failures(); return err },
		func() error { _, err := r.Guests(); return err },
		func() error { _, err := r.Sessions(); return err },
	} {
		if err := read(); err != nil {
			return 0, err
		}
	}
	for _, err := range r.Observations() {
		if err != nil {
			return n, err
		}
	}
	for _, err := range r.Trials() {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// TestTruncated: a file that is cut to any length is refused, as the fault of the
// input.
func TestTruncated(t *testing.T) {
	whole := wholeRun(t, 20, 3000)
	dir := t.TempDir()
	for n := 0; n <= len(whole); n += 997 {
		path := write(t, dir, whole[:n])
		for _, open := range openers {
			r, err := open(t.Context(), path)
			if err == nil {
				r.Close()
				t.Fatalf("%d of %d bytes: opened", n, len(whole))
			}
			if fault.KindOf(err) != fault.Campaign {
				t.Errorf("%d bytes: %v", n, err)
			}
		}
	}
	if n, err := readAll(write(t, dir, whole)); n != 20 || err != nil {
		t.Errorf("the whole file: %d trials, %v", n, err)
	}
	// With a journal that does not repair it.
	path := write(t, dir, whole[:len(whole)/2])
	must(t, os.WriteFile(path+"-journal", []byte("not a journal"), 0o644))
	if _, err := readAll(path); fault.KindOf(err) != fault.Campaign {
		t.Errorf("half a file with a broken journal: %v", err)
	}
}

func TestNotARun(t *testing.T) {
	dir := t.TempDir()
	whole := wholeRun(t, 1, 1)
	change := func(at int, v uint32) []byte {
		text := append([]byte(nil), whole...)
		binary.BigEndian.PutUint32(text[at:], v)
		return text
	}
	other := filepath.Join(dir, "other.db")
	db, err := sql.Open("sqlite", other)
	must(t, err)
	_, err = db.Exec("CREATE TABLE x (y); INSERT INTO x VALUES (1)")
	must(t, err)
	must(t, db.Close())
	foreign, err := os.ReadFile(other)
	must(t, err)
	// The header of a run with the tables of another database.
	disguised := append([]byte(nil), foreign...)
	binary.BigEndian.PutUint32(disguised[68:], applicationID)
	binary.BigEndian.PutUint32(disguised[60:], Format)

	for _, test := range []struct {
		name string
		text []byte
		want string
	}{
		{"empty", nil, "never began"},
		{"text", []byte("name: quick\n"), "not a run of tare"},
		{"long text", []byte(strings.Repeat("name: quick\n", 100)), "not a run of tare"},
		{"other SQLite file", foreign, "not a run of tare"},
		{"disguised", disguised, `its table "x" is not one that tare creates`},
		{"newer", change(60, Format+1), "format 6; this version of tare reads up to format 5"},
	} {
		for _, open := range openers {
			_, err := open(t.Context(), write(t, dir, test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) || fault.KindOf(err) != fault.Campaign {
				t.Errorf("%s: %v (%v)", test.name, err, fault.KindOf(err))
			}
		}
	}
	if _, err := Continue(t.Context(), filepath.Join(dir, "nowhere.tare")); fault.KindOf(err) != fault.Campaign {
		t.Errorf("no file: %v", err)
	}
	if _, err := Open(t.Context(), dir); err == nil {
		t.Error("a directory was opened")
	}
}

// TestDamaged: wrong bytes anywhere give an error or a run, but never a panic.
func TestDamaged(t *testing.T) {
	whole := wholeRun(t, 20, 300)
	dir := t.TempDir()
	for at := 100; at < len(whole); at += 1013 {
		text := append([]byte(nil), whole...)
		for i := range text[at:min(at+16, len(text))] {
			text[at+i] ^= 0xa5
		}
		if _, err := readAll(write(t, dir, text)); err != nil && fault.KindOf(err) == fault.Internal {
			t.Errorf("damaged at byte %d: %v", at, err)
		}
	}
}

// TestReadOnlyFile: a file without write permission can be read but not
// continued. As root, one thread gives up its rights over files for this.
func TestReadOnlyFile(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, wholeRun(t, 3, 1))
	must(t, os.Chmod(path, 0o444))
	if os.Getuid() == 0 {
		for d := dir; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
			must(t, os.Chmod(d, 0o755))
		}
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0)
		defer syscall.RawSyscall(syscall.SYS_SETFSUID, 0, 0, 0)
	}
	if n, err := readAll(path); n != 3 || err != nil {
		t.Errorf("to read: %d trials, %v", n, err)
	}
	if _, err := Continue(t.Context(), path); fault.KindOf(err) != fault.Host {
		t.Errorf("to write: %v", err)
	}
}
