package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/experiment"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/lab"
	"github.com/tare-bench/tare/internal/model"
)

// labKinds are the labs that represent the boots of a host.
var labKinds = map[string]lab.Kind{model.BootLinux: lab.Linux, model.BootXen: lab.Xen}

// firstBoot is the boot of the host that a campaign begins in; "" if it has no
// boots.
func firstBoot(file string, text []byte) (string, error) {
	c, err := campaign.Parse(file, text, experiment.KnownAnywhere())
	if err != nil || len(c.Boots) == 0 {
		return "", err
	}
	for _, b := range c.Boots {
		if b.Name != b.Kind() {
			return "", fault.WithRemedy(fault.Campaignf("the lab has the boots linux and xen only, and the campaign has %q",
				b.Name), "measure it on a host of your own: tare run --reboot")
		}
	}
	a, _ := c.Arm(c.Baseline)
	return a.Boot, nil
}

// runInBoots runs a campaign with boots: a lab represents each boot, one after the
// other, and the run file is copied from one to the next.
func runInBoots(cmd *cobra.Command, o *options, f labFlags, boot, campaignName string, text []byte, flags []string,
	out string) error {
	if l, err := lab.Find(o.stateDir); err == nil {
		return fault.WithRemedy(fault.Campaignf("the campaign has boots, but the running lab (%s) cannot be rebooted",
			l.Kind()), "tare lab down")
	}
	before := 0 // trials that were done
	for resume := false; ; resume = true {
		l, err := startLab(cmd, o, f, string(labKinds[boot]), []string{campaignName})
		if err != nil {
			return err
		}
		err = runInLab(cmd, l, text, flags, out, resume)
		if e := l.Close(); e != nil {
			return e
		}
		if err != exitOtherBoot {
			return err
		}
		next, done, err := experiment.NextBoot(cmd.Context(), out)
		if err != nil || next.Name == "" {
			return err
		}
		if done == before {
			return fmt.Errorf("the lab (%s) made no progress in the run: this is a defect in tare", labKinds[boot])
		}
		boot, before = next.Name, done
	}
}
