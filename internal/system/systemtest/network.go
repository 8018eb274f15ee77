package systemtest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
)

// networked returns the suite's flavor, on the run's bridge if the driver's guests support it.
func networked(d system.Driver) system.Request {
	f := Request()
	if slices.Contains(d.Capabilities().Networks, model.NetworkBridged) {
		f.Network = model.NetworkBridged
	}
	return f
}

const (
	tcpPort = 5001
	udpPort = 5002
	// Each end sends a pattern that the other end counts and compares. perl is in every Debian
	// and has sockets.
	tcpServer = `use IO::Socket::INET; $| = 1;
my $l = IO::Socket::INET->new(LocalAddr => "0.0.0.0", LocalPort => %d, Listen => 1, ReuseAddr => 1) or die "listen: $!";
print "listening\n"; my $c = $l->accept or die "accept: $!"; my ($n, $b) = (0);
while ($n < %d) { my $r = sysread($c, $b, 65536) or die "read: $!"; $n += $r; print {$c} $b or die "write: $!"; $c->flush }
print "$n from ", $c->peerhost, "\n"`
	tcpClient = `use IO::Socket::INET;
my $c = IO::Socket::INET->new(PeerAddr => "%s", PeerPort => %d, Timeout => 20) or die "connect: $@";
my ($n, $got, $sent, $b) = (%d, "", "0123456789abcde\n" x 4096);
for (my $k = 0; $k < $n; $k += 65536) { print {$c} $sent or die "write: $!"; $c->flush; my $e = length($got) + 65536;
while (length $got < $e) { sysread($c, $b, 65536) or die "read: $!"; $got .= $b } }
print $got eq $sent x ($n / 65536) ? "same" : "other", " bytes by ", $c->sockhost, "\n"`
	// The counter waits for the first packet, and ends when none has come for two seconds.
	udpCounter = `use IO::Socket::INET; use IO::Select;
my $s = IO::Socket::INET->new(LocalAddr => "0.0.0.0", LocalPort => %d, Proto => "udp") or die "bind: $!";
my ($n, $b, $wait) = (0, "", IO::Select->new($s));
while ($wait->can_read($n ? 2 : 60)) { defined recv($s, $b, 64, 0) or die "recv: $!"; $n++ }
print $n`
)

// exchangeTime bounds an exchange, which takes seconds. Where a cap drops packets, TCP waits longer and longer before
// it sends again.
const exchangeTime = 3 * time.Minute

// exchanged is the number of bytes that guests send each other and get back.
func (s suite) exchanged() int { return int(min(4<<20, s.size/4)) }

// network makes the guest, another guest and the host exchange data.
func (s suite) network(t *testing.T, h *system.Host, other suite) {
	if s.m.Site.Port == nil {
		t.Skip("on no bridge")
	}
	a, b := s.m.Address(), other.m.Address()
	if !a.IsValid() || a == b {
		t.Fatalf("addresses %v and %v", a, b)
	}
	served := other.serve(t)
	s.fetch(t, b, a)
	if got, want := served(), fmt.Sprintf("%d from %s\n", s.exchanged(), a); got != want {
		t.Errorf("the other guest printed %q, not %q", got, want)
	}
	served = s.serve(t)
	if err := h.Network.OnHost(model.NetworkBridged, func() error { return echoed(a, s.exchanged()) }); err != nil {
		t.Errorf("from the host: %v", err)
	}
	if got, want := served(), fmt.Sprintf("%d from %s\n", s.exchanged(), s.m.HostAddress()); got != want {
		t.Errorf("the guest printed %q, not %q", got, want)
	}
	listenOnHost(t, h, s.m.HostAddress(), s.exchanged())
	s.fetch(t, s.m.HostAddress(), a)
}

// serve starts a server in the guest that echoes one connection, and returns when it listens. The
// returned function waits for its end and returns its output.
func (s suite) serve(t *testing.T) (said func() string) {
	t.Helper()
	output := s.background(t, fmt.Sprintf(tcpServer, tcpPort, s.exchanged()), "tcp", fmt.Sprintf(":%04X .* 0A ", tcpPort))
	return func() string { return strings.TrimPrefix(output(), "listening\n") }
}

// receive counts the packets that arrive in the guest from now on. The returned function waits for their end.
func (s suite) receive(t *testing.T) (count func() int) {
	t.Helper()
	said := s.background(t, fmt.Sprintf(udpCounter, udpPort), "udp", fmt.Sprintf(":%04X ", udpPort))
	return func() int {
		text := said()
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Errorf("the guest counted %q", text)
		}
		return n
	}
}

// background starts a script of perl in the guest, and returns when a line of this table in /proc/net shows its socket.
// The returned function waits for its end and returns its output.
func (s suite) background(t *testing.T, script, table, socket string) (said func() string) {
	t.Helper()
	out := make(chan string, 1)
	go func() {
		r, err := s.m.Agent.Run(t.Context(), agent.Command{Argv: []string{"perl", "-e", script}, Env: system.AgentEnv,
			OutputLimit: 1 << 16, Timeout: exchangeTime})
		if err != nil {
			out <- err.Error()
			return
		}
		out <- string(r.Stdout) + string(r.Stderr)
	}()
	s.sh(t, fmt.Sprintf("for i in $(seq 600); do grep -q '%s' /proc/net/%s && exit; sleep 0.1; done; "+
		"cat /proc/net/%[2]s; exit 1", socket, table))
	return func() string { return <-out }
}

// fetch sends bytes from the guest to a server and checks that they come back.
func (s suite) fetch(t *testing.T, from, as netip.Addr) {
	t.Helper()
	script := fmt.Sprintf(tcpClient, from, tcpPort, s.exchanged())
	r := s.sh(t, "", func(c *agent.Command) { c.Argv = []string{"perl", "-e", script} })
	if got, want := string(r.Stdout), fmt.Sprintf("same bytes by %s\n", as); got != want {
		t.Errorf("talking to %v, the guest printed %q%q, not %q", from, got, r.Stderr, want)
	}
}

// echoed does the same from this process.
func echoed(at netip.Addr, size int) error {
	c, err := net.DialTimeout("tcp4", netip.AddrPortFrom(at, tcpPort).String(), 20*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(exchangeTime))
	sent, got := bytes.Repeat([]byte("tare"), size/4), make([]byte, size)
	go c.Write(sent)
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if !bytes.Equal(sent, got) {
		return fmt.Errorf("the bytes received differ from those sent")
	}
	return nil
}

// listenOnHost echoes one connection at the host's end of the bridge.
func listenOnHost(t *testing.T, h *system.Host, at netip.Addr, size int) {
	t.Helper()
	err := h.Network.OnHost(model.NetworkBridged, func() error {
		l, err := net.Listen("tcp4", netip.AddrPortFrom(at, tcpPort).String())
		if err != nil {
			return err
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			if c, err := l.Accept(); err == nil {
				io.Copy(c, io.LimitReader(c, int64(size)))
				c.Close()
			}
		}()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
