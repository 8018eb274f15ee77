package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/experiment"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/image"
	"github.com/tare-bench/tare/internal/keeper"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/run"
	"github.com/tare-bench/tare/internal/system"
)

// guestFlags say what guest to start.
type guestFlags struct {
	name, target, copyOf string
	flavors, options     []string
	destroy              []string
	yes                  bool
}

func (f *guestFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.name, "name", "", "name of the guest (default: the name of the system)")
	c.Flags().StringArrayVar(&f.flavors, "flavor", nil,
		"keys of a campaign's flavor, such as vcpus=2,memory=1GiB,network=bridged,net.packets=5000/s")
	c.Flags().StringArrayVar(&f.options, "option", nil, "an option of the system, such as cache=unsafe")
	c.Flags().StringVar(&f.target, "target", "", "the machine, for systems whose guests tare does not create")
	c.Flags().StringArrayVar(&f.destroy, "destroy", nil, "a block device of the flavor whose contents may be destroyed")
}

func newGuestStart(o *options) *cobra.Command {
	var f guestFlags
	c := &cobra.Command{
		Use:   "start SYSTEM",
		Short: "Start a guest that runs until tare guest rm",
		Long: `start creates a guest as a run does: the shared userland, limits, a fresh data
volume, and the system's own way to freeze it. A tare process, the keeper, stays and
owns the guest. When the keeper ends, for whatever reason, the whole guest is removed.`,
		Example: "  tare guest start lxc --name web --flavor vcpus=1,memory=256MiB,cpu_cap=50%\n" +
			"  tare guest start runc --flavor network=bridged,net.rate=50Mbit/s,net.packets=5000/s,io.read_ops=500/s\n" +
			"  tare guest start qemu-tcg --flavor backing=qcow2 --option cache=writeback",
		Args: cobra.ExactArgs(1),
	}
	f.add(c)
	yesFlag(c, &f.yes)
	c.RunE = func(cmd *cobra.Command, args []string) error { return startGuest(cmd, o, f, args) }
	return c
}

func newGuestClone(o *options) *cobra.Command {
	var name string
	var destroy []string
	var yes bool
	c := &cobra.Command{
		Use:   "clone GUEST",
		Short: "Start another guest of the same system and flavor, with a copy of its data",
		Long: `clone copies a guest's data volume and nothing else: not its memory, its processes
or its /tmp. It first flushes the guest's writes to the disk, and then freezes the
guest until the clone is up.`,
		Example: "  tare guest clone web --name web2",
		Args:    cobra.ExactArgs(1),
	}
	c.Flags().StringVar(&name, "name", "", "name of the clone (default: the name of the system)")
	c.Flags().StringArrayVar(&destroy, "destroy", nil, "a block device of the flavor whose contents may be destroyed")
	yesFlag(c, &yes)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		from, err := keeper.Find(args[0])
		if err != nil {
			return err
		}
		return startGuest(cmd, o, guestFlags{name: name, copyOf: from.Name, destroy: destroy, yes: yes},
			[]string{from.System})
	}
	return c
}

