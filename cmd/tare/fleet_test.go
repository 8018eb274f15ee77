package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fault"
)

// TestFleetShow: runs, folders and a fleet's file give the same fleet; what is wrong with them is told.
func TestFleetShow(t *testing.T) {
	dir := t.TempDir()
	var runs []string
	for i, cost := range []float64{1.04, 1.05, 1.06} {
		name := filepath.Join("racks", fmt.Sprint("node", i+1), "run.tare")
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		storedRun(t, filepath.Join(dir, name), uint64(i), cost)
		runs = append(runs, name)
	}
	text := "name: racks\nmachines: {node1: {group: a}, node2: {group: a}, node3: {group: b}}\n"
	if err := os.WriteFile(filepath.Join(dir, "racks.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		status int
		want   []string
	}{
		{"racks", 0, []string{"3 machines in 1 group", "unknown CPU: 3 machines", "sysbench-cpu  lxc  3  ", "node2"}},
		{strings.Join(runs, " "), 0, []string{"3 machines in 1 group"}},
		{"racks.yaml", 0, []string{"Fleet racks: 3 machines in 2 groups", "a: 2 machines", "needs 3 machines",
			"b: 1 machine"}},
		{"racks --json", 0, []string{`"next_high": 1.`, `"machine": "node3"`}},
		{"racks -o -", 0, []string{"<!DOCTYPE html>", "node3"}},
		{"racks -o - --json", 2, []string{"exclude each other"}},
		{"racks.yaml racks", 2, []string{"must be the only argument"}},
		{".", 2, []string{"there is no run in this folder"}},
		{"gone.yaml", 2, []string{"gone.yaml"}},
	} {
		r := tare(t, dir, append([]string{"fleet", "show", "--machines"}, strings.Fields(c.args)...)...)
		all := strings.Join(strings.Fields(r.stdout+r.stderr), " ")
		for _, want := range c.want {
			if r.status != c.status || !strings.Contains(all, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("fleet show %s: status %d, want %d and %q:\n%s%s", c.args, r.status, c.status, want, r.stdout, r.stderr)
			}
		}
	}
}

// TestFleetCompare: two fleets are compared, as folders or as the JSON that one was printed as; exports
// have a row for each machine.
func TestFleetCompare(t *testing.T) {
	dir := t.TempDir()
	for fleet, more := range map[string]float64{"june": 0, "july": 0.2} {
		for i, cost := range []float64{1.04, 1.05, 1.06} {
			name := filepath.Join(dir, fleet, fmt.Sprint("node", i+1), "run.tare")
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			storedRun(t, name, uint64(i), cost+more)
		}
	}
	june := tare(t, dir, "fleet", "show", "june", "--json")
	if err := os.WriteFile(filepath.Join(dir, "june.json"), []byte(june.stdout), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		status int
		want   []string
	}{
		{"compare june july --machines", 0, []string{"3 machines, each compared with itself",
			"lxc on sysbench-cpu costs more than before: +19", "node2"}},
		{"compare june.json july --fail-above 5%", 6, []string{"costs more than before", "more than 5% worse"}},
		{"compare june july -o page.html", 0, []string{"written to page.html"}},
		{"compare june.json july --json", 0, []string{`"tare_fleet_comparison": 1`}},
		{"compare june july june", 2, []string{"needs two fleets"}},
		{"compare june july --markdown", 2, []string{"for runs"}},
		{"compare june/node1/run.tare july/node1/run.tare -o x", 2, []string{"for comparisons of fleets"}},
		{"fleet export june", 0, []string{"row,group,machine,workload", "pooled,unknown CPU,,sysbench-cpu"}},
		{"fleet export june --format xml", 2, []string{"must be csv, parquet or json"}},
	} {
		r := tare(t, dir, strings.Fields(c.args)...)
		for _, want := range c.want {
			if r.status != c.status || !strings.Contains(r.stdout+r.stderr, want) {
				t.Errorf("%s: status %d, want %d and %q:\n%s%s", c.args, r.status, c.status, want, r.stdout, r.stderr)
			}
		}
	}
}

// fakeSSH leads to a folder of this machine for each destination, where scripts find /MACHINE.
const fakeSSH = `#!/bin/sh
while [ "$1" != -- ]; do shift; done
down() { echo "connect to host $1: No route to host" >&2; exit 255; }
[ "$2" != down ] || down "$2"
[ "$2" != interrupting ] || { kill -INT $PPID; exec sleep 60; }
if [ -e "$FLEET/$2.flaky" ]; then # answers when it was asked often, and another machine has had its place
	echo asked >>"$FLEET/$2.flaky"
	[ "$(wc -l <"$FLEET/$2.flaky")" -gt 3 ] || down "$2"
	ls "$FLEET"/node*/state/runs/*/status 2>/dev/null | grep -q . || down "$2" # one may go meanwhile
fi
mkdir -p "$FLEET/$2"
exec sh -c "$(printf %s "$3" | sed "s|/MACHINE|$FLEET/$2|g")"
`

// fakeTare stands in for tare on the machines: its run is a file that is there already. It reports
// when more than one runs at once.
const fakeTare = `#!/bin/sh
if [ "$1" = doctor ]; then
	echo '{"systems": [{"name": "lxc", "usable": true}, {"name": "runc", "reason": "unasked"}],
		"refused": "there is no mkfs.ext4\\n  to fix: how", "noise": [{"severity": "spoils", "what": "swap is in use"}]}'
	grep -q "name: compared" && exit 2
fi
if [ "$1" = image ]; then
	head -n 1 >>"$FLEET/offered"
	echo '{"need": null, "disk_sha256": "other"}'
	exit
fi
[ "${PWD##*/}" != long ] || { echo "3 blocks"; while [ ! -e "$FLEET/over" ]; do sleep 0.1; done; }
case $PWD in */node2/*/fails) printf "tare: no loop device\n  to fix: make one\n" >&2; exit 3 ;; esac
mkdir "$FLEET/busy" || echo >"$FLEET/crowded"
sleep 0.1
cp "$FLEET/$(echo "$PWD" | sed 's|.*/\(node[0-9]\)/.*|\1|').tare" run.tare
echo "$*" >>args
rmdir "$FLEET/busy"
echo "12 blocks"
`

// TestFleetRun: a campaign is measured on machines, as few at once as the file says, and the run
// files come here; a machine that is down is named, and keeps nobody else from it.
func TestFleetRun(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("ssh", fakeSSH, 0o755)
	write("standin", fakeTare, 0o755)
	write("c.yaml", "name: compared\narms: [native, lxc]\nworkloads: [sysbench-cpu]\n", 0o644)
	for i := range 3 {
		storedRun(t, filepath.Join(dir, fmt.Sprintf("node%d.tare", i+1)), uint64(i), 1.05)
	}
	fleetFile := "name: racks\ncampaign: c.yaml\nbudget: 90s\nbusy: 1\ndir: /MACHINE/state\n" +
		"machines: {node1: , node2: , node3: {ssh: node3}%s}\n"
	write("racks.yaml", fmt.Sprintf(fleetFile, ""), 0o644)
	write("part.yaml", fmt.Sprintf(fleetFile, ", node4: {ssh: down}"), 0o644)
	write("stop.yaml", "name: stop\ncampaign: c.yaml\nmachines: {node: {ssh: interrupting}}\n", 0o644)
	write("none.yaml", "name: other\ndir: /MACHINE/state\nmachines: {nobody: }\n", 0o644)
	write("long.yaml", "name: long\ncampaign: c.yaml\nbudget: 90s\ndir: /MACHINE/state\nmachines: {node1: }\n", 0o644)
	t.Cleanup(func() { // the run that goes on ends before its folder goes
		write("over", "", 0o644)
		long := filepath.Join(dir, "node1/state/runs/long")
		for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(10 * time.Millisecond) {
			_, err := os.Stat(filepath.Join(long, "started"))
			_, over := os.Stat(filepath.Join(long, "status"))
			if err != nil || over == nil {
				return
			}
		}
		t.Error("the run that goes on does not end")
	})
	write("wrong-c.yaml", "{name: c, arms: [native], workloads: [sysbench]}\n", 0o644)
	write("wrong.yaml", "name: other\ncampaign: wrong-c.yaml\nmachines: {down: }\n", 0o644)
	write("twice.yaml", "name: twice\nmachines: {node1: , node2: {ssh: node1}}\n", 0o644)
	write("config.yaml", "ssh_config: gone.conf\n"+fmt.Sprintf(fleetFile, ""), 0o644)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("FLEET", dir)
	write("node1.flaky", "", 0o644)
	for _, c := range []struct {
		args   string
		status int
		want   []string
	}{
		{"status racks.yaml", 3, []string{"node1: no connection to node1", "node3: has no run of this name"}},
		{"doctor racks.yaml --program standin", 3, []string{
			"note: the userland image is not built here (tare image c.yaml builds it): machines that do not have it build it",
			"node2: no description systems: lxc spoils: swap is in use cannot measure the campaign: there is no mkfs.ext4 " +
				"to fix: how node3:", "3 of 3 machines failed"}},
		{"doctor wrong.yaml --program standin", 2, []string{`tare: wrong-c.yaml:1:39: unknown workload "sysbench"`}},
		{"run racks.yaml --program standin --poll 50ms", 0, []string{"node1: no connection to node1", "it is tried again in",
			"node1: complete", "node2: complete", "node3: complete"}},
		{"run racks.yaml --program standin --poll 50ms", 0, []string{"node1: complete"}},
		{"run racks.yaml --program standin --poll 50ms --run fails", 3, []string{"node1: complete",
			"node2: ended with exit status 3 (tare fleet resume continues it): tare: no loop device to fix: make one",
			"1 of 3 machines failed: node2"}},
		{"run racks.yaml --program standin --poll 50ms --run fails --wait", 3, []string{"1 of 3 machines failed: node2"}},
		{"resume racks.yaml", 0, []string{"node1: complete"}},
		{"cancel racks.yaml", 0, []string{"node1: complete"}},
		{"fetch racks.yaml", 0, []string{"node1: fetched to", "racks/node3/racks.tare"}},
		{"fetch racks.yaml", 0, []string{"node1: here already"}},
		{"status racks.yaml --run raks", 2, []string{"node3: has no run of this name",
			`no machine of fleet racks has a run "raks" to fix: choose one that exists, with --run: fails, racks`}},
		{"fetch racks.yaml --run raks", 2, []string{"with --run: fails, racks"}},
		{"resume racks.yaml --run raks", 2, []string{"with --run: fails, racks"}},
		{"cancel racks.yaml --run raks", 2, []string{"with --run: fails, racks"}},
		{"status none.yaml", 2, []string{`has a run "other" to fix: start it with tare fleet run`}},
		{"run long.yaml --program standin", 0, []string{"node1: running"}},
		{"fetch racks.yaml --run long", 4, []string{"node1: not fetched, because its run is not over: running: 3 blocks",
			"node2: has no run of this name", "no run file to fetch yet on 3 of 3 machines: node1, node2, node3"}},
		{"show racks.yaml", 0, []string{"Fleet racks: 3 machines in 1 group", "sysbench-cpu lxc 3"}},
		{"show part.yaml", 0, []string{"Fleet racks: 3 machines in 1 group",
			"Warning: no run files here of node4, left out: tare fleet fetch part.yaml"}},
		{"export part.yaml", 0, []string{"warning: no run files here of node4", "machine,unknown CPU,node1"}},
		{"show none.yaml", 2, []string{"there are no run files of its machines in other to fix: tare fleet fetch none.yaml"}},
		{"run none.yaml", 2, []string{"the fleet has no campaign to run to fix: campaign: FILE.yaml in none.yaml"}},
		{"status twice.yaml", 2, []string{`twice.yaml: ssh "node1" leads to one machine, but node1 and node2 are two`}},
		{"status part.yaml", 3, []string{"node1: complete", "node4: no connection to down", "1 of 4 machines failed: node4"}},
		{"status stop.yaml", 4, []string{"node: has not answered yet", "interrupted: runs that were started go on"}},
		{"run stop.yaml --program standin", 4, []string{"interrupted: runs that were started go on"}},
		{"status config.yaml", 2, []string{"config.yaml: ssh_config:", "gone.conf: no such file"}},
		{"status racks.yaml --run ../x", 2, []string{"must be a file name"}},
		{"run part.yaml --program standin --poll 50ms --patience 1ms", 3, []string{"node4: no connection to down",
			"1 of 4 machines failed: node4"}},
		{"run racks.yaml --program gone", 3, []string{"gone"}},
	} {
		r := tare(t, dir, append([]string{"--state", state, "fleet"}, strings.Fields(c.args)...)...)
		all := strings.Join(strings.Fields(r.stdout+r.stderr), " ")
		for _, want := range c.want {
			if r.status != c.status || !strings.Contains(all, want) {
				t.Errorf("fleet %s: status %d, want %d and %q:\n%s%s", c.args, r.status, c.status, want, r.stdout, r.stderr)
			}
		}
	}
	// A machine that is much slower than the others is offline until it is checked again.
	said := func(status int, args, want string) {
		t.Helper()
		r := tare(t, dir, append([]string{"--state", state, "fleet"}, strings.Fields(args)...)...)
		if all := strings.Join(strings.Fields(r.stdout+r.stderr), " "); r.status != status || !strings.Contains(all, want) {
			t.Errorf("fleet %s: status %d, want %d and %q:\n%s%s", args, r.status, status, want, r.stdout, r.stderr)
		}
	}
	if err := os.Remove(filepath.Join(dir, "node3.tare")); err != nil {
		t.Fatal(err)
	}
	storedRunOf(t, filepath.Join(dir, "node3.tare"), 3, 1.05, "boot", 1300)
	said(0, "doctor racks.yaml --measure --program standin --poll 50ms", "node2: healthy node3: offline: it takes")
	said(0, "status racks.yaml", "node3: complete; offline: it takes")
	said(3, "run racks.yaml --program standin --poll 50ms --run second", "1 of 3 machines failed: node3")
	said(0, "run racks.yaml --program standin --poll 50ms --run second --even-if-unhealthy", "node3: complete")
	if _, err := os.Stat(filepath.Join(dir, "crowded")); err == nil {
		t.Error("more than one machine measured at once")
	}
	// A run that was cancelled on a machine that is offline now is not resumed there.
	runs := filepath.Join(dir, "node3", "state", "runs")
	if err := os.CopyFS(filepath.Join(runs, "third"), os.DirFS(filepath.Join(runs, "second"))); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join("node3", "state", "runs", "third", "status"), fmt.Sprintln(fault.ExitIncomplete), 0o644)
	said(3, "resume racks.yaml --run third",
		"node1: has no run of this name node2: has no run of this name node3: offline: it takes")
	said(0, "resume racks.yaml --run third --even-if-unhealthy", "node2: has no run of this name node3: ")
	said(0, "run racks.yaml --program standin --poll 50ms --run third --even-if-unhealthy --wait",
		"node3: complete")
	args, err := os.ReadFile(filepath.Join(dir, "node1", "state", "runs", "racks", "args"))
	if want := "run campaign.yaml --out run.tare --yes --budget 1m30s\n"; err != nil || string(args) != want {
		t.Errorf("%q, %v, want %q", args, err, want)
	}
}
