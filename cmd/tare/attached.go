package main

import (
	"context"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
)

// runner runs commands elsewhere: in a lab, in a guest.
type runner interface {
	Run(context.Context, agent.Command) (*agent.Result, error)
	Signal(ctx context.Context, id uint64, sig unix.Signal) error
}

// attached runs a command elsewhere, shows its output, and passes an interrupt on.
func attached(cmd *cobra.Command, there runner, c agent.Command) (*agent.Result, error) {
	ended := make(chan struct{})
	defer close(ended)
	c.OnStart = func(id uint64) {
		go func() {
			select {
			case <-cmd.Context().Done():
				_ = there.Signal(context.Background(), id, unix.SIGINT) // it may have ended
			case <-ended:
			}
		}()
	}
	c.OnOutput = func(stderr bool, data []byte) {
		w := cmd.OutOrStdout()
		if stderr {
			w = cmd.ErrOrStderr()
		}
		w.Write(data)
	}
	return there.Run(context.WithoutCancel(cmd.Context()), c)
}

// endedWith makes this program end with the status of a command elsewhere.
func endedWith(r *agent.Result) error {
	if r.Signal != 0 {
		return exitStatus(128 + int(r.Signal))
	}
	if r.ExitCode != 0 {
		return exitStatus(r.ExitCode)
	}
	return nil
}