// startGuest starts a keeper and returns when its guest is up.
func startGuest(cmd *cobra.Command, o *options, f guestFlags, args []string) error {
	if os.Getuid() != 0 {
		return fault.WithRemedy(fault.Hostf("creating guests, mounts and control groups needs root"), "sudo tare guest …")
	}
	if d := (experiment.Disturbance{Residents: host.Read(host.Options{}).Residents}); len(d.Residents) > 0 {
		err := disturb(cmd, f.yes, d.Who()+
			"Until it is removed, the guest takes from them at most the CPUs, memory and disk of its flavor.\n")
		if err != nil {
			return err
		}
	}
	if _, err := image.Open(experiment.ImageDir(o.stateDir)); errors.Is(err, image.ErrNotBuilt) {
		base := experiment.Source{Recipe: image.Base()}
		if _, err := experiment.BuildImage(cmd.Context(), o.stateDir, base, showStep); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return fault.Hostf("%w", err)
	}
	log, err := os.CreateTemp("", "tare-keeper-*")
	if err != nil {
		return fault.Hostf("%w", err)
	}
	defer log.Close()
	if err := os.Remove(log.Name()); err != nil {
		return fault.Hostf("%w", err)
	}
	argv := []string{"--state", absolute(o.stateDir), "guest", "keep", args[0], "--name", f.name, "--target", f.target,
		"--copy-of", f.copyOf}
	for flag, values := range map[string][]string{"--flavor": f.flavors, "--option": f.options, "--destroy": f.destroy} {
		for _, v := range values {
			argv = append(argv, flag, v)
		}
	}
	k := exec.Command(self, argv...)
	k.Stdout, k.Stderr = log, log
	k.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it outlives the terminal
	if err := k.Start(); err != nil {
		return fault.Hostf("%w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- k.Wait() }()
	return awaitGuest(cmd, o, k.Process, ended, log)
}

// awaitGuest waits until the guest of a keeper is up; log is the keeper's output.
func awaitGuest(cmd *cobra.Command, o *options, k *os.Process, ended chan error, log io.ReaderAt) error {
	for {
		select {
		case err := <-ended:
			_, _ = io.Copy(cmd.ErrOrStderr(), io.NewSectionReader(log, 0, 1<<20))
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.Exited() {
				return exitStatus(exit.ExitCode())
			}
			return fault.Hostf("the guest's keeper ended: %v", err)
		case <-cmd.Context().Done():
			_ = k.Signal(syscall.SIGTERM) // it ends the guest, too
			<-ended
			return cmd.Context().Err()
		case <-time.After(50 * time.Millisecond):
		}
		for _, g := range keeper.List() {
			if g.Keeper == k.Pid && g.State != keeper.Starting {
				fmt.Fprintf(cmd.OutOrStdout(), "guest %s (%s) is up; use tare guest exec, console, freeze, clone, rm\n", g.Name,
					g.System)
				return nil
			}
		}
	}
}

// newGuestKeep is the keeper itself.
func newGuestKeep(o *options) *cobra.Command {
	var f guestFlags
	c := &cobra.Command{Use: "keep SYSTEM", Short: "Own a guest (the process that start leaves running)",
		Args: cobra.ExactArgs(1), Hidden: true}
	f.add(c)
	c.Flags().StringVar(&f.copyOf, "copy-of", "", "guest to copy the system, flavor and data from")
	work := inSandbox(o, func(cmd *cobra.Command, args []string) error { return keepGuest(cmd, o, f, args[0]) })
	c.RunE = func(cmd *cobra.Command, args []string) error {
		keeper.Announce()
		return work(cmd, args)
	}
	return c
}

func keepGuest(cmd *cobra.Command, o *options, f guestFlags, name string) error {
	t, err := openTestbed(o)
	if err != nil {
		return err
	}
	defer t.Close()
	t.Host.Destroy = f.destroy
	s := keeper.Status{Name: f.name, System: name, CopyOf: f.copyOf}
	release := func() {}
	if f.copyOf != "" {
		from, err := keeper.Find(f.copyOf)
		if err != nil {
			return err
		}
		held, free, err := from.Hold(cmd.Context())
		if err != nil {
			return err
		}
		release = sync.OnceFunc(free)
		s.Request, t.Host.CopyData = held.Request, held.Data
	} else if s.Request, err = requestOf(cmd.Context(), t, f, name); err != nil {
		return err
	}
	defer release()
	err = keeper.Keep(cmd.Context(), t.Instance, s, func(ctx context.Context) (*system.Machine, error) {
		defer release()
		return system.Launch(ctx, t.Drivers[name], t.Host, "guest", s.Request)
	})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// requestOf reads the flags and checks them as the reader of campaigns would.
func requestOf(ctx context.Context, t *experiment.Testbed, f guestFlags, name string) (system.Request, error) {
	one := campaign.One{System: name, Target: f.target}
	for into, texts := range map[*[]model.Setting][]string{&one.Flavor: f.flavors, &one.Options: f.options} {
		for _, text := range texts {
			s, ok := model.ParseSettings(text)
			if !ok {
				return system.Request{}, fault.Campaignf("%q: must be key=value,key=value", text)
			}
			*into = append(*into, s...)
		}
	}
	// What the host lacks can be found out only for networks, data volumes and devices that are known.
	known := t.Known(t.Check(ctx, []string{name}), experiment.HostOf(t.Environment(nil)))
	draft, arm, err := campaign.ParseOne(one, known)
	if err != nil {
		return system.Request{}, err
	}
	known.Host.Lacks = t.Lacks(&campaign.Campaign{Flavors: []model.Flavor{draft}, Arms: []campaign.Arm{arm}})
	flavor, arm, err := campaign.ParseOne(one, known)
	if err != nil {
		return system.Request{}, err
	}
	flavor.Name = ""
	flavor, err = run.WithCPUs(flavor, 0)
	return system.Request{Flavor: flavor, Target: arm.Target, Options: model.Values(arm.Options)}, err
}
