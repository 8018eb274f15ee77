package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/serve"
)

func newServe(*options) *cobra.Command {
	var listen string
	var names []string
	c := &cobra.Command{
		Use:   "serve DIR",
		Short: "Serve a folder of runs to a browser, to read, compare and watch them",
		Long: `serve lets a browser on this machine read the runs in a folder: a list with the
machine, answer and serious findings of each run, the page of each run, comparisons,
and a run in progress while it measures. It writes nothing.

Readers need the token, which is new each time and part of the address that serve
prints: other users of this machine can connect to the server, too. The traffic is not
encrypted: use a tunnel or a proxy where others can listen.`,
		Example: "  tare serve .\n  tare serve /srv/runs --listen 0.0.0.0:8273",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			host, _, err := net.SplitHostPort(listen)
			if err != nil {
				return fault.Campaignf("--listen %q: must be ADDRESS:PORT", listen)
			}
			if own, err := os.Hostname(); err == nil {
				names = append(names, own)
			}
			s, err := serve.New(args[0], serve.Options{Titles: workloadTitles(), Names: append(names, host)})
			if err != nil {
				return err
			}
			defer s.Close()
			l, err := (&net.ListenConfig{}).Listen(cmd.Context(), "tcp", listen)
			if err != nil {
				return fault.Hostf("%w", err)
			}
			defer l.Close()
			fmt.Fprintf(cmd.OutOrStdout(), "serving %s at http://%s/?token=%s\n", args[0], l.Addr(), s.Token())
			return serveUntil(cmd.Context(), s.HTTP(), l)
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:8273", "address and port")
	c.Flags().StringSliceVar(&names, "name", nil, "name under which browsers reach the server, such as that of a proxy")
	return c
}

// serveUntil serves until ctx ends, and then gives requests a moment to finish.
func serveUntil(ctx context.Context, h *http.Server, l net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(l) }()
	select {
	case err := <-failed:
		return fault.Hostf("%w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := h.Shutdown(grace); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fault.Hostf("%w", err)
	}
	return nil
}
