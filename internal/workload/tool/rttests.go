package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	hackbenchAny   = line("", `^(?:Time: |Each sender will pass |Running in \w+ mode )`)
	hackbenchTime  = line("Time:", `^Time: (\d+\.\d+)$`)
	hackbenchLoops = line("Each sender", `^Each sender will pass (\d+) messages of (\d+) bytes$`)
	hackbenchTasks = line("Running in",
		`^Running in \w+ mode with (\d+) groups using (\d+) file descriptors each \(== (\d+) tasks\)$`)
	// cyclictestLine is also that of signaltest, which has no interval.
	cyclictestLine = regexp.MustCompile(`^T: *(\d+) \( *\d+\) P: *\d+ (?:I: *(\d+) )?C: *(\d+) Min: *(\d+) Act: *(` +
		`\d+) Avg: *(\d+) Max: *(\d+) *$`)
	cyclictestBin = regexp.MustCompile(`^(\d{6,}) ((?:\d{6,}\s*)+)$`)
	cyclictestSum = regexp.MustCompile(`^# (Total|Min Latencies|Avg Latencies|Max Latencies|Histogram Overflows): ` +
		`((?:\d+\s*)+)$`)
	cyclictestRun = regexp.MustCompile(`^ +(\d+): +(\d+): +(\d+)$`)
	semaphoreLine = regexp.MustCompile(`^#(\d+) -> #(\d+), Min +(\d+), Cur +(\d+), Avg +(\d+), Max +(\d+)$`)
	// cyclictestCommand is a command line with -N, as in the JSON, in which times are in ns.
	cyclictestCommand = regexp.MustCompile(`\bcyclictest\b([^\n]*)`)
	cyclictestNano    = regexp.MustCompile(`\s(?:-[A-Za-z]*N|--nsecs)\b`)
	// cyclictestWidth are the two times that have eight columns or more with -N, and five or more without.
	cyclictestWidth = regexp.MustCompile(`(?m)^T: .* Act:( *\d+) Avg:( *\d+) Max:`)
	// cyclictestLeast are the times from which the shortest follows.
	cyclictestLeast = regexp.MustCompile(`(?m)^T: .* Min: *(\d+) |^# Min Latencies: (\d+)|^ +\d+: +\d+: +(\d+)$`)
	rtCycles        = regexp.MustCompile(`^#\d+: ID\d+, .*, Cycles (\d+) *$`)
)

// readRTTests reads the output of hackbench, of cyclictest and signaltest, and of pmqtest, ptsematest,
// sigwaittest and svsematest.
func readRTTests(text string, r *Report) error {
	if err := r.refused(text); err != nil {
		return err
	}
	if hackbenchAny.find(Grep(text, "Time:", "Each sender", "Running in")) == "" {
		return readCyclictest(text, r)
	}
	for _, kind := range []struct {
		line    *pattern
		columns []column
	}{
		{hackbenchTime, []column{{"time", "s", Lower}}},
		{hackbenchTasks, []column{{"groups", "1", ""}, {"file descriptors of a group", "1", ""}, {"tasks", "1", ""}}},
		{hackbenchLoops, []column{{"messages of each sender", "1", ""}, {"message", "B", ""}}},
	} {
		m, err := kind.line.once("hackbench", text)
		if err != nil {
			return err
		}
		for i, c := range kind.columns {
			r.add(c.name, r.number(m[i+1]), c.unit, c.better)
		}
	}
	return nil
}

// cyclictestThread is the result of a thread.
type cyclictestThread struct {
	cycles, least, act, mean, most string
}

// wakeUpUnit returns the unit of the times of cyclictest, which prints none: ns with -N, otherwise us. The command
// line says which, or else the widths of the columns. Verbose lines and histograms have neither; then least, the
// shortest time, decides: hardly a thread wakes up within 1 us, and hardly one never within 1 ms.
func wakeUpUnit(text string, least float64) string {
	if m := cyclictestCommand.FindStringSubmatch(text); m != nil {
		if cyclictestNano.MatchString(m[1]) {
			return "ns"
		}
		return "us"
	}
	wide, narrow := false, false
	for _, m := range cyclictestWidth.FindAllStringSubmatch(text, -1) {
		for _, column := range m[1:] {
			narrow = narrow || len(column) < 8
			wide = wide || len(column) >= 8 && column[0] == ' '
		}
	}
	switch {
	case narrow || !wide && least < 1000:
		return "us"
	case wide:
		return "ns"
	}
	return "us, or ns with -N"
}

