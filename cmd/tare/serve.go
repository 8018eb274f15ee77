package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/serve"
)

func newServe(*options) *cobra.Command {
	var listen string
	c := &cobra.Command{
		Use:   "serve DIR",
		Short: "Serve a folder of runs to a browser, to read, compare and watch them",
		Long: `serve lets a browser on this machine read the runs in a folder: a list with the
machine, answer and serious findings of each run, the page of each run, comparisons,
and a run in progress while it measures. It writes nothing.

On an address that other machines can reach, it requires a token, which is new each
time and printed at the start. The traffic is not encrypted: use a tunnel or a proxy
where others can listen.`,
		Example: "  tare serve .\n  tare serve /srv/runs --listen 0.0.0.0:8273",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			host, _, err := net.SplitHostPort(listen)
			if err != nil {
				return fault.Campaignf("--listen %q: must be ADDRESS:PORT", listen)
			}
			o := serve.Options{Titles: workloadTitles()}
			if !serve.Loopback(host) {
				o.Token = rand.Text()
			}
			s, err := serve.New(args[0], o)
			if err != nil {
				return err
			}
			defer s.Close()
			l, err := (&net.ListenConfig{}).Listen(cmd.Context(), "tcp", listen)
			if err != nil {
				return fault.Hostf("%w", err)
			}
			defer l.Close()
			// A name may resolve to another address than it suggests.
			if a, ok := l.Addr().(*net.TCPAddr); ok && o.Token == "" && !a.IP.IsLoopback() {
				return fault.Campaignf("--listen %s: not a loopback address on this machine", listen)
			}
			address := "http://" + l.Addr().String() + "/"
			if o.Token != "" {
				address += "?token=" + o.Token
			}
			fmt.Fprintln(cmd.OutOrStdout(), "serving", args[0], "at", address)
			return serveUntil(cmd.Context(), s.HTTP(), l)
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:8273", "address and port; any address but loopback requires a token")
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
