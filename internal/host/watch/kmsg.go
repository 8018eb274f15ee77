package watch

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// DistressKind is the kind of problem that the kernel reported.
type DistressKind string

// The kinds of distress. OOMCgroup is a guest at its own memory limit, which is a result; OOM is
// the host out of memory.
const (
	SoftLockup DistressKind = "soft-lockup"
	HardLockup DistressKind = "hard-lockup"
	HungTask   DistressKind = "hung-task"
	RCUStall   DistressKind = "rcu-stall"
	OOM        DistressKind = "oom"
	OOMCgroup  DistressKind = "oom-cgroup"
	AllocFail  DistressKind = "allocation-failure"
	IOError    DistressKind = "io-error"
	FSError    DistressKind = "fs-error"
	MCE        DistressKind = "machine-check"
	Throttling DistressKind = "throttling"
	ClockBad   DistressKind = "clock"
	Oops       DistressKind = "oops"
	Warning    DistressKind = "warning"
	NetTimeout DistressKind = "net-timeout"
	CPUHog     DistressKind = "cpu-hog" // a work item or an interrupt occupied a CPU for long
	SplitLock  DistressKind = "split-lock"
	LogFlood   DistressKind = "log-flood" // the log itself could not keep up
)

// distressPatterns are tried in order; the first match decides the kind. A message matches if it
// contains one of the words and also matches the expression, if there is one. The words come first
// because they are fast enough for a flood of messages.
var distressPatterns = []struct {
	kind  DistressKind
	words []string
	re    *regexp.Regexp
}{
	{SoftLockup, []string{"soft lockup - CPU"}, nil},
	{HardLockup, []string{"hard LOCKUP", "Hard LOCKUP"}, nil},
	{HungTask, []string{"blocked for more than", "blocked on a"},
		regexp.MustCompile(`blocked (for more than \d+ seconds|on an? .* likely)`)},
	{RCUStall, []string{"detected stall", "detected expedited stall", "self-detected stall", "kthread starved"}, nil},
	{OOMCgroup, []string{"Memory cgroup out of memory", "oom-kill:constraint=CONSTRAINT_MEMCG"}, nil},
	{OOM, []string{"Out of memory: ", "Out of memory and no killable", "oom-kill:constraint=CONSTRAINT_"}, nil},
	{AllocFail, []string{"page allocation failure", "page allocation stalls", "SLUB: Unable to allocate"}, nil},
	{FSError, []string{"EXT2-fs error", "EXT3-fs error", "EXT4-fs error", "Remounting filesystem read-only",
		"BTRFS error", "BTRFS critical", "forced readonly"}, nil},
	{FSError, []string{"EXT4-fs (", "XFS (", "JBD2: ", "F2FS-fs"},
		regexp.MustCompile(`[Cc]orrupt|\b[Ee]rror\b|[Ss]hut(ting)? ?down`)},
	{IOError, []string{"I/O error", "critical medium error", "critical target error", "critical space allocation error",
		"lost async page write", "exception Emask", "failed command: ", "hard resetting link"}, nil},
	{IOError, []string{"nvme"}, regexp.MustCompile(`timeout|controller is down|resetting controller`)},
	{Throttling, []string{"clock throttled", "temperature above threshold"}, nil},
	{MCE, []string{"[Hardware Error]", "Machine check events logged", "Machine Check Exception"}, nil},
	{MCE, []string{"EDAC "}, regexp.MustCompile(`\b[CU]E\b`)},
	{ClockBad, []string{"Marking clocksource", "Marking TSC unstable", "hrtimer: interrupt took"}, nil},
	{ClockBad, []string{"clocksource: "}, regexp.MustCompile(`unstable|skew|wd-wd`)},
	{Oops, []string{"BUG: ", "kernel BUG at", "Oops: ", "Kernel panic"}, nil},
	{Oops, []string{"stack segment", "general protection fault", "invalid opcode", "divide error"},
		regexp.MustCompile(`^(stack segment|general protection fault|invalid opcode|divide error)[:,]`)},
	{Warning, []string{"WARNING: "}, regexp.MustCompile(`^WARNING: `)},
	{NetTimeout, []string{"NETDEV WATCHDOG"}, nil},
	{CPUHog, []string{"hogged CPU for", "perf: interrupt took too long", "nobody cared", "INFO: NMI handler"}, nil},
	{SplitLock, []string{"split_lock trap", "bus_lock trap"}, nil},
	// Many loop devices and file systems that come and go are not distress: tare's own do.
	{"", []string{"set_capacity_and_notify: ", "EXT4-fs mount: ", "EXT4-fs unmount: "},
		regexp.MustCompile(`callbacks suppressed`)},
	{LogFlood, []string{"printk messages dropped", "callbacks suppressed"}, nil},
}

// maxText bounds the text of a message, in bytes: a message about distress says so at its start.
const maxText = 300

// KernelMessage is one record of the kernel's log.
type KernelMessage struct {
	Text string
	Kind DistressKind // "": it is not about distress

	seq      uint64
	facility uint64 // 0 is the kernel; any process may write the others
}

// classify returns the kind of distress that a message reports, or "".
func classify(m KernelMessage) DistressKind {
	if m.facility != 0 {
		return ""
	}
	for _, p := range distressPatterns {
		for _, w := range p.words {
			if strings.Contains(m.Text, w) && (p.re == nil || p.re.MatchString(m.Text)) {
				return p.kind
			}
		}
	}
	return ""
}

// parseKmsg reads one record of /dev/kmsg:
// "priority,sequence,microseconds,flags[,…];text\n key=value lines".
func parseKmsg(record string) (KernelMessage, error) {
	head, text, ok := strings.Cut(record, ";")
	if !ok {
		return KernelMessage{}, errors.New("no ; after the prefix")
	}
	f := strings.Split(head, ",")
	if len(f) < 3 {
		return KernelMessage{}, errors.New("prefix is too short")
	}
	prio, err := strconv.ParseUint(f[0], 10, 31)
	if err != nil {
		return KernelMessage{}, fmt.Errorf("priority: %w", err)
	}
	seq, err := strconv.ParseUint(f[1], 10, 64)
	if err != nil {
		return KernelMessage{}, fmt.Errorf("sequence: %w", err)
	}
	text, _, _ = strings.Cut(text, "\n")
	m := KernelMessage{seq: seq, facility: prio >> 3, Text: clip(unescapeHex(text), maxText)}
	m.Kind = classify(m)
	return m, nil
}

// unescapeHex undoes the log's \xNN, and makes the result valid text.
func unescapeHex(s string) string {
	if strings.Contains(s, `\x`) {
		var b strings.Builder
		for i := 0; i < len(s); i++ {
			if strings.HasPrefix(s[i:], `\x`) && i+3 < len(s) {
				if n, err := strconv.ParseUint(s[i+2:i+4], 16, 8); err == nil {
					b.WriteByte(byte(n))
					i += 3
					continue
				}
			}
			b.WriteByte(s[i])
		}
		s = b.String()
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// clip cuts s to at most n bytes, at a rune boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// Distress is what the kernel's log reported during some time.
type Distress struct {
	Messages []KernelMessage // about distress, oldest first; the first 100
	// Lost is at least how many records the kernel overwrote before they were read: if it is not 0,
	// a lack of messages proves nothing.
	Lost uint64
}

const maxDistress = 100

func (d *Distress) add(m KernelMessage) {
	if m.Kind != "" && len(d.Messages) < maxDistress {
		d.Messages = append(d.Messages, m)
	}
}
