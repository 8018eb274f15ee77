package workload

import (
	"fmt"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/workload/tool"
)

// Neighbour loads one resource in a guest beside the measured one until it is
// stopped. The loads cpu, memory, disk, fork and network are those of Matthews
// et al., "Quantifying the performance isolation properties of virtualization
// systems" (ExpCS 2007), except for the fork bomb: an unbounded one takes hosts
// down, so this one starts and reaps processes continuously, about a hundred at
// a time. Its programs are in every userland image.
type Neighbour struct {
	Resource string
	About    string
	// Argv is the command; it is run in the data directory.
	Argv func(Room) []string
	// Unwritten: the load leaves data in memory that the host would write during the
	// next trials. Its files must be removed at the end of a trial.
	Unwritten bool
}

// Room describes the guest in which a neighbour runs.
type Room struct {
	CPUs   int
	Memory int64  // bytes
	Disk   int64  // bytes, of the data volume
	Host   string // address at which the guest reaches the host; "": no network
}

// answerPort is the port on which the host answers neighbours, below the kernel's
// range of ephemeral ports.
const answerPort = 25866

// Answer is the host's side of a neighbour that loads the network: until it is
// stopped, it sends back every packet that it receives. Perl is in every image.
func Answer(address string) Step {
	const echo = `use Socket; socket(my $s, PF_INET, SOCK_DGRAM, 0) or die $!; bind($s, sockaddr_in($ARGV[1], inet_aton($ARGV[0]))) or die $!;
while (1) { my $from = recv($s, my $packet, 65536, 0); send($s, $packet, 0, $from) if defined $from }`
	port := strconv.Itoa(answerPort)
	return Step{Name: "answer", Background: true, Argv: []string{"perl", "-e", echo, address, port},
		Ready: []string{"grep", "-qsE", fmt.Sprintf(":%04X 00000000:0000 07", answerPort), "/proc/net/udp"}}
}

// Neighbours returns one neighbour for every resource.
func Neighbours() []Neighbour {
	stress := func(args ...string) []string {
		return append([]string{"stress-ng", "--temp-path", ".", "--no-rand-seed", "--metrics-brief"}, args...)
	}
	return []Neighbour{
		{Resource: "cpu", About: "four busy loops on each of its CPUs", Argv: func(r Room) []string {
			return stress("--cpu", strconv.Itoa(4*r.CPUs), "--cpu-method", "int64")
		}},
		{Resource: "memory", About: "allocates memory and keeps it until there is none left, then starts again",
			Argv: func(r Room) []string {
				return stress("--vm", "2", "--vm-bytes", kibibytes(r.Memory*6/10), "--vm-keep", "--vm-method", "write64")
			}},
		{Resource: "memory-bandwidth", About: "copies and adds arrays that fill half of its memory, on each of its CPUs",
			Argv: func(r Room) []string {
				// The three arrays of a process are four times as large as the cache that it is told of.
				cache := min(r.Memory/2/int64(12*r.CPUs), 64<<20)
				return stress("--stream", strconv.Itoa(r.CPUs), "--stream-l3-size", kibibytes(cache))
			}},
		// The file has no blocks, so that only the page cache is loaded, and not the disk.
		{Resource: "page-cache", About: "reads a file without blocks, twice as large as its memory, through the page cache",
			Argv: func(r Room) []string {
				return []string{"bash", "-c",
					`truncate -s "$0" pages && while dd if=pages of=/dev/null bs=1M status=none; do :; done`,
					strconv.FormatInt(2*r.Memory, 10)}
			}},
		{Resource: model.ResourceDisk, About: "four processes write and sync files on its data volume",
			Argv: func(Room) []string {
				return stress("--hdd", "4", "--hdd-bytes", "16m", "--hdd-opts", "fsync,wr-seq")
			}},
		{Resource: "dirty-pages", About: "overwrites a file on its data volume without syncing it", Unwritten: true,
			Argv: func(r Room) []string {
				return []string{"bash", "-c",
					`while dd if=/dev/zero of=dirty bs=1M count="$0" conv=notrunc status=none; do :; done`,
					strconv.FormatInt(max(1, min(r.Memory, r.Disk)/2>>20), 10)}
			}},
		{Resource: "fork", About: "starts and reaps processes continuously, about a hundred at a time",
			Argv: func(Room) []string { return stress("--fork", "4", "--fork-max", "32") }},
		// If no process listens, the host answers a few of the packets with an ICMP
		// error. Each error ends the dd, and the loop starts it again.
		{Resource: model.ResourceNetwork,
			About: "sends the host packets of 1,400 bytes as fast as it can, and reads those that the host returns",
			Argv: func(r Room) []string {
				return []string{"bash", "-c",
					`while :; do exec 3<>"/dev/udp/$0/$1" && { cat <&3 >/dev/null & dd if=/dev/zero bs=1400 >&3; kill $!; wait; } 2>/dev/null; done`,
					r.Host, strconv.Itoa(answerPort)}
			}},
	}
}

// kibibytes formats a number of bytes for stress-ng.
func kibibytes(n int64) string { return strconv.FormatInt(n>>10, 10) + "k" }

// NeighbourOf returns the neighbour that loads a resource.
func NeighbourOf(resource string) (Neighbour, error) {
	for _, n := range Neighbours() {
		if n.Resource == resource {
			return n, nil
		}
	}
	return Neighbour{}, fault.Campaignf("tare has no neighbour that loads %s", tool.Quote(resource))
}
