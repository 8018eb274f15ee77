package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/fleet"
	"github.com/tare-bench/tare/internal/fleet/durable"
)

// TestOffLineOverTemporal: a machine whose check of health failed is not in the order, is named with the reason, and
// makes the command fail; one that is done stays in a resumed run.
func TestOffLineOverTemporal(t *testing.T) {
	t.Parallel()
	r := &remoteFleet{File: &fleet.File{Name: "racks", Results: t.TempDir()}}
	names := []string{"node1", "node2", "node3"}
	for i, name := range names {
		r.Machines = append(r.Machines, fleet.Member{Name: name, Group: "g"})
		size := int64(1000)
		if name == "node3" {
			size = 1300 // makes its trials longer
		}
		if err := os.MkdirAll(r.checks(name), 0o755); err != nil {
			t.Fatal(err)
		}
		storedRunOf(t, filepath.Join(r.checks(name), "20260101T000000Z.tare"), uint64(i+1), 1.05, "boot", size)
	}
	for _, c := range []struct {
		what  string
		flags fleetFlags
		known map[string]durable.Result
		want  []string
	}{
		{"a off machine", fleetFlags{}, nil, names[:2]},
		{"a off machine that was cancelled", fleetFlags{}, map[string]durable.Result{"node3": {State: durable.Cancelled}},
			names[:2]},
		{"a off machine that is done", fleetFlags{}, map[string]durable.Result{"node3": {State: durable.Done}}, names},
		{"--even-if-unhealthy", fleetFlags{unhealthy: true}, nil, names},
	} {
		o := durable.Order{Machines: slices.Clone(names)}
		off, err := r.leftOut(t.Context(), &c.flags)
		if without(&o, off, c.known); err != nil || !slices.Equal(o.Machines, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.what, o.Machines, err, c.want)
		}
		var said bytes.Buffer
		r.tellOffLine(&said, off)
		if named := strings.HasPrefix(said.String(), "node3: offline: it takes"); named == c.flags.unhealthy {
			t.Errorf("%s: %q", c.what, said.String())
		}
		err = r.missing(o)
		if len(c.want) == len(names) {
			if err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
			continue
		}
		if fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "1 of 3 machines failed: node3") {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// TestStatusOffLine: the status of an offline machine has the reason, whether or not it takes part.
func TestStatusOffLine(t *testing.T) {
	t.Parallel()
	s := &durable.Status{Machines: map[string]durable.Result{"node1": {State: durable.Done, Trials: 5}}}
	for machine, want := range map[string]string{"node1": "done: 5 trials; offline: hot", "node2": "offline: hot"} {
		if text := durableText(s, machine, []string{"hot"}); !strings.HasPrefix(text, want+"\n") {
			t.Errorf("%s: %q, want %q", machine, text, want)
		}
	}
	s.Machines["node1"] = durable.Result{State: durable.Measuring}
	for want, p := range map[string]durable.Progress{
		"measuring: 0 trials: prepare":                      {Log: "prepare"},
		"measuring: block 3: 9 trials of 11 attempts: line": {Trials: 9, Block: 3, Attempts: 11, Log: "line"},
	} {
		s.Progress = map[string]durable.Progress{"node1": p}
		if text := durableText(s, "node1", nil); text != want {
			t.Errorf("%q, want %q", text, want)
		}
	}
	if text := durableText(s, "node2", nil); !strings.Contains(text, "not part of this run") {
		t.Error(text)
	}
}
