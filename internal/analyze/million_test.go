package analyze

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
)

// bulkRun makes the file of a run with arms × workloads × blocks trials, each
// with one metric and three probes. It writes rows with SQL, for speed.
func bulkRun(t testing.TB, arms, workloads, blocks int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bulk.tare")
	text := fmt.Sprintf("name: bulk\nseed: 1\nblocks: %d\nflavors: {small: {vcpus: 1, memory: 512MiB}}\narms: [native]\n"+
		"workloads: [w0]\n", blocks)
	c, err := campaign.Parse("bulk", []byte(text), campaign.Known{})
	if err != nil {
		t.Fatal(err)
	}
	var a []store.Arm
	for i := range arms {
		a = append(a, store.Arm{Name: fmt.Sprintf("arm%d", i)})
	}
	a[0].Name = "native"
	if arms > 2 {
		a[2].ControlOf = "native"
	}
	var m []store.Metric
	for w := range workloads {
		name := fmt.Sprintf("w%d", w)
		m = append(m, store.Metric{Workload: name, Name: "time", Unit: "s", Better: "lower", Primary: true})
		for _, p := range []string{model.ProbeGuestGroupCPU, model.ProbeGuestCPU, model.ProbeHostCPU} {
			m = append(m, store.Metric{Workload: name, Name: p, Unit: "s", Probe: true})
		}
	}
	r, err := store.Create(path, map[string][]byte{store.DocCampaign: c.Resolved()}, a, m)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	n := arms * workloads * blocks
	if _, err := db.Exec(fmt.Sprintf(`PRAGMA journal_mode = off; PRAGMA synchronous = off; BEGIN;
		INSERT INTO session VALUES (1, 1, 'boot', '1');
		WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < %[1]d)
			INSERT INTO guest SELECT i + 1, 1, i, 0, 1, 1, '{}', '[]', '', 0, 0 FROM s;
		WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < %[4]d - 1)
			INSERT INTO attempt SELECT i + 1, 1, i %% %[2]d + 1, i / (%[2]d * %[3]d), i %% (%[2]d * %[3]d), 'w' || (i / %[2]d %% %[3]d), i %% %[2]d, 0, 1, i, 0, '' FROM s;
		INSERT INTO outcome SELECT id, 'done', '', id, 0, 1, '' FROM attempt;
		INSERT INTO value SELECT id, 4 * (position / %[2]d) + v.k, 1 + (abs(random()) %% 10000) / 1e5
			FROM attempt, (SELECT 0 k UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) v;
		COMMIT`, arms-1, arms, workloads, n)); err != nil {
		t.Fatal(err)
	}
	return path
}

// BenchmarkMillionTrials measures the way from the file of a run with a
// million trials to its result.
func BenchmarkMillionTrials(b *testing.B) {
	path := bulkRun(b, 10, 10, 10_000)
	debug.FreeOSMemory()
	os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak is from here on
	b.ReportAllocs()
	cpu := cpuSeconds(b)
	for b.Loop() {
		r, err := store.Open(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		in, err := dataset.Read(r)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Analyze(in); err != nil {
			b.Fatal(err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((cpuSeconds(b)-cpu)/float64(b.N), "cpu-s/op") // also on a busy machine
	b.ReportMetric(peakMB(b), "MB-peak-RSS")
}

// cpuSeconds is the CPU time of this process.
func cpuSeconds(t testing.TB) float64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// peakMB is the largest resident size that this process has had.
func peakMB(t testing.TB) float64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	kb, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb / 1024
}

// TestFromBulk: chunks of more than one series, whole and in order.
func TestFromBulk(t *testing.T) {
	const blocks = 1<<12 + 100 // more than one chunk
	r, err := store.Open(t.Context(), bulkRun(t, 3, 1, blocks))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	in, err := dataset.Read(r)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for o := range in.Observations {
		if int(o.Block) != n%blocks || int(o.Arm) != n/blocks {
			t.Fatalf("observation %d: %+v", n, o)
		}
		n++
	}
	for range in.ProbeObservations {
		n++
	}
	if n != 4*3*blocks {
		t.Errorf("%d values, want %d", n, 4*3*blocks)
	}
}
