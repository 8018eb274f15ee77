package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var (
	testArms = []Arm{
		{Name: "native", System: "native", Scenario: "solo", Flavor: model.Flavor{
			Name: "small", VCPUs: 2, MemoryBytes: 1 << 30, CPUCap: 0.5, CPUs: model.CPUList{0, 1}, DiskFS: "ext4",
		}},
		{Name: "kvm", System: "kvm", Scenario: "solo", Emulated: true},
		{Name: "native-control", System: "native", Scenario: "solo", ControlOf: "native"},
	}
	testMetrics = []Metric{
		{Workload: "cpu", Name: "time", Unit: "s", Better: "lower", Primary: true},
		{Workload: "cpu", Name: "rate", Unit: "1/s", Better: "higher"},
		{Workload: "cpu", Name: "host_cpu", Unit: "s", Probe: true},
	}
)

// create creates a run with one session and one guest for each arm.
func create(t testing.TB) (r *Run, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run.tare")
	r, err := Create(path, map[string][]byte{DocCampaign: []byte(`{"name":"x"}`), DocEnvironment: []byte("{}")}, testArms,
		testMetrics)
	must(t, err)
	t.Cleanup(func() { r.Close() })
	addSession(t, r)
	return r, path
}

func addSession(t testing.TB, r *Run) int64 {
	t.Helper()
	session, err := r.BeginSession("boot", "1")
	must(t, err)
	for arm := range testArms {
		_, err := r.AddGuest(session, arm, Guest{StartNS: 1e9, Hello: agent.Hello{Kernel: "Linux", CPUs: 2},
			CommandLine: []string{"vmm", "-x"}})
		must(t, err)
	}
	return session
}

func begin(t testing.TB, r *Run, block, arm int) int64 {
	t.Helper()
	id, err := r.Begin(Attempt{Session: 1, Guest: int64(arm + 1), Block: block, Workload: "cpu", Arm: arm, Size: 10})
	must(t, err)
	return id
}

// outcome returns the outcome of a trial with two steps and that much output, in
// bytes.
func outcome(v float64, printed int) Outcome {
	x := &agent.Result{Stdout: bytes.Repeat([]byte("x"), printed), StdoutBytes: uint64(printed), HostStart: 5, HostEnd: 9,
		Usage: agent.Usage{User: time.Second}}
	return Outcome{Status: Done, Clock: agent.Clock{Offset: -3, Delay: 7},
		Values: map[int]float64{0: v, 1: 1 / v, 2: 2 * v},
		Steps: []Step{{Name: "prepare", Argv: []string{"rm", "-f"},
			Result: &agent.Result{ExitCode: 1, Signal: 9, TimedOut: true}}, {Name: "run", Timed: true, Argv: []string{"tool"},
			Result: x}}}
}

