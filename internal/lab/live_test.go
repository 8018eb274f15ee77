package lab

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/agentbin"
	"github.com/tare-bench/tare/internal/image"
)

// imagesDir is the image cache that the systems' tests use, too.
const imagesDir = "/var/lib/tare/images"

// suite is a test of a driver whose hypervisor runs in a lab. Its program is built here and run
// there.
type suite struct {
	pkg, test string
}

// labs are the labs to boot and the suites to run in each, most important first. The budget counts
// from the boot; tests that do not end within it are reported as skipped. It is generous, since
// other tests run beside the labs, which take a few minutes if they are alone.
var labs = []struct {
	kind   Kind
	budget time.Duration
	suites []suite
	soaked []suite // run by make soak only: saving and restoring a domain takes minutes here
}{
	{Xen, 14 * time.Minute, []suite{
		{"native", "TestLogicalVolumes"}, {"xen", "TestConformancePV"},
		{"native", "TestConformanceDom0"}, {"xen", part("TestConformancePVH", "start|run|answer|exit|signal")},
	}, []suite{{"xen", "TestRestoredPV"}}},
	{KVM, 5 * time.Minute, []suite{
		{"qemu", part("TestConformance/kvm", "start|run|answer|exit|signal|output|instant|freeze|idle|cpus|cap")},
	}, nil},
}

var soak = os.Getenv("TARE_SOAK") != ""

// part is the part of a suite that depends on the hypervisor: some cases of one guest. The rest takes minutes and tests
// the same code as the whole suite of other guests: PVH guests are created as PV guests are, and QEMU is the same with
// KVM as without. make soak runs it.
func part(suite, cases string) string {
	if soak {
		return suite
	}
	return suite + "/guest/" + cases
}

// TestConformance runs drivers' conformance suites against the real hypervisors.
func TestConformance(t *testing.T) {
	if os.Getenv("TARE_LIVE") == "" {
		t.Skip("TARE_LIVE is not set")
	}
	for _, l := range labs {
		t.Run(string(l.kind), func(t *testing.T) {
			suites, budget := l.suites, l.budget
			if soak {
				suites, budget = append(suites, l.soaked...), budget+time.Hour
			}
			programs := map[string]string{}
			for _, s := range suites {
				if programs[s.pkg] == "" {
					programs[s.pkg] = buildTest(t, s.pkg)
				}
			}
			deadline := time.Now().Add(budget)
			machine := boot(t, l.kind)
			t.Run("share", func(t *testing.T) { testShare(t, machine) })
			for _, program := range programs {
				giveTo(t, machine, program)
			}
			for _, s := range suites {
				t.Run(s.pkg+"."+s.test, func(t *testing.T) { s.run(t, machine, deadline) })
			}
		})
	}
}

// buildTest builds the program of a driver's tests.
func buildTest(t *testing.T, pkg string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), pkg+".test")
	cmd := exec.CommandContext(t.Context(), cmp.Or(os.Getenv("GO"), "go"), "test", "-c", "-ldflags=-s -w", "-o", program,
		"../system/"+pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // the lab does not have this host's libraries
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the tests of %s: %v\n%s", pkg, err, out)
	}
	return program
}

// bootPatience is how long a boot may take here: thirty times as long as on an idle machine.
const bootPatience = 5 * time.Minute

func start(t *testing.T, c Config) (*Lab, error) {
	ctx, cancel := context.WithTimeout(t.Context(), bootPatience)
	defer cancel()
	return Start(ctx, c)
}

