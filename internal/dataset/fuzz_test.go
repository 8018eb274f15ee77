package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/store/storetest"
)

// FuzzValues changes values of a whole run, also into what the schema forbids. See storetest.Values for the input.
func FuzzValues(f *testing.F) {
	dir := f.TempDir()
	v := storetest.NewValues(f, dir, wholeRun(f, dir))
	f.Add([]byte{})
	for i := range byte(40) {
		f.Add([]byte{3 * i, i % 2, 7 * i})
	}
	f.Add([]byte{14, 0, 4}) // names of baselines, as bytes that are no text
	f.Fuzz(func(t *testing.T, changes []byte) {
		if err := readChanged(t, dir, v.Changed(t, changes)); err != nil && len(changes) == 0 {
			t.Errorf("the run itself: %v", err)
		}
	})
}

// FuzzPages changes pages of a whole run. Each six bytes of input are a page, what to do with it, and two numbers.
func FuzzPages(f *testing.F) {
	dir := f.TempDir()
	whole := wholeRun(f, dir)
	f.Add([]byte{})
	for i := range byte(12) {
		f.Add([]byte{i, i, 0, i, i, 0xff, 3 * i, 2, 0, 8, 0, 5})
	}
	f.Fuzz(func(t *testing.T, changes []byte) {
		text := bytes.Clone(whole)
		for ; len(changes) >= 6; changes = changes[6:] {
			changePage(text, int(changes[0]), changes[1], int(binary.BigEndian.Uint16(changes[2:])), changes[4:6])
		}
		readChanged(t, dir, text)
	})
}

// changePage replaces a page by another, or writes two bytes into it, its cell pointers or its first cells.
func changePage(run []byte, page int, how byte, at int, two []byte) {
	pages := len(run) / storetest.PageSize
	start := page % pages * storetest.PageSize
	text := run[start : start+storetest.PageSize]
	switch how % 4 {
	case 0:
		if start > 0 { // the first has the header, which is checked
			copy(text, run[at%pages*storetest.PageSize:][:storetest.PageSize])
		}
	case 1: // the header of the page and its cell pointers
		at %= 64
		if start == 0 {
			at += 100
		}
		copy(text[at:], two)
	case 2: // cells are at the end
		copy(text[len(text)-2-at%512:], two)
	default:
		copy(text[min(at%len(text), len(text)-2):], two)
	}
}

const (
	mostMemory = 512 << 20       // that a small file may take
	longest    = 2 * time.Minute // it takes milliseconds
)

// readChanged reads a file as the analysis and exports do. Whatever is in it, that ends soon, without much memory, and
// an error names the file and is nobody else's fault.
func readChanged(t *testing.T, dir string, run []byte) error {
	t.Helper()
	path := filepath.Join(dir, "changed.tare")
	must(t, os.WriteFile(path, run, 0o600))
	before := resident(t)
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	err := readWhole(ctx, path)
	if peak := resident(t); peak-before > mostMemory {
		t.Errorf("reading %d bytes took %d MiB", len(run), (peak-before)>>20)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		t.Errorf("still reading after %v", longest)
	case err != nil && fault.KindOf(err) != fault.Campaign:
		t.Errorf("an error that is not the file's: %v", err)
	case err != nil && !strings.Contains(err.Error(), path):
		t.Errorf("an error that does not name the file: %v", err)
	}
	return err
}

func readWhole(ctx context.Context, path string) error {
	r, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	defer r.Close()
	in, err := Read(r)
	if err != nil {
		return err
	}
	for range in.Observations {
	}
	for range in.ProbeObservations {
	}
	if _, err := r.Sessions(); err != nil {
		return err
	}
	if _, err := r.Elapsed(); err != nil {
		return err
	}
	for _, err := range r.Trials() {
		if err != nil {
			return err
		}
	}
	return nil
}

// resident is the most memory in bytes that this process held since the last call.
func resident(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	must(t, err)
	_, text, _ := strings.Cut(string(b), "VmHWM:")
	var kib int64
	_, err = fmt.Sscan(text, &kib)
	must(t, err)
	must(t, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0))
	return kib << 10
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wholeRun returns the file of a run that has something in every table.
func wholeRun(t testing.TB, dir string) []byte {
	t.Helper()
	const text = "name: x\nseed: 1\nflavors: {f: {vcpus: 2, memory: 1GiB}}\narms: [native, kvm]\n" +
		"workloads: [cpu, disk]\nblocks: 6\n"
	c, err := campaign.Parse("x.yaml", []byte(text), campaign.Known{})
	must(t, err)
	flavor := model.Flavor{Name: "f", VCPUs: 2, MemoryBytes: 1 << 30}
	path := filepath.Join(dir, "whole.tare")
	r, err := store.Create(path, map[string][]byte{
		store.DocCampaign: c.Resolved(), store.DocCampaignYAML: []byte(text), store.DocUserland: []byte(`{"key": "0123"}`),
		store.DocEnvironment: []byte(`{"version": 1, "host_id": "h", "cpu": {"model": "Some CPU", "threads": 2}}`),
		store.DocSystems:     []byte(`[{"name": "kvm", "usable": true, "capabilities": {"freeze": "QMP stop"}}]`),
	}, []store.Arm{{Name: "native", System: "native", Flavor: flavor}, {Name: "kvm", System: "kvm",
		Flavor: flavor}}, []store.Metric{
		{Workload: "cpu", Name: "time", Unit: "s", Better: "lower", Primary: true}, {Workload: "cpu", Name: "host_cpu",
			Unit: "s", Probe: true},
		{Workload: "disk", Name: "rate", Unit: "B/s", Better: "higher", Primary: true},
	})
	must(t, err)
	session, err := r.BeginSession("boot", "1")
	must(t, err)
	must(t, r.AddSize("cpu", 1000, "events", map[string]int{"tried": 1}))
	for i := range 24 {
		arm, workload, metric := i%2, "cpu", 0
		if i%4 > 1 {
			workload, metric = "disk", 2
		}
		guest, err := r.AddGuest(session, arm, store.Guest{Generation: i / 4, StartNS: 1e9,
			Hello: agent.Hello{Kernel: "Linux", CPUs: 2}, CommandLine: []string{"qemu"}})
		must(t, err)
		must(t, r.AddGuestValue(guest, store.MemoryPSS, "B", 1e6))
		id, err := r.Begin(store.Attempt{Session: session, Guest: guest, Block: i / 4, Position: arm, Workload: workload,
			Arm: arm, Size: 1})
		must(t, err)
		o := store.Outcome{
			Status: store.Done, Values: map[int]float64{metric: 1 + float64(i)/100},
			Steps: []store.Step{{Name: "run", Timed: true, Argv: []string{"true"}, Result: &agent.Result{Stdout: []byte("said"),
				StdoutBytes: 4, HostEnd: 2e9}}},
		}
		if i == 13 {
			o.Status, o.Error, o.Log, o.Values = store.Failed, "crashed", "its log", nil
		}
		must(t, r.Finish(id, o))
		must(t, r.AddEvent(session, id, "kernel-oom", "Out of memory"))
	}
	must(t, r.EndSession(session, "blocks"))
	must(t, r.Close())
	run, err := os.ReadFile(path)
	must(t, err)
	return run
}
