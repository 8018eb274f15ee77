package systemtest

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/network"
	"github.com/tare-bench/tare/internal/system"
)

// testReach listens on the host and has a guest on each network try to connect: a run's network reaches the run.
func testReach(t *testing.T, d system.Driver, h *system.Host) {
	for _, mode := range networks(d) {
		t.Run(mode, func(t *testing.T) {
			if err := network.Check(mode); err != nil {
				t.Skipf("this host has no such network: %v", err)
			}
			l := listenEverywhere(t)
			ask := Request()
			ask.Network = mode
			s := suite{d: d, m: launch(t, d, h, "reach-"+mode, ask)}
			if a := s.m.HostAddress(); a.IsValid() {
				l.targets = append(l.targets, a.String())
			}
			if p := s.m.Site.Port; p != nil && p.Gateway.IsValid() {
				l.targets = append(l.targets, p.Gateway.String())
			}
			l.attack(t, s)
		})
	}
}

// listeners are services of the host.
type listeners struct {
	port    string
	targets []string // addresses at which guests try to reach them
	socket  string   // in the abstract namespace of Unix sockets, which belongs to a network namespace

	mu   sync.Mutex
	came []string
}

// listenEverywhere listens on all addresses of the host.
func listenEverywhere(t *testing.T) *listeners {
	all, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { all.Close() })
	_, port, _ := net.SplitHostPort(all.Addr().String())
	l := &listeners{port: port, socket: "tare-hostile-" + port}
	loopback, err := net.Listen("unix", "@"+l.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { loopback.Close() })
	for _, server := range []net.Listener{all, loopback} {
		go func() {
			for {
				c, err := server.Accept()
				if err != nil {
					return
				}
				l.mu.Lock()
				l.came = append(l.came, fmt.Sprintf("%v at %v", c.RemoteAddr(), c.LocalAddr()))
				l.mu.Unlock()
				c.Close()
			}
		}()
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() {
			l.targets = append(l.targets, p.Addr().String())
		}
	}
	l.targets = append(l.targets, network.UserHost.String(), "10.0.2.3")
	return l
}

// attack connects from the guest to everything at once, for three seconds.
func (l *listeners) attack(t *testing.T, s suite) {
	t.Helper()
	script := `use IO::Socket::INET; use IO::Socket::UNIX;
for my $to (split " ", $ENV{TARGETS}) { if (!fork) { alarm 3;
	my $c = IO::Socket::INET->new(PeerAddr => $to, PeerPort => $ENV{PORT});
	print "$to: ", $c ? "connected" : $@, "\n"; exit } }
my $c = IO::Socket::UNIX->new(Peer => "\0" . $ENV{SOCKET}); print "connected to a Unix socket\n" if $c;
1 while wait > 0; exit 0`
	r := s.sh(t, "", func(c *agent.Command) {
		c.Argv = []string{"perl", "-e", script}
		c.Env = append(c.Env, "TARGETS="+strings.Join(l.targets, " "), "PORT="+l.port, "SOCKET="+l.socket)
	})
	t.Logf("%s%s", r.Stdout, r.Stderr)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.came) > 0 {
		t.Errorf("from the network %q a guest reaches the host: %v", s.m.Site.Flavor.Network, l.came)
	}
}
