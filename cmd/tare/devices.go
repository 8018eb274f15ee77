package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
)

// addDestroy adds the flag that names devices whose contents may be destroyed.
func addDestroy(c *cobra.Command, devices *[]string) {
	c.Flags().StringArrayVar(devices, "destroy", nil,
		"a block device of the campaign whose contents may be destroyed; repeat for each")
}

// checkDestroy refuses to destroy a device that the campaign does not use, which
// is a slip, and to destroy any in a run that reboots the host unattended.
func checkDestroy(c *campaign.Campaign, devices []string, reboot bool) error {
	if reboot && len(devices) > 0 {
		return fault.Campaignf("--destroy cannot be combined with --reboot; wipe the devices first: wipefs -a %s",
			strings.Join(devices, " "))
	}
	var used []string
	for _, f := range c.Flavors {
		used = append(used, f.Devices...)
	}
	for _, d := range devices {
		if !slices.Contains(used, d) {
			return fault.Campaignf("--destroy %s: no flavor of campaign %s has this device", d, c.Name)
		}
	}
	return nil
}
