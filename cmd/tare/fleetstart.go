package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/experiment"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/fleet"
	"github.com/tare-bench/tare/internal/fleet/remote"
	"github.com/tare-bench/tare/internal/image"
)

// batch starts the run of a fleet on its machines.
type batch struct {
	*remoteFleet
	program remote.Program
	image   *exportable // nil: each machine must have it, or build it
	flags   fleetFlags
	logins  chan struct{}       // held while a machine is prepared
	offLine map[string][]string // machines that are left out, and why
	out     io.Writer
	says    sync.Mutex
}

// exportable is an image to send to machines.
type exportable struct {
	*image.Image
	index image.Index
}

// imageHere is the image of the fleet's campaign if it is built here and can be read; else it says what that means.
func (r *remoteFleet) imageHere(ctx context.Context, w io.Writer, stateDir string) (*image.Image, error) {
	c, err := campaign.Parse(r.Campaign, r.campaign, experiment.KnownAnywhere())
	if err != nil {
		return nil, err
	}
	source, err := experiment.SourceOf(ctx, stateDir, c)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	img, err := image.OpenRecipe(experiment.ImageDir(stateDir), source.Recipe)
	why := ""
	switch {
	case errors.Is(err, image.ErrNotBuilt):
		why = fmt.Sprintf("is not built here (%s builds it)", strings.TrimSpace("tare image "+r.Campaign))
	case errors.Is(err, os.ErrPermission):
		why = "can be read only by root"
	default:
		return img, err
	}
	fmt.Fprintf(w, "note: the userland image %s: machines that do not have it build it themselves, which needs "+
		"mmdebstrap and a Debian mirror\n", why)
	return nil, nil
}

// openImage is the image to send.
func (r *remoteFleet) openImage(ctx context.Context, w io.Writer, stateDir string) (*exportable, error) {
	img, err := r.imageHere(ctx, w, stateDir)
	if err != nil || img == nil {
		return nil, err
	}
	x, err := img.Index(ctx)
	if err != nil {
		return nil, err
	}
	return &exportable{img, x}, nil
}

func (b *batch) say(m fleet.Member, text string) {
	b.says.Lock()
	defer b.says.Unlock()
	io.WriteString(b.out, lineOf(m, text))
}

// start starts the run on all machines, never on more than Busy at once.
func (b *batch) start(ctx context.Context) error {
	b.logins = make(chan struct{}, mostLogins)
	places := make(chan struct{}, len(b.Machines))
	if b.Busy > 0 {
		places = make(chan struct{}, b.Busy)
	}
	errs := make([]error, len(b.Machines))
	var all sync.WaitGroup
	for i, m := range b.Machines {
		all.Go(func() {
			if why := b.offLine[m.Name]; why != nil {
				errs[i] = fault.Hostf("%s", offLine(why))
				b.say(m, offLine(why))
				return
			}
			if errs[i] = b.serve(ctx, m, places); errs[i] != nil && ctx.Err() == nil {
				b.say(m, errs[i].Error())
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return stopped(b.out)
	}
	return failedOn(b.Machines, errs)
}

// serve brings a machine's run to its end, or to its start if nobody waits for it. While the machine cannot be reached,
// it leaves its place to others, though it may measure.
func (b *batch) serve(ctx context.Context, m fleet.Member, places chan struct{}) error {
	lost := time.Now()
	for pause := b.flags.poll; ; pause = min(2*pause, max(b.flags.poll, 5*time.Minute)) {
		if err := take(ctx, places); err != nil {
			return err
		}
		seen, err := b.visit(ctx, m)
		<-places
		if !errors.Is(err, remote.ErrNoConnection) {
			return err
		}
		if !seen.IsZero() {
			lost, pause = seen, b.flags.poll
		}
		if time.Since(lost) >= b.flags.patience {
			return err
		}
		what, _, _ := strings.Cut(err.Error(), "\n") // without the remedy: the machine may only be off
		b.say(m, fmt.Sprintf("%s; it is tried again in %s", what, pause))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

func take(ctx context.Context, places chan struct{}) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case places <- struct{}{}:
		return nil
	}
}

// visit starts a machine's run, unless it was started before, and waits for its end if that is asked for. It returns
// when the machine was last reached.
func (b *batch) visit(ctx context.Context, m fleet.Member) (seen time.Time, err error) {
	h := b.host(m)
	s, err := b.startOn(ctx, m, h)
	if err != nil {
		return seen, err
	}
	seen = time.Now()
	// The place of a machine is free when its run is over.
	if b.flags.wait || b.flags.reboot || b.Busy > 0 && b.Busy < len(b.Machines) {
		if s, seen, err = b.follow(ctx, m, h, s); err != nil {
			return seen, err
		}
	}
	switch {
	case otherBoot(s):
		return seen, fault.WithRemedy(fault.Hostf("%s", statusText(s)), "tare fleet run --reboot reboots the machine")
	case s.Over() && !s.Complete():
		return seen, fault.Hostf("%s", statusText(s))
	}
	b.say(m, statusText(s))
	return seen, nil
}

// startOn brings to a machine what its run needs, and starts it.
func (b *batch) startOn(ctx context.Context, m fleet.Member, h remote.Host) (remote.Status, error) {
	if err := take(ctx, b.logins); err != nil {
		return remote.Status{}, err
	}
	defer func() { <-b.logins }()
	s, err := h.Status(ctx, b.run)
	if err == nil && s.State == remote.Absent {
		if err = h.Install(ctx, b.program); err == nil && b.image != nil {
			err = b.sendImage(ctx, m, h)
		}
	}
	if err != nil {
		return remote.Status{}, err
	}
	return h.Start(ctx, b.program, b.run, b.campaign, b.args...)
}

// sendImage sends the image, unless the machine has it. What arrived before a connection broke is not sent again.
func (b *batch) sendImage(ctx context.Context, m fleet.Member, h remote.Host) error {
	return h.Talk(ctx, b.program, func(w io.Writer, r io.Reader) error {
		sent, disk, err := b.image.SendTo(ctx, b.image.index, w, r)
		switch {
		case err != nil:
			return err
		case sent > 0:
			b.say(m, fmt.Sprintf("%d of %d chunks of the userland image were copied", sent, len(b.image.index.Chunks)))
		case disk != b.image.index.DiskSHA256:
			b.say(m, "it keeps the userland image that it built itself: versions of packages may differ; to send it this "+
				"one, remove "+filepath.Join("images", b.image.index.Name)+" from its state directory")
		}
		return nil
	}, "image", "import", "-")
}

// unanswered is how many questions in a row a machine may leave unanswered before others get its place.
const unanswered = 3

// waitFor waits until a run is over. It returns an error when the machine cannot be reached any longer, which may still
// measure, and when it was last reached.
func waitFor(ctx context.Context, h remote.Host, run string, poll time.Duration) (
	s remote.Status, seen time.Time, err error) {
	seen = time.Now()
	for failed := 0; ; {
		select {
		case <-ctx.Done():
			return s, seen, errors.Join(err, ctx.Err())
		case <-time.After(poll):
		}
		s, err = h.Status(ctx, run)
		switch {
		case err == nil && s.State != remote.Running:
			return s, seen, nil
		case err == nil:
			failed, seen = 0, time.Now()
		case !errors.Is(err, remote.ErrNoConnection):
			return s, seen, err
		default:
			if failed++; failed == unanswered {
				return s, seen, err
			}
		}
	}
}
