package run

import "testing"

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
		got, ok := retransmitted(text)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, not %d", text, got, want)
		}
	}
}
