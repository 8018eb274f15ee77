package workload

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// Figure is one value in the output of a tool, in the tool's own unit.
type Figure struct {
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Better Better  `json:"better,omitempty"` // "": neither
}

// Tool reads all figures in the output of a program, whatever its parameters were,
// with the program's own words and units; a workload has its own metrics. There are
// also tools that no workload runs.
type Tool struct {
	Name string
	// Read finds the figures. The output of a failed run and output without figures
	// are errors. Unlike metrics, figures may be 0.
	Read func(text string) ([]Figure, error)
}

// Tools returns all tools whose output tare reads, sorted by name.
func Tools() []*Tool {
	tools := []*Tool{
		{"bonnie++", readBonnie}, {"cpio", readCpio}, {"dd", readDD}, {"fio", readFio}, {"hyperfine", readHyperfine},
		{"ioping", readIoping}, {"iozone", readIozone}, {"iperf3", readIperf3}, {"kernel-build", readTimes("make")},
		{"mbw", readMbw}, {"openssl", readOpenssl}, {"perf-bench", readPerfBench}, {"rt-tests", readRTTests},
		{"stress-ng", readStressNG}, {"sysbench", readSysbench}, {"tar", readTimes("tar")}, {"tiobench", readTiobench},
	}
	for name, lines := range toolLines {
		tools = append(tools, &Tool{name, lines.read(name)})
	}
	slices.SortFunc(tools, func(a, b *Tool) int { return strings.Compare(a.Name, b.Name) })
	return tools
}

