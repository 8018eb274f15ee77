package systemtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
)

// Confined is the test of a system whose guests run on the host's kernel: as root in a guest, it
// tries to reach the host's disk, the userland that other guests run at the same time, and the
// host's kernel. Whatever hardening the flavor has, it must not succeed. filtered says whether the
// system filters system calls by default.
func Confined(t *testing.T, d system.Driver, filtered bool) {
	for _, hardening := range []string{model.HardeningProduct, model.HardeningNone} {
		t.Run(hardening, func(t *testing.T) { confined(t, d, hardening, filtered) })
	}
}

func confined(t *testing.T, d system.Driver, hardening string, filtered bool) {
	ask := Request()
	ask.Hardening = hardening
	m := Launch(t, d, "confined", ask)
	c := m.Confinement
	if c == nil {
		t.Fatal("it is not known how the guest is confined")
	}
	if want := filtered && hardening == model.HardeningProduct; (c.SeccompFilters > 0) != want {
		t.Errorf("the guest is confined by %s; a filter of system calls: want %v", c, want)
	}
	if slices.Contains(c.Capabilities, "sys_admin") || !slices.Contains(c.Capabilities, "chown") {
		t.Errorf("the guest is confined by %s", c)
	}
	s := suite{d: d, m: m}
	for _, e := range escapes(t, m.Site.Volume.Device) {
		t.Run(e.name, func(t *testing.T) {
			// A command that cannot be found would look like one that is not permitted.
			r := s.sh(t, "type mknod mount unshare >/dev/null || exit 1; cd /data; ( "+e.script+" ) 2>&1 && echo OUT; true")
			if r.ExitCode != 0 || strings.Contains(string(r.Stdout), "OUT") {
				t.Errorf("root in the guest could do it (exit status %d): %s", r.ExitCode, r.Stdout)
			}
			t.Logf("%s", r.Stdout)
		})
	}
	os.Remove(filepath.Join(m.Site.Userland.Tree, "usr/tare-test-escape"))
}

type escape struct{ name, script string }

// escapes are shell scripts that succeed if they got out. None of them does any harm: they open
// for writing, and do not write. device is a block device of the host that may be opened.
func escapes(t *testing.T, device string) []escape {
	var disk unix.Stat_t
	if err := unix.Stat(device, &disk); err != nil {
		t.Fatal(err)
	}
	mknod := fmt.Sprintf("rm -f disk; mknod disk b %d %d", unix.Major(disk.Rdev), unix.Minor(disk.Rdev))
	const (
		corePattern = "sys/kernel/core_pattern"
		ksm         = "/sys/kernel/mm/ksm/run"
		hugePages   = "/sys/kernel/mm/transparent_hugepage/enabled"
	)
	return []escape{
		{"disk/read", mknod + " && head -c 512 disk >/dev/null"},
		{"disk/write", mknod + " && : >>disk"},
		{"disk/mount", mknod + " && mkdir -p at && mount disk at"},
		{"userland/remount", "mount -o remount,bind,rw / && touch /usr/tare-test-escape"},
		{"userland/rebind",
			"mkdir -p at && mount --bind / at && mount -o remount,bind,rw at && touch at/usr/tare-test-escape"},
		{"userland/namespace", "unshare -Urm sh -c 'mount -o remount,bind,rw / && touch /usr/tare-test-escape'"},
		{"agent/remount", "mount -o remount,bind,rw /tare-agent && test -w /tare-agent"},
		{"agent/write", "test -w /tare-agent"},
		{"proc/write", ": >>/proc/" + corePattern},
		{"proc/remount", "mount -o remount,bind,rw /proc/sys && : >>/proc/" + corePattern},
		{"proc/unmount", "umount /proc/sys && : >>/proc/" + corePattern},
		{"proc/mount", "mkdir -p at && mount -t proc proc at && : >>at/" + corePattern},
		{"proc/namespace", "mkdir -p at && unshare -Urpfm sh -c 'mount -t proc proc at && : >>at/" + corePattern + "'"},
		{"sysrq", ": >>/proc/sysrq-trigger"},
		{"sys/write", "test -e " + hugePages + " && : >>" + hugePages},
		{"sys/remount", "mount -o remount,rw /sys && : >>" + ksm},
		{"sys/mount", "mkdir -p at && mount -t sysfs sysfs at && : >>at/kernel/mm/ksm/run"},
		{"sys/namespace", "mkdir -p at && unshare -Urnm sh -c 'mount -t sysfs sysfs at && : >>at/kernel/mm/ksm/run'"},
		{"cgroup/mount", "mkdir -p at && mount -t cgroup2 cgroup2 at && : >>at/cgroup.subtree_control"},
		// Only the root of a hierarchy has this file; in it, a guest would have no limits.
		{"cgroup/leave", `for f in $(find /sys/fs/cgroup -name release_agent); do (: >>$f) && exit 0; done; false`},
		{"memory", `test -e /dev/mem || mknod mem c 1 1; head -c 1 mem >/dev/null`},
	}
}
