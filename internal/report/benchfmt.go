package report

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/perf/benchfmt"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/view"
)

// Benchfmt writes the metrics of all completed trials in Go's benchmark format,
// one line per value, for benchstat:
//
//	benchstat -col /arm run.bench
//
// A line is named after its workload, arm and metric:
// BenchmarkSysbenchCpu/arm=lxc/metric=time. The only probe is the CPU time of the
// guest's whole control group, which the analysis compares like a metric.
func Benchfmt(w io.Writer, r *store.Run) error {
	metrics, err := r.Metrics()
	if err != nil {
		return err
	}
	c, err := dataset.CampaignOf(r)
	if err != nil {
		return err
	}
	config, err := benchConfig(r, c)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(w, 1<<16)
	out := benchfmt.NewWriter(buffered)
	metrics = benchMetrics(metrics)
	if err := writeUnits(out, metrics); err != nil {
		return err
	}
	names := benchNames(metrics)
	// benchstat compares with what it reads first, so the baseline goes first.
	for _, baseline := range []bool{true, false} {
		for t, err := range r.Trials() {
			if err != nil {
				return err
			}
			if t.Status != store.Done && t.Status != store.Duet || baseline != (t.Arm == c.Baseline) {
				continue
			}
			for _, m := range metrics {
				v, ok := t.Metrics[m.Name]
				if m.Probe {
					v = t.Probes[model.ProbeGuestGroupCPU]
					ok = v > 0 && (m.Name == analyze.CPUTimeAtOnce) == (t.Status == store.Duet)
				}
				if m.Workload != t.Workload || !ok {
					continue
				}
				name := fmt.Sprintf("%s/arm=%s/metric=%s", names[m.Workload], benchWord(t.Arm),
					trailingNumber.ReplaceAllString(benchWord(m.Name), "_$1"))
				if err := out.Write(&benchfmt.Result{
					Config: config, Name: benchfmt.Name(name), Iters: 1, Values: []benchfmt.Value{{Value: v, Unit: benchUnit(m.Unit)}},
				}); err != nil {
					return err
				}
			}
		}
	}
	return buffered.Flush()
}

// benchMetrics are the metrics and, in place of all probes, CPU time alone and in duets.
func benchMetrics(all []store.Metric) (out []store.Metric) {
	for _, m := range all {
		measured := func(o store.Metric) bool { return o.Workload == m.Workload && o.Name == analyze.CPUTime }
		if _, point := model.ParsePoint(m.Name); point && !m.Probe { // benchstat has no curves
			continue
		}
		if m.Probe && (m.Name != model.ProbeGuestGroupCPU || slices.ContainsFunc(all, measured)) {
			continue
		}
		if m.Probe {
			m.Name, m.Unit, m.Better = analyze.CPUTime, "cpu-sec/op", "lower"
			out = append(out, m)
			m.Name = analyze.CPUTimeAtOnce
		}
		out = append(out, m)
	}
	return out
}

// benchConfig returns what all lines of the file have in common.
func benchConfig(r *store.Run, c *campaign.Campaign) ([]benchfmt.Config, error) {
	arms, err := r.Arms()
	if err != nil {
		return nil, err
	}
	var emulated []string
	for _, a := range arms {
		if a.Emulated {
			emulated = append(emulated, a.Name)
		}
	}
	var env host.Environment
	if err := r.DecodeIfAny(store.DocEnvironment, &env); err != nil {
		return nil, err
	}
	var config []benchfmt.Config
	for _, kv := range [][2]string{
		{"goos", "linux"}, {"goarch", env.CPU.Arch}, {"cpu", env.CPU.Model}, {"kernel", env.Kernel.Release},
		{"campaign", c.Name}, {"seed", strconv.FormatUint(c.Seed, 10)}, {"baseline", c.Baseline},
		{"emulated", strings.Join(emulated, ",")},
	} {
		if v := view.Clean(kv[1]); v != "" {
			config = append(config, benchfmt.Config{Key: kv[0], Value: []byte(v), File: true})
		}
	}
	return config, nil
}

// writeUnits writes for each unit which direction is better, unless the metrics
// with that unit disagree.
func writeUnits(out *benchfmt.Writer, metrics []store.Metric) error {
	better := map[string]string{}
	for _, m := range metrics {
		unit := benchUnit(m.Unit)
		if b, known := better[unit]; known && b != m.Better {
			better[unit] = ""
		} else {
			better[unit] = m.Better
		}
	}
	for _, m := range metrics {
		unit := benchUnit(m.Unit)
		if better[unit] == "" {
			continue
		}
		key := benchfmt.UnitMetadataKey{Unit: unit, Key: "better"}
		meta := &benchfmt.UnitMetadata{UnitMetadataKey: key, OrigUnit: unit, Value: benchWord(better[unit])}
		if err := out.Write(meta); err != nil {
			return err
		}
		better[unit] = "" // once for each unit
	}
	return nil
}

// benchUnit is a metric's unit as benchstat knows it.
func benchUnit(unit string) string {
	switch unit {
	case "s":
		return "sec/op"
	case "ns":
		return "ns/op"
	case "1/s":
		return "op/s"
	case "":
		return "value"
	}
	parts := strings.Split(unit, "/") // as in B/s
	for i, p := range parts {
		parts[i] = benchWord(p)
	}
	return strings.Join(parts, "/")
}

// benchNames turns the names of workloads into names of benchmarks, each a
// different one: sysbench-cpu is SysbenchCpu.
func benchNames(metrics []store.Metric) map[string]string {
	names, taken := map[string]string{}, map[string]bool{}
	for _, m := range metrics {
		if names[m.Workload] != "" {
			continue
		}
		var b strings.Builder
		for _, word := range strings.FieldsFunc(m.Workload,
			func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			first := []rune(word)
			b.WriteString(string(unicode.ToUpper(first[0])) + string(first[1:]))
		}
		name := b.String()
		for i := 2; taken[name] || name == ""; i++ {
			name = fmt.Sprintf("%s_%d", b.String(), i)
		}
		names[m.Workload], taken[name] = name, true
	}
	return names
}

// trailingNumber matches what benchstat would take for the number of CPUs.
var trailingNumber = regexp.MustCompile(`-(\d+)$`)

// benchWord makes s one word of a benchmark's name.
func benchWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '=' || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(s, "_"))
}
