package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/experiment"
	"github.com/tare-bench/tare/internal/fault"
)

func yesFlag(c *cobra.Command, yes *bool) {
	c.Flags().BoolVar(yes, "yes", false,
		"answer yes: do not ask before a long run, nor on a machine that works for others")
}

// errDeclined ends a command that the user does not want after all.
var errDeclined = errors.New("not started")

// consent tells the user whom on this host a run disturbs, and by how much, and asks whether the run may begin.
func consent(cmd *cobra.Command, yes bool, e *experiment.Experiment) error {
	d, err := e.Disturbance()
	if err != nil || len(d.Residents) == 0 {
		return err
	}
	return disturb(cmd, yes, d.String())
}

// disturb tells the user what disturbs whom, and asks. Where nobody can answer, the answer must be given beforehand.
func disturb(cmd *cobra.Command, yes bool, what string) error {
	if yes || os.Getenv("TARE_YES") != "" {
		fmt.Fprint(cmd.ErrOrStderr(), what)
		return nil
	}
	if !isTerminal(os.Stdin) {
		fmt.Fprint(cmd.ErrOrStderr(), what)
		return fault.WithRemedy(fault.Campaignf("%w: this machine works for others, and there is no terminal to ask "+
			"whether tare may disturb them", errDeclined), "add --yes if it may; tare doctor lists them")
	}
	return ask(cmd, what)
}

// ask shows a text and asks whether to go on.
func ask(cmd *cobra.Command, text string) error {
	fmt.Fprint(cmd.ErrOrStderr(), text, "\nContinue? [y/N] ")
	answer, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return fault.Campaignf("%w", errDeclined)
	}
	return nil
}
