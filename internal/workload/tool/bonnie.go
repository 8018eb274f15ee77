package tool

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// bonnieFields are the columns of bonnie++'s CSV, format 1.98.
var bonnieFields = strings.Fields(`format_version bonnie_version name concurrency seed file_size io_chunk_size
	seek_chunk_size seek_procs putc putc_cpu put_block put_block_cpu rewrite rewrite_cpu getc getc_cpu get_block
	get_block_cpu seeks seeks_cpu num_files max_size min_size num_dirs file_chunk_size seq_create seq_create_cpu
	seq_stat seq_stat_cpu seq_del seq_del_cpu ran_create ran_create_cpu ran_stat ran_stat_cpu ran_del ran_del_cpu
	putc_latency put_block_latency rewrite_latency getc_latency get_block_latency seeks_latency seq_create_latency
	seq_stat_latency seq_del_latency ran_create_latency ran_stat_latency ran_del_latency`)

// bonnieOld are the columns of version 1.03 and before.
var bonnieOld = slices.Concat([]string{"name", "file_size"}, bonnieFields[9:22], bonnieFields[26:38])

var (
	bonnieLine = regexp.MustCompile(`(?m)^(?:1\.9\d[a-z]?,\d\.\d+[a-z]*,.*|[\w.-]+,\d+[KMGT]?(?::[\w]+)?(?:,(?:[\d.]+|\++|))+(?:,\d+(?::[\d:/]+)?)` +
		`(?:,(?:[\d.]+|\++|)){12})$`)
	bonnieWait = regexp.MustCompile(`^(\d+)(us|ms|s)$`)
	bonnieSize = regexp.MustCompile(`^\d+(M|G|T|)(?::\w+)?$`) // :chunk in version 1
	bonnieSays = regexp.MustCompile(`(?m)^(?:You must use the "-u" switch.*|File size should be double RAM.*|usage:` +
		`.*|Can't .*|Bonnie: .*)$`)
)

// bonnieSettings are fields that are no figures.
var bonnieSettings = strings.Fields("format_version bonnie_version name io_chunk_size file_chunk_size")

// readBonnie reads the CSV lines, which bonnie++ prints with and without -q, one for each run of -x. It leaves out what
// bonnie++ did not run, and what was too short to measure.
func readBonnie(text string, r *Report) error {
	if line := bonnieSays.FindString(Grep(text, "-u", "RAM", "usage:", "Can't", "Bonnie:")); line != "" {
		if err := r.doubt(fault.Guestf("bonnie++ failed: %s", Quote(line))); err != nil {
			return err
		}
	}
	lines := bonnieLine.FindAllString(Grep(text, ","), -1)
	if len(lines) == 0 && r.lenient {
		if err := bonnieTable(text, r); err != nil || len(r.Figures) > 0 {
			return err
		}
	}
	if len(lines) == 0 {
		if err := r.refused(text); err != nil {
			return err
		}
		return fault.Guestf("the output contains 0 CSV lines of bonnie++ instead of one")
	}
	for _, line := range lines {
		fields, words := bonnieFields, strings.Split(line, ",")
		switch {
		case !strings.HasPrefix(line, "1.9"): // version 1.03 and before
			fields = bonnieOld
			r.Version = "1.03 or before"
		case words[0] < "1.98": // it does not print how it seeks
			fields = slices.Concat(bonnieFields[:7], bonnieFields[9:])
			r.Version = words[1]
		default:
			r.Version = words[1]
		}
		if len(words) != len(fields) {
			return fault.Guestf("bonnie++'s line has %d fields instead of %d: %s", len(words), len(fields), Quote(line))
		}
		for i, name := range fields {
			if strings.Trim(words[i], "+") == "" || slices.Contains(bonnieSettings, name) {
				continue
			}
			if err := addBonnie(r, name, words[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	bonnieRow   = regexp.MustCompile(`^(?:\S+ +(\d+[KMGT]?)(?::\w+)?| +(\d+)(?::\S+)?)((?: +(?:[\d.]+|\++)){12})$`)
	bonnieWaits = regexp.MustCompile(`^Latency +(\d+[um]?s(?: +\d+[um]?s){5})$`)
	bonnieHead  = regexp.MustCompile(`^Version +(\d\.\w+) `)
)

// bonnieTable reads the table that people publish without the CSV line below it. Its figures are rounded alike.
func bonnieTable(text string, r *Report) error {
	fields, latencies := bonnieFields[9:21], bonnieFields[38:44] // of the transfers
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if m := bonnieHead.FindStringSubmatch(line); m != nil {
			r.Version = m[1]
			continue
		}
		names, words := fields, []string(nil)
		if m := bonnieRow.FindStringSubmatch(line); m != nil {
			size, of := "file_size", m[1]
			if of == "" {
				size, of, names = "num_files", m[2], bonnieFields[26:38]
				latencies = bonnieFields[44:]
			}
			if err := addBonnie(r, size, of); err != nil {
				return err
			}
			words = strings.Fields(m[3])
		} else if m := bonnieWaits.FindStringSubmatch(line); m != nil {
			names, words = latencies, strings.Fields(m[1])
		}
		for i, word := range words {
			if strings.Trim(word, "+") == "" {
				continue
			}
			if err := addBonnie(r, names[i], word); err != nil {
				return err
			}
		}
	}
	return nil
}

// addBonnie adds a field.
func addBonnie(r *Report, name, word string) error {
	if strings.HasSuffix(name, "_latency") {
		m := bonnieWait.FindStringSubmatch(word)
		if m == nil {
			return fault.Guestf("%s: no latency in %s", name, Quote(word))
		}
		if v := r.number(m[1]); v > 0 {
			r.add(name, v, m[2], Lower)
		}
		return nil
	}
	if name == "file_size" || name == "num_files" {
		word, _, _ = strings.Cut(word, ":") // version 1 has the chunk, or the sizes of files, behind it
	}
	v, err := Number(strings.TrimRight(word, "MGT"))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	switch {
	case name == "file_size":
		m := bonnieSize.FindStringSubmatch(word)
		if m == nil {
			return fault.Guestf("bonnie++ does not print the size of the file: %s", Quote(word))
		}
		r.add(name, v, map[string]string{"": "MiB", "M": "MiB", "G": "GiB", "T": "TiB"}[m[1]], "")
	case strings.HasSuffix(name, "_cpu"):
		r.add(name, v, "%CP", Lower)
	case strings.HasPrefix(name, "seq_") || strings.HasPrefix(name, "ran_") || name == "seeks":
		r.add(name, v, "1/s", Higher)
	case slices.Contains([]string{"putc", "put_block", "rewrite", "getc", "get_block"}, name):
		r.add(name, v, "K/s", Higher)
	default:
		r.add(name, v, "", "")
	}
	return nil
}

// bonnieBegins are the CSV lines, one for each run.
const bonnieBegins = `1\.9\d[a-z]?,\d`
