package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/store"
)

const bootsCampaign = "name: booted\nseed: 1\narms: [native, {system: lxc, boot: xen}]\nworkloads: [sysbench-cpu]\n" +
	"boots: {linux: {entry: Linux}, xen: {entry: Xen}}\nblocks: 8\nrecreate_every: 2\n"

// storedBoots writes a run of two boots, with the trials of the first round of the first one.
func storedBoots(t *testing.T, path string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := campaign.Parse("c.yaml", []byte(bootsCampaign),
		campaign.Known{Systems: map[string]campaign.Limits{"native": {Usable: true}, "lxc": {Usable: true}}})
	must(err)
	r, err := store.Create(path, map[string][]byte{store.DocCampaign: c.Resolved()},
		[]store.Arm{{Name: "native", System: "native", Scenario: "solo"}, {Name: "lxc", System: "lxc", Scenario: "solo"},
			{Name: "native-control", System: "native", Scenario: "solo", ControlOf: "native"}}, nil)
	must(err)
	session, err := r.BeginSession("boot", "1")
	must(err)
	for block := range 2 {
		for position, arm := range []int{0, 2} {
			id, err := r.Begin(store.Attempt{Session: session, Block: block, Position: position, Workload: "sysbench-cpu",
				Arm: arm})
			must(err)
			must(r.Finish(id, store.Outcome{Status: store.Done}))
		}
	}
	must(r.Close())
}

// TestFleetBoots: with --reboot, and only then, machines are booted as their runs need it. One that comes back in
// another boot, and one that does not go down, are named and not booted again. A command that is killed while it asks
// for the next boot leaves nothing.
func TestFleetBoots(t *testing.T) {
	dir := t.TempDir()
	program := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program("ssh", `while [ "$1" != -- ]; do shift; done
case $3 in *"# fetch.sh"*) # if there is a file of this name, its client is killed
	if [ -e "$FLEET/killing" ]; then
		kill -9 $PPID
		exit
	fi ;;
esac
export AT="$FLEET/$2"
mkdir -p "$AT"
[ -e "$AT/boot" ] || echo Linux >"$AT/boot"
exec sh -c "$(printf %s "$3" | sed "s|/proc/sys/kernel/random/boot_id|$AT/boot|g; s|/MACHINE|$AT|g")"
`)
	program("grub-reboot", `echo "$1" >"$AT/entry"`)
	program("systemctl", `echo "$*" >>"$AT/reboots"
case $AT in
*/lost) echo "another" >"$AT/boot" ;;
*/stuck) ;;
*) cat "$AT/entry" >"$AT/boot" ;;
esac
`)
	program("standin", `[ "$1" = run ] || exit 0
cp "$FLEET/first.tare" run.tare
[ "$(cat "$AT/boot")" = Xen ] && echo "the run is complete" && exit
echo "tare: the run continues in boot xen" >&2
exit 7
`)
	storedBoots(t, filepath.Join(dir, "first.tare"))
	write(t, dir, "c.yaml", bootsCampaign)
	for file, machines := range map[string]string{
		"f.yaml": "good: , lost: , stuck: ", "booting.yaml": "good: , lost: ", "stuck.yaml": "stuck: ",
	} {
		write(t, dir, file, "name: f\ncampaign: c.yaml\ndir: /MACHINE/state\nmachines: {"+machines+"}\n")
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("FLEET", dir)
	reboots := func(machine string) int {
		text, _ := os.ReadFile(filepath.Join(dir, machine, "reboots")) // none yet
		return strings.Count(string(text), "reboot\n")
	}
	state := t.TempDir()
	run := func(file string, args ...string) result {
		return tare(t, dir, append([]string{"--state", state, "fleet", "run", file, "--program", "standin", "--poll",
			"50ms"}, args...)...)
	}
	said(t, run("f.yaml", "--wait"), exitHost, "good: ended with exit status 7", "tare fleet run --reboot",
		"3 of 3 machines failed")
	if n := reboots("good"); n != 0 {
		t.Errorf("rebooted %d times without --reboot", n)
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	write(t, dir, "killing", "")
	if r := run("f.yaml", "--reboot"); r.status != -1 {
		t.Errorf("status %d of a command that is killed:\n%s%s", r.status, r.stdout, r.stderr)
	}
	if err := os.Remove(filepath.Join(dir, "killing")); err != nil {
		t.Fatal(err)
	}
	said(t, run("booting.yaml", "--reboot", "--patience", "5m"), exitHost, "good: reboots into xen", "good: complete",
		"lost: it was rebooted as xen with the entry \"Xen\"", "1 of 2 machines failed: lost")
	said(t, run("stuck.yaml", "--reboot", "--patience", "1s"), exitHost, "stuck: no other boot within 1s: it is still in "+
		"the same boot", "1 of 1 machines failed: stuck")
	for _, machine := range []string{"good", "lost", "stuck"} {
		if n := reboots(machine); n != 1 {
			t.Errorf("%s was rebooted %d times", machine, n)
		}
	}
	left, err := filepath.Glob(filepath.Join(temp, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%q are left, %v", left, err)
	}
	for _, machine := range []string{"good", "lost", "stuck"} {
		files, err := os.ReadDir(filepath.Join(dir, "f", machine))
		if err != nil || len(files) != 1 || files[0].Name() != "f.tare" {
			t.Errorf("the results of %s are %v, %v", machine, files, err)
		}
	}
}
