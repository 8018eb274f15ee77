package durable

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/fleet"
)

// authority signs certificates for a test.
type authority struct {
	cert *x509.Certificate
	key  ed25519.PrivateKey
	pool *x509.CertPool
	file string // its certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{pool: x509.NewCertPool()}
	der, key := a.sign(t, "authority")
	var err error
	a.cert, err = x509.ParseCertificate(der)
	must(t, err)
	a.key = key
	a.pool.AddCert(a.cert)
	a.file = pemFile(t, "CERTIFICATE", der)
	return a
}

// sign makes a certificate for a name and its key; the first one of an authority is its own.
func (a *authority) sign(t *testing.T, name string) (der []byte, key ed25519.PrivateKey) {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, BasicConstraintsValid: true}
	if ip := net.ParseIP(name); ip != nil {
		c.IPAddresses = []net.IP{ip}
	} else {
		c.DNSNames = []string{name}
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		c.IsCA = true
		parent, signer = c, key
	}
	der, err = x509.CreateCertificate(rand.Reader, c, parent, public, signer)
	must(t, err)
	return der, key
}

// files are a client's certificate and its key.
func (a *authority) files(t *testing.T, name string) (cert, key string) {
	t.Helper()
	der, private := a.sign(t, name)
	text, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	return pemFile(t, "CERTIFICATE", der), pemFile(t, "PRIVATE KEY", text)
}

func pemFile(t *testing.T, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.pem")
	must(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return path
}

// guarded is a front of a server, which passes on what comes with this Authorization header from clients with a
// certificate of the authority. Its own certificate is for name. It returns its address.
func guarded(t *testing.T, a *authority, name, target, authorization string, protocols *http.Protocols) string {
	t.Helper()
	to, err := url.Parse(target)
	must(t, err)
	quiet := log.New(io.Discard, "", 0) // it is to refuse clients
	p := &httputil.ReverseProxy{Transport: &http.Transport{Protocols: protocols}, ErrorLog: quiet,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != authorization {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "7") // permission denied
			return
		}
		p.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = quiet
	s.EnableHTTP2 = true
	der, key := a.sign(t, name)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ClientCAs: a.pool, ClientAuth: tls.RequireAndVerifyClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// TestLiveSecured: a run is made over connections with client certificates and an API key, which can be changed
// meanwhile; who lacks one of them is refused.
func TestLiveSecured(t *testing.T) {
	conn, _ := devServer(t)
	dialled(t, conn)
	ours, others := newAuthority(t), newAuthority(t)
	token, err := os.ReadFile(conn.Token)
	must(t, err)
	grpc, plain := new(http.Protocols), new(http.Protocols)
	grpc.SetUnencryptedHTTP2(true)
	plain.SetHTTP1(true)
	conn.Address = guarded(t, ours, "temporal.example", "http://"+conn.Address, "Bearer right", grpc)
	conn.Collector = "https://" + guarded(t, ours, "127.0.0.1", conn.Collector, "Bearer "+string(token), plain)
	conn.APIKey = filepath.Join(t.TempDir(), "key")
	must(t, os.WriteFile(conn.APIKey, []byte("right\n"), 0o600))
	cert, key := ours.files(t, "node")
	conn.TLS = fleet.TLS{On: true, CA: ours.file, Cert: cert, Key: key, ServerName: "temporal.example"}

	strange, strangeKey := others.files(t, "node")
	for what, change := range map[string]func(*Connection){
		"no certificate":                     func(c *Connection) { c.TLS.Cert, c.TLS.Key = "", "" },
		"a certificate of another authority": func(c *Connection) { c.TLS.Cert, c.TLS.Key = strange, strangeKey },
		"a server of another authority":      func(c *Connection) { c.TLS.CA = others.file },
		"a server with another name":         func(c *Connection) { c.TLS.ServerName = "other.example" },
		"no TLS":                             func(c *Connection) { c.TLS = fleet.TLS{} },
		"no API key":                         func(c *Connection) { c.APIKey = "" },
		"another API key":                    func(c *Connection) { c.APIKey = cert },
	} {
		c := conn
		change(&c)
		if client, err := Dial(t.Context(), c, nil); fault.KindOf(err) != fault.Host {
			t.Errorf("%s: %v", what, err)
			if err == nil {
				client.Close()
			}
		}
	}

	client := dialled(t, conn)
	background(t, func(ctx context.Context) error { return Coordinate(ctx, conn, "b1") })
	m := &counting{dir: t.TempDir(), trials: 3, took: 10 * time.Millisecond}
	background(t, func(ctx context.Context) error { return Work(ctx, conn, "node1", "b1", m) })
	started(t, client, order("b1", "node1"))
	s := eventually(t, client, "the run ends", over)
	if r := s.Machines["node1"]; r.State != Done || r.Trials != 3 || r.SHA256 == "" {
		t.Errorf("%+v", r)
	}
	must(t, os.WriteFile(conn.APIKey, []byte("revoked\n"), 0o600))
	if _, err := client.Status(t.Context(), "racks", "one"); err == nil {
		t.Error("the changed key is not used")
	}
}

// TestConnectionRefused: files that are not what they should be are named, and a key is never sent where others could
// read it.
func TestConnectionRefused(t *testing.T) {
	t.Parallel()
	cert, key := newAuthority(t).files(t, "node")
	for text, c := range map[string]Connection{
		"needs tls":      {Address: "temporal.example:7233", APIKey: key},
		"no such file":   {Address: "127.0.0.1:1", APIKey: key + ".gone"},
		"no certificate": {Address: "127.0.0.1:1", TLS: fleet.TLS{On: true, CA: key}},
		"and key":        {Address: "127.0.0.1:1", TLS: fleet.TLS{On: true, Cert: cert, Key: cert}},
	} {
		if _, err := Dial(t.Context(), c, nil); fault.KindOf(err) != fault.Campaign || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// forgetful is a Temporal that does not know of a coordinator until it was asked some times.
type forgetful struct {
	client.Client
	asked int
}

func (f *forgetful) DescribeTaskQueue(context.Context, string, enums.TaskQueueType) (
	*workflowservice.DescribeTaskQueueResponse, error) {
	if f.asked--; f.asked > 0 {
		return &workflowservice.DescribeTaskQueueResponse{}, nil
	}
	return &workflowservice.DescribeTaskQueueResponse{Pollers: []*taskqueue.PollerInfo{{}}}, nil
}

// TestForgotten: a coordinator that Temporal does not know of at first is waited for, and only for so long.
func TestForgotten(t *testing.T) {
	waits := 0
	c := &Client{&forgetful{asked: 3}, func() { waits++ }, time.Hour}
	if err := c.coordinated(t.Context(), "queue"); err != nil || waits != 2 {
		t.Errorf("%v after %d waits", err, waits)
	}
	c = &Client{&forgetful{asked: 100}, func() {}, time.Nanosecond}
	if err := c.coordinated(t.Context(), "queue"); fault.KindOf(err) != fault.Host ||
		!strings.Contains(err.Error(), "no coordinator") {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	c = &Client{&forgetful{asked: 100}, stop, time.Hour}
	if err := c.coordinated(ctx, "queue"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
