package system

import (
	"math/rand/v2"
	"strings"

	"github.com/tare-bench/tare/internal/sandbox"
)

// Nobody uses the users from firstUser on: systemd's table of user IDs has them as unused.
const (
	firstUser = 0x70000000
	users     = 1 << 27
)

// newUser returns a user for the processes of one guest. It is drawn at random, since other tares on this host draw,
// too; guests with the same user would still not see each other's processes and files.
func newUser() uint32 { return firstUser + rand.Uint32N(users) }

// Jail returns where the site's VMM is confined: it can read the userland's disk and these files, and write to the
// data volume and to these devices.
func (s *Site) Jail(read, devices []string) *sandbox.Jail {
	j := &sandbox.Jail{User: s.User, Read: read, Devices: devices}
	if s.Volume == nil {
		return j
	}
	j.Read = append(j.Read, s.Userland.Disk)
	if s.Swap != nil {
		j.Devices = append(j.Devices, s.Swap.Device)
	}
	if strings.HasPrefix(s.Volume.Device, "/dev/") {
		j.Devices = append(j.Devices, s.Volume.Device)
	} else {
		j.Write = append(j.Write, s.Volume.Device)
	}
	return j
}
