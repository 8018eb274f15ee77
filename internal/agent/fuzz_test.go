package agent

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tare-bench/tare/internal/agent/wire"
	"github.com/tare-bench/tare/internal/fault"
)

// FuzzClientWire feeds the client arbitrary bytes from a guest that has answered Hello: the command
// must end, with a result or with an error that is the guest's fault.
func FuzzClientWire(f *testing.F) {
	good := bytes.Join([][]byte{event(3, started(5)), event(3, output("abc")), event(3, exited(9)), event(3, done(3)),
		end(3)}, nil)
	f.Add(good)
	f.Add(good[:len(good)-15])
	f.Add(append(event(99, output("x")), good...))
	f.Add(frame(3, typeResponse, 0, []byte("\x0a\x06\x08\x02\x12\x02no")))
	f.Add([]byte("Kernel panic - not syncing\n"))
	f.Add([]byte("\xff\xff\xff\xff\x00\x00\x00\x03\x03\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		ours, theirs := net.Pipe()
		go func() {
			g := guest{theirs}
			defer g.Close()
			stream, err := g.next()
			if err != nil {
				return
			}
			g.Write(response(stream, &wire.HelloResponse{Protocol: Protocol}))
			if _, err := g.next(); err == nil {
				g.Write(b)
			}
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		c, _, err := Connect(ctx, ours)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		r, err := c.Run(ctx, Command{Argv: []string{"x"}, OutputLimit: 100})
		check(t, r, err, 100)
		if ctx.Err() != nil {
			t.Fatal("the guest hung up, and the client waits")
		}
	})
}

// FuzzTranscript feeds arbitrary events, each preceded by its length.
func FuzzTranscript(f *testing.F) {
	row := func(list ...*wire.RunEvent) []byte {
		var b []byte
		for _, e := range list {
			m := marshal(e)
			b = append(append(b, byte(len(m))), m...)
		}
		return b
	}
	f.Add(row(started(5), output("abc"), exited(9), output("d"), done(4)))
	f.Add(row(started(5), exited(4)))
	f.Add(row(&wire.RunEvent{}, done(0)))
	f.Fuzz(func(t *testing.T, b []byte) {
		tr := transcript{limit: 10}
		in := bytes.NewReader(b)
		for at := int64(0); !tr.done; at++ {
			n, err := in.ReadByte()
			if err != nil {
				return
			}
			m := make([]byte, n)
			if _, err := io.ReadFull(in, m); err != nil {
				return
			}
			var e wire.RunEvent
			if proto.Unmarshal(m, &e) != nil {
				return
			}
			if tr.add(&e, at) != nil {
				return
			}
		}
		check(t, &tr.Result, tr.spawnError(nil), 10)
	})
}

// check checks a command's outcome against what Run promises.
func check(t *testing.T, r *Result, err error, limit int) {
	t.Helper()
	switch {
	case err != nil:
		if fault.KindOf(err) != fault.Guest {
			t.Fatalf("not the guest's fault: %v", err)
		}
	case r == nil:
	case len(r.Stdout) > limit || len(r.Stderr) > limit:
		t.Fatalf("%d and %d bytes of output", len(r.Stdout), len(r.Stderr))
	case r.GuestWall() < 0 || r.HostWall() < 0:
		t.Fatalf("walls of %v and %v", r.GuestWall(), r.HostWall())
	case r.Truncated != (r.StdoutBytes > uint64(len(r.Stdout)) || r.StderrBytes > uint64(len(r.Stderr))):
		t.Fatalf("truncated is %v with %d of %d bytes", r.Truncated, len(r.Stdout), r.StdoutBytes)
	}
}