// readCyclictest reads the lines of all threads, the last of each, histograms, or the JSON of --json. With several
// threads, names begin with the thread's.
func readCyclictest(text string, r *Report) error {
	objects, text, err := jsonObjects("cyclictest", text)
	if err != nil {
		return err
	}
	if len(objects) > 1 {
		return fault.Guestf("the output has %d results of cyclictest; save each run in its own file", len(objects))
	}
	for _, object := range objects {
		if err := readCyclictestJSON(object, r); err != nil {
			return err
		}
	}
	least := math.Inf(1)
	for _, m := range cyclictestLeast.FindAllStringSubmatch(text, -1) {
		least = min(least, r.number(m[1]+m[2]+m[3]))
	}
	t := cyclictestText{r: r, unit: wakeUpUnit(text, least), live: strings.Contains(text, "policy: "),
		last: map[string]cyclictestThread{}, sums: map[string][]string{}}
	for line := range strings.SplitSeq(text, "\n") {
		if err := t.line(line); err != nil {
			return err
		}
	}
	for _, id := range t.order {
		prefix := ""
		if len(t.order) > 1 {
			prefix = "thread " + id + ": "
		}
		if err := t.last[id].figures(r, prefix, t.unit); err != nil {
			return err
		}
	}
	if strings.Contains(text, "# Histogram") || len(t.histogram) > 0 {
		return addHistogram(r, t.histogram, t.sums, t.unit)
	}
	if len(r.Figures) == 0 {
		return fault.Guestf("the output has neither the line %q of hackbench nor the line %q of cyclictest: %s", "Time:",
			"T:", Quote(text))
	}
	if len(r.All("cycles")) > 0 && len(r.Figures) < 2 {
		return fault.Guestf("the output has no line \"#1 -> #0\": it is cut off")
	}
	return nil
}

// cyclictestText is what the lines have said so far.
type cyclictestText struct {
	r         *Report
	unit      string
	live      bool // lines of a thread repeat until the end, and the last one counts
	order     []string
	last      map[string]cyclictestThread
	histogram [][]string
	sums      map[string][]string
}

func (t *cyclictestText) line(line string) error {
	if m := cyclictestLine.FindStringSubmatch(line); m != nil {
		if _, ok := t.last[m[1]]; !ok {
			t.order = append(t.order, m[1])
		} else if !t.live {
			return fault.Guestf("the output has two results of thread %s; save each run in its own file", m[1])
		}
		t.last[m[1]] = cyclictestThread{m[3], m[4], m[5], m[6], m[7]}
	} else if strings.HasPrefix(line, "T:") {
		return damaged("cyclictest", line)
	} else if m := cyclictestBin.FindStringSubmatch(line); m != nil {
		t.histogram = append(t.histogram, append([]string{m[1]}, strings.Fields(m[2])...))
	} else if m := cyclictestSum.FindStringSubmatch(line); m != nil {
		if t.sums[m[1]] != nil {
			return fault.Guestf("the output has two lines %q; save each run in its own file", "# "+m[1]+":")
		}
		t.sums[m[1]] = strings.Fields(m[2])
	} else if m := cyclictestRun.FindStringSubmatch(line); m != nil {
		t.r.add("thread "+m[1]+": wake-up "+m[2], t.r.number(m[3]), t.unit, Lower)
	} else if m := semaphoreLine.FindStringSubmatch(line); m != nil {
		pair := cyclictestThread{"", m[3], m[4], m[5], m[6]}
		return pair.figures(t.r, "from "+m[1]+" to "+m[2]+": ", "us")
	} else if m := rtCycles.FindStringSubmatch(line); m != nil {
		t.r.add("cycles", t.r.number(m[1]), "1", "")
	}
	return nil
}

