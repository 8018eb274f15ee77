package xen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/xenctl"
)

// guest is a domain together with the xl process that monitors it.
type guest struct {
	*system.Process
	site    *system.Site
	config  string
	root    rootDisk
	store   *xenctl.Store
	domain  int
	console *console
	stream  net.Conn

	saved bool // its domain is gone, and only its site is left
	close sync.Once
	err   error
}

// join finds the domain that xl creates or, if the guest is restored, restores, and connects to its second console.
func (g *guest) join(ctx context.Context, restored bool) error {
	var err error
	if g.store, err = xenctl.OpenStore(); err != nil {
		return err
	}
	if err = poll(ctx, g.Exited(), errGaveUp, g.find); err != nil {
		return err
	}
	if err := attach(ctx, g.store, g.domain, disksOf(g.site, g.root.path), g.Exited()); err != nil {
		return err
	}
	if err := plug(ctx, g.store, g.domain, g.site.Port, g.Exited()); err != nil {
		return err
	}
	if g.console, err = newConsole(g.store, g.domain); err != nil {
		return err
	}
	g.stream = g.console.conn()
	go func() { // a domain that is gone cannot signal it
		<-g.Exited()
		g.console.hangUp(errEnded)
	}()
	if err := g.console.connect(ctx, g.Exited(), restored); err != nil {
		return err
	}
	return g.greet(ctx)
}

var (
	errEnded  = errors.New("the domain has ended")
	errGaveUp = fault.Guestf("xl failed to create the domain")
)

// find reports whether xl has given the domain its name yet.
func (g *guest) find() (found bool, err error) {
	ids, err := g.store.DomainIDs()
	if err == nil {
		g.domain, found = ids[g.site.ID]
	}
	return found, err
}

// greet waits for the zero byte which the agent sends when its end of the console is in raw mode.
func (g *guest) greet(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { g.console.hangUp(context.Cause(ctx)) })
	defer stop()
	b := []byte{0xff}
	if _, err := g.stream.Read(b); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fault.Guestf("it ended before its agent answered")
	}
	if b[0] != 0 {
		return fault.Guestf("its second console sent %q instead of the agent's zero byte", b)
	}
	return nil
}

func (g *guest) Conn() net.Conn { return g.stream }

// CommandLine includes the domain's configuration, since xl's arguments contain nothing of it.
func (g *guest) CommandLine() []string {
	return slices.Concat(g.Process.CommandLine(), strings.Split(strings.TrimSpace(g.config), "\n"))
}

// Freeze makes Xen stop scheduling the domain's virtual CPUs; its clock continues.
func (g *guest) Freeze(ctx context.Context) error { return g.pause(ctx, "pause", true) }

func (g *guest) Thaw(ctx context.Context) error { return g.pause(ctx, "unpause", false) }

func (g *guest) pause(ctx context.Context, command string, want bool) error {
	if err := xl(ctx, command, strconv.Itoa(g.domain)); err != nil {
		return fault.Guestf("%w", err)
	}
	d, err := xenctl.DomainByID(g.domain)
	if err == nil && d.Paused != want {
		err = fault.Guestf("xl %s did not change the domain's state", command)
	}
	return err
}

// Cap limits the domain's virtual CPUs together. The rest of its cost is dom0's work, which a
// domain's cap does not cover.
func (g *guest) Cap(ctx context.Context, cpus float64) error {
	info, err := xlInfo(ctx)
	if err != nil {
		return err
	}
	command, err := schedulerCommand(info["xen_scheduler"])
	if err != nil {
		return err
	}
	return xl(ctx, command, "-d", strconv.Itoa(g.domain), "-c", fmt.Sprintf("%.0f", cpus*100))
}

// Usage is the CPU time of the domain, of the xl process that monitors it, and of its device model
// if it has one. It excludes the work of dom0's kernel for the domain's disks and network. A restored
// guest is a new domain, which begins at 0.
func (g *guest) Usage() (cgroup.Usage, error) {
	if g.saved {
		return g.site.Group.Usage()
	}
	d, err := xenctl.DomainByID(g.domain)
	if err != nil {
		return cgroup.Usage{}, err
	}
	u, err := g.site.Group.Usage()
	return cgroup.Usage{CPU: u.CPU + d.CPU}, err
}

func (g *guest) Written() (int64, error) { return g.site.Volume.Written() }

// destroyTimeout is how long destroying a domain may take.
const destroyTimeout = time.Minute

func (g *guest) Close() error {
	g.close.Do(func() { g.err = errors.Join(g.end(), g.site.Group.Remove()) })
	return g.err
}

// end ends everything of the guest but its site.
func (g *guest) end() error {
	var errs []error
	// A domain cannot disappear while its page is mapped here.
	if g.console != nil {
		errs = append(errs, g.console.Close())
	}
	if g.store != nil {
		errs = append(errs, g.destroy(), g.store.Close())
	}
	errs = append(errs, g.Kill())
	g.root.close()
	return errors.Join(errs...)
}

// destroy ends the domain, if xl has created one, and waits until it is gone.
func (g *guest) destroy() error {
	ids, err := g.store.DomainIDs()
	if err != nil {
		return err
	}
	id, ok := ids[g.site.ID]
	if !ok {
		return nil
	}
	stays := fault.Hostf("domain %d (%s) does not disappear: something still holds its memory", id, g.site.ID)
	ctx, cancel := context.WithTimeoutCause(context.Background(), destroyTimeout, stays)
	defer cancel()
	if err := destroy(ctx, g.site.ID); err != nil {
		return err
	}
	return poll(ctx, nil, nil, gone(id))
}
