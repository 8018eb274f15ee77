package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == burnArgument { // startLoad starts this program
		burn()
		return
	}
	os.Exit(m.Run())
}

// precision runs the program with a stand-in for tare.
func precision(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	tare, err := filepath.Abs("testdata/tare")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = run(context.Background(), append([]string{args[0], "-dir", dir, "-tare", tare}, args[1:]...), &out, io.Discard)
	return out.String(), err
}

func TestAgreementFromEndToEnd(t *testing.T) {
	dir := t.TempDir()
	if _, err := precision(t, dir, "agreement", "-rounds", "2"); err != nil {
		t.Fatal(err)
	}
	if _, err := precision(t, dir, "agreement", "-rounds", "3"); err != nil { // goes on
		t.Fatal(err)
	}
	ran, err := os.ReadFile(filepath.Join(dir, "ran"))
	if err != nil || strings.Count(string(ran), "quick\n") != 3 {
		t.Errorf("three rounds, two of them there already, made these runs: %q, %v", ran, err)
	}
	out, err := precision(t, dir, "summary")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| machine | Some CPU, 2 CPUs, 4 GiB of memory, itself a guest of KVM |",
		"3: tare version canned",
		"| time and other primary metrics | 1 | 3 | 0 of 3 (0.0 %) | 0 |",
		"| CPU time | 1 | 3 | 0 of 3 (0.0 %) | 0 |",
		"| openssl-enc | time | ±5 % | ±1.9 % (1.9) |",
		"tare run quick --out runs/agreement-quick-001.tare --yes",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the summary has no %q:\n%s", want, out)
		}
	}
}

func TestNothingBeginsThatDoesNotFit(t *testing.T) {
	dir := t.TempDir()
	if _, err := precision(t, dir, "agreement", "-rounds", "1", "-budget", "10h", "-for", "1h"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); !os.IsNotExist(err) {
		t.Errorf("a run of ten hours began within a limit of one hour: %v", err)
	}
}

func TestWrongArguments(t *testing.T) {
	for _, args := range [][]string{
		{"nonsense"},
		{"aa", "more"},
		{"aa", "-workloads", "openssl-enc:many"},
		{"power", "-cells", "5 in 30s"},
		{"agreement", "-campaign", "there-is-none.yaml"},
	} {
		if _, err := precision(t, t.TempDir(), args...); err == nil {
			t.Errorf("precision %s: no error", strings.Join(args, " "))
		}
	}
}

func TestPlantedWorkIsChecked(t *testing.T) {
	dir := t.TempDir()
	args := []string{"power", "-rounds", "1", "-truth", "0", "-cells", "5@30s"}
	// The stand-in reports the same work for the arm that should do more, unless the file
	// honest exists.
	if _, err := precision(t, dir, args...); err == nil ||
		!strings.Contains(err.Error(), "planted encrypted 47186000 bytes instead of 49545300") {
		t.Errorf("missing work is accepted: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "honest"), []byte("yes"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := precision(t, dir, args...); err != nil {
		t.Fatal(err)
	}
	out, err := precision(t, dir, "summary", "-plot", filepath.Join(dir, "curve.svg"))
	if plot, err := os.ReadFile(filepath.Join(dir, "curve.svg")); err != nil ||
		!strings.Contains(string(plot), "<polyline") || !strings.Contains(out, "](curve.svg)") {
		t.Errorf("no curve: %v\n%s", err, plot)
	}
	if err != nil || !strings.Contains(out, "| 5 % | – | 1 of 1 (±1.94) |") || !strings.Contains(out, "budget: 30s") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestAnalysedAgain(t *testing.T) {
	dir := t.TempDir()
	if _, err := precision(t, dir, "agreement", "-rounds", "2"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	old := strings.ReplaceAll(string(text), "tare version canned", "tare version old")
	if err := os.WriteFile(filepath.Join(dir, "results.jsonl"), []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := precision(t, dir, "summary", "-again")
	if err != nil || strings.Contains(out, "version old") || !strings.Contains(out, "2: tare version canned") {
		t.Errorf("after a new analysis: %v\n%s", err, out)
	}
}
