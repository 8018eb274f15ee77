package workload

import (
	"fmt"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
)

// Network is the resource whose neighbours talk to the host.
const Network = "network"

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

// answerPort is where the host's end answers neighbours, below the ports that
// the kernel hands out by itself.
const answerPort = 25866

// Answer is the host's end for a neighbour that stresses the network: until it
// is stopped, it sends every packet back that it gets. Perl is in every image.
func Answer(address string) Step {
	const echo = `use Socket; socket(my $s, PF_INET, SOCK_DGRAM, 0) or die $!; bind($s, sockaddr_in($ARGV[1], inet_aton($ARGV[0]))) or die $!;
while (1) { my $from = recv($s, my $packet, 65536, 0); send($s, $packet, 0, $from) if defined $from }`
	port := strconv.Itoa(answerPort)
	return Step{Name: "answer", Background: true, Argv: []string{"perl", "-e", echo, address, port},
		Ready: []string{"grep", "-qsE", fmt.Sprintf(":%04X 00000000:0000 07", answerPort), "/proc/net/udp"}}
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
		// Where nobody listens, the host answers a few of the packets by saying so,
		// and each such answer ends a dd, which is started again.
		{Network, "sends the host packets of 1,400 bytes as fast as it can, and reads those that the host sends back", func(r Room) []string {
			return []string{"bash", "-c", `while :; do exec 3<>"/dev/udp/$0/$1" && { cat <&3 >/dev/null & dd if=/dev/zero bs=1400 >&3; kill $!; wait; } 2>/dev/null; done`,
				r.Host, strconv.Itoa(answerPort)}
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
