package run

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/store/crash"
)

// doneTrials returns the trials that are done, by what they are, and fails the test if one is done
// twice.
func doneTrials(t *testing.T, s *store.Run) map[string]bool {
	t.Helper()
	done := map[string]bool{}
	for trial, err := range s.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		if trial.Status != store.Done {
			continue
		}
		name := fmt.Sprint(trial.Workload, trial.Block, trial.Arm)
		if done[name] {
			t.Errorf("%s is done twice", name)
		}
		done[name] = true
	}
	return done
}

// resume completes the run in a file, and checks that every trial is done once and that those in
// before are among them.
func resume(t *testing.T, b *bench, path string, before int) error {
	t.Helper()
	s, err := store.Continue(t.Context(), path)
	if err != nil {
		return err
	}
	defer s.Close()
	if n := len(doneTrials(t, s)); n < before {
		return fmt.Errorf("%d trials are there of %d that were reported as done", n, before)
	}
	b.config.Store = s
	summary, err := b.run(t.Context())
	if err != nil || !summary.Complete {
		return fmt.Errorf("resumed: %+v, %w", summary, err)
	}
	if n := len(doneTrials(t, s)); n != 12 { // 4 blocks of 3 arms
		return fmt.Errorf("%d trials are done in the end", n)
	}
	return nil
}

// crashMoments is at how many moments of a run the tests here fail it.
const crashMoments = 9

// TestPowerLoss loses the power at moments of a whole run, and resumes it: every trial is done
// once, and none is lost that was reported as done.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := crash.Watch(t, dir)
	b := newBenchIn(t, dir, yaml)
	created := d.Ops()
	var reported []int // at which operation each trial was
	b.config.Progress = func(e Event) {
		if e.Kind == TrialDone {
			reported = append(reported, d.Ops())
		}
	}
	if s, err := b.run(t.Context()); err != nil || !s.Complete {
		t.Fatalf("%+v, %v", s, err)
	}
	b.config.Progress = func(Event) {}
	for moment := range crashMoments {
		n := created + (d.Ops()-created)*moment/crashMoments
		before := 0
		for _, at := range reported {
			if at <= n {
				before++
			}
		}
		fates := []func() crash.Fate{crash.Nothing, crash.Random(uint64(n)), crash.All}
		after := t.TempDir()
		d.PowerLoss(t, n, fates[moment%len(fates)], after)
		if err := resume(t, b, filepath.Join(after, "test.tare"), before); err != nil {
			t.Fatalf("power lost after operation %d of %d: %v", n, d.Ops(), err)
		}
	}
	t.Logf("%d operations, %d trials reported as done", d.Ops(), len(reported))
}

// TestDiskFills fills the disk at moments of a whole run, which ends with an error of the host; it
// is resumed when there is room again.
func TestDiskFills(t *testing.T) {
	t.Parallel()
	for moment := range crashMoments {
		dir := t.TempDir()
		d := crash.Watch(t, dir)
		b := newBenchIn(t, dir, yaml)
		reported := 0
		b.config.Progress = func(e Event) {
			if e.Kind == TrialDone {
				reported++
			}
		}
		n := d.Ops() + 3 + 61*moment
		d.Fail(n, crash.Full, true)
		_, err := b.run(t.Context())
		d.Repair()
		if fault.KindOf(err) != fault.Host {
			t.Fatalf("full at operation %d: %v", n, err)
		}
		before := reported
		if err := b.config.Store.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
		if err := resume(t, b, b.path, before); err != nil {
			t.Fatalf("full at operation %d: %v", n, err)
		}
	}
}
