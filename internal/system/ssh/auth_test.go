package ssh

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/tare-bench/tare/internal/fault"
)

// door starts a server in this process which accepts the password or the key, and has several host
// keys. It returns the settings to log in with.
func door(t *testing.T, password string, key ssh.PublicKey, hostKeys ...ssh.Signer) settings {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	config := &ssh.ServerConfig{
		PublicKeyCallback: func(_ ssh.ConnMetadata, k ssh.PublicKey) (*ssh.Permissions, error) {
			if key != nil && string(k.Marshal()) == string(key.Marshal()) {
				return nil, nil
			}
			return nil, errors.New("no")
		},
		KeyboardInteractiveCallback: func(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions,
			error) {
			answers, err := ask("", "", []string{"Password: "}, []bool{false})
			if err == nil && password != "" && len(answers) == 1 && answers[0] == password {
				return nil, nil
			}
			return nil, errors.New("no")
		},
	}
	for _, k := range hostKeys {
		config.AddHostKey(k)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if c, chans, reqs, err := ssh.NewServerConn(conn, config); err == nil {
					go ssh.DiscardRequests(reqs)
					for range chans {
					}
					c.Close()
				}
			}()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	known := filepath.Join(t.TempDir(), "known")
	line := knownhosts.Line([]string{"[127.0.0.1]:" + port}, hostKeys[len(hostKeys)-1].PublicKey())
	write(t, known, []byte(line+"\n"))
	return settings{target: target{"me", "127.0.0.1", port}, knownHosts: known}
}

func signer(t *testing.T) (ssh.Signer, ed25519.PrivateKey) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return s, private
}

func enter(t *testing.T, set settings) error {
	t.Helper()
	l, err := login(t.Context(), set)
	if err == nil {
		l.Close()
	}
	return err
}

func TestPassword(t *testing.T) {
	host, _ := signer(t)
	set := door(t, "open sesame", nil, host)
	set.passwordEnv = "TARE_TEST_PASSWORD"
	t.Setenv("TARE_TEST_PASSWORD", "open sesame")
	if err := enter(t, set); err != nil {
		t.Error(err)
	}
	t.Setenv("TARE_TEST_PASSWORD", "open wheat")
	err := enter(t, set)
	if err == nil || fault.KindOf(err) != fault.Host || strings.Contains(err.Error(), "wheat") {
		t.Errorf("a wrong password: %v", err)
	}
}

// TestAgent: keys of the SSH agent, and a key file whose passphrase only the agent has.
func TestAgent(t *testing.T) {
	host, _ := signer(t)
	mine, private := signer(t)
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	set := door(t, "", mine.PublicKey(), host)
	t.Setenv("SSH_AUTH_SOCK", "")
	if err := enter(t, set); err == nil || !strings.Contains(err.Error(), "no SSH agent") {
		t.Errorf("without a key: %v", err)
	}
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "locked")
	write(t, path, pem.EncodeToMemory(locked))
	write(t, path+".pub", ssh.MarshalAuthorizedKey(mine.PublicKey()))
	withKey := set
	withKey.key = "~/locked"
	if err := enter(t, withKey); err == nil || !strings.Contains(err.Error(), "passphrase") ||
		fault.RemedyOf(err) != "ssh-add "+path {
		t.Errorf("a key with a passphrase: %v", err)
	}

	ring := agent.NewKeyring()
	_, otherKey := signer(t)
	for _, k := range []any{otherKey, private} {
		if err := ring.Add(agent.AddedKey{PrivateKey: k}); err != nil {
			t.Fatal(err)
		}
	}
	sock := filepath.Join(dir, "sock")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go agent.ServeAgent(ring, conn)
		}
	}()
	t.Setenv("SSH_AUTH_SOCK", sock)
	for _, s := range []settings{set, withKey} {
		if err := enter(t, s); err != nil {
			t.Error(err)
		}
	}
}

// TestHostKeyOfKnownType: a machine with several keys presents the one that is known.
func TestHostKeyOfKnownType(t *testing.T) {
	first, _ := signer(t)
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	second, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for _, keys := range [][]ssh.Signer{{first, second}, {second, first}} {
		set := door(t, "x", nil, keys...)
		set.passwordEnv = "TARE_TEST_PASSWORD"
		t.Setenv("TARE_TEST_PASSWORD", "x")
		if err := enter(t, set); err != nil {
			t.Errorf("known is the %s key: %v", keys[1].PublicKey().Type(), err)
		}
	}
}

// TestMachineHangs: a machine that answers nothing after the login does not keep tare beyond its context.
func TestMachineHangs(t *testing.T) {
	host, _ := signer(t)
	set := door(t, "secret", nil, host) // it opens no sessions
	t.Setenv("TARE_TEST_PASSWORD", "secret")
	set.passwordEnv = "TARE_TEST_PASSWORD"
	l, err := login(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	hangUpDelay = 50 * time.Millisecond
	t.Cleanup(func() { hangUpDelay = 10 * time.Second })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := l.run(ctx, "true", nil); err == nil {
		t.Error("a command ran")
	}
}