func TestOutput(t *testing.T) {
	r, _ := create(t)
	id := begin(t, r, 0, 0)
	must(t, r.Finish(id, outcome(1, 3)))
	stdout, stderr, err := r.Output(id)
	must(t, err)
	if len(stdout) != 2 || len(stderr) != 2 || len(stdout[0]) != 0 || string(stdout[1]) != "xxx" {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
	if stdout, _, err = r.Output(id + 1); err != nil || len(stdout) != 0 {
		t.Errorf("of an attempt that is not there: %q, %v", stdout, err)
	}
}

func trials(t testing.TB, r *Run) []*Trial {
	t.Helper()
	var all []*Trial
	for trial, err := range r.Trials() {
		must(t, err)
		all = append(all, trial)
	}
	return all
}

func observations(t testing.TB, r *Run) []Observation {
	t.Helper()
	var all []Observation
	for o, err := range r.Observations() {
		must(t, err)
		all = append(all, o)
	}
	return all
}

func TestReopen(t *testing.T) {
	r, path := create(t)
	must(t, r.AddSize("cpu", 10, "events", []int{1, 10}))
	done := begin(t, r, 0, 0)
	must(t, r.Finish(done, outcome(2, 3)))
	failed := begin(t, r, 0, 1)
	must(t, r.Finish(failed, Outcome{Status: Failed, Error: "crashed", Log: "panic"}))
	void := begin(t, r, 0, 2)
	must(t, r.Finish(void, Outcome{Status: Void, Error: "slept", Values: map[int]float64{0: 9}}))
	interrupted := begin(t, r, 0, 2)
	unborn, err := r.Begin(Attempt{Session: 1, Block: 1, Workload: "cpu", Arm: 1})
	must(t, err)
	must(t, r.Finish(unborn, Outcome{Status: Failed, Error: "does not start"}))
	must(t, r.AddEvent(1, 0, "a", "b"))
	must(t, r.AddEvent(1, done, "c", "d"))
	must(t, r.EndSession(1, "blocks"))
	must(t, r.Close())

	for _, open := range openers {
		r, err := open(t.Context(), path)
		must(t, err)
		if body, err := r.Document(DocCampaign); err != nil || string(body) != `{"name":"x"}` {
			t.Errorf("document %q, %v", body, err)
		}
		if _, err := r.Document(DocUserland); fault.KindOf(err) != fault.Campaign {
			t.Errorf("a document that is not there: %v", err)
		}
		arms, err := r.Arms()
		must(t, err)
		metrics, err := r.Metrics()
		must(t, err)
		if !reflect.DeepEqual(arms, testArms) || !reflect.DeepEqual(metrics, testMetrics) {
			t.Errorf("arms %+v, metrics %+v", arms, metrics)
		}
		sizes, err := r.Sizes()
		must(t, err)
		if want := []Size{{"cpu", 10, "events", json.RawMessage("[1,10]")}}; !reflect.DeepEqual(sizes, want) {
			t.Errorf("sizes %+v", sizes)
		}
		finished, err := r.Finished()
		must(t, err)
		if want := map[model.TrialID]bool{{Workload: "cpu", Arm: "native"}: true, {Workload: "cpu", Arm: "kvm"}: true,
			{Block: 1, Workload: "cpu", Arm: "kvm"}: true}; !reflect.DeepEqual(finished, want) {
			t.Errorf("finished %v", finished)
		}
		failures, err := r.Failures()
		must(t, err)
		if want := []Failure{{TrialID: model.TrialID{Block: 0, Workload: "cpu", Arm: "kvm"}, Attempt: failures[0].Attempt,
			Error: "crashed", Guest: 2}, {TrialID: model.TrialID{Block: 1, Workload: "cpu", Arm: "kvm"},
			Attempt: failures[1].Attempt, Error: "does not start"}}; !reflect.DeepEqual(failures, want) {
			t.Errorf("failures %v", failures)
		}
		if got, want := observations(t, r), []Observation{{Metric: 0, Guest: 1, Status: Done, Value: 2},
			{Metric: 1, Guest: 1, Status: Done, Value: 0.5},
			{Metric: 2, Guest: 1, Status: Done, Value: 4}}; !reflect.DeepEqual(got, want) {
			t.Errorf("observations %v, want %v", got, want)
		}
		events, err := r.Events()
		must(t, err)
		if len(events) != 2 || events[0].Attempt != 0 || events[1].Attempt != done || events[1].Text != "d" {
			t.Errorf("events %+v", events)
		}
		guests, err := r.Guests()
		must(t, err)
		if len(guests) != 3 || guests[1].Arm != "kvm" || guests[1].Hello.CPUs != 2 || guests[1].StartNS != 1e9 ||
			guests[1].CommandLine[1] != "-x" {
			t.Errorf("guests %+v", guests)
		}
		sessions, err := r.Sessions()
		must(t, err)
		if len(sessions) != 1 || sessions[0].Reason != "blocks" || sessions[0].Ended.Before(sessions[0].Began) {
			t.Errorf("sessions %+v", sessions)
		}
		all := trials(t, r)
		var got []string
		for _, trial := range all {
			got = append(got, fmt.Sprint(trial.Attempt, trial.Arm, trial.Guest, trial.Status, trial.Error, len(trial.Steps)))
		}
		want := []string{fmt.Sprint(done, "native", 1, Done, "", 2), fmt.Sprint(failed, "kvm", 2, Failed, "crashed", 0),
			fmt.Sprint(void, "native-control", 3, Void, "slept", 0),
			fmt.Sprint(interrupted, "native-control", 3, Interrupted, "", 0),
			fmt.Sprint(unborn, "kvm", 0, Failed, "does not start", 0)}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("trials %q, want %q", got, want)
		}
		if first := all[0]; first.Metrics["rate"] != 0.5 || first.Probes["host_cpu"] != 4 || first.OffsetNS != -3 ||
			first.DelayNS != 7 || first.Steps[0].Signal != 9 ||
			!first.Steps[0].TimedOut || first.Steps[1].StdoutBytes != 3 || first.Steps[1].HostEndNS != 9 ||
			first.Steps[1].Rusage.User != time.Second {
			t.Errorf("%+v", first)
		}
		must(t, r.Close())
	}
}

