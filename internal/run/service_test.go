package run

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system/fake"
	"github.com/tare-bench/tare/internal/workload"
)

// served is count with a server as a background step.
func served() *workload.Workload {
	w := *count
	w.Serve = func(int64) []workload.Step {
		return []workload.Step{
			{Name: "data", Argv: []string{"prepare"}},
			{Name: "server", Argv: []string{"serve", workload.ServerAddress}, Background: true,
				Ready: []string{"ready", workload.ServerAddress}},
		}
	}
	return &w
}

func TestService(t *testing.T) {
	for _, tc := range []struct {
		name       string
		server     fake.Behaviour
		readyAfter int32  // number of checks that fail
		want       string // of the error; "": the trial counts
	}{
		{name: "good", server: fake.Behaviour{Took: time.Hour}, readyAfter: 2},
		{name: "ends early", server: fake.Behaviour{ExitCode: 3, Stderr: "no such port"}, readyAfter: 1 << 20,
			want: "step server: exit status 3"},
		{name: "never ready", server: fake.Behaviour{Took: time.Hour}, readyAfter: 1 << 20,
			want: `not ready within 3s: "ready" printed "refused"`},
		{name: "not there", server: fake.Behaviour{SpawnError: "not found"}, readyAfter: 1 << 20,
			want: "step server: exit status 127"},
		{name: "dies with its guest", server: fake.Behaviour{Trouble: fake.Dies}, readyAfter: 1 << 20, want: "died"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := strings.Replace(yaml, "blocks: 4", "blocks: 1", 1)
			if strings.Contains(tc.want, "not ready") {
				text = strings.Replace(text, "timeout: 5m", "timeout: 3s", 1)
			}
			b := newBench(t, text)
			w := served()
			w.Evaluate = func(size int64, results []workload.StepResult) (map[string]float64, error) {
				for _, r := range results {
					if r.Name == "server" && !r.Stopped {
						return count.Evaluate(size, []workload.StepResult{r})
					}
				}
				return count.Evaluate(size, results[:len(results)-1]) // the server comes last
			}
			b.config.Workloads["count"] = w
			var looks atomic.Int32
			b.other.Behave = func(argv []string) fake.Behaviour {
				switch argv[0] {
				case "serve":
					return tc.server
				case "ready":
					if argv[1] != ownAddress {
						t.Errorf("the server's address is %q", argv[1])
					}
					if looks.Add(1) <= tc.readyAfter {
						return fake.Behaviour{ExitCode: 1, Stderr: "refused"}
					}
					return fake.Behaviour{}
				}
				return good(argv)
			}
			b.native.Behave = func(argv []string) fake.Behaviour {
				if argv[0] == "serve" {
					return fake.Behaviour{Took: time.Hour}
				}
				return good(argv)
			}
			if _, err := b.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := store.Done
			if tc.want != "" {
				want = store.Failed
			}
			if got := b.statuses("other"); got[want] != 1 {
				t.Errorf("%v", got)
			}
			for trial, err := range b.config.Store.Trials() {
				if err != nil {
					t.Fatal(err)
				}
				if trial.Arm == "other" && !strings.Contains(trial.Error, tc.want) {
					t.Errorf("error %q, want %q", trial.Error, tc.want)
				}
			}
		})
	}
}
