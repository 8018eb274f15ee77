package xenctl

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// Store is a connection to XenStore, the tree through which domains and their toolstack exchange
// information. Its methods may be called from several goroutines.
type Store struct {
	mu   sync.Mutex
	conn io.ReadWriteCloser
	id   uint32
}

// ErrNotThere is in the chain of errors about a node that does not exist.
var ErrNotThere = errors.New("no such node")

// OpenStore connects to the store. The caller closes it.
func OpenStore() (*Store, error) {
	f, err := os.OpenFile("/dev/xen/xenbus", os.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fault.WithRemedy(fault.Hostf("XenStore: %w", err), "modprobe xenfs; start xenstored")
	}
	return NewStore(f), nil
}

// NewStore returns a store that answers on conn, which it owns.
func NewStore(conn io.ReadWriteCloser) *Store { return &Store{conn: conn} }

// Close ends the connection.
func (s *Store) Close() error { return s.conn.Close() }

// Kinds of messages, from Xen's public/io/xs_wire.h.
const (
	msgDirectory = 1
	msgRead      = 2
	msgWrite     = 11
	msgRemove    = 13
	msgSetPerms  = 14
	msgError     = 16
)

// maxPayload is XenStore's own limit for a message, in bytes.
const maxPayload = 4096

// Read returns a node's value.
func (s *Store) Read(path string) (string, error) {
	b, err := s.call(msgRead, path+"\x00")
	return string(b), err
}

// List returns the names of a node's children.
func (s *Store) List(path string) ([]string, error) {
	b, err := s.call(msgDirectory, path+"\x00")
	if err != nil || len(b) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00"), nil
}

// Write sets a node's value, and creates the node and its parents if necessary.
func (s *Store) Write(path, value string) error {
	_, err := s.call(msgWrite, path+"\x00"+value)
	return err
}

// Remove removes a node with its descendants; it is no error if the node does not exist.
func (s *Store) Remove(path string) error {
	_, err := s.call(msgRemove, path+"\x00")
	if errors.Is(err, ErrNotThere) {
		return nil
	}
	return err
}

// Grant makes one domain the owner of a node and lets another read it.
func (s *Store) Grant(path string, owner, reader int) error {
	_, err := s.call(msgSetPerms, fmt.Sprintf("%s\x00n%d\x00r%d\x00", path, owner, reader))
	return err
}

// DomainIDs maps the names of all domains to their IDs.
func (s *Store) DomainIDs() (map[string]int, error) {
	ids, err := s.List("/local/domain")
	if err != nil {
		return nil, err
	}
	names := map[string]int{}
	for _, text := range ids {
		id, err := strconv.Atoi(text)
		if err != nil {
			continue
		}
		name, err := s.Read("/local/domain/" + text + "/name")
		if err == nil {
			names[name] = id
		} else if !errors.Is(err, ErrNotThere) {
			return nil, err
		}
	}
	return names, nil
}

// call sends a message and returns the answer.
func (s *Store) call(kind uint32, payload string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.exchange(kind, payload)
	if err != nil {
		path, _, _ := strings.Cut(payload, "\x00")
		return nil, fault.Hostf("XenStore: %s: %w", path, err)
	}
	return b, nil
}

func (s *Store) exchange(kind uint32, payload string) ([]byte, error) {
	if len(payload) > maxPayload {
		return nil, fmt.Errorf("a message of %d bytes", len(payload))
	}
	s.id++
	var message bytes.Buffer
	binary.Write(&message, binary.LittleEndian, [4]uint32{kind, s.id, 0, uint32(len(payload))})
	message.WriteString(payload)
	if _, err := s.conn.Write(message.Bytes()); err != nil {
		return nil, err
	}
	for {
		var head [4]uint32
		if err := binary.Read(s.conn, binary.LittleEndian, &head); err != nil {
			return nil, err
		}
		if head[3] > maxPayload {
			return nil, fmt.Errorf("an answer of %d bytes", head[3])
		}
		body := make([]byte, head[3])
		if _, err := io.ReadFull(s.conn, body); err != nil {
			return nil, err
		}
		switch {
		case head[1] != s.id: // an answer that an earlier call did not wait for
		case head[0] == msgError:
			name := strings.TrimRight(string(body), "\x00")
			if name == "ENOENT" {
				return nil, ErrNotThere
			}
			return nil, errors.New(name)
		case head[0] != kind:
			return nil, fmt.Errorf("an answer of kind %d to a call of kind %d", head[0], kind)
		default:
			return body, nil
		}
	}
}
