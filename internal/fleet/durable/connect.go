package durable

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"os"
	"strings"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/fleet"
)

// Connection is how to reach Temporal and the collector. Its files are read when it is used.
type Connection = fleet.Temporal

// silent logs nothing: errors come back to the workflow, where tare fleet status shows them.
var silent = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))

// tlsConfig is nil without TLS.
func tlsConfig(t fleet.TLS) (*tls.Config, error) {
	if !t.On {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		text, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fault.Campaignf("%w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fault.Campaignf("%s has no certificate in PEM format", t.CA)
		}
	}
	if t.Cert != "" || t.Key != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fault.Campaignf("certificate %q and key %q: %w", t.Cert, t.Key, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// dial connects to Temporal. identity is what Temporal's own pages show for this process.
func dial(ctx context.Context, c Connection, identity string) (client.Client, error) {
	o := client.Options{HostPort: c.Address, Namespace: c.Namespace, Identity: identity,
		Logger: silent}
	config, err := tlsConfig(c.TLS)
	if err != nil {
		return nil, err
	}
	if config != nil {
		config.ServerName = c.TLS.ServerName
		o.ConnectionOptions.TLS = config
	}
	if c.APIKey != "" {
		if _, err := secret(c.APIKey); err != nil {
			return nil, err
		}
		// The key is read for each request, so that it can be changed without a restart.
		o.Credentials = client.NewAPIKeyDynamicCredentials(func(context.Context) (string, error) {
			return secret(c.APIKey)
		})
	}
	if config == nil && c.APIKey != "" && !loopback(c.Address) {
		return nil, fault.Campaignf("an API key for %s needs tls: others could read it", c.Address)
	}
	t, err := client.DialContext(ctx, o)
	if err != nil {
		return nil, fault.WithRemedy(fault.Hostf("no connection to Temporal at %s: %w", c.Address, err),
			"make sure that it runs, and that temporal: in the fleet's file has its address, namespace and certificates")
	}
	return t, nil
}

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// secret reads a file that has one, without the newline at its end.
func secret(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fault.Campaignf("%w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
