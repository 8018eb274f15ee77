// Package ssh measures any machine with an SSH login: a guest of a system for which tare has no
// driver, a cloud machine, another host. It copies the agent there, talks to it over the session's
// standard input and output, and removes it again. The machine is not tare's: its size is fixed, it
// runs its own programs, it cannot be frozen, and its cost to the host cannot be measured.
package ssh

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os/user"
	"path"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
)

// Driver is the system "ssh".
type Driver struct{}

func (Driver) Name() string { return "ssh" }

var options = []system.Option{
	{Name: "dir", Default: "/var/tmp", About: "Directory on the machine in which tare makes a new one for the agent " +
		"and the data, and removes it afterwards."},
	{Name: "key", About: "File of the private key. Absent: the keys of the SSH agent, then ~/.ssh/id_ed25519, id_ecdsa " +
		"and id_rsa."},
	{Name: "password_env", About: "Name of the environment variable that holds the password. Absent: no password " +
		"is tried."},
	{Name: "known_hosts", About: "File of the known host keys. Absent: ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts."},
	{Name: "sudo", Values: []string{"no", "yes"}, Default: "no",
		About: "Become root on the machine with sudo, which must not ask for a password; workloads that drop caches " +
			"need root."},
}

func (Driver) Capabilities() system.Capabilities {
	return system.Capabilities{
		VerifiedOn:  system.Live,
		Memory:      "nothing: the machine keeps the size that it has",
		IOCap:       system.RemoteCap,
		Swap:        system.RemoteCap,
		NetCap:      system.RemoteCap,
		Remote:      true,
		OwnUserland: true,
		Target:      "the machine to log in to, ssh://USER@HOST:PORT; the user may be left out, and port 22",
		Options:     options,
	}
}

// Check cannot check machines: each arm's target names its own.
func (Driver) Check(context.Context, *system.Host) system.Status {
	return system.Status{Usable: true, Proof: "needs nothing here; an arm's target names the machine: target: " +
		"ssh://USER@HOST"}
}

// CheckTarget returns an error if text is not a valid target.
func (Driver) CheckTarget(text string) error {
	_, err := parseTarget(text)
	return err
}

// target is where to log in.
type target struct {
	user, host, port string
}

func parseTarget(text string) (target, error) {
	fail := func(why string) (target, error) {
		return target{}, fault.Campaignf("target %q: %s; want ssh://USER@HOST:PORT", text, why)
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "ssh" || u.Opaque != "" || u.Hostname() == "" {
		return fail("it is not an SSH address")
	}
	if _, secret := u.User.Password(); secret {
		text = u.Redacted()
		return fail("a password must not be in a file; option password_env names the environment variable that holds it")
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return fail("it contains more than an address")
	}
	if strings.HasPrefix(u.Hostname(), "-") {
		return fail("a host name does not begin with -")
	}
	return target{u.User.Username(), u.Hostname(), cmp.Or(u.Port(), "22")}, nil
}

// address is host and port, for dialing.
func (t target) address() string { return net.JoinHostPort(t.host, t.port) }

func (t target) String() string { return "ssh://" + t.user + "@" + t.address() }

// settings are an arm's target and options.
type settings struct {
	target
	dir, key, passwordEnv, knownHosts string
	sudo                              bool
}

func readSettings(ask system.Request) (settings, error) {
	get := func(name string) string { return ask.Setting(options, name) }
	t, err := parseTarget(ask.Target)
	if err != nil {
		return settings{}, err
	}
	if t.user == "" {
		me, err := user.Current()
		if err != nil {
			return settings{}, fault.Hostf("the user to log in as: %w", err)
		}
		t.user = me.Username
	}
	s := settings{t, get("dir"), get("key"), get("password_env"), get("known_hosts"), get("sudo") == "yes"}
	if !path.IsAbs(s.dir) {
		return s, fault.Campaignf("option dir of ssh is %q: it must be an absolute path", s.dir)
	}
	return s, nil
}

func (Driver) Create(ctx context.Context, s *system.Site) (system.Guest, error) {
	set, err := readSettings(s.Request)
	if err != nil {
		return nil, err
	}
	l, err := login(ctx, set)
	if err != nil {
		return nil, err
	}
	g, err := start(ctx, l, s)
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("%s: %w", set.target, err)
	}
	return g, nil
}
