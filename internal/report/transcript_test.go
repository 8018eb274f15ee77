package report

import (
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/store"
)

func TestTranscript(t *testing.T) {
	trial := &store.Trial{Attempt: 17, Block: 2, Workload: "dd-write", Arm: "lxc@two", Member: 1, Status: store.Failed,
		Error: "no \x1b[31mspace", Metrics: map[string]float64{"time": 0.25, "rate": 4},
		Steps: []store.TrialStep{
			{Name: "prepare", Argv: []string{"true"}},
			{Name: "write", Timed: true, Argv: []string{"dd", "of=a b"}, ExitCode: 1, Signal: 9, TimedOut: true,
				StdoutBytes: 400, StderrBytes: 5, HostEndNS: 25e7},
		}}
	if title := TrialTitle(trial); title != "trial 17: dd-write on lxc@two, block 3, guest 2" {
		t.Errorf("it is called %q", title)
	}
	long := strings.Repeat("a", 150) + strings.Repeat("z", 50)
	stdout, stderr := [][]byte{nil, []byte(long)}, [][]byte{nil, []byte("\x00\u202eno\n")}
	want := `no ␛[31mspace
rate = 4
time = 0.25

prepare:
$ true
exit status 0

write:
$ dd 'of=a b'
exit status 1, signal 9, timed out, timed: 250.0 ms
output, 400 bytes, of which 200 were kept:
` + long + `
errors, 5 bytes:
␀�no
`
	if got := Transcript(trial, stdout, stderr, 0); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	cut := Transcript(trial, stdout, stderr, 40)
	if !strings.Contains(cut, strings.Repeat("a", 30)+"\n… 160 bytes left out …\n"+strings.Repeat("z", 10)) {
		t.Errorf("cut:\n%s", cut)
	}
	if none := Transcript(trial, nil, nil, 0); !strings.Contains(none, "400 bytes, of which 0 were kept") {
		t.Errorf("without output:\n%s", none)
	}
}
