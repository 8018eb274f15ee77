package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// otherMachine is a second machine: a network namespace with an sshd and two cables to this host.
type otherMachine struct {
	dir    string
	cable  string // this host's interface on the cable for guests
	login  string // where to log in, over the other cable
	wired  string // its address on the cable for guests
	uplink string // for the host's end there
}

func startOtherMachine(t *testing.T) otherMachine {
	t.Helper()
	m := otherMachine{dir: t.TempDir(), login: "198.18.200.2", wired: "198.18.201.2", uplink: "198.18.201.100/24"}
	in := func(name string) string { return filepath.Join(m.dir, name) }
	must := func(name string, arg ...string) {
		t.Helper()
		if out, err := exec.Command(name, arg...).CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(arg, " "), err, out)
		}
	}
	for _, key := range []string{"host", "user"} {
		must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", in(key))
	}
	public, err := os.ReadFile(in("host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, m.dir, "known", m.login+" "+string(public))
	write(t, m.dir, "config", fmt.Sprintf("ListenAddress %s\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\n"+
		"StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n", m.login, in("host"), in("user.pub")))
	// sshd needs /run/sshd. This one has a /run of its own, where no other test removes it.
	cmd := exec.Command("sh", "-c", `mount -t tmpfs none /run && mkdir /run/sshd && read go && exec "$@"`, "sh",
		"/usr/sbin/sshd", "-D", "-e", "-f", in("config"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET,
		Pdeathsig: syscall.SIGKILL}
	var log strings.Builder
	cmd.Stderr = &log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("the other machine:\n%s", log.String())
		}
	})
	pid := strconv.Itoa(cmd.Process.Pid)
	there := func(arg ...string) { must("nsenter", append([]string{"-t", pid, "-n", "ip"}, arg...)...) }
	there("link", "set", "lo", "up")
	id := strings.ToLower(rand.Text()[:8])
	m.cable = "tw" + id
	for _, cable := range []struct{ here, there, own, address string }{
		{"tl" + id, "login", "198.18.200.1/24", m.login + "/24"}, {m.cable, "wire", "", m.wired + "/24"},
	} {
		must("ip", "link", "add", cable.here, "type", "veth", "peer", "name", cable.there, "netns", pid)
		t.Cleanup(func() { exec.Command("ip", "link", "delete", cable.here).Run() })
		there("address", "add", cable.address, "dev", cable.there)
		there("link", "set", cable.there, "up")
		if cable.own != "" {
			must("ip", "address", "add", cable.own, "dev", cable.here)
			must("ip", "link", "set", cable.here, "up")
		}
	}
	if _, err := io.WriteString(stdin, "go\n"); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(50 * time.Millisecond) {
		if c, err := net.Dial("tcp", m.login+":22"); err == nil {
			c.Close()
			return m
		}
	}
	t.Fatal("its sshd does not come up")
	return m
}

// TestSecondMachine: another machine serves guests over a cable, and runs workloads against them, also across a NAT;
// what it needs of tare's is brought there, and nothing stays.
func TestSecondMachine(t *testing.T) {
	live(t)
	m := startOtherMachine(t)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(m.dir, "space"), 0o755); err != nil {
		t.Fatal(err)
	}
	end := fmt.Sprintf("{on: 'ssh://root@%s', address: %s, options: {key: %s/user, known_hosts: %[3]s/known, "+
		"dir: %[3]s/space}}", m.login, m.wired, m.dir)
	write(t, dir, "wire.yaml", fmt.Sprintf(`
name: wire
seed: 3
uplink: {interface: %s, address: %s}
flavors:
  wired: {vcpus: 1, memory: 256MiB, disk: 64MiB, network: bridged}
  behind: {vcpus: 1, memory: 256MiB, disk: 64MiB, network: nat}
allow_unequal: true
arms: [native, {name: native-nat, system: native, flavor: behind}, {name: lxc-nat, system: lxc, flavor: behind}]
workloads:
  - name: exchange
    server:
      - perl
      - -MIO::Socket::INET
      - -e
      - |
        my $l = IO::Socket::INET->new(LocalAddr => "0.0.0.0", LocalPort => 5601, Listen => 9, ReuseAddr => 1) or die $@;
        while (my $c = $l->accept) {
          my $n = 0;
          while ($n < 4194304) { my $r = sysread($c, my $b, 65536) or last; $n += $r }
          print $c "$n bytes from ", $c->peerhost, "\n";
        }
    ready: [grep, -q, ":15E1 .* 0A ", /proc/net/tcp]
    command:
      - perl
      - -MIO::Socket::INET
      - -e
      - |
        my $c = IO::Socket::INET->new(PeerAddr => $ARGV[0], PeerPort => 5601, Timeout => 20) or die $@;
        print $c "x" x 4194304; $c->flush; print <$c>;
      - "{server}"
    expect: "^4194304 bytes from "
    metrics: [{name: peer, unit: number, better: lower, regex: 'bytes from \d+\.\d+\.\d+\.(\d+)'}]
scenarios:
  - {name: out, pairs: 1, server: %s}
  - {name: in, pairs: 1, client: %[3]s}
blocks: 1
`, m.cable, m.uplink, end))
	r := tare(t, dir, "run", "--yes", "wire.yaml", "--out", "wire.tare")
	if r.status != 0 {
		t.Fatalf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	e := exported(t, filepath.Join(dir, "wire.tare"))
	done := map[string]int{}
	peers := map[string]float64{} // the last byte of the address from which the server was asked
	for _, trial := range e.Trials {
		if trial.Status != "done" {
			t.Errorf("trial %+v", trial)
		}
		if trial.Role == "" {
			done[trial.Arm]++
			peers[trial.Arm] = trial.Metrics["peer"]
			if _, known := trial.Probes["retransmits"]; !known {
				t.Errorf("%s: nobody counts what is sent again: %v", trial.Arm, trial.Probes)
			}
		}
	}
	for _, arm := range []string{"native", "native-nat", "lxc-nat", "native-control"} {
		for _, way := range []string{"out", "in"} {
			if done[arm+"@"+way] == 0 {
				t.Errorf("no trial of %s, %s; there are %v", arm, way, done)
			}
		}
	}
	// The host's end has .100, and with NAT is the router; guests follow; the machine has .2.
	for arm, want := range map[string]float64{"native-nat@out": 100, "lxc-nat@out": 100, "native@in": 2, "lxc-nat@in": 2} {
		if peers[arm] != want {
			t.Errorf("%s: the server was asked by .%v, not .%v", arm, peers[arm], want)
		}
	}
	if peers["native@out"] <= 100 {
		t.Errorf("without NAT, the server was asked by .%v", peers["native@out"])
	}
	left, err := os.ReadDir(filepath.Join(m.dir, "space"))
	if err != nil || len(left) > 0 {
		t.Errorf("left on the other machine: %v, %v", left, err)
	}
	if _, err := net.InterfaceByName(m.cable); err != nil {
		t.Errorf("this host has lost its interface: %v", err)
	}
	nothingLeft(t)
}
