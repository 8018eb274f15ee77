package tool

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// The output of openssl speed. In a table, each kind of algorithm has a header of its own. With -mr, +DT
// and +DTP announce a measurement, +R has what was counted, and +F has the rates. With -multi, "Got: "
// precedes what one process found.
var (
	opensslIs     = regexp.MustCompile(`(?m)^(?:OpenSSL (\d\S+)|version: (\S+))`)
	opensslSizes  = regexp.MustCompile(`^type +((?:\d+ bytes *)+)$`)
	opensslHeader = regexp.MustCompile(`^ {10,}([a-z]+(?: +[a-z.]+(?:/s)?)*/s) *$`)
	opensslRates  = regexp.MustCompile(`^(\S.*?) +((?:\d+\.\d+k? *)+)$`)
	opensslRow    = regexp.MustCompile(`^ *(\S.*?) +((?:\d+\.\d+s +)+)((?:\d+(?:\.\d+)? *)+)$`)
	opensslDoing  = regexp.MustCompile(`^Doing (.+?) for \d+s(?: on (\d+) size blocks)?: (\d+) .* in (\d+\.\d+)s *$`)
	opensslPlan   = regexp.MustCompile(`^\+(?:DTP?):(.+):\d+$`)
	opensslBlock  = regexp.MustCompile(`^\+DT:(.+):\d+:(\d+)$`)
	opensslCount  = regexp.MustCompile(`^\+R\d*:(\d+):(.+):(\d+\.\d+)$`)
	opensslKeygen = regexp.MustCompile(`^\+R(15|18):\d+:(.+):`) // of key encapsulation and of signatures
	opensslMrSize = regexp.MustCompile(`^\+H((?::\d+)+)$`)
	opensslMrRate = regexp.MustCompile(`^\+F:\d+:([^:]+)((?::\d+\.\d+)+)$`)
	opensslMrKey  = regexp.MustCompile(`^\+F(\d+):\d+((?::[\w. -]+?)*?)((?::\d+\.\d+)+)$`)
	opensslGot    = regexp.MustCompile(`^Got: (.*) from (\d+)$`)
)

// opensslKeys are the algorithms of the lines +F2, +F3 and so on.
var opensslKeys = map[string]struct {
	name    string
	columns []string
}{
	"2": {"rsa", []string{"sign/s", "verify/s", "encr./s", "decr./s"}},
	"3": {"dsa", []string{"sign/s", "verify/s"}}, "4": {"ecdsa", []string{"sign/s", "verify/s"}},
	"5": {"ecdh", []string{"op/s", "op"}}, "6": {"EdDSA", []string{"sign/s", "verify/s"}},
	"7": {"SM2", []string{"sign/s", "verify/s"}}, "8": {"ffdh", []string{"op/s", "op"}},
	"9": {"KEM", []string{"keygens/s", "encaps/s", "decaps/s"}}, "10": {"signature",
		[]string{"keygens/s", "sign/s", "verify/s"}},
}

// opensslUnnamed are the lines +R of the keys that the lines +F9 and +F10 do not name.
var opensslUnnamed = map[string]string{"9": "15", "10": "18"}

// opensslSpeed reads the lines of openssl speed in their order.
type opensslSpeed struct {
	r         *Report
	processes int
	planned   int                 // measurements that the output announces
	done      int                 // those that have a rate
	sizes     []string            // of blocks, in bytes
	columns   []string            // of the last table of a kind of algorithm with keys
	about     string              // the last announced measurement
	named     map[string][]string // the algorithms of the lines +F9 and +F10, which do not name them, in their order
	rated     map[string]int      // how many of those lines there were, by kind and process
	rate      string              // the unit of data per second
}

// readOpenssl reads the output of openssl speed, with and without -mr, and of
// openssl enc, fed by dd and run under time.
func readOpenssl(text string, r *Report) error {
	if err := r.refused(text); err != nil {
		return err
	}
	if m := opensslIs.FindStringSubmatch(text); m != nil {
		r.Version = cmp.Or(m[1], m[2])
	}
	s := opensslSpeed{r: r, rate: "B/s of CPU time", named: map[string][]string{}, rated: map[string]int{}}
	if strings.Contains(text, "You have chosen to measure elapsed time") {
		s.rate = "B/s"
	}
	for line := range strings.SplitSeq(text, "\n") {
		if err := s.read(line, ""); err != nil {
			return err
		}
	}
	if s.planned > 0 && s.planned != s.done*max(s.processes, 1) {
		if err := r.doubt(fault.Guestf("openssl speed announces %d measurements, but the output has the rates of %d: "+
			"it is cut off or damaged", s.planned, s.done*max(s.processes, 1))); err != nil {
			return err
		}
	}
	r.expect("bytes", "bytes copied")
	r.expect("dd's time", "bytes copied")
	if err := withDD(r, text, "bytes", "dd's time", ""); err != nil {
		return err
	}
	return withTimes(r, text)
}

