// Package porttest finds ports for programs that tests start.
package porttest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"testing"
)

// lowest is above the ports of well-known services.
const lowest = 10_000

// Free returns a port of 127.0.0.1 on which nothing listens. It is below those that the kernel chooses for programs
// that ask for any port, or connect: many do, and one of them could have it before the program of the test listens.
func Free(t testing.TB) string {
	t.Helper()
	end := 32_768
	if b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		fmt.Sscan(string(b), &end)
	}
	if end <= lowest { // the kernel chooses from nearly all
		end = 65_536
	}
	for range 1000 {
		port := strconv.Itoa(lowest + rand.IntN(end-lowest))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port of 127.0.0.1 is free")
	return ""
}
