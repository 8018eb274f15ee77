package model

// WorkloadKind is what the trials of a workload do, on which their probes depend.
type WorkloadKind int

// The kinds of workload.
const (
	Commands      WorkloadKind = iota // run commands in guests that exist
	Starts                            // create their guests
	Fills                             // fill the host with guests
	AtRate                            // send requests at a constant rate
	CountsPackets                     // count the packets that were sent and received
)

// Names of the probes: what the host, and in part the guest, say about a trial. Each
// has one value per trial, over its timed steps.
const (
	ProbeGuestGroupCPU  = "guest_cgroup_cpu" // s of CPU of the guest's whole cgroup: vCPUs, VMM, helpers
	ProbeHostCPU        = "host_cpu"         // s of CPU of the whole host; under Xen, of all domains
	ProbeDom0CPU        = "dom0_cpu"         // s of CPU of Xen's privileged domain, which serves all others
	ProbeDeviceBytes    = "device_bytes"     // bytes that reached the data device, the flush included
	ProbeDeviceRead     = "device_read"      // bytes that the data device delivered
	ProbeReadRate       = "read_rate"        // B/s from the data device while it was read; for guests with caps of I/O
	ProbeWriteRate      = "write_rate"       // B/s, the same of writes
	ProbeReadOps        = "read_ops"         // 1/s, the same of read requests
	ProbeWriteOps       = "write_ops"        // 1/s, the same of write requests
	ProbeReadPeak       = "read_peak"        // B/s of reads in the second in which most was read; likewise the next three
	ProbeWritePeak      = "write_peak"       // B/s
	ProbeReadOpsPeak    = "read_ops_peak"    // 1/s
	ProbeWriteOpsPeak   = "write_ops_peak"   // 1/s
	ProbeSteal          = "steal"            // s that an underlying hypervisor took from the host
	ProbeThrottled      = "nr_throttled"     // periods in which the CPU cap throttled the guest
	ProbeCapPeriods     = "cap_periods"      // periods of the CPU cap that elapsed
	ProbeLagMax         = "lag_max"          // s, longest delay of a wake-up of tare by the host
	ProbeForkMax        = "fork_max"         // s, longest time to start a process on the host
	ProbeOwnCPU         = "own_cpu"          // s of CPU that tare itself used
	ProbeEnergyPackage  = "energy_package"   // J of the host's processors, whatever they did
	ProbeEnergyDRAM     = "energy_dram"      // J of the host's memory, where it has a counter of its own
	ProbeEnergyPlatform = "energy_platform"  // J of the whole machine, where it has a counter
	ProbeEnergyTime     = "energy_time"      // s between the readings of the energy counters
	ProbeEnergyFaults   = "energy_faults"    // counters of processors and memory that stood still or jumped
	ProbeGuestMemory    = "guest_memory"     // B of host memory that the guest held halfway; once per guest and workload
	ProbeMemoryLeft     = "memory_left"      // B, least memory available on the host; if the scenario limits it
	ProbeHostSwapIn     = "host_swap_in"     // B that the host read from its swap
	ProbeHostSwapOut    = "host_swap_out"    // B that the host wrote to its swap
	ProbeGuestSwapIn    = "guest_swap_in"    // B that the guest's kernel read from its swap; own kernels only
	ProbeGuestSwapOut   = "guest_swap_out"   // B that it wrote there
	ProbeSwapped        = "swapped"          // B of the guest's control group in the host's swap at the end
	ProbeTimed          = "timed"            // s, the timed steps by the host's clock
	ProbeGuestCPU       = "guest_cpu"        // s of CPU by the guest's own rusage
	ProbeWaits          = "waits"            // times that the guest's processes gave up a CPU to wait, by its rusage
	ProbePreemptions    = "preemptions"      // times that a CPU was taken from them, by the same
	ProbeWorkloadBytes  = "workload_bytes"   // bytes that the workload says it wrote
	ProbeWorkloadRead   = "workload_read"    // bytes that the workload read although no cache may have had them
	ProbeClockDiff      = "clock_diff"       // s, trial by the guest's clock minus by the host's
	ProbeClockError     = "clock_error"      // s, ± of clock_diff
	ProbeHostTimeError  = "host_time_error"  // s, host's duration minus the guest's by the same clock
	ProbeStartSkew      = "start_skew"       // s, start reported to the host minus the agreed instant
	ProbeBarrierSkew    = "barrier_skew"     // s, start by the guest's clock minus the instant on that clock
)

