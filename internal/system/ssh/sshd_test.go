package ssh

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/tare-bench/tare/internal/porttest"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/systemtest"
)

// machine is a real sshd on loopback; logging in to it leads to this machine.
type machine struct {
	dir     string // its files, and what guests make
	port    string
	request func(system.Request) system.Request
}

// newKey writes a new private key to path and returns its public key.
func newKey(t *testing.T, path string) ssh.PublicKey {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, pem.EncodeToMemory(block))
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// startSSHD starts an sshd, which ends with the test.
func startSSHD(t *testing.T) *machine {
	t.Helper()
	systemtest.Host(t) // or skip
	const program = "/usr/sbin/sshd"
	if _, err := os.Stat(program); err != nil {
		t.Skip("openssh-server is not installed")
	}
	m := &machine{dir: t.TempDir()}
	in := func(name string) string { return filepath.Join(m.dir, name) }
	host := newKey(t, in("host"))
	user := newKey(t, in("user"))
	write(t, in("authorized"), ssh.MarshalAuthorizedKey(user))
	m.port = porttest.Free(t)
	write(t, in("known"), []byte(knownhosts.Line([]string{"[127.0.0.1]:" + m.port}, host)+"\n"))
	if err := os.Mkdir(in("space"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, in("config"), fmt.Appendf(nil, "ListenAddress 127.0.0.1:%s\nHostKey %s\nAuthorizedKeysFile %s\n"+
		"PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n",
		m.port, in("host"), in("authorized")))
	m.request = func(f system.Request) system.Request {
		f.Target = "ssh://root@127.0.0.1:" + m.port
		f.Options = map[string]string{"key": in("user"), "known_hosts": in("known"), "dir": in("space")}
		return f
	}
	var log bytes.Buffer
	// sshd requires /run/sshd whenever somebody connects. This one has a /run of its own, where no other test removes it.
	cmd := exec.Command("sh", "-c", `mount -t tmpfs none /run && mkdir /run/sshd && exec "$@"`, "sh",
		program, "-D", "-e", "-f", in("config"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("sshd:\n%s", log.Bytes())
		}
	})
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		if c, err := net.Dial("tcp", "127.0.0.1:"+m.port); err == nil {
			c.Close()
			idle(cmd.Process.Pid)
			return m
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("sshd does not come up")
	return nil
}

// idle waits until sshd's process title shows no pending connection.
func idle(pid int) {
	for range 100 {
		if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); bytes.Contains(b, []byte(" 0 of ")) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// space lists the directories that guests have on the machine.
func (m *machine) space(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(m.dir, "space"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// driver is the driver whose guests are all on one machine.
type driver struct {
	Driver
	m *machine
}

func (d driver) Create(ctx context.Context, s *system.Site) (system.Guest, error) {
	s.Request = d.m.request(s.Request)
	return d.Driver.Create(ctx, s)
}
