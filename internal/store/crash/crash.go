// Package crash is a disk for tests of run files. It lies below SQLite, records every change of a
// file, lets any of them fail, and says what the disk may hold if the power is lost after any of
// them:
//
//	d := crash.Watch(t, dir)   // before SQLite opens a file in dir
//	…                          // use run files in dir
//	for n := range d.Ops() {
//		d.PowerLoss(t, n, crash.Random(seed), other) // what may be left, in another directory
//	}
package crash

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Kind is what SQLite does to a file.
type Kind int

// The kinds of operation.
const (
	Create   Kind = iota // open it, and create it unless it exists
	Write                // Data at Offset
	Truncate             // to Offset bytes
	Sync
	Delete
)

// Op is one operation on a file in the directory.
type Op struct {
	Kind    Kind
	File    string // without the directory
	Offset  int64
	Data    []byte
	SyncDir bool // of Delete: the directory is synced, too
}

// Disk watches the files of one directory. Its methods may be called while SQLite works.
type Disk struct {
	dir string

	mu     sync.Mutex
	ops    []Op
	failAt int // number of the operation to fail; -1: none
	code   int32
	sticky bool
}

// Watch watches the files in a directory that SQLite opens from now on, until the test ends.
func Watch(t testing.TB, dir string) *Disk {
	t.Helper()
	register()
	d := &Disk{dir: filepath.Clean(dir), failAt: -1}
	mu.Lock()
	defer mu.Unlock()
	disks[d.dir] = d
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		delete(disks, d.dir)
	})
	return d
}

// watching returns the disk that watches the file of this name, which is a pointer of SQLite, and
// the name without the directory; nil if there is none. The caller holds mu.
func watching(name uintptr) (*Disk, string) {
	if name == 0 { // a temporary file
		return nil, ""
	}
	dir, base := filepath.Split(libc.GoString(name))
	return disks[filepath.Clean(dir)], base
}

// Ops returns the number of operations so far.
func (d *Disk) Ops() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.ops)
}

// The ways in which an operation fails. A write that fails has written half of its data.
const (
	IOError = sqlite3.SQLITE_IOERR_WRITE
	Full    = sqlite3.SQLITE_FULL
)

// Fail makes operation n (from 0) fail, and if sticky is set, every later one: the disk is gone.
func (d *Disk) Fail(n int, code int32, sticky bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failAt, d.code, d.sticky = n, code, sticky
}

// Repair makes every operation succeed again.
func (d *Disk) Repair() { d.Fail(-1, 0, false) }

// begin records an operation that is about to be done, and returns SQLite's code for its failure.
func (d *Disk) begin(op Op) int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.ops)
	d.ops = append(d.ops, op)
	if d.failAt >= 0 && (n == d.failAt || d.sticky && n > d.failAt) {
		return d.code
	}
	return sqlite3.SQLITE_OK
}

// Fate decides what becomes of something that was written and not synced.
type Fate int

// Fates.
const (
	Kept    Fate = iota // as if it had been synced
	Lost                // as if it had not been written
	Garbage             // other bytes than those written; a change of the directory is lost
)

// All is the fate of everything if a process is killed and the system goes on.
func All() Fate { return Kept }

// Nothing is the fate of everything if the power is lost before the system has written anything
// that nobody waited for.
func Nothing() Fate { return Lost }

// Random returns fates in random order.
func Random(seed uint64) func() Fate {
	r := rand.New(rand.NewPCG(seed, 0))
	return func() Fate { return Fate(r.IntN(3)) }
}

// sector is the unit in bytes of which a write is done as a whole or not at all.
const sector = 512

// inode is a file, whatever its name.
type inode struct {
	durable []byte
	pending []Op
}

// directory is what the disk holds. Names change in the order of the operations, as file systems
// with a journal do it; data change in any order.
type directory struct {
	now     map[string]*inode // by name, as programs see it
	durable map[string]*inode // as on the disk
	pending []func(map[string]*inode)
	fresh   map[*inode]bool // journals whose first sync will sync the directory, too
}

// PowerLoss writes to a directory what the disk may hold if the power is lost after the first n
// operations. fate is asked for each sector that was written and not synced, and for each change
// of the directory; the first of those that is not Kept is lost with all later ones.
func (d *Disk) PowerLoss(t testing.TB, n int, fate func() Fate, to string) {
	t.Helper()
	d.mu.Lock()
	ops := slices.Clone(d.ops[:n])
	d.mu.Unlock()
	dir := directory{now: map[string]*inode{}, durable: map[string]*inode{}, fresh: map[*inode]bool{}}
	for _, op := range ops {
		dir.apply(op)
	}
	for _, change := range dir.pending {
		if fate() != Kept {
			break
		}
		change(dir.durable)
	}
	for _, name := range slices.Sorted(maps.Keys(dir.durable)) { // in order, for repeatable fates
		if err := os.WriteFile(filepath.Join(to, name), dir.durable[name].after(fate), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func (dir *directory) apply(op Op) {
	f := dir.now[op.File]
	switch op.Kind {
	case Create:
		if f == nil {
			f = &inode{}
			dir.change(func(names map[string]*inode) { names[op.File] = f })
			// SQLite's VFS for Unix syncs the directory after the first sync of a new journal.
			dir.fresh[f] = strings.HasSuffix(op.File, "-journal")
		}
	case Write, Truncate:
		f.pending = append(f.pending, op)
	case Sync:
		f.durable = f.after(All)
		f.pending = nil
		if dir.fresh[f] {
			dir.fresh[f] = false
			dir.sync()
		}
	case Delete:
		dir.change(func(names map[string]*inode) { delete(names, op.File) })
		if op.SyncDir {
			dir.sync()
		}
	}
}

func (dir *directory) change(c func(map[string]*inode)) {
	c(dir.now)
	dir.pending = append(dir.pending, c)
}

func (dir *directory) sync() {
	for _, change := range dir.pending {
		change(dir.durable)
	}
	dir.pending = nil
}

// after returns the contents of the file if the sectors that are not synced have these fates.
func (f *inode) after(fate func() Fate) []byte {
	text := bytes.Clone(f.durable)
	for _, op := range f.pending {
		if op.Kind == Truncate {
			if fate() == Kept {
				text = resized(text, int(op.Offset))
			}
			continue
		}
		for from := 0; from < len(op.Data); {
			begin := int(op.Offset) + from
			to := min(from+sector-begin%sector, len(op.Data))
			switch data := op.Data[from:to]; fate() {
			case Kept:
				text = resized(text, max(len(text), begin+len(data)))
				copy(text[begin:], data)
			case Garbage:
				text = resized(text, max(len(text), begin+len(data)))
				copy(text[begin:], bytes.Repeat([]byte{0xa5}, len(data)))
			}
			from = to
		}
	}
	return text
}

func resized(text []byte, n int) []byte {
	if n <= len(text) {
		return text[:n]
	}
	return append(text, make([]byte, n-len(text))...)
}
