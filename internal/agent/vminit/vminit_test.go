package vminit

import (
	"maps"
	"testing"
)

func TestParameters(t *testing.T) {
	got := parameters("console=ttyS0 quiet tare.root=vda tare.data=vdb:xfs tare.port=tare.agent tare.flag xtare.no=1\n")
	want := map[string]string{"root": "vda", "data": "vdb:xfs", "port": "tare.agent", "flag": ""}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestIPBatch(t *testing.T) {
	for parameter, want := range map[string]string{
		"":                   "link set lo up\n",
		"eth0,10.213.0.2/24": "link set lo up\naddress add 10.213.0.2/24 dev eth0\nlink set eth0 up\n",
		"vec0,10.213.0.2/24,10.213.0.1": "link set lo up\naddress add 10.213.0.2/24 dev vec0\nlink set vec0 up\n" +
			"route add default via 10.213.0.1\n",
		"eth0":                                "",
		"eth0,10.213.0.2/24,10.213.0.1,extra": "",
	} {
		got, err := ipBatch(parameter)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", parameter, got, err)
		}
	}
}
