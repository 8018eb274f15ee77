package server

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/ttrpc"
	"google.golang.org/protobuf/proto"

	"github.com/tare-bench/tare/internal/agent/wire"
)

// frame returns a ttRPC message: type 1 is a request, 2 a response, 3 data.
func frame(stream uint32, kind, flags byte, payload []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))
	b = binary.BigEndian.AppendUint32(b, stream)
	return append(append(b, kind, flags), payload...)
}

func request(t testing.TB, method string, m proto.Message) []byte {
	payload, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(&ttrpc.Request{Service: "tare.agent.v1.Agent", Method: method, Payload: payload})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func runRequest(t testing.TB, r *wire.RunRequest) []byte { return request(t, "Run", r) }

// noProcesses starts nothing, whatever request the fuzzer makes.
type noProcesses struct{}

func (noProcesses) start(string, []string, *syscall.ProcAttr) (int, <-chan exitStatus, error) {
	return 0, nil, errors.New("not in a fuzz test")
}

// FuzzServerWire feeds the server arbitrary bytes from its host: the server must end when the host
// hangs up.
func FuzzServerWire(f *testing.F) {
	run := runRequest(f, &wire.RunRequest{Id: 1, Argv: []string{"true"}, Env: []string{"A=b"}, Stdin: []byte("x"),
		TimeoutNs: 1,
		Rlimits:   []*wire.Rlimit{{Resource: 1, Soft: 2, Hard: 3}}})
	hello := request(f, "Hello", &wire.HelloRequest{Protocol: 1})
	f.Add(append(frame(1, 1, 0, hello), frame(3, 1, 1, run)...))
	f.Add(frame(1, 1, 0, request(f, "Signal", &wire.SignalRequest{Id: 1, Signal: 9})))
	f.Add(frame(2, 1, 0, request(f, "No such method", &wire.NowRequest{})))
	f.Add([]byte("\xff\xff\xff\xff\x00\x00\x00\x01\x01\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		ours, theirs := net.Pipe()
		served := make(chan error, 1)
		go func() { served <- serve(t.Context(), theirs, noProcesses{}, DataDir, 0) }()
		go io.Copy(io.Discard, ours)
		ours.SetWriteDeadline(time.Now().Add(5 * time.Second))
		ours.Write(b[:beforeData(b)])
		ours.Close()
		select {
		case <-served:
		case <-time.After(time.Minute):
			t.Fatal("the host hung up, and the server still serves")
		}
	})
}

// beforeData returns the length of b up to its first data message. tare's host sends none, and
// ttRPC 1.2.10 panics on a data message for a call without a stream, so an agent must trust its
// host in this.
func beforeData(b []byte) int {
	const header = 10
	for at := 0; at+header <= len(b); {
		if b[at+8] == 3 {
			return at
		}
		at += header + int(binary.BigEndian.Uint32(b[at:]))
	}
	return len(b)
}
