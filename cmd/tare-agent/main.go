// Command tare-agent is the small static program that tare puts into every
// guest. It runs commands for the host and reports what happened to them.
//
//	tare-agent fd:N          serve on the inherited socket N
//	tare-agent unix:PATH     serve on the socket at PATH
//	tare-agent limited …     set limits, then become another program
//	/init                    (as process 1 of a virtual machine) set it up, then serve
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/agent/server"
	"github.com/tare-bench/tare/internal/agent/vminit"
)

func main() {
	if os.Getpid() == 1 && os.Args[0] == "/init" {
		vminit.Main() // does not return
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tare-agent:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: tare-agent fd:N | unix:PATH")
	}
	if args[0] == server.LimitedMode {
		return server.ExecLimited(args[1:])
	}
	conn, err := dial(args[0])
	if err != nil {
		return err
	}
	return server.Serve(context.Background(), conn)
}

func dial(where string) (net.Conn, error) {
	kind, rest, _ := strings.Cut(where, ":")
	switch kind {
	case "fd":
		n, err := strconv.Atoi(rest)
		if err != nil {
			return nil, fmt.Errorf("%s: %v", where, err)
		}
		f := os.NewFile(uintptr(n), where)
		defer f.Close() // FileConn has its own copy
		return net.FileConn(f)
	case "unix":
		return net.Dial("unix", rest)
	}
	return nil, fmt.Errorf("%s: want fd:N or unix:PATH", where)
}
