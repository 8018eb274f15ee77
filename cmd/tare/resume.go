package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/experiment"
)

func newResume(o *options) *cobra.Command {
	var reboot, trust bool
	var booted string
	var destroy []string
	c := &cobra.Command{
		Use:     "resume RUN",
		Short:   "Resume a run that was interrupted or killed",
		Example: "  tare resume quick-20060102-150405.tare",
		Args:    cobra.ExactArgs(1),
	}
	c.Flags().BoolVar(&reboot, "reboot", false, "reboot this machine when the run needs another boot")
	c.Flags().BoolVar(&trust, "trust", false, "resume a run that was made elsewhere: its commands run as root")
	addDestroy(c, &destroy)
	c.Flags().StringVar(&booted, "booted", "", "the boot that the host should be in")
	if err := c.Flags().MarkHidden("booted"); err != nil { // it is for the unit that continues a run after a reboot
		panic(err)
	}
	c.RunE = thenReboot(o, &reboot, func(args []string) string { return args[0] },
		inSandbox(o, func(cmd *cobra.Command, args []string) error {
			return resume(cmd, o, args[0], booted, destroy, reboot, trust)
		}))
	return c
}

func resume(cmd *cobra.Command, o *options, path, booted string, destroy []string, reboot, trust bool) error {
	t, err := openTestbed(o)
	if err != nil {
		return err
	}
	defer t.Close()
	t.Host.Destroy = destroy
	e, err := t.Resume(cmd.Context(), experiment.Resumption{
		Path: path, Booted: booted, Trust: trust, Version: version,
		Check: func(c *campaign.Campaign) error { return checkDestroy(c, destroy, reboot) },
	})
	if err != nil {
		return err
	}
	defer e.Close()
	fmt.Fprintf(cmd.OutOrStdout(), "resuming campaign %s, seed %d, in %s\n", e.Campaign.Name, e.Campaign.Seed, path)
	return measure(cmd, e)
}
