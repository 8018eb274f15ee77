package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestConsent: on a host that works for others, nothing is measured and no guest starts unless they may be disturbed.
func TestConsent(t *testing.T) {
	live(t)
	service, err := net.Listen("tcp", "0.0.0.0:0") // other hosts could reach this test
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	// Other tests may listen, too.
	self := regexp.MustCompile(fmt.Sprintf(`, TCP ports? .*\b%d\b.*\n`, service.Addr().(*net.TCPAddr).Port))
	t.Setenv("TARE_YES", "")
	dir := t.TempDir()
	file, run := write(t, dir, "one.yaml", consentCampaign), filepath.Join(dir, "one.tare")

	r := alone(t, dir, "run", file, "--out", run)
	if r.status != exitCampaign {
		t.Errorf("status %d:\n%s", r.status, r.stderr)
	}
	if !self.MatchString(r.stderr) {
		t.Errorf("no %s in:\n%s", self, r.stderr)
	}
	for _, want := range []string{"CPUs    ", "memory  128MiB\n", "disk    256MiB,", "time    ",
		"to fix: add --yes"} {
		if !strings.Contains(r.stderr, want) {
			t.Errorf("no %q in:\n%s", want, r.stderr)
		}
	}
	if strings.Contains(r.stderr, "caches ") { // the data of dd-read is evicted by itself
		t.Errorf("caches of the host:\n%s", r.stderr)
	}
	if _, err := os.Stat(run); err == nil {
		t.Error("there is a run file")
	}
	r = tare(t, dir, "guest", "start", "native", "--flavor", "memory=64MiB,disk=64MiB")
	if r.status != exitCampaign || !self.MatchString(r.stderr) {
		t.Errorf("guest start: status %d:\n%s", r.status, r.stderr)
	}
	if r := alone(t, dir, "run", file, "--out", run, "--yes"); r.status != 0 || !self.MatchString(r.stderr) {
		t.Errorf("--yes: status %d:\n%s", r.status, r.stderr)
	}
	if r := alone(t, dir, "resume", run); r.status != exitCampaign || !self.MatchString(r.stderr) {
		t.Errorf("resume: status %d:\n%s", r.status, r.stderr)
	}
}

const consentCampaign = `
name: one
flavors: {small: {vcpus: 1, memory: 64MiB, disk: 128MiB}}
arms: [native]
workloads: [{name: dd-read, size: 64}]
blocks: 1
`