// ProbeRetransmits is the segments of TCP that both ends of a pair sent again. Trials of single guests lack it.
const ProbeRetransmits = "retransmits"

// Probes of a neighbour, over the time in which it disturbed the other guests of its trial. Guests that run the
// workload have none of them.
const (
	ProbeNeighbourTime  = "neighbour_time"  // s, how long that was
	ProbeNeighbourCPU   = "neighbour_cpu"   // s of CPU of its whole cgroup
	ProbeNeighbourBytes = "neighbour_bytes" // bytes that reached its data device
)

// Probes of a trial whose requests are due at a constant rate, as the load generator says.
const (
	ProbeStatedRate   = "stated_rate"   // 1/s, requests that were due
	ProbeAchievedRate = "achieved_rate" // 1/s, answers
	ProbeLateShare    = "late_share"    // of the requests, which the load generator sent late
)

// Probes of a trial that counts the packets which the measured side sends to the serving side.
const (
	ProbePacketsAsked    = "packets_asked"    // 1/s that the sender was told to send; 0: as many as it can
	ProbePacketsTime     = "packets_time"     // s for which it sent, by the guest's clock
	ProbePacketsSent     = "packets_sent"     // packets that the sender's kernel accepted
	ProbePacketsReceived = "packets_received" // packets
	ProbePacketsLost     = "packets_lost"     // packets
	ProbePacketsSocket   = "packets_socket"   // of those, the ones for which the receiver's socket had no room; if known
	ProbePeerCPU         = "peer_cpu"         // s of CPU of the whole cgroup of the other end of a pair
)

// Probes of a trial that creates its guest. Their sum is the time of the start. A phase that a system
// does not have, or does not show, is absent and part of the next one.
const (
	ProbePhaseSetup   = "phase_setup"   // s from the request until tare makes the process of the runtime or VMM
	ProbePhaseRuntime = "phase_runtime" // s from its exec until the guest's kernel counts time, or until its first program
	ProbePhaseKernel  = "phase_kernel"  // s until the guest's first program, which is tare's agent
	ProbePhaseInit    = "phase_init"    // s until that can answer; as process 1 it mounts the userland
	ProbePhaseAgent   = "phase_agent"   // s until tare has its answer
	ProbePhaseProgram = "phase_program" // s until the first instruction of the user's program

	// s until its exec, in which tare forks and confines the process: not part of the start
	ProbeStartOwn   = "start_own"
	ProbeStartError = "start_error"  // s, ± of phases that end by the guest's clock
	ProbeCached     = "cached_share" // 0..1 of the files that every start reads, in the page cache at the request
	ProbeDiskRead   = "disk_read"    // B that the whole host read from its disks meanwhile
)

// StartPhases are the probes that add up to the time of a start, in their order.
var StartPhases = []string{ProbePhaseSetup, ProbePhaseRuntime, ProbePhaseKernel, ProbePhaseInit, ProbePhaseAgent,
	ProbePhaseProgram}

// Probes of a trial that fills the host with guests. The values are of the guests that broke the level, or of the most.
const (
	ProbeFillStart    = "fill_start"    // s, the longest start among the guests that were added last
	ProbeFillSlowdown = "fill_slowdown" // time of the probe over its time alone
	ProbeFillP99      = "fill_p99"      // its 99th percentile over that alone
	ProbeServingP99   = "serving_p99"   // s, 99th percentile of the latencies of requests to the guests that serve
	ProbeServed       = "served"        // requests of which that is the 99th percentile
	ProbeFillLost     = "fill_lost"     // guests that did not start, or ended
	ProbeGuestShare   = "guest_share"   // B of the host's available memory that a guest took, on average
	ProbeOwnMemory    = "own_memory"    // B that tare's measuring process held with all guests
)

// Limits of the service level of a fill.
const (
	LimitLost     = "lost"     // guests did not start, or ended
	LimitMemory   = "memory"   // too little memory was available on the host
	LimitStart    = "start"    // a guest took too long to start
	LimitSlowdown = "slowdown" // the probe took too long
	LimitP99      = "p99"      // its 99th percentile was too high
	LimitServing  = "serving"  // the 99th percentile of requests to the guests that serve was too high
)

// FillLimits are the limits in the order in which they are named if several are broken.
var FillLimits = []string{LimitLost, LimitMemory, LimitStart, LimitSlowdown, LimitP99, LimitServing}

// ProbeBroke is the probe that is 1 if a fill ended because guests broke the limit, and 0 if not.
func ProbeBroke(limit string) string { return "broke_" + limit }
