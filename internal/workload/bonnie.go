package workload

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

const (
	bonnieDir = "tare-bonnie"
	// bonnieRAM is the amount of memory that tare tells bonnie++, in MiB: bonnie++
	// refuses files of less than twice that. The flavor sets the actual memory.
	bonnieRAM = 32
	// bonnieFiles is one unit of bonnie++'s -n.
	bonnieFiles = 1024
)

// bonnieMetrics are the fields of bonnie++'s CSV that are metrics, in the order of
// its table. Each also has a latency field.
var bonnieMetrics = []struct{ name, field, unit, about string }{
	{"write-char", "putc", "B/s", "writing the file one character at a time"},
	{"write-block", "put_block", "B/s", "writing the file in blocks"},
	{"rewrite", "rewrite", "B/s", "reading and rewriting the file"},
	{"read-char", "getc", "B/s", "reading the file one character at a time"},
	{"read-block", "get_block", "B/s", "reading the file in blocks"},
	{"seeks", "seeks", "1/s", "reads, and some writes, at random places by five processes"},
	{"create", "seq_create", "1/s", "creating empty files in order"},
	{"stat", "seq_stat", "1/s", "stat of the files in order"},
	{"delete", "seq_del", "1/s", "removing the files in order"},
	{"create-random", "ran_create", "1/s", "creating empty files at random"},
	{"stat-random", "ran_stat", "1/s", "stat of the files at random"},
	{"delete-random", "ran_del", "1/s", "removing the files at random"},
}

// bonnie runs bonnie++ on a file of size MiB and on empty files. At the article's
// size, their number is within a factor of 16 of the article's.
func bonnie() *Workload {
	files := func(size int64) int64 { return max(1, size/64) }
	w := &Workload{
		Name:       "bonnie",
		Title:      "bonnie++: a large file, by character, by block and at random places, and many empty files",
		ArticleIDs: []string{"H2-bonnie", "P8-bonnie"},
		Source:     "bonnie++ (bonnie++)",
		Tools:      []string{"bash", "bonnie++", "id", "mkdir", "rm", "sync"},
		Packages:   []string{"bash", "bonnie++", "coreutils"},
		Metrics:    []Metric{wallMetric("the whole run of bonnie++; tests by character take some seconds at any size")},
		SizeUnit:   "MiB",
		MinSize:    2 * bonnieRAM,
		MaxSize:    1 << 20,

		DefaultSize: 1024, // the article's 1G
		Uneven:      "tests by character take some seconds at any size",
		Sparse:      true,
		DiskBytes:   func(size int64) int64 { return size<<20 + files(size)*bonnieFiles*512 + 32<<20 },
		Steps: func(size int64) []Step {
			return []Step{
				{Name: "prepare", Argv: []string{"bash", "-c", "rm -rf " + bonnieDir + " && mkdir -m 1777 " + bonnieDir}},
				{Name: "bonnie", Timed: true, Argv: []string{"bash", "-c", `user=
[ "$(id -u)" != 0 ] || user="-u root"
exec bonnie++ -q -m tare -d "$1" -s "$2" -r "$3" -n "$4" $user`,
					"bonnie", bonnieDir, strconv.FormatInt(size, 10), strconv.Itoa(bonnieRAM), strconv.FormatInt(files(size), 10)}},
				{Name: "clean", Argv: []string{"bash", "-c", "rm -rf " + bonnieDir + " && sync -f ."}},
			}
		},
	}
	for _, m := range bonnieMetrics {
		about := m.about + "; absent if it took less than half a second, which bonnie++ does not report"
		w.Metrics = append(w.Metrics, rateMetric(m.name, m.unit, about))
	}
	for _, m := range bonnieMetrics {
		w.Metrics = append(w.Metrics, latencyMetric(m.name+"-latency", "longest single operation of "+m.about))
	}
	return w.measuredBy("bonnie", func(text string) (reading, error) {
		b, err := parseBonnie(text)
		if err != nil {
			return reading{}, err
		}
		mib, err := b.mib()
		if err != nil {
			return reading{}, err
		}
		r := reading{values: map[string]float64{}, did: mib}
		for _, m := range bonnieMetrics {
			rate, latency, err := b.test(m.field)
			if err != nil {
				return reading{}, err
			}
			if m.unit == "B/s" {
				rate *= 1024
			}
			if rate > 0 {
				r.values[m.name] = rate
			}
			if latency > 0 {
				r.values[m.name+"-latency"] = latency
			}
		}
		return r, nil
	})
}

