package agent

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
)

// TestDetach: a command that runs while the guest moves to another connection ends at the new one.
func TestDetach(t *testing.T) {
	before, after, left := make(chan net.Conn, 1), make(chan net.Conn, 1), make(chan bool)
	c := connect(t, func(g guest) {
		stream, err := g.next()
		if err != nil {
			return
		}
		g.Write(event(stream, started(1)))
		before <- g.Conn
		<-left
		there := guest{<-after}
		there.Write(event(stream, output("kept")))
		there.Write(event(stream, exited(2)))
		there.Write(event(stream, done(4)))
		there.Write(end(stream))
		io.Copy(io.Discard, there)
	})
	begun := make(chan bool)
	type result struct {
		r   *Result
		err error
	}
	ended := make(chan result, 1)
	go func() {
		r, err := c.Run(t.Context(), Command{Argv: []string{"x"}, OnStart: func(uint64) { close(begun) }})
		ended <- result{r, err}
	}()
	<-begun
	c.Detach()
	c.Detach() // changes nothing
	(<-before).Close()
	close(left)
	select {
	case e := <-ended:
		t.Fatalf("the command ended with its connection: %+v, %v", e.r, e.err)
	default:
	}
	ours, theirs := net.Pipe()
	c.Attach(ours)
	after <- theirs
	if e := <-ended; e.err != nil || string(e.r.Stdout) != "kept" || e.r.GuestEnd != 2 {
		t.Errorf("%+v, %v", e.r, e.err)
	}
}

// TestDetachedForGood: those that wait for a guest which never comes back are released when the client hangs up.
func TestDetachedForGood(t *testing.T) {
	c := connect(t, func(g guest) {
		stream, err := g.next()
		if err != nil {
			return
		}
		g.Write(event(stream, started(1)))
		g.next() // until the host hangs up
	})
	begun, ended := make(chan bool), make(chan error, 1)
	go func() {
		_, err := c.Run(context.Background(), Command{Argv: []string{"x"}, OnStart: func(uint64) { close(begun) }})
		ended <- err
	}()
	<-begun
	c.Detach()
	c.Close()
	if err := <-ended; fault.KindOf(err) != fault.Guest {
		t.Error(err)
	}
	ours, theirs := net.Pipe()
	c.Attach(ours) // closes it
	if _, err := theirs.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}
