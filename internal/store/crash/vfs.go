package crash

import (
	"bytes"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// SQLite does all input and output through a VFS, a table of functions. This package registers a
// copy of the system's VFS as the default one, in which the functions that change files first ask
// the disk that watches the file. Everything else, locks included, is the system's.

// system is the VFS of the operating system.
var system sqlite3.Tsqlite3_vfs

// ours is the VFS that SQLite uses, and watched the functions of an open file that a disk watches,
// by the address of the system's functions. SQLite keeps their addresses.
var (
	ours    sqlite3.Tsqlite3_vfs
	watched = map[uintptr]*methods{}
)

// methods are the functions of an open file: SQLite's table with ours in it, and the system's.
type methods struct {
	ours, system sqlite3.Tsqlite3_io_methods
}

// file is an open file that a disk watches.
type file struct {
	disk    *Disk
	name    string
	methods *methods
}

// mu protects the variables below, and watched.
var (
	mu    sync.Mutex
	disks = map[string]*Disk{} // by directory
	open  = map[uintptr]*file{}
)

// register installs the VFS, once in a process.
var register = sync.OnceFunc(func() {
	tls := libc.NewTLS()
	defer tls.Close()
	system = *at[sqlite3.Tsqlite3_vfs](sqlite3.Xsqlite3_vfs_find(tls, 0))
	ours = system
	name, err := libc.CString("tare-crash")
	if err != nil {
		panic(err)
	}
	ours.FzName, ours.FpNext = name, 0
	ours.FxOpen, ours.FxDelete = pointer(xOpen), pointer(xDelete)
	if rc := sqlite3.Xsqlite3_vfs_register(tls, uintptr(unsafe.Pointer(&ours)), 1); rc != sqlite3.SQLITE_OK {
		panic("crash: SQLite refuses the VFS")
	}
})

// at is what a pointer of SQLite, which is an integer, points to.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// pointer returns the address of a function, for SQLite; it must be a declared one.
func pointer[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

// function is the opposite of pointer.
func function[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&p)) }

func xOpen(tls *libc.TLS, vfs, name, id uintptr, flags int32, outFlags uintptr) int32 {
	call := function[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](system.FxOpen)
	mu.Lock()
	d, base := watching(name)
	mu.Unlock()
	if d == nil {
		return call(tls, vfs, name, id, flags, outFlags)
	}
	if flags&sqlite3.SQLITE_OPEN_CREATE != 0 {
		if rc := d.begin(Op{Kind: Create, File: base}); rc != sqlite3.SQLITE_OK {
			return sqlite3.SQLITE_CANTOPEN
		}
	}
	rc := call(tls, vfs, name, id, flags, outFlags)
	f := at[sqlite3.Tsqlite3_file](id)
	if rc != sqlite3.SQLITE_OK || f.FpMethods == 0 {
		return rc
	}
	mu.Lock()
	defer mu.Unlock()
	m := watched[f.FpMethods]
	if m == nil {
		// Not in Go's memory, in which SQLite's code may not follow addresses.
		m = at[methods](libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(methods{}))))
		m.system = *at[sqlite3.Tsqlite3_io_methods](f.FpMethods)
		m.ours = m.system
		m.ours.FxClose, m.ours.FxWrite = pointer(xClose), pointer(xWrite)
		m.ours.FxTruncate, m.ours.FxSync = pointer(xTruncate), pointer(xSync)
		watched[f.FpMethods] = m
	}
	f.FpMethods = uintptr(unsafe.Pointer(&m.ours))
	open[id] = &file{disk: d, name: base, methods: m}
	return rc
}

func xDelete(tls *libc.TLS, vfs, name uintptr, syncDir int32) int32 {
	mu.Lock()
	d, base := watching(name)
	mu.Unlock()
	if d != nil {
		if rc := d.begin(Op{Kind: Delete, File: base, SyncDir: syncDir != 0}); rc != sqlite3.SQLITE_OK {
			return sqlite3.SQLITE_IOERR_DELETE
		}
		syncDir = 0
	}
	return function[func(*libc.TLS, uintptr, uintptr, int32) int32](system.FxDelete)(tls, vfs, name, syncDir)
}

func opened(id uintptr) *file {
	mu.Lock()
	defer mu.Unlock()
	return open[id]
}

func xClose(tls *libc.TLS, id uintptr) int32 {
	f := opened(id)
	mu.Lock()
	delete(open, id)
	mu.Unlock()
	return function[func(*libc.TLS, uintptr) int32](f.methods.system.FxClose)(tls, id)
}

func xWrite(tls *libc.TLS, id, data uintptr, n int32, offset int64) int32 {
	f := opened(id)
	rc := f.disk.begin(Op{Kind: Write, File: f.name, Offset: offset, Data: bytes.Clone(libc.GoBytes(data, int(n)))})
	write := function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](f.methods.system.FxWrite)
	if rc != sqlite3.SQLITE_OK {
		if half := n / 2; half > 0 {
			write(tls, id, data, half, offset)
		}
		return rc
	}
	return write(tls, id, data, n, offset)
}

func xTruncate(tls *libc.TLS, id uintptr, size int64) int32 {
	f := opened(id)
	if rc := f.disk.begin(Op{Kind: Truncate, File: f.name, Offset: size}); rc != sqlite3.SQLITE_OK {
		return sqlite3.SQLITE_IOERR_TRUNCATE
	}
	return function[func(*libc.TLS, uintptr, int64) int32](f.methods.system.FxTruncate)(tls, id, size)
}

// xSync does not call the system: what would be on a disk is this package's to say, and a test that
// syncs thousands of times is slow.
func xSync(_ *libc.TLS, id uintptr, _ int32) int32 {
	f := opened(id)
	if rc := f.disk.begin(Op{Kind: Sync, File: f.name}); rc != sqlite3.SQLITE_OK {
		return sqlite3.SQLITE_IOERR_FSYNC
	}
	return sqlite3.SQLITE_OK
}
