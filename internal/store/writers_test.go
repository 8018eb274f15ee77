package store

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/mounttest"
)

// fill makes trials until the run file cannot grow, and checks that all trials
// before that are stored.
func fill(t *testing.T, r *Run) {
	t.Helper()
	var err error
	n := 0
	for ; n < 10_000 && err == nil; n++ {
		var id int64
		if id, err = r.Begin(Attempt{Session: 1, Guest: 1, Block: n, Workload: "cpu", Size: 1}); err == nil {
			err = r.Finish(id, outcome(1, 5000))
		}
	}
	if fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "disk is full") || fault.RemedyOf(err) == "" {
		t.Fatalf("after %d trials: %v", n, err)
	}
	path := r.Path()
	must(t, r.Close())
	r, err = Open(t.Context(), path)
	must(t, err)
	defer r.Close()
	done := checkWhole(t, r, 5000)
	if done != n-1 {
		t.Errorf("%d of %d trials are there", done, n-1)
	}
}

// checkWhole returns the number of done trials. Each attempt must have the whole
// outcome that Finish recorded, or none of it.
func checkWhole(t *testing.T, r *Run, printed int64) (done int) {
	t.Helper()
	for trial, err := range r.Trials() {
		must(t, err)
		switch {
		case trial.Status == Done && len(trial.Steps) == 2 && len(trial.Metrics) == 2 && len(trial.Probes) == 1 &&
			trial.Steps[1].StdoutBytes == printed:
			done++
		case trial.Status == Interrupted && len(trial.Steps)+len(trial.Metrics)+len(trial.Probes) == 0:
		default:
			t.Errorf("half a trial: %+v", trial)
		}
	}
	var lengths int
	must(t, r.db.QueryRow("SELECT count(*) FROM step WHERE length(stdout) <> stdout_bytes").Scan(&lengths))
	var check string
	must(t, r.db.QueryRow("PRAGMA integrity_check").Scan(&check))
	if lengths != 0 || check != "ok" {
		t.Errorf("%d steps with other output than they had; integrity: %s", lengths, check)
	}
	return done
}

func TestDiskFull(t *testing.T) {
	r, _ := create(t)
	var pages int
	must(t, r.db.QueryRow("PRAGMA page_count").Scan(&pages))
	_, err := r.db.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages+50))
	must(t, err)
	fill(t, r)
}

// TestDiskFullForReal uses a small file system, where the journal needs space, too.
func TestDiskFullForReal(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=600k"); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	r, err := Create(filepath.Join(dir, "run.tare"), map[string][]byte{DocCampaign: []byte("{}")}, testArms, testMetrics)
	must(t, err)
	addSession(t, r)
	fill(t, r)
}

// patiently does something again while another writer has the file: on a busy host, one may get no turn for as long as
// SQLite waits.
func patiently(t *testing.T, do func() error) (err error) {
	for err = do(); err != nil && strings.Contains(err.Error(), "another program") && t.Context().Err() == nil; {
		err = do()
	}
	return err
}

// TestTwoWriters: if two writers work on a file at once, neither loses a trial.
func TestTwoWriters(t *testing.T) {
	t.Parallel() // it waits for seconds
	r, path := create(t)
	must(t, r.Close())
	const writers, each = 2, 50
	var wg sync.WaitGroup
	errs := make(chan error, writers)
	for range writers {
		wg.Go(func() {
			var r *Run
			err := patiently(t, func() (err error) { r, err = Continue(t.Context(), path); return err })
			if err != nil {
				errs <- err
				return
			}
			defer r.Close()
			for b := range each {
				var id int64
				err := patiently(t, func() (err error) {
					id, err = r.Begin(Attempt{Session: 1, Guest: 1, Block: b, Workload: "cpu", Size: 1})
					return err
				})
				if err == nil {
					err = patiently(t, func() error { return r.Finish(id, outcome(1, 2000)) })
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	r, err := Continue(t.Context(), path)
	must(t, err)
	defer r.Close()
	if done := checkWhole(t, r, 2000); done != writers*each {
		t.Errorf("%d trials, want %d", done, writers*each)
	}
	// A writer that does not release the lock.
	_, err = r.db.Exec("BEGIN IMMEDIATE")
	must(t, err)
	if _, err := Continue(t.Context(), path); fault.KindOf(err) != fault.Host ||
		!strings.Contains(err.Error(), "another program") {
		t.Errorf("while another writes: %v", err)
	}
}

const writerEnv = "TARE_TEST_WRITER"

func TestMain(m *testing.M) {
	if path := os.Getenv(writerEnv); path != "" {
		fmt.Fprintln(os.Stderr, writeForever(path))
		os.Exit(1)
	}
	mounttest.Enter()
	os.Exit(m.Run())
}

const killedPrinted = 100_000

func writeForever(path string) error {
	r, err := Continue(context.Background(), path)
	if err != nil {
		return err
	}
	for b := 0; ; b++ {
		id, err := r.Begin(Attempt{Session: 1, Guest: 1, Block: b, Workload: "cpu", Size: 1})
		if err != nil {
			return err
		}
		fmt.Println(id)
		if err := r.Finish(id, outcome(float64(b+1), killedPrinted)); err != nil {
			return err
		}
	}
}

// TestKilledWriter repeatedly kills a writer of the same file with SIGKILL: every
// trial is stored whole or not at all, and none is lost that was reported as
// finished.
func TestKilledWriter(t *testing.T) {
	r, path := create(t)
	must(t, r.Close())
	self, err := os.Executable()
	must(t, err)
	before, journals := 0, 0
	for round := range 20 {
		cmd := exec.Command(self, "-test.run=^$")
		cmd.Env = append(os.Environ(), writerEnv+"="+path)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		begun := 0
		lines := bufio.NewScanner(out)
		for begun < 1+round%3 && lines.Scan() {
			begun++
		}
		time.Sleep(time.Duration(rand.IntN(8000)) * time.Microsecond)
		must(t, cmd.Process.Kill())
		for lines.Scan() {
			begun++
		}
		cmd.Wait()
		if stderr.Len() > 0 {
			t.Fatalf("the writer: %s", stderr.String())
		}
		if st, err := os.Stat(path + "-journal"); err == nil && st.Size() > 0 {
			journals++
		}
		r, err := openers[round%2](t.Context(), path)
		must(t, err)
		done := checkWhole(t, r, killedPrinted)
		// All trials that began are finished, except perhaps the last.
		if done < before+begun-1 {
			t.Errorf("round %d: %d trials began after %d, and %d are there", round, begun, before, done)
		}
		before = done
		must(t, r.Close())
	}
	t.Logf("%d trials; %d of 20 kills left a journal", before, journals)
}