// boot boots a lab that ends with the test. Emulation hangs occasionally, so a failed boot is tried
// once more and logged.
func boot(t *testing.T, kind Kind) *Lab {
	t.Helper()
	program, err := agentbin.Program()
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Kind: kind, CPUs: 2, MemoryBytes: kind.DefaultMemory(), DiskBytes: 4 << 30, StateDir: t.TempDir(),
		Agent: program}
	recipe := Recipe()
	for of, r := range map[**image.Image]*image.Recipe{&c.Userland: nil, &c.Host: &recipe} {
		if *of, err = image.Build(t.Context(), image.Options{CacheDir: imagesDir, Recipe: r}); err != nil {
			t.Fatal(err)
		}
	}
	begin := time.Now()
	l, err := start(t, c)
	if err != nil {
		t.Logf("the first boot failed after %v, trying again: %v", time.Since(begin), err)
		begin = time.Now()
		l, err = start(t, c)
	}
	switch {
	case err != nil && time.Since(begin) >= bootPatience:
		t.Skipf("%s: it does not boot within %v", slower, bootPatience)
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Logf("booted in %v", time.Since(begin).Round(time.Second))
	return l
}

// testShare: whatever the lab creates in the shared directory is a plain file on the host.
func testShare(t *testing.T, l *Lab) {
	script := `cd ` + Exchange + ` && ln -s /etc/hostname link && mkfifo pipe && mknod device c 1 3 &&
		echo "exit 0" >program && chmod 4755 program && test -L link && test -p pipe && ./program`
	r, err := l.Run(t.Context(), agent.Command{Argv: []string{"sh", "-c", script}})
	if err != nil || r.ExitCode != 0 {
		t.Fatalf("%v: %+v", err, r)
	}
	for _, name := range []string{"link", "pipe", "device", "program"} {
		file := filepath.Join(l.ExchangeDir(), name)
		st, err := os.Lstat(file)
		if err != nil {
			t.Fatal(err)
		}
		if mode := st.Mode(); !mode.IsRegular() || mode&0o111 != 0 || mode&os.ModeSetuid != 0 {
			t.Errorf("%s is %v on the host", name, mode)
		}
		if err := os.Remove(file); err != nil {
			t.Error(err)
		}
	}
}

