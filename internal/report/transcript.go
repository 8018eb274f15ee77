package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/view"
)

// TrialTitle names a trial, its number first. Blocks and guests count from one.
func TrialTitle(t *store.Trial) string {
	return fmt.Sprintf("trial %d: %s on %s, block %d", t.Attempt, view.Clean(t.Workload), view.Clean(t.Arm), t.Block+1) +
		when(t.Member > 0, fmt.Sprintf(", guest %d", t.Member+1)) +
		when(t.Role != model.Working, ", neighbour: "+view.Clean(string(t.Role)))
}

// Transcript is one trial for people to read: its values, its commands, how they
// ended, and their output. Control characters of guests are made visible. Each
// stream is cut to most bytes, the first and the last ones; 0: not cut. stdout and
// stderr are those of the steps, as store.Output returns them.
func Transcript(t *store.Trial, stdout, stderr [][]byte, most int) string {
	var b strings.Builder
	if t.Error != "" {
		fmt.Fprintf(&b, "%s\n", view.Visible(t.Error))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Metrics)) {
		fmt.Fprintf(&b, "%s = %.10g\n", view.Visible(name), t.Metrics[name])
	}
	for i, s := range t.Steps {
		fmt.Fprintf(&b, "\n%s:\n$ %s\n", view.Visible(s.Name), view.Visible(CommandLine(s.Argv)))
		seconds := float64(s.HostEndNS-s.HostStartNS) / 1e9
		fmt.Fprintf(&b, "exit status %d%s%s%s\n", s.ExitCode, when(s.Signal != 0, fmt.Sprintf(", signal %d", s.Signal)),
			when(s.TimedOut, ", timed out"), when(s.Timed && seconds > 0, ", timed: "+InUnit("s", seconds, 4)))
		stream(&b, "output", s.StdoutBytes, at(stdout, i), most)
		stream(&b, "errors", s.StderrBytes, at(stderr, i), most)
	}
	return b.String()
}

func at(list [][]byte, i int) []byte {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// stream writes what a step wrote; the guest may have written more than was kept.
func stream(b *strings.Builder, what string, written int64, kept []byte, most int) {
	if written == 0 && len(kept) == 0 {
		return
	}
	fmt.Fprintf(b, "%s, %d bytes%s:\n", what, written,
		when(int64(len(kept)) < written, fmt.Sprintf(", of which %d were kept", len(kept))))
	text := view.Visible(string(kept))
	if most > 0 && len(kept) > most {
		text = view.Visible(string(kept[:most*3/4])) + fmt.Sprintf("\n… %d bytes left out …\n", len(kept)-most) +
			view.Visible(string(kept[len(kept)-most/4:]))
	}
	b.WriteString(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		b.WriteString("\n")
	}
}

// CommandLine is a command as a person would type it.
func CommandLine(argv []string) string {
	quoted := make([]string, len(argv))
	for i, a := range argv {
		if a == "" || strings.ContainsAny(a, " \t\n'\"$&|;<>()*?#\\`") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		quoted[i] = a
	}
	return strings.Join(quoted, " ")
}
