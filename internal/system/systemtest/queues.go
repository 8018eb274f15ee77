package systemtest

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
)

// Queues checks that a guest's network card has a queue in each direction for each of two CPUs, and that packets pass
// through all of them, also after the guest was saved and restored.
func Queues(t *testing.T, d system.Driver) {
	h := Host(t)
	f := networked(d)
	f.VCPUs, f.Options = 2, map[string]string{system.OptionQueues: "2"}
	s := suite{d: d, m: launch(t, d, h, "queues", f), size: 1 << 20}
	s.fillQueues(t, h)
	if _, err := s.m.Save(timeout(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.m.Restore(timeout(t)); err != nil {
		t.Fatal(err)
	}
	s.fillQueues(t, h)
	listenOnHost(t, h, s.m.HostAddress(), s.exchanged())
	s.fetch(t, s.m.HostAddress(), s.m.Address())
}

// fillQueues sends packets of many flows to the guest, and from each of its CPUs, until every queue has made an
// interrupt. A queue need not make one for every packet.
func (s suite) fillQueues(t *testing.T, h *system.Host) {
	t.Helper()
	const queues = "rx-0\nrx-1\ntx-0\ntx-1\n"
	if r := s.sh(t, "ls /sys/class/net/eth0/queues"); string(r.Stdout) != queues {
		t.Fatalf("the guest's queues are %q, not %q", r.Stdout, queues)
	}
	before := s.interrupts(t)
	for range 20 {
		if err := h.Network.OnHost(model.NetworkBridged, func() error { return flows(s.m.Address(), 64) }); err != nil {
			t.Fatal(err)
		}
		s.sh(t, fmt.Sprintf("for cpu in 0 1; do taskset -c $cpu bash -c "+
			"'for i in $(seq 50); do echo tare >/dev/udp/%s/%d; done'; done", s.m.HostAddress(), udpPort))
		now := s.interrupts(t)
		idle := func(queue string) bool { return now[queue] <= before[queue] }
		if !slices.ContainsFunc([]string{"input.0", "input.1", "output.0", "output.1"}, idle) {
			t.Logf("interrupts before %v, and now %v", before, now)
			return
		}
	}
	t.Errorf("not every queue made interrupts: before %v, now %v", before, s.interrupts(t))
}

// flows sends a packet from each of several sockets.
func flows(to netip.Addr, count int) error {
	for range count {
		c, err := net.Dial("udp4", netip.AddrPortFrom(to, udpPort).String())
		if err != nil {
			return err
		}
		_, err = c.Write([]byte("tare"))
		c.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// interrupts returns how many interrupts each queue of the guest's network card has made on all CPUs, by the queue's
// name in Linux: input.0 is the first that receives.
func (s suite) interrupts(t *testing.T) map[string]int {
	t.Helper()
	count := map[string]int{}
	for line := range strings.Lines(string(s.sh(t, "cat /proc/interrupts").Stdout)) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		_, queue, ok := strings.Cut(words[len(words)-1], "-")
		if !ok || !strings.HasPrefix(queue, "input.") && !strings.HasPrefix(queue, "output.") {
			continue
		}
		for _, word := range words[1:] { // one figure for each CPU, then the controller's name
			n, err := strconv.Atoi(word)
			if err != nil {
				break
			}
			count[queue] += n
		}
	}
	return count
}
