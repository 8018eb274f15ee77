package host

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/host/procfs"
)

// Options says what to read and from where.
type Options struct {
	// Root is the tree with /proc, /sys, /etc; nil is the real one. With another root, Read does
	// not query the kernel that runs tare.
	Root fs.FS
	// Proc is the absolute path of the host's own /proc: in a PID namespace /proc shows neither the
	// host's processes nor the kernel threads. Empty: /proc.
	Proc string
	// Path is a file or directory, usually where guests keep their data: Read describes its file
	// system and device. Empty: none.
	Path string
	// Devices are block devices of the user on which guests keep their data.
	Devices []string

	calls *calls // tests
}

// calls are the queries that only the running kernel can answer.
type calls struct {
	arch       string
	now        func() time.Time
	resolve    func(path string) (string, error) // absolute, without symbolic links
	space      func(path string) (total, free int64, err error)
	resolution func() (ns int64, err error)
	reading    func() (ns float64, err error)
	cpuid      func() (vendor string, err error)
}

var errNotLive = errors.New("only the running kernel can tell")

// foreignCalls is for a root that is not this machine's.
func foreignCalls() *calls {
	return &calls{
		arch:       runtime.GOARCH,
		now:        time.Now,
		resolve:    func(p string) (string, error) { return path.Clean(p), nil },
		space:      func(string) (int64, int64, error) { return 0, 0, errNotLive },
		resolution: func() (int64, error) { return 0, errNotLive },
		reading:    func() (float64, error) { return 0, errNotLive },
		cpuid:      func() (string, error) { return "", errNotLive },
	}
}

// Read describes the host. It needs no privileges, takes some milliseconds, and never fails:
// [Environment.Unreadable] lists what it could not read.
func Read(o Options) *Environment {
	c := o.calls
	switch {
	case c != nil:
	case o.Root == nil:
		c = liveCalls()
	default:
		c = foreignCalls()
	}
	root := o.Root
	if root == nil {
		root = os.DirFS("/")
	}
	r := &reader{FS: procfs.FS{Root: root, Proc: cmp.Or(o.Proc, "/proc")}}
	env := &Environment{Version: EnvironmentVersion, Time: c.now().UTC()}
	env.BootID = r.text("boot_id", "/proc/sys/kernel/random/boot_id")
	env.HostID = readHostID(r)
	env.UptimeS = readUptime(r)
	env.CPU = readCPU(r, c.arch)
	env.Virt = readVirt(r, c, env.CPU)
	procs := r.Processes()
	env.Memory = readMemory(r, procs)
	env.Housekeeping = readHousekeeping(r, procs)
	env.Residents = readResidents(r, procs)
	env.Kernel = readKernel(r)
	env.Clock = readClock(r, c)
	env.Cgroup = readCgroup(r)
	env.OS = readOS(r)
	env.Load = readLoad(r)
	env.Power = readPower(r)
	if o.Path != "" {
		env.Storage = readStorage(r, c, o.Path)
	}
	env.Devices = readDevices(r, c, o.Devices)
	slices.SortStableFunc(r.missing, func(a, b Unreadable) int { return strings.Compare(a.Field, b.Field) })
	env.Unreadable = r.missing
	return env
}

// reader reads small files and records what it could not read.
type reader struct {
	procfs.FS
	missing []Unreadable
}

// fail records that a field could not be read.
func (r *reader) fail(field, source string, err error) {
	r.missing = append(r.missing, Unreadable{Field: field, Source: source, Reason: reason(err)})
}

// reason words an error in the same way for every kind of file system.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "not there"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// text returns a file's trimmed content, or records that it cannot be read.
func (r *reader) text(field, p string) string {
	b, err := r.ReadFile(p)
	if err != nil {
		r.fail(field, p, err)
		return ""
	}
	return strings.TrimSpace(string(b))
}

// optional is text for a file that many hosts do not have: it is not a failure if the file is
// missing, only if it cannot be read.
func (r *reader) optional(field, p string) string {
	b, err := r.ReadFile(p)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.fail(field, p, err)
		}
		return ""
	}
	return strings.TrimSpace(string(b))
}

// number is text as an integer.
func (r *reader) number(field, p string) *int64 {
	before := len(r.missing)
	s := r.text(field, p)
	if len(r.missing) > before {
		return nil
	}
	return r.parseInt(field, p, s)
}

// optionalNumber is optional as an integer.
func (r *reader) optionalNumber(field, p string) *int64 {
	s := r.optional(field, p)
	if s == "" {
		return nil
	}
	return r.parseInt(field, p, s)
}

// setting stores a file's content in a map that may still be nil, unless the file is missing; of
// several options, it stores the chosen one.
func (r *reader) setting(into *map[string]string, field, key, p string) {
	if s := r.optional(field, p); s != "" {
		put(into, key, chosen(s))
	}
}

func (r *reader) parseInt(field, source, s string) *int64 {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		r.fail(field, source, fmt.Errorf("not a number: %.40q", s))
		return nil
	}
	return &n
}

// parseFloat accepts only numbers that JSON can represent.
func parseFloat(s string) (float64, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
		err = errors.New("not finite")
	}
	return x, err
}

// chosen returns the bracketed word of "always [madvise] never", or all of s.
func chosen(s string) string {
	if _, rest, ok := strings.Cut(s, "["); ok {
		if word, _, ok := strings.Cut(rest, "]"); ok {
			return word
		}
	}
	return s
}

// put sets a key of a map that may still be nil.
func put(m *map[string]string, key, value string) {
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[key] = value
}
