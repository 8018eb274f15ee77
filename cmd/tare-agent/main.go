// Command tare-agent is the small static program that tare puts into every
// guest. It runs commands for the host and reports what happened to them.
//
//	tare-agent fd:N [DATA]            serve on the inherited socket N
//	tare-agent unix:PATH [DATA]       serve on the socket at PATH
//	tare-agent stdio [DATA]           serve over standard input and output
//	tare-agent tcp:ADDR TOKEN [DATA]  serve the one who knows what is in the file TOKEN, which is removed
//	tare-agent limited …              set limits, then become another program
//	/init                             (as process 1 of a virtual machine) set it up, then serve
//
// DATA is the directory of the guest's data volume, /data unless given.
package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tare-bench/tare/internal/agent/server"
	"github.com/tare-bench/tare/internal/agent/token"
	"github.com/tare-bench/tare/internal/agent/vminit"
	"github.com/tare-bench/tare/internal/agent/wire"
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

const usage = "usage: tare-agent fd:N | unix:PATH | stdio | tcp:ADDR TOKEN, and the data directory"

func run(args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	if args[0] == server.LimitedMode {
		return server.ExecLimited(args[1:])
	}
	switch args[0] {
	case wire.EmptyMode:
		return server.Empty()
	case wire.PassMode:
		return nil
	}
	heedSignals()
	conn, rest, err := dial(args)
	if err != nil {
		return err
	}
	if len(rest) > 1 {
		return errors.New(usage)
	}
	data := server.DataDir
	if len(rest) == 1 {
		data = rest[0]
	}
	return server.Serve(context.Background(), conn, data)
}

// heedSignals makes commands start with no signal ignored, whatever started the
// agent: an ignored signal is inherited, one that is caught is not.
func heedSignals() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// dial makes the connection that args begin with, and returns what follows.
func dial(args []string) (net.Conn, []string, error) {
	where, args := args[0], args[1:]
	kind, rest, _ := strings.Cut(where, ":")
	switch {
	case kind == "fd":
		n, err := strconv.Atoi(rest)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %v", where, err)
		}
		f := os.NewFile(uintptr(n), where)
		defer f.Close() // FileConn has its own copy
		conn, err := net.FileConn(f)
		return conn, args, err
	case kind == "unix":
		conn, err := net.Dial("unix", rest)
		return conn, args, err
	case where == "stdio":
		return stdio{os.Stdin, os.Stdout}, args, nil
	case kind == "tcp" && len(args) > 0:
		conn, err := accept(rest, args[0])
		return conn, args[1:], err
	}
	return nil, nil, fmt.Errorf("%s: %s", where, usage)
}

// patience is how long the agent waits for its host to come.
const patience = 5 * time.Minute

// accept waits for the host at addr. Only the file at path, in hexadecimal,
// knows the token: what is in argv or in the environment others can read.
func accept(addr, path string) (net.Conn, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil {
		return nil, err
	}
	secret, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(secret) != token.Size {
		return nil, fmt.Errorf("%s holds no token", path)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	return token.Accept(l, secret, patience)
}

// stdio makes a connection of standard input and output.
type stdio struct {
	io.Reader
	io.Writer
}

// Close ends what the host reads and leaves standard input to the end of this
// process, as a read of it may be under way.
func (stdio) Close() error                     { return os.Stdout.Close() }
func (stdio) LocalAddr() net.Addr              { return stdioAddr{} }
func (stdio) RemoteAddr() net.Addr             { return stdioAddr{} }
func (stdio) SetDeadline(time.Time) error      { return nil }
func (stdio) SetReadDeadline(time.Time) error  { return nil }
func (stdio) SetWriteDeadline(time.Time) error { return nil }

type stdioAddr struct{}

func (stdioAddr) Network() string { return "stdio" }
func (stdioAddr) String() string  { return "host" }
