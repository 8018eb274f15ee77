package host

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// DistressKind says what the kernel complained of.
type DistressKind string

// The kinds of distress. OOMCgroup is a guest at its own memory limit: that
// is a result; OOM is the host out of memory.
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
	CPUHog     DistressKind = "cpu-hog" // a work item or an interrupt kept a CPU for long
	SplitLock  DistressKind = "split-lock"
	LogFlood   DistressKind = "log-flood" // the log itself could not keep up
)

// distressPatterns are tried in order; the first that matches names the kind.
var distressPatterns = []struct {
	kind DistressKind
	re   *regexp.Regexp
}{
	{SoftLockup, regexp.MustCompile(`soft lockup - CPU`)},
	{HardLockup, regexp.MustCompile(`(?i)hard lockup`)},
	{HungTask, regexp.MustCompile(`blocked (for more than \d+ seconds|on an? .* likely)`)},
	{RCUStall, regexp.MustCompile(`(?i)rcu.*(detected (expedited )?stall|kthread starved|self-detected stall)`)},
	{OOMCgroup, regexp.MustCompile(`Memory cgroup out of memory|oom-kill:constraint=CONSTRAINT_MEMCG`)},
	{OOM, regexp.MustCompile(`Out of memory: |oom-kill:constraint=CONSTRAINT_|Kernel panic.*memory`)},
	{AllocFail, regexp.MustCompile(`page allocation (failure|stalls)|SLUB: Unable to allocate`)},
	{FSError, regexp.MustCompile(`EXT[234]-fs error|EXT4-fs \(\S+\): (.*error|Remounting filesystem read-only)|JBD2: .*[Ee]rror` +
		`|XFS \(\S+\): .*([Cc]orrupt|[Ee]rror|[Ss]hut(ting)? ?down)|BTRFS (error|critical)|F2FS-fs.*[Ee]rror|[Ff]orced readonly`)},
	{IOError, regexp.MustCompile(`I/O error|critical (medium|target|space allocation) error|blk_update_request: .*error` +
		`|nvme\S* .*(timeout|controller is down|reset)|(ata|sd)\S* .*(failed command|exception Emask|hard resetting link)|lost async page write`)},
	{Throttling, regexp.MustCompile(`clock throttled|temperature above threshold`)},
	{MCE, regexp.MustCompile(`\[Hardware Error\]|[Mm]achine [Cc]heck (events logged|[Ee]xception)|EDAC .*\b[CU]E\b`)},
	{ClockBad, regexp.MustCompile(`clocksource: .*(unstable|skew|wd-wd)|Marking (clocksource|TSC)|hrtimer: interrupt took`)},
	{Oops, regexp.MustCompile(`BUG: |kernel BUG at|Oops: |^(stack segment|general protection fault|invalid opcode|divide error)[:,]|Kernel panic`)},
	{Warning, regexp.MustCompile(`^WARNING: `)},
	{NetTimeout, regexp.MustCompile(`NETDEV WATCHDOG|transmit queue .* timed out`)},
	{CPUHog, regexp.MustCompile(`workqueue: .*hogged CPU|perf: interrupt took too long|nobody cared|INFO: NMI handler .* took too long`)},
	{SplitLock, regexp.MustCompile(`split lock trap|bus_lock trap`)},
	{LogFlood, regexp.MustCompile(`printk messages dropped|callbacks suppressed`)},
}

// KernelMessage is one record of the kernel's log.
type KernelMessage struct {
	Seq   uint64        `json:"seq"`
	Time  time.Duration `json:"time_ns"` // since boot, by the clock of the log, which is near CLOCK_MONOTONIC
	Level int           `json:"level"`   // 0 emergency … 7 debug
	Text  string        `json:"text"`
	Kind  DistressKind  `json:"kind,omitempty"`

	facility int // 0 is the kernel; anyone may write the others
}

// classify returns what a message complains of, or "".
func classify(m KernelMessage) DistressKind {
	if m.facility != 0 {
		return ""
	}
	for _, p := range distressPatterns {
		if p.re.MatchString(m.Text) {
			return p.kind
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
	const maxMicros = 1 << 53 // 285 years
	us, err := strconv.ParseUint(f[2], 10, 63)
	if err != nil || us > maxMicros {
		return KernelMessage{}, errors.New("time is no count of microseconds")
	}
	text, _, _ = strings.Cut(text, "\n")
	m := KernelMessage{Seq: seq, Time: time.Duration(us) * time.Microsecond, Level: int(prio & 7),
		facility: int(prio >> 3), Text: unescapeHex(text)}
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

// Distress is what the kernel's log said over a time.
type Distress struct {
	Lines  []KernelMessage      `json:"lines,omitempty"`  // the first that showed distress, oldest first
	Counts map[DistressKind]int `json:"counts,omitempty"` // of all of them
	// Lost is how many records the kernel overwrote before they were read, at
	// least: if not 0, silence proves nothing.
	Lost uint64 `json:"lost,omitempty"`
}

// maxDistressLines bounds what one drain keeps; Counts go on.
const maxDistressLines = 100

func (d *Distress) add(m KernelMessage) {
	if m.Kind == "" {
		return
	}
	if d.Counts == nil {
		d.Counts = map[DistressKind]int{}
	}
	d.Counts[m.Kind]++
	if len(d.Lines) < maxDistressLines {
		m.Text = clip(m.Text, 400)
		d.Lines = append(d.Lines, m)
	}
}
