package tool

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	// stressLog is what precedes a line, depending on --timestamp and --log-brief.
	stressLog  = regexp.MustCompile(`(?m)^stress-ng: (?:[\d:.]+ )?(metrc|info|warn|debug): *\[\d+\] `)
	stressHead = regexp.MustCompile(`(?m)^stressor +bogo ops .*$`)
	stressRow  = regexp.MustCompile(`(?m)^([a-z][\w-]*) +(\d+) +(\d+\.\d+) +(\d+\.\d+) +(\d+\.\d+) +(\d+\.\d+|-?nan|-?inf) +` +
		`(\d+\.\d+|-?nan|-?inf)(?: +(\d+\.\d+|-?nan))?(?: +(\d+))?$`)
	stressDone = regexp.MustCompile(`(?m)^successful run completed in (?:(\d+\.\d+)s?(?: \(.*\))?|(.*\d sec(?:ond)?s?.*))$`)
	stressTook = regexp.MustCompile(`(?m)^(?:un)?successful run completed in (?:(\d+\.\d+)s?(?: \(.*\))?|` +
		`(.*\d sec(?:ond)?s?.*))$`)
	stressLong = regexp.MustCompile(`(\d+(?:\.\d+)?) (day|hour|min|sec)`)
	stressBad  = regexp.MustCompile(`(?m)^stress-ng: (?:[\d:.]+ )?(?:error|fail): .*$|^.*(?:unsuccessful run|must n` +
		`ot run as root|aborting:|skipping the stressor).*$`)
	// stressOf is the line above the figures of --perf and --tz.
	stressOf   = regexp.MustCompile(`^([a-z][\w-]*):$`)
	stressPerf = regexp.MustCompile(`^ +(\d[\d,]*) (\S.*?) {2,}(\d+\.\d+) ([KMGTPEB ]?)/sec *(?:\(.*\))?$`)
	stressHeat = regexp.MustCompile(`^ +(\S+) +(\d+\.\d+) C \((\d+\.\d+) K\)$`)
	// stressRAPL are those of --rapl.
	stressRAPL = regexp.MustCompile(`^ +(\S+) +(\d+\.\d+) (W|Watts)(?: .*)?$`)
	// stressRates are several figures of an instance in a line, as older versions print them.
	stressRates = regexp.MustCompile(`^([a-z][\w-]*): (.*\d+\.\d+ [^,]*/sec.*?)(?: \(instance (\d+)\))?$`)
	stressRate  = regexp.MustCompile(`(\d+\.\d+) ([^,\d][^,]*)`)
	stressIs    = regexp.MustCompile(`(?m)^(?:stress-ng: .*)?stress-ng (\d+\.\d\S*)|^ +stress-ng-version: (\S+)$`)
)

// stressOther are lines of --metrics, --times and of the end.
var stressOther = []figureLine{
	row(`^([a-z][\w-]*) +(\d+\.\d+) ([A-Za-z%].*?)(?: \((?:geometr?ic|harmonic) mean of (\d+) instances?\)| \(average per stressor\))?$`,
		label, column{"%1: %3", "as printed", ""}, label, column{"%1: %3, instances", "1", ""}),
	figures(`^for a (\d+\.\d+)s run time:$`, "run time", "s", ""),
	figures(`^ +(\d+\.\d+)s available CPU time$`, "available CPU time", "s", ""),
	row(`^ +(\d+\.\d+)s (user|system|total) time +\( *(\d+\.\d+)%\)$`, column{"%2 time", "s", ""}, label,
		column{"%2 time, share", "%", ""}),
	row(`^load average: (\d+\.\d+) (\d+\.\d+) (\d+\.\d+)$`, column{"load average of 1 minute", "1", ""},
		column{"load average of 5 minutes", "1", ""}, column{"load average of 15 minutes", "1", ""}),
	figures(`^(skipped|passed|failed|metrics untrustworthy): (\d+)`, "stressors %1", "1", ""),
}

// stressScale are the units of --perf.
var stressScale = map[string]float64{"": 1, " ": 1, "K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12, "P": 1e15,
	"E": 1e18}

// stressKeys are the columns of the table, and the keys of the YAML with the same figures.
var stressKeys = []struct{ key, name, unit string }{
	{"bogo-ops", "bogo ops", "1"}, {"wall-clock-time", "real time", "s"}, {"user-time", "usr time", "s"},
	{"system-time", "sys time", "s"},
	{"bogo-ops-per-second-real-time", "bogo ops per real second", "1/s"},
	{"bogo-ops-per-second-usr-sys-time", "bogo ops per CPU second", "1/s"},
	{"cpu-usage-per-instance", "CPU used per instance", "%"}, {"max-rss", "RSS max", "KiB"},
}

