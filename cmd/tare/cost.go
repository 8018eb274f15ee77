package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/container"
	"github.com/tare-bench/tare/internal/experiment"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/strict"
)

// costFlags are the flags of `tare cost`.
type costFlags struct {
	runFlags
	on           []string
	vcpus        int
	memory, disk string
	campaign     bool // print the campaign instead of running it
	failAbove    string
	serve        int // port of the service that the command is; 0: it is none
	url          string
	rate         int
	p99          time.Duration // 0: the largest rate is not looked for
}

// native is the arm that the others are compared with.
const native = "native"

// costArms are the systems that cost measures unless told otherwise, native aside.
var costArms = []string{"lxc", "nspawn", "runc", "crun", "bubblewrap", "gvisor", "kvm", "uml"}

func newCost(o *options) *cobra.Command {
	f := costFlags{}
	c := &cobra.Command{
		Use:   "cost IMAGE [flags] [-- COMMAND [ARGUMENT...]]",
		Short: "What a command of your container image costs in every sandbox of this machine",
		Long: `cost runs a command of your own container image natively and in a guest of every usable
system, interleaved, and reports what each costs: CPU time, time, start (cold and warm)
and memory. IMAGE is

  a directory or file                     an OCI layout, or an archive of docker save or podman save
  a name                                  an image in the local Docker, Podman or containerd
  docker://NAME                           an image in a registry, with the credentials of your docker login
  oci:, oci-archive:, docker-archive:, docker-daemon:, containers-storage:, containerd:
                                          one of these, as in skopeo

The words after -- replace the image's command, as with docker run; its entry point,
environment, user and working directory are kept. The image's files are read-only;
/tmp, /run, /data and the image's volumes can be written to.

The command must end, with status 0. It does its work once in each trial.

With --serve, the command is a service: tare requests a page of it over the network, from
outside the guest, and reports the latencies and the CPU time of the requests at a rate, and
the largest rate within --p99.`,
		Example: `  tare cost myapp:1.4 -- ./report --rows 10000
  tare cost app.tar --on runc,gvisor --budget 2m
  tare cost web:2.1 --serve 8080 --url /health --rate 300 --p99 20ms
  tare cost docker://docker.io/library/python:3.13 -- python3 -c 'print(sum(range(10**7)))'
  tare cost app.tar --campaign >app.yaml          the campaign, to change and to run`,
		Args: cobra.MinimumNArgs(1),
	}
	c.Flags().StringSliceVar(&f.on, "on", nil, "systems to measure, such as runc,gvisor,kvm (default: all usable of "+
		strings.Join(costArms, ", ")+")")
	c.Flags().DurationVar(&f.budget, "budget", 5*time.Minute, "how long to measure")
	c.Flags().IntVar(&f.vcpus, "vcpus", 1, "CPUs of each guest")
	c.Flags().StringVar(&f.memory, "memory", "512MiB", "memory of each guest")
	c.Flags().StringVar(&f.disk, "disk", "1GiB", "size of the volume of each guest, for what the command writes")
	c.Flags().BoolVar(&f.campaign, "campaign", false, "print the campaign instead of running it")
	c.Flags().StringVar(&f.failAbove, "fail-above", "",
		"exit with status 6 if a system is known to cost more CPU time or time than this, such as 10%")
	c.Flags().IntVar(&f.serve, "serve", 0, "the command is a service that listens on this TCP port, on all addresses")
	c.Flags().StringVar(&f.url, "url", "/", "page of the service to request")
	c.Flags().IntVar(&f.rate, "rate", 200, "requests a second to the service")
	c.Flags().DurationVar(&f.p99, "p99", 0,
		"look for the largest rate at which 99 % of the requests to the service are answered within this time, such as 20ms")
	outFlag(c, &f.out, "run file to write (default cost-DATE-TIME.tare)")
	yesFlag(c, &f.yes)
	patienceFlag(c, &f.patience)
	politeFlag(c, &f.polite)
	c.RunE = inSandbox(o, func(cmd *cobra.Command, args []string) error {
		limit, err := failLimit(f.failAbove)
		if err != nil {
			return err
		}
		for _, name := range []string{"url", "rate", "p99"} {
			if cmd.Flags().Changed(name) && f.serve == 0 {
				return fault.WithRemedy(fault.Campaignf("--%s is for services, and needs the port of one", name),
					"add --serve PORT, or remove --%s", name)
			}
		}
		text, err := f.campaignOf(cmd.Context(), o, args)
		if err != nil {
			return err
		}
		if f.campaign {
			_, err := cmd.OutOrStdout().Write(text)
			return err
		}
		f.generated = true
		f.out = cmp.Or(f.out, time.Now().Format("cost-20060102-150405")+".tare")
		if err := runRequest(cmd, o, f.runFlags, experiment.Request{Text: text, File: "tare cost"}); err != nil {
			return err
		}
		if f.failAbove == "" {
			return nil
		}
		return f.tooDear(cmd, limit)
	})
	return c
}

