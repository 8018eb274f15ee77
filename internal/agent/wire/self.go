package wire

// Self is the agent's program for commands in its guest, and EmptyMode the argument that makes it empty its working
// directory; PassMode makes it end at once, as true does. The userland may have no program that does.
const (
	Self      = "/proc/self/exe"
	EmptyMode = "empty"
	PassMode  = "pass"
)
