package xenctl

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fault"
)

func TestIsDom0(t *testing.T) {
	for _, c := range []struct {
		capabilities, features string
		want                   bool
	}{
		{"control_d", "", true},
		{"", "00000805", true},
		{"", "00000705", false},
		{"", "", false},
	} {
		if got := IsDom0(c.capabilities, c.features); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestParseDomain(t *testing.T) {
	page := make([]byte, 4096)
	if _, found := parseDomain(page); found {
		t.Error("found a domain in nothing")
	}
	put := binary.LittleEndian
	put.PutUint32(page[24:], 1)
	put.PutUint16(page[infoOffset:], 7)
	put.PutUint32(page[infoOffset+4:], 1<<3|1<<5)
	put.PutUint64(page[infoOffset+infoCPUTime:], uint64(90*time.Millisecond))
	if d, found := parseDomain(page); !found || d != (Domain{ID: 7, CPU: 90 * time.Millisecond, Paused: true}) {
		t.Errorf("got %+v, %v", d, found)
	}
}

// scripted is a store with prepared answers.
type scripted struct {
	io.Reader
	sent bytes.Buffer
}

func (s *scripted) Write(b []byte) (int, error) { return s.sent.Write(b) }
func (*scripted) Close() error                  { return nil }

// answer returns a message from the store.
func answer(kind, id uint32, body string) string {
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, [4]uint32{kind, id, 0, uint32(len(body))})
	return b.String() + body
}

func TestStore(t *testing.T) {
	s := &scripted{Reader: strings.NewReader(
		answer(msgRead, 77, "of an earlier call") + answer(msgRead, 1, "value") +
			answer(msgError, 2, "ENOENT\x00") + answer(msgError, 3, "ENOENT\x00") + answer(msgError, 4, "EACCES\x00") +
			answer(msgDirectory, 5, "0\x00junk\x0012\x00") + answer(msgRead, 6, "Domain-0") + answer(msgError, 7, "ENOENT\x00") +
			answer(msgDirectory, 8, ""))}
	store := NewStore(s)
	if v, err := store.Read("a/b"); v != "value" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
	if want := answer(msgRead, 1, "a/b\x00"); s.sent.String() != want {
		t.Errorf("sent %q, want %q", s.sent.String(), want)
	}
	if _, err := store.Read("none"); !errors.Is(err, ErrNotThere) || !strings.Contains(err.Error(), "none") {
		t.Error(err)
	}
	if err := store.Remove("none"); err != nil {
		t.Error(err)
	}
	if err := store.Write("a", "b"); fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "EACCES") {
		t.Error(err)
	}
	if ids, err := store.DomainIDs(); err != nil || len(ids) != 1 || ids["Domain-0"] != 0 {
		t.Errorf("%v, %v", ids, err) // domain 12 has no name yet
	}
	if names, err := store.List("empty"); len(names) != 0 || err != nil {
		t.Errorf("%q, %v", names, err)
	}
	if err := store.Write("a", strings.Repeat("x", maxPayload)); err == nil {
		t.Error("a message larger than the store takes")
	}
}

// FuzzStore: whatever the store answers, a call ends, with a result or an error.
func FuzzStore(f *testing.F) {
	f.Add([]byte(answer(msgDirectory, 1, "0\x001\x00") + answer(msgRead, 2, "x")))
	f.Add([]byte(answer(msgError, 1, "ENOENT\x00")))
	f.Add([]byte(answer(msgRead, 1, "of another kind")))
	f.Add([]byte{msgRead, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		store := &Store{conn: &scripted{Reader: bytes.NewReader(b)}}
		ids, err := store.DomainIDs()
		if err != nil && ids != nil {
			t.Errorf("both %v and %v", ids, err)
		}
	})
}
