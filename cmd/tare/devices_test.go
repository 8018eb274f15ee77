package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const devicesCampaign = `
name: devices
flavors:
  one: {vcpus: 1, memory: 256MiB, disk: 120MiB, backing: block, device: [DEVICES]}
arms: [native, lxc]
workloads:
  - {name: dd-write, size: 64}
blocks: 2
`

// TestDevices: data volumes on the user's block devices. A device with data on it is
// refused until it is named again, and written bytes are counted.
func TestDevices(t *testing.T) {
	live(t)
	dir := t.TempDir()
	var devices []string
	for range 3 { // two arms and the control
		f, err := os.CreateTemp(dir, "disk")
		if err == nil {
			err = f.Truncate(128 << 20)
			f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("losetup", "--find", "--show", f.Name()).Output()
		if err != nil {
			t.Fatal(err)
		}
		d := strings.TrimSpace(string(out))
		devices = append(devices, d)
		t.Cleanup(func() {
			if out, err := exec.Command("losetup", "--detach", d).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	full := devices[1]
	if out, err := exec.Command("mkfs.ext4", "-q", "-L", "photos", full).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file := write(t, dir, "devices.yaml", strings.Replace(devicesCampaign, "DEVICES", strings.Join(devices, ", "), 1))
	run := filepath.Join(dir, "devices.tare")
	for _, c := range []struct{ flag, want string }{
		{"", "holds ext4 named photos"}, {full + "0", "no flavor of campaign devices has this device"},
	} {
		args := []string{"run", "--yes", file, "--out", run}
		if c.flag != "" {
			args = append(args, "--destroy", full, "--destroy", c.flag)
		}
		if r := tare(t, dir, args...); r.status != exitCampaign || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%q: status %d\n%s", args, r.status, r.stderr)
		}
	}
	if out, err := exec.Command("blkid", "--probe", full).CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "photos") {
		t.Fatalf("what was there is gone: %v, %s", err, out)
	}
	if r := alone(t, dir, "run", "--yes", file, "--out", run, "--destroy", full); r.status != 0 {
		t.Fatalf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	for _, trial := range exported(t, run).Trials {
		if written := trial.Probes["device_bytes"]; trial.Status != "done" || written < 2*64<<20 {
			t.Errorf("%.0f bytes written: %+v", written, trial)
		}
	}
	nothingLeft(t)
}
