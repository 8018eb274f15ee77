package tool

import (
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// The fields of a line of --output-format=terse, after five that name the job: a group for each direction,
// then what is of the whole job, and nine fields for each disk.
var (
	fioTerseSide = append(append(strings.Fields("KiB KiB/s IOPS ms "+
		"slat.min slat.max slat.mean slat.dev clat.min clat.max clat.mean clat.dev"), make([]string, 20)...),
		strings.Fields("lat.min lat.max lat.mean lat.dev bw.min bw.max bw.share bw.mean bw.dev")...)
	fioTerse5   = strings.Fields("bw.samples iops.min iops.max iops.mean iops.dev iops.samples")
	fioTerseJob = strings.Fields("usr sys ctx majf minf depth.1 depth.2 depth.4 depth.8 depth.16 depth.32 depth.>=64 " +
		"us.2 us.4 us.10 us.20 us.50 us.100 us.250 us.500 us.750 us.1000 " +
		"ms.2 ms.4 ms.10 ms.20 ms.50 ms.100 ms.250 ms.500 ms.750 ms.1000 ms.2000 ms.>=2000")
	fioTerseDisk = strings.Fields("read_ios write_ios read_merges write_merges read_ticks write_ticks queue_time util")
)

// parseFioTerse appends the run in a line. The other figures go to details, like those of parseFioJobs.
func parseFioTerse(runs []fioRun, details *Report, line string) ([]fioRun, error) {
	fields := strings.Split(line, ";")
	perSide, sides := fioTerseSide, 2
	switch fields[0] {
	case "4":
		sides = 3
	case "5":
		perSide, sides = append(perSide[:len(perSide):len(perSide)], fioTerse5...), 3
	}
	if fields[0] == "2" { // it does not have fio's version
		fields = slices.Insert(fields, 1, "")
	}
	details.Version = strings.TrimPrefix(fields[1], "fio-")
	job, disks := 5+sides*len(perSide), 5+sides*len(perSide)+len(fioTerseJob)
	if len(fields) < disks {
		return nil, fault.Guestf("fio's line is cut off after %d fields", len(fields))
	}
	if fields[4] != "0" {
		if err := details.doubt(fault.Guestf("fio failed with error %s: %s", Quote(fields[4]), Quote(line))); err != nil {
			return nil, err
		}
	}
	run := fioRun{name: quoteless(fields[2]), failed: details.number(fields[4])}
	add := func(name, word, unit string) error { return addFioTerse(details, run.name, name, word, unit) }
	for i := range sides {
		at := fields[5+i*len(perSide):][:len(perSide)]
		f, err := Numbers(at[0], at[1], at[2], at[3], at[10], at[34])
		if err != nil {
			return nil, err
		}
		run.sides[i] = fioSide{bytes: f[0] * 1024, bw: f[1] * 1024, iops: f[2], runtime: f[3] / 1e3, clat: f[4] / 1e6,
			lat:     f[5] / 1e6,
			rounded: 1 / max(f[1], 1)}
		if f[0] == 0 {
			continue
		}
		for j := 4; j < len(at); j++ {
			if err := add(fioSides[i]+" "+perSide[j], at[j], fioTerseUnit(perSide[j])); err != nil {
				return nil, err
			}
		}
	}
	for i, name := range fioTerseJob {
		if err := add(name, fields[job+i], "1"); err != nil {
			return nil, err
		}
	}
	for rest := fields[disks:]; len(rest) > 1; rest = rest[1+len(fioTerseDisk):] {
		if len(rest) < 1+len(fioTerseDisk) {
			return nil, fault.Guestf("fio's line is cut off in the figures of the disk %s", Quote(rest[0]))
		}
		for i, name := range fioTerseDisk {
			if err := add("disk "+quoteless(rest[0])+" "+name, rest[1+i], "1"); err != nil {
				return nil, err
			}
		}
	}
	return append(runs, run), nil
}

// fioTerseUnit is the unit of a figure of a side.
func fioTerseUnit(name string) string {
	switch {
	case strings.HasSuffix(name, "samples"):
		return "1"
	case strings.HasPrefix(name, "bw."):
		return "KiB/s"
	case strings.HasPrefix(name, "iops."):
		return "1/s"
	}
	return "us"
}

// addFioTerse adds a figure of a run to its details. Unused percentiles, which are 0%, are none.
func addFioTerse(details *Report, run, name, word, unit string) error {
	name = strings.ReplaceAll(name, ".", " ")
	if at := strings.Index(word, "%="); at >= 0 {
		if word[:at] == "0" {
			return nil
		}
		name, word = name+"clat percentile "+word[:at], word[at+2:]
	}
	bare, percent := strings.CutSuffix(word, "%")
	if percent {
		unit = "%"
	}
	v, err := Number(bare)
	if err != nil {
		return err
	}
	details.add(run+"\x00"+name, v, unit, "")
	return nil
}