// bonnieFields are the columns of bonnie++'s CSV, format 1.98.
var bonnieFields = strings.Fields(`format_version bonnie_version name concurrency seed file_size io_chunk_size
	seek_chunk_size seek_procs putc putc_cpu put_block put_block_cpu rewrite rewrite_cpu getc getc_cpu get_block
	get_block_cpu seeks seeks_cpu num_files max_size min_size num_dirs file_chunk_size seq_create seq_create_cpu
	seq_stat seq_stat_cpu seq_del seq_del_cpu ran_create ran_create_cpu ran_stat ran_stat_cpu ran_del ran_del_cpu
	putc_latency put_block_latency rewrite_latency getc_latency get_block_latency seeks_latency seq_create_latency
	seq_stat_latency seq_del_latency ran_create_latency ran_stat_latency ran_del_latency`)

// bonnieRun is a line of bonnie++'s CSV, by the fields' names.
type bonnieRun map[string]string

var (
	bonnieLine = regexp.MustCompile(`(?m)^(1\.9[78]),2\.\d+[a-z]*,.*$`)
	bonnieWait = regexp.MustCompile(`^(\d+)(us|ms|s)$`)
	bonnieSize = regexp.MustCompile(`^(\d+)(M|G|T|)$`)
	bonnieSays = regexp.MustCompile(`(?m)^(?:You must use the "-u" switch.*|File size should be double RAM.*|usage:.*|Can't .*|Bonnie: .*)$`)
)

// parseBonnie reads the CSV line, which bonnie++ prints with and without -q.
func parseBonnie(text string) (bonnieRun, error) {
	if line := bonnieSays.FindString(grep(text, "-u", "RAM", "usage:", "Can't", "Bonnie:")); line != "" {
		return nil, fault.Guestf("bonnie++ failed: %s", quote(line))
	}
	lines := bonnieLine.FindAllString(grep(text, "1.9"), -1)
	if len(lines) != 1 {
		if err := refused("bonnie++", text); err != nil {
			return nil, err
		}
		return nil, fault.Guestf("the output contains %d CSV lines of bonnie++ 2 instead of one", len(lines))
	}
	words := strings.Split(strings.TrimSuffix(lines[0], "\r"), ",")
	if len(words) != len(bonnieFields) {
		return nil, fault.Guestf("bonnie++'s line has %d fields instead of %d: %s", len(words), len(bonnieFields), quote(lines[0]))
	}
	b := bonnieRun{}
	for i, name := range bonnieFields {
		b[name] = words[i]
	}
	return b, nil
}

// mib returns the size of the file in MiB.
func (b bonnieRun) mib() (float64, error) {
	m := bonnieSize.FindStringSubmatch(b["file_size"])
	if m == nil {
		return 0, fault.Guestf("bonnie++ does not print the size of the file: %s", quote(b["file_size"]))
	}
	f, err := number(m[1])
	return f * map[string]float64{"": 1, "M": 1, "G": 1 << 10, "T": 1 << 20}[m[2]], err
}

// test returns a test's rate as printed, and its maximum latency in seconds. They
// are 0 if bonnie++ did not run the test or if it was too short to measure.
func (b bonnieRun) test(field string) (rate, latency float64, err error) {
	if word := b[field]; word != "" && strings.Trim(word, "+") != "" {
		if rate, err = number(word); err != nil {
			return 0, 0, fmt.Errorf("%s: %w", field, err)
		}
	}
	if word := b[field+"_latency"]; word != "" {
		m := bonnieWait.FindStringSubmatch(word)
		if m == nil {
			return 0, 0, fault.Guestf("%s: no latency in %s", field, quote(word))
		}
		if latency, err = number(m[1]); err != nil {
			return 0, 0, err
		}
		latency *= map[string]float64{"us": 1e-6, "ms": 1e-3, "s": 1}[m[2]]
	}
	return rate, latency, nil
}
