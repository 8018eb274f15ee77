package qemu

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// qmpTimeout bounds one command; QEMU answers the commands that tare sends without delay.
const qmpTimeout = 30 * time.Second

// monitor speaks the QEMU Machine Protocol, as far as it is needed to stop and resume a machine,
// to save it, to set its balloon and to throttle its disk. A malformed answer from QEMU is the guest's fault.
type monitor struct {
	mu   sync.Mutex
	conn net.Conn
	in   *bufio.Scanner
}

// newMonitor negotiates with QEMU on conn. The caller closes conn.
func newMonitor(ctx context.Context, conn net.Conn) (*monitor, error) {
	m := &monitor{conn: conn, in: bufio.NewScanner(conn)}
	m.deadline(ctx)
	var greeting struct{ QMP *struct{} }
	if err := m.read(&greeting); err != nil || greeting.QMP == nil {
		return nil, fault.Guestf("QEMU's monitor sent no greeting: %v", err)
	}
	return m, m.execute(ctx, "qmp_capabilities", nil, nil)
}

func (m *monitor) deadline(ctx context.Context) {
	d := time.Now().Add(qmpTimeout)
	if c, ok := ctx.Deadline(); ok && c.Before(d) {
		d = c
	}
	m.conn.SetDeadline(d)
}

func (m *monitor) read(v any) error {
	if !m.in.Scan() {
		if err := m.in.Err(); err != nil {
			return err
		}
		return net.ErrClosed
	}
	return json.Unmarshal(m.in.Bytes(), v)
}

func (m *monitor) send(line []byte, file *os.File) (err error) {
	if file == nil {
		_, err = m.conn.Write(line)
		return err
	}
	_, _, err = m.conn.(*net.UnixConn).WriteMsgUnix(line, unix.UnixRights(int(file.Fd())), nil)
	return err
}

// execute runs one command, with arguments unless they are nil, and stores its return value in
// result unless that is nil.
func (m *monitor) execute(ctx context.Context, command string, arguments any, result any) error {
	return m.pass(ctx, command, nil, arguments, result)
}

// pass is execute for a command that takes a file, if file is not nil; conn is a Unix socket then.
func (m *monitor) pass(ctx context.Context, command string, file *os.File, arguments any, result any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deadline(ctx)
	line, err := json.Marshal(struct {
		Execute   string `json:"execute"`
		Arguments any    `json:"arguments,omitempty"`
	}{command, arguments})
	if err != nil {
		return err
	}
	if err := m.send(append(line, '\n'), file); err != nil {
		return fault.Guestf("QEMU's monitor: %s: %w", command, err)
	}
	for {
		var reply struct {
			Return json.RawMessage
			Error  *struct{ Class, Desc string }
			Event  string
		}
		if err := m.read(&reply); err != nil {
			return fault.Guestf("QEMU's monitor: %s: %w", command, err)
		}
		switch {
		case reply.Event != "":
			continue
		case reply.Error != nil:
			return fault.Guestf("QEMU refuses %s: %s", command, reply.Error.Desc)
		case result != nil:
			if err := json.Unmarshal(reply.Return, result); err != nil {
				return fault.Guestf("QEMU's monitor: %s: %w", command, err)
			}
		}
		return nil
	}
}
