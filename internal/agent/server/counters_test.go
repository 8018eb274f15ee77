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
	want := map[string]int64{wire.SwappedIn: 3 * 4096, wire.SwappedOut: 5 * 4096, wire.Retransmitted: 77}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	got = map[string]int64{}
	swapCounts(got, "pswpin\npswpout x\npswpin 99999999999999999\n", 4096)
	segmentCounts(got, "Tcp: RetransSegs\n")
	segmentCounts(got, "Tcp: A RetransSegs\nTcp: 1\n")
	if len(got) > 0 {
		t.Errorf("from nothing: %v", got)
	}
}

func TestRetransmitted(t *testing.T) {
	const names = "Ip: Forwarding DefaultTTL\nIp: 2 64\nTcp: RtoAlgorithm ActiveOpens RetransSegs InErrs\n"
	for text, want := range map[string]int64{
		names + "Tcp: 1 12 34 0\nUdp: InDatagrams\nUdp: 5\n": 34,
		names + "Tcp: 1 12 0 0\n":                            0,
		names + "Tcp: 1 12\n":                                -1,
		names + "Tcp: 1 12 many 0\n":                         -1,
		names + "Tcp: 1 12 -3 0\n":                           -1,
		names:                                                -1,
		"Tcp: 1 2 3\nTcp: 1 2 3\n":                           -1,
		"":                                                   -1,
	} {
		counts := map[string]int64{}
		segmentCounts(counts, text)
		got, ok := counts[wire.Retransmitted]
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, not %d", text, got, want)
		}
	}
}

// TestCounters: the kernel under this test counts all that it can.
func TestCounters(t *testing.T) {
	r, err := serveHere(t).Counters(t.Context(), &wire.CountersRequest{})
	if _, there := r.GetCounts()[wire.SwappedIn]; err != nil || !there {
		t.Errorf("%v, %v", r, err)
	}
}
