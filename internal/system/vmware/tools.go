package vmware

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/tare-bench/tare/internal/agent/token"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
)

// guestTools are the operations of VMware Tools in a guest, for both products.
type guestTools interface {
	// upload creates a file, which must not exist.
	upload(ctx context.Context, path string, content []byte) error
	// start starts a program without waiting for it. run waits for its end, and returns an error
	// if its exit status is not 0.
	start(ctx context.Context, program, arg string) error
	run(ctx context.Context, program, arg string) error
	// address waits until the guest has an IP address and returns it.
	address(ctx context.Context) (string, error)
}

// place is where a guest's agent is installed and listens.
type place struct {
	tools guestTools
	base  string // prefix of all of tare's paths in the guest
	port  string
}

// unlessOff returns the error of powering a machine off, unless the machine has powered itself off meanwhile.
func unlessOff(err error, running func() (bool, error)) error {
	if err == nil {
		return nil
	}
	on, stateErr := running()
	if stateErr == nil && !on {
		return nil
	}
	return errors.Join(err, stateErr)
}

// guestOptions are the options of both products.
var guestOptions = []system.Option{
	{Name: "guest_user", Default: "root", About: "User in the guest that runs the agent; workloads that drop caches " +
		"need root."},
	{Name: "guest_password_env", Default: "TARE_VMWARE_GUEST_PASSWORD",
		About: "Name of the environment variable that holds that user's password."},
	{Name: "dir", Default: "/var/tmp", About: "Directory in the guest in which tare makes a new one for the agent " +
		"and the data, and removes it afterwards."},
	{Name: "port", Default: "7377", About: "TCP port on which the agent listens in the guest; its firewall must let " +
		"this host in."},
}

// guestLogin returns the user and the password for guest operations.
func guestLogin(options []system.Option, ask system.Request) (user, password string, err error) {
	name := ask.Setting(options, "guest_password_env")
	password, ok := os.LookupEnv(name)
	if !ok {
		return "", "", fault.WithRemedy(fault.Campaignf("the guest's password: there is no environment variable %s", name),
			"set it, or name another with the option guest_password_env")
	}
	return ask.Setting(options, "guest_user"), password, nil
}

func newPlace(tools guestTools, options []system.Option, s *system.Site) place {
	dir := strings.TrimSuffix(s.Setting(options, "dir"), "/")
	return place{tools, dir + "/tare-" + s.ID, s.Setting(options, "port")}
}

func (p place) dataDir() string { return p.base + ".d/data" }

// script returns the script that starts the agent. The shell waits for the agent's end, and then
// removes everything.
func (p place) script() string {
	lines := []string{
		`b=` + quote(p.base), `d="$b.d"`,
		`trap 'rm -rf "$d" "$b".agent "$b".token "$b".sh' EXIT`,
		`mkdir "$d" "$d/data" && chmod 700 "$d" && mv "$b.agent" "$d/tare-agent" && mv "$b.token" "$d/token" && chmod 700 "$d/tare-agent" || exit 1`,
		`cd "$d/data" && "$d/tare-agent" tcp::` + p.port + ` "$d/token" "$d/data"`,
	}
	return strings.Join(lines, "\n") + "\n"
}

// quote quotes s as one word for a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

const (
	dialTimeout = 15 * time.Second
	dialPause   = 100 * time.Millisecond
)

// startAgent copies the agent into a running guest, starts it, and connects to it. Guest operations
// offer no stream, so the agent listens on a port. Both ends prove that they know a token that was
// made for this guest only.
func (p place) startAgent(ctx context.Context, s *system.Site) (*conn, error) {
	program, err := os.ReadFile(s.Userland.Agent)
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	secret := token.New()
	for _, f := range []struct {
		suffix  string
		content []byte
	}{{".agent", program}, {".token", []byte(hex.EncodeToString(secret))}, {".sh", []byte(p.script())}} {
		if err := p.tools.upload(ctx, p.base+f.suffix, f.content); err != nil {
			return nil, fmt.Errorf("copying %s into the guest: %w", p.base+f.suffix, err)
		}
	}
	if err := p.tools.start(ctx, "/bin/sh", p.base+".sh"); err != nil {
		return nil, fmt.Errorf("starting the agent: %w", err)
	}
	host, err := p.tools.address(ctx)
	if err != nil {
		return nil, fmt.Errorf("the guest's address: %w", err)
	}
	return p.connect(ctx, net.JoinHostPort(host, p.port), secret)
}

func (p place) connect(ctx context.Context, address string, secret []byte) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	// No keepalive: a frozen guest does not answer, but is alive.
	d := net.Dialer{KeepAlive: -1}
	for {
		c, err := d.DialContext(ctx, "tcp", address)
		if err == nil {
			if err = token.Host(c, secret); err == nil {
				return &conn{Conn: c, gone: make(chan struct{})}, nil
			}
			c.Close()
			return nil, fault.Guestf("the agent at %s: %w", address, err)
		}
		select {
		case <-ctx.Done():
			return nil, fault.WithRemedy(fault.Guestf("no agent answers at %s: %w", address, err),
				"check that the guest's firewall lets this host in on TCP port %s, and that %s is not mounted noexec there",
				p.port, path.Dir(p.base))
		case <-time.After(dialPause):
		}
	}
}

// removed waits until the guest has removed the agent and its data.
func (p place) removed(ctx context.Context) error {
	waits := p.base + ".wait"
	script := `i=0; while [ -e ` + quote(p.base+".d") + ` ] && [ $i -lt 100 ]; do i=$((i+1)); sleep 0.1; done; rm -rf ` +
		quote(p.base+".d") + ` ` + quote(waits) + "\n"
	if err := p.tools.upload(ctx, waits, []byte(script)); err != nil {
		return err
	}
	return p.tools.run(ctx, "/bin/sh", waits)
}

// conn closes gone when the connection breaks or is closed.
type conn struct {
	net.Conn
	once sync.Once
	gone chan struct{}
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.once.Do(func() { close(c.gone) })
	}
	return n, err
}

func (c *conn) Close() error {
	c.once.Do(func() { close(c.gone) })
	return c.Conn.Close()
}
