package native

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/systemtest"
)

// Scripts which make and remove a volume group $2 on a file in $1. They bypass udev and record
// nothing below /etc, which may be read-only.
const (
	makeGroup = `export DM_DISABLE_UDEV=1; truncate -s 400M "$1/pv"; pv=$(losetup -f --show "$1/pv")
vgcreate -q -A n "$2" "$pv"
for v in free photos; do lvcreate -q -A n -W n -n $v -L 160M "$2"; done; vgmknodes
mkfs.ext4 -q -L photos "/dev/$2/photos"`
	removeGroup = `export DM_DISABLE_UDEV=1; vgremove -q -f --config "backup/archive=0 backup/backup=0" "$2"; rm -rf "/dev/$2"
losetup -d $(losetup -n -O NAME -j "$1/pv")`
)

// TestLogicalVolumes: a guest's data volume can be on a logical volume, but not on one that holds
// somebody's file system.
func TestLogicalVolumes(t *testing.T) {
	h, d := systemtest.Host(t), Dom0()
	if st := d.Check(t.Context(), h); !st.Usable {
		t.Skipf("%s: %s", d.Name(), st.Reason)
	}
	dir, group := t.TempDir(), h.RunID+"-vg"
	sh := func(script string) {
		if out, err := exec.Command("sh", "-ec", script, "sh", dir, group).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	t.Cleanup(func() { sh(removeGroup) })
	sh(makeGroup)

	f := systemtest.Request()
	photos := "/dev/" + group + "/photos"
	f.Backing, f.Devices = model.BackingBlock, []string{photos}
	m, err := system.Launch(t.Context(), d, h, "photos", f)
	if err == nil {
		m.Close()
	}
	if fault.KindOf(err) != fault.Campaign || !strings.Contains(fault.RemedyOf(err), "--destroy "+photos) {
		t.Errorf("on somebody's file system: %v", err)
	}

	f.Devices = []string{"/dev/" + group + "/free"}
	m = systemtest.Launch(t, d, "lvm", f)
	const size = 1 << 20
	before, err := m.Written()
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Agent.Run(t.Context(), agent.Command{
		Argv: []string{"sh", "-ec", "head -c 1048576 /dev/urandom >" + m.DataDir() + "/x; sync"}, Env: system.AgentEnv,
	})
	if err != nil || r.ExitCode != 0 {
		t.Fatalf("%v: %+v", err, r)
	}
	if after, err := m.Written(); err != nil || after-before < size {
		t.Errorf("%d bytes were written and synced, %d counted, %v", size, after-before, err)
	}
	if err := m.Close(); err != nil { // before the group goes
		t.Error(err)
	}
}
