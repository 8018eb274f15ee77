package machinetest

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// relay passes connections to an address in the network namespace of a process to the same address in this one's.
func relay(t *testing.T, pid int, address string) {
	t.Helper()
	l, err := listenIn(pid, address)
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			inside, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer inside.Close()
				outside, err := net.Dial("tcp", address)
				if err != nil {
					return // as if nobody listened
				}
				defer outside.Close()
				go func() {
					io.Copy(outside, inside)
					outside.(*net.TCPConn).CloseWrite()
				}()
				io.Copy(inside, outside)
			}()
		}
	}()
}

// listenIn listens in the network namespace of a process. A socket stays in the namespace in which it was made.
func listenIn(pid int, address string) (l net.Listener, err error) {
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return nil, err
	}
	defer namespace.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // it ends with the goroutine, so that nothing else runs in the namespace
		if err = unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err == nil {
			l, err = net.Listen("tcp", address)
		}
	}()
	<-done
	return l, err
}
