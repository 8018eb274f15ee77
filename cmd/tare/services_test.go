package main

import (
	_ "embed"
	"path/filepath"
	"testing"
	"time"
)

// services has all workloads that need more than a program in a guest.
//
//go:embed testdata/services.yaml
var services string

// pairs has the workloads of the same image whose server can run in another guest.
const pairs = `
name: pairs
seed: 4
flavors:
  wired: {vcpus: 1, memory: 512MiB, disk: 512MiB, network: bridged}
arms: [native, runc]
workloads:
  - {name: iperf3, size: 512}
  - {name: nuttcp, size: 512}
  - {name: netpipe, size: 50}
  - {name: tcp-crr, size: 300}
scenarios: [{name: pair, pairs: 1}, {name: two, pairs: 2}, {name: out, pairs: 1, server: host}, {name: in, pairs: 1, client: host}]
blocks: 1
image:
  packages: [php-cli]
  also_for:
    [sysbench-oltp-rw, http-rate, wordpress, mediawiki, kernel-build, bonnie, zstd, python-start, pgbench, redis,
     memcached, nginx, caddy, sqlite, git-clone, ffmpeg]
`

// today has programs of today's services, in the same image.
const today = `
name: today
seed: 5
flavors:
  one: {vcpus: 1, memory: 512MiB, disk: 1GiB}
arms: [native, runc]
workloads:
  - {name: zstd, size: 16}
  - {name: python-start, size: 5}
  - {name: pgbench, size: 20, params: {scale: 1, clients: 2}}
  - {name: pgbench-rate, size: 10, params: {scale: 1, clients: 2}}
  - {name: redis, size: 1000, params: {pipeline: 4}}
  - {name: memcached, size: 1000, params: {clients: 2}}
  - {name: nginx, size: 300, params: {clients: 2}}
  - {name: caddy, size: 300, params: {kib: 1}}
  - {name: sqlite, size: 1000}
  - {name: git-clone, size: 2}
  - {name: ffmpeg, size: 10, params: {threads: 2}}
image:
  packages: [php-cli]
  also_for: [sysbench-oltp-rw, http-rate, wordpress, mediawiki, kernel-build, bonnie, iperf3, nuttcp, netpipe]
blocks: 1
`

// TestServices: the servers really serve, natively and in a container, the guest
// itself and another one.
func TestServices(t *testing.T) {
	live(t)
	dir := t.TempDir()
	campaigns := map[string]string{"services": services, "pairs": pairs, "today": today}
	for name, text := range campaigns {
		// The first time, packages are downloaded and databases created.
		if r := tareWithin(t, 30*time.Minute, dir, "image", write(t, dir, name+".yaml", text)); r.status != 0 {
			t.Fatalf("image: status %d\n%s", r.status, r.stderr)
		}
	}
	for name := range campaigns {
		run := filepath.Join(dir, name+".tare")
		if r := tareWithin(t, 20*time.Minute, dir, "run", "--yes", name+".yaml", "--out", run); r.status != 0 {
			t.Errorf("%s: status %d\n%s%s", name, r.status, r.stdout, r.stderr)
			continue
		}
		done := map[string]int{}
		for _, trial := range exported(t, run).Trials {
			if trial.Status != "done" || trial.Role == "" && trial.Metrics["time"] <= 0 {
				t.Errorf("%s on %s: %s %s %v", trial.Workload, trial.Arm, trial.Status, trial.Error, trial.Metrics)
			}
			done[trial.Workload+" "+trial.Role]++
		}
		for what, n := range done {
			if want := map[string]int{"services": 3, "pairs": 15, "today": 3}[name]; n != want {
				t.Errorf("%s: %s was done %d times, not %d", name, what, n, want)
			}
		}
		if want := map[string]int{"services": 16, "pairs": 8, "today": 11}[name]; len(done) != want {
			t.Errorf("%s: %d, not %d, were done: %v", name, len(done), want, done)
		}
	}
	nothingLeft(t)
}
