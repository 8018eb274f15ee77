package setuptest

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/clitest"
	"github.com/tare-bench/tare/internal/fleet/machinetest"
)

// binary is the program.
var binary string

func TestMain(m *testing.M) { clitest.Main(m, "../../cmd/tare", &binary) }

// images is where the userland image and the tools tree are.
var images = filepath.Join(cmp.Or(os.Getenv("TARE_STATE"), "/var/lib/tare"), "images")

// machineState lists what belongs to a machine: files, users, mounts, interfaces, routes, settings of the kernel,
// control groups, modules, processes. Busybox has all that it needs.
const machineState = `
	find /etc /usr /bin /sbin /lib /var /root -xdev -path /var/lib/tare -prune -o ! -type d -print 2>/dev/null |
		while read -r f; do echo "file $f $(stat -c '%a %u %s %Y' "$f")"; done
	sed 's/^/user /' /etc/passwd /etc/group
	sed 's/^/mount /' /proc/mounts
	sed 's/:.*//; s/^/interface /' /proc/net/dev
	sed 's/^/route /' /proc/net/route
	for f in net/ipv4/ip_forward vm/swappiness vm/overcommit_memory kernel/pid_max fs/file-max vm/dirty_ratio; do
		echo "setting $f $(cat /proc/sys/$f)"
	done
	find /sys/fs/cgroup -type d | sed 's/^/group /'
	sed 's/ .*//; s/^/module /' /proc/modules
	for p in /proc/[0-9]*; do
		name=$(tr '\0' ' ' <$p/cmdline 2>/dev/null)
		case $name in *sshd*|'sh '*|'ash '*|'bash '*|'tr '*|'') ;; *) echo "process $name" ;; esac
	done`

// TestQuick measures on machines of other Linux distributions with nothing but the release's program and the two trees,
// which tare image import brings to such machines: quick runs to its end and changes nothing there.
func TestQuick(t *testing.T) {
	if os.Getenv("TARE_LIVE") != "1" {
		t.Skip("set TARE_LIVE=1 to make machines (root, Debian's and Ubuntu's mirrors)")
	}
	userlands := []string{"trixie", "noble", machinetest.BusyBox}
	if os.Getenv("TARE_USERLANDS") == "all" {
		userlands = append(userlands, "bookworm", "jammy")
	}
	for _, userland := range userlands {
		t.Run(userland, func(t *testing.T) {
			config := machinetest.Start(t, machinetest.Machine{Name: "host", Userland: userland, Images: images})
			on := func(script string, input []byte) string { return ssh(t, config, script, input) }
			program, err := os.ReadFile(binary)
			must(t, err)
			// Other tests look at the loop devices of the host for data volumes in the default directory.
			on("mkdir /var/lib/tare/own && ln -s ../images /var/lib/tare/own/images && "+
				"cat >/var/lib/tare/tare && chmod 755 /var/lib/tare/tare", program)
			before := on(machineState, nil)
			const tare = "TARE_STATE=/var/lib/tare/own /var/lib/tare/tare"
			out := on("cd /tmp && "+tare+" run quick --yes --budget 20s --out q.tare 2>&1 && rm q.tare", nil)
			after := on(machineState, nil)
			if changed := difference(before, after); changed != "" {
				t.Errorf("the machine was changed:%s", changed)
			}
			for _, want := range []string{"\n  lxc ", "\n  runc ", "of the tools tree"} {
				if !strings.Contains(out, want) {
					t.Errorf("the result lacks %q", want)
				}
			}
			if left := on(tare+" gc --dry-run", nil); left != "" {
				t.Errorf("left behind: %s", left)
			}
			t.Log(out)
		})
	}
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
