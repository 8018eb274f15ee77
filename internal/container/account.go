package container

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// Account is who runs an image's program.
type Account struct {
	UID, GID uint32
	Groups   []uint32 // supplementary ones
	Home     string
}

// maxAccounts bounds the files /etc/passwd and /etc/group of an image.
const maxAccounts = 4 << 20

// AccountOf is the account of a configuration's user, by the files of the unpacked image in dir.
func AccountOf(dir, user string) (Account, error) {
	root, err := os.OpenRoot(dir) // the files may be links that lead out of it
	if err != nil {
		return Account{}, fault.Hostf("%w", err)
	}
	defer root.Close()
	name, group, _ := strings.Cut(user, ":")
	if name == "" {
		name = "0"
	}
	a, err := accountIn(lines(root, "etc/passwd"), lines(root, "etc/group"), name, group)
	if err != nil {
		return a, fault.Campaignf("the image's user is %q: %w", user, err)
	}
	return a, nil
}

// lines reads a file with colons of the image; nil: it has none.
func lines(root *os.Root, name string) (all [][]string) {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0) // it may be a pipe
	if err != nil {
		return nil
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(f, maxAccounts))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		all = append(all, strings.Split(strings.TrimSpace(line), ":"))
	}
	return all
}

// accountIn finds a user and a group, given as names or numbers, in the fields of /etc/passwd and /etc/group. As in a
// container engine, a number needs no entry, the group of a user without one is 0, and the supplementary groups count
// only if the image names no group.
func accountIn(passwd, groups [][]string, user, group string) (Account, error) {
	a := Account{Home: "/"}
	id, number := strconv.ParseUint(user, 10, 32)
	known := false
	for _, f := range passwd {
		if len(f) < 6 || f[0] != user && (number != nil || f[2] != strconv.FormatUint(id, 10)) {
			continue
		}
		uid, err := strconv.ParseUint(f[2], 10, 32)
		gid, err2 := strconv.ParseUint(f[3], 10, 32)
		if err != nil || err2 != nil {
			return a, fmt.Errorf("its /etc/passwd says %q", strings.Join(f, ":"))
		}
		a.UID, a.GID, known, user = uint32(uid), uint32(gid), true, f[0]
		if f[5] != "" {
			a.Home = f[5]
		}
		break
	}
	switch {
	case known:
	case number == nil:
		a.UID = uint32(id)
	default:
		return a, fmt.Errorf("its /etc/passwd has no %s", user)
	}
	if group != "" {
		gid, err := groupID(groups, group)
		a.GID = gid
		return a, err
	}
	for _, f := range groups {
		if len(f) < 4 {
			continue
		}
		gid, err := strconv.ParseUint(f[2], 10, 32)
		if err != nil {
			continue
		}
		for member := range strings.SplitSeq(f[3], ",") {
			if member == user && known && uint32(gid) != a.GID {
				a.Groups = append(a.Groups, uint32(gid))
			}
		}
	}
	return a, nil
}

// groupID is the number of a group, given by name or number.
func groupID(groups [][]string, group string) (uint32, error) {
	for _, f := range groups {
		if len(f) >= 3 && f[0] == group {
			gid, err := strconv.ParseUint(f[2], 10, 32)
			return uint32(gid), err
		}
	}
	gid, err := strconv.ParseUint(group, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("its /etc/group has no %s", group)
	}
	return uint32(gid), nil
}
