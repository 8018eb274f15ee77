package tool

import (
	"regexp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	// timeWords are what the shell's time and time -p print, and GNU time -f "elapsed %e user %U sys %S".
	timeShell = regexp.MustCompile(`(?m)^(user|sys)\s+(?:(\d+)m ?)?(\d+(?:\.\d+)?)s?$`)
	timeNamed = regexp.MustCompile(`\belapsed \d+(?:\.\d+)? (user) (\d+(?:\.\d+)?) (sys) (\d+(?:\.\d+)?)\b`)
	// GNU time -v.
	timeVerbose = regexp.MustCompile(`(?m)^[\t ]+([A-Z][^\n:]*?)(?: \((seconds|kbytes|bytes)\))?: (\d+(?:\.\d+)?)(%?)$`)
)

// timeUnits are those of GNU time -v.
var timeUnits = map[string]string{"seconds": "s", "kbytes": "KiB", "bytes": "B", "": "1"}

// withTimes adds everything that time(1) or the shell's time printed. What was cut off is an error.
func withTimes(r *Report, text string) error {
	r.timed = true
	walls, err := WallTimes(text)
	if err != nil {
		return err
	}
	for _, w := range walls {
		r.seconds("wall time", w)
	}
	text = Grep(text, "user", "sys", "real", "elapsed", "inputs+", "\t", ": ", " total")
	names := map[string]string{"user": "user time", "sys": "system time"}
	shell := map[string]int{}
	for _, m := range timeShell.FindAllStringSubmatch(text, -1) {
		v, err := clock(strings.TrimPrefix(m[2]+":"+m[3], ":"))
		if err != nil {
			return err
		}
		shell[m[1]]++
		r.seconds(names[m[1]], v)
	}
	if real := len(timeReal.FindAllString(text, -1)); (shell["user"] > 0 || shell["sys"] > 0) &&
		(shell["user"] != real || shell["sys"] != real) {
		return fault.Guestf("the output has %d, %d and %d lines \"real\", \"user\" and \"sys\" of time: it is cut off or "+
			"damaged",
			real, shell["user"], shell["sys"])
	}
	for _, m := range timeNamed.FindAllStringSubmatch(text, -1) {
		for i := 1; i < len(m); i += 2 {
			v := r.number(m[i+1])
			r.seconds(names[m[i]], v)
		}
	}
	return withGNUTimes(r, text)
}

// timeEnded is the last line of GNU time -v. Pages make spaces of its tab.
var timeEnded = regexp.MustCompile(`(?m)^[\t ]+Exit status: 0$`)

var timeReal = regexp.MustCompile(`(?m)^real\s+(?:\d+m ?)?\d+(?:\.\d+)?s?$`)

// gnuTimes are the figures of GNU time's two lines, and of zsh's.
var gnuTimes = []figureLine{
	row(`^(\d+\.\d+)user (\d+\.\d+)system [\d:.]+elapsed (\d+|\?)%CPU \((\d+)avgtext\+(\d+)avgdata (\d+)maxresident\)k$`,
		column{"user time", "s", Lower}, column{"system time", "s", Lower}, column{"CPU", "%", ""},
		column{"average text", "KiB", Lower}, column{"average data", "KiB", Lower}, column{"max resident set", "KiB", Lower}),
	row(`^(\d+)inputs\+(\d+)outputs \((\d+)major\+(\d+)minor\)pagefaults (\d+)swaps$`, column{"inputs", "1", Lower},
		column{"outputs", "1", Lower}, column{"major page faults", "1", Lower}, column{"minor page faults", "1", Lower},
		column{"swaps", "1", Lower}),
	row(`(\d+\.\d+)s user (\d+\.\d+)s system (\d+)% cpu (?:\d+:)*\d+(?:\.\d+)? total$`, column{"user time", "s", Lower},
		column{"system time", "s", Lower}, column{"CPU", "%", ""}),
}

func withGNUTimes(r *Report, text string) error {
	short, long := gnuTimes[0].line.FindAllString(text, -1), gnuTimes[1].line.FindAllString(text, -1)
	if len(short) != len(long) {
		return fault.Guestf("the output has %d first lines of GNU time, but %d second ones: it is cut off or damaged",
			len(short), len(long))
	}
	if err := addFigures(r, text, gnuTimes); err != nil {
		return err
	}
	if !strings.Contains(text, "Command being timed:") {
		return nil
	}
	if !timeEnded.MatchString(text) {
		return fault.Guestf("the output has no line \"Exit status: 0\" of GNU time: it is cut off")
	}
	_, verbose, _ := strings.Cut(text, "Command being timed:")
	for _, m := range timeVerbose.FindAllStringSubmatch(verbose, -1) {
		if m[1] == "Exit status" {
			continue
		}
		v := r.number(m[3])
		unit := timeUnits[m[2]]
		if m[4] != "" {
			unit = "%"
		}
		name, ok := map[string]string{"User time": "user time", "System time": "system time"}[m[1]]
		if !ok {
			name = quoteless(m[1])
		}
		r.add(name, v, unit, "")
	}
	return nil
}
