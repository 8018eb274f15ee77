package watch

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// KernelLog reads the kernel's log from the moment it was opened. It has no goroutine, so it costs
// nothing while a trial runs: Drain reads the messages since the last call. Its methods may be
// called from any goroutine.
type KernelLog struct {
	mu   sync.Mutex
	read func([]byte) (int, error) // one record, or EAGAIN
	end  func() error
	buf  []byte
	next uint64 // expected sequence number; 0: not known
}

// OpenKernelLog opens /dev/kmsg at its end. Its error is the host's and has a remedy: a run can go
// on without the log, but must report that.
func OpenKernelLog() (*KernelLog, error) {
	const remedy = "run as root or with CAP_SYSLOG (sysctl kernel.dmesg_restrict); in a container pass /dev/kmsg through"
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fault.WithRemedy(fault.Hostf("kernel log: /dev/kmsg: %w", err), remedy)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != unix.Mkdev(1, 11) {
		_ = unix.Close(fd)
		return nil, fault.WithRemedy(fault.Hostf("kernel log: /dev/kmsg is not the kernel's log"), remedy)
	}
	if _, err := unix.Seek(fd, 0, unix.SEEK_END); err != nil {
		_ = unix.Close(fd)
		return nil, fault.Hostf("kernel log: seek: %w", err)
	}
	return newKernelLog(
		func(b []byte) (int, error) { return unix.Read(fd, b) },
		func() error { return unix.Close(fd) },
	), nil
}

func newKernelLog(read func([]byte) (int, error), end func() error) *KernelLog {
	// Larger than any record: the kernel answers EINVAL to a shorter buffer.
	return &KernelLog{read: read, end: end, buf: make([]byte, 16<<10)}
}

// maxDrain bounds one drain, so that a flood of messages cannot block it for ever; the next drain
// reads the rest.
const maxDrain = 20_000

// Drain returns the distress that was logged since the last call, or the first time since the log
// was opened. It does not wait.
func (k *KernelLog) Drain() (Distress, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var d Distress
	if k.read == nil {
		return d, fault.Hostf("kernel log: closed")
	}
	for range maxDrain {
		n, err := k.read(k.buf)
		switch {
		case errors.Is(err, unix.EAGAIN), err == nil && n == 0:
			return d, nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EPIPE):
			// Overwritten. The next read returns the oldest record that is left, and its number
			// shows how many are lost.
			if k.next == 0 {
				d.Lost++
			}
			continue
		case err != nil:
			return d, fault.Hostf("kernel log: %w", err)
		}
		m, err := parseKmsg(string(k.buf[:n]))
		if err != nil {
			return d, fault.Hostf("kernel log: record %.80q: %w", k.buf[:n], err)
		}
		if k.next != 0 && m.seq > k.next {
			d.Lost += m.seq - k.next
		}
		k.next = m.seq + 1
		d.add(m)
	}
	return d, nil
}

// Close closes the log; it may be called twice.
func (k *KernelLog) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.read == nil {
		return nil
	}
	k.read = nil
	return k.end()
}
