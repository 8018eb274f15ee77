package xen

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// ring is the page that a guest's console shares with its other end: two rings of bytes, each with
// counters of the bytes put in (producer) and taken out (consumer). Both counters wrap around at
// 2³². From Xen's public/io/console.h.
type ring struct {
	in  [1024]byte // to the guest
	out [2048]byte // from the guest
	// Written by the guest: inCons, outProd. Written by us: inProd, outCons.
	inCons, inProd, outCons, outProd uint32
}

// take copies what the guest has written to p and frees that space. It fails if the guest claims
// to have written more than fits.
func (r *ring) take(p []byte) (int, error) {
	cons, prod := atomic.LoadUint32(&r.outCons), atomic.LoadUint32(&r.outProd)
	ready := prod - cons
	if ready > uint32(len(r.out)) {
		return 0, fault.Guestf("its console's ring holds %d bytes, more than fit", ready)
	}
	n := copyFromRing(p, r.out[:], cons, ready)
	atomic.StoreUint32(&r.outCons, cons+uint32(n))
	return n, nil
}

// drained reports whether all that the guest has written was taken.
func (r *ring) drained() bool { return atomic.LoadUint32(&r.outCons) == atomic.LoadUint32(&r.outProd) }

// put copies as much of p as there is room for. It fails if the guest claims to have read more
// than it was sent.
func (r *ring) put(p []byte) (int, error) {
	cons, prod := atomic.LoadUint32(&r.inCons), atomic.LoadUint32(&r.inProd)
	used := prod - cons
	if used > uint32(len(r.in)) {
		return 0, fault.Guestf("its console's ring has taken %d bytes more than it was given", -used)
	}
	n := min(len(p), len(r.in)-int(used))
	for i := range n {
		r.in[(prod+uint32(i))%uint32(len(r.in))] = p[i]
	}
	atomic.StoreUint32(&r.inProd, prod+uint32(n))
	return n, nil
}

func copyFromRing(p, ring []byte, from, ready uint32) int {
	n := min(len(p), int(ready))
	at := int(from % uint32(len(ring)))
	first := copy(p[:n], ring[at:])
	copy(p[first:n], ring)
	return n
}

// ioctls of /dev/xen/gntdev and /dev/xen/evtchn: _IOC(_IOC_NONE, type, number, size).
const (
	ioctlMapGrant        = 24<<16 | 'G'<<8
	ioctlBindInterdomain = 8<<16 | 'E'<<8 | 1
	ioctlNotify          = 4<<16 | 'E'<<8 | 4
)

// mapRing maps the page that a domain has granted with this reference.
func mapRing(domain, reference uint32) (*ring, []byte, error) {
	f, err := os.OpenFile("/dev/xen/gntdev", os.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fault.WithRemedy(fault.Hostf("%w", err), "modprobe xen-gntdev")
	}
	defer f.Close() // the mapping keeps it open
	request := struct {
		count, _          uint32
		index             uint64 // the offset for mmap
		domain, reference uint32
	}{count: 1, domain: domain, reference: reference}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), ioctlMapGrant, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return nil, nil, fault.Hostf("the console's page: %w", errno)
	}
	page, err := unix.Mmap(int(f.Fd()), int64(request.index), os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED)
	if err != nil {
		return nil, nil, fault.Hostf("the console's page: %w", err)
	}
	return (*ring)(unsafe.Pointer(&page[0])), page, nil
}

// events is an event channel, by which two domains notify each other.
type events struct {
	file *os.File
	port uint32
}

// bindEvents binds to a domain's event channel.
func bindEvents(domain, port uint32) (*events, error) {
	// Non-blocking, so that closing it ends a wait.
	fd, err := unix.Open("/dev/xen/evtchn", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fault.WithRemedy(fault.Hostf("/dev/xen/evtchn: %w", err), "modprobe xen-evtchn")
	}
	request := struct{ domain, port uint32 }{domain, port}
	local, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), ioctlBindInterdomain, uintptr(unsafe.Pointer(&request)))
	if errno != 0 {
		unix.Close(fd)
		return nil, fault.Hostf("the console's event channel: %w", errno)
	}
	return &events{file: os.NewFile(uintptr(fd), "evtchn"), port: uint32(local)}, nil
}

// notify notifies the other side.
func (e *events) notify() error {
	raw, err := e.file.SyscallConn()
	if err != nil {
		return err
	}
	var errno unix.Errno
	err = raw.Control(func(fd uintptr) {
		_, _, errno = unix.Syscall(unix.SYS_IOCTL, fd, ioctlNotify, uintptr(unsafe.Pointer(&e.port)))
	})
	if err == nil && errno != 0 {
		err = errno
	}
	return err
}

// wait returns when the other side has notified us, and acknowledges the event.
func (e *events) wait() error {
	var port [4]byte
	if _, err := e.file.Read(port[:]); err != nil {
		return fmt.Errorf("waiting for the guest: %w", err)
	}
	// Writing the port back unmasks it for the next event.
	_, err := e.file.Write(port[:])
	return err
}

func (e *events) close() { e.file.Close() }
