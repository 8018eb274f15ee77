package wire

// Names of the counts in CountersResponse, since the guest booted. That of segments is of the agent's network
// namespace.
const (
	SwappedIn     = "swapped_in"        // bytes that the guest's kernel read from its swap
	SwappedOut    = "swapped_out"       // bytes that it wrote there
	Retransmitted = "tcp_retransmitted" // TCP segments that it sent again
)
