package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/keeper"
	"github.com/tare-bench/tare/internal/view"
)

func newGuest(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "guest",
		Short: "Start and inspect single guests, created in the same way as in a run",
		Long: `guest creates single guests of any system in the same way as a run, and leaves them
running until you remove them. A run does not freeze them while it measures: freeze
or remove them first.`,
		Example: `  tare guest start lxc --name web
  tare guest exec web -- sysbench cpu run
  tare guest console web
  tare guest rm web`,
	}
	return group(c,
		newGuestStart(o), newGuestList(o), newGuestExec(o), newGuestConsole(o),
		newGuestTurn(o, "freeze", "Freeze guests, as runs do between trials", (*keeper.Client).Freeze),
		newGuestTurn(o, "thaw", "Thaw frozen guests", (*keeper.Client).Thaw),
		newGuestTurn(o, "save", "Save guests to files, and end their processes", (*keeper.Client).Save),
		newGuestTurn(o, "restore", "Restore saved guests, which go on where they were", (*keeper.Client).Restore),
		newGuestTurn(o, "rm", "Stop guests and remove everything that belongs to them", (*keeper.Client).Remove),
		newGuestClone(o), newGuestKeep(o),
	)
}

func newGuestList(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the guests that tare guest start and clone created",
		Example: "  tare guest list\n  tare guest list --json | jq '.[].address'",
	}
	asJSON := jsonFlag(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		guests := []keeper.Status{}
		for _, g := range keeper.List() {
			guests = append(guests, g.Status)
		}
		if *asJSON {
			return view.PrintJSON(cmd.OutOrStdout(), guests)
		}
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		for _, g := range guests {
			size := fmt.Sprintf("%d vCPU, %d MiB", g.Request.VCPUs, g.Request.MemoryBytes>>20)
			fmt.Fprintln(w, strings.Join([]string{g.Name, g.System, g.State, "since " + g.Started.Format(time.DateTime), size,
				g.Address}, "\t"))
		}
		return w.Flush()
	}
	return c
}

// maxInput bounds the standard input of exec, which a command gets all at once.
const maxInput = 2 << 20

func newGuestExec(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:     "exec GUEST -- COMMAND…",
		Short:   "Run a command in a guest's data volume, and exit with its status",
		Example: "  tare guest exec web -- df -h .\n  tare guest exec -i web -- sh < script.sh",
		Args:    cobra.MinimumNArgs(2),
	}
	input := c.Flags().BoolP("input", "i", false, "pass standard input to the command, up to 2 MiB")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		g, err := keeper.Find(args[0])
		if err != nil {
			return err
		}
		command := agent.Command{Argv: args[1:]}
		if *input {
			if command.Stdin, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxInput+1)); err != nil {
				return fault.Hostf("standard input: %w", err)
			}
			if len(command.Stdin) > maxInput {
				return fault.Campaignf("standard input is larger than %d MiB", maxInput>>20)
			}
		}
		r, err := attached(cmd, g, command)
		if err != nil {
			return err
		}
		if r.Truncated {
			fmt.Fprintln(cmd.ErrOrStderr(), "tare: the command's output was truncated")
		}
		return endedWith(r)
	}
	return c
}

func newGuestConsole(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:     "console GUEST",
		Short:   "Open a shell in a guest, or show its log with --log",
		Example: "  tare guest console web\n  tare guest console --log -f web",
		Args:    cobra.ExactArgs(1),
	}
	log := c.Flags().Bool("log", false, "show the end of the output of the guest's runtime, VMM or console")
	follow := c.Flags().BoolP("follow", "f", false, "with --log: follow the log until Ctrl-C")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		g, err := keeper.Find(args[0])
		if err != nil {
			return err
		}
		if *follow && !*log {
			return fault.Campaignf("-f requires --log")
		}
		if !*log {
			return g.Console(cmd.Context())
		}
		return showLog(cmd, g, *follow)
	}
	return c
}

// showLog prints a guest's log and, with follow, what is appended to it.
func showLog(cmd *cobra.Command, g *keeper.Client, follow bool) error {
	for shown := ""; ; {
		text, err := g.Log(cmd.Context())
		if err != nil {
			if cmd.Context().Err() != nil {
				return nil
			}
			return err
		}
		more, goesOn := strings.CutPrefix(text, shown)
		if !goesOn { // the log has dropped its beginning
			more = text
		}
		fmt.Fprint(cmd.OutOrStdout(), more)
		shown = text
		if !follow {
			return nil
		}
		select {
		case <-time.After(300 * time.Millisecond):
		case <-cmd.Context().Done():
			return nil
		}
	}
}

// newGuestTurn is a command that does one thing with guests.
func newGuestTurn(o *options, name, short string, do func(*keeper.Client, context.Context) error) *cobra.Command {
	return &cobra.Command{
		Use: name + " GUEST…", Short: short, Example: "  tare guest " + name + " web", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var errs []error
			for _, guest := range args {
				g, err := keeper.Find(guest)
				if err == nil {
					err = do(g, cmd.Context())
				}
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		},
	}
}