func (t cyclictestThread) figures(r *Report, prefix, unit string) error {
	f := r.numbers(t.least, t.act, t.mean, t.most)
	if t.cycles != "" {
		cycles := r.number(t.cycles)
		if cycles == 0 || f[0] > f[2] || f[2] > f[3] {
			if err := r.doubt(Contradiction("%.0f wake-ups cannot have minimum %v, mean %v and maximum %v %s", cycles, f[0],
				f[2], f[3],
				unit)); err != nil {
				return err
			}
		}
		r.add(prefix+"wake-ups", cycles, "1", "")
	}
	r.add(prefix+"min wake-up latency", f[0], unit, Lower)
	r.add(prefix+"last wake-up latency", f[1], unit, Lower)
	r.add(prefix+"mean wake-up latency", f[2], unit, Lower)
	r.add(prefix+"max wake-up latency", f[3], unit, Lower)
	return nil
}

// addHistogram adds the counts of a histogram that are not 0, and its sums. A column more than there are
// threads is the sum of all.
func addHistogram(r *Report, histogram [][]string, sums map[string][]string, unit string) error {
	threads := len(sums["Min Latencies"])
	column := func(i int) string {
		if i >= threads {
			return "all threads: "
		}
		return "thread " + strconv.Itoa(i) + ": "
	}
	for _, kind := range []struct{ line, name, unit string }{{"Total", "wake-ups in the histogram", "1"},
		{"Min Latencies", "min wake-up latency", unit}, {"Avg Latencies", "mean wake-up latency", unit},
		{"Max Latencies", "max wake-up latency", unit}, {"Histogram Overflows", "wake-ups above the histogram", "1"}} {
		words := sums[kind.line]
		if len(words) == 0 {
			return fault.Guestf("the histogram of cyclictest has no line %q: the output is cut off", "# "+kind.line+":")
		}
		for i, word := range words {
			r.add(column(i)+kind.name, r.number(word), kind.unit, Lower)
		}
	}
	for _, bin := range histogram {
		for i, word := range bin[1:] {
			v := r.number(word)
			if v > 0 {
				late := strings.TrimLeft(bin[0][:5], "0") + bin[0][5:]
				r.add(column(i)+"wake-ups of "+late+" "+unit, v, "1", "")
			}
		}
	}
	return nil
}

func readCyclictestJSON(text string, r *Report) error {
	var doc struct {
		Status  float64 `json:"return_code"`
		Threads map[string]struct {
			Histogram             map[string]float64
			Cycles, Min, Avg, Max float64
		} `json:"thread"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return fault.Guestf("cyclictest's JSON is damaged or cut off: %w", err)
	}
	if doc.Status != 0 || len(doc.Threads) == 0 {
		return fault.Guestf("cyclictest's JSON has %d threads and return code %v; expected threads and return code 0",
			len(doc.Threads), doc.Status)
	}
	unit := wakeUpUnit(text, 0)
	for id := range len(doc.Threads) {
		t, ok := doc.Threads[strconv.Itoa(id)]
		if !ok {
			return fault.Guestf("cyclictest's JSON has %d threads, but no thread %d", len(doc.Threads), id)
		}
		prefix := ""
		if len(doc.Threads) > 1 {
			prefix = fmt.Sprintf("thread %d: ", id)
		}
		if t.Cycles == 0 || t.Min > t.Avg || t.Avg > t.Max {
			if err := r.doubt(Contradiction("%.0f wake-ups cannot have minimum %v, mean %v and maximum %v %s", t.Cycles, t.Min,
				t.Avg,
				t.Max, unit)); err != nil {
				return err
			}
		}
		r.add(prefix+"wake-ups", t.Cycles, "1", "")
		r.add(prefix+"min wake-up latency", t.Min, unit, Lower)
		r.add(prefix+"mean wake-up latency", t.Avg, unit, Lower)
		r.add(prefix+"max wake-up latency", t.Max, unit, Lower)
		for _, late := range slices.SortedFunc(maps.Keys(t.Histogram), inOrder) {
			r.add(fmt.Sprintf("%swake-ups of %s %s", prefix, quoteless(late), unit), t.Histogram[late], "1", "")
		}
	}
	return nil
}
