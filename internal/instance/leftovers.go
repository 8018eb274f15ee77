package instance

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
)

// Leftover is something on the host that a dead instance has left.
type Leftover struct {
	What string `json:"what"` // "control group", "data volumes", "lock file", or Foreign.What
	Path string `json:"path"`

	owner  string // ID
	remove func() error
}

func (l Leftover) String() string { return l.What + " " + l.Path }

// Foreign is something that an instance may have created and the host's kernel does
// not know, such as a machine of a hypervisor. If an instance created it, its name
// begins with that of the instance and "-".
type Foreign struct {
	What, Name string
	Remove     func() error
}

const lockFile = "lock file" // Leftover.What of the proof that its owner is dead

// Leftovers lists what dead instances have left on the host and below stateDir.
// Foreign things come first, since they use others, and the lock files last, since
// they prove that the owners of the rest are dead. It returns an error as well if it
// cannot find out whether the owner of something is dead.
func Leftovers(stateDir string, layout cgroup.Layout, foreign ...Foreign) ([]Leftover, error) {
	var found []Leftover
	var errs []error
	owners := map[string]life{}
	for _, l := range things(stateDir, layout, foreign) {
		owner, seen := owners[l.owner]
		if !seen {
			var err error
			if owner, err = check(filepath.Join(names(), l.owner)); err != nil {
				errs = append(errs, err)
			}
			owners[l.owner] = owner
		}
		if owner == dead || owner == unseen && l.certain(layout) {
			found = append(found, l)
		}
	}
	return found, errors.Join(errs...)
}

// Things lists what this instance has on the host and below stateDir, except its
// lock file.
func (i *Instance) Things(stateDir string, layout cgroup.Layout, foreign ...Foreign) []Leftover {
	var own []Leftover
	for _, l := range things(stateDir, layout, foreign) {
		if l.owner == i.ID && l.What != lockFile {
			own = append(own, l)
		}
	}
	return own
}

// things lists everything whose name is that of an instance, in the order in which
// it can be removed.
func things(stateDir string, layout cgroup.Layout, foreign []Foreign) []Leftover {
	var all []Leftover
	add := func(what, path, id string, remove func() error) {
		if ours(id) {
			all = append(all, Leftover{what, path, id, remove})
		}
	}
	for _, f := range foreign {
		id, _, _ := strings.Cut(f.Name, "-")
		add(f.What, f.Name, id, f.Remove)
	}
	for _, dir := range layout.Leftovers("") {
		id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), cgroup.Prefix), "-")
		add("control group", dir, id, func() error { return cgroup.RemoveLeftovers([]string{dir}) })
	}
	volumes, _ := filepath.Glob(filepath.Join(stateDir, volumesDir, "*"))
	for _, p := range volumes {
		id := filepath.Base(p)
		if strings.HasPrefix(id, newPrefix) { // its owner was killed before it had a name
			all = append(all, Leftover{"data volumes", p, id, func() error { return os.Remove(p) }})
			continue
		}
		add("data volumes", p, id, func() error { return os.RemoveAll(p) })
	}
	files, _ := filepath.Glob(filepath.Join(names(), "*"))
	for _, p := range files {
		add(lockFile, p, strings.TrimSuffix(filepath.Base(p), socketSuffix), func() error { return os.RemoveAll(p) })
	}
	return all
}

// life is what a lock says about its owner.
type life int

const (
	alive  life = iota
	dead        // nobody holds the lock
	unseen      // there is no such file here
)

// check looks at the lock of a file or directory. With an error it returns alive, so
// that nothing happens to the owner.
func check(path string) (life, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return unseen, nil
	}
	if err != nil {
		return alive, unknown(path, err)
	}
	defer f.Close()
	switch err := lock(f, false); {
	case err == nil:
		return dead, nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return alive, nil
	default:
		return alive, unknown(path, err)
	}
}

func unknown(path string, err error) error {
	err = fault.Hostf("it is not known whether the tare that holds %s is alive: %w", path, err)
	if errors.Is(err, os.ErrPermission) {
		return fault.WithRemedy(err, "run tare as root")
	}
	return err
}

// certain reports whether something can go although the lock file of its owner is not
// here, because it has been removed or is in another /run. Data volumes and control
// groups have a lock of their own.
func (l *Leftover) certain(layout cgroup.Layout) bool {
	switch l.What {
	case "data volumes":
		owner, err := check(l.Path)
		return err == nil && owner == dead
	case "control group":
		l.remove = func() error { return layout.RemoveAbandoned(l.Path) }
		return layout.Abandoned(l.Path)
	case lockFile: // a socket, whose lock file would be beside it
		return true
	}
	return false
}

// ours reports whether a name has the form of those from New.
func ours(id string) bool {
	if len(id) != 11 || id[0] != 'r' {
		return false
	}
	_, err := hex.DecodeString(id[1:])
	return err == nil
}

// Remove removes leftovers and kills the processes in their control groups. It keeps
// the lock files of instances of which something else could not be removed.
func Remove(found []Leftover) error {
	var errs []error
	failed := map[string]bool{}
	for _, l := range found {
		if l.What == lockFile && failed[l.owner] {
			continue
		}
		if err := l.remove(); err != nil {
			failed[l.owner] = true
			errs = append(errs, fmt.Errorf("%s: %w", l, err))
		}
	}
	return errors.Join(errs...)
}