// readStressNG reads the metrics that stress-ng prints, or writes as YAML. Printed output must confirm
// that the run succeeded; YAML does not contain that. It says the names of the "stressors".
func readStressNG(text string, r *Report) error {
	if line := stressBad.FindString(
		Grep(text, "stress-ng: ", "aborting:", "unsuccessful", "as root", "skipping")); line != "" {
		if err := r.doubt(fault.Guestf("stress-ng failed: %s", Quote(line))); err != nil {
			return err
		}
	}
	if m := stressIs.FindStringSubmatch(text); m != nil {
		r.Version = strings.TrimRight(cmp.Or(m[1], m[2]), ",")
	}
	text = stressLog.ReplaceAllString(text, "")
	var names []string
	var err error
	runs := len(stressHead.FindAllString(text, -1))
	if runs == 0 {
		names, err = readStressYAML(text, r)
	} else {
		if done := len(stressDone.FindAllString(text, -1)); done < runs {
			if err := r.doubt(fault.Guestf("stress-ng does not report a successful run")); err != nil {
				return err
			}
		}
		names, err = readStressTable(text, r)
		stressTime(text, r)
	}
	if err != nil {
		return err
	}
	if len(names) == 0 {
		if err := r.refused(text); err != nil {
			return err
		}
		return fault.WithRemedy(fault.Guestf("the output contains no stress-ng metrics"), "run stress-ng with --metrics")
	}
	r.say("stressors", strings.Join(names, ", "))
	return nil
}

// stressTime adds the time of the run, which some versions print with minutes and longer.
func stressTime(text string, r *Report) {
	for _, m := range stressTook.FindAllStringSubmatch(text, -1) {
		if m[1] != "" {
			r.seconds("completed in", r.number(m[1]))
			continue
		}
		seconds := 0.
		for _, of := range stressLong.FindAllStringSubmatch(m[2], -1) {
			seconds += r.number(of[1]) * map[string]float64{"day": 86400, "hour": 3600, "min": 60, "sec": 1}[of[2]]
		}
		r.Version = cmp.Or(r.Version, "0.15.07 or later")
		r.addFrom(quoteless(m[2]), "completed in", seconds, "s", Lower)
	}
}

// addStressor adds the figures of a stressor, in the order of stressKeys; some versions print fewer.
func addStressor(r *Report, name, line string, f []float64) error {
	ran, seconds, perSecond := f[0], f[1], f[4]
	if ran == 0 || perSecond == 0 || math.IsNaN(perSecond) {
		if err := r.doubt(fault.Guestf("stress-ng did nothing: %s", Quote(line))); err != nil {
			return err
		}
	}
	// In the text, both have two decimals.
	if !math.IsNaN(perSecond) && math.Abs(seconds*perSecond-ran) > 0.006*perSecond+0.006*seconds+0.001*ran {
		if err := r.doubt(Contradiction("rate × time is not the number of operations: %s", Quote(line))); err != nil {
			return err
		}
	}
	for i, v := range f {
		if math.IsNaN(v) { // per second of CPU time, of which it used none
			continue
		}
		better := Lower
		switch stressKeys[i].unit {
		case "1/s":
			better = Higher
		case "1", "%":
			better = ""
		}
		r.add(name+" "+stressKeys[i].name, v, stressKeys[i].unit, better)
	}
	return nil
}

func readStressTable(text string, r *Report) (names []string, err error) {
	of := ""
	for line := range strings.SplitSeq(text, "\n") {
		if m := stressRow.FindStringSubmatch(line); m != nil {
			var f []float64
			for _, word := range m[2:] {
				switch {
				case word == "":
					f = append(f, math.NaN())
				case strings.Trim(word, "-") == "nan" || strings.Trim(word, "-") == "inf":
					f = append(f, math.NaN())
				default:
					f = append(f, r.number(word))
				}
			}
			err := addStressor(r, m[1], line, f)
			if err != nil {
				return nil, err
			}
			names = append(names, m[1])
		} else if m := stressOf.FindStringSubmatch(line); m != nil {
			of = m[1] + ": "
		} else if m := stressPerf.FindStringSubmatch(line); m != nil {
			r.add(of+quoteless(m[2]), r.number(strings.ReplaceAll(m[1], ",", "")), "1", "")
			r.addScaled(of+quoteless(m[2])+", rate", m[3], " "+m[4]+"/sec", stressScale[m[4]], "1/s", "")
		} else if m := stressHeat.FindStringSubmatch(line); m != nil {
			f := r.numbers(m[2], m[3])
			r.add(of+quoteless(m[1]), f[0], "°C", Lower)
			r.add(of+quoteless(m[1]), f[1], "K", Lower)
		} else if m := stressRAPL.FindStringSubmatch(line); m != nil {
			r.add(of+quoteless(m[1])+", power", r.number(m[2]), "W", Lower)
		} else if m := stressRates.FindStringSubmatch(line); m != nil {
			instance := ""
			if m[3] != "" {
				instance = " of instance " + m[3]
			}
			for _, rate := range stressRate.FindAllStringSubmatch(m[2], -1) {
				r.add(m[1]+instance+": "+quoteless(strings.TrimSpace(rate[2])), r.number(rate[1]), "as printed", "")
			}
		}
	}
	return names, addFigures(r, text, stressOther)
}

