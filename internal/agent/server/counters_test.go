package server

import (
	"maps"
	"testing"

	"github.com/tare-bench/tare/internal/agent/wire"
)

func TestCounts(t *testing.T) {
	got := map[string]int64{}
	swapCounts(got, "nr_free_pages 7\npgpgin 1\npswpin 3\npswpout 5\npswpin_more 9\n", 4096)
	segmentCounts(got, "Ip: Forwarding\nIp: 2\nTcp: RtoAlgorithm InSegs OutSegs RetransSegs InErrs\nTcp: 1 9 8 77 0\n"+
		"Udp: InDatagrams RetransSegs\nUdp: 5 4\n")
	packetCounts(got, `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo: 9 9 9 9 0 0 0 0 9 9 9 9 0 0 0 0
  eth0: 100 10 1 2 0 0 0 0 200 20 4 8 0 0 0 0
  eth1:1 1 0 16 0 0 0 0 0 0 0 0 0 0 0 0
 short: 1 2
`)
	want := map[string]int64{wire.SwappedIn: 3 * 4096, wire.SwappedOut: 5 * 4096, wire.Retransmitted: 77, wire.Dropped: 31}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	got = map[string]int64{}
	swapCounts(got, "pswpin\npswpout x\npswpin 99999999999999999\n", 4096)
	segmentCounts(got, "Tcp: RetransSegs\n")
	segmentCounts(got, "Tcp: A RetransSegs\nTcp: 1\n")
	packetCounts(got, "lo: 0\n")
	if len(got) > 0 {
		t.Errorf("from nothing: %v", got)
	}
}

// TestCounters: the kernel under this test counts all that it can.
func TestCounters(t *testing.T) {
	r, err := serveHere(t).Counters(t.Context(), &wire.CountersRequest{})
	if _, there := r.GetCounts()[wire.SwappedIn]; err != nil || !there {
		t.Errorf("%v, %v", r, err)
	}
}
