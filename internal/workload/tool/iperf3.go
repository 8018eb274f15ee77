package tool

import (
	"cmp"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// iperf3Sum is a sum or a stream in iperf3's JSON. What a test does not have is nil.
type iperf3Sum struct {
	Bytes       *float64 `json:"bytes"`
	Seconds     *float64 `json:"seconds"`
	Bits        *float64 `json:"bits_per_second"`
	Retransmits *float64 `json:"retransmits"`
	Lost        *float64 `json:"lost_percent"`
	Jitter      *float64 `json:"jitter_ms"`
}

// readIperf3 reads the JSON of a TCP or UDP test, or its text, of the client or the server.
func readIperf3(text string, r *Report) error {
	objects, others, err := jsonObjects("iperf3", text)
	if err != nil {
		return err
	}
	objects = slices.DeleteFunc(objects, func(o string) bool { return !iperf3Result.MatchString(o) })
	if len(objects) == 0 {
		return readIperf3Text(others, r)
	}
	if objects, err = iperf3Events(objects); err != nil {
		return err
	}
	for _, object := range objects {
		if err := readIperf3JSON(object, r); err != nil {
			return err
		}
	}
	return nil
}

// iperf3Events joins the events that --json-stream prints, each in an object of its own, to results as --json prints
// them.
func iperf3Events(objects []string) ([]string, error) {
	var results []string
	type result struct {
		Error     json.RawMessage   `json:"error,omitempty"`
		Intervals []json.RawMessage `json:"intervals"`
		End       json.RawMessage   `json:"end,omitempty"`
	}
	var open *result
	for _, object := range objects {
		var event struct {
			Event string
			Data  json.RawMessage
		}
		if err := json.Unmarshal([]byte(object), &event); err != nil {
			return nil, fault.Guestf("iperf3's JSON is damaged or cut off: %w", err)
		}
		if open == nil {
			open = &result{}
		}
		switch event.Event {
		case "":
			results = append(results, object)
			continue
		case "start":
			if len(open.Intervals) > 0 {
				return nil, fault.Guestf("iperf3's events have a \"start\" before the \"end\" of the test before: one is cut off")
			}
			continue
		case "interval":
			open.Intervals = append(open.Intervals, event.Data)
			continue
		case "end":
			open.End = event.Data
		case "error":
			open.Error = event.Data
		default: // such as the output of the server
			continue
		}
		whole, err := json.Marshal(open)
		if err != nil {
			return nil, fault.Guestf("iperf3's JSON is damaged: %w", err)
		}
		results, open = append(results, string(whole)), nil
	}
	if open != nil && len(open.Intervals) > 0 || len(results) == 0 {
		return nil, fault.Guestf("iperf3's events have no \"end\": the output is cut off")
	}
	return results, nil
}

func readIperf3JSON(text string, r *Report) error {
	var doc struct {
		Start struct{ Version string }
		Error string
		End   struct {
			Sent        iperf3Sum           `json:"sum_sent"`
			Received    iperf3Sum           `json:"sum_received"`
			SentBack    iperf3Sum           `json:"sum_sent_bidir_reverse"`
			ReceiveBack iperf3Sum           `json:"sum_received_bidir_reverse"`
			Sum         iperf3Sum           `json:"sum"`
			SumBack     iperf3Sum           `json:"sum_bidir_reverse"`
			CPU         map[string]*float64 `json:"cpu_utilization_percent"`
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return fault.Guestf("iperf3's JSON is damaged or cut off: %w", err)
	}
	if doc.Error != "" {
		if err := r.doubt(fault.Guestf("iperf3 failed: %s", Quote(doc.Error))); err != nil {
			return err
		}
	}
	r.Version = strings.TrimPrefix(doc.Start.Version, "iperf ")
	add := func(name string, v *float64, unit string, better Better) {
		if v != nil {
			r.add(name, *v, unit, better)
		}
	}
	before, end := len(r.Figures), doc.End
	for _, way := range []struct {
		name                string
		sent, received, sum iperf3Sum
	}{{"", end.Sent, end.Received, end.Sum}, {"reverse: ", end.SentBack, end.ReceiveBack, end.SumBack}} {
		add(way.name+"sent throughput", way.sent.Bits, "bit/s", Higher)
		add(way.name+"received throughput", way.received.Bits, "bit/s", Higher)
		add(way.name+"retransmits", way.sent.Retransmits, "1", Lower)
		add(way.name+"throughput", way.sum.Bits, "bit/s", Higher)
		add(way.name+"jitter", way.sum.Jitter, "ms", Lower)
		add(way.name+"lost", way.sum.Lost, "%", Lower)
		add(way.name+"received", way.received.Bytes, "B", "")
		add(way.name+"receiver's time", way.received.Seconds, "s", Lower)
		if err := r.doubt(iperf3Consistent(way.received)); err != nil {
			return err
		}
	}
	for _, name := range []string{"host_total", "host_user", "host_system", "remote_total", "remote_user",
		"remote_system"} {
		if v := end.CPU[name]; v != nil && *v < 0 { // the difference of two rounded times
			*v = 0
		}
		add("CPU "+name, end.CPU[name], "%", Lower)
	}
	if len(r.Figures) == before {
		return fault.Guestf("iperf3's JSON has no figures in its \"end\" section")
	}
	tree, err := jsonTree(text)
	if err != nil {
		return fault.Guestf("iperf3's JSON is damaged or cut off: %w", err)
	}
	if of, ok := tree["end"].(map[string]any); ok {
		delete(of, "cpu_utilization_percent")
		if err := addTree(r, "end", of, iperf3Unit); err != nil {
			return err
		}
	}
	return addTree(r, "interval", tree["intervals"], iperf3Unit)
}

// iperf3Unit returns the unit of a number in iperf3's JSON, by the keys that lead to it.
func iperf3Unit(name string) (string, bool) {
	words := strings.Fields(name)
	switch words[len(words)-1] {
	case "socket":
		return "", false
	case "start", "end", "seconds":
		return "s", true
	case "bytes", "snd_cwnd", "max_snd_cwnd", "snd_wnd", "max_snd_wnd", "pmtu":
		return "B", true
	case "bits_per_second":
		return "bit/s", true
	case "jitter_ms":
		return "ms", true
	case "lost_percent":
		return "%", true
	case "rtt", "rttvar", "max_rtt", "min_rtt", "mean_rtt":
		return "us", true
	}
	return "1", true
}

// The lines of iperf3's text. They may begin with a time stamp or a title.
var (
	iperf3Row = regexp.MustCompile(`^(?:.*? )?\[(SUM| *\d+)\](?:\[([TR]X-[CS])\])? +(\d+\.\d+)-(\d+\.\d+) *sec +(\d` +
		`+(?:\.\d+)?) ([KMGT]?)Bytes +` +
		`(\d+(?:\.\d+)?) ([KMGT]?)(bits|Bytes)/sec(.*)$`)
	// What follows the rate: retransmits and the congestion window, or datagrams, jitter and losses.
	iperf3TCP = regexp.MustCompile(`^(?: +(\d+)(?: +(\d+(?:\.\d+)?) ([KMGT]?)Bytes)?)? *$`)
	iperf3UDP = regexp.MustCompile(`^ +(\d+\.\d+) ms +(-?\d+)/(-?\d+) +\((-?[\d.e+-]+|-?nan)%\) *$`)
	iperf3CPU = regexp.MustCompile(`(?m)CPU Utilization: local/(\w+) (-?\d+\.\d+)% \((-?\d+\.\d+)%u/(-?\d+\.\d+)%s` +
		`\), remote/(\w+) (-?\d+\.\d+)% \((-?\d+\.\d+)%u/(-?\d+\.\d+)%s\)`)
	iperf3Any  = regexp.MustCompile(`^(?:.*? )?\[(?:SUM| *\d+)\](?:\[[TR]X-[CS]\])? +\d+[.,]\d`)
	iperf3Head = regexp.MustCompile(`\[ ID\]`)
)

// iperf3Text reads the text line by line.
type iperf3Text struct {
	r        *Report
	datagram bool // the lines that follow are of UDP
	streams  int
	summary  bool           // the lines that follow are below "- - - -"
	old      bool           // the summary does not say whose it is: version 3.1 and before, of UDP
	done     map[string]int // lines of the whole test, by stream and end
	both     bool           // the test is bidirectional
}

// readIperf3Text reads what iperf3 prints on the terminal. The figures of the whole test are those of the
// sum, if there are several streams.
func readIperf3Text(text string, r *Report) error {
	if err := r.refused(text); err != nil {
		return err
	}
	text, server, _ := strings.Cut(text, "\nServer output:\n")
	t := iperf3Text{r: r, done: map[string]int{}}
	connected := len(iperf3Connected.FindAllString(text, -1))
	t.streams = connected
	if connected == 0 { // the lines were not pasted
		t.streams = iperf3Streams(text)
	}
	if m := iperf3Version.FindStringSubmatch(text); m != nil {
		r.Version = m[1]
	}
	if line := iperf3Ended.FindString(text); line != "" {
		if err := r.doubt(fault.Guestf("iperf3 was interrupted: %s", Quote(line))); err != nil {
			return err
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if err := t.line(line, ""); err != nil {
			return err
		}
	}
	client := strings.Contains(text, "Connecting to host ")
	if t.old {
		r.Version = cmp.Or(r.Version, "3.1 or before")
	}
	if t.done["receiver"] == 0 || client && !t.old && t.done["sender"] != t.done["receiver"] {
		if err := r.doubt(fault.WithRemedy(fault.Guestf("the output does not contain what the receiver got"),
			"run iperf3 -c with -J")); err != nil {
			return err
		}
	}
	if client && len(r.Doubts) == 0 && !strings.Contains(text+server, "iperf Done.") {
		if err := r.doubt(fault.Guestf("iperf3 did not print \"iperf Done.\": the output is cut off")); err != nil {
			return err
		}
	}
	if sums := map[bool]int{true: 2, false: 1}[t.both]; t.streams > sums && t.done["SUM"] < sums {
		if err := r.doubt(fault.Guestf("iperf3 had %d streams, but the output has no line [SUM] of the receiver: it is cut "+
			"off, or of several runs; save each run in its own file", t.streams)); err != nil {
			return err
		}
	}
	if want := t.streams + t.done["SUM"]; connected > 0 && t.done["receiver"] != want {
		if err := r.doubt(fault.Guestf("iperf3 had %d streams, but the output has %d results of receivers: it is cut off, "+
			"or of several runs; save each run in its own file", t.streams, t.done["receiver"]-t.done["SUM"])); err != nil {
			return err
		}
	}
	for line := range strings.SplitSeq(server, "\n") {
		if err := t.line(line, "server: "); err != nil {
			return err
		}
	}
	for _, m := range iperf3CPU.FindAllStringSubmatch(text, -1) {
		for i, name := range []string{"local", "local user", "local system", "remote", "remote user", "remote system"} {
			word := m[2+i]
			if i > 2 {
				word = m[3+i]
			}
			v, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return damaged("iperf3", m[0])
			}
			r.add("CPU "+name, max(v, 0), "%", Lower)
		}
	}
	return nil
}

// iperf3Result tells a result in JSON, or an event, from what -d prints in between.
var iperf3Result = regexp.MustCompile(`"(?:end|event|intervals|error|start)"`)

var (
	iperf3Version = regexp.MustCompile(`(?m)^iperf (\d\.\S+)(?: \(.*\))?$`)
	iperf3Ended   = regexp.MustCompile(`(?m)^.*interrupt - the .* has terminated.*$`)
	// iperf3Swap is the line of datagrams that arrived in another order.
	iperf3Swap = regexp.MustCompile(`^(?:.*? )?\[(SUM| *\d+)\](?:\[[TR]X-[CS]\])? +(\d+\.\d+-\d+\.\d+) +sec +(\d+) datagrams received out-of-order$`)
	iperf3Sent = regexp.MustCompile(`^(?:.*? )?\[(SUM| *\d+)\] Sent (\d+) datagrams$`)
)

// iperf3Streams counts the streams that the lines with rates name.
func iperf3Streams(text string) int {
	streams := map[string]bool{}
	for line := range strings.Lines(text) {
		if m := iperf3Row.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil && m[1] != "SUM" {
			streams[m[1]+m[2]] = true
		}
	}
	return len(streams)
}

var iperf3Connected = regexp.MustCompile(`(?m)\[ *\d+\] local .* connected to `)

func (t *iperf3Text) line(line, who string) error {
	if iperf3Head.MatchString(line) {
		t.datagram = strings.Contains(line, "Datagrams")
		return nil
	}
	if strings.Contains(line, "- - - - - -") {
		t.summary = true
	}
	if m := iperf3Sent.FindStringSubmatch(line); m != nil {
		prefix := ""
		if t.streams > 1 {
			prefix = "stream " + strings.TrimSpace(m[1]) + ": "
		}
		t.r.add(who+prefix+"sent datagrams", t.r.number(m[2]), "1", "")
		return nil
	}
	if m := iperf3Swap.FindStringSubmatch(line); m != nil {
		t.r.add(who+m[2]+" s, "+strings.TrimSpace(m[1])+": datagrams received out of order", t.r.number(m[3]), "1", Lower)
		return nil
	}
	m := iperf3Row.FindStringSubmatch(line)
	if m == nil {
		if iperf3Any.MatchString(line) {
			return damaged("iperf3", line)
		}
		return nil
	}
	f := t.r.numbers(m[3], m[4], m[5], m[7])
	rest := strings.TrimRight(m[10], " ")
	rest, omitted := strings.CutSuffix(rest, "(omitted)")
	end := ""
	for _, side := range []string{"sender", "receiver"} {
		if bare, ok := strings.CutSuffix(rest, side); ok {
			rest, end = bare, side
		}
	}
	if end == "" && t.summary && !omitted && f[0] == 0 && iperf3UDP.MatchString(rest) {
		end, t.old = "receiver", true
	}
	stream := strings.TrimSpace(m[1])
	bytes, seconds := f[2]*math.Pow(1024, power(m[6])), f[1]-f[0]
	rate, unit, bits := f[3]*math.Pow(1000, power(m[8])), "bit/s", 1.
	if m[9] == "Bytes" {
		rate, unit, bits = f[3]*math.Pow(1024, power(m[8])), "B/s", 8.
	}
	// The size, the rate and the two times are rounded.
	if off := math.Abs(rate*bits/8*seconds - bytes); bytes > 0 && rate > 0 &&
		off > (ulp(m[5])+ulp(m[7]))*bytes+0.011*rate*bits/8+0.06*1024 {
		if err := t.r.doubt(Contradiction("rate × time is not the size: %s", Quote(line))); err != nil {
			return err
		}
	}
	prefix := who
	if m[2] != "" {
		t.both = true
		prefix += map[string]string{"TX-C": "", "RX-S": "", "RX-C": "reverse: ", "TX-S": "reverse: "}[m[2]]
	}
	whole := t.streams <= 1 || stream == "SUM" || m[2] != "" && t.streams == 2
	switch {
	case end != "":
		t.count(who, end, stream)
		if !whole {
			prefix += "stream " + stream + ": "
		}
	case omitted:
		prefix += "omitted, " + m[3] + "-" + m[4] + " s, " + stream + ": "
	default:
		prefix += m[3] + "-" + m[4] + " s, " + stream + ": "
	}
	name, size, took := "throughput", "transferred", "time"
	if end != "" {
		name, size, took = map[string]string{"sender": "sent throughput", "receiver": "received throughput"}[end],
			map[string]string{"sender": "sent", "receiver": "received"}[end], end+"'s time"
	}
	t.r.addFrom(m[7]+" "+m[8]+m[9]+"/sec", prefix+name, rate, unit, Higher)
	t.r.addFrom(m[5]+" "+m[6]+"Bytes", prefix+size, bytes, "B", "")
	if end != "" {
		t.r.seconds(prefix+took, seconds)
		end += "'s "
	}
	return t.rest(line, prefix, end, rest)
}

// count counts the results of the whole test.
func (t *iperf3Text) count(who, end, stream string) {
	if who != "" {
		return
	}
	t.done[end]++
	if stream == "SUM" && end == "receiver" {
		t.done["SUM"]++
	}
}

// rest reads what follows the rate of a line.
func (t *iperf3Text) rest(line, prefix, end, rest string) error {
	if m := iperf3UDP.FindStringSubmatch(rest); m != nil {
		words := []string{m[1], m[2], m[3]}
		for i, of := range []column{{"jitter", "ms", Lower}, {"lost datagrams", "1", Lower}, {"datagrams", "1", ""}} {
			v, err := strconv.ParseFloat(words[i], 64)
			if err != nil {
				return damaged("iperf3", line)
			}
			t.r.add(prefix+end+of.name, max(v, 0), of.unit, of.better) // less than 0 lost: some arrived twice
		}
		if v, err := strconv.ParseFloat(m[4], 64); err == nil && !math.IsNaN(v) {
			t.r.add(prefix+end+"lost", max(v, 0), "%", Lower)
		}
		return nil
	}
	m := iperf3TCP.FindStringSubmatch(rest)
	if m == nil { // such as the columns of another version
		return t.r.doubt(damaged("iperf3", line))
	}
	if m[1] != "" {
		v := t.r.number(m[1])
		if t.datagram {
			t.r.add(prefix+"datagrams", v, "1", "")
		} else {
			t.r.add(prefix+"retransmits", v, "1", Lower)
		}
	}
	if m[2] != "" {
		v := t.r.number(m[2])
		t.r.addFrom(m[2]+" "+m[3]+"Bytes", prefix+"congestion window", v*math.Pow(1024, power(m[3])), "B", "")
	}
	return nil
}

// power returns the power of 1000 or 1024 of a unit's prefix: K 1, M 2.
func power(prefix string) float64 {
	return float64(strings.Index("KMGT", prefix)+1) * float64(len(prefix))
}

// iperf3Consistent checks that rate × time is the size in a sum of JSON.
func iperf3Consistent(s iperf3Sum) error {
	if s.Bytes == nil || s.Bits == nil || s.Seconds == nil || *s.Bytes == 0 ||
		*s.Bits == 0 { // not printed, or nothing arrived
		return nil
	}
	if off := math.Abs(*s.Bits/8**s.Seconds - *s.Bytes); off > 0.001**s.Bytes {
		return Contradiction("rate × time is not the size: %v bit/s, %v s, %.0f bytes", *s.Bits, *s.Seconds, *s.Bytes)
	}
	return nil
}
