// Command tare measures what virtualization costs on this machine, and whether
// it isolates.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/experiment"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/nearest"
	"github.com/tare-bench/tare/internal/sandbox"
	"github.com/tare-bench/tare/internal/view"
)

// version is set by the build.
var version = "unknown"

const (
	exitOK         = fault.ExitOK
	exitInternal   = fault.ExitInternal
	exitCampaign   = fault.ExitCampaign
	exitHost       = fault.ExitHost
	exitIncomplete = fault.ExitIncomplete
	exitFailed     = fault.ExitFailed
)

const exitHelp = `Exit status:
  0  success
  1  a defect in tare
  2  the command line, the campaign file or the run file is wrong
  3  the host cannot do it: permissions, tools, space, or another tare is running
  4  interrupted: the results so far can be shown, and the run can be resumed;
     or tare fleet fetch found runs that are not over
  5  complete, but some trials failed in their guests
  6  a comparison found a change for the worse that exceeds --fail-above
  7  the run continues in another boot of the host: run tare resume there`

// errIncomplete ends a command whose run can be resumed; the reason is already printed.
var errIncomplete = errors.New("incomplete")

// errFailedTrials ends a command whose run is complete but lacks some trials.
var errFailedTrials = errors.New("some trials failed")

func main() {
	sandbox.Intercept()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// The first signal asks tare to end in an orderly way, the second one ends it.
	context.AfterFunc(ctx, stop)
	os.Exit(exit(execute(ctx)))
}

// execute runs the command line. Help for an unknown command is an error: cobra
// would print the help of its parent instead, and its help functions return no error.
func execute(ctx context.Context) error {
	root := newRoot()
	var unknown error
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if unknown = unknownBelow(cmd, cmd.Flags().Args()); unknown == nil {
			show(cmd, args)
		}
	})
	if err := root.ExecuteContext(ctx); err != nil {
		if strings.HasPrefix(err.Error(), "if any flags in the group [") { // cobra has no type for it
			_, set, _ := strings.Cut(err.Error(), "; [")
			set, _, _ = strings.Cut(set, "]")
			err = fault.WithRemedy(fault.Campaignf("--%s exclude each other", strings.ReplaceAll(set, " ", " and --")),
				"give only one of these flags")
		}
		return err
	}
	return unknown
}

// exit prints err for the user and returns the exit status.
func exit(err error) int {
	var inner exitStatus
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &inner):
		return int(inner)
	case errors.Is(err, errIncomplete):
		return exitIncomplete
	case errors.Is(err, errFailedTrials):
		return exitFailed
	}
	fmt.Fprintln(os.Stderr, "tare:", view.Visible(strings.TrimSpace(err.Error())))
	switch fault.KindOf(err) {
	case fault.Campaign:
		return exitCampaign
	case fault.Host:
		return exitHost
	case fault.Guest:
		return exitFailed
	}
	if errors.Is(err, context.Canceled) {
		return exitIncomplete
	}
	return exitInternal
}

// exitStatus is the status of the program inside the sandbox, which has already
// printed its errors.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// options are the flags that all commands share.
type options struct {
	stateDir string
}

func newRoot() *cobra.Command {
	o := &options{}
	root := &cobra.Command{
		Use:   "tare",
		Short: "What does virtualization cost on this machine, and does it isolate?",
		Long: `tare runs the same real programs natively and inside guests of every system on
this machine, interleaved. For each workload it reports what each system costs,
with a confidence interval, and which figures not to trust, and why.

` + exitHelp,
		Example: `  tare doctor                     what can be measured here, and the noise sources
  tare run quick                  a first look, in about five minutes
  tare run web.yaml --precision 2%
  tare show quick-20060102-150405.tare`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&o.stateDir, "state", defaultStateDir(),
		"directory for the userland image and data volumes")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fault.WithRemedy(fault.Campaignf("%w", err), "%s --help", c.CommandPath())
	})
	group(root,
		newDoctor(o), newRun(o), newResume(o), newShow(o), newReport(o), newCompare(o), newFleet(o), newServe(o),
		newExport(o), newExplain(o), newSystems(o),
		newWorkloads(o), newParse(o), newGC(o), newSchema(o), newImage(o), newCost(o), newPaper(o),
		newLab(o), newGuest(o), newMan(),
	)
	root.InitDefaultHelpCmd()
	if c, _, err := root.Find([]string{"help"}); err == nil {
		show := c.Run
		c.RunE = func(c *cobra.Command, args []string) error {
			if err := unknownBelow(root, args); err != nil {
				return err
			}
			show(c, args)
			return nil
		}
	}
	return root
}

func unknownCommand(parent *cobra.Command, name string) error {
	var names []string
	for _, c := range parent.Commands() {
		names = append(names, c.Name())
	}
	err := fault.Campaignf("unknown command %q", name)
	if near := nearest.Nearest(name, names); near != "" {
		return fault.WithRemedy(err, "did you mean %q?", near)
	}
	return fault.WithRemedy(err, "%s --help lists the commands", parent.CommandPath())
}

// unknownBelow returns the error for words after cmd that name an unknown
// command; nil if they do not.
func unknownBelow(cmd *cobra.Command, words []string) error {
	found, rest, err := cmd.Find(words)
	if err == nil && found.HasSubCommands() && len(rest) > 0 {
		return unknownCommand(found, rest[0])
	}
	return err
}

// group makes c the parent of commands: by itself it prints its help.
func group(c *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	c.Args = cobra.ArbitraryArgs // so that RunE words the error
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownCommand(cmd, args[0])
	}
	c.AddCommand(commands...)
	for _, sub := range commands {
		checkArgs(sub)
	}
	return c
}

// checkArgs turns a wrong number of arguments into an error of the user.
func checkArgs(c *cobra.Command) {
	check := c.Args
	if check == nil {
		check = cobra.NoArgs
	}
	c.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return fault.WithRemedy(fault.Campaignf("%w", err), "%s --help", cmd.CommandPath())
		}
		return nil
	}
}

func defaultStateDir() string {
	if dir := os.Getenv("TARE_STATE"); dir != "" {
		return dir
	}
	return "/var/lib/tare"
}

// inSandbox makes a command run inside a sandbox. The process outside only
// waits, and then cleans up what the sandbox could not.
func inSandbox(o *options, work func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if sandbox.Inside() {
			return work(cmd, args)
		}
		if os.Getuid() != 0 {
			return fault.WithRemedy(fault.Hostf("creating guests, mounts and control groups needs root"), "sudo tare %s",
				strings.Join(os.Args[1:], " "))
		}
		dir := filepath.Join(o.stateDir, "private")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fault.Hostf("%w", err)
		}
		status, err := sandbox.Run(dir)
		if err != nil {
			return err
		}
		layout, e := cgroup.Detect()
		if e == nil {
			e = experiment.Collect(o.stateDir, layout)
		}
		if e != nil {
			fmt.Fprintln(os.Stderr, "tare: cleaning up:", e)
		}
		if status != 0 {
			return exitStatus(status)
		}
		return nil
	}
}
