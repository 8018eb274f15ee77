package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/tare-bench/tare/internal/fault"
)

const (
	handshakeTimeout = 30 * time.Second
	keepAliveTime    = 15 * time.Second
)

// loggedIn is a connection on which sessions can be opened.
type loggedIn struct {
	*ssh.Client
	conn net.Conn // the underlying connection
	set  settings
	gone chan struct{} // closed when the connection has ended
}

// open opens a session, or fails when the connection ends. The library can wait for ever for a session of a connection
// that ends at the moment when it is asked: in openChannel of its mux.go, nothing ends a channel that was made after
// the others were closed.
func (l *loggedIn) open() (*ssh.Session, error) {
	type result struct {
		session *ssh.Session
		err     error
	}
	opened := make(chan result, 1)
	go func() {
		s, err := l.NewSession()
		opened <- result{s, err}
	}()
	select {
	case r := <-opened:
		if r.err != nil {
			return nil, fault.Guestf("opening a session: %w", r.err)
		}
		return r.session, nil
	case <-l.gone:
		return nil, fault.Guestf("opening a session: the connection is cut")
	}
}

// login connects, checks the machine's host key, and authenticates. The caller closes the result.
func login(ctx context.Context, set settings) (*loggedIn, error) {
	keys, err := hostKeys(set)
	if err != nil {
		return nil, err
	}
	auth, err := authentication(set)
	if err != nil {
		return nil, err
	}
	defer auth.close()
	// The kernels exchange keepalives, so no process on the machine wakes up for them.
	d := net.Dialer{Timeout: handshakeTimeout, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: keepAliveTime, Interval: keepAliveTime / 3, Count: 3,
	}}
	conn, err := d.DialContext(ctx, "tcp", set.address())
	if err != nil {
		return nil, fault.Hostf("cannot reach %s: %w", set.target, err)
	}
	conn.SetDeadline(time.Now().Add(handshakeTimeout))
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	c, chans, reqs, err := ssh.NewClientConn(conn, set.address(), &ssh.ClientConfig{
		User: set.user, Auth: auth.methods, HostKeyCallback: keys.check, HostKeyAlgorithms: keys.algorithms(set.address()),
	})
	if err != nil {
		conn.Close()
		return nil, explain(ctx, set, auth, err)
	}
	conn.SetDeadline(time.Time{})
	l := &loggedIn{Client: ssh.NewClient(c, chans, reqs), conn: conn, set: set, gone: make(chan struct{})}
	go func() {
		l.Wait()
		close(l.gone)
	}()
	return l, nil
}

// explain turns the error of a failed handshake into one with a remedy.
func explain(ctx context.Context, set settings, auth *authMethods, err error) error {
	var known *fault.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &known): // of the host key; the handshake's text adds nothing
		return known
	case strings.Contains(err.Error(), "unable to authenticate"):
		return fault.WithRemedy(fault.Hostf("%s refuses the login; tried: %s", set.target, strings.Join(auth.tried, "; ")),
			"ssh-copy-id -p %s %s@%s, or give the arm option key or password_env; under sudo, keep the SSH agent: sudo "+
				"--preserve-env=SSH_AUTH_SOCK", set.port, set.user, set.host)
	}
	return fault.Hostf("%s: %w", set.target, err)
}

// authMethods are the methods to authenticate with.
type authMethods struct {
	methods []ssh.AuthMethod
	tried   []string // descriptions for the user
	agent   net.Conn // nil: none
}

func (a *authMethods) close() {
	if a.agent != nil {
		a.agent.Close()
	}
}

func (a *authMethods) note(format string, args ...any) {
	a.tried = append(a.tried, fmt.Sprintf(format, args...))
}

// authentication collects the credentials of the arm and the user. It uses a password only if the
// arm names one, and then nothing else.
func authentication(set settings) (*authMethods, error) {
	a := &authMethods{}
	if name := set.passwordEnv; name != "" {
		password, ok := os.LookupEnv(name)
		if !ok {
			return nil, fault.Campaignf("option password_env of ssh: there is no environment variable %s", name)
		}
		a.note("the password in %s", name)
		answer := func(_, _ string, questions []string, _ []bool) ([]string, error) {
			return slices.Repeat([]string{password}, len(questions)), nil
		}
		a.methods = []ssh.AuthMethod{ssh.Password(password), ssh.KeyboardInteractive(answer)}
		return a, nil
	}
	signers := a.fromAgent()
	if set.key != "" {
		path := homePath(set.key)
		s, err := readKey(path)
		switch locked := (*ssh.PassphraseMissingError)(nil); {
		case errors.As(err, &locked):
			if signers = ofFile(signers, path); signers == nil {
				a.close()
				return nil, fault.WithRemedy(fault.Hostf("%s has a passphrase, and the SSH agent does not have it", path),
					"ssh-add %s", path)
			}
		case err != nil:
			a.close()
			return nil, fault.Campaignf("option key of ssh: %w", err)
		default:
			signers = []ssh.Signer{s}
		}
		a.tried = []string{"the key " + path}
	} else {
		signers = append(signers, a.fromHome()...)
	}
	a.methods = []ssh.AuthMethod{ssh.PublicKeys(signers...)}
	return a, nil
}

// fromAgent returns the keys of the user's SSH agent.
func (a *authMethods) fromAgent() []ssh.Signer {
	sock := os.Getenv("SSH_AUTH_SOCK")
	if sock == "" {
		a.note("no SSH agent (SSH_AUTH_SOCK is not set)")
		return nil
	}
	conn, err := net.Dial("unix", sock)
	if err != nil {
		a.note("no SSH agent: %v", err)
		return nil
	}
	a.agent = conn
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		a.note("the SSH agent: %v", err)
		return nil
	}
	a.note("%d keys of the SSH agent", len(signers))
	return signers
}

// fromHome returns the keys in the user's ~/.ssh.
func (a *authMethods) fromHome() (signers []ssh.Signer) {
	for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
		path := homePath("~/.ssh/" + name)
		s, err := readKey(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			a.note("not the key %s: %v", path, err)
			continue
		}
		a.note("the key %s", path)
		signers = append(signers, s)
	}
	return signers
}

func readKey(path string) (ssh.Signer, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := ssh.ParsePrivateKey(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// ofFile returns the signer that matches the public key file beside a private one.
func ofFile(signers []ssh.Signer, path string) []ssh.Signer {
	b, err := os.ReadFile(path + ".pub")
	if err != nil {
		return nil
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(b)
	if err != nil {
		return nil
	}
	for _, s := range signers {
		if string(s.PublicKey().Marshal()) == string(public.Marshal()) {
			return []ssh.Signer{s}
		}
	}
	return nil
}

// homePath expands a leading ~/ to the user's home.
func homePath(path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	home, err := os.UserHomeDir()
	if !ok || err != nil {
		return path
	}
	return filepath.Join(home, rest)
}
