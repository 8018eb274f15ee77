package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestOut: each command that writes a file names it in the same way, and none shows the older name.
func TestOut(t *testing.T) {
	found := 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		out, old := c.Flags().Lookup("out"), c.Flags().Lookup("output")
		if old != nil && (out == nil || !old.Hidden) || out != nil && (out.Shorthand != "o" || old == nil) {
			t.Errorf("%s: not -o, --out and a hidden --output", c.CommandPath())
		}
		if out != nil {
			found++
			file := filepath.Join("some", "file")
			if err := c.ParseFlags([]string{"--output", file}); err != nil || out.Value.String() != file {
				t.Errorf("%s --output %s: %v, %s", c.CommandPath(), file, err, out.Value)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot())
	if found < 6 {
		t.Errorf("%d commands write files", found)
	}
}

// TestBadInput: wrong input is reported with its place and a documented exit status.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	campaign := func(name, text string) string { return write(t, dir, name, text) }
	const good = "name: x\nflavors:\n  s: {vcpus: 1, memory: 256MiB, disk: 64MiB}\narms: [native]\n" +
		"workloads: [sysbench-cpu]\nblocks: 1\n"
	short := write(t, dir, "short.tare", "SQLite format 3\x00 and then nothing")
	for _, c := range []struct {
		name   string
		args   []string
		status int
		want   []string
		live   bool
	}{
		{"unknown command", []string{"rnu"}, exitCampaign, []string{"unknown command"}, false},
		{"unknown command, help after it", []string{"rnu", "--help"}, exitCampaign,
			[]string{`unknown command "rnu"`, `"run"`}, false},
		{"unknown command, help before it", []string{"--help", "rnu"}, exitCampaign,
			[]string{`unknown command "rnu"`, `"run"`}, false},
		{"unknown command, command help", []string{"help", "rnu"}, exitCampaign, []string{`unknown command "rnu"`, `"run"`},
			false},
		{"unknown subcommand, help after it", []string{"paper", "lst", "-h"}, exitCampaign,
			[]string{`unknown command "lst"`, `"list"`}, false},
		{"unknown subcommand, command help", []string{"help", "guest", "nope"}, exitCampaign,
			[]string{`unknown command "nope"`, "tare guest --help"}, false},
		{"unknown flag", []string{"show", "--nope"}, exitCampaign, []string{"--nope", "tare show --help"}, false},
		{"too few arguments", []string{"show"}, exitCampaign, []string{"arg"}, false},
		{"no such campaign", []string{"run", "nope.yaml"}, exitCampaign, []string{"nope.yaml", "quick"}, true},
		{"misspelt key", []string{"run", campaign("key.yaml", strings.Replace(good, "workloads", "workload", 1))},
			exitCampaign, []string{"key.yaml:5", `"workloads"`}, true},
		{"unknown system", []string{"run", campaign("sys.yaml", strings.Replace(good, "[native]", "[native, lcx]", 1))},
			exitCampaign, []string{"sys.yaml:4", "lcx", `"lxc"`}, true},
		{"unknown workload", []string{"run", campaign("wl.yaml", strings.Replace(good, "sysbench-cpu", "sysbench-cpus", 1))},
			exitCampaign, []string{"wl.yaml:5", `"sysbench-cpu"`}, true},
		{"impossible flavor", []string{"run", campaign("fl.yaml", strings.Replace(good, "vcpus: 1", "vcpus: 4096", 1))},
			exitCampaign, []string{"fl.yaml:3"}, true},
		{"unequal arms", []string{"run",
			campaign("un.yaml", strings.Replace(strings.Replace(good, "arms: [native]",
				"arms: [native, {system: lxc, flavor: q}]", 1), "arms:",
				"  q: {vcpus: 1, memory: 256MiB, disk: 64MiB, cpu_cap: 25%}\narms:", 1))}, exitCampaign,
			[]string{"un.yaml:5", "allow_unequal"}, true},
		{"no such run", []string{"show", "nope.tare"}, exitCampaign, []string{"nope.tare", "no such run"}, false},
		{"cut short", []string{"show", short}, exitCampaign, []string{"short.tare"}, false},
		{"no format", []string{"export", short, "--format", "xml"}, exitCampaign, []string{"xml", "benchfmt"}, false},
		{"no such workload", []string{"parse", "sysbench-cpus", short}, exitCampaign, []string{`"sysbench-cpu"`}, false},
		{"a tool is no workload", []string{"parse", "--workload", "qperf", short}, exitCampaign,
			[]string{`no workload "qperf"`, "leave out --workload"}, false},
		{"a workload is no tool", []string{"parse", "--tool", "dd-write", short}, exitCampaign,
			[]string{`no tool "dd-write"`, "leave out --tool"}, false},
		{"no such tool", []string{"parse", "sockperv", short}, exitCampaign, []string{`no workload or tool "sockperv"`,
			`"sockperf"`}, false},
		{"tool and workload", []string{"parse", "--tool", "--workload", "iperf3", short}, exitCampaign,
			[]string{"--tool and --workload exclude each other"}, false},
		{"nothing to parse", []string{"parse"}, exitCampaign, []string{"are missing", "tare parse TOOL FILE"}, false},
		{"a tool, but no file", []string{"parse", "fio"}, exitCampaign,
			[]string{"the file with the output of fio is missing"}, false},
		{"a file, but no tool", []string{"parse", short}, exitCampaign, []string{"which tool or workload wrote"}, false},
		{"stdin twice", []string{"parse", "fio", "-", short, "-"}, exitCampaign, []string{"stdin is named 2 times"}, false},
		{"nonsense to parse", []string{"parse", "sysbench-cpu", short}, exitCampaign, []string{"short.tare"}, false},
		{"precision of nothing", []string{"run", campaign("ok.yaml", good), "--precision", "much"}, exitCampaign,
			[]string{"--precision", "much"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.live {
				live(t)
			}
			r := tare(t, dir, c.args...)
			if r.status != c.status {
				t.Errorf("status %d, want %d", r.status, c.status)
			}
			for _, want := range c.want {
				if !strings.Contains(r.stderr, want) {
					t.Errorf("the message lacks %q:\n%s", want, r.stderr)
				}
			}
		})
	}
	// Refused runs leave no file.
	if files, _ := filepath.Glob(filepath.Join(dir, "*-2*.tare")); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
}

