//go:build !linux

package host

// liveCalls is for operating systems on which tare only analyzes and reports.
func liveCalls() *calls { return foreignCalls() }