func TestNothingIsOverwritten(t *testing.T) {
	r, path := create(t)
	id := begin(t, r, 0, 0)
	must(t, r.Finish(id, outcome(1, 1)))
	if err := r.Finish(id, outcome(2, 1)); err == nil {
		t.Error("a trial has two outcomes")
	}
	must(t, r.AddSize("cpu", 1, "x", nil))
	if err := r.AddSize("cpu", 2, "x", nil); err == nil {
		t.Error("a size was changed")
	}
	must(t, r.EndSession(1, "a"))
	if err := r.EndSession(1, "b"); err == nil {
		t.Error("a session ended twice")
	}
	if err := r.Finish(99, outcome(1, 1)); err == nil {
		t.Error("an outcome without an attempt")
	}
	before, err := os.ReadFile(path)
	must(t, err)
	if _, err := Create(path, nil, nil, nil); fault.KindOf(err) != fault.Campaign || fault.RemedyOf(err) == "" {
		t.Errorf("Create over a run: %v", err)
	}
	after, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(before, after) {
		t.Error("the file is another")
	}
	ro, err := Open(t.Context(), path)
	must(t, err)
	defer ro.Close()
	if _, err := ro.BeginSession("", ""); err == nil {
		t.Error("a run that was opened to be read was written to")
	}
}

// TestCreateLeavesNothing: if Create fails, it leaves no file.
func TestCreateLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.tare")
	if _, err := Create(path, nil, []Arm{{Name: "a"}, {Name: "a"}}, nil); err == nil {
		t.Error("two arms of one name")
	}
	if list, _ := os.ReadDir(filepath.Dir(path)); len(list) != 0 {
		t.Errorf("left: %v", list)
	}
	if _, err := Create(filepath.Join(filepath.Dir(path), "no", "run.tare"), nil, nil,
		nil); fault.KindOf(err) != fault.Host {
		t.Errorf("no such directory: %v", err)
	}
}

// TestCreateReplacesWhatNeverBegan: what a killed Create left is replaced, and nothing else.
func TestCreateReplacesWhatNeverBegan(t *testing.T) {
	const hot = journalMagic + "\x00\x00\x00\x01nonc"
	for _, c := range []struct {
		name, file, journal string
		begun               bool
	}{
		{"empty", "", "", false},
		{"empty, and a journal without its magic", "", strings.Repeat("\x00", 512), false},
		{"a file that was empty before", "SQLite format 3\x00 and half of a page", hot + "\x00\x00\x00\x00", false},
		{"a file that had a page before", "SQLite format 3\x00", hot + "\x00\x00\x00\x01", true},
		{"a journal without its magic", "SQLite format 3\x00", strings.Repeat("\x00", 512), true},
		{"a journal cut short", "SQLite format 3\x00", hot, true},
		{"somebody's file", "hello", "", true},
	} {
		path := filepath.Join(t.TempDir(), "run.tare")
		must(t, os.WriteFile(path, []byte(c.file), 0o600))
		if c.journal != "" {
			must(t, os.WriteFile(path+journal, []byte(c.journal), 0o600))
		}
		if begun, err := Begun(path); err != nil || begun != c.begun {
			t.Errorf("%s: begun: %v, %v", c.name, begun, err)
		}
		r, err := Create(path, nil, testArms, testMetrics)
		if c.begun {
			if text, _ := os.ReadFile(path); fault.KindOf(err) != fault.Campaign || string(text) != c.file {
				t.Errorf("%s: %v, and now %q", c.name, err, text)
			}
			continue
		}
		must(t, err)
		must(t, r.Close())
		r, err = Open(t.Context(), path)
		must(t, err)
		must(t, r.Close())
	}
}

func TestElapsed(t *testing.T) {
	r, _ := create(t)
	id := begin(t, r, 0, 0)
	must(t, r.Finish(id, outcome(1, 1)))
	// The store takes times from the clock, so the test inserts rows with its
	// own: a session of 30 s, one killed with the last outcome after 7 s, and
	// one killed before its first trial.
	for _, q := range []string{
		"INSERT INTO session VALUES (2, 100000000000, 'b', '1'), (3, 200000000000, 'b', '1'), (4, 300000000000, 'b', '1')",
		"INSERT INTO session_end VALUES (2, 130000000000, 'x'), (1, (SELECT began_unix_ns FROM session WHERE id = 1) + " +
			"1000000000, 'y')",
		"INSERT INTO attempt VALUES (50, 3, 1, 0, 0, 'cpu', 0, 0, 1, 201000000000, 0, ''), (51, 3, 1, 0, 0, 'cpu', 0, 0, " +
			"1, 205000000000, 0, '')",
		"INSERT INTO outcome VALUES (50, 'done', '', 207000000000, 0, 0, '')",
	} {
		_, err := r.db.ExecContext(context.Background(), q)
		must(t, err)
	}
	elapsed, err := r.Elapsed()
	must(t, err)
	if elapsed != 38*time.Second {
		t.Errorf("%v, want 38 s", elapsed)
	}
}

