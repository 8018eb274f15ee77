package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/store/crash"
)

// crashBlocks is the number of trials of a run that crashes, and crashPrinted their output in bytes:
// several pages.
const (
	crashBlocks  = 3
	crashPrinted = 9000
)

// ways is in how many ways the tests fail each operation: in one, each in turn, or with TARE_SOAK set
// in all.
func ways(n int) int {
	if os.Getenv("TARE_SOAK") != "" {
		return n
	}
	return 1
}

// promise is what tare knew after one call of this package returned.
type promise struct {
	ops     int  // operations of the disk so far
	created bool // Create has returned
	done    int  // trials whose Finish has returned
}

// measure makes a run in dir, or continues it, until it is complete or something fails. Each call
// that returns is a promise.
func measure(dir string, made func(created bool, done int)) (err error) {
	path := filepath.Join(dir, "run.tare")
	var r *Run
	if begun, e := Begun(path); e != nil {
		return e
	} else if begun {
		r, err = Continue(context.Background(), path)
	} else {
		r, err = Create(path, map[string][]byte{DocCampaign: []byte("{}")}, testArms, testMetrics)
	}
	if err != nil {
		return err
	}
	defer func() {
		if e := r.Close(); err == nil {
			err = e
		}
	}()
	finished := map[int]bool{}
	for trial, err := range r.Trials() {
		if err != nil {
			return err
		}
		if trial.Status == Done {
			finished[trial.Block] = true
		}
	}
	made(true, len(finished))
	session, err := r.BeginSession("boot", "1")
	if err != nil {
		return err
	}
	for block := range crashBlocks {
		if finished[block] {
			continue
		}
		id, err := r.Begin(Attempt{Session: session, Block: block, Workload: "cpu", Size: 1})
		if err == nil {
			err = r.Finish(id, outcome(1, crashPrinted))
		}
		if err != nil {
			return err
		}
		finished[block] = true
		made(true, len(finished))
	}
	return nil
}

// checkResumes checks what a crash has left in dir against the last promise before it, and that
// the run can be completed: each trial is there once.
func checkResumes(t *testing.T, dir string, p promise) error {
	t.Helper()
	path := filepath.Join(dir, "run.tare")
	r, err := Continue(t.Context(), path)
	if err != nil {
		if p.created || fault.KindOf(err) != fault.Campaign {
			return fmt.Errorf("after Create returned (%v): %w", p.created, err)
		}
	} else { // its run began
		done := checkWhole(t, r, crashPrinted)
		must(t, r.Close())
		if done < p.done || done > p.done+1 {
			return fmt.Errorf("%d trials are there, and %d were reported as done", done, p.done)
		}
	}
	if err := measure(dir, func(bool, int) {}); err != nil {
		return fmt.Errorf("continued: %w", err)
	}
	r, err = Open(t.Context(), path)
	must(t, err)
	defer r.Close()
	times := map[int]int{}
	for trial, err := range r.Trials() {
		must(t, err)
		if trial.Status == Done {
			times[trial.Block]++
		}
	}
	for block := range crashBlocks {
		if times[block] != 1 {
			return fmt.Errorf("in the end, the trials of each block: %v", times)
		}
	}
	return nil
}

// TestPowerLoss loses the power after every single operation on the run file and its journal. What
// was not synced is there, or not, or is garbage, sector by sector; a killed process is the case
// in which everything is there.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := crash.Watch(t, dir)
	promises := []promise{{}}
	must(t, measure(dir, func(created bool, done int) {
		promises = append(promises, promise{d.Ops(), created, done})
	}))
	fates := []func(seed uint64) func() crash.Fate{
		func(uint64) func() crash.Fate { return crash.All },
		func(uint64) func() crash.Fate { return crash.Nothing },
		crash.Random, crash.Random, crash.Random,
	}
	cases := 0
	for n := range d.Ops() + 1 {
		var last promise
		for _, p := range promises {
			if p.ops <= n {
				last = p
			}
		}
		for way := range ways(len(fates)) {
			way = (n + way) % len(fates)
			after := t.TempDir()
			crash.Watch(t, after) // for its speed
			d.PowerLoss(t, n, fates[way](uint64(n*len(fates)+way)), after)
			if _, err := os.Stat(filepath.Join(after, "run.tare")); err != nil && !last.created {
				continue // its run never began
			}
			if err := checkResumes(t, after, last); err != nil {
				t.Fatalf("power lost after operation %d of %d, in way %d: %v", n, d.Ops(), way, err)
			}
			cases++
		}
	}
	t.Logf("%d operations, %d power losses", d.Ops(), cases)
}

// TestDiskFails fails every single operation on the run file and its journal, once or from then on.
// tare ends the run at the first error, and continues it on a disk that works.
func TestDiskFails(t *testing.T) {
	t.Parallel()
	kinds := []struct {
		name   string
		code   int32
		sticky bool
	}{
		{"input/output error", crash.IOError, false}, {"the disk is gone", crash.IOError, true},
		{"full", crash.Full, false}, {"full from then on", crash.Full, true},
	}
	step := len(kinds) / ways(len(kinds))
	for i, kind := range kinds {
		failed := 0
		for n := i % step; ; n += step {
			dir := t.TempDir()
			d := crash.Watch(t, dir)
			d.Fail(n, kind.code, kind.sticky)
			var last promise
			err := measure(dir, func(created bool, done int) { last = promise{d.Ops(), created, done} })
			if d.Ops() <= n {
				must(t, err)
				break
			}
			d.Repair()
			if err != nil {
				failed++
				if fault.KindOf(err) != fault.Host {
					t.Fatalf("%s at operation %d: not the host's fault: %v", kind.name, n, err)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "run.tare")); err != nil && !last.created {
				continue
			}
			if err := checkResumes(t, dir, last); err != nil {
				t.Fatalf("%s at operation %d: %v", kind.name, n, err)
			}
		}
		if failed == 0 {
			t.Errorf("%s: nothing failed", kind.name)
		}
		t.Logf("%s: %d errors", kind.name, failed)
	}
}

// TestWriterSurvivesFailure: a trial whose journalling failed can be journalled once more when the disk
// works again, and by the same writer.
func TestWriterSurvivesFailure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := crash.Watch(t, dir)
	r, err := Create(filepath.Join(dir, "run.tare"), map[string][]byte{DocCampaign: []byte("{}")}, testArms, testMetrics)
	must(t, err)
	defer r.Close()
	session := addSession(t, r)
	failures := 0
	for n := range 30 {
		id, err := r.Begin(Attempt{Session: session, Guest: 1, Block: n, Workload: "cpu", Size: 1})
		must(t, err)
		d.Fail(d.Ops()+n, crash.Full, true)
		err = r.Finish(id, outcome(1, crashPrinted))
		d.Repair()
		if err != nil {
			failures++
			if fault.KindOf(err) != fault.Host {
				t.Errorf("operation %d: not the host's fault: %v", n, err)
			}
			must(t, r.Finish(id, outcome(1, crashPrinted)))
		}
	}
	if done := checkWhole(t, r, crashPrinted); done != 30 || failures == 0 {
		t.Errorf("%d trials after %d failures", done, failures)
	}
}
