package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/experiment"
)

func newResume(o *options) *cobra.Command {
	var f runFlags
	var booted string
	c := &cobra.Command{
		Use:     "resume RUN",
		Short:   "Resume a run that was interrupted or killed",
		Example: "  tare resume quick-20060102-150405.tare",
		Args:    cobra.ExactArgs(1),
	}
	c.Flags().BoolVar(&f.reboot, "reboot", false, "reboot this machine when the run needs another boot")
	c.Flags().BoolVar(&f.trust, "trust", false, "resume a run that was made elsewhere: its commands run as root")
	yesFlag(c, &f.yes)
	patienceFlag(c, &f.patience)
	addDestroy(c, &f.destroy)
	c.Flags().StringVar(&booted, "booted", "", "the boot that the host should be in")
	if err := c.Flags().MarkHidden("booted"); err != nil { // it is for the unit that continues a run after a reboot
		panic(err)
	}
	c.RunE = thenReboot(o, &f.reboot, func(args []string) string { return args[0] },
		inSandbox(o, func(cmd *cobra.Command, args []string) error {
			return resume(cmd, o, args[0], booted, f)
		}))
	return c
}

// resume continues the run at path. booted is the boot that the host should be in; "": any.
func resume(cmd *cobra.Command, o *options, path, booted string, f runFlags) error {
	t, err := openTestbed(o)
	if err != nil {
		return err
	}
	defer t.Close()
	t.Host.Destroy = f.destroy
	if err := await(cmd, t, f.patience); err != nil {
		return err
	}
	e, err := t.Resume(cmd.Context(), experiment.Resumption{
		Path: path, Booted: booted, Trust: f.trust, Version: version,
		Check: func(c *campaign.Campaign) error { return checkDestroy(c, f.destroy, f.reboot) },
	})
	if err != nil {
		return err
	}
	defer e.Close()
	if err := consent(cmd, f.yes, e); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "resuming campaign %s, seed %d, in %s\n", e.Campaign.Name, e.Campaign.Seed, path)
	return measure(cmd, e)
}