// readStressYAML reads the file of --yaml, which ends in "...".
func readStressYAML(text string, r *Report) (names []string, err error) {
	at := strings.Index("\n"+text, "\n---\n")
	if at < 0 {
		return nil, nil
	}
	text, end, ok := strings.Cut(text[at:], "\n...\n")
	if !ok || strings.Contains(end, "\n---\n") || strings.HasPrefix(end, "---\n") {
		return nil, fault.Guestf("the output is not one complete YAML file of stress-ng, from \"---\" to \"...\"")
	}
	doc, err := stressSections(text)
	if err != nil {
		return nil, err
	}
	if metrics := doc["metrics"]; metrics != nil {
		for _, of := range metrics.items {
			name := quoteless(of["stressor"])
			delete(of, "stressor")
			var f []float64
			for _, k := range stressKeys {
				word, known := of[k.key]
				if !known && len(f) >= 6 {
					break // older versions print fewer
				}
				v, err := Number(word)
				if err != nil {
					return nil, fault.Guestf("stress-ng's YAML has no %s of the stressor %s", k.key, name)
				}
				delete(of, k.key)
				f = append(f, v)
			}
			if err := addStressor(r, name, name, f); err != nil {
				return nil, err
			}
			if err := addKeys(r, name+" ", of); err != nil {
				return nil, err
			}
			names = append(names, name)
		}
		metrics.items = nil
	}
	delete(doc, "system-info")
	for _, section := range slices.Sorted(maps.Keys(doc)) {
		if err := addKeys(r, "", doc[section].keys); err != nil { // times
			return nil, err
		}
		for _, of := range doc[section].items { // perfstats
			prefix := quoteless(of["stressor"]) + ": "
			delete(of, "stressor")
			if err := addKeys(r, prefix, of); err != nil {
				return nil, err
			}
		}
	}
	return names, nil
}

var (
	stressSectionHead = regexp.MustCompile(`^([a-z][a-z-]*):$`)
	stressItem        = regexp.MustCompile(`^ +(- )?([\w-]+): (.*)$`)
)

// stressSection has keys, or a list of items with keys.
type stressSection struct {
	keys  map[string]string
	items []map[string]string
}

// stressSections reads the sections of the YAML. stress-ng writes no other YAML, and a library would accept what a
// message in its middle makes of it.
func stressSections(text string) (map[string]*stressSection, error) {
	doc := map[string]*stressSection{}
	var section *stressSection
	var item map[string]string // to which the keys belong that follow
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if line == "" || line == "---" {
			continue
		}
		if m := stressSectionHead.FindStringSubmatch(line); m != nil {
			if doc[m[1]] == nil {
				doc[m[1]] = &stressSection{}
			}
			section, item = doc[m[1]], nil
			continue
		}
		m := stressItem.FindStringSubmatch(line)
		switch {
		case m == nil || section == nil:
			return nil, damaged("stress-ng's YAML", line)
		case m[1] != "" && section.keys == nil:
			item = map[string]string{}
			section.items = append(section.items, item)
		case item == nil && section.keys == nil && section.items == nil:
			item = map[string]string{}
			section.keys = item
		case item == nil || m[1] != "":
			return nil, damaged("stress-ng's YAML", line)
		}
		item[m[2]] = m[3]
	}
	return doc, nil
}

// addKeys adds the numbers of a mapping, whose keys have their unit in their names.
func addKeys(r *Report, prefix string, of map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(of)) {
		v, err := Number(of[key])
		if err != nil {
			return fmt.Errorf("%s: %w", quoteless(key), err)
		}
		r.add(prefix+quoteless(key), v, "as printed", "")
	}
	return nil
}