// TestClockSteps: what the file says about time follows the monotonic clock, so that a budget is
// neither used up nor extended when somebody sets the host's clock.
func TestClockSteps(t *testing.T) {
	passed := time.Second
	since = func(time.Time) time.Duration { return passed } // while the host's clock says what it wants
	defer func() { since = time.Since }()
	r, _ := create(t)
	passed += 40 * time.Second
	must(t, r.Finish(begin(t, r, 0, 0), outcome(1, 1)))
	elapsed, err := r.Elapsed()
	must(t, err)
	if elapsed != 40*time.Second {
		t.Errorf("%v after 40 s", elapsed)
	}
}

// TestPages reads more trials than fit on a page and calls other methods meanwhile.
func TestPages(t *testing.T) {
	r, _ := create(t)
	const n = obsPage + 5
	_, err := r.db.Exec(fmt.Sprintf(`BEGIN; WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < %d)
		INSERT INTO attempt SELECT i, 1, 1, i, 0, 'cpu', 0, 0, 1, 0, 0, '' FROM s;
		INSERT INTO outcome SELECT id, CASE id %% 10 WHEN 0 THEN 'void' ELSE 'done' END, '', 0, 0, 0, '' FROM attempt;
		INSERT INTO value SELECT id, 0, id FROM attempt; COMMIT`, n))
	must(t, err)
	seen := int32(0)
	for o, err := range r.Observations() {
		must(t, err)
		if seen++; seen%10 == 0 {
			seen++
		}
		if o.Block != seen || o.Value != float64(seen) {
			t.Fatalf("%+v, want block %d", o, seen)
		}
		if seen == 5 {
			if _, err := r.Arms(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if seen != n {
		t.Errorf("%d attempts, want %d", seen, n)
	}
	if all := trials(t, r); len(all) != n || all[n-1].Metrics["time"] != n {
		t.Errorf("%d trials", len(all))
	}
	for range r.Observations() {
		break
	}
	for range r.Trials() {
		break
	}
	must(t, r.AddEvent(1, 0, "still", "works"))
}

// TestPasses: discarded and repeated trials are no results, duets are counted apart, and passes are read as they
// were recorded.
func TestPasses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.tare")
	r, err := Create(path, nil, testArms, testMetrics)
	must(t, err)
	session, err := r.BeginSession("boot", "1")
	must(t, err)
	guest, err := r.AddGuest(session, 0, Guest{StartNS: 1e9})
	must(t, err)
	must(t, r.AddPass(0, []byte(`{"groups":[]}`)))
	must(t, r.AddPass(1, []byte(`{"recreate":["kvm"],"groups":[]}`)))
	if err := r.AddPass(1, []byte(`{}`)); err == nil {
		t.Error("a pass was recorded twice")
	}
	for i, status := range []Status{Discarded, Done, Repeat, Duet} {
		id, err := r.Begin(Attempt{Session: session, Guest: guest, Workload: "cpu", Position: i - 1})
		must(t, err)
		must(t, r.Finish(id, Outcome{Status: status, Values: map[int]float64{0: float64(i)}}))
	}
	must(t, r.Close())
	r, err = Continue(t.Context(), path)
	must(t, err)
	defer r.Close()
	passes, err := r.Passes()
	must(t, err)
	if len(passes) != 2 || string(passes[1]) != `{"recreate":["kvm"],"groups":[]}` {
		t.Errorf("passes %s", passes)
	}
	if got, want := observations(t, r),
		[]Observation{{Guest: 1, Status: Done, Value: 1}, {Guest: 1, Position: 1, Status: Repeat, Value: 2},
			{Guest: 1, Position: 2, Status: Duet, Value: 3}}; !reflect.DeepEqual(got, want) {
		t.Errorf("observations %+v, want %+v", got, want)
	}
	finished, err := r.Finished()
	must(t, err)
	alone := model.TrialID{Workload: "cpu", Arm: "native"}
	atOnce := alone
	atOnce.Duet = true
	if len(finished) != 2 || !finished[alone] || !finished[atOnce] {
		t.Errorf("finished %v", finished)
	}
	far, err := r.Progress()
	must(t, err)
	if far != (Progress{Trials: 1, Block: 1, Attempts: 1}) {
		t.Errorf("progress %+v", far)
	}
	spents, err := r.Spents()
	must(t, err)
	if len(spents) != 2 || spents[0].N != 3 || spents[0].Workload != "cpu" || spents[0].Arm != "native" ||
		spents[0].Mean <= 0 || spents[0].Duet || spents[1].N != 1 || !spents[1].Duet {
		t.Errorf("spent %+v", spents)
	}
}