// GetTool returns the tool of that name, or nil.
func GetTool(name string) *Tool {
	for _, t := range Tools() {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// seconds returns a figure that is a time.
func seconds(metric string, v float64) Figure { return Figure{metric, v, "s", Lower} }

// withTimes adds the times that time(1) or the shell's time printed.
func withTimes(figures []Figure, text string) ([]Figure, error) {
	walls, err := wallTimes(text)
	if err != nil {
		return nil, err
	}
	for _, w := range walls {
		figures = append(figures, seconds("wall time", w))
	}
	if len(figures) == 0 {
		return nil, fault.Guestf("the output has no figures: %s", quote(text))
	}
	return figures, nil
}

// readTimes reads the output of tools that print no figures of their own.
func readTimes(tool string) func(string) ([]Figure, error) {
	return func(text string) ([]Figure, error) {
		if line := makeFailed.FindString(grep(text, "***", "tar:", "sh:")); line != "" {
			return nil, fault.Guestf("%s failed: %s", tool, quote(line))
		}
		if err := timedFailure(text); err != nil {
			return nil, err
		}
		return withTimes(nil, text)
	}
}

func readDD(text string) ([]Figure, error) {
	if err := refused("dd", text); err != nil {
		return nil, err
	}
	reports, err := parseDD(text)
	if err != nil {
		return nil, err
	}
	var all []Figure
	for _, d := range reports {
		all = append(all, Figure{"bytes", d.bytes, "B", ""}, seconds("seconds", d.seconds), Figure{"rate", d.bytes / d.seconds, "B/s", Higher})
	}
	return withTimes(all, text)
}

func readCpio(text string) ([]Figure, error) {
	c, err := parseCpio(text)
	if err != nil {
		return nil, err
	}
	all := []Figure{{"archive blocks", c.blocks, "512 B", ""}}
	for _, t := range []struct {
		name string
		s    float64
	}{{"real", c.real}, {"user", c.user}, {"sys", c.system}} {
		if t.s > 0 {
			all = append(all, seconds(t.name, t.s))
		}
	}
	return all, nil
}

func readFio(text string) ([]Figure, error) {
	var runs []fioRun
	if at := strings.Index("\n"+text, "\n{"); at >= 0 && fioError.FindString(grep(text, "fio: ")) == "" {
		var err error
		if runs, err = parseFioJobs(text[at:]); err != nil {
			return nil, err
		}
	} else {
		run, err := parseFio([]byte(text))
		if err != nil {
			return nil, err
		}
		runs = []fioRun{run}
	}
	var all []Figure
	for _, run := range runs {
		job := ""
		if len(runs) > 1 {
			job = run.name + " "
		}
		for _, side := range []struct {
			name string
			s    fioSide
		}{{"read", run.read}, {"write", run.write}} {
			if side.s.bytes == 0 {
				continue
			}
			name := job + side.name + " "
			all = append(all, Figure{name + "bandwidth", side.s.bw, "B/s", Higher}, Figure{name + "bandwidth", side.s.bw / (1 << 20), "MiB/s", Higher},
				Figure{name + "IOPS", side.s.iops, "1/s", Higher}, Figure{name + "mean completion latency", side.s.clat * 1e9, "ns", Lower})
		}
		all = append(all, Figure{job + "error code", 0, "", Lower}) // others are errors
	}
	if len(all) == 0 {
		return nil, fault.Guestf("fio's JSON has no jobs")
	}
	return all, nil
}

func readBonnie(text string) ([]Figure, error) {
	b, err := parseBonnie(text)
	if err != nil {
		return nil, err
	}
	var all []Figure
	for _, name := range bonnieFields {
		figure, latency := strings.CutSuffix(name, "_latency")
		switch {
		case latency:
			if _, wait, err := b.test(figure); err != nil {
				return nil, err
			} else if wait > 0 {
				all = append(all, Figure{name, wait * 1e6, "us", Lower})
			}
			continue
		case slices.Contains(strings.Fields("format_version bonnie_version name io_chunk_size file_chunk_size"), name) || strings.Trim(b[name], "+") == "":
			continue
		}
		unit, better := map[string]string{"putc": "K/s", "put_block": "K/s", "rewrite": "K/s", "getc": "K/s", "get_block": "K/s"}[name], Higher
		switch {
		case strings.HasSuffix(name, "_cpu"):
			unit, better = "%CP", Lower
		case strings.HasPrefix(name, "seq_") || strings.HasPrefix(name, "ran_") || name == "seeks":
			unit = "1/s"
		case unit == "":
			better = ""
		}
		v, err := number(strings.TrimRight(b[name], "MGT"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, Figure{name, v, unit, better})
	}
	return all, nil
}

func readSysbench(text string) ([]Figure, error) {
	if err := refused("sysbench", text); err != nil {
		return nil, err
	}
	if all := sysbenchJSON.FindAllStringSubmatch(grep(text, `"tps"`), -1); len(all) > 0 {
		var figures []Figure
		for _, m := range all { // one for each interval, then one for the whole run
			v, err := number(m[1])
			if err != nil {
				return nil, err
			}
			figures = append(figures, Figure{"transactions", v, "1/s", Higher})
		}
		return figures, nil
	}
	test := sysbenchTest(text)
	r, err := parseSysbench(test, text)
	if err != nil {
		return nil, err
	}
	all := []Figure{seconds("total time", r.seconds), {"events", r.events, "1", ""}}
	for _, f := range []Figure{
		{map[string]string{"oltp": "transactions"}[test], r.rate, "1/s", Higher}, {"transferred", r.mib, "MiB", ""}, {"bandwidth", r.mibRate, "MiB/s", Higher},
		{"reads", r.reads, "1/s", Higher}, {"writes", r.writes, "1/s", Higher}, {"fsyncs", r.syncs, "1/s", Higher},
		{"mean latency", r.mean * 1e3, "ms", Lower}, {"95th percentile latency", r.p95 * 1e3, "ms", Lower},
	} {
		if f.Value != 0 {
			if f.Metric == "" {
				f.Metric = "events per second"
			}
			all = append(all, f)
		}
	}
	return all, nil
}

func readStressNG(text string) ([]Figure, error) {
	rows, err := parseStressNG(text)
	if err != nil {
		return nil, err
	}
	var all []Figure
	for _, r := range rows {
		all = append(all, Figure{r.stressor + " bogo ops", r.ops, "1", ""}, seconds(r.stressor+" real time", r.real),
			Figure{r.stressor + " bogo ops per real second", r.rate, "1/s", Higher})
	}
	return all, nil
}

func readPerfBench(text string) ([]Figure, error) {
	p, err := parsePerfBench(text)
	if err != nil {
		return nil, err
	}
	var all []Figure
	if p.seconds > 0 {
		all = append(all, seconds("total time", p.seconds))
	}
	if p.each > 0 {
		all = append(all, Figure{"latency", p.each * 1e6, "us/op", Lower})
	}
	for i, r := range p.rates {
		all = append(all, Figure{"bandwidth", r, p.units[i] + "/s", Higher})
	}
	return all, nil
}

func readRTTests(text string) ([]Figure, error) {
	if hackbenchTime.MatchString(grep(text, "Time:")) {
		h, err := parseHackbench(text)
		if err != nil {
			return nil, err
		}
		return []Figure{seconds("time", h.seconds), {"tasks", h.tasks, "1", ""}, {"messages of each sender", h.messages, "1", ""}}, nil
	}
	c, err := parseCyclictest(text)
	if err != nil {
		return nil, err
	}
	return []Figure{{"wake-ups", c.cycles, "1", ""}, {"min wake-up latency", c.min, "us", Lower},
		{"mean wake-up latency", c.mean, "us", Lower}, {"max wake-up latency", c.max, "us", Lower}}, nil
}

func readMbw(text string) ([]Figure, error) {
	methods, err := parseMbw(text)
	if err != nil {
		return nil, err
	}
	var all []Figure
	for _, name := range []string{"MEMCPY", "DUMB", "MCBLOCK"} {
		all = append(all, Figure{name + " bandwidth", methods[name].rate, "MiB/s", Higher})
	}
	return all, nil
}

func readIoping(text string) ([]Figure, error) {
	p, err := parseIoping(text)
	if err != nil {
		return nil, err
	}
	return []Figure{{"requests counted", p.counted, "1", ""}, {"min", p.min * 1e6, "us", Lower}, {"avg", p.mean * 1e6, "us", Lower},
		{"max", p.max * 1e6, "us", Lower}, {"mdev", p.dev * 1e6, "us", Lower}}, nil
}

func readHyperfine(text string) ([]Figure, error) {
	var doc struct {
		Results []struct {
			Command                        string
			Mean, Stddev, Median, Min, Max float64
			ExitCodes                      []int `json:"exit_codes"`
		}
	}
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&doc); err != nil || len(doc.Results) == 0 {
		return nil, fault.WithRemedy(fault.Guestf("this is not hyperfine's JSON: %s", quote(text)), "run hyperfine with --export-json")
	}
	var all []Figure
	for _, r := range doc.Results {
		if slices.ContainsFunc(r.ExitCodes, func(c int) bool { return c != 0 }) {
			return nil, fault.Guestf("hyperfine ran a command that failed: %s", quote(r.Command))
		}
		name := ""
		if len(doc.Results) > 1 {
			name = r.Command + ": "
		}
		all = append(all, seconds(name+"mean", r.Mean), seconds(name+"standard deviation", r.Stddev), seconds(name+"median", r.Median),
			seconds(name+"min", r.Min), seconds(name+"max", r.Max))
	}
	return all, nil
}

func readIperf3(text string) ([]Figure, error) {
	type sum struct {
		Bits        *float64 `json:"bits_per_second"`
		Retransmits *float64 `json:"retransmits"`
		Lost        *float64 `json:"lost_percent"`
		Jitter      *float64 `json:"jitter_ms"`
	}
	var doc struct {
		Error string
		End   struct {
			Sent     sum                `json:"sum_sent"`
			Received sum                `json:"sum_received"`
			Sum      sum                `json:"sum"`
			CPU      map[string]float64 `json:"cpu_utilization_percent"`
		}
	}
	at := strings.Index("\n"+text, "\n{")
	if at < 0 {
		r, err := parseIperf3Text(text)
		if err != nil {
			return nil, err
		}
		return []Figure{{"received throughput", r.rate, "bit/s", Higher}, {"received", r.bytes, "B", ""}, seconds("receiver's time", r.seconds)}, nil
	}
	if err := json.NewDecoder(strings.NewReader(text[at:])).Decode(&doc); err != nil {
		return nil, fault.Guestf("iperf3's JSON is damaged or cut off: %w", err)
	}
	if doc.Error != "" {
		return nil, fault.Guestf("iperf3 failed: %s", quote(doc.Error))
	}
	var all []Figure
	add := func(metric string, v *float64, unit string, better Better) {
		if v != nil {
			all = append(all, Figure{metric, *v, unit, better})
		}
	}
	add("sent throughput", doc.End.Sent.Bits, "bit/s", Higher)
	add("received throughput", doc.End.Received.Bits, "bit/s", Higher)
	add("retransmits", doc.End.Sent.Retransmits, "1", Lower)
	add("throughput", doc.End.Sum.Bits, "bit/s", Higher)
	add("jitter", doc.End.Sum.Jitter, "ms", Lower)
	add("lost", doc.End.Sum.Lost, "%", Lower)
	for _, name := range []string{"host_total", "host_user", "host_system", "remote_total", "remote_user", "remote_system"} {
		if v, ok := doc.End.CPU[name]; ok {
			all = append(all, Figure{"CPU " + name, v, "%", Lower})
		}
	}
	if len(all) == 0 {
		return nil, fault.Guestf("iperf3's JSON has no figures in its \"end\" section")
	}
	return all, nil
}
