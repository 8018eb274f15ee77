package wire

// Names of the counts in CountersResponse, since the guest booted. Those of packets are of the agent's network
// namespace, without the loopback interface.
const (
	SwappedIn     = "swapped_in"        // bytes that the guest's kernel read from its swap
	SwappedOut    = "swapped_out"       // bytes that it wrote there
	Retransmitted = "tcp_retransmitted" // TCP segments that it sent again
	Dropped       = "packets_dropped"   // packets that its network interfaces dropped or found damaged
)
