package setuptest

import (
	"bytes"
	"cmp"
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/clitest"
	"github.com/tare-bench/tare/internal/fleet/machinetest"
	"github.com/tare-bench/tare/internal/tools"
)

// binary is the program.
var binary string

func TestMain(m *testing.M) { clitest.Main(m, "../../cmd/tare", &binary) }

// images is where the userland image and the tools tree are.
var images = filepath.Join(cmp.Or(os.Getenv("TARE_STATE"), "/var/lib/tare"), "images")

// digestScript has functions that print what belongs to a machine.
//
//go:embed digest.sh
var digestScript string

// machineState lists what belongs to a machine.
var machineState = digestScript + "files /etc /usr /bin /sbin /lib /var /root 2>/dev/null\n" +
	"packages; units; processes; settings; rules; kernel"

// others are the stand-ins that run as daemons on a host that works for others.
var others = []string{"containerd", "dockerd", "kubelet", "qemu-system-x86_64"}

// TestQuick measures on machines of other Linux distributions with nothing but the release's program and the two trees,
// which tare image import brings to such machines, and on one that works for others: quick runs to its end and changes
// nothing there. They have gVisor, as a program that their owner installed: where no system has a kernel of its own,
// User-Mode Linux takes part, whose trials take minutes on a busy machine. TARE_USERLANDS=all tries that, too.
func TestQuick(t *testing.T) {
	if os.Getenv("TARE_LIVE") != "1" {
		t.Skip("set TARE_LIVE=1 to make machines (root, Debian's and Ubuntu's mirrors)")
	}
	const busy, bare = "bookworm with others", "bookworm"
	hosts := []string{busy, "noble", machinetest.BusyBox}
	if os.Getenv("TARE_USERLANDS") == "all" {
		hosts = append(hosts, "trixie", "jammy", bare)
	}
	for _, name := range hosts {
		t.Run(name, func(t *testing.T) {
			machine := machinetest.Machine{Name: "host", Userland: name, Images: images}
			want := []string{"\n  lxc ", "\n  runc ", "of the tools tree"}
			if name == busy {
				machine = occupied(t)
				want = []string{"This machine works for others", "kubelet", "1 machine of QEMU",
					"/usr/bin/runc --version prints nothing", "/usr/bin/lxc-start --version prints nothing",
					"/usr/bin/qemu-system-x86_64 --version prints nothing", "to fix: repair it, or use that of the tools tree"}
			}
			config := machinetest.Start(t, machine)
			on := func(script string, input []byte) string { return ssh(t, config, script, input) }
			program, err := os.ReadFile(binary)
			must(t, err)
			on("mount --make-rshared /", nil) // as systemd does
			// Other tests look at the loop devices of the host for data volumes in the default directory.
			on("mkdir /var/lib/tare/own && ln -s ../images /var/lib/tare/own/images && "+
				"cat >/var/lib/tare/tare && chmod 755 /var/lib/tare/tare", program)
			if runsc, err := os.ReadFile(filepath.Join(tools.Dir, "runsc")); err == nil && name != bare {
				on("cat >/usr/local/bin/runsc && chmod 755 /usr/local/bin/runsc", runsc)
			}
			if name == busy {
				on("for d in "+strings.Join(others, " ")+"; do $d serve </dev/null >/dev/null 2>&1 & done", nil)
			}
			before := on(machineState, nil)
			const tare = "TARE_STATE=/var/lib/tare/own /var/lib/tare/tare"
			run := tare + " run quick --yes --budget 20s --out q.tare 2>&1"
			if name == bare { // a trial of User-Mode Linux may take more than a minute, which quick tells by its status
				run = "{ " + run + " || [ $? = 5 ]; }"
			}
			out := on("cd /tmp && "+run+" && rm q.tare", nil)
			after := on(machineState, nil)
			if changed := difference(before, after); changed != "" {
				t.Errorf("the machine was changed:%s", changed)
			}
			for _, want := range want {
				if !strings.Contains(out, want) {
					t.Errorf("the result lacks %q", want)
				}
			}
			if name == busy {
				for call := range strings.Lines(on("cat /run/calls", nil)) {
					if !strings.HasSuffix(call, " serve\n") && !strings.HasSuffix(call, " --version\n") {
						t.Errorf("tare used a program of the host that does not work: %s", call)
					}
				}
			}
			if left := on(tare+" gc --dry-run", nil); left != "" {
				t.Errorf("left behind: %s", left)
			}
			t.Log(out)
		})
	}
}

// occupied is a machine with the packages of a host that works for others.
func occupied(t *testing.T) machinetest.Machine {
	t.Helper()
	debs := standIns(t)
	return machinetest.Machine{Name: "host", Userland: "bookworm", Images: images,
		Prepare: "cp -r " + debs + " tmp/debs && chroot . sh -c 'dpkg -i /tmp/debs/*.deb' && rm -r tmp/debs"}
}

// ssh runs a shell script on the machine and returns its output.
func ssh(t *testing.T, config, script string, input []byte) string {
	t.Helper()
	cmd := exec.Command("ssh", "-F", config, "host", script)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}
