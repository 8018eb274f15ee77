package xenctl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// Domain is a virtual machine under Xen, including dom0.
type Domain struct {
	ID  int
	CPU time.Duration // CPU time of its virtual CPUs since its creation
	// Paused: by the toolstack. Dying: it is being destroyed.
	Paused, Dying bool
}

// From Xen's public/sysctl.h and public/domctl.h.
const (
	hypercallSysctl      = 35
	sysctlDomainInfoList = 6
	flagDying            = 1 << 0
	flagPaused           = 1 << 3
	// infoCPUTime is the offset of a domain's CPU time. It has been there since Xen 4.3; what
	// follows it has grown.
	infoCPUTime = 56
)

// The range of interface versions to try: each Xen supports only one.
const oldestInterface, newestInterface = 0x0c, 0x20

// Domains lists all domains. It makes one hypercall for each, which takes microseconds on hardware.
func Domains() ([]Domain, error) {
	c, err := shared()
	if err != nil {
		return nil, err
	}
	var all []Domain
	for first := 0; ; first = all[len(all)-1].ID + 1 {
		d, found, err := c.domainFrom(first)
		if err != nil || !found {
			return all, err
		}
		all = append(all, d)
	}
}

// ErrNoDomain is in the chain of DomainByID's error if the domain does not exist.
var ErrNoDomain = errors.New("there is no such domain")

// DomainByID returns one domain.
func DomainByID(id int) (Domain, error) {
	c, err := shared()
	if err != nil {
		return Domain{}, err
	}
	d, found, err := c.domainFrom(id)
	if err == nil && (!found || d.ID != id) {
		err = fault.Guestf("domain %d: %w", id, ErrNoDomain)
	}
	return d, err
}

// caller makes hypercalls.
type caller struct {
	mu      sync.Mutex
	privcmd *os.File
	page    []byte // memory that the hypervisor can write to
	version uint32 // of the interface; 0: not known yet
}

// shared is the process's caller. It is created on first use and never closed.
var shared = sync.OnceValues(func() (*caller, error) {
	const remedy = "modprobe xen-privcmd"
	f, err := os.OpenFile("/dev/xen/privcmd", os.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fault.WithRemedy(fault.Hostf("hypercalls: %w", err), remedy)
	}
	// Pages of this device stay in place; the kernel may move others while the hypervisor writes to
	// them.
	buffers, err := os.OpenFile("/dev/xen/hypercall", os.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		f.Close()
		return nil, fault.WithRemedy(fault.Hostf("hypercalls: %w", err), remedy)
	}
	defer buffers.Close()
	page, err := unix.Mmap(int(buffers.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		f.Close()
		return nil, fault.Hostf("hypercalls: memory: %w", err)
	}
	return &caller{privcmd: f, page: page}, nil
})

// infoOffset is the offset in the page of the information that the hypervisor returns on a domain.
const infoOffset = 1024

// domainFrom returns the first domain whose ID is at least first.
func (c *caller) domainFrom(first int) (d Domain, found bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	newest, oldest := c.version, c.version
	if c.version == 0 {
		newest, oldest = newestInterface, oldestInterface
	}
	for v := newest; v >= oldest; v-- {
		// struct xen_sysctl with struct xen_sysctl_getdomaininfolist in it.
		clear(c.page)
		put := binary.LittleEndian
		put.PutUint32(c.page[0:], sysctlDomainInfoList)
		put.PutUint32(c.page[4:], v)
		put.PutUint16(c.page[8:], uint16(first))
		put.PutUint32(c.page[12:], 1)
		put.PutUint64(c.page[16:], uint64(uintptr(unsafe.Pointer(&c.page[infoOffset]))))
		err = c.call(hypercallSysctl, uint64(uintptr(unsafe.Pointer(&c.page[0]))))
		if errors.Is(err, unix.EACCES) { // another version
			continue
		}
		if err != nil {
			return d, false, fault.Hostf("asking Xen for its domains: %w", err)
		}
		c.version = v
		d, found = parseDomain(c.page)
		return d, found, nil
	}
	return d, false, fault.Hostf("asking Xen for its domains: it supports no version of the interface from %#x to %#x",
		oldestInterface, newestInterface)
}

// parseDomain parses the result in the page.
func parseDomain(page []byte) (d Domain, found bool) {
	get := binary.LittleEndian
	if get.Uint32(page[24:]) == 0 { // num_domains
		return d, false
	}
	info := page[infoOffset:]
	flags := get.Uint32(info[4:])
	return Domain{
		ID: int(get.Uint16(info)), CPU: time.Duration(get.Uint64(info[infoCPUTime:])),
		Paused: flags&flagPaused != 0, Dying: flags&flagDying != 0,
	}, true
}

// call makes a hypercall with one argument.
func (c *caller) call(op, arg uint64) error {
	request := struct {
		op   uint64
		args [5]uint64
	}{op: op, args: [5]uint64{arg}}
	const ioctlHypercall = 0x305000 // _IOC(_IOC_NONE, 'P', 0, 48)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, c.privcmd.Fd(), ioctlHypercall, uintptr(unsafe.Pointer(&request)))
	runtime.KeepAlive(&request)
	if errno != 0 {
		return fmt.Errorf("hypercall %d: %w", op, errno)
	}
	return nil
}
