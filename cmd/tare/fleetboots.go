package main

import (
	"context"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/experiment"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/fleet"
	"github.com/tare-bench/tare/internal/fleet/remote"
)

// otherBoot reports whether a run continues in another boot of its machine.
func otherBoot(s remote.Status) bool {
	return s.State == remote.Ended && s.Code == fault.ExitOtherBoot
}

// follow waits until a run is over. With --reboot, it takes the machine through the boots that the run needs.
func (b *batch) follow(ctx context.Context, m fleet.Member, h remote.Host, s remote.Status) (
	_ remote.Status, seen time.Time, err error) {
	seen = time.Now()
	if b.flags.reboot && otherBoot(s) { // the machine may have been booted since
		s, err = h.Resume(ctx, b.run, b.campaign, b.args...)
	}
	var reboots fleet.Reboots
	for err == nil {
		if !s.Over() {
			b.say(m, statusText(s))
			if s, seen, err = waitFor(ctx, h, b.run, b.flags.poll); err != nil {
				break
			}
		}
		if !b.flags.reboot || !otherBoot(s) {
			break
		}
		next, trials, e := b.nextBoot(ctx, m, h)
		if e == nil {
			e = reboots.Into(next.Name, next.Entry, trials, "tare fleet run --reboot")
		}
		if e != nil {
			return s, seen, e
		}
		b.say(m, "reboots into "+next.Name)
		if err = b.reboot(ctx, h, next); err == nil {
			seen = time.Now()
			s, err = h.Resume(ctx, b.run, b.campaign, b.args...)
		}
	}
	return s, seen, err
}

// nextBoot is the boot in which a run continues, and how many trials it has. The run file comes to where tare fleet
// fetch puts it, so a command that is killed leaves nothing else.
func (b *batch) nextBoot(ctx context.Context, m fleet.Member, h remote.Host) (
	next campaign.Boot, trials int, err error) {
	path := b.runFile(m)
	if _, err := h.Fetch(ctx, b.run, path); err != nil {
		return next, 0, err
	}
	next, trials, err = experiment.NextBoot(ctx, path)
	if err == nil {
		err = checkEntry(next, "")
	}
	return next, trials, err
}

// reboot boots a machine, and waits until it is there in another boot.
func (b *batch) reboot(ctx context.Context, h remote.Host, next campaign.Boot) error {
	from, err := h.Booted(ctx)
	if err == nil {
		err = h.Reboot(ctx, from, next.Entry)
	}
	if err != nil {
		return err
	}
	for begin := time.Now(); ; {
		now, err := h.Booted(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && now != from:
			return nil
		case time.Since(begin) >= b.flags.patience:
			why := "it is still in the same boot"
			if err != nil { // of any kind: a machine that goes down refuses logins
				why = err.Error()
			}
			return fault.WithRemedy(fault.Hostf("no other boot within %s: %s", b.flags.patience, why),
				"see its console; tare fleet run --reboot goes on when it is up")
		}
		select {
		case <-ctx.Done():
		case <-time.After(b.flags.poll):
		}
	}
}
