package model

// Flavor is the size of a guest: in a campaign as the file asks for it, in a run as guests of it were made.
// Run files hold it as JSON.
type Flavor struct {
	Name        string `json:"name"` // in the campaign; "" for a guest made by hand
	VCPUs       int    `json:"vcpus"`
	MemoryBytes int64  `json:"memory_bytes"`
	// SwapBytes is the swap of a guest beside its memory; 0: no swap volume, and none of the host's for
	// guests whose memory is in their control group.
	SwapBytes int64   `json:"swap_bytes,omitempty"`
	CPUCap    float64 `json:"cpu_cap"` // CPUs' worth of time: 0.25 is a quarter of one CPU; 0: no cap
	CPUs      CPUList `json:"cpus"`    // of the host, which the guest may use; in a campaign, nil: tare chooses
	// Place says in a campaign where such CPUs are, until the host is known: "siblings", "cores" or "socket N".
	Place string `json:"-"`
	// Among is how many of the host's CPUs, the last ones, tare may choose from; 0: all.
	Among     int    `json:"-"`
	DiskBytes int64  `json:"disk_bytes"`
	DiskFS    string `json:"disk_fs"` // of the data volume: ext4, ext3, ext2, xfs or NoFS
	// Backing is what the data volume is stored on, and Network the guest's network: the constants above.
	// "", as in run files older than these members, is BackingLoop and NetworkNone.
	Backing string `json:"backing,omitempty"`
	Network string `json:"network,omitempty"`
	// Hardening is one of the constants above, for guests that share the host's kernel; "": HardeningProduct.
	Hardening string `json:"hardening,omitempty"`
	// Programs says whose programs create and run its guests: one of the constants above; "": the host's, or the tools
	// tree's where the host has none.
	Programs string `json:"programs,omitempty"`
	// Devices are, for BackingBlock, the user's block devices, of which each guest takes one.
	Devices []string `json:"devices,omitempty"`
	// InTurn: arms take turns on the devices. The guests of one arm end before those of another use a device, which is
	// formatted anew.
	InTurn bool `json:"in_turn,omitempty"`
	// IO caps what the guest does on its data volume, and Net what it sends and receives.
	IO  IOCaps `json:"io,omitzero"`
	Net NetCap `json:"net,omitzero"`
}

// NoFS is the file system of a data volume that has none: its guest finds the device itself, as RawDevice in its
// directory for data, which is in memory.
const (
	NoFS      = "none"
	RawDevice = "device"
)

// IOCaps limit the requests to a data volume; 0: no cap.
type IOCaps struct {
	Read     int64 `json:"read,omitempty"`      // bytes per second
	Write    int64 `json:"write,omitempty"`     // bytes per second
	ReadOps  int64 `json:"read_ops,omitempty"`  // read operations per second
	WriteOps int64 `json:"write_ops,omitempty"` // write operations per second
}

// NetCap limits a guest's network, in each direction by itself; 0: no cap.
type NetCap struct {
	Rate    int64 `json:"rate,omitempty"`    // bits per second, headers of Ethernet included
	Packets int64 `json:"packets,omitempty"` // packets per second
}

// Share returns how many CPUs' worth of time a guest may use: its cap, or its vCPUs.
func (f Flavor) Share() float64 {
	if f.CPUCap > 0 {
		return f.CPUCap
	}
	return float64(f.VCPUs)
}

// OnBridge reports whether guests are on the run's bridge, where others can reach them.
func (f Flavor) OnBridge() bool {
	return f.Network == NetworkBridged || f.Network == NetworkNAT
}

// Traffic is what has passed between a data volume's device and its users.
type Traffic struct {
	Reads, Writes int64 // requests, after the kernel merged and split them
	Read, Written int64 // bytes
	Flushes       int64 // of the device's cache; one without data is also one of Writes
}

// Since returns what has passed since an earlier reading.
func (t Traffic) Since(before Traffic) Traffic {
	return Traffic{t.Reads - before.Reads, t.Writes - before.Writes, t.Read - before.Read, t.Written - before.Written,
		t.Flushes - before.Flushes}
}
