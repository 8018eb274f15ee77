package run

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/workload"
)

// kept is what is known of a guest that is restored from before that.
type kept struct {
	program *service // it has the nonce in its memory
	nonce   string
	fresh   time.Duration // how long the guest took to start
	saved   system.Saved
	stop    context.CancelFunc // abandons the program
}

// add adds the metrics of the time before the guest was restored.
func (k *kept) add(metrics map[string]float64) {
	metrics[workload.FreshTime] = k.fresh.Seconds()
	metrics[workload.SaveTime] = k.saved.Time.Seconds()
	metrics[workload.SaveTime+workload.FlushedSuffix] = k.saved.Flushed.Seconds()
	metrics[workload.SavedSize] = float64(k.saved.Bytes)
}

// stopKeeping abandons the programs of guests whose trial ended early.
func stopKeeping(members []*member) {
	for _, m := range members {
		if m.x.kept != nil {
			m.x.kept.stop()
		}
	}
}

// saveOne starts a guest as the workload start does, starts the program in it that keeps a nonce, and saves it.
func (r *runner) saveOne(ctx context.Context, m *member, w *workload.Workload, size int64) error {
	machine := m.guest.machine
	if err := machine.Start(ctx); err != nil {
		return err
	}
	steps := map[string]workload.Step{}
	for _, s := range w.Steps(size) {
		steps[s.Name] = s
	}
	if err := r.firstProgram(ctx, m, steps[workload.FreshStep]); err != nil {
		return err
	}
	marks, err := m.startMarks(workload.FreshStep)
	if err != nil {
		return err
	}
	k := &kept{nonce: rand.Text(), fresh: marks.whole()}
	step := steps[workload.KeepStep]
	cmd := commandOf(step, machine)
	cmd.Stdin, cmd.Timeout, cmd.OutputLimit = []byte(k.nonce+"\n"), r.Campaign.Timeout, leastOutput
	running, stop := context.WithCancel(ctx)
	k.stop, k.program, m.x.kept = stop, startService(running, machine, step, cmd), k
	k.program.grace = r.Campaign.Timeout
	cmd.Stdin = nil
	late, err := k.program.ready(ctx, cmd)
	if err == nil {
		err = late
	}
	if err != nil {
		return err
	}
	select {
	case <-k.program.ended:
		return fault.Guestf("step %s ended before the guest was saved%s", step.Name, k.said())
	default:
	}
	k.saved, err = machine.Save(ctx)
	return err
}

// warm reads the saved state into the page cache. What a guest writes as it is saved counts as its memory, so a guest
// that uses most of what it may have leaves only a part of its state there.
func (k *kept) warm() error {
	for _, name := range k.saved.Files {
		f, err := os.Open(name)
		if err != nil {
			return fault.Hostf("what the guest saved: %w", err)
		}
		_, err = io.Copy(io.Discard, f)
		_ = f.Close() // it was only read
		if err != nil {
			return fault.Hostf("what the guest saved: %w", err)
		}
	}
	return nil
}

// said is what the program said as it ended, for a message.
func (k *kept) said() string {
	if k.program.err != nil {
		return ": " + k.program.err.Error()
	}
	return stepResult("", k.program.res).Said()
}

// recall has the program of a restored guest print what it keeps. A guest whose program does not know the nonce
// is not the one that was saved.
func (m *member) recall(ctx context.Context) error {
	k := m.x.kept
	result, err := k.program.stop(ctx)
	if err != nil {
		return fault.Guestf("the program that ran as the guest was saved does not answer: %w", err)
	}
	first, rest, _ := strings.Cut(string(result.Stdout), "\n")
	if first != k.nonce {
		return fault.Guestf("the guest is not the one that was saved: its program did not keep its nonce%s", result.Said())
	}
	k.program.res.Stdout, result.Stdout = []byte(rest), []byte(rest) // the same in every run
	result.Stopped = false                                           // it ends by itself, and must have succeeded
	m.x.steps = append(m.x.steps, storeStep(k.program.step, k.program.res))
	m.x.results = append(m.x.results, result)
	return nil
}