// campaignOf writes the campaign of the command line. The image is built if it is missing, so that what its name stands
// for is read once.
func (f costFlags) campaignOf(ctx context.Context, o *options, args []string) ([]byte, error) {
	ref := args[0]
	if _, err := os.Stat(ref); err == nil {
		ref = absolute(ref)
	}
	want := &campaign.Campaign{Image: campaign.Image{OCI: ref}}
	if f.serve != 0 { // the load generator is in the image, too
		own := campaign.Custom{Requests: campaign.Requests{Port: f.serve, Rate: f.rate}}
		want.Workloads = []campaign.Workload{{Name: "service", Own: own}}
	}
	source, err := experiment.SourceOf(ctx, o.stateDir, want)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	made := source.Recipe.Container
	argv, err := commandLine(ref, made.Config, args[1:])
	if err != nil {
		return nil, err
	}
	if !f.campaign {
		if _, err := experiment.BuildImage(ctx, o.stateDir, source, showStep); err != nil {
			return nil, err
		}
	}
	return f.yaml(ref, made.ID, argv), nil
}

// commandLine is the image's entry point with the words, or with the image's own command.
func commandLine(ref string, c container.Config, words []string) ([]string, error) {
	if len(words) == 0 {
		words = c.Cmd
	}
	argv := slices.Concat(c.Entrypoint, words)
	if len(argv) == 0 {
		return nil, fault.WithRemedy(fault.Campaignf("image %s names no command", ref),
			"give one: tare cost %s -- COMMAND", ref)
	}
	for i := range argv { // {size} and the like are for campaigns
		if braces.MatchString(argv[i]) {
			return nil, fault.WithRemedy(fault.Campaignf("%q has a place for a parameter of campaigns", argv[i]),
				"put the command into a script of the image")
		}
	}
	return argv, nil
}

// braces are the places that a campaign fills in.
var braces = regexp.MustCompile(`\{(size|server|build)\}`)

// yaml is the campaign as a file.
func (f costFlags) yaml(ref, id string, argv []string) []byte {
	arms := []string{native}
	if len(f.on) == 0 {
		for _, s := range costArms {
			arms = append(arms, "{system: "+s+", if_usable: true}")
		}
	}
	for _, s := range f.on {
		if s = strings.TrimSpace(s); s != native {
			arms = append(arms, quoted(s))
		}
	}
	var words []string
	for _, w := range argv {
		words = append(words, quoted(w))
	}
	run := "[" + strings.Join(words, ", ") + "]"
	workloads, network, rest := f.command(run), "", ""
	if f.serve != 0 {
		workloads, network = f.service(run), ", network: bridged"
		rest = "scenarios:\n  - {name: requested, pairs: 1, client: host}\ntrial_time: 5s\n"
	}
	about := "What " + strings.Join(argv, " ") + " of the container image " + ref + " costs in each system."
	var b bytes.Buffer
	fmt.Fprintf(&b, "name: cost\nabout: %s\nimage: {oci: %s, id: %q}\n", quoted(about), quoted(ref), id)
	fmt.Fprintf(&b, "flavors:\n  one: {vcpus: %d, memory: %s, disk: %s%s}\narms:\n  - %s\n", f.vcpus, quoted(f.memory),
		quoted(f.disk), network, strings.Join(arms, "\n  - "))
	fmt.Fprintf(&b, "workloads:\n  - %s\n%sblocks: {min: 3, max: 500}\nbudget: %s\n", strings.Join(workloads, "\n  - "),
		rest, campaign.FormatDuration(f.budget))
	return b.Bytes()
}

// command are the workloads of a command that ends: it, and the start of a guest.
func (f costFlags) command(argv string) []string {
	caches := "[warm, cold]"
	if f.polite != "" {
		caches = "[warm]" // it drops no caches
	}
	return []string{"{name: command, command: " + argv + "}", "{name: start, params: {cache: " + caches + "}}"}
}

// service are the workloads of a service: requests at a rate, and at the largest one.
func (f costFlags) service(argv string) (all []string) {
	add := func(name, how string) {
		all = append(all, fmt.Sprintf("{name: %s, server: %s, requests: {port: %d, url: %s, %s}}", name, argv, f.serve,
			quoted(f.url), how))
	}
	add("service", fmt.Sprintf("rate: %d", f.rate))
	if f.p99 != 0 {
		add("service-limit", "within: "+campaign.FormatDuration(f.p99))
	}
	return all
}

// quoted is a text as JSON and YAML have it.
func quoted(text string) string { return string(strict.Encode(text)) }

// tooDear is the exit status of a run in which a system is known to cost more than the limit.
func (f costFlags) tooDear(cmd *cobra.Command, limit float64) error {
	s, err := store.Open(cmd.Context(), f.out)
	if err != nil {
		return err
	}
	defer s.Close()
	res, err := analyzeRun(s)
	if err != nil {
		return err
	}
	var dear []string
	for _, c := range res.Comparisons {
		ours := c.Workload == "command" || f.serve != 0
		if ours && c.Verdict == analyze.Costs && !c.Across && c.OverheadPercent > 100*limit {
			dear = append(dear, fmt.Sprintf("%s costs %s %% of %s (%s), above %s", c.Arm, report.Percent(c.OverheadPercent),
				c.Metric, report.Interval(c), f.failAbove))
		}
	}
	return exceeded(cmd, dear)
}
