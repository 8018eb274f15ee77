package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/experiment"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/host/doctor"
	"github.com/tare-bench/tare/internal/host/watch"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/view"
	"github.com/tare-bench/tare/internal/volume"
)

// doctorReport is what `tare doctor --json` prints.
type doctorReport struct {
	Systems     []experiment.System  `json:"systems"`
	Noise       []doctor.NoiseSource `json:"noise"`
	Environment *host.Environment    `json:"environment"`
	// NoVolumes says by file system and backing why there can be no data volumes with it.
	NoVolumes map[string]string `json:"no_volumes,omitempty"`
	// Refused says why this host cannot measure the campaign that doctor was given.
	Refused string `json:"refused,omitempty"`
}

// sampleTime is how long doctor watches the host for other load.
const sampleTime = 2 * time.Second

func newDoctor(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor [CAMPAIGN.yaml]",
		Short: "Report what can be measured here, and the noise sources on this host",
		Long: `doctor reports which systems are usable here and what disturbs measurements. With a
campaign ("-" is standard input), it also checks what tare run would check before it
measures: systems, CPUs and memory, networks, data volumes and devices. If this host
cannot measure the campaign, the exit status is 2.`,
		Example: "  tare doctor\n  tare doctor web.yaml",
		Args:    cobra.MaximumNArgs(1),
	}
	asJSON := jsonFlag(c)
	c.RunE = inSandbox(o, func(cmd *cobra.Command, args []string) error {
		var c *experiment.Request
		if len(args) > 0 {
			var err error
			if c, err = campaignAt(cmd, args[0]); err != nil {
				return err
			}
		}
		t, err := openTestbed(o)
		if err != nil {
			return err
		}
		defer t.Close()
		sample, err := watch.TakeSample(cmd.Context(), sampleTime, t.Host.Proc)
		if err != nil {
			return err
		}
		env := t.Environment(nil)
		r := doctorReport{
			Noise: doctor.NoiseSources(env, sample, doctor.Needs{}), Environment: env,
			Systems: t.Entries(t.Check(cmd.Context(), t.Systems())), NoVolumes: noVolumes(),
		}
		var refused error
		if c != nil {
			var e *experiment.Experiment
			if e, refused = t.Prepare(cmd.Context(), *c); refused == nil {
				e.Close()
			} else {
				r.Refused = refused.Error()
			}
		}
		if *asJSON {
			return errors.Join(view.PrintJSON(cmd.OutOrStdout(), r), refused)
		}
		printDoctor(cmd.OutOrStdout(), r, t.Image != nil)
		return refused
	})
	return c
}

// campaignAt reads a campaign to check; "-" is standard input.
func campaignAt(cmd *cobra.Command, name string) (*experiment.Request, error) {
	r := &experiment.Request{PlanOnly: true}
	var err error
	if name == "-" {
		r.File = "campaign.yaml" // as on the machines of a fleet
		r.Text, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxCampaign))
	} else {
		r.Text, r.File, err = experiment.Text(name)
	}
	return r, err
}

// maxCampaign is more than the reader of campaigns accepts.
const maxCampaign = 2 << 20

// noVolumes says of all file systems and backings of data volumes why there can be none here.
func noVolumes() map[string]string {
	why := map[string]string{}
	for what, err := range map[string]error{
		"ext4": volume.CheckFS("ext4"), "ext3": volume.CheckFS("ext3"),
		"ext2": volume.CheckFS("ext2"), "xfs": volume.CheckFS("xfs"),
		"backing " + model.BackingQCOW2: volume.CheckBacking(model.BackingQCOW2),
	} {
		if err != nil {
			why[what] = fault.OneLine(err)
		}
	}
	return why
}

func printDoctor(w io.Writer, r doctorReport, image bool) {
	env := r.Environment
	fmt.Fprintf(w, "Systems on this machine (%s, Linux %s):\n", strings.TrimSpace(env.CPU.Model), env.Kernel.Release)
	printSystems(w, r.Systems)
	if !image {
		fmt.Fprintln(w, "\nThe userland image is not built yet: tare image")
	}
	for _, what := range slices.Sorted(maps.Keys(r.NoVolumes)) {
		fmt.Fprintf(w, "\nNo data volumes with %s: %s\n", what, r.NoVolumes[what])
	}
	fmt.Fprintf(w, "\nEnergy: %s\n", energyText(env))
	fmt.Fprintln(w, "\nNoise sources on this machine:")
	if len(r.Noise) == 0 {
		fmt.Fprintln(w, "  none that tare can detect")
	}
	for _, s := range r.Noise {
		fmt.Fprintf(w, "  %-8s  %s\n            %s\n", s.Severity, s.What, s.Why)
		if s.Remedy != "" {
			fmt.Fprintf(w, "            to fix: %s\n", s.Remedy)
		}
	}
}

// energyText says whether the host's energy can be measured.
func energyText(env *host.Environment) string {
	if why := env.NoEnergy(); why != "" {
		return "cannot be measured: " + why
	}
	var names []string
	for _, c := range env.Power.Energy {
		names = append(names, c.Name)
	}
	return "measured by the counters " + strings.Join(names, ", ")
}
