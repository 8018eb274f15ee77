package campaign

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestRequests: a workload has requests of a server instead of a command, at a rate or at the largest one in time.
func TestRequests(t *testing.T) {
	read := func(workload string) (*Campaign, error) {
		return Parse("c.yaml", []byte("name: c\narms: [native, lxc]\nworkloads: [{name: web, "+workload+"}]\n"), lab())
	}
	c, err := read("server: [/app], requests: {port: 8080, rate: 300}, size: 1000")
	if err != nil {
		t.Fatal(err)
	}
	w := c.Workloads[0]
	if want := (Requests{Port: 8080, URL: "/", Rate: 300, Connections: 32}); w.Own.Requests != want || !w.Custom() ||
		w.Own.MinSize != 150 || w.Own.SizeUnit != "requests" || w.Size != 1000 {
		t.Errorf("%+v", w)
	}
	if again, err := FromResolved(c.Resolved()); err != nil || !bytes.Equal(again.Resolved(), c.Resolved()) {
		t.Errorf("%v\n%s", err, c.Resolved())
	}
	c, err = read("server: [/app], requests: {port: 80, url: /a?b=c, within: 20ms, connections: 4}")
	if err != nil || c.Workloads[0].Own.Requests != (Requests{80, "/a?b=c", 0, 20 * time.Millisecond, 4}) {
		t.Errorf("%+v, %v", c, err)
	}
	for _, c := range []struct{ workload, want string }{
		{"requests: {port: 80, rate: 1}", "requests need a server"},
		{"server: [/app], requests: {port: 80}", "either a rate, or within"},
		{"server: [/app], requests: {port: 80, rate: 1, within: 20ms}", "either a rate, or within"},
		{"server: [/app], requests: {port: 80, within: 20us}", "out of range: 1ms to 1m"},
		{"server: [/app], requests: {port: 0, rate: 1}", "from 1 to 65535"},
		{"server: [/app], requests: {rate: 1}", `needs the key "port"`},
		{"server: [/app], requests: {port: 80, rate: 1, url: 'http://a/'}", "it begins with /"},
		{"server: [/app], requests: {port: 80, rate: 1, url: '/{size}'}", "nor braces"},
		{"server: [/app], requests: {port: 80, rate: 1}, command: [true]", "command has no effect on requests"},
		{"server: [/app], requests: {port: 80, rate: 1}, ready: [true]", "ready has no effect on requests"},
		{"server: [/app], requests: {port: 80, rate: 1}, min_size: 5", "min_size has no effect on requests"},
		{"server: [/app], requests: {port: 80, rate: 300}, size: 20", "below its minimum, 150"},
		{"server: [/app], requests: {port: 80, within: 1s}, size: 20", "size has no effect"},
	} {
		if _, err := read(c.workload); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.workload, err, c.want)
		}
	}
}
