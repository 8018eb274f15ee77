package workload

import (
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
)

// Neighbour is what a guest does to disturb those beside it: stress of one
// resource until it is stopped. What it stresses is as in Matthews et al.,
// "Quantifying the performance isolation properties of virtualization systems"
// (ExpCS 2007), but for the fork bomb: an unbounded one ends hosts, so this one
// starts and reaps processes without end, some hundred at a time.
type Neighbour struct {
	Resource string
	About    string
	Tools    []string
	// Argv is the command; it is run in the data directory of a guest with so
	// many CPUs and bytes of memory.
	Argv func(cpus int, memory int64) []string
}

// Neighbours returns one for every resource.
func Neighbours() []Neighbour {
	stress := func(args ...string) []string {
		return append([]string{"stress-ng", "--temp-path", ".", "--no-rand-seed", "--metrics-brief"}, args...)
	}
	tools := []string{"stress-ng"}
	return []Neighbour{
		{"cpu", "four busy loops on each of its CPUs", tools, func(cpus int, _ int64) []string {
			return stress("--cpu", strconv.Itoa(4*cpus), "--cpu-method", "int64")
		}},
		{"memory", "takes memory without giving it back, until it is out of it, and again", tools, func(_ int, memory int64) []string {
			return stress("--vm", "2", "--vm-bytes", strconv.FormatInt(memory*6/10>>10, 10)+"k", "--vm-keep", "--vm-method", "write64")
		}},
		{"disk", "four processes write and sync files on its data volume", tools, func(int, int64) []string {
			return stress("--hdd", "4", "--hdd-bytes", "16m", "--hdd-opts", "fsync,wr-seq")
		}},
		{"fork", "starts and reaps processes without end, some hundred at a time", tools, func(int, int64) []string {
			return stress("--fork", "4", "--fork-max", "32")
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
