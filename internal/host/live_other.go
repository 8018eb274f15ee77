//go:build !linux

package host

// liveCalls serves systems on which tare only analyzes and reports.
func liveCalls() *calls { return foreignCalls() }