// giveTo copies a program to the lab's own disk.
func giveTo(t *testing.T, l *Lab, program string) {
	t.Helper()
	name := filepath.Base(program)
	b, err := os.ReadFile(program)
	if err == nil {
		err = os.WriteFile(filepath.Join(l.ExchangeDir(), name), b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Run(t.Context(), agent.Command{Argv: []string{"mv", Exchange + "/" + name, Scratch}})
	if err != nil || r.ExitCode != 0 {
		t.Fatalf("%v: %+v", err, r)
	}
}

// slower is the reason for skipping what would take too long.
const slower = "the emulation is too slow here"

// run runs the suite in the lab and reports each of its cases as one of this test. If a case fails,
// the suite is tried once more, since an emulated machine stalls for seconds when this host is
// busy. The first failure is logged.
func (s suite) run(t *testing.T, l *Lab, deadline time.Time) {
	cases := s.try(t, l, deadline)
	if slices.ContainsFunc(cases, func(c labCase) bool { return c.status == "FAIL" }) {
		for _, c := range cases {
			if c.status == "FAIL" {
				t.Logf("%s failed, trying once more:\n%s", c.name, c.output)
			}
		}
		cases = s.try(t, l, deadline.Add(2*time.Minute))
	}
	for _, c := range cases {
		t.Run(strings.ReplaceAll(c.name, "/", "."), func(t *testing.T) {
			t.Logf("it took %s in the lab", cmp.Or(c.took, "longer than there was time"))
			switch c.status {
			case "PASS":
			case "FAIL":
				t.Error(c.output)
			case "SKIP":
				t.Skip(c.reason())
			default:
				t.Skipf("%s: it has not ended", slower)
			}
		})
	}
}

func (s suite) try(t *testing.T, l *Lab, deadline time.Time) []labCase {
	t.Helper()
	left := time.Until(deadline)
	if left < 20*time.Second {
		t.Skipf("%s: no time is left for it", slower)
	}
	var pattern []string // anchored, in the syntax of -test.run
	for word := range strings.SplitSeq(s.test, "/") {
		pattern = append(pattern, "^("+word+")$")
	}
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), left+time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer // complete up to where the lab stopped answering
	r, err := l.Run(ctx, agent.Command{
		Argv: []string{Scratch + "/" + s.pkg + ".test", "-test.v=test2json", "-test.run", strings.Join(pattern, "/")},
		Dir:  Scratch, Env: append([]string{"TARE_LIVE=1"}, Env...), Timeout: left,
		OnOutput: func(isErr bool, b []byte) {
			if isErr {
				stderr.Write(b)
			} else {
				stdout.Write(b)
			}
		},
	})
	cases := parseCases(stdout.String())
	if err != nil {
		t.Logf("after %v and %d cases the lab answers no more: %v", time.Since(begin).Round(time.Second), len(cases), err)
		r = &agent.Result{TimedOut: true}
	}
	t.Logf("%d cases in %v, timed out: %v", len(cases), time.Since(begin).Round(time.Second), r.TimedOut)
	failed := slices.ContainsFunc(cases, func(c labCase) bool { return c.status == "FAIL" })
	if len(cases) == 0 && r.TimedOut {
		t.Skipf("%s: its tests have not begun", slower)
	}
	if ended := r.ExitCode == 0 && r.Signal == 0; len(cases) == 0 || !ended && !failed && !r.TimedOut {
		t.Fatalf("status %d, signal %d\n%s%s", r.ExitCode, r.Signal, &stdout, &stderr)
	}
	return cases
}

// labCase is one test or subtest of a suite.
type labCase struct {
	name, output string
	status, took string // as printed by go test; "": it has not ended
}

var (
	caseNow  = regexp.MustCompile(`^=== (?:RUN|NAME|CONT) +(\S+)$`)
	caseEnds = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+) \((.*)\)`)
	logPlace = regexp.MustCompile(`^\s*\S+\.go:\d+: `)
)

// parseCases parses the output of a test program with -test.v=test2json, which reports every case
// when it ends, and returns the cases in the order in which they began.
func parseCases(output string) []labCase {
	var cases []labCase
	find := func(name string) *labCase {
		i := slices.IndexFunc(cases, func(c labCase) bool { return c.name == name })
		if i < 0 {
			cases = append(cases, labCase{name: name})
			i = len(cases) - 1
		}
		return &cases[i]
	}
	now := ""
	for line := range strings.Lines(output) {
		line = strings.TrimPrefix(line, "\x16") // marks lines that are not output of the tests
		if m := caseNow.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			now = m[1]
			find(now)
		} else if m := caseEnds.FindStringSubmatch(line); m != nil {
			ended := find(m[2])
			ended.status, ended.took = m[1], m[3]
		} else if now != "" {
			find(now).output += line
		}
	}
	return cases
}

// reason returns why a case was skipped: the last line that it logged.
func (c labCase) reason() string {
	lines := strings.Split(strings.TrimSpace(c.output), "\n")
	return logPlace.ReplaceAllString(lines[len(lines)-1], "")
}

func TestParseCases(t *testing.T) {
	const output = "\x16=== RUN   TestA\n\x16=== RUN   TestA/one\n" + `    x_test.go:3: in a loop
    x_test.go:7: cannot freeze
=== RUN   TestA/two
=== NAME  TestA
    x_test.go:9: said by the parent
--- SKIP: TestA/one (0.00s)
--- FAIL: TestA/two (1.00s)
--- FAIL: TestA (3.00s)
=== RUN   TestB
`
	var got bytes.Buffer
	for _, c := range parseCases(output) {
		fmt.Fprintf(&got, "%s %s %q %s\n", c.name, c.status, c.reason(), c.took)
	}
	const want = `TestA FAIL "said by the parent" 3.00s
TestA/one SKIP "cannot freeze" 0.00s
TestA/two FAIL "" 1.00s
TestB  "" ` + "\n"
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}
