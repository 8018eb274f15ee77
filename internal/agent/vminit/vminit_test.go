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
