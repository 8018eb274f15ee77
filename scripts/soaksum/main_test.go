package main

import (
	"strings"
	"testing"
)

func TestSum(t *testing.T) {
	var out strings.Builder
	err := sum(strings.NewReader(`{"kind":"kill","kills":40,"seconds":61.5}
{"kind":"kill","kills":2,"gc":7,"seconds":10}
`), &out)
	if want := "       2 rounds\n       7 gc\n      42 kills\n      72 seconds\n"; err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, out.String())
	}
	if err := sum(strings.NewReader("{\"kills\":1}\n{\"ki"), &out); err == nil ||
		!strings.Contains(err.Error(), "round 2") {
		t.Errorf("a line cut short: %v", err)
	}
}
