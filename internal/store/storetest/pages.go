// Package storetest makes hostile run files for tests: what somebody could send to
// make tare run, write or wait. It changes whole runs, and knows SQLite's file format
// but not package store.
package storetest

import (
	"database/sql"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the driver
)

// PageSize is that of run files.
const PageSize = 4096

// Changed returns a run after SQL statements have changed it.
func Changed(t testing.TB, run []byte, script string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "changed")
	must(t, os.WriteFile(path, run, 0o600))
	db, err := sql.Open("sqlite", "file:"+path)
	must(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	const free = "PRAGMA synchronous = off; PRAGMA writable_schema = 1; PRAGMA foreign_keys = 0; "
	if _, err := db.Exec(free + script); err != nil {
		t.Fatalf("%v in %.500s", err, script)
	}
	must(t, db.Close())
	changed, err := os.ReadFile(path)
	must(t, err)
	return changed
}

// RootOf is the first page of a table or index.
func RootOf(t testing.TB, run []byte, name string) (root int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "read")
	must(t, os.WriteFile(path, run, 0o600))
	db, err := sql.Open("sqlite", "file:"+path)
	must(t, err)
	defer db.Close()
	must(t, db.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = ?", name).Scan(&root))
	return root
}

// EndlessSchema returns a run whose schema SQLite never stops reading: each page is
// the child of the one above it hundreds of times over, and SQLite accepts an entry
// for an automatic index any number of times.
func EndlessSchema(t testing.TB, run []byte) []byte {
	t.Helper()
	const index = "sqlite_autoindex_document_1"
	return bomb(run, 1, leaf("index", index, "document", RootOf(t, run, index), nil))
}

// EndlessEvents returns a run that seems to have more events than can be counted.
func EndlessEvents(t testing.TB, run []byte) []byte {
	t.Helper()
	return bomb(run, RootOf(t, run, "event"), leaf(nil, 1, nil, 1, "ksm", ""))
}

// EndlessSessions returns a run that seems to have more ends of sessions than can be
// counted.
func EndlessSessions(t testing.TB, run []byte) []byte {
	t.Helper()
	return bomb(run, RootOf(t, run, "session_end"), leaf(nil, 1, "blocks"))
}

// bomb replaces a table by a tree in which each page is the child of the one above it
// hundreds of times over, so that a small file seems to have more rows than can be
// counted. All of them are in the page leaf; the table's own come first. root is the
// table's first page.
func bomb(run []byte, root int, leaf []byte) []byte {
	run = append([]byte(nil), run...)
	add := func(page []byte) int {
		run = append(run, page...)
		return len(run) / PageSize
	}
	header := 0
	if root == 1 {
		header = 100
	}
	at := (root - 1) * PageSize
	own := append([]byte(nil), run[at:at+PageSize]...)
	if root == 1 { // without the header of the file
		copy(own, run[header:header+12+2*int(binary.BigEndian.Uint16(run[header+3:]))])
	}
	first, child := add(own), add(leaf)
	const fan = 400
	tree := func(header, first, child int) []byte {
		page := make([]byte, PageSize)
		h := page[header:]
		h[0] = 5 // an inner page of a table
		binary.BigEndian.PutUint16(h[3:], fan)
		end := PageSize
		for i := range fan {
			end -= 6
			binary.BigEndian.PutUint32(page[end:], uint32(child))
			page[end+4], page[end+5] = 0x80|byte((i+1)>>7), byte((i+1)&0x7f)
			binary.BigEndian.PutUint16(h[12+2*i:], uint16(end))
		}
		binary.BigEndian.PutUint32(page[PageSize-6:], uint32(first))
		binary.BigEndian.PutUint16(h[5:], uint16(end))
		binary.BigEndian.PutUint32(h[8:], uint32(child))
		return page
	}
	for range 15 {
		child = add(tree(0, child, child))
	}
	copy(run[at+header:at+PageSize], tree(header, first, child)[header:])
	binary.BigEndian.PutUint32(run[28:], uint32(len(run)/PageSize))
	return run
}

// leaf is a page of a table with one row, whose record consists of these values; nil
// is NULL.
func leaf(values ...any) []byte {
	head, body := []byte{byte(len(values) + 1)}, []byte(nil)
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			head = append(head, 0)
		case int: // below 128
			head, body = append(head, 1), append(body, byte(v))
		case string: // of up to 50 bytes
			head, body = append(head, byte(13+2*len(v))), append(body, v...)
		}
	}
	record := append(head, body...)
	cell := append([]byte{byte(len(record)), 100}, record...)
	page := make([]byte, PageSize)
	page[0] = 13
	start := uint16(PageSize - len(cell))
	binary.BigEndian.PutUint16(page[3:], 1)
	binary.BigEndian.PutUint16(page[5:], start)
	binary.BigEndian.PutUint16(page[8:], start)
	copy(page[start:], cell)
	return page
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
