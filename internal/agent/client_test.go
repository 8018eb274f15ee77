package agent

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/containerd/ttrpc"
	"google.golang.org/protobuf/proto"

	"github.com/tare-bench/tare/internal/agent/wire"
	"github.com/tare-bench/tare/internal/fault"
)

// Types and flags of ttRPC's messages.
const (
	typeRequest, typeResponse, typeData = 1, 2, 3
	flagClosed, flagNoData              = 1, 4
)

func frame(stream uint32, kind, flags byte, payload []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))
	b = binary.BigEndian.AppendUint32(b, stream)
	return append(append(b, kind, flags), payload...)
}

func marshal(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

func response(stream uint32, m proto.Message) []byte {
	return frame(stream, typeResponse, 0, marshal(&ttrpc.Response{Payload: marshal(m)}))
}

func event(stream uint32, e *wire.RunEvent) []byte { return frame(stream, typeData, 0, marshal(e)) }

func end(stream uint32) []byte { return frame(stream, typeData, flagClosed|flagNoData, nil) }

func started(ns int64) *wire.RunEvent {
	return &wire.RunEvent{Event: &wire.RunEvent_Started{Started: &wire.Started{MonotonicNs: ns}}}
}

func output(text string) *wire.RunEvent {
	return &wire.RunEvent{Event: &wire.RunEvent_Output{Output: &wire.Output{Data: []byte(text)}}}
}

func exited(ns int64) *wire.RunEvent {
	return &wire.RunEvent{Event: &wire.RunEvent_Exited{Exited: &wire.Exited{MonotonicNs: ns}}}
}

func done(n uint64) *wire.RunEvent {
	return &wire.RunEvent{Event: &wire.RunEvent_Done{Done: &wire.Done{StdoutBytes: n}}}
}

// guest is the other end of a client, controlled message by message.
type guest struct{ net.Conn }

// next reads one message from the host and returns its stream.
func (g guest) next() (stream uint32, err error) {
	var head [10]byte
	if _, err := io.ReadFull(g, head[:]); err != nil {
		return 0, err
	}
	_, err = io.CopyN(io.Discard, g, int64(binary.BigEndian.Uint32(head[:])))
	return binary.BigEndian.Uint32(head[4:]), err
}

// connect returns a client whose guest answers Hello and then follows script.
func connect(t testing.TB, script func(g guest)) *Client {
	t.Helper()
	ours, theirs := net.Pipe()
	go func() {
		g := guest{theirs}
		defer g.Close()
		stream, err := g.next()
		if err != nil {
			return
		}
		g.Write(response(stream, &wire.HelloResponse{Protocol: Protocol, Cpus: 1}))
		script(g)
	}()
	c, _, err := Connect(t.Context(), ours)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// answer returns a script which answers one Run with these messages, and then only reads.
func answer(messages ...func(stream uint32) []byte) func(guest) {
	return func(g guest) {
		stream, err := g.next()
		if err != nil {
			return
		}
		for _, m := range messages {
			g.Write(m(stream))
		}
		io.Copy(io.Discard, g)
	}
}

func events(list ...*wire.RunEvent) func(guest) {
	var messages []func(uint32) []byte
	for _, e := range list {
		messages = append(messages, func(stream uint32) []byte { return event(stream, e) })
	}
	return answer(append(messages, end)...)
}

func short() Command {
	return Command{Argv: []string{"x"}, Timeout: 50 * time.Millisecond, HangGrace: 50 * time.Millisecond, OutputLimit: 10}
}

// patient is a command that what the guest sends must end, and not its time limit, however busy this host is.
func patient() Command {
	cmd := short()
	cmd.Timeout = 3 * time.Minute
	return cmd
}

func TestRun(t *testing.T) {
	c := connect(t, events(started(5), output("abc"), exited(9), output("de"), done(7)))
	var id uint64
	cmd := patient()
	cmd.OnStart = func(n uint64) { id = n }
	r, err := c.Run(t.Context(), cmd)
	if err != nil || string(r.Stdout) != "abcde" || !r.Truncated || r.GuestWall() != 4 || r.HostWall() < 0 || id == 0 {
		t.Errorf("%+v, %v, id %d", r, err, id)
	}
}

// TestHostileRun answers a command with everything that a guest must not send. Each time Run fails
// immediately, it is the guest's fault, and the client is unusable afterwards.
func TestHostileRun(t *testing.T) {
	raw := func(b []byte) func(guest) { return answer(func(uint32) []byte { return b }) }
	huge := &wire.RunEvent{Event: &wire.RunEvent_Exited{Exited: &wire.Exited{SpawnError: strings.Repeat("\x1b[2J",
		10000)}}}
	for name, c := range map[string]struct {
		script func(guest)
		want   string
	}{
		"hang-up":            {func(g guest) { g.next() }, "died or hung up"},
		"hang-up midway":     {func(g guest) { s, _ := g.next(); g.Write(event(s, started(1))) }, "died or hung up"},
		"half a message":     {func(g guest) { s, _ := g.next(); g.Write(event(s, started(1))[:12]) }, "died or hung up"},
		"silence":            {raw(nil), "hangs"},
		"silence when begun": {answer(func(s uint32) []byte { return event(s, started(1)) }), "hangs"},
		"a console's text":   {raw([]byte("Kernel panic - not syncing: Attempted to kill init!\r\n")), "hangs"},
		"huge length":        {raw([]byte("\xff\xff\xff\xff\x00\x00\x00\x03\x03\x00")), "hangs"},
		"too long a message": {answer(func(s uint32) []byte { return frame(s, typeData, 0, make([]byte, 5<<20)) }),
			"more than it was asked for"},
		"no protobuf": {answer(func(s uint32) []byte { return frame(s, typeData, 0, []byte("\xff\xff\xff")) }),
			"nonsense"},
		"unknown type": {answer(func(s uint32) []byte { return frame(s, 77, 0, nil) }), "nonsense"},
		"a request":    {answer(func(s uint32) []byte { return frame(s, typeRequest, 0, nil) }), "nonsense"},
		"an error": {answer(func(s uint32) []byte {
			return frame(s, typeResponse, 0, []byte("\x0a\x06\x08\x02\x12\x02no"))
		}), "no"},
		"an end at once":          {answer(end), "died or hung up"},
		"an event of no kind":     {events(&wire.RunEvent{}), "unknown kind"},
		"output first":            {events(output("x")), "before the start"},
		"exit first":              {events(exited(1)), "before it started"},
		"done first":              {events(done(0)), "before the command"},
		"done before exit":        {events(started(1), done(0)), "before the command"},
		"two starts":              {events(started(1), started(1)), "started twice"},
		"two exits":               {events(started(1), exited(2), exited(2)), "exited twice"},
		"two ends":                {events(started(1), exited(2), done(0), done(0)), "after the last"},
		"no end":                  {events(started(1), exited(2)), "died or hung up"},
		"too much output":         {events(started(1), output("0123456789x")), "more output"},
		"too much output by bits": {events(started(1), output("012345"), output("678910")), "more output"},
		"output of nothing":       {events(started(1), output("")), "output of nothing"},
		"fewer bytes than came":   {events(started(1), output("abc"), exited(2), done(2)), "less output"},
		"a clock that runs back":  {events(started(9), exited(8), done(0)), "clock went"},
		"a clock that wraps":      {events(started(math.MinInt64), exited(math.MaxInt64), done(0)), "clock went"},
		"a long, rude reason":     {events(huge, done(0)), "cannot start"},
	} {
		t.Run(name, func(t *testing.T) {
			client := connect(t, c.script)
			cmd := patient()
			if c.want == "hangs" {
				cmd = short()
			}
			r, err := client.Run(t.Context(), cmd)
			if fault.KindOf(err) != fault.Guest || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1500 ||
				strings.Contains(err.Error(), "\x1b") {
				t.Errorf("want %q, got %+v, %.2000v", c.want, r, err)
			}
		})
	}
}

// TestFloods: guests send without end. The client hangs up, during a command and between commands,
// and keeps nothing of what they sent.
func TestFloods(t *testing.T) {
	flood := func(message []byte) func(guest) {
		return func(g guest) {
			g.next()
			for {
				if _, err := g.Write(message); err != nil {
					return
				}
			}
		}
	}
	for name, message := range map[string][]byte{
		"unknown stream":  frame(99, typeData, 0, make([]byte, 1000)),
		"empty messages":  frame(98, typeResponse, 0, nil),
		"endless zeroes":  make([]byte, 1000),
		"the greeting's":  response(1, &wire.HelloResponse{Protocol: 1}),
		"the command's":   event(3, output("x")),
		"starts":          event(3, started(1)),
		"longest of all":  frame(3, typeData, 0, make([]byte, 4<<20)),
		"too long of all": frame(3, typeData, 0, make([]byte, 4<<20+1)),
	} {
		c := connect(t, flood(message))
		_, err := c.Run(t.Context(), patient())
		if fault.KindOf(err) != fault.Guest || strings.Contains(err.Error(), "hangs") {
			t.Errorf("%s: %v", name, err)
		}
	}
	told := make(chan struct{})
	c := connect(t, func(g guest) {
		for {
			if _, err := g.Write(frame(99, typeData, 0, make([]byte, 1000))); err != nil {
				close(told)
				return
			}
		}
	})
	select {
	case <-told:
	case <-time.After(time.Minute):
		t.Fatal("an idle client reads a flood")
	}
	if _, err := c.Clock(t.Context(), 1); fault.KindOf(err) != fault.Guest ||
		!strings.Contains(err.Error(), "more than it was asked") {
		t.Errorf("afterwards: %v", err)
	}
}

// TestUnread: a guest reads nothing, and the host must not wait for it forever.
func TestUnread(t *testing.T) {
	block := make(chan struct{})
	defer close(block)
	c := connect(t, func(guest) { <-block })
	c.guard.sendTimeout = 50 * time.Millisecond
	cmd := Command{Argv: []string{"x"}, Stdin: make([]byte, 1<<20)}
	if _, err := c.Run(t.Context(), cmd); fault.KindOf(err) != fault.Guest ||
		!strings.Contains(err.Error(), "does not read") {
		t.Errorf("%v", err)
	}
	// A caller that gives up returns without delay.
	c = connect(t, func(guest) { <-block })
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := c.Run(ctx, cmd); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	cmd.Stdin = make([]byte, 5<<20)
	if _, err := connect(t, func(guest) { <-block }).Run(t.Context(), cmd); fault.KindOf(err) != fault.Campaign {
		t.Errorf("too much input: %v", err)
	}
}

func TestHostileCalls(t *testing.T) {
	for name, script := range map[string]func(guest){
		"hang-up":     func(guest) {},
		"no protobuf": answer(func(s uint32) []byte { return frame(s, typeResponse, 0, []byte("\xff\xff")) }),
		"data":        answer(func(s uint32) []byte { return frame(s, typeData, 0, nil) }),
		"empty data":  answer(func(s uint32) []byte { return frame(s, typeData, flagClosed|flagNoData, nil) }),
	} {
		if _, err := connect(t, script).Clock(t.Context(), 3); fault.KindOf(err) != fault.Guest {
			t.Errorf("%s: clock: %v", name, err)
		}
		if err := connect(t, script).Signal(t.Context(), 1, 9); fault.KindOf(err) != fault.Guest {
			t.Errorf("%s: signal: %v", name, err)
		}
		if counts, err := connect(t, script).Counters(t.Context()); fault.KindOf(err) != fault.Guest || counts != nil {
			t.Errorf("%s: counters: %v, %v", name, counts, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := connect(t, answer()).Clock(ctx, 1); fault.KindOf(err) != fault.Guest {
		t.Errorf("silence: %v", err)
	}
	// Any clock value is accepted.
	c := connect(t, answer(func(s uint32) []byte { return response(s, &wire.NowResponse{MonotonicNs: math.MinInt64}) }))
	if k, err := c.Clock(t.Context(), 1); err != nil || k.Delay < 0 {
		t.Errorf("%v, %v", k, err)
	}
	// No count is below zero.
	c = connect(t, answer(func(s uint32) []byte {
		return response(s, &wire.CountersResponse{Counts: map[string]int64{"a": -1, "b": math.MinInt64, "c": math.MaxInt64}})
	}))
	if counts, err := c.Counters(t.Context()); err != nil || len(counts) != 1 || counts["c"] != math.MaxInt64 {
		t.Errorf("%v, %v", counts, err)
	}
}

func TestConnectRefuses(t *testing.T) {
	for name, reply := range map[string][]byte{
		"protocol": response(1, &wire.HelloResponse{Protocol: 99}),
		"nothing":  nil,
		"text":     []byte("login: "),
		"error":    frame(1, typeResponse, 0, []byte("\x0a\x06\x08\x02\x12\x02no")),
	} {
		ours, theirs := net.Pipe()
		go func() {
			guest{theirs}.next()
			theirs.Write(reply)
			theirs.Close()
		}()
		if _, _, err := Connect(t.Context(), ours); fault.KindOf(err) != fault.Guest {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCallerLeaves cancels a command in the middle of its output: no callback is running or called
// once Run has returned.
func TestCallerLeaves(t *testing.T) {
	c := connect(t, func(g guest) {
		run, _ := g.next()
		g.Write(event(run, started(1)))
		for range outputWindow {
			g.Write(event(run, output("x")))
		}
		kill, _ := g.next()
		g.Write(response(kill, &wire.SignalResponse{}))
		io.Copy(io.Discard, g)
	})
	ctx, cancel := context.WithCancel(t.Context())
	cmd := patient()
	cmd.OutputLimit = 2 * outputWindow
	began, ended := 0, 0 // unguarded, so that the race detector checks it, too
	cmd.OnOutput = func(bool, []byte) {
		began++
		cancel()
		time.Sleep(50 * time.Millisecond)
		ended++
	}
	_, err := c.Run(ctx, cmd)
	if !errors.Is(err, context.Canceled) || began == 0 || began != ended {
		t.Errorf("%v; output was passed on %d times, to the end %d times", err, began, ended)
	}
	before := began
	time.Sleep(100 * time.Millisecond)
	if began != before {
		t.Errorf("output was passed on %d times after Run had returned", began-before)
	}
}

// TestNothingStays runs commands that end, hang and are cancelled, and counts the goroutines that
// are left.
func TestNothingStays(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		c := connect(t, events(started(1), exited(2), done(0)))
		if _, err := c.Run(t.Context(), patient()); err != nil {
			t.Fatal(err)
		}
		c.Close()
		if _, err := connect(t, answer()).Run(t.Context(), short()); fault.KindOf(err) != fault.Guest {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cmd := patient()
		cmd.OnStart = func(uint64) { cancel() }
		c = connect(t, func(g guest) {
			run, _ := g.next()
			g.Write(event(run, started(1)))
			kill, _ := g.next()
			g.Write(event(run, exited(2)))
			g.Write(event(run, done(0)))
			g.Write(end(run))
			g.Write(response(kill, &wire.SignalResponse{}))
			io.Copy(io.Discard, g)
		})
		if _, err := c.Run(ctx, cmd); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		c.Close()
	}
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("goroutines %d → %d\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
}
