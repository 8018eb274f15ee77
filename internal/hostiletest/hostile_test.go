package hostiletest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/clitest"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/store/storetest"
)

// binary is the real program, built once for all tests.
var binary string

func TestMain(m *testing.M) { clitest.Main(m, "../../cmd/tare", &binary) }

// Exit statuses, as `tare --help` documents them.
const (
	exitOK       = 0
	exitInternal = 1 // a defect in tare
)

// result is how the program ended.
type result struct {
	status         int
	stdout, stderr string
}

// fullRun writes a run that has something of everything: two scenarios, guests, events,
// failures, probes, output.
func fullRun(t *testing.T, path string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const yaml = `name: full
seed: 1
arms: [native, lxc]
workloads:
  - sysbench-cpu
  - name: own
    command: [sh, -c, date]
    metrics: [{name: rate, unit: 1/s, better: higher, regex: '([0-9]+)'}]
scenarios: [{name: solo}, {name: two, guests: 2}]
blocks: 8
`
	c, err := campaign.Parse("c.yaml", []byte(yaml),
		campaign.Known{Systems: map[string]campaign.Limits{"native": {Usable: true}, "lxc": {Usable: true}}})
	must(err)
	planned, err := json.Marshal(c.Planned())
	must(err)
	var arms []store.Arm
	for _, a := range c.Planned() {
		arms = append(arms, store.Arm{Name: a.Name, System: a.System, Scenario: a.Scenario, ControlOf: a.Control,
			Flavor: model.Flavor{Name: a.Flavor.Name, VCPUs: 1, MemoryBytes: 1 << 28, DiskBytes: 1 << 28, DiskFS: "ext4"}})
	}
	docs := map[string][]byte{
		store.DocCampaign: c.Resolved(), store.DocCampaignYAML: []byte(yaml), store.DocArms: planned,
		store.DocUserland: []byte(`{"key": "0123"}`),
		store.DocEnvironment: []byte(`{"version": 1, "host_id": "h", "cpu": {"model": "Some CPU", "threads": 2},
			"kernel": {"release": "6.12"}, "virtualization": {"role": "bare-metal"}}`),
		store.DocSystems: []byte(`[{"name": "lxc", "usable": true, "capabilities": {"freeze": "cgroup"},
			"versions": {"lxc-start": "5.0"}}]`),
	}
	metrics := []store.Metric{
		{Workload: "sysbench-cpu", Name: "time", Unit: "s", Better: "lower", Primary: true},
		{Workload: "sysbench-cpu", Name: "guest_cgroup_cpu", Unit: "s", Probe: true},
		{Workload: "own", Name: "rate", Unit: "1/s", Better: "higher", Primary: true},
		{Workload: "own", Name: "steal", Unit: "s", Probe: true},
	}
	r, err := store.Create(path, docs, arms, metrics)
	must(err)
	defer r.Close()
	session, err := r.BeginSession("boot", "1")
	must(err)
	must(r.AddSize("sysbench-cpu", 1000, "events (each finds the primes up to 10000)", nil))
	must(r.AddSize("own", 1, "runs", map[string]int{"tried": 1}))
	for b := range 8 {
		for w, name := range []string{"sysbench-cpu", "own"} {
			for arm, a := range arms {
				guest, err := r.AddGuest(session, arm, store.Guest{Generation: b, StartNS: 1e9,
					Flavor: store.GuestFlavor{Flavor: a.Flavor}, Hello: agent.Hello{Kernel: "Linux 6.12", CPUs: 1},
					CommandLine: []string{"lxc-start", "-n", "x"}})
				must(err)
				must(r.AddGuestValue(guest, store.MemoryPSS, "B", 1e6))
				id, err := r.Begin(store.Attempt{
					Session: session, Guest: guest, Block: b, Position: arm, Workload: name, Arm: arm, Size: 1,
				})
				must(err)
				said := &agent.Result{Stdout: []byte("said 17\n"), StdoutBytes: 8, HostStart: 1, HostEnd: 2e9}
				took := 1 + 0.1*float64(arm%2) + 0.01*math.Sin(float64(7*b+3*arm))
				o := store.Outcome{
					Status: store.Done, Log: "log", Values: map[int]float64{2 * w: took, 2*w + 1: 0.5},
					Steps: []store.Step{{Name: "run", Timed: true, Argv: []string{"sh", "-c", "date"}, Result: said}},
				}
				if b == 7 && arm == 1 {
					o.Status, o.Error, o.Values = store.Failed, "the guest crashed", nil
				}
				must(r.Finish(id, o))
				must(r.AddEvent(session, id, "kernel-log", "something happened"))
			}
		}
	}
	must(r.AddEvent(session, 0, store.EventOtherLoad, "1.03 CPUs: podman (pid 175)"))
	must(r.EndSession(session, "blocks"))
}

