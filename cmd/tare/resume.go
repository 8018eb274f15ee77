package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/instance"
	"github.com/tare-bench/tare/internal/store"
)

func newResume(o *options) *cobra.Command {
	var reboot bool
	var booted string
	var destroy []string
	c := &cobra.Command{
		Use:     "resume RUN",
		Short:   "Go on with a run that was interrupted or killed",
		Example: "  tare resume quick-20060102-150405.tare",
		Args:    cobra.ExactArgs(1),
	}
	c.Flags().BoolVar(&reboot, "reboot", false, "reboot this machine where the run needs another boot")
	addDestroy(c, &destroy)
	c.Flags().StringVar(&booted, "booted", "", "the boot that this is meant to be")
	if err := c.Flags().MarkHidden("booted"); err != nil { // it is for the unit that goes on after a reboot
		panic(err)
	}
	c.RunE = thenReboot(o, &reboot, func(args []string) string { return args[0] }, inSandbox(o, func(cmd *cobra.Command, args []string) error {
		return resume(cmd, o, args[0], booted, destroy, reboot)
	}))
	return c
}

func resume(cmd *cobra.Command, o *options, path, booted string, destroy []string, reboot bool) error {
	s, err := store.Open(path, true)
	if err != nil {
		return err
	}
	defer s.Close()
	c, err := analyze.CampaignOf(s)
	if err != nil {
		return err
	}
	if err := checkDestroy(c, destroy, reboot); err != nil {
		return err
	}
	t, err := newTestbed(o)
	if err != nil {
		return err
	}
	defer t.Close()
	t.host.Destroy = destroy
	recipe, err := recipeOf(c)
	if err != nil {
		return err
	}
	key, err := imageKey(s)
	if err != nil {
		return err
	}
	if err := t.needImageOf(cmd.Context(), o, path, key, recipe); err != nil {
		return err
	}
	lock, err := instance.Lock("resuming " + absolute(path) + " since " + time.Now().Format(time.DateTime))
	if err != nil {
		return err
	}
	defer lock.Close()
	env := t.environment()
	boot := bootOf(env)
	if booted != "" && booted != boot {
		return fault.WithRemedy(fault.Hostf("this host was to come up as %s and came up as %s", booted, boot),
			"see that the entry of GRUB's menu is right; boot it by hand, then tare resume %s", path)
	}
	if err := sameGround(s, t, c, env); err != nil {
		return err
	}
	for what, why := range t.lacks(c) {
		return fault.Hostf("the run cannot go on: %s: %s", what, why)
	}
	p := t.plan(c, env)
	status := t.checkFor(cmd.Context(), c, boot)
	for _, a := range p.InBoot(boot) {
		st, known := status[a.System]
		if !known {
			return fault.Campaignf("%s: arm %s is of system %q, which this tare does not know", path, a.Name, a.System)
		}
		if !st.Usable {
			return fault.WithRemedy(fault.Hostf("arm %s cannot go on: %s is no longer usable: %s", a.Name, a.System, st.Reason), "%s", st.Remedy)
		}
	}
	workloads, err := t.workloads(c)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "resuming campaign %s, seed %d, in %s\n", c.Name, c.Seed, path)
	return measure(cmd, t, s, c, p, workloads, env)
}

// sameGround refuses to mix measurements of different machines or userlands in one run.
func sameGround(s *store.Run, t *testbed, c *campaign.Campaign, now *host.Environment) error {
	var env host.Environment
	var userland struct{ Key string }
	described := store.DocEnvironment
	if len(c.Boots) > 0 { // each is a ground of its own
		described = store.EnvironmentOf(bootOf(now))
		text, err := json.Marshal(now)
		if err != nil {
			return err
		}
		if err := s.Describe(described, text); err != nil {
			return err
		}
	}
	for name, v := range map[string]any{described: &env, store.DocUserland: &userland} {
		b, err := s.Document(name)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(b, v); err != nil {
			return fault.Campaignf("%s: %s: %w", s.Path(), name, err)
		}
	}
	const remedy = "begin a new run; this one can be shown as it is"
	if env.HostID != now.HostID {
		return fault.WithRemedy(fault.Campaignf("%s was begun on another machine", s.Path()), remedy)
	}
	if env.Kernel.Release != now.Kernel.Release {
		return fault.WithRemedy(fault.Campaignf("%s was begun under kernel %s, this is %s", s.Path(), env.Kernel.Release, now.Kernel.Release), remedy)
	}
	if userland.Key != t.image.Key {
		return fault.WithRemedy(fault.Campaignf("%s was begun with another userland image", s.Path()), remedy)
	}
	return nil
}
