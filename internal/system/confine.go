package system

// maxProcesses is the maximum number of processes and threads that belong to a guest. It is more
// than any workload starts, and few enough that a fork bomb leaves process IDs to the host.
const maxProcesses = 4096
