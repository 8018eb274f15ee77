package xen

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/xenctl"
)

// nodes are those of a store for tests.
type nodes struct {
	mu     sync.Mutex
	values map[string]string
	wrote  func(path, value string) // called after a node was written, with mu held
}

// open returns a connection to the store.
func (n *nodes) open(t *testing.T) *xenctl.Store {
	ours, theirs := net.Pipe()
	t.Cleanup(func() { ours.Close() })
	go func() {
		for n.answer(theirs) == nil {
		}
	}()
	return xenctl.NewStore(ours)
}

// answer answers one message.
func (n *nodes) answer(conn io.ReadWriter) error {
	const read, write, remove, failed = 2, 11, 13, 16
	var head [4]uint32
	if err := binary.Read(conn, binary.LittleEndian, &head); err != nil {
		return err
	}
	payload := make([]byte, head[3])
	if _, err := io.ReadFull(conn, payload); err != nil {
		return err
	}
	path, value, _ := strings.Cut(string(payload), "\x00")
	n.mu.Lock()
	defer n.mu.Unlock()
	reply := "OK\x00"
	switch head[0] {
	case read:
		var there bool
		if reply, there = n.values[path]; !there {
			head[0], reply = failed, "ENOENT\x00"
		}
	case write:
		n.values[path] = value
		if n.wrote != nil {
			n.wrote(path, value)
		}
	case remove:
		for name := range n.values {
			if name == path || strings.HasPrefix(name, path+"/") {
				delete(n.values, name)
			}
		}
	}
	head[3] = uint32(len(reply))
	if err := binary.Write(conn, binary.LittleEndian, head); err != nil {
		return err
	}
	_, err := io.WriteString(conn, reply)
	return err
}

// TestSaveUnplugs: before xl saves a domain, its kernel has hung up the agent's console, all that it sent has been
// read, and the console is gone.
func TestSaveUnplugs(t *testing.T) {
	n := &nodes{values: map[string]string{}}
	c, err := newConsole(n.open(t), 7)
	if err != nil {
		t.Fatal(err)
	}
	c.ring = &ring{}
	n.mu.Lock()
	n.wrote = func(path, value string) { // the guest's kernel
		if path == c.backend()+"/state" && value == stateClosing {
			copy(c.ring.out[:], "the last")
			atomic.StoreUint32(&c.ring.outProd, 8)
			n.values[c.frontend()+"/state"] = stateClosed
		}
	}
	n.mu.Unlock()
	dir := t.TempDir()
	fake := fmt.Sprintf("#!/bin/sh\necho \"$@\" >%s/xl.log; echo no memory; exit 1\n", dir)
	if err := os.WriteFile(filepath.Join(dir, "xl"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	g := &guest{site: &system.Site{ID: "tabc-1"}, console: c, domain: 7}
	saved := make(chan error)
	go func() { saved <- g.Save(t.Context(), dir) }()
	// Nothing tells this console of the guest's bytes, so this polls as Read would be woken to.
	var got []byte
	for len(got) < 8 {
		select {
		case err := <-saved:
			t.Fatalf("saved while %d bytes were read: %v", len(got), err)
		default:
		}
		p := make([]byte, 3)
		m, err := c.ring.take(p)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p[:m]...)
	}
	if string(got) != "the last" {
		t.Errorf("read %q", got)
	}
	if err := <-saved; fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "no memory") {
		t.Errorf("got: %v", err)
	}
	if b, err := os.ReadFile(dir + "/xl.log"); string(b) != "save 7 "+dir+"/domain\n" {
		t.Errorf("xl %q, %v", b, err)
	}
	if len(n.values) > 0 {
		t.Errorf("still in the store: %q", n.values)
	}
}

// TestConnectKnocks: the kernel of a restored guest, which sees only changes, finds its new console.
func TestConnectKnocks(t *testing.T) {
	n := &nodes{values: map[string]string{}}
	c, err := newConsole(n.open(t), 7)
	if err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	n.wrote = func(path, _ string) { // the guest's kernel; what it says of its ring is nonsense
		if strings.HasPrefix(path, c.frontend()+"/") {
			n.values[c.frontend()+"/ring-ref"] = "x"
			n.values[c.frontend()+"/state"] = stateInitialised
		}
	}
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.connect(ctx, nil, true); fault.KindOf(err) != fault.Guest || !strings.Contains(err.Error(), `ring-ref is "x"`) {
		t.Errorf("got: %v", err)
	}
}
