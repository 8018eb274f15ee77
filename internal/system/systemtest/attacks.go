package systemtest

import (
	"embed"
	"path"
	"strings"
)

//go:embed attacks bombs
var scripts embed.FS

// attack is a program that a hostile guest runs as root, for sh or perl.
type attack struct {
	name, file string
	ownKernel  bool // only for machines
}

// attacks are tried one after the other in the same guest. They print "did: " and what they did if that is harmful in
// a guest that shares the host's kernel; otherwise the host's own state decides. Each says what it attacks; $MARK is
// what it writes.
var attacks = []attack{
	{"devices", "attacks/devices.sh", false},
	{"userland", "attacks/userland.sh", false},
	{"disk", "attacks/disk.sh", true},
	{"files", "attacks/files.pl", false},
	{"settings", "attacks/settings.sh", false},
	{"calls", "attacks/calls.pl", false},
}

// bombs use up one thing each, for a few seconds at most. The last one leaves processes behind.
var bombs = []attack{
	{"memory", "bombs/memory.pl", false},
	{"tmpfs", "bombs/tmpfs.sh", false},
	{"inodes", "bombs/inodes.pl", false},
	{"descriptors", "bombs/descriptors.pl", false},
	{"signals", "bombs/signals.pl", false},
	{"doubling", "bombs/doubling.pl", false},
	{"fork", "bombs/fork.pl", false},
}

func (a attack) argv() []string {
	b, err := scripts.ReadFile(a.file)
	if err != nil {
		panic(err) // it is not among the embedded files
	}
	if strings.HasSuffix(path.Base(a.file), ".pl") {
		return []string{"perl", "-e", string(b)}
	}
	return []string{"sh", "-c", string(b)}
}
