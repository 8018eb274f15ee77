package workload

import (
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
)

// Neighbour is what a guest does to disturb those beside it: stress of one
// resource until it is stopped. What it stresses is as in Matthews et al.,
// "Quantifying the performance isolation properties of virtualization systems"
// (ExpCS 2007), but for the fork bomb: an unbounded one ends hosts, so this one
// starts and reaps processes without end, some hundred at a time. Its programs
// are in every userland image.
type Neighbour struct {
	Resource string
	About    string
	// Argv is the command; it is run in the data directory.
	Argv func(Room) []string
}

// Room is what a neighbour finds where it runs.
type Room struct {
	CPUs   int
	Memory int64  // bytes
	Host   string // address at which its guest reaches the host; "": it is on no network
}

// Neighbours returns one for every resource.
func Neighbours() []Neighbour {
	stress := func(args ...string) []string {
		return append([]string{"stress-ng", "--temp-path", ".", "--no-rand-seed", "--metrics-brief"}, args...)
	}
	return []Neighbour{
		{"cpu", "four busy loops on each of its CPUs", func(r Room) []string {
			return stress("--cpu", strconv.Itoa(4*r.CPUs), "--cpu-method", "int64")
		}},
		{"memory", "takes memory without giving it back, until it is out of it, and again", func(r Room) []string {
			return stress("--vm", "2", "--vm-bytes", strconv.FormatInt(r.Memory*6/10>>10, 10)+"k", "--vm-keep", "--vm-method", "write64")
		}},
		{"disk", "four processes write and sync files on its data volume", func(Room) []string {
			return stress("--hdd", "4", "--hdd-bytes", "16m", "--hdd-opts", "fsync,wr-seq")
		}},
		{"fork", "starts and reaps processes without end, some hundred at a time", func(Room) []string {
			return stress("--fork", "4", "--fork-max", "32")
		}},
		// Nobody listens: the host answers a few of the packets, and each answer
		// ends a dd, which is started again.
		{"network", "sends the host as many packets of 1,400 bytes as it can", func(r Room) []string {
			return []string{"bash", "-c", `while :; do dd if=/dev/zero bs=1400 2>/dev/null >"/dev/udp/$0/9"; done`, r.Host}
		}},
	}
}

// NeighbourOf returns the neighbour that stresses a resource.
func NeighbourOf(resource string) (Neighbour, error) {
	for _, n := range Neighbours() {
		if n.Resource == resource {
			return n, nil
		}
	}
	return Neighbour{}, fault.Campaignf("nothing is known to stress %s", quote(resource))
}
