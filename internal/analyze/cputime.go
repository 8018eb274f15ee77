package analyze

// CPUTime is the metric that every workload has beside its own: the seconds of
// CPU that the whole control group of the guest took, from ProbeGuestCgroupCPU.
const CPUTime = "cpu-time"
