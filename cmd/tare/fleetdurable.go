package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/experiment"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/fleet"
	"github.com/tare-bench/tare/internal/fleet/collect"
	"github.com/tare-bench/tare/internal/fleet/durable"
	"github.com/tare-bench/tare/internal/fleet/remote"
)

// openDurable reads a fleet's file that says how to reach Temporal, and the hash of this program.
func openDurable(path string) (*fleet.File, string, error) {
	file, err := openFleet(path)
	if err != nil {
		return nil, "", err
	}
	if file.Temporal.Address == "" {
		return nil, "", fault.WithRemedy(fault.Campaignf("%s has no temporal: section, and this command needs one", path),
			"see docs/fleet.md for what Temporal is good for")
	}
	p, err := remote.ProgramAt("/proc/self/exe")
	return file, p.Hash, err
}

func newFleetWorker(o *options) *cobra.Command {
	var name string
	c := &cobra.Command{
		Use:   "worker FLEET.yaml",
		Short: "Measure on this machine for a fleet over Temporal",
		Long: `worker connects this machine to Temporal and measures what runs of the fleet ask for,
until it is interrupted. It opens no port. It may be killed, and the machine may be
rebooted: the worker that starts next resumes the run. Let systemd start it at each
boot; docs/fleet.md has a unit file.`,
		Example: "  tare fleet worker racks.yaml\n  tare fleet worker racks.yaml --name node1",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, build, err := openDurable(args[0])
			if err != nil {
				return err
			}
			if name == "" {
				if name, err = os.Hostname(); err != nil {
					return fault.Hostf("%w", err)
				}
			}
			if !slices.ContainsFunc(file.Machines, func(m fleet.Member) bool { return m.Name == name }) {
				return fault.WithRemedy(fault.Campaignf("%s has no machine %s", args[0], name),
					"add it there, or say with --name which one this is")
			}
			fmt.Fprintf(cmd.OutOrStdout(), "tare %s works as %s for %s\n", version, name, file.Temporal.Address)
			return durable.Work(cmd.Context(), file.Temporal, name, build, &durable.Here{
				Program: "/proc/self/exe", Args: []string{"--state", absolute(o.stateDir)},
				Dir: filepath.Join(cmp.Or(file.Dir, remote.DefaultDir), "work"),
				Next: func(ctx context.Context, path string) (durable.Boot, error) {
					b, _, err := experiment.NextBoot(ctx, path)
					return durable.Boot{Name: b.Name, Entry: b.Entry}, err
				},
				Restart: func(b durable.Boot) error {
					return hostRebooter().restart(campaign.Boot{Name: b.Name, Entry: b.Entry})
				},
				Import: func(ctx context.Context, id string) (same bool, err error) {
					c, err := durable.Collector(file.Temporal)
					if err != nil {
						return false, err
					}
					return c.ImportImage(ctx, id, experiment.ImageDir(o.stateDir), func(step string) {
						fmt.Fprintln(cmd.OutOrStdout(), "image:", step)
					})
				},
			})
		},
	}
	c.Flags().StringVar(&name, "name", "", "name of this machine in the file (default: the host's name)")
	return c
}

// serveFlags are those of tare fleet serve.
type serveFlags struct {
	dir, listen, cert, key, clientCA string
}

func newFleetServe() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve FLEET.yaml",
		Short: "Coordinate runs of fleets over Temporal, and collect their run files",
		Long: `serve executes the workflows of runs that were started with this build of tare, and
collects their run files. Machines connect to it and to Temporal. It may be killed at
any time: the runs on the machines go on, and the fleet's run continues when serve is
started again.`,
		Example: `  tare fleet serve racks.yaml
  tare fleet serve racks.yaml --listen :7234 --cert collector.pem --key collector.key --client-ca ca.pem`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, build, err := openDurable(args[0])
			if err != nil {
				return err
			}
			return serveFleet(cmd.Context(), cmd.OutOrStdout(), file, build, f)
		},
	}
	c.Flags().StringVar(&f.dir, "dir", "collected", "folder for the run files of fleets")
	c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:7234", "address and port of the collector")
	c.Flags().StringVar(&f.cert, "cert", "", "TLS certificate of the collector")
	c.Flags().StringVar(&f.key, "key", "", "key of the certificate")
	c.Flags().StringVar(&f.clientCA, "client-ca", "", "require clients to have a certificate from these authorities")
	return c
}

func serveFleet(ctx context.Context, w io.Writer, file *fleet.File, build string, f serveFlags) error {
	token, err := os.ReadFile(file.Temporal.Token)
	if err != nil {
		return fault.WithRemedy(fault.Campaignf("%w", err), "openssl rand -hex 32 >%s", file.Temporal.Token)
	}
	s, err := collect.NewServer(f.dir, strings.TrimSpace(string(token)))
	if err != nil {
		return err
	}
	server, l, err := f.collector(ctx, s.HTTP())
	if err != nil {
		return err
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	parts := []func() error{
		func() error { return serveUntil(ctx, server, l) },
		func() error { return durable.Coordinate(ctx, file.Temporal, build) },
	}
	fmt.Fprintf(w, "collecting in %s at %s, coordinating at %s\n", f.dir, l.Addr(), file.Temporal.Address)
	ended := make(chan error, len(parts))
	for _, p := range parts {
		go func() { ended <- p() }()
	}
	for range parts {
		err = errors.Join(err, <-ended)
		cancel()
	}
	return err
}

// collector gives a server its address and certificates. Without them it must be on loopback.
func (f serveFlags) collector(ctx context.Context, s *http.Server) (*http.Server, net.Listener, error) {
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return nil, nil, fault.Campaignf("--listen %q: must be ADDRESS:PORT", f.listen)
	}
	if ip := net.ParseIP(host); f.cert == "" && (ip == nil || !ip.IsLoopback()) {
		return nil, nil, fault.WithRemedy(
			fault.Campaignf("--listen %s: others could read the token and the run files", f.listen),
			"give --cert and --key, or listen on 127.0.0.1")
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return nil, nil, fault.Hostf("%w", err)
	}
	if f.cert == "" {
		return s, l, nil
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		l.Close()
		return nil, nil, fault.Campaignf("--cert %s --key %s: %w", f.cert, f.key, err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if f.clientCA != "" {
		text, err := os.ReadFile(f.clientCA)
		pool := x509.NewCertPool()
		if err != nil || !pool.AppendCertsFromPEM(text) {
			l.Close()
			return nil, nil, fault.Campaignf("--client-ca %s: there is no certificate", f.clientCA)
		}
		config.ClientCAs, config.ClientAuth = pool, tls.RequireAndVerifyClientCert
	}
	return s, tls.NewListener(l, config), nil
}