// caps bound what a program may take for a file of a few MB: it ends long before the
// time on a machine that others use as well.
const (
	capData = 1 << 30 // bytes
	capTime = 3 * time.Minute
)

// capped runs tare under these bounds. It reports what no file may cause.
func capped(t *testing.T, dir string, args ...string) (result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), capTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "prlimit", append([]string{fmt.Sprintf("--data=%d", capData), binary}, args...)...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Run() // the status says how it ended
	r := result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	switch {
	case ctx.Err() != nil:
		return r, fmt.Errorf("still runs after %v", capTime)
	case r.status < 0 || strings.Contains(r.stderr, "goroutine ") || strings.Contains(r.stderr, "runtime:"):
		return r, fmt.Errorf("crashed (%v): %.1000s", cmd.ProcessState, r.stderr)
	case r.status == exitInternal:
		return r, fmt.Errorf("takes it for a defect in tare: %.1000s", r.stderr)
	case len(r.stdout)+len(r.stderr) > 64<<20:
		return r, fmt.Errorf("printed %d MB", (len(r.stdout)+len(r.stderr))>>20)
	}
	return r, nil
}

// unseemly returns what in a text could control a terminal or deceive a reader.
func unseemly(text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("not UTF-8")
	}
	for at, c := range text {
		if c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)) {
			return fmt.Errorf("%U in %.80q", c, text[max(0, at-40):])
		}
	}
	return nil
}

// formula matches a cell that a spreadsheet would calculate.
var formula = regexp.MustCompile(`^[\t\r ]*[=+@-]`)
var plainNumber = regexp.MustCompile(`^[+-]?([0-9.]+(e[+-]?[0-9]+)?|Inf)$`)

func formulas(text string) error {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return err
	}
	for _, row := range rows {
		for _, cell := range row {
			if formula.MatchString(cell) && !plainNumber.MatchString(cell) {
				return fmt.Errorf("the cell %.60q is a formula", cell)
			}
		}
	}
	return nil
}

// unescaped returns whether text from a file became part of a page.
func unescaped(text string) error {
	if at := strings.Index(text, "<script>alert"); at >= 0 {
		return fmt.Errorf("a script of the file: %.80q", text[max(0, at-40):])
	}
	return nil
}

type hostileCommand struct {
	args   []string
	binary bool
	texts  bool // does what another command does, but writes it differently
	check  func(string) error
}

// with is the command line for a file.
func (c hostileCommand) with(file string) []string {
	args := slices.Clone(c.args)
	for i := range args {
		args[i] = strings.Replace(args[i], "EVIL", file, 1)
	}
	return args
}

// hostile are the commands that read files of others, and what besides unseemly text
// must not be in their output.
var hostile = []hostileCommand{
	{args: []string{"show", "--all", "EVIL"}},
	{args: []string{"show", "EVIL", "--trial", "1"}},
	{args: []string{"report", "EVIL", "-o", "-"}, check: unescaped},
	{args: []string{"export", "EVIL", "--format", "json"}},
	{args: []string{"export", "EVIL", "--format", "csv"}, check: formulas},
	{args: []string{"export", "EVIL", "--format", "csv", "--figures"}, texts: true, check: formulas},
	{args: []string{"export", "EVIL", "--format", "benchfmt"}, texts: true},
	{args: []string{"export", "EVIL", "--format", "parquet"}, binary: true},
	{args: []string{"compare", "GOOD", "EVIL", "--all"}},
	{args: []string{"compare", "EVIL", "GOOD", "--markdown"}, texts: true},
	{args: []string{"compare", "EVIL", "GOOD", "--json"}, texts: true},
	{args: []string{"resume", "EVIL"}},
	{args: []string{"run", "--like", "EVIL", "--dry-run"}, texts: true},
}