// read reads a line; of says of which process it is.
func (s *opensslSpeed) read(line, of string) error {
	if m := opensslGot.FindStringSubmatch(line); m != nil {
		return s.read(m[1], " in process "+m[2])
	}
	if strings.HasPrefix(line, "Forked child ") {
		s.processes++
	}
	if strings.HasPrefix(line, "Doing ") || opensslPlan.MatchString(line) {
		s.planned++
	}
	switch {
	case strings.HasPrefix(line, "+H"):
		m := opensslMrSize.FindStringSubmatch(line)
		if m == nil {
			return damaged("openssl speed", line)
		}
		s.sizes = strings.Split(m[1][1:], ":")
	case strings.HasPrefix(line, "+F:"):
		m := opensslMrRate.FindStringSubmatch(line)
		if m == nil {
			return damaged("openssl speed", line)
		}
		return s.blocks(m[1], of, strings.Split(m[2][1:], ":"))
	case strings.HasPrefix(line, "+F"):
		m := opensslMrKey.FindStringSubmatch(line)
		if m == nil {
			return damaged("openssl speed", line)
		}
		return s.keys(m[1], m[2], of, strings.Split(m[3][1:], ":"))
	case strings.HasPrefix(line, "+D"):
		if m := opensslBlock.FindStringSubmatch(line); m != nil {
			s.about = m[1] + " of " + m[2] + " bytes"
		} else if m := opensslPlan.FindStringSubmatch(line); m != nil {
			s.about = strings.Join(strings.FieldsFunc(m[1], func(r rune) bool { return r == ':' }), " ")
		}
	case strings.HasPrefix(line, "+R"):
		m := opensslCount.FindStringSubmatch(line)
		if m == nil {
			return damaged("openssl speed", line)
		}
		if m := opensslKeygen.FindStringSubmatch(line); m != nil && !slices.Contains(s.named[m[1]], m[2]) {
			s.named[m[1]] = append(s.named[m[1]], m[2])
		}
		about := s.about
		if s.processes > 0 { // the lines of the processes are mixed
			about = m[2] + " in one of the processes"
		}
		return s.counted(about, m[1], m[3])
	case strings.HasPrefix(line, "Doing "):
		m := opensslDoing.FindStringSubmatch(line)
		if m == nil {
			return damaged("openssl speed", line)
		}
		about := m[1]
		if m[2] != "" {
			about += " of " + m[2] + " bytes"
		}
		return s.counted(about, m[3], m[4])
	default:
		return s.table(line)
	}
	return nil
}

// damaged is the error for a line that is not as the tool prints it.
func damaged(tool, line string) error {
	return fault.Guestf("%s: the line is cut off or damaged: %s", tool, Quote(line))
}

// counted adds what was counted for a rate.
func (s *opensslSpeed) counted(about, operations, seconds string) error {
	f := s.r.numbers(operations, seconds)
	about = quoteless(strings.Join(strings.Fields(about), " "))
	s.r.add(about+": operations", f[0], "1", "")
	s.r.seconds(about+": time", f[1])
	return nil
}

// blocks adds the rates of an algorithm for blocks of all sizes.
func (s *opensslSpeed) blocks(name, of string, rates []string) error {
	if len(s.sizes) != len(rates) {
		return fault.Guestf("openssl prints %d rates for %d sizes: %s", len(rates), len(s.sizes), Quote(name))
	}
	for i, word := range rates {
		bytes, thousands := strings.CutSuffix(word, "k")
		prefix, factor := "", 1.
		if thousands {
			prefix, factor = "k", 1000
		}
		s.r.addScaled(quoteless(name)+" of "+s.sizes[i]+" bytes"+of, bytes, prefix, factor, s.rate, Higher)
	}
	if of == "" {
		s.done += len(rates)
	}
	return nil
}

// keys adds the rates of a line +F2, +F3 and so on. settings are the bits of the key and, for some, the name.
func (s *opensslSpeed) keys(kind, settings, of string, words []string) error {
	key, ok := opensslKeys[kind]
	if !ok || len(words) > len(key.columns) {
		return fault.Guestf("openssl speed prints a line of an unknown kind, +F%s, with %d figures", kind, len(words))
	}
	name := key.name
	if parts := strings.Split(settings, ":"); len(parts) > 2 {
		name = parts[1] + " bits " + name + " (" + parts[2] + ")"
	} else if len(parts) == 2 {
		name += " " + parts[1] + " bits"
	}
	if names := s.named[opensslUnnamed[kind]]; len(names) > 0 {
		if s.rated[kind+of] == len(names) {
			return fault.Guestf("openssl speed prints more lines +F%s than it announces algorithms", kind)
		}
		name = names[s.rated[kind+of]]
		s.rated[kind+of]++
	}
	f := s.r.numbers(words...)
	for i, v := range f {
		s.operation(name+": "+key.columns[i], of, v)
	}
	return nil
}

// operation adds a time, or a rate, whose name ends in /s. Each rate is a measurement.
func (s *opensslSpeed) operation(name, of string, v float64) {
	name = quoteless(strings.Join(strings.Fields(name), " ")) + of
	if strings.HasSuffix(strings.TrimSuffix(name, of), "/s") {
		s.r.add(name, v, "1/s", Higher)
		if of == "" {
			s.done++
		}
		return
	}
	s.r.seconds(name, v)
}

// table reads a line of the tables.
func (s *opensslSpeed) table(line string) error {
	if m := opensslSizes.FindStringSubmatch(line); m != nil {
		s.sizes = strings.Fields(strings.ReplaceAll(m[1], "bytes", ""))
		s.columns = nil
		return nil
	}
	if m := opensslHeader.FindStringSubmatch(line); m != nil {
		s.columns = strings.Fields(m[1])
		return nil
	}
	if m := opensslRow.FindStringSubmatch(line); m != nil {
		words := append(strings.Fields(strings.ReplaceAll(m[2], "s", "")), strings.Fields(m[3])...)
		if len(words) != len(s.columns) {
			return fault.Guestf("openssl speed prints %d figures in a table of %d columns: %s", len(words), len(s.columns),
				Quote(line))
		}
		f := s.r.numbers(words...)
		for i, v := range f {
			s.operation(m[1]+": "+s.columns[i], "", v)
		}
		return nil
	}
	if m := opensslRates.FindStringSubmatch(line); m != nil && s.sizes != nil && s.columns == nil {
		return s.blocks(m[1], "", strings.Fields(m[2]))
	}
	return nil
}
