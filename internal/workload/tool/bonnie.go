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
	bonnieSize = regexp.MustCompile(`^\d+(K|M|G|T|)(?::\w+)?$`) // :chunk in version 1
	bonnieSays = regexp.MustCompile(`(?m)^(?:You must use the "-u" switch.*|File size should be double RAM.*|usage:` +
		`.*|Can't .*|Bonnie: .*)$`)
)

// bonnieSettings are fields that are no figures.
var bonnieSettings = strings.Fields("format_version bonnie_version name io_chunk_size file_chunk_size")

// bonnieRates are the rates of data.
var bonnieRates = strings.Fields("putc put_block rewrite getc get_block")

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
	// bonnieRow is a row of the table; version 2 writes 925k for K/s, and 572m.
	bonnieRow    = regexp.MustCompile(`^(\S*) +(\d+[KMGT]?)(?::\S*)?((?: +(?:[\d.]+[kmg]?|\+{3,})){12})$`)
	bonnieWaits  = regexp.MustCompile(`^Latency +(\d+[um]?s(?: +\d+[um]?s){5})$`)
	bonnieHead   = regexp.MustCompile(`^Version +(\d\.\w+) `)
	bonnieScales = map[string]float64{"k": 1, "m": 1 << 10, "g": 1 << 20} // of K/s
)

// bonnieTable reads the table that people publish without the CSV line below it. Its figures are rounded alike. Rows
// of several machines, as bon_csv2txt writes them, are numbered.
func bonnieTable(text string, r *Report) error {
	files, row := false, 0
	rows := 0
	for line := range strings.Lines(text) {
		if m := bonnieRow.FindStringSubmatch(strings.TrimRight(line, " \n")); m != nil && !bonnieFiles(m) {
			rows++
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if m := bonnieHead.FindStringSubmatch(line); m != nil {
			r.Version = m[1]
		}
		prefix := ""
		var names, words []string
		if m := bonnieRow.FindStringSubmatch(line); m != nil {
			size := "file_size"
			if was := files; bonnieFiles(m) {
				if files = true; !was {
					row = 0
				}
				size, names = "num_files", bonnieFields[26:38]
			} else {
				files, names = false, bonnieFields[9:21]
			}
			row++
			if rows > 1 {
				prefix = fmt.Sprintf("run %d: ", row)
			}
			if err := addBonnie(r, prefix+size, m[2]); err != nil {
				return err
			}
			words = strings.Fields(m[3])
		} else if m := bonnieWaits.FindStringSubmatch(line); m != nil {
			if rows > 1 {
				prefix = fmt.Sprintf("run %d: ", row)
			}
			names, words = bonnieFields[38:44], strings.Fields(m[1])
			if files {
				names = bonnieFields[44:]
			}
		}
		for i, word := range words {
			if strings.Trim(word, "+") == "" || i%2 == 0 && i+1 < len(words) && strings.HasPrefix(word, "0") &&
				words[i+1] == "+++" {
				continue // not measured
			}
			if err := addBonnie(r, prefix+names[i], word); err != nil {
				return err
			}
		}
	}
	return nil
}

// bonnieFiles reports whether a row is of the table of files: the size of a file has a unit, a number of files has
// none.
func bonnieFiles(row []string) bool { return strings.Trim(row[2], "0123456789") == "" }

// addBonnie adds a field.
func addBonnie(r *Report, named, word string) error {
	name := runNumber.ReplaceAllString(named, "")
	if strings.HasSuffix(name, "_latency") {
		m := bonnieWait.FindStringSubmatch(word)
		if m == nil {
			return fault.Guestf("%s: no latency in %s", name, Quote(word))
		}
		if v := r.number(m[1]); v > 0 {
			r.add(named, v, m[2], Lower)
		}
		return nil
	}
	if name == "file_size" || name == "num_files" {
		word, _, _ = strings.Cut(word, ":") // version 1 has the chunk, or the sizes of files, behind it
	}
	digits := strings.TrimRight(word, "KMGTkmg")
	v, err := Number(digits)
	if err != nil {
		return fmt.Errorf("%s: %w", named, err)
	}
	scaled := digits != word && name != "file_size" && !slices.Contains(bonnieRates, name)
	switch {
	case scaled:
		return damaged("bonnie++", word)
	case name == "file_size":
		m := bonnieSize.FindStringSubmatch(word)
		if m == nil {
			return fault.Guestf("bonnie++ does not print the size of the file: %s", Quote(word))
		}
		r.add(named, v, map[string]string{"": "MiB", "K": "KiB", "M": "MiB", "G": "GiB", "T": "TiB"}[m[1]], "")
	case strings.HasSuffix(name, "_cpu"):
		r.add(named, v, "%CP", Lower)
	case strings.HasPrefix(name, "seq_") || strings.HasPrefix(name, "ran_") || name == "seeks":
		r.add(named, v, "1/s", Higher)
	case slices.Contains(bonnieRates, name):
		if scale := word[len(digits):]; scale != "" {
			r.addScaled(named, digits, scale, bonnieScales[scale], "K/s", Higher)
			return nil
		}
		r.add(named, v, "K/s", Higher)
	default:
		r.add(named, v, "", "")
	}
	return nil
}

// bonnieStarts finds the runs by the first heading of their tables or, with -q, by their CSV lines.
var bonnieStarts = most(begins(`(?:Version +\S+)? +-{4,}Sequential Output`), begins(`1\.9\d[a-z]?,\d`))