// corpus writes a whole run and hostile ones made of it.
func corpus(t *testing.T) (dir string, files map[string]string) {
	t.Helper()
	dir = t.TempDir()
	good := filepath.Join(dir, "GOOD")
	fullRun(t, good)
	run, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	files = storetest.Corpus(t, dir, run)
	delete(files, "endless schema") // it is read until somebody interrupts it
	return dir, files
}

// TestHostileFiles: whatever is in a run file, every command ends soon, needs little
// memory, says whose fault it was, and prints nothing that controls a terminal.
func TestHostileFiles(t *testing.T) {
	dir, files := corpus(t)
	for _, c := range hostile {
		if _, err := capped(t, dir, c.with("GOOD")...); err != nil {
			t.Fatalf("%v of the whole run: %v", c.args, err)
		}
	}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	tried := rand.IntN(4) // without TARE_SOAK, a fourth of all is tried, another one each time
	todo := make(chan func())
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		wg.Go(func() {
			for do := range todo {
				do()
			}
		})
	}
	for _, name := range names {
		for _, c := range hostile {
			// Only texts can make a difference in some of them.
			if c.texts && !strings.HasPrefix(name, "bad") && name != "invalid UTF-8" {
				continue
			}
			if os.Getuid() != 0 && (c.args[0] == "resume" || c.args[0] == "run") {
				continue
			}
			if tried++; tried%4 != 0 && os.Getenv("TARE_SOAK") == "" {
				continue
			}
			todo <- func() {
				r, err := capped(t, dir, c.with(filepath.Base(files[name]))...)
				if err == nil && !c.binary {
					err = unseemly(r.stdout)
				}
				if err == nil {
					err = unseemly(r.stderr)
				}
				if err == nil && c.check != nil && r.status == exitOK {
					err = c.check(r.stdout)
				}
				if err == nil && r.status != exitOK && r.stderr == "" {
					err = fmt.Errorf("exit status %d without a word", r.status)
				}
				if err != nil {
					t.Errorf("%s, %s: %v", name, strings.Join(c.args, " "), err)
				}
			}
		}
	}
	close(todo)
	wg.Wait()
}

// TestHostileFolder: tare serve shows a folder of hostile files, even one that is read
// until somebody interrupts it, and all pages are as harmless as the commands' output.
func TestHostileFolder(t *testing.T) {
	dir, files := corpus(t)
	run, err := os.ReadFile(filepath.Join(dir, "GOOD"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"good.tare": run, "endless.tare": storetest.EndlessSchema(t, run)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const listen = "127.0.0.1:0"
	cmd := exec.CommandContext(ctx, "prlimit", fmt.Sprintf("--data=%d", 2*capData), binary, "serve", dir, "--listen",
		listen)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		cmd.Wait()
		if stderr.Len() > 0 {
			t.Errorf("the server: %.2000s", stderr.String())
		}
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	_, address, ok := strings.Cut(strings.TrimSpace(line), " at ")
	if err != nil || !ok {
		t.Fatalf("%q, %v", line, err)
	}
	base, _, _ := strings.Cut(address, "?")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	get := func(patience time.Duration, target string) (int, string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, "GET", target, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := browser.Do(request)
		if err != nil {
			return 0, ""
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(text)
	}
	if status, _ := get(capTime, base); status != http.StatusUnauthorized {
		t.Errorf("without the token: %d", status)
	}
	if status, _ := get(capTime, address); status != http.StatusOK {
		t.Fatalf("with the token: %d", status)
	}
	for range 4 { // abandoned
		get(time.Second, base+"run/endless.tare")
	}
	for name, path := range files {
		file := filepath.Base(path)
		for _, target := range []string{"run/" + file, "state/" + file, "compare?run=good.tare&run=" + file} {
			status, text := get(capTime, base+target)
			if status == 0 {
				t.Errorf("%s: no answer to %s", name, target)
			}
			err := unseemly(text)
			if err == nil && status == http.StatusOK { // errors are plain text, and a state is JSON
				err = unescaped(text)
			}
			if err != nil {
				t.Errorf("%s, %s: %v", name, target, err)
			}
		}
	}
	if _, text := get(capTime, base); unseemly(text) != nil || unescaped(text) != nil {
		t.Errorf("the list: %v, %v", unseemly(text), unescaped(text))
	}
	if status, text := get(capTime, base+"run/good.tare"); status != http.StatusOK ||
		!strings.Contains(text, "What it costs") {
		t.Errorf("a good run among them: %d", status)
	}
}
