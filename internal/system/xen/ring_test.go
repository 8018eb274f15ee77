package xen

import (
	"bytes"
	"io"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
)

// TestRing: nothing is lost when counters wrap around or a move ends in the middle of the page.
func TestRing(t *testing.T) {
	const nearlyAround = 1<<32 - 100
	r := &ring{inCons: nearlyAround, inProd: nearlyAround, outCons: nearlyAround, outProd: nearlyAround}
	sent := make([]byte, 10_000)
	for i := range sent {
		sent[i] = byte(i * 7)
	}
	// The guest echoes what it gets.
	got, left := []byte(nil), sent
	for len(got) < len(sent) {
		n, err := r.put(left)
		if err != nil {
			t.Fatal(err)
		}
		left = left[n:]
		for r.inCons != r.inProd && r.outProd-r.outCons < uint32(len(r.out)) {
			r.out[r.outProd%uint32(len(r.out))] = r.in[r.inCons%uint32(len(r.in))]
			r.inCons++
			r.outProd++
		}
		p := make([]byte, 300)
		if n, err = r.take(p); err != nil {
			t.Fatal(err)
		}
		got = append(got, p[:n]...)
	}
	if !bytes.Equal(got, sent) {
		t.Error("what came back is not what was sent")
	}
	if n, err := r.take(make([]byte, 10)); n != 0 || err != nil {
		t.Errorf("an empty ring gave %d bytes, %v", n, err)
	}
	for free := len(r.in); free > 0; {
		n, err := r.put(make([]byte, 600))
		if err != nil || n == 0 {
			t.Fatalf("%d bytes free: put %d, %v", free, n, err)
		}
		free -= n
	}
	if n, err := r.put([]byte{1}); n != 0 || err != nil {
		t.Errorf("a full ring took %d bytes, %v", n, err)
	}
}

// FuzzRing: the guest shares the page and can write anything to it at any time.
func FuzzRing(f *testing.F) {
	f.Add(uint32(0), uint32(0), uint32(0), uint32(3))
	f.Add(uint32(5), uint32(1), uint32(9), uint32(1))
	f.Add(uint32(1<<32-1), uint32(3), uint32(1<<32-1), uint32(2047))
	f.Fuzz(func(t *testing.T, inCons, inProd, outCons, outProd uint32) {
		r := &ring{inCons: inCons, inProd: inProd, outCons: outCons, outProd: outProd}
		for name, move := range map[string]func([]byte) (int, error){"take": r.take, "put": r.put} {
			n, err := move(make([]byte, 4096))
			if n < 0 || n > len(r.out) || err != nil && (n != 0 || fault.KindOf(err) != fault.Guest) {
				t.Errorf("%s: %d, %v", name, n, err)
			}
		}
	})
}

// TestConsoleOfALiar: a guest that reports impossible counters ends its stream, and Close can be
// called at any time.
func TestConsoleOfALiar(t *testing.T) {
	c := &console{ring: &ring{outProd: 5000}, readable: make(chan struct{}, 1), writable: make(chan struct{}, 1),
		closed: make(chan struct{})}
	if _, err := c.Read(make([]byte, 10)); err == nil {
		t.Error("read from a ring that holds more than fits")
	}
	if _, err := c.Read(make([]byte, 10)); err != io.EOF {
		t.Errorf("read after that: %v", err)
	}
	if _, err := c.Write([]byte("x")); err != io.EOF {
		t.Errorf("write after that: %v", err)
	}
}