// TestHelp: every way to ask for the help of a known command prints it.
func TestHelp(t *testing.T) {
	for _, args := range [][]string{
		{}, {"--help"}, {"help"}, {"-h"}, {"show", "--help"}, {"--help", "show"}, {"show", "some.tare", "--help"},
		{"help", "show"},
		{"guest"}, {"guest", "--help"}, {"help", "paper", "audit"}, {"paper", "audit", "some", "-h"},
	} {
		if r := tare(t, t.TempDir(), args...); r.status != exitOK || !strings.Contains(r.stdout, "Usage:") || r.stderr != "" {
			t.Errorf("%q: status %d: %s%s", args, r.status, r.stdout, r.stderr)
		}
	}
}

func TestNotRoot(t *testing.T) {
	if os.Getuid() != 0 {
		r := tare(t, t.TempDir(), "run", "quick")
		if r.status != exitHost || !strings.Contains(r.stderr, "root") {
			t.Errorf("status %d: %s", r.status, r.stderr)
		}
		return
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r := asNobody(t, "run", "quick")
	if r.status != exitHost || !strings.Contains(r.stderr, "needs root") {
		t.Errorf("status %d: %s%s", r.status, r.stdout, r.stderr)
	}
}

func TestSchema(t *testing.T) {
	r := tare(t, t.TempDir(), "schema")
	if r.status != 0 || !json.Valid([]byte(r.stdout)) {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
}

func TestWorkloadsJSON(t *testing.T) {
	r := tare(t, t.TempDir(), "workloads", "--json")
	var list []map[string]any
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil || len(list) < 20 {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	missing := map[string]bool{}
	for _, id := range strings.Fields(articleWorkloads) {
		missing[id] = true
	}
	for _, w := range list {
		ids, _ := w["article_ids"].([]any)
		for _, id := range ids {
			delete(missing, fmt.Sprint(id))
		}
		if runs := w["runs"]; runs != "tool" && runs != "stand-in" && runs != "needs your build" {
			t.Errorf("%v runs %v", w["name"], runs)
		}
		if (w["runs"] == "stand-in") != (w["stand_in"] != nil) {
			t.Errorf("%v runs %v and stands in %v", w["name"], w["runs"], w["stand_in"])
		}
		for _, key := range []string{"name", "article_ids", "runs", "commands", "source", "metrics"} {
			if w[key] == nil {
				t.Errorf("%v has no %s", w["name"], key)
			}
		}
	}
	for id := range missing {
		t.Errorf("no workload repeats the articles' %s", id)
	}
}

// articleWorkloads are the ids of all workloads of the five articles.
const articleWorkloads = `A1-cpu A2-untar A3-kernel A4-disk A5-net-crr A6-net-stream A7-iozone
L1-netpipe L2-dd L3-iozone L4-ab-static L5-ab-status L6-ab-wordpress L7-ab-mediawiki L8-oltp-rw L9-oltp-ro
H1-unixbench H2-bonnie H3-cpio C1-fio-randread C2-fio-randwrite C3-lmbench
P1-bogomips P2-nbench P3-bw_mem P4-tio-seqread P5-tio-randread P6-tio-seqwrite P7-tio-randwrite P8-bonnie P9-ttcp P10-bw_pipe P11-kernel`

func TestSystemsJSON(t *testing.T) {
	live(t)
	r := tare(t, t.TempDir(), "systems", "--json")
	var list []map[string]any
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil || len(list) < 5 {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	for _, s := range list {
		if s["name"] == nil || s["capabilities"] == nil || s["verified_on"] == "" {
			t.Errorf("%v", s)
		}
		if s["usable"] == true && s["proof"] == nil || s["usable"] == false && s["reason"] == nil {
			t.Errorf("%v is usable: %v, without saying why", s["name"], s["usable"])
		}
	}
	nothingLeft(t)
}

func TestParse(t *testing.T) {
	r := tare(t, t.TempDir(), "parse", "sysbench-cpu", absolute("../../internal/workload/tool/testdata/sysbench/cpu.txt"))
	var p struct {
		Workload string
		Metrics  []struct {
			Metric, Unit string
			Value        float64
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &p); err != nil || len(p.Metrics) == 0 || p.Metrics[0].Value <= 0 {
		t.Errorf("%v: %s%s", err, r.stdout, r.stderr)
	}
	// A name that is both a tool's and a workload's.
	saved := absolute("../../internal/workload/tool/testdata/iperf3/tcp-json.txt")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"parse", "iperf3", saved}, `"retransmits"`},
		{[]string{"parse", "--tool", "iperf3", saved}, `"tool": "iperf3"`},
		{[]string{"parse", "--workload", "iperf3", saved}, `"workload": "iperf3"`},
	} {
		if r := tare(t, t.TempDir(), c.args...); r.status != 0 || !strings.Contains(r.stdout, c.says) {
			t.Errorf("%q: no %s: %s%s", c.args, c.says, r.stdout, r.stderr)
		}
	}
}

// TestParseSeveral: each file is read by itself, and other versions of the tool are told.
func TestParseSeveral(t *testing.T) {
	cpu, err := os.ReadFile("../../internal/workload/tool/testdata/sysbench/cpu.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, "host.txt", string(cpu))
	write(t, dir, "guest.txt", strings.Replace(string(cpu), "sysbench 1.0.20", "sysbench 1.0.11", 1))
	var p struct {
		Outputs []struct{ File, Tool, Version string }
		Doubts  []string
	}
	r := tare(t, dir, "parse", "sysbench", "host.txt", "guest.txt")
	if err := json.Unmarshal([]byte(r.stdout), &p); err != nil || len(p.Outputs) != 2 ||
		p.Outputs[1].File != "guest.txt" || len(p.Doubts) != 1 ||
		!strings.Contains(r.stderr, "other versions, whose figures may not be comparable: 1.0.20 in "+
			"host.txt, 1.0.11 in guest.txt") {
		t.Errorf("%v, %+v\n%s", err, p, r.stderr)
	}
	r = tare(t, dir, "parse", "sysbench", "host.txt", "host.txt")
	if r.status != 0 || strings.Contains(r.stdout, "doubts") || r.stderr != "" {
		t.Errorf("the same file twice: %s%s", r.stdout, r.stderr)
	}
}

func TestDoctor(t *testing.T) {
	live(t)
	r := tare(t, t.TempDir(), "doctor")
	for _, want := range []string{"native", "usable", "Noise sources"} {
		if r.status != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("status %d, no %q:\n%s%s", r.status, want, r.stdout, r.stderr)
		}
	}
	nothingLeft(t)
}

// TestDoctorCampaign: doctor says why this host cannot measure a campaign, also to programs.
func TestDoctorCampaign(t *testing.T) {
	live(t)
	dir := t.TempDir()
	const text = "name: c\nflavors: {one: {backing: block, device: [/dev/gone1, /dev/gone2]}}\narms: [{system: native, " +
		"flavor: one}]\nworkloads: [sysbench-cpu]\n"
	write(t, dir, "bad.yaml", text)
	write(t, dir, "good.yaml", "name: c\narms: [native]\nworkloads: [sysbench-cpu]\n")
	for _, c := range []struct {
		args           string
		status         int
		stdout, stderr string
	}{
		{"bad.yaml", exitCampaign, "Noise sources", "tare: bad.yaml:2:42: device /dev/gone1: "},
		{"bad.yaml --json", exitCampaign, `"refused": "bad.yaml:2:42: device /dev/gone1: `, "bad.yaml:2:54"},
		{"good.yaml", 0, "Noise sources", ""},
		{"gone.yaml", exitCampaign, "", "gone.yaml: no such file"},
	} {
		r := tare(t, dir, append([]string{"doctor"}, strings.Fields(c.args)...)...)
		if r.status != c.status || !strings.Contains(r.stdout, c.stdout) || !strings.Contains(r.stderr, c.stderr) {
			t.Errorf("%s: status %d:\n%s%s", c.args, r.status, r.stdout, r.stderr)
		}
	}
	nothingLeft(t)
}

func TestDryRun(t *testing.T) {
	live(t)
	dir := t.TempDir()
	r := tare(t, dir, "run", "quick", "--dry-run", "--seed", "7")
	if r.status != 0 || !strings.Contains(r.stdout, "seed 7") || !strings.Contains(r.stdout, "expected") {
		t.Errorf("status %d:\n%s%s", r.status, r.stdout, r.stderr)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) > 0 {
		t.Errorf("a dry run wrote %v", files)
	}
	const unsaved = "name: unsaved\nflavors: {one: {vcpus: 1, memory: 512MiB}}\narms: [native]\nworkloads: [restore]\n"
	r = tare(t, dir, "run", write(t, dir, "unsaved.yaml", unsaved), "--dry-run")
	if r.status == 0 || !strings.Contains(r.stderr, "native cannot be saved and restored") {
		t.Errorf("a plan that cannot be run: status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
}

func TestPaper(t *testing.T) {
	dir := t.TempDir()
	r := tare(t, dir, "paper", "list")
	if r.status != 0 || !strings.Contains(r.stdout, "habr-truevds-xen-disk") {
		t.Errorf("list: status %d: %s%s", r.status, r.stdout, r.stderr)
	}
	r = tare(t, dir, "paper", "show", "abclinuxu-xen-vs-kvm")
	if r.status != 0 || !strings.Contains(r.stdout, "xen-1/4") {
		t.Errorf("show: status %d: %s%s", r.status, r.stdout, r.stderr)
	}
	if short := tare(t, dir, "paper", "show", "abc"); short.status != 0 || short.stdout != r.stdout {
		t.Errorf("show by a prefix: status %d: %s%s", short.status, short.stdout, short.stderr)
	}
	if r := tare(t, dir, "paper", "audit", "latgrid"); r.status != 0 ||
		!strings.HasPrefix(r.stdout, "latgrid-xen-veiktspeja: ") {
		t.Errorf("audit by a prefix: status %d: %s%s", r.status, r.stdout, r.stderr)
	}
	if r := tare(t, dir, "paper", "show", "xen"); r.status != exitCampaign ||
		!strings.Contains(r.stderr, "habr-truevds-xen-disk") {
		t.Errorf("no prefix: status %d: %s%s", r.status, r.stdout, r.stderr)
	}
	r = tare(t, dir, "paper", "audit", "--json")
	var findings []struct{ Article, Row, Kind string }
	if err := json.Unmarshal([]byte(r.stdout), &findings); err != nil || len(findings) < 10 || r.status != 0 {
		t.Errorf("audit: status %d, %d findings, %v: %s", r.status, len(findings), err, r.stderr)
	}
	r = tare(t, dir, "paper", "audit", write(t, dir, "own.yaml", "document: {id: x, titel: y}\nsystems: [native]\n"+
		"results: []\n"))
	if r.status != exitCampaign || !strings.Contains(r.stderr, "own.yaml:1:") || !strings.Contains(r.stderr, `"title"`) {
		t.Errorf("a bad file: status %d: %s", r.status, r.stderr)
	}
	// A file takes precedence over an article whose name only begins with its name.
	write(t, dir, "habr", "document: {id: x, titel: y}\nsystems: [native]\nresults: []\n")
	if r := tare(t, dir, "paper", "audit", "habr"); r.status != exitCampaign || !strings.Contains(r.stderr, "habr:1:") {
		t.Errorf("a file named as a prefix: status %d: %s%s", r.status, r.stdout, r.stderr)
	}
}

// TestParseUnread: parse says what it did not read, in its JSON and in one line on the terminal.
func TestParseUnread(t *testing.T) {
	text, err := os.ReadFile(absolute("../../internal/workload/tool/testdata/sysbench/cpu.txt"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	saved := filepath.Join(dir, "saved.txt")
	if err := os.WriteFile(saved, append(text, "Something new: 73518.25 furlongs\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sysbench", "sysbench-cpu"} {
		r := tare(t, dir, "parse", name, saved)
		var p struct{ Unread []string }
		if err := json.Unmarshal([]byte(r.stdout), &p); err != nil || r.status != 0 || len(p.Unread) != 1 ||
			!strings.Contains(r.stderr, `1 line with numbers not read: "Something new: 73518.25 furlongs"`) {
			t.Errorf("%s: %v, %v, %s%s", name, err, p, r.stdout, r.stderr)
		}
	}
}
